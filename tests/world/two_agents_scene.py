"""Two carts side by side, an agent on each; with one policy for both, or with one each."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np

from ecs_rl.scene import Arena, Body, Box, Choice, Groove, Push, Role, Scene, Start, Vx, X, beyond, jitter

NAMES = ("one", "two")


def middle(cart: Role) -> np.ndarray:
    return np.asarray(1.0 - np.abs(cart.x))


def describe(arena: Arena, policies: tuple[str, str]) -> None:
    carts = []
    for i, name in enumerate(NAMES):
        cart = arena.spawn(name, Body(spins=False), Box(0.5, 0.3), Start(x=jitter(0.5), y=2.0 * i))
        arena.join(Groove(arena.ground, cart, (-9.0, 2.0 * i), (9.0, 2.0 * i)))
        carts.append(cart)
    for i, (name, cart) in enumerate(zip(NAMES, carts, strict=True)):
        arena.agent(
            name=name,
            policy=policies[i],
            sees=[X(cart), Vx(cart), X(carts[1 - i])],
            does=Choice(left=Push(cart, -5.0 - 5.0 * i), right=Push(cart, 5.0 + 5.0 * i)),
            earns={"middle": partial(middle, cart), "number": i + 1.0},
            ends={"out": beyond(X(cart), 0.7 + i)},
        )


def build(arena: Arena) -> None:
    describe(arena, ("policy", "policy"))


def build_two_policies(arena: Arena) -> None:
    describe(arena, NAMES)


SCENE = Scene(about="Two carts, two agents.", max_ticks=40)
SAME_POLICY = replace(SCENE, name="two_agents", build=build)
OWN_POLICIES = replace(SCENE, name="two_policies", build=build_two_policies)
