"""Numbers that would kill the physics are refused here, while the scene is being built."""

from __future__ import annotations

import math

from ecs_rl.errors import SceneError

Point = tuple[float, float]


class RuleError(SceneError):
    """A rule of a scene gave what nothing can be made of; the loader finds the line in which the rule is written."""

    def __init__(self, message: str, rule: object) -> None:
        super().__init__(message)
        self.rule = rule


def finite(what: str, value: float) -> float:
    """Return the value, or refuse what is not a finite number."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        raise SceneError(f"{what} must be a finite number, not {value!r}")
    return float(value)


def positive(what: str, value: float) -> float:
    """Return the value, or refuse what is not a finite number above zero."""
    if finite(what, value) <= 0:
        raise SceneError(f"{what} must be above zero, not {value!r}")
    return float(value)


def not_negative(what: str, value: float) -> float:
    """Return the value, or refuse what is not a finite number of at least zero."""
    if finite(what, value) < 0:
        raise SceneError(f"{what} must not be negative, not {value!r}")
    return float(value)


def point(what: str, value: Point) -> Point:
    """Return the point, or refuse what is not a pair of finite numbers."""
    if not isinstance(value, tuple) or len(value) != 2:
        raise SceneError(f"{what} must be a pair (x, y), not {value!r}")
    return finite(f"{what} x", value[0]), finite(f"{what} y", value[1])
