"""Sumo: two discs push each other out of a ring; when time is up, who is nearer to its middle has won."""

import numpy as np

from ecs_rl.scene import *

RING = 3.0
SCENE = Scene(
    about="Two discs push each other out of a ring.",
    max_ticks=120,
    dt=1 / 20,
    substeps=2,
    score="won",
    solved_at=0.9,
    gravity=(0.0, 0.0),
    recipes={
        "ppo": {
            **{"steps": "400k", "arenas": 64, "lr": 1e-3, "rollout": 64, "minibatch": 1024, "gamma": 0.98},
            **{"self_play": True, "pool_every": "25k", "against": "random", "eval_every": "25k"},
        }
    },
)


def build(arena: Arena) -> None:
    arena.mark("ring", Disc(RING), Look("sky"), at=(0.0, 0.0))
    left = arena.spawn("orange", Body(drag=1.0, spins=False), Disc(0.5), Look("orange"), Start(x=-1.0, y=jitter(1.0)))
    right = arena.spawn("blue", Body(drag=1.0, spins=False), Disc(0.5), Look("blue"), Start(x=1.0, y=jitter(1.0)))

    def out(disc: Role) -> np.ndarray:
        return np.hypot(disc.x, disc.y)

    def ahead() -> np.ndarray:
        return out(right) - out(left)

    def fight(me: Role, foe: Role, sign: int) -> None:
        """Both see the ring as if they came from the left."""
        arena.agent(
            name=me.name,
            policy=me.name,
            sees=[
                *(Feel(f"own {axis}", lambda axis=axis: sign * getattr(me, axis)) for axis in ("x", "y", "vx", "vy")),
                *(Feel(f"foe {axis}", lambda axis=axis: sign * getattr(foe, axis)) for axis in ("x", "y", "vx", "vy")),
            ],
            does=Levers(right=Push(me, x=10.0 * sign), up=Push(me, y=10.0 * sign)),
            earns={
                "won": lambda: 5.0 * sign * np.sign(ahead()) * (np.maximum(out(me), out(foe)) > RING),
                "further in": lambda: 0.05 * sign * ahead(),
            },
            ends={"out": above(lambda: np.maximum(out(me), out(foe)), RING)},
        )

    arena.score("won", lambda: np.sign(ahead()))
    fight(left, right, 1)
    fight(right, left, -1)
