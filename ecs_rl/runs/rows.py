"""The rows of a run's logs, their keys exactly as in the contract, and the file that takes them."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import msgspec

from ecs_rl.errors import CheckpointError
from ecs_rl.runs.appended import BUFFER_BYTES, Appended
from ecs_rl.runs.files import PLAIN_FLAGS, closing, plain, writing

Status = Literal["Terminated", "Truncated"]

MAX_ROW_BYTES = 64_000_000
"""How far back the end of a row is looked for in a damaged log."""
METRIC_GROUPS = ("rollout/", "eval/", "train/", "time/", "env/")


class TrainEpisode(msgspec.Struct, frozen=True, gc=False):
    """One line of train_episodes.jsonl; a number that is not finite is written as null."""

    total_steps: int
    total_reward: float
    length: int
    status: Status
    extras: Mapping[str, float]


class EvalEpisode(msgspec.Struct, frozen=True, gc=False):
    """One line of eval_episodes.jsonl."""

    total_steps: int
    total_reward: float
    length: int
    status: Status
    extras: Mapping[str, float]
    total_steps_at_eval: int
    seed: int | None


def metrics_row(total_steps: int, seconds: float, metrics: Mapping[str, float]) -> dict[str, Any]:
    """Return one line of metrics.jsonl; every key must belong to a group of the contract."""
    for key in metrics:
        if not key.startswith(METRIC_GROUPS):
            raise ValueError(f"metric '{key}' belongs to no group: its name must start with {', '.join(METRIC_GROUPS)}")
    return {"total_steps": total_steps, "seconds": seconds, **metrics}


class JsonLines(Appended):
    """A file of JSON lines, every one of them whole."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self._encoder = msgspec.json.Encoder(enc_hook=plain)
        try:
            # A killed process can leave the beginning of a row, and the next row would be glued to it.
            self.cut(whole_rows(path, self._length))
        except BaseException:
            self._file.close()
            raise

    def append(self, row: object) -> None:
        """Add one row."""
        self.put(self._encoder.encode(row) + b"\n")

    def extend(self, rows: Sequence[object]) -> None:
        """Add many rows in one go."""
        self.put(self._encoder.encode_lines(rows))

    def require_row_end(self, length: int) -> None:
        """Refuse a length at which no row ends: cut there, the log would have lost something."""
        if whole_rows(self.path, min(length, self.flush())) != length:
            raise CheckpointError(
                f"{self.path} has no row that ends at byte {length}, where the checkpoint saw one: rows are missing; "
                "restore the file from a copy, or start a new run from the policy with --init-from"
            )


def whole_rows(path: Path, size: int) -> int:
    """Return where the last whole row within the first `size` bytes ends."""
    first = max(0, size - MAX_ROW_BYTES)
    with writing(path), closing(os.open(path, os.O_RDONLY | PLAIN_FLAGS)) as descriptor:
        while size > first:
            start = max(first, size - BUFFER_BYTES)
            os.lseek(descriptor, start, os.SEEK_SET)
            cut = os.read(descriptor, size - start).rfind(b"\n")
            if cut >= 0:
                return start + cut + 1
            size = start
    if first:
        raise CheckpointError(f"{path} does not end in rows of JSON: restore it from a copy, or delete the run")
    return 0
