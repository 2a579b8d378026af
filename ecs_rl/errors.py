"""Everything this project refuses, each kind with the exit code of its command (see ecs_rl/README.md).

A message says what happened, where, and what to do; `train.py` and `play.py` print it without a traceback.
"""

from __future__ import annotations

import difflib
import signal
from collections.abc import Iterable

MAX_MESSAGE = 2000
"""Characters of a message at most: what it quotes may be as long as a file."""


class EcsRlError(Exception):
    """The base of every error that is the user's to mend, not a bug of ours."""

    exit_code = 1

    def __str__(self) -> str:
        """Return the message as one line: it may quote what stands in somebody's file."""
        return visible(super().__str__(), MAX_MESSAGE)


class CommandError(EcsRlError):
    """A command line or a configuration file that cannot be carried out."""

    exit_code = 2


class SceneError(EcsRlError):
    """A scene that cannot be built: what is wrong, and in which line of its file."""

    exit_code = 2


class RuleError(SceneError):
    """A rule or a system gave what nothing can be made of; the loader finds the line in which it is written."""

    def __init__(self, message: str, rule: object) -> None:
        super().__init__(message)
        self.rule = rule


class ActionError(EcsRlError):
    """An action that no arena can carry out: wrong shape, not finite, or no such choice."""

    exit_code = 1


class ObservationError(EcsRlError, ValueError):
    """What a pilot was shown is nothing that it can see: a name or a shape that is wrong, or no finite number."""


class CheckpointError(EcsRlError):
    """A run that is locked, or a checkpoint that is missing, damaged or made for something else."""

    exit_code = 3


class StorageError(EcsRlError):
    """A write that the disk refused: full, forbidden or gone."""

    exit_code = 4


class WorkerLostError(EcsRlError):
    """Another process of the same training is gone: it goes on from the newest checkpoint, with a new one."""

    exit_code = 1


class DivergedError(EcsRlError):
    """Training produced numbers that are not finite; the last good parameters were kept."""

    exit_code = 5


def install(extra: str) -> str:
    """Return the command that installs an extra of this project, as `pyproject.toml` names it."""
    return f"python -m pip install 'ecs-rl[{extra}]'"


def visible(text: str, most: int | None = None) -> str:
    """Return a text that cannot move the cursor, turn the reading direction or begin a line: `\\x1b` for an escape.

    Of one longer than `most` characters the middle is left out.
    """
    if most is not None and len(text) > most:
        text = f"{text[: most * 2 // 3]} ... {text[len(text) - most // 3 :]}"
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def quoted(value: object, most: int = 120) -> str:
    """Return a value as it would be written in Python, on one line and not longer than `most` characters."""
    try:
        return visible(repr(value), most)
    except (ValueError, RecursionError):  # a number of thousands of digits, or a nest as deep
        return f"a {type(value).__name__} too large to show"


def nearest(word: str, known: Iterable[str]) -> str:
    """Return `did you mean 'x'?` for the closest known word, or the list of what there is."""
    names = sorted(known)
    close = difflib.get_close_matches(word, names, n=1, cutoff=0.5)
    return f"did you mean '{close[0]}'?" if close else "there is: " + ", ".join(names)


def words_of(error: BaseException) -> str:
    """Return the message of an error that somebody else's code raised, on one line; "" where asking for it fails."""
    try:
        return " ".join(str(error).split())
    except BaseException as second:  # a `__str__` of their own may raise anything
        if is_interrupt(second):
            raise
        return ""


def told_of(error: BaseException) -> str:
    """Return the class and the message of an error that somebody else's code raised."""
    return f"{type(error).__name__}: {words_of(error)}".removesuffix(": ")


def is_interrupt(error: BaseException) -> bool:
    """Tell whether a signal ends the program: a person pressed Ctrl-C, or a command that answers signals heard one."""
    answer = signal.getsignal(signal.SIGINT)
    heard = answer is signal.default_int_handler or getattr(answer, "came", None) is not None
    return isinstance(error, KeyboardInterrupt) and heard
