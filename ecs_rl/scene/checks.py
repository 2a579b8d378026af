"""What would kill the physics or make no sense is refused here, and quoted in one short line.

Every check takes what is checked, as a message names it, and returns the value.
"""

from __future__ import annotations

import dataclasses
import inspect
import math
import re
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ecs_rl.errors import RuleError, SceneError

Point = tuple[float, float]
MOST_SEEN = 10_000
"""Numbers of one agent: in 64 arenas and 128 ticks of a rollout they are 330 MB."""
LONGEST = 60
"""Characters of a value that a message quotes."""
BRACKETS: dict[type, tuple[str, str]] = {list: ("[", "]"), tuple: ("(", ")"), set: ("{", "}")}


def finite(what: str, value: float) -> float:
    """Return the value, or refuse what is not a finite number."""
    number = isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)
    if not number or not math.isfinite(value):
        raise SceneError(f"{what} must be a finite number, not {quote(value)}")
    return float(value)


def positive(what: str, value: float) -> float:
    """Return the value, or refuse what is not a finite number above zero."""
    if finite(what, value) <= 0:
        raise SceneError(f"{what} must be above zero, not {quote(value)}")
    return float(value)


def not_negative(what: str, value: float) -> float:
    """Return the value, or refuse what is not a finite number of at least zero."""
    if finite(what, value) < 0:
        raise SceneError(f"{what} must not be negative, not {quote(value)}")
    return float(value)


def whole(what: str, value: int, least: int) -> int:
    """Return the value, or refuse what is not a whole number of at least `least`."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < least:
        raise SceneError(f"{what} must be a whole number of at least {least}, not {quote(value)}")
    return int(value)


def seen_at_once(what: str, numbers: int) -> int:
    """Return how many numbers an agent sees, or refuse more than a policy can learn from in any sensible time."""
    if numbers > MOST_SEEN:
        raise SceneError(f"{what} gives {numbers:,} numbers, and an agent sees at most {MOST_SEEN:,}")
    return numbers


def point(what: str, value: Point) -> Point:
    """Return the point, or refuse what is not a pair of finite numbers."""
    if not isinstance(value, tuple) or len(value) != 2:
        raise SceneError(f"{what} must be a pair (x, y), not {quote(value)}")
    return finite(f"{what} x", value[0]), finite(f"{what} y", value[1])


def named(what: str, name: object) -> str:
    """Return the name, or refuse what is not a text with something in it."""
    if not isinstance(name, str) or not name.strip():
        raise SceneError(f"{what} needs a name, a text that is not empty, not {quote(name)}")
    try:
        name.encode()
    except UnicodeEncodeError:
        raise SceneError(f"{what} needs a name that UTF-8 can write, not {quote(name)}") from None
    return name


def plain(what: str, name: object) -> str:
    """Return the name, or refuse one that could not stand in a file of a run."""
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9 ._-]*", named(what, name)):
        raise SceneError(f"{what} is named with letters, digits, spaces and `._-`, not {quote(name)}")
    return str(name)


def fits(function: Callable[..., Any], *arguments: object) -> str:
    """Return why a function cannot be called with these arguments, '' where it can or does not say."""
    try:
        inspect.signature(function).bind(*arguments)
    except TypeError as error:
        return str(error)
    except ValueError:
        return ""  # a function of C that does not say
    return ""


def ruling(what: str, rule: Callable[[], Any], such_as: str = "`lambda: cart.x`") -> Callable[[], Any]:
    """Return the rule, or refuse what cannot be called, or not without arguments."""
    if not callable(rule) or isinstance(rule, type):
        raise SceneError(f"{what} must be a rule such as {such_as}, not {quote(rule)}{by_value(rule)}")
    if unfit := fits(rule):
        raise SceneError(f"{what} must be a rule without arguments such as {such_as}: {unfit}")
    return rule


def caller() -> tuple[str, int]:
    """Return the file and the line that called into what a scene imports."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_globals.get("__name__", "").startswith("ecs_rl.scene."):
        frame = frame.f_back
    return (frame.f_code.co_filename, frame.f_lineno) if frame is not None else ("", 0)


def by_value(number: object) -> str:
    """Return how to make a rule of a number of the arena, '' for anything else."""
    return ": take `lambda: coins.value`" if isinstance(getattr(type(number), "value", None), property) else ""


def as_array(value: object, rule: object) -> NDArray[Any]:
    """Return what a rule gave as an array, or refuse what numpy makes none of."""
    try:
        return np.asarray(value)
    except ValueError:
        raise RuleError("a rule must give one number per arena, not lists of several lengths", rule) from None


def aligned(value: Any, count: int | None) -> Any:
    """Return one number per arena so that it stands beside (arenas, count): for a kind, all members get the same."""
    return value[:, None] if count is not None and np.ndim(value) == 1 else value


def tried(what: str, rule: Callable[[], Any], arenas: int, *, truth: bool = False, count: int | None = None) -> None:
    """Refuse a rule that does not give one number per arena (and member), or one truth where it ends episodes."""
    value = rule()
    array = as_array(value, rule)
    shapes = [(), (arenas,)] if count is None else [(), (arenas,), (arenas, 1), (arenas, count)]
    if array.shape not in shapes or array.dtype.kind not in "biuf":
        several = f": there are {arenas} arenas" if array.ndim == 1 and array.dtype.kind in "biuf" else ""
        several += f", and {count} members" if count is not None else ""
        raise RuleError(f"{what} must give one number per arena, not {form(value)}{several}", rule)
    if truth and array.dtype != bool:
        message = f"{what} must give true or false, not {array.dtype}"
        raise RuleError(f"{message}: compare it with something, as `beyond` does", rule)


# --- quoting ----------------------------------------------------------------------------------------------------------


def quote(value: object) -> str:
    """Return a value as messages quote it: one line of at most `LONGEST` characters."""
    text = " ".join(_quoted(value).split())
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 3]}..."


def _quoted(value: object, *, inside: bool = False) -> str:
    """Return a value in words: an object by its name, by all of it if that is short, or by its kind."""
    if isinstance(value, type):
        return f"the class {value.__name__}"
    if inspect.isroutine(value):
        return "a lambda" if value.__name__ == "<lambda>" else f"the function {value.__name__}"
    if isinstance(value, np.ndarray):
        return f"an array {value.shape} of {value.dtype}"
    if type(value).__module__ == "builtins" or isinstance(value, np.generic):
        return _plainly(value)
    name = getattr(value, "name", None) or next(iter(getattr(value, "names", None) or ()), None)
    if isinstance(name, str):
        return f"{type(value).__name__} '{name}'"
    whole = repr(value) if dataclasses.is_dataclass(value) and not inside else ""
    return whole if 0 < len(whole) <= LONGEST else f"{type(value).__name__}(...)"


def _plainly(value: object) -> str:
    """Return a value of Python's own; objects that it holds are told by their kind alone."""
    if isinstance(value, dict):
        return f"{{{', '.join(f'{_quoted(key)}: {_quoted(held, inside=True)}' for key, held in value.items())}}}"
    if isinstance(value, (list, tuple, set)):
        opens, closes = BRACKETS[type(value)]
        return f"{opens}{', '.join(_quoted(held, inside=True) for held in value)}{closes}"
    return repr(value)


def form(value: object) -> str:
    """Return what a rule gave, where that is not one number per arena."""
    if isinstance(value, (list, tuple)):
        text = any(isinstance(held, str) for held in value)
        return f"{type(value).__name__} of {'text' if text else f'length {len(value)}'}"
    if isinstance(value, (np.ndarray, np.generic)):
        return f"{value.shape} of {'text' if value.dtype.kind in 'US' else value.dtype}"
    if isinstance(value, str):
        return f"str {quote(value)}"
    if value is None:
        return "NoneType: is its `return` missing?"
    return f"{quote(value)}, which is no number: call it" if callable(value) else quote(value)
