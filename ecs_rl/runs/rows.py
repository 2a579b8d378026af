"""The rows of a log that somebody else may have written: what is no row of ours is left out."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from ecs_rl.errors import CommandError
from ecs_rl.files import UNREADABLE, opened

MAX_LOG_BYTES = 1 << 32
CHANGE = "change/"
"""How metrics name a setting that was changed."""


class Change(NamedTuple):
    """A setting that was changed between two ticks."""

    step: int
    """Steps at the end of the tick before it."""
    name: str
    value: float


def rows_of(path: Path, start: int = 0) -> Iterator[dict[str, Any]]:
    """Yield the rows of a file of JSON lines from a byte on at which one begins; none where there is no file."""
    try:
        with opened(path, MAX_LOG_BYTES) as (file, _):
            file.seek(start)
            for line in file:
                try:
                    row = msgspec.json.decode(line)
                except UNREADABLE:
                    continue
                if isinstance(row, dict):
                    yield row
    except FileNotFoundError:
        return


def changes_in(path: Path, start: int = 0) -> list[Change]:
    """Return the changes that a metrics.jsonl tells, from a byte on at which a row begins."""
    return [
        Change(int(row["total_steps"]), name.removeprefix(CHANGE), float(value))
        for row in rows_of(path, start)
        for name, value in row.items()
        if name.startswith(CHANGE) and _is_number(value) and _is_number(row.get("total_steps"))
    ]


def changes_of(given: Path) -> list[Change]:
    """Return the changes of a run's directory, or of such a file; CommandError where there is none to read."""
    path = given / "metrics.jsonl" if given.is_dir() else given
    try:
        with opened(path, MAX_LOG_BYTES):
            changes = changes_in(path)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise CommandError(
            f"--changes: {path} cannot be read: {reason}; give a run, or the metrics.jsonl of one"
        ) from error
    if not changes:
        problem = "no setting was changed in it"
        raise CommandError(
            f"--changes: {path}: {problem}; give a run whose settings were changed, or leave --changes out"
        )
    return changes


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e300
