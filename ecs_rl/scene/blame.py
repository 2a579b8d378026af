"""What is told of an error in a scene file: the line that it is in, what is wrong there, and what was meant."""

from __future__ import annotations

import builtins
import difflib
import inspect
import re
import sys
import traceback
from collections.abc import Iterable, Sequence
from types import FrameType

import ecs_rl.scene as offered
from ecs_rl.errors import EcsRlError, RuleError
from ecs_rl.scene.members import offered_by
from ecs_rl.scene.rules import Compared, Remembering, SharedRule
from ecs_rl.scene.sensors import Sensor
from ecs_rl.user_files import file_errors

MOST_OPTIONAL = 3
"""Arguments with a default that are listed of something called in a wrong way."""
ALL_AT_ONCE = "a rule works on all arenas at once"
PLAINLY: tuple[tuple[str, str], ...] = (
    (
        "truth value of an array",
        f"{ALL_AT_ONCE}: use np.where(condition, a, b) for `if`; `&`, `|`, `~` and brackets for `and`, `or`, `not`; "
        "np.maximum for `max`",
    ),
    (
        r"only (0-dimensional|length-1|size-1) arrays can be converted",
        f"{ALL_AT_ONCE}: use np.exp for math.exp and the like, and neither float(...) nor int(...)",
    ),
    (
        r"could not be broadcast together .*,\s*2\)",
        "position and velocity are two numbers per arena, everything else is one: take them apart, as in cart.x",
    ),
    (
        "could not be broadcast together",
        "a column is (arenas,), of a kind (arenas, members): cart.x[:, None] stands beside a kind's, .any(axis=1), "
        ".sum(axis=1) and the like make one number of all members",
    ),
    (
        r"'(numpy\.)?ndarray' object is not callable",
        "a column is no function: leave the brackets away, as in cart.x",
    ),
    (r"^\w+\(\) takes no arguments", "a class with fields needs `@component` in the line above it"),
    (
        "read-only|has no setter|can't set attribute",
        "rules only read: an effect such as Push moves a body, and a system writes what it names in arena.system(..., "
        "writes=(...))",
    ),
)
"""What a newcomer to columns needs to hear, by what Python and numpy say."""
NO_NUMBERS = {
    "function": "a function is not a number: call it, as in `distance()`",
    "method": "a method is not a number: call it, with brackets",
    "Draw": "a draw's number is its value, as in `wind.value`",
    "Number": "its column is its value, as in `coins.value`",
    "Dice": "dice are a rule: call them inside a rule or a system, as in `luck() < 0.01`",
    "Spread": "a spread is no number yet: say both bounds, as in between(-6, 8)",
    "Trigger": "what the agent decided is its `on`, as in `fire.on`",
    "Lever": "what the agent set is its `amount`, as in `aim.amount`",
    "Choice": "what the agent decided is its `picked`, as in `steer.picked == 0`",
    "Role": "a role's numbers are its x, y, angle, vx, vy and spin, as in `cart.x`",
}
"""Types that are calculated with by mistake."""


def explained(error: BaseException) -> str:
    """Return one line that says what is wrong, and what was meant where that can be guessed."""
    if isinstance(error, EcsRlError):
        return str(error)
    if isinstance(error, SystemExit):
        return "this ends the whole program: a scene must not call exit"
    message = file_errors.message_of(error).removesuffix(". Use a.any() or a.all()")  # a rule wants neither
    return file_errors.python_problem(error) or file_errors.with_kind(error, message, _meaning(error, message))


def _meaning(error: BaseException, message: str) -> str:
    """Return what was meant, or '' if there is nothing to say."""
    plainly = next((hint for pattern, hint in PLAINLY if re.search(pattern, message)), "")
    if plainly:
        return plainly
    match error:
        case NameError():
            return _name_meant(error, message)
        case AttributeError():
            return _attribute_meant(error, message)
        case ImportError():
            return _import_meant(error, message)
        case TypeError():
            return _call_meant(error, message) or _no_number(message)
    return ""


def _near(word: str, names: Iterable[str], likeness: float = 0.6) -> str:
    """Return `did you mean 'x'?`, or '' where no name is near; a class is not what a variable was meant to be."""
    known = sorted(n for n in set(names) if n[:1].isupper() == word[:1].isupper() or n.lower() == word.lower())
    close = [name for name in known if name.lower() == word.lower()] or difflib.get_close_matches(
        word, known, n=1, cutoff=likeness
    )
    return f"did you mean '{close[0]}'?" if close else ""


def _name_meant(error: NameError, message: str) -> str:
    match = re.search(r"'(\w+)'", message)
    word = error.name or (match[1] if match else "")
    if isinstance(error, UnboundLocalError) or "free variable" in message:
        frame = [frame for frame, _ in traceback.walk_tb(error.__traceback__)][-1:]
        if frame and "<locals>" in frame[0].f_code.co_qualname and word in _names_around(frame[0]):
            made = f"in here `{word} = ...` and `{word} += ...` make a new '{word}'"
            return f"{made}: write into the column, as `n.value += 1`"
        return f"'{word}' is used before the line that makes it"
    if word == "np":
        return "add `import numpy as np`"
    if word in offered.__all__:
        return "add `from ecs_rl.scene import *`"
    frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__)]
    return (_near(word, _names_at(frames[-1])) if frames else "") or _near(word, vars(builtins), 0.8)


def _names_at(frame: FrameType) -> set[str]:
    """Return all names that could be used in a frame, those of the function around it included."""
    names = {*frame.f_locals, *frame.f_globals, *_names_around(frame)}
    return {name for name in names if not name.startswith("_")}


def _names_around(frame: FrameType) -> set[str]:
    """Return the names of the function around a frame's."""
    outer = frame.f_globals.get(frame.f_code.co_qualname.split(".")[0])
    code = getattr(outer, "__code__", None)
    return {*code.co_varnames, *code.co_cellvars} if code is not None else set()


def _attribute_meant(error: AttributeError, message: str) -> str:
    match = re.search(r"module '([\w.]+)' has no attribute '(\w+)'", message)
    owner, word = (sys.modules.get(match[1]), match[2]) if match else (error.obj, error.name or "")
    if owner is None or not word:
        return ""
    names = offered_by(owner)
    ours = type(owner).__module__.startswith("ecs_rl.")
    return _near(word, names) or (f"there is: {', '.join(names)}" if ours else "")


def _import_meant(error: ImportError, message: str) -> str:
    match = re.match(r"cannot import name '(\w+)' from 'ecs_rl.scene'", message)
    if match:
        return _near(match[1], offered.__all__) or "a scene imports with `from ecs_rl.scene import *`"
    ours = (error.name or "").startswith("ecs_rl")
    return "a scene imports with `from ecs_rl.scene import *`" if ours else ""


def _call_meant(error: TypeError, message: str) -> str:
    """Return how something of the scene's own, or that it imports from here, is called; it was called otherwise."""
    match = re.match(r"(\w+)(?:\.(\w+))?\(\) (?:got|takes|missing)", message)
    frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__)]
    own = frames[-1].f_globals.get(match[1]) if match and frames else None
    called = getattr(offered, match[1], own) if match else None
    if match and match[2] and called is not None:
        called = getattr(called, match[2], None)
    if not match or not callable(called):
        return ""
    parameters = [p for p in inspect.signature(called).parameters.values() if p.name != "self"]
    unknown = re.search(r"unexpected keyword argument '(\w+)'", message)
    names = [p.name for p in parameters if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
    near = _near(unknown[1], names) if unknown else ""
    return near or f"it is called as {match[1] if match[2] in (None, '__init__') else match[2]}{_usage(parameters)}"


def _usage(parameters: Sequence[inspect.Parameter]) -> str:
    """Return what something is called with, as in `(size)`."""
    plain = [p.replace(annotation=p.empty) for p in parameters]
    optional = [p for p in plain if p.default is not p.empty]
    text = str(inspect.Signature([p for p in plain if p not in optional[MOST_OPTIONAL:]]))
    return text if len(optional) <= MOST_OPTIONAL else f"{text[:-1]}, ...)"


def _no_number(message: str) -> str:
    """Return how to get at the number of what somebody tried to calculate with."""
    bases = (Sensor, Remembering, Compared, SharedRule)
    rules = {kind.__name__ for base in bases for kind in (base, *base.__subclasses__())}
    for quoted, plain in re.findall(r"'(\w+)'|of type (\w+)", message):
        kind = quoted or plain
        if kind in NO_NUMBERS:
            return NO_NUMBERS[kind]
        if kind in rules:
            return "a sensor is a rule, not a number: call it inside a rule, as in `lambda: 2.0 * height()`"
    return ""


# --- where ------------------------------------------------------------------------------------------------------------


def scene_lines_in(file: str, error: BaseException) -> list[int]:
    """Return the lines of a file that led to an error, the outermost first; none if it was not there."""
    if isinstance(error, RuleError):
        line = _line_of(file, error.rule)
        return [] if line is None else [line]
    return file_errors.lines_in(file, error)


def _line_of(file: str, rule: object, depth: int = 8) -> int | None:
    """Return the line in which a rule's own function begins, however deep it is wrapped in rules that come with us.

    Of a sensor or an effect of the scene's own it is the line of its `write` or `apply`.
    """
    code = getattr(rule, "__code__", None)
    if code is not None and code.co_filename == file:
        return int(code.co_firstlineno)
    inner = [*_enclosed(rule), *(getattr(rule, name, None) for name in ("rule", "read", "write", "apply"))]
    lines = (_line_of(file, part, depth - 1) for part in inner if callable(part) and depth)
    written = getattr(rule, "written", ("", None))  # of a sensor of ours, which has no line but that
    return next((line for line in lines if line is not None), written[1] if written[0] == file else None)


def _enclosed(rule: object) -> list[object]:
    """Return what a function uses of the functions around it, as far as that has a value yet."""
    objects = []
    for cell in getattr(rule, "__closure__", None) or ():
        try:
            objects.append(cell.cell_contents)
        except ValueError:
            continue  # it gets its value in a later line
    return objects
