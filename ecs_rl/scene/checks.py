"""Numbers that would kill the physics are refused here, while the scene is being built."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ecs_rl.errors import RuleError, SceneError

Point = tuple[float, float]


def ruling(what: str, rule: Callable[[], Any]) -> Callable[[], Any]:
    """Return the rule, or refuse what cannot be called."""
    if not callable(rule):
        raise SceneError(f"{what} must be a rule such as `lambda: cart.x`, not {rule!r}")
    return rule


def given(rule: Callable[[], Any]) -> NDArray[Any]:
    """Return what a rule gives as an array, or refuse what numpy makes none of."""
    value = rule()
    try:
        return np.asarray(value)
    except ValueError:
        raise RuleError("a rule must give one number per arena, not lists of several lengths", rule) from None


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


def named(what: str, name: object) -> str:
    """Return the name, or refuse what is not a text with something in it."""
    if not isinstance(name, str) or not name.strip():
        raise SceneError(f"{what} needs a name, a text that is not empty, not {name!r}")
    return name


def plain(what: str, name: object) -> str:
    """Return the name, or refuse one that could not stand in a file of a run."""
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9 ._-]*", named(what, name)):
        raise SceneError(f"{what} is named with letters, digits, spaces and `._-`, not {name!r}")
    return str(name)


def point(what: str, value: Point) -> Point:
    """Return the point, or refuse what is not a pair of finite numbers."""
    if not isinstance(value, tuple) or len(value) != 2:
        raise SceneError(f"{what} must be a pair (x, y), not {value!r}")
    return finite(f"{what} x", value[0]), finite(f"{what} y", value[1])
