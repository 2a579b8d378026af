"""What a setting may be: its type declares the range, and `fitted` makes a value of that type or says what is wrong."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Hashable, Iterable
from dataclasses import is_dataclass
from decimal import Decimal
from functools import cache
from typing import Annotated, Any, ClassVar, Literal, cast, get_args, get_origin, get_type_hints

import msgspec
from msgspec import Meta

from ecs_rl.errors import CommandError, nearest, quoted, visible

LARGEST = 2**63 - 1
"""Counts are stored in 64 signed bits everywhere: numpy, torch, safetensors."""

Count = Annotated[int, Meta(ge=1)]
Natural = Annotated[int, Meta(ge=0)]
Positive = Annotated[float, Meta(gt=0)]
Weight = Annotated[float, Meta(ge=0)]
Share = Annotated[float, Meta(ge=0, le=1)]
AtOnce = Annotated[int, Meta(ge=1, le=100_000)]
"""Arenas and episodes, which all play at the same time."""

_FORM = re.compile(r"(-?[0-9]+(?:_[0-9]+)*(?:\.[0-9]+)?(?:[eE]\+?[0-9]{1,3})?)([kKmM]?)")
_UNIT = {"": 1, "k": 1_000, "m": 1_000_000}
_IN_WORDS = {int: "a whole number", float: "a finite number", bool: "true or false"}


OTHER_NAMES: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("learning_rate", "step_size"), ("lr",)),
    **dict.fromkeys(("batch_size", "minibatch_size", "mini_batch_size"), ("minibatch", "batch")),
    **dict.fromkeys(("n_steps", "num_steps", "rollout_length", "horizon", "unroll_length"), ("rollout",)),
    **dict.fromkeys(("n_epochs", "num_epochs", "update_epochs"), ("epochs",)),
    **dict.fromkeys(("ent_coef", "entropy_coef", "entropy_bonus"), ("entropy",)),
    **dict.fromkeys(("vf_coef", "value_coef"), ("value_weight",)),
    **dict.fromkeys(("clip_range", "clip_coef", "clip_epsilon", "clip_ratio"), ("clip",)),
    **dict.fromkeys(("discount", "discount_factor"), ("gamma",)),
    **dict.fromkeys(("lambda", "lam", "gae"), ("gae_lambda",)),
    **dict.fromkeys(("buffer_size", "replay_size", "memory_size"), ("memory",)),
    **dict.fromkeys(("learning_starts", "start_steps"), ("warm_up",)),
    **dict.fromkeys(("tau", "polyak"), ("target_share", "target_rate")),
    **dict.fromkeys(("train_freq", "update_every"), ("learn_every",)),
    **dict.fromkeys(("num_envs", "n_envs", "envs"), ("arenas",)),
    **dict.fromkeys(("total_timesteps", "total_steps", "max_steps", "timesteps"), ("steps",)),
    **dict.fromkeys(("algo", "algorithm"), ("agent",)),
}
"""Settings by the names that they have in other libraries, such as Stable-Baselines3, CleanRL and ML-Agents."""


def parse_count(text: str) -> int:
    """Return the whole number that a person wrote, whatever its sign; anything else is a `CommandError`."""
    form, quoted_text = _FORM.fullmatch(text.strip()), visible(text, 60)
    if form is None:
        raise CommandError(f"'{quoted_text}' is not a whole number: write it like 5000, 500k, 2M, 5e5 or 1_000_000")
    # Decimal and not float: 0.7M is exactly 700000, and 2**53 + 1 keeps its last digit.
    number = Decimal(form[1]) * _UNIT[form[2].lower()]
    if abs(number) > LARGEST:
        raise CommandError(f"'{quoted_text}' is too large: the largest number is {LARGEST}")
    if number != int(number):
        raise CommandError(f"'{quoted_text}' is not a whole number: it has a fraction")
    return int(number)


def nearest_setting(word: str, known: Collection[str]) -> str:
    """Return `did you mean 'x'?` for the setting that a word means, or the list of what there is."""
    other = setting_of_another_name(word, known)
    return f"did you mean '{other}'?" if other else nearest(word, known)


def setting_of_another_name(word: str, known: Iterable[str]) -> str | None:
    """Return which of the known settings other libraries call so, as it is written among them; None if none is."""
    table, _, name = word.lstrip("-").replace("-", "_").rpartition(".")
    for setting in known:
        own_table, _, own = setting.lstrip("-").replace("-", "_").rpartition(".")
        if own in OTHER_NAMES.get(name, ()) and table in ("", own_table):
            return setting
    return None


def hints_of(settings: type, prefix: str = "") -> dict[str, Any]:
    """Return the type of each setting in a dataclass by its name, of those in a table of it by `table.name`."""
    return _hints_of(cast(Hashable, settings), prefix)


@cache
def _hints_of(settings: Hashable, prefix: str) -> dict[str, Any]:
    hints: dict[str, Any] = {}
    for name, hint in get_type_hints(cast(type, settings), include_extras=True).items():
        if get_origin(hint) is ClassVar:
            continue
        hints |= hints_of(kind_of(hint), f"{prefix}{name}.") if is_dataclass(kind_of(hint)) else {prefix + name: hint}
    return hints


def fitted(label: str, value: Any, hint: Any) -> Any:
    """Return a value as the type of its setting; a `CommandError` names the setting as `shown` and what it must be.

    Numbers may be text. `Meta.extra["allows"]` of a type is a condition that its bounds cannot express.
    """
    meta = next((each for each in getattr(hint, "__metadata__", ()) if isinstance(each, Meta)), Meta())
    try:
        value = _read(value, hint)
        fitting = msgspec.convert(value, hint, dec_hook=lambda kind, text: kind(text))
        allowed = (meta.extra or {}).get("allows", _finite)(fitting)
    except CommandError as error:
        raise CommandError(f"{label}: {error}") from None
    except (msgspec.ValidationError, TypeError, ValueError, ArithmeticError):
        allowed = False
    if not allowed:
        raise CommandError(f"{label} must be {_wanted(hint, meta)}, not {quoted(value)}{_near(value, hint)}")
    return fitting


def _read(value: Any, hint: Any) -> Any:
    """Return numbers, which may be text, as the kind of number that the setting has."""
    kind = kind_of(hint)
    if kind is int and type(value) in (int, float, str):
        return parse_count(str(value))
    if kind is float and isinstance(value, str):
        return _parse_number(value)
    if get_origin(kind) is tuple and isinstance(value, list | tuple):
        return [_read(each, get_args(kind)[0]) for each in value]
    return value


def _parse_number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise CommandError(f"'{visible(text, 60)}' is not a number: write it like 0.5 or 3e-4") from None


def _finite(value: Any) -> bool:
    return not isinstance(value, float) or math.isfinite(value)


def kind_of(hint: Any) -> Any:
    """Return the type itself, without what is said about it."""
    return get_args(hint)[0] if get_origin(hint) is Annotated else hint


def _wanted(hint: Any, meta: Meta) -> str:
    """Say in words what a setting may be."""
    kind = kind_of(hint)
    if meta.description:
        return meta.description
    if get_origin(kind) is Literal:
        return " or ".join(filter(None, get_args(kind)))
    words = _IN_WORDS.get(kind, "text")
    if meta.ge is not None and meta.le is not None:
        return f"{words} from {meta.ge:,} to {meta.le:,}"
    bounds = {"greater than": meta.gt, "of at least": meta.ge, "less than": meta.lt, "of at most": meta.le}
    limits = " and ".join(f"{what} {bound}" for what, bound in bounds.items() if bound is not None)
    return f"{words} {limits}".rstrip()


def _near(value: Any, hint: Any) -> str:
    known = [word for word in get_args(kind_of(hint)) if isinstance(word, str) and word]
    return f": {nearest(value, known)}" if known and isinstance(value, str) else ""
