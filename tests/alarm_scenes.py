"""Scenes that deserve an alarm each: something is wrong with what they reward, or with how they are learned."""

from __future__ import annotations

TEXT = '''"""A cart on a rail."""

import numpy as np

from ecs_rl.scene import *

SCENE = Scene(about="A cart on a rail.", max_ticks={ticks}, {more})


def build(arena: Arena) -> None:
    cart = arena.spawn("cart", Body(spins=False), Box(0.5, 0.3), Start(x=jitter(0.5)))
    arena.join(Groove(arena.ground, cart, (-90.0, 0.0), (90.0, 0.0)))
    arena.agent(
        sees=[X(cart), Vx(cart)],
        does=Choice(left=Push(cart, -8.0), right=Push(cart, 8.0)),
        earns={{{earns}}},
        ends={{{ends}}},
    )
'''


def scene(earns: str, *, ends: str = "", ticks: int = 100, more: str = "") -> str:
    """Return the text of a scene file."""
    return TEXT.format(earns=earns, ends=ends, ticks=ticks, more=more)


LIVING = '"living": -1.0, "crashed": lambda: -5.0 * (np.abs(cart.x) > 3.0)'
DEATH_PAYS = scene(LIVING, ends='"crashed": beyond(X(cart), 3.0)', ticks=200)
"""Living costs so much that hitting a wall at once is best."""
ONE_TERM = scene('"place": lambda: 100.0 - 10.0 * np.abs(cart.x), "effort": lambda: -0.01 * np.abs(cart.vx)')
"""Nothing is learned from the effort."""
HUGE = scene('"place": lambda: 1e4 * np.cos(cart.x)')
"""Rewards so large that a value which learns slowly never gets near."""
OUT_OF_REACH = scene(
    '"there": lambda: 1.0 * (cart.x > 80.0)', ends='"there": above(X(cart), 80.0)', ticks=40, more="solved_at=1"
)
"""Nobody ever gets there."""
TOO_SURE = scene('"right": lambda: 0.02 * cart.x', more="solved_at=1e6")
"""There is far more to be earned than by a policy that is sure of itself at once."""
AWAY = scene('"far": lambda: 0.05 * np.abs(cart.x), "living": 0.01', more='score="on target", solved_at=90.0').replace(
    "    arena.agent(",
    """    on_target = arena.number("on target")

    @arena.system(writes=(on_target,))
    def count() -> None:
        on_target.value += np.abs(cart.x) < 1.0

    arena.score("on target", lambda: on_target.value)
    arena.agent(""",
)
"""The score counts ticks on the target, and the farther away the more is earned."""
RARE = (
    scene('"fired": lambda: earned.value', ticks=10, more="solved_at=5.0")
    .replace("does=Choice(left=Push(cart, -8.0), right=Push(cart, 8.0))", "does=trigger")
    .replace(
        "    arena.agent(",
        """    trigger = Choice(wait=None, fire=Push(cart, 1e-9))
    shots, earned = arena.number("shots"), arena.number("earned")

    @arena.system(reads=(Action,), writes=(shots, earned))
    def count() -> None:
        fires = trigger.picked == 1
        earned.value = np.where(fires, np.where(shots.value == 0.0, 1.0, -0.3), 0.0)
        shots.value += fires

    arena.agent(""",
    )
)
"""One shot in ten ticks is best, and nothing that is seen says when: the likeliest action is never to fire."""
