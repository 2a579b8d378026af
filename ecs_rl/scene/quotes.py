"""How messages quote what a scene file holds: in one short line, whatever it is."""

from __future__ import annotations

import dataclasses
import inspect

import numpy as np

LONGEST = 60
"""Characters of a value that a message quotes."""
BRACKETS: dict[type, tuple[str, str]] = {list: ("[", "]"), tuple: ("(", ")"), set: ("{", "}")}


def shown(value: object) -> str:
    """Return a value as messages quote it: one line of at most `LONGEST` characters."""
    text = " ".join((_held(value) or _quoted(value)).split())
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 3]}..."


def _held(value: object) -> str:
    """Return what a list or dict holds, each object by its kind alone; '' for anything else."""
    if type(value) is dict:
        pairs = (f"{_quoted(key)}: {_quoted(held, inside=True)}" for key, held in value.items())
        return f"{{{', '.join(pairs)}}}"
    if isinstance(value, (list, tuple, set)) and type(value) in BRACKETS:
        opens, closes = BRACKETS[type(value)]
        return f"{opens}{', '.join(_quoted(held, inside=True) for held in value)}{closes}"
    return ""


def _quoted(value: object, *, inside: bool = False) -> str:
    kind = type(value)
    if isinstance(value, type):
        return f"the class {value.__name__}"
    if inspect.isroutine(value):
        return "a lambda" if value.__name__ == "<lambda>" else f"the function {value.__name__}"
    if isinstance(value, np.ndarray):
        return f"an array {value.shape} of {value.dtype}"
    if kind.__module__ == "builtins" or isinstance(value, np.generic):
        return _held(value) or repr(value)
    return _object(value, inside=inside)


def _object(value: object, *, inside: bool) -> str:
    """Return an object by its own name, by all of it if that is short, or by its kind."""
    name = getattr(value, "name", None) or next(iter(getattr(value, "names", None) or ()), None)
    if isinstance(name, str):
        return f"{type(value).__name__} '{name}'"
    whole = repr(value) if dataclasses.is_dataclass(value) and not inside else ""
    return whole if 0 < len(whole) <= LONGEST else f"{type(value).__name__}(...)"


def form(value: object) -> str:
    """Return what a rule gave, where that is not one number per arena."""
    if isinstance(value, (list, tuple)):
        text = any(isinstance(held, str) for held in value)
        return f"{type(value).__name__} of {'text' if text else f'length {len(value)}'}"
    if isinstance(value, (np.ndarray, np.generic)):
        return f"{value.shape} of {'text' if value.dtype.kind in 'US' else value.dtype}"
    if isinstance(value, str):
        return f"str {shown(value)}"
    if value is None:
        return "NoneType: is its `return` missing?"
    return f"{shown(value)}, which is no number: call it" if callable(value) else shown(value)
