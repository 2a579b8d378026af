"""Numbers that would kill the physics are refused here, while the scene is being built."""

from __future__ import annotations

import inspect
import math
import re
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ecs_rl.errors import RuleError, SceneError
from ecs_rl.scene.quotes import form, shown

Point = tuple[float, float]


def ruling(what: str, rule: Callable[[], Any], such_as: str = "`lambda: cart.x`") -> Callable[[], Any]:
    """Return the rule, or refuse what cannot be called, or not without arguments."""
    if not callable(rule) or isinstance(rule, type):
        raise SceneError(f"{what} must be a rule such as {such_as}, not {shown(rule)}")
    try:
        signature = inspect.signature(rule)
    except ValueError:  # of a function that does not say
        return rule
    try:
        signature.bind()
    except TypeError as error:
        raise SceneError(f"{what} must be a rule without arguments such as {such_as}: {error}") from None
    return rule


def given(rule: Callable[[], Any]) -> NDArray[Any]:
    """Return what a rule gives as an array, or refuse what numpy makes none of."""
    return as_array(rule(), rule)


def as_array(value: object, rule: object) -> NDArray[Any]:
    """Return what a rule gave as an array, or refuse what numpy makes none of."""
    try:
        return np.asarray(value)
    except ValueError:
        raise RuleError("a rule must give one number per arena, not lists of several lengths", rule) from None


def tried(what: str, rule: Callable[[], Any], arenas: int, *, truth: bool = False) -> None:
    """Refuse a rule that does not give one number per arena, or one truth where it ends episodes."""
    value = rule()
    array = as_array(value, rule)
    if array.shape not in ((), (arenas,)) or array.dtype.kind not in "biuf":
        several = f": there are {arenas} arenas" if array.ndim == 1 and array.dtype.kind in "biuf" else ""
        raise RuleError(f"{what} must give one number per arena, not {form(value)}{several}", rule)
    if truth and array.dtype != bool:
        told = f"{what} must give true or false, not {array.dtype}"
        raise RuleError(f"{told}: compare it with something, as `beyond` does", rule)


def finite(what: str, value: float) -> float:
    """Return the value, or refuse what is not a finite number."""
    number = isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)
    if not number or not math.isfinite(value):
        raise SceneError(f"{what} must be a finite number, not {shown(value)}")
    return float(value)


def positive(what: str, value: float) -> float:
    """Return the value, or refuse what is not a finite number above zero."""
    if finite(what, value) <= 0:
        raise SceneError(f"{what} must be above zero, not {shown(value)}")
    return float(value)


def not_negative(what: str, value: float) -> float:
    """Return the value, or refuse what is not a finite number of at least zero."""
    if finite(what, value) < 0:
        raise SceneError(f"{what} must not be negative, not {shown(value)}")
    return float(value)


def whole(what: str, value: int, least: int) -> int:
    """Return the value, or refuse what is not a whole number of at least `least`."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < least:
        raise SceneError(f"{what} must be a whole number of at least {least}, not {shown(value)}")
    return int(value)


def named(what: str, name: object) -> str:
    """Return the name, or refuse what is not a text with something in it."""
    if not isinstance(name, str) or not name.strip():
        raise SceneError(f"{what} needs a name, a text that is not empty, not {shown(name)}")
    return name


def plain(what: str, name: object) -> str:
    """Return the name, or refuse one that could not stand in a file of a run."""
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9 ._-]*", named(what, name)):
        raise SceneError(f"{what} is named with letters, digits, spaces and `._-`, not {shown(name)}")
    return str(name)


def point(what: str, value: Point) -> Point:
    """Return the point, or refuse what is not a pair of finite numbers."""
    if not isinstance(value, tuple) or len(value) != 2:
        raise SceneError(f"{what} must be a pair (x, y), not {shown(value)}")
    return finite(f"{what} x", value[0]), finite(f"{what} y", value[1])
