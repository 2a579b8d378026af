"""Four players run from one who chases the nearest; who is caught is out, and the others go on."""

import numpy as np

from ecs_rl.scene import *

SIZE = 6.0
SCENE = Scene(
    about="Four players run from a chaser; who is caught is out.",
    max_ticks=400,
    score="lasted",
    solved_at=250,
    gravity=(0.0, 0.0),
    recipes={"ppo": {"steps": "300k", "lr": 1e-3, "rollout": 32, "minibatch": 512, "epochs": 5, "gamma": 0.98}},
)


def build(arena: Arena) -> None:
    start = Start(x=jitter(SIZE - 1.0), y=jitter(SIZE - 1.0))
    players = arena.spawn("player", Body(drag=1.5, spins=False), Disc(0.3), start, count=4)
    chaser = arena.spawn("chaser", Body(solid=False, moves="scripted"), Disc(0.5), Look("vermilion"))
    for side in (-SIZE, SIZE):
        arena.wall((side, -SIZE), (side, SIZE))
        arena.wall((-SIZE, side), (SIZE, side))
    caught, lasted = Touching(players, chaser), arena.number("lasted")

    @arena.shared
    def away() -> np.ndarray:
        return np.linalg.norm(players.position - chaser.position[:, None], axis=2)

    @arena.system(reads=(Pose, Here), writes=(Motion, lasted))
    def chase() -> None:
        """Run towards the nearest player, and count how long they last."""
        nearest = np.where(players.here, away(), np.inf).argmin(axis=1)
        way = players.position[np.arange(len(nearest)), nearest] - chaser.position
        chaser.velocity = 2.2 * way / np.maximum(np.linalg.norm(way, axis=1, keepdims=True), 0.1)
        lasted.value += players.here.mean(axis=1)

    arena.score("lasted", lambda: lasted.value)
    arena.agent(
        of=players,
        sees=[X(players), Y(players), Vx(players), Vy(players), Toward(players, chaser)],
        does=Levers(right=Push(players, x=8.0), up=Push(players, y=8.0)),
        earns={"far": lambda: -0.1 * (away() < 2.5), "caught": lambda: -5.0 * caught()},
        ends={"caught": caught},
    )
