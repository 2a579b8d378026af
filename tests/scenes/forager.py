"""Gather coins in a walled field, each of which comes back somewhere else, and keep away from what stings."""

import numpy as np

from ecs_rl.scene import *

SIZE = 8.0
SCENE = Scene(
    about="Gather coins in a walled field, and keep away from three hazards.",
    max_ticks=500,
    score="coins",
    solved_at=12,
    gravity=(0.0, 0.0),
    recipes={"ppo": {"steps": "600k", "lr": 1e-3, "rollout": 64, "minibatch": 512}},
)


def build(arena: Arena) -> None:
    anywhere = Start(x=jitter(SIZE - 0.3), y=jitter(SIZE - 0.3))
    drift = Start(x=(-5.0, 5.0, 0.0), y=(5.0, 5.0, -5.0), vx=jitter(2.0), vy=jitter(2.0))
    bug = arena.spawn("bug", Body(drag=1.0, spins=False), Disc(0.35), Look("green"))
    coins = arena.spawn("coin", Body(solid=False, moves="never"), Disc(0.2), anywhere, Look("yellow"), count=40)
    hazards = arena.spawn("hazard", Body(solid=False), Disc(0.6), drift, Look("vermilion"), count=3)
    for side in (-SIZE, SIZE):
        arena.wall((side, -SIZE), (side, SIZE))
        arena.wall((-SIZE, side), (SIZE, side))
    eats, stung, got = Touching(bug, coins), Touching(bug, hazards), arena.number("got")

    @arena.system(reads=(Touch,), writes=(Pose, got))
    def gather() -> None:
        """Put a coin that was eaten somewhere else, and turn hazards back at the walls."""
        got.value += eats().sum(axis=1)
        coins.place(eats())
        out = np.abs(hazards.position) > SIZE - 0.6
        hazards.velocity[out] = -np.sign(hazards.position[out]) * np.abs(hazards.velocity[out])

    arena.score("coins", lambda: got.value)
    arena.agent(
        sees=[
            *(X(bug), Y(bug), Vx(bug), Vy(bug)),
            Nearest(bug, coins, 3),
            Nearest(bug, hazards, 1, velocity=1.0),
        ],
        does=Levers(right=Push(bug, x=6.0), up=Push(bug, y=6.0)),
        earns={"coin": lambda: eats().sum(axis=1), "sting": lambda: -0.1 * stung().any(axis=1)},
    )
