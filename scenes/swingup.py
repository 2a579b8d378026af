"""Swing a hanging pole up by moving its cart, and keep it there: one continuous action, a reward in every tick.

Solved at 350 of at most 500: a pole that hangs earns nothing and one that whirls round and round earns 250, so 350
takes a pole that is up within about three seconds and stays up to the end.
"""

import numpy as np

from ecs_rl.scene import *

SCENE = Scene(
    about="Swing a hanging pole up by moving its cart, and keep it there.",
    max_ticks=500,
    solved_at=350,
    gravity=(0.0, -9.8),
    recipes={
        "ppo": {
            "arenas": 64,
            "threads": 1,
            "steps": "500k",
            "eval_every": 20_480,
            "checkpoint_every": "150k",
            "lr": 2e-3,
            "rollout": 64,
            "minibatch": 512,
            "epochs": 10,
            "gamma": 0.99,
            "gae_lambda": 0.98,
            "normalise_rewards": False,
        },
        "sac": {
            "arenas": 8,
            "threads": 1,
            "steps": "100k",
            "eval_every": 4096,
            "checkpoint_every": "25k",
            "batch": 256,
        },
        "td3": {
            "arenas": 8,
            "threads": 1,
            "steps": "100k",
            "eval_every": 4096,
            "checkpoint_every": "25k",
            "lr": 2e-3,
            "batch": 256,
            "noise": 0.3,
            "target_share": 0.02,
        },
    },
)


def build(arena: Arena) -> None:
    """The cart and pole of `balance`, the pole hanging down, the cart pushed by any force up to 10 newtons."""
    cart = arena.spawn(
        "cart", Body(mass=1.0, spins=False), Box(0.5, 0.3), Start(x=jitter(0.5), vx=jitter(0.05)), Look("blue")
    )
    pole = arena.spawn(
        "pole",
        Body(mass=0.1),
        Rod(1.0),
        Start(angle=between(np.pi - 0.3, np.pi + 0.3), spin=jitter(0.5)),
        Look("orange"),
    )
    arena.join(
        Groove(arena.ground, cart, start=(-5.0, 0.0), end=(5.0, 0.0)),
        Pivot(cart, pole, hinge=(0.0, -0.5)),
    )
    push = Push(cart, 10.0)
    arena.agent(
        sees=[X(cart), Vx(cart), Heading(pole), Spin(pole)],
        does=Levers(push=push),
        earns={
            "upright": lambda: (1.0 + np.cos(pole.angle)) / 2,
            "effort": lambda: -0.01 * push.amount**2,
        },
        ends={"ran off": beyond(X(cart), 2.4)},
    )
