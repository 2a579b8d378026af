"""The one place that calls tyro: reads flags as they were written, and turns every refusal into one short sentence."""

from __future__ import annotations

import contextlib
import difflib
import io
import re
from collections.abc import Sequence
from dataclasses import is_dataclass
from typing import Any, Literal, NoReturn, TypedDict, cast, get_args, get_origin

import tyro
from tyro.conf import Positional
from tyro.constructors import ConstructorRegistry, PrimitiveConstructorSpec, PrimitiveTypeInfo

from ecs_rl.console import delivering
from ecs_rl.errors import CommandError
from ecs_rl.values import hints_of, kind_of, setting_of_another_name


def read_flags(settings: type, argv: Sequence[str], prog: str) -> dict[str, Any]:
    """Return the flags that stand in `argv` by the names of their settings: text, several texts, or a switch's bool.

    Bad input is a `CommandError`.
    """
    hints = hints_of(settings)
    flags: Any = cast(Any, TypedDict)("Flags", hints, total=False)  # what is not given is not in it
    box = io.StringIO()
    try:
        with contextlib.redirect_stderr(box):
            given: dict[str, Any]
            given, unknown = tyro.cli(flags, prog=prog, args=argv, return_unknown_args=True, registry=_REGISTRY)
    except SystemExit as stop:
        if not stop.code:  # tyro printed a shell's completion
            raise
        raise CommandError(f"{_first_sentence(box.getvalue())} ({prog} --help explains each flag)") from None
    if unknown:
        raise CommandError(_unknown(unknown, settings, prog))
    for name, texts in given.items():
        # A shell's variable that was not set would otherwise choose something that nobody named.
        flag = flags_of(settings)[name]
        if isinstance(texts, list) and "" in texts and flag != "SCENE":  # an empty scene is a missing one
            raise CommandError(f"an empty value stands behind {flag}: give it one, or leave it out")
        if isinstance(texts, list) and not _takes_several(hints[name]):
            given[name] = "".join(texts)  # one, or none behind `--resume`
    return given


def print_help(defaults: Any, prog: str, about: str) -> NoReturn:
    """Print the help with these settings as the defaults, and exit; `about` is what it begins with."""
    kind = type(defaults)
    with delivering(), contextlib.suppress(SystemExit):  # its reader may have seen enough, as in `--help | head`
        tyro.cli(kind, prog=prog, description=about, args=["--help"], default=defaults, registry=_REGISTRY)
    raise SystemExit(0)


def flags_of(settings: type) -> dict[str, str]:
    """Return how each setting is written on the command line, by its name."""
    hints = hints_of(settings)
    positional = {name for name, hint in hints.items() if Positional in getattr(hint, "__metadata__", ())}
    return {name: name.upper() if name in positional else "--" + name.replace("_", "-") for name in hints}


def _unknown(tokens: Sequence[str], settings: type, prog: str) -> str:
    wrong = next((token for token in tokens if token.startswith("-")), None)
    if wrong is None:
        return f"'{tokens[0]}' is one argument too many: a value goes behind its flag ({prog} --help lists all flags)"
    name = wrong.partition("=")[0]
    known = list(flags_of(settings).values())
    table, dot, _ = name.lstrip("-").partition(".")
    tables = {flag.lstrip("-").partition(".")[0] for flag in known if "." in flag}
    near = _near(name, known) if not dot or difflib.get_close_matches(table, tables, n=1) else None
    known_as = setting_of_another_name(name, known)
    near = known_as or near
    hint = f": did you mean '{near}'?" if near else ""
    if not near and dot:
        hint = ": an algorithm of your own has its settings where --agent FILE.py:CLASS names it too"
    return f"unknown flag '{name}'{hint} ({prog} --help lists all flags)"


def _near(name: str, flags: Sequence[str]) -> str | None:
    """Return the flag that was probably meant, by all of its name or by what stands behind the dot; None if none is."""
    words = {each.lstrip("-").rpartition(".")[2]: each for each in reversed(flags)}
    words |= {each.lstrip("-"): each for each in flags}
    close = difflib.get_close_matches(name.lstrip("-").replace("_", "-"), words, n=1, cutoff=0.75)
    return words[close[0]] if close else None


def _first_sentence(box: str) -> str:
    """Return what a box of tyro says above its first rule, without the frame."""
    lines: list[str] = []
    for line in box.splitlines()[1:]:
        words = line.strip(" │|")
        if re.fullmatch(r"[─╰╯+-]*", words):
            break
        lines.append(words)
    return " ".join(lines) or "the command line cannot be read"


_REGISTRY = ConstructorRegistry()


@_REGISTRY.primitive_rule
def _as_written(info: PrimitiveTypeInfo) -> PrimitiveConstructorSpec[Any] | None:
    """Keep the texts of every setting: `fitted` reads them, as it reads those of files."""
    kind: Any = info.type
    if kind is bool or is_dataclass(kind):
        return None
    if _takes_several(kind):
        return PrimitiveConstructorSpec("*", "[N [N ...]]", list, lambda value: True, _default_words)
    words = ",".join(get_args(kind)) if get_origin(kind) is Literal else ""
    metavar = f"{{{words}}}" if words else {int: "N", float: "X"}.get(kind, "TEXT")
    return PrimitiveConstructorSpec(1, metavar, list, lambda value: True, _default_words)


def _takes_several(hint: Any) -> bool:
    return get_origin(kind_of(hint)) is tuple


def _default_words(default: Any) -> list[str]:
    """Return a default as it would be written behind its flag."""
    if isinstance(default, tuple):
        return [text for each in default for text in _default_words(each)]
    if isinstance(default, int | float):
        return [f"{default:_}" if isinstance(default, int) else f"{default:g}"]
    return [str(default)]
