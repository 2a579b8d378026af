"""The rows of a run's logs, their keys exactly as in the contract, and the file that takes them."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import msgspec

from ecs_rl.errors import CheckpointError
from ecs_rl.runs.files import NO_LINKS, plain, storage_error, writing

Status = Literal["Terminated", "Truncated"]

BUFFER_BYTES = 1 << 16
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


class JsonLines:
    """A file of JSON lines that is only ever appended to, through a buffer."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._encoder = msgspec.json.Encoder(enc_hook=plain)
        with writing(path):
            self._file = open(path, "ab", buffering=BUFFER_BYTES, opener=_open_no_links)  # noqa: SIM115
            _drop_half_line(path)

    def append(self, row: object) -> None:
        """Add one row."""
        data = self._encoder.encode(row) + b"\n"
        try:
            self._file.write(data)
        except OSError as error:
            raise storage_error(self.path, error) from error

    def extend(self, rows: Sequence[object]) -> None:
        """Add many rows in one go."""
        data = self._encoder.encode_lines(rows)
        try:
            self._file.write(data)
        except OSError as error:
            raise storage_error(self.path, error) from error

    def flush(self, *, sync: bool = False) -> int:
        """Hand every row to the operating system, with `sync` to the disk; return the length in bytes."""
        with writing(self.path):
            self._file.flush()
            if sync:
                os.fsync(self._file.fileno())
            return self._file.tell()

    def cut(self, length: int) -> None:
        """Forget everything after so many bytes; a log that is shorter has lost rows, which is refused."""
        there = self.flush()
        if there < length:
            raise CheckpointError(f"{self.path} has {there} bytes, the checkpoint counts {length}: rows are missing")
        with writing(self.path):
            self._file.truncate(length)
            self._file.seek(0, os.SEEK_END)

    def close(self) -> None:
        """Flush and close; a second call does nothing."""
        with writing(self.path):
            self._file.close()


def _open_no_links(path: str, flags: int) -> int:
    return os.open(path, flags | NO_LINKS, 0o666)


def _drop_half_line(path: Path) -> None:
    # A killed process can leave the beginning of a row, and the next row would be glued to it.
    with open(path, "rb+") as file:
        size = file.seek(0, os.SEEK_END)
        while size:
            start = max(0, size - BUFFER_BYTES)
            file.seek(start)
            cut = file.read(size - start).rfind(b"\n")
            if cut >= 0:
                size = start + cut + 1
                break
            size = start
        file.truncate(size)
