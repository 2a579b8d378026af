"""How an agent drives effects: by a choice among named options, or by levers.

What it decides becomes the `amount` column of each effect: 0 or 1 under a choice, -1 to 1 on a lever.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ecs_rl.arrays import F64
from ecs_rl.errors import SceneError
from ecs_rl.scene.checks import shown
from ecs_rl.scene.effects import Effect, sound

Effects = Effect | tuple[Effect, ...] | None


def _listed(effects: Effects) -> tuple[Effect, ...]:
    listed = effects if isinstance(effects, tuple) else () if effects is None else (effects,)
    for effect in listed:
        if not isinstance(effect, Effect):
            several = ": several go into a tuple, (one, other)" if isinstance(effect, list) else ""
            raise SceneError(f"an action is made of effects such as Push or Thrust, not of {shown(effect)}{several}")
        sound(effect)
    return listed


class Controls:
    """The base of Choice and Levers: named controls, each of which works some effects."""

    least = 1
    """Controls that there must be."""
    too_few = "levers need at least one effect"

    def __init__(self, *unnamed: Any, **controls: Effects) -> None:
        kind = type(self).__name__
        if unnamed:
            raise SceneError(
                f"each effect in {kind} needs a name, as in {kind}(push=...), not {shown(unnamed[0])} alone"
            )
        works = [_listed(effects) for effects in controls.values()]
        if len(works) < self.least:
            raise SceneError(self.too_few)
        self.names = tuple(controls)
        # By identity: an effect of the scene's own may be a dataclass that equals another.
        self.effects = tuple({id(effect): effect for listed in works for effect in listed}.values())
        self.table = np.array([[float(any(e is each for each in listed)) for e in self.effects] for listed in works])
        """(controls, effects) Which control works which effect."""


class Choice(Controls):
    """The agent picks one of the named options; each is an effect, several in a tuple, or None for doing nothing."""

    least, too_few = 2, "a choice needs at least two options"

    def work(self, action: NDArray[Any], amounts: F64) -> None:
        """Fill (effects, arenas) from (arenas,) whole numbers, which must be options that there are."""
        self.table.T.take(action, axis=1, out=amounts, mode="clip")  # "clip" writes without a copy in between


class Levers(Controls):
    """The agent sets each named lever between -1 and 1; a lever works one effect, or several in a tuple."""

    def work(self, action: NDArray[Any], amounts: F64) -> None:
        """Fill (effects, arenas) from (arenas, levers), each clipped to -1..1 first."""
        amounts[...] = self.table.T @ np.clip(action, -1.0, 1.0).T
