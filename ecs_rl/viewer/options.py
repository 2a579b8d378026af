"""What an agent does, as the rows of the mind: options of a choice, levers, triggers."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ecs_rl.arrays import F32
from ecs_rl.spaces import TRIGGER, Continuous, Part, spans
from ecs_rl.viewer.view import Option

if TYPE_CHECKING:
    from ecs_rl.spaces import ActionSpace


def options_of(space: ActionSpace, did: NDArray[Any], does: F32, spread: F32 | None) -> tuple[Option, ...]:
    """Return (columns,) of what was done and (actions,) of an agent's output as they are shown, part by part."""
    wide = np.full(len(does), math.nan) if spread is None else spread
    return tuple(
        option
        for part, columns, outputs in spans(space)
        for option in _options_of(part, did[columns], does[outputs].tolist(), wide[outputs].tolist())
    )


def _options_of(part: Part, did: NDArray[Any], values: list[float], spread: list[float]) -> list[Option]:
    """Return a lever, or each option of a choice, as shown; of a trigger among other controls only that it is on."""
    if isinstance(part, Continuous):
        taken = np.clip(did, -1.0, 1.0).tolist()  # as the world clips it
        levers = zip(part.names, values, taken, spread, strict=True)
        return [Option(name, mean, taken=set_to, spread=wide) for name, mean, set_to, wide in levers]
    chosen = int(did[0])
    if part.name and part.names == TRIGGER:
        return [Option(part.name, values[1], chosen=chosen == 1)]
    named = enumerate(zip(part.names, values, strict=True))
    return [Option(f"{part.name} {name}".strip(), value, chosen=i == chosen) for i, (name, value) in named]
