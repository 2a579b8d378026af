"""The one place that calls tyro: reads flags into a dataclass, and turns every refusal into one short sentence."""

from __future__ import annotations

import contextlib
import difflib
import io
import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import fields, is_dataclass
from typing import Any, Literal, NoReturn, TypeVar, get_args, get_origin, get_type_hints

import tyro
from tyro.constructors import ConstructorRegistry, PrimitiveConstructorSpec, PrimitiveTypeInfo

from ecs_rl.commands.numbers import parse_count
from ecs_rl.commands.pipes import delivering
from ecs_rl.errors import CommandError, nearest

T = TypeVar("T")


class BadValue(Exception):
    """A value that a flag of this type cannot take; tyro lets it through because it is not a ValueError."""

    def __init__(self, kind: object, value: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind
        self.value = value


def read_flags(default: T, argv: Sequence[str], prog: str, to_come: Sequence[str] = (), about: str = "") -> T:
    """Return `default` changed by the flags in `argv`; `--help` prints and exits, bad input is a `CommandError`.

    `to_come` are flags that are planned, `about` is what the help begins with.
    """
    _refuse_empty(argv)
    box = io.StringIO()
    try:
        with contextlib.redirect_stderr(box):
            settings, unknown = tyro.cli(
                type(default),
                prog=prog,
                description=about,
                args=list(argv),
                default=default,
                return_unknown_args=True,
                registry=_REGISTRY,
            )
    except BadValue as bad:
        raise CommandError(f"{_flag_before(bad, argv, type(default))}: {bad}") from None
    except CommandError as error:  # an algorithm's settings check themselves, and name themselves `ppo.lr`
        raise CommandError(f"--{error}") from None
    except (SystemExit, OSError) as stop:
        if isinstance(stop, OSError) or not stop.code:
            _end_of_help(stop)
        raise CommandError(f"{_first_sentence(box.getvalue())} ({prog} --help explains each flag)") from None
    if unknown:
        raise CommandError(_unknown(unknown, type(default), prog, to_come))
    return settings


def flag_types(kind: type, prefix: str = "--") -> Iterator[tuple[str, object]]:
    """Yield each flag of a settings class, nested tables included, with the type of its value."""
    hints = get_type_hints(kind)
    for each in fields(kind):
        flag = prefix + each.name.replace("_", "-")
        if is_dataclass(hints[each.name]):
            yield from flag_types(hints[each.name], flag + ".")
        else:
            yield flag, hints[each.name]


def _refuse_empty(argv: Sequence[str]) -> None:
    """Refuse `--runs ""`: a shell's variable that was not set would otherwise choose something nobody named."""
    for before, token in zip(("", *argv), argv, strict=False):
        flag = token[:-1] if token.endswith("=") else before
        if flag.startswith("--") and token in ("", f"{flag}="):
            raise CommandError(f"an empty value stands behind {flag}: give it one, or leave it out")


def _end_of_help(how: SystemExit | OSError) -> NoReturn:
    """Exit in peace after the help, also when its reader had seen enough, as in `train.py --help | head`."""
    with delivering():
        if isinstance(how, OSError):
            raise how
    raise SystemExit(0)


def _flag_before(bad: BadValue, argv: Sequence[str], kind: type) -> str:
    """Find the flag that the value stood behind: the parser does not tell a value's converter whose value it is."""
    types = dict(flag_types(kind))
    flag = ""
    for token in argv:
        head, _, attached = token.partition("=")
        if head.startswith("--"):
            flag = "--" + head[2:].replace("_", "-")
        kind_of_flag = types.get(flag)
        # A tuple's numbers are converted one by one.
        if bad.kind in (kind_of_flag, *get_args(kind_of_flag)) and bad.value in ("", attached, token):
            return flag
    return "command line"


def _unknown(tokens: Sequence[str], kind: type, prog: str, to_come: Sequence[str]) -> str:
    wrong = next((token for token in tokens if token.startswith("-")), None)
    if wrong is None:
        return f"'{tokens[0]}' is one argument too many: a value goes behind its flag ({prog} --help lists all flags)"
    name = wrong.partition("=")[0]
    if name.replace("_", "-") in to_come:
        return f"{name} is not there yet ({prog} --help lists all flags)"
    near = _near(name, [flag for flag, _ in flag_types(kind)])
    hint = f": did you mean '{near}'?" if near else ""
    return f"unknown flag '{name}'{hint} ({prog} --help lists all flags)"


def _near(name: str, flags: Sequence[str]) -> str | None:
    """Return the flag that was probably meant, by all of its name or by what stands behind the dot; None if none is."""
    words = {flag.lstrip("-").rpartition(".")[2]: flag for flag in reversed(flags)}
    words |= {flag.lstrip("-"): flag for flag in flags}
    close = difflib.get_close_matches(name.lstrip("-").replace("_", "-"), words, n=1, cutoff=0.75)
    return words[close[0]] if close else None


def _first_sentence(box: str) -> str:
    """Return what a box of tyro says above its first rule, without the frame."""
    said: list[str] = []
    for line in box.splitlines()[1:]:
        words = line.strip(" │|")
        if re.fullmatch(r"[─╰╯+-]*", words):
            break
        said.append(words)
    return " ".join(said) or "the command line cannot be read"


def _count(values: list[str]) -> int:
    try:
        return parse_count(values[0])
    except CommandError as error:
        raise BadValue(int, values[0], str(error)) from None


def _number(values: list[str]) -> float:
    try:
        number = float(values[0])
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise BadValue(float, values[0], f"'{values[0]}' is not a number: write it like 0.5 or 3e-4")
    return number


def _word_of(kind: object) -> PrimitiveConstructorSpec[str]:
    words = get_args(kind)

    def read(values: list[str]) -> str:
        if values[0] not in words:
            raise BadValue(kind, values[0], f"there is no '{values[0]}': {nearest(values[0], words)}")
        return values[0]

    return PrimitiveConstructorSpec(1, "{" + ",".join(words) + "}", read, lambda value: value in words, lambda v: [v])


_REGISTRY = ConstructorRegistry()


@_REGISTRY.primitive_rule
def _rules(info: PrimitiveTypeInfo) -> PrimitiveConstructorSpec[Any] | None:
    """Read every number of every algorithm in our own forms and with our own words."""
    kind: object = info.type
    if kind is int:
        return PrimitiveConstructorSpec(1, "N", _count, lambda v: isinstance(v, int), lambda v: [f"{v:_}"])
    if kind is float:
        return PrimitiveConstructorSpec(1, "X", _number, lambda v: isinstance(v, float | int), lambda v: [f"{v:g}"])
    return _word_of(kind) if get_origin(kind) is Literal else None
