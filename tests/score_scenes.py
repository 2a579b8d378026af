"""Scenes whose score is not what is earned, and duels."""

from __future__ import annotations

HOVER = '''"""Stay near a target: what is earned is never above zero, what is scored are the ticks on the target."""

import numpy as np

from ecs_rl.scene import *

SCENE = Scene(
    about="Stay near a target.",
    max_ticks=60,
    solved_at=45,
    score="on target",
    gravity=(0.0, 0.0),
    recipes={"ppo": {"arenas": 32, "steps": "100k", "lr": 3e-3, "rollout": 32, "epochs": 8, "minibatch": 256,
                     "eval_every": "4k"}},
)


def build(arena: Arena) -> None:
    disc = arena.spawn("disc", Body(), Disc(0.2), Start(x=jitter(1.5)))
    on_target = arena.number("on target")

    @arena.system(writes=(on_target,))
    def count() -> None:
        on_target.value += np.abs(disc.x) < 0.4

    arena.score("on target", lambda: on_target.value)
    arena.score("place", X(disc))
    arena.agent(
        sees=[X(disc), Vx(disc)],
        does=Choice(left=Push(disc, -8.0), right=Push(disc, 8.0)),
        earns={"near": lambda: -np.abs(disc.x)},
    )
'''

DUEL = '''"""Two carts; each earns what the other one loses."""

import numpy as np

from ecs_rl.scene import *

SCENE = Scene(about="A duel.", max_ticks=40)


def build(arena: Arena) -> None:
    carts = [arena.spawn(name, Body(spins=False), Box(0.5, 0.3), Start(x=jitter(0.5), y=i * 2.0))
             for i, name in enumerate(("one", "two"))]
    for i, cart in enumerate(carts):
        other = carts[1 - i]
        arena.join(Groove(arena.ground, cart, (-90.0, 2.0 * i), (90.0, 2.0 * i)))
        arena.agent(
            name=cart.name, policy=cart.name,
            sees=[X(cart), Vx(cart), X(other)],
            does=Choice(left=Push(cart, -5.0), right=Push(cart, 5.0)),
            earns={"ahead": lambda cart=cart, other=other: 0.1 * (cart.x - other.x)},
        )
'''
SCORED_DUEL = DUEL.replace("max_ticks=40", "max_ticks=40, score='lead'").replace(
    "    for i, cart in enumerate(carts):", "    arena.score('lead', lambda: np.sign(carts[0].x - carts[1].x))\n"
    "    for i, cart in enumerate(carts):",
)  # fmt: skip
SHARED_DUEL = DUEL.replace("policy=cart.name,", "")
LEVERS_DUEL = DUEL.replace(
    "Choice(left=Push(cart, -5.0), right=Push(cart, 5.0))", "Levers(left=Push(cart, -5.0), right=Push(cart, 5.0))"
)
