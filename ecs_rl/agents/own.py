"""`--agent FILE.py:CLASS`: an algorithm of a user's own, held to the protocol of `agents/base.py` before it runs."""

from __future__ import annotations

import inspect
import re
from dataclasses import MISSING, fields, is_dataclass
from typing import Any, Literal, get_args, get_origin

from ecs_rl.agents.make import AGENTS, Algorithm
from ecs_rl.errors import CommandError, quoted
from ecs_rl.user_files.file_errors import blaming
from ecs_rl.user_files.named import FromFile, load_object
from ecs_rl.values import fitted, hints_of, kind_of

FLAG = "--agent"
METHODS: dict[str, tuple[str, ...]] = {
    "act": ("observation", "mode", "state"),
    "observe": ("experience",),
    "learn": ("progress",),
    "metrics": (),
    "is_finite": (),
    "policy_state": (),
    "load_policy_state": ("state",),
    "state": (),
    "load_state": ("state",),
    "parameters_sha256": (),
}
"""The methods of an algorithm, and with what each is called."""
PROTOCOL = "ecs_rl.agents.base"
"""The module of `Agent`, whose methods do nothing. It is not imported: numpy would come with it into `--help`."""
SETTINGS = "whole numbers, numbers, true or false, texts, choices (Literal) or tuples of these"


def load_algorithm(text: str) -> Algorithm:
    """Return the algorithm that `FILE.py:CLASS` names; CommandError where it is none."""
    return algorithm_from(load_object(FLAG, text))


def algorithm_from(source: FromFile) -> Algorithm:
    """Return the algorithm that was found in a file, or refuse what does not keep to the protocol."""
    where = f"{FLAG} {source.reference}"
    with blaming(FLAG, source.file):
        try:
            name, config = _checked(source.value)
        except ValueError as wrong:
            raise CommandError(f"{where}: {wrong}") from None
    return Algorithm(name, config, source.value, source.reference, source.sha256)


def _checked(kind: Any) -> tuple[str, type[Any]]:
    """Return the name and the settings of a class; ValueError says what it lacks."""
    if not isinstance(kind, type):
        raise ValueError(f"an algorithm is a class, and this is {quoted(kind, 60)}")
    name, config = getattr(kind, "name", None), getattr(kind, "Config", None)
    if not isinstance(name, str) or not re.fullmatch(r"[a-z][a-z0-9_]{0,31}", name):
        rule = "a text of small letters, digits and '_'" if name is not None else 'as in: name = "mine"'
        raise ValueError(f"the class needs a name, {rule}" + (f", not {quoted(name)}" if name is not None else ""))
    if name in AGENTS:
        raise ValueError(f"the name '{name}' is taken by an algorithm that comes with the project: choose another")
    for method, arguments in METHODS.items():
        _check_method(kind, method, arguments)
    unfit = _unfit(kind, "spec", "config", seed=0, rows=1, threads=1)
    if unfit:
        raise ValueError(f"it must be made as {kind.__name__}(spec, config, *, seed, rows, threads): {unfit}")
    if not isinstance(config, type) or not is_dataclass(config):
        given = "" if config is None else f", not {quoted(config, 60)}"
        raise ValueError(f"its settings must be a dataclass `Config` inside the class{given}")
    _check_config(name, config)
    return name, config


def _check_method(kind: type, method: str, arguments: tuple[str, ...]) -> None:
    signature = f"{method}({', '.join(('self', *arguments))})"
    function = getattr(kind, method, None)
    if not callable(function) or getattr(function, "__module__", "") == PROTOCOL:
        raise ValueError(f"it has no method {signature}; see Agent in ecs_rl/agents/base.py")
    if unfit := _unfit(function, None, *arguments):
        raise ValueError(f"{method} must be called as {signature}: {unfit}")


def _unfit(function: Any, *arguments: object, **named: object) -> str:
    """Return why a function cannot be called like this, '' where it can."""
    try:
        inspect.signature(function).bind(*arguments, **named)
    except TypeError as error:
        return str(error)
    return ""


def _check_config(name: str, config: type[Any]) -> None:
    """Refuse settings that a command line cannot give, or that have no default, or one that does not fit."""
    hints = hints_of(config)
    for setting in fields(config):
        where = f"Config.{setting.name}"
        hint = hints.get(setting.name)
        if hint is None or not _readable(hint):
            raise ValueError(f"{where}: settings are {SETTINGS}, each at its own type")
        if setting.default is MISSING and setting.default_factory is MISSING:
            raise ValueError(f"{where} needs a default, as in: {setting.name}: float = 0.1")
    config_now = config()
    for key, hint in hints.items():
        fitted(f"{name}.{key}", getattr(config_now, key), hint)


def _readable(hint: Any) -> bool:
    kind = kind_of(hint)
    if get_origin(kind) is Literal:
        return all(isinstance(word, str) for word in get_args(kind))
    if get_origin(kind) is tuple:
        return len(get_args(kind)) == 2 and get_args(kind)[1] is ... and _readable(get_args(kind)[0])
    return kind in (int, float, bool, str)
