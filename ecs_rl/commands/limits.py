"""The range of every setting of a run: what would make no sense is refused before anything is built.

The algorithms' own settings are not here: `agents/config.py` checks them wherever they are made.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any

from ecs_rl.commands.numbers import LARGEST
from ecs_rl.commands.settings import AGENTS, AGENTS_TO_COME, PlaySettings, TrainSettings
from ecs_rl.errors import CommandError, EcsRlError, nearest, quoted

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
"""A run's name and version; they become folders, so nothing in them can lead out of the runs folder."""

_AT_LEAST_ONE = frozenset({"steps", "arenas", "checkpoint_every", "eval_every", "eval_episodes", "episodes"})
_NOT_NEGATIVE = frozenset({"schedule_steps", "seed", "keep", "threads", "record_every"})
_MOST = {"episodes": 100_000, "eval_episodes": 100_000, "arenas": 100_000}
"""Every episode that is played back has an arena of its own, all at the same time."""
_ABOVE_ZERO = frozenset({"speed"})
_FILMS = (".mp4", ".gif")


def check_settings(
    settings: TrainSettings | PlaySettings, display: Callable[[str], str], error: type[EcsRlError] = CommandError
) -> None:
    """Raise `error` for the first setting out of its range; `display` says how the user wrote its name."""
    for each in fields(settings):
        problem = _problem(each.name, getattr(settings, each.name))
        if problem:
            raise error(f"{display(each.name)} {problem}")


def _problem(name: str, value: Any) -> str:
    """Say what is wrong with one value, or nothing."""
    if isinstance(value, bool) or value is None:
        return ""
    if isinstance(value, int | float):
        return _number_problem(name, value)
    return _word_problem(name, value)


def _word_problem(name: str, value: Any) -> str:
    if name in ("name", "version") and (value or name == "version") and not NAME.fullmatch(value):
        return f"must be letters, digits, '.', '_' or '-', at most 64 and a letter or digit first, not '{value}'"
    if name == "agent" and value in AGENTS_TO_COME:
        return f"{value} is not there yet: use ppo, which learns continuous actions too"
    if name == "agent" and ".py:" in value:
        return f"{value}: an algorithm from a file is not there yet: use one of {', '.join(AGENTS)}"
    if name == "agent" and value and value not in AGENTS:
        return f"must be one of {', '.join(AGENTS)}, not '{value}': {nearest(value, AGENTS)}"
    if name == "record" and Path(value).suffix.lower() not in _FILMS:
        return f"must end in {' or '.join(_FILMS)}, not '{value}'"
    return ""


def _number_problem(name: str, value: float) -> str:
    most = _MOST.get(name, LARGEST)
    rules = (
        (isinstance(value, float) and not math.isfinite(value), "must be a finite number"),
        (value > most, f"must be at most {most}"),
        (name in _AT_LEAST_ONE and value < 1, "must be at least 1"),
        (name in _NOT_NEGATIVE and value < 0, "must be at least 0"),
        (name in _ABOVE_ZERO and value <= 0, "must be above 0"),
    )
    return next((f"{words}, not {quoted(value)}" for broken, words in rules if broken), "")
