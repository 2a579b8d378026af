"""Flap through the gaps between pipes that come on and on, each gap at another height."""

import numpy as np

from ecs_rl.scene import *

GAP, EVERY, SPEED = 1.15, 5.5, 3.5  # half a gap, and the way from pipe to pipe, metres; metres per second
TOP, FLAP, TICK = 4.5, 4.5, 1 / 20  # metres, metres per second, seconds
LOOK = Look("yellow", "sprites/bird.png", width=0.95)
SCENE = Scene(
    about="Flap through the gaps between pipes that come on and on.",
    max_ticks=500,
    dt=TICK,
    substeps=2,
    score="passed",
    solved_at=13,
    backdrop="dusk",
    camera=View(x=(-3.0, 12.2), y=(-TOP, TOP)),
    recipes={
        "ppo": {
            "arenas": 64,
            "threads": 1,
            "steps": "400k",
            "eval_every": 20_480,
            "checkpoint_every": "100k",
            "lr": 1e-3,
            "rollout": 64,
            "minibatch": 512,
            "epochs": 5,
        }
    },
)


def build(arena: Arena) -> None:
    """A bird that stays where it is, and three pairs of pipes that pass it for ever."""
    bird = arena.spawn("bird", Body(spins=False), Disc(0.35), Start(vy=jitter(2.0)), LOOK)
    pipe = [
        Polygon(((-x, s * GAP), (x, s * GAP), (x, s * y), (-x, s * y)))
        for s in (-1, 1)
        for x, y in ((0.5, 9.0), (0.65, GAP + 0.4))
    ]
    start = Start(x=tuple(EVERY * i for i in (1, 2, 3)), y=jitter(1.8), vx=-SPEED)
    pipes = arena.spawn("pipe", Body(solid=False, moves="scripted"), *pipe, start, Look("green"), count=3)
    hit, flap, passed = Touching(bird, pipes), Trigger(), arena.number("passed")

    @arena.system(reads=(Action,), writes=(Pose, passed))
    def fly() -> None:
        """Flap, count the pipe that the bird has passed, and bring one that is gone in again."""
        bird.vy[flap.on] = FLAP
        bird.vy[bird.y > TOP] = 0.0
        bird.angle = 0.12 * bird.vy
        passed.value += ((pipes.x < 0.0) & (pipes.x >= -SPEED * TICK)).any(axis=1)
        pipes.place(pipes.x < -3.65, x=pipes.x + 3 * EVERY)

    @arena.shared
    def ahead() -> np.ndarray:
        """Tell where the next pipe is, and how high the gaps of the next two are, seen from the bird."""
        away = pipes.x + 3 * EVERY * (pipes.x < -1.0)
        order = np.argsort(away, axis=1)
        gaps = np.take_along_axis(pipes.y, order, axis=1) - bird.y[:, None]
        return np.column_stack((away.min(axis=1), gaps[:, :2]))

    @arena.shared
    def down() -> np.ndarray:
        return np.asarray(hit().any(axis=1) | (bird.y < -TOP))

    arena.score("passed", lambda: passed.value)
    arena.agent(
        sees=[Y(bird), Vy(bird), Feels(("next pipe", "its gap", "gap after"), ahead)],
        does=Controls(flap=flap),
        earns={
            "height": lambda: 0.1 - 0.1 * np.abs(ahead()[:, 1]),
            "passed": Progress(lambda: passed.value),
            "crash": lambda: -2.0 * down(),
        },
        ends={"hit a pipe": lambda: hit().any(axis=1), "fell": down},
    )
