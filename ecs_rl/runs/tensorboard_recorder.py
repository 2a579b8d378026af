"""TensorBoard as a recorder: the folder `tb` of the run, written anew from metrics.jsonl at each start."""

from __future__ import annotations

import io
import os
import time
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from ecs_rl.errors import CheckpointError, CommandError, install
from ecs_rl.files import Folder, closing, writing
from ecs_rl.runs.logs import Appended
from ecs_rl.runs.recorders import RunFacts

FOLDER = "tb"
_EVENTS = "events.out.tfevents."


class TensorboardRecorder:
    """Rows of metrics as TensorBoard's events, in one file: it has neither gaps nor doubles, also after a resume."""

    def __init__(self) -> None:
        try:
            import tensorboard  # noqa: F401
        except ImportError as error:
            raise CommandError(f"--recorder tensorboard needs TensorBoard: {install('tb')}") from error
        self._log: Appended | None = None
        self._began = 0.0

    def begin(self, facts: RunFacts) -> int:
        """Begin a new file of events, empty the earlier ones, and return -1: it wants all rows from the first on."""
        self._began = _seconds(facts)
        folder = Folder(facts.path / FOLDER, Folder(facts.path))
        with writing(folder.path):
            earlier = [name for name in folder.names() if name.startswith(_EVENTS)]
        name = f"{_EVENTS}{time.time_ns()}"
        folder.write(name, *_first_events(self._began))
        for path in earlier:
            _retire(folder, path)
        self._log = Appended(folder.path / name)
        return -1

    def record(self, step: int, seconds: float, metrics: Mapping[str, float]) -> None:
        """Add one row; there are a few hundred in a run, so each is handed on at once."""
        from tensorboard.compat.proto.event_pb2 import Event
        from tensorboard.compat.proto.summary_pb2 import Summary

        assert self._log is not None
        values = [Summary.Value(tag=name, simple_value=value) for name, value in metrics.items()]
        # Times of training, not of the clock: they are the same when the file is written again.
        event = Event(wall_time=self._began + seconds, step=step, summary=Summary(value=values))
        self._log.put(_encoded(event))
        self._log.flush()

    def finish(self, status: str, table: Mapping[str, Any], episodes: Sequence[Mapping[str, Any]]) -> None:
        """Close the file."""
        assert self._log is not None
        self._log.close()


def _seconds(facts: RunFacts) -> float:
    """Return when the run was started, in seconds since 1970."""
    try:
        return datetime.fromisoformat(facts.started_at).timestamp()
    except (ValueError, OverflowError):
        where, started = facts.path / "metadata.json", facts.started_at
        cure = "mend it, or train without --tb"
        raise CheckpointError(f"{where} was started at {started!r}, which is no time: {cure}") from None


def _first_events(began: float) -> list[bytes]:
    """Return the head of a file, and an event that makes a TensorBoard forget what it has read from earlier files."""
    from tensorboard.compat.proto.event_pb2 import Event, SessionLog

    head = Event(wall_time=began, file_version="brain.Event:2")
    start = Event(wall_time=began, step=0, session_log=SessionLog(status=SessionLog.START))
    return [_encoded(head), _encoded(start)]


def _retire(folder: Folder, name: str) -> None:
    """Empty an earlier file, or delete it if it is empty: the new file has its rows.

    A TensorBoard that is looking waits for ever at a file that vanished. From an emptied one it goes on to the next.
    """
    with writing(folder.path / name):
        if folder.stat(name).st_size:
            with closing(folder.open(name, os.O_WRONLY)) as descriptor:
                os.ftruncate(descriptor, 0)
        else:
            folder.unlink(name)


def _encoded(event: Any) -> bytes:
    from tensorboard.summary.writer.record_writer import RecordWriter

    file = io.BytesIO()
    RecordWriter(file).write(event.SerializeToString())
    return file.getvalue()
