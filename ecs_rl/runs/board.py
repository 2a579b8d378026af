"""TensorBoard's mirror of metrics.jsonl, written from that file when opened: it has neither gaps nor doubles."""

from __future__ import annotations

import io
import os
import sys
import time
from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec

from ecs_rl.errors import CheckpointError, CommandError, install
from ecs_rl.runs.files import Folder, closing, writing
from ecs_rl.runs.logs import Appended
from ecs_rl.runs.metadata import read_metadata

FOLDER = "tb"
_EVENTS = "events.out.tfevents."


def require_tensorboard() -> None:
    """Refuse with CommandError if the package `tensorboard` is not installed."""
    try:
        import tensorboard  # noqa: F401
    except ImportError as error:
        raise CommandError(f"--tb needs TensorBoard: {install('tb')}") from error


class Board(Appended):
    """Rows of metrics as TensorBoard's events, in one file in the folder `tb` of a run."""

    def __init__(self, run: Path) -> None:
        require_tensorboard()
        started = read_metadata(run).started_at
        try:
            self._began = datetime.fromisoformat(started).timestamp()
        except (ValueError, OverflowError):
            raise CheckpointError(
                f"{run / 'metadata.json'} was started at {started!r}, which is no time: mend it, or train without --tb"
            ) from None
        folder = Folder(run / FOLDER, Folder(run))
        with writing(folder.path):
            earlier = [name for name in folder.names() if name.startswith(_EVENTS)]
        name = f"{_EVENTS}{time.time_ns()}"
        folder.write(name, *self._first_events(), *self._stored_events(run / "metrics.jsonl"))
        for each in earlier:
            _retire(folder, each)
        super().__init__(folder.path / name)

    def write(self, row: Mapping[str, Any]) -> None:
        """Add one row of metrics.jsonl; there are a few hundred in a run, so each is handed on at once."""
        self.put(self._event(row))
        self.flush()

    def _first_events(self) -> Iterator[bytes]:
        from tensorboard.compat.proto.event_pb2 import Event, SessionLog

        yield _record(Event(wall_time=self._began, file_version="brain.Event:2"))
        # This one makes a TensorBoard that is looking forget what it has read from earlier files.
        yield _record(Event(wall_time=self._began, step=0, session_log=SessionLog(status=SessionLog.START)))

    def _stored_events(self, path: Path) -> Iterator[bytes]:
        try:
            for row in msgspec.json.Decoder(dict[str, Any]).decode_lines(path.read_bytes()):
                yield self._event(row)
        except FileNotFoundError:
            return
        except (OSError, ValueError, TypeError, KeyError, OverflowError, RecursionError) as error:
            raise CheckpointError(f"cannot read {path}: {error}; restore it, or train without --tb") from error

    def _event(self, row: Mapping[str, Any]) -> bytes:
        from tensorboard.compat.proto.event_pb2 import Event
        from tensorboard.compat.proto.summary_pb2 import Summary

        numbers = {name: value for name, value in row.items() if "/" in name and _is_number(value)}
        values = [Summary.Value(tag=name, simple_value=float(value)) for name, value in numbers.items()]
        # Times of training, not of the clock: they are the same when the file is written again.
        moment = self._began + float(row["seconds"])
        return _record(Event(wall_time=moment, step=int(row["total_steps"]), summary=Summary(value=values)))


def _retire(folder: Folder, name: str) -> None:
    # What it holds is in the new file. Emptied first and deleted the next time: a TensorBoard that is looking stays
    # for ever at a file that vanished, and goes on to the next from one that has nothing more.
    with writing(folder.path / name):
        if folder.stat(name).st_size:
            with closing(folder.open(name, os.O_WRONLY)) as descriptor:
                os.ftruncate(descriptor, 0)
        else:
            folder.unlink(name)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and abs(value) <= sys.float_info.max  # a file may hold 400 digits


def _record(event: Any) -> bytes:
    from tensorboard.summary.writer.record_writer import RecordWriter

    file = io.BytesIO()
    RecordWriter(file).write(event.SerializeToString())
    return file.getvalue()
