"""A small game as a scene file: agents of a kind, what comes and goes, a camera, a mark that fails after a while."""

GAME = """
import numpy as np
from ecs_rl.scene import *

SCENE = Scene(about="Gather coins together.", max_ticks=120, gravity=(0, 0), camera=Follow("player", width=14))


def build(arena):
    for a, b in (((-7, -4), (7, -4)), ((7, -4), (7, 4)), ((7, 4), (-7, 4)), ((-7, 4), (-7, -4))):
        arena.wall(a, b, elasticity=0.5)
    ticks = arena.number("ticks")
    anywhere = Start(x=jitter(6.0), y=jitter(3.0))
    players = arena.spawn("player", Body(mass=1.0), Disc(0.4), anywhere, count=3)
    coins = arena.spawn("coin", Body(solid=False, moves="never"), Disc(0.3), anywhere, Look("yellow"), count=12)
    got = Touching(players, coins)

    @arena.system(writes=(Here, Pose, Motion, ticks))
    def gather():
        ticks.value += 1
        coins.leave(got().any(axis=1))
        coins.place(coins.here & (ticks.value[:, None] % 40 == 0))

    arena.mark("field", Box(14, 8), Look("green", layer=-1))
    arena.mark("home", Disc(1.0), at=lambda: players.position.mean(axis=1), where=lambda: ticks.value % 50 < 30)
    arena.mark("fails", Disc(0.5), at=lambda: players.position[:, 0] if (ticks.value < 20).all() else players.x)
    arena.agent(
        of=players,
        sees=[X(players), Y(players), Vx(players), Vy(players)],
        does=Choice(stay=None, left=Push(players, -5.0), right=Push(players, 5.0), up=Push(players, y=5.0)),
        earns={"got": lambda: got().sum(axis=2)},
    )
"""
