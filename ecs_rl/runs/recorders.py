"""Recorders follow a training beside its run directory: TensorBoard, MLflow, W&B, or one of your own.

Each works on a thread of its own, so that no training waits for it, and what fails there ends that recorder alone.
"""

from __future__ import annotations

import inspect
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from pathlib import Path
from queue import SimpleQueue
from typing import Any, Protocol, cast

import msgspec

from ecs_rl.errors import CheckpointError, CommandError, quoted, told_of, visible
from ecs_rl.shipped import RECORDERS
from ecs_rl.user_files.file_errors import blaming
from ecs_rl.user_files.named import is_reference, load_object

FLAG = "--recorder"
METHODS = ("begin", "record", "finish")
LONGEST_PROBLEM = 500
"""Characters of why a recorder was given up."""
SOON, LONG = 1.5, 30.0
"""Seconds that a recorder has to finish: of a training that a signal stopped, and of any other."""
Row = Mapping[str, Any]


@dataclass(frozen=True)
class RunFacts:
    """What a recorder is told of the run that it records."""

    path: Path
    run_id: str
    """`<name>/<version>/<start>`."""
    name: str
    scene: str
    agent: str
    seed: int
    started_at: str
    settings: Mapping[str, Any]
    """Every setting, as in config.json: the hyper-parameters are in the table of the agent."""


class Recorder(Protocol):
    """What hears of a run: once `begin`, then `record` for each row of metrics, and `finish` at the end."""

    def begin(self, facts: RunFacts) -> int:
        """Begin, or go on with, what is kept of this run; return the last step that is there already, -1 for none."""

    def record(self, step: int, seconds: float, metrics: Mapping[str, float]) -> None:
        """Take one row, in the order of steps; all metrics are finite."""

    def finish(self, status: str, table: Mapping[str, Any], episodes: Sequence[Row]) -> None:
        """Take what the run came to, and each episode of its last evaluation; nothing comes after it."""


class Recording:
    """A recorder at work on its thread; after the first thing that fails it does nothing more."""

    def __init__(self, name: str, recorder: Recorder, facts: RunFacts, rows: Sequence[Row]) -> None:
        """Begin with the rows that there are; of those before a resume it takes what it does not have."""
        self.name, self.problem, self.ended = name, "", False
        self._recorder, self._last = recorder, -1
        self._waiting: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self._thread = threading.Thread(target=self._work, name=f"recorder {name}", daemon=True)
        self._waiting.put(partial(self._begin, facts))
        for row in rows:
            self.row(row)
        self._thread.start()

    def row(self, row: Row) -> None:
        """Hand on one row of metrics.jsonl."""
        if not self.problem:
            self._waiting.put(partial(self._record, dict(row)))

    def finish(self, status: str, table: Row, episodes: Sequence[Row], seconds: float) -> None:
        """Hand on the end, and wait so long for all that is not done."""
        self.ended = True
        self._waiting.put(partial(self._recorder.finish, status, table, episodes))
        self._waiting.put(None)
        self._thread.join(seconds)
        if self._thread.is_alive() and not self.problem:
            self.problem = f"it was not done after {seconds:g} s"

    def _begin(self, facts: RunFacts) -> None:
        self._last = int(self._recorder.begin(facts))

    def _record(self, row: Row) -> None:
        try:
            step, seconds = int(row["total_steps"]), float(row["seconds"])
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            problem = f"metrics.jsonl has a row without a step and a time: {type(error).__name__}: {error}"
            raise CheckpointError(f"{problem}; restore it, or train without {FLAG}") from error
        if step > self._last:
            metrics = {name: float(value) for name, value in row.items() if "/" in name and _is_number(value)}
            self._recorder.record(step, seconds, metrics)

    def _work(self) -> None:
        while (job := self._waiting.get()) is not None:
            try:
                job()
            except BaseException as error:
                self.problem = visible(told_of(error), LONGEST_PROBLEM)
                return


def stored_rows(path: Path) -> Sequence[Row]:
    """Return the rows of a log, none where it is not there; CheckpointError where one is no row."""
    try:
        return msgspec.json.Decoder(dict[str, Any]).decode_lines(path.read_bytes())
    except FileNotFoundError:
        return ()
    except (OSError, ValueError, RecursionError) as error:
        raise CheckpointError(f"cannot read {path}: {error}; restore it, or train without {FLAG}") from error


def last_evaluation(rows: Sequence[Row]) -> list[Row]:
    """Return the episodes of the last evaluation as rows of a table: their extras are columns too."""
    newest = max((row["total_steps_at_eval"] for row in rows), default=-1)
    plain = ("seed", "total_reward", "length", "status")
    return [
        {name: row.get(name) for name in plain} | dict(row.get("extras", {}))
        for row in rows
        if row["total_steps_at_eval"] == newest
    ]


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and abs(value) <= sys.float_info.max


def recorders_of(text: str) -> dict[str, Recorder]:
    """Return new recorders by the names that `--recorder` gives, with commas between them; CommandError if one is none.

    A name is one of RECORDERS, or FILE.py:NAME of a class of one's own, which is made without arguments.
    """
    return {name: _recorder(name) for name in filter(None, text.split(","))}


def _recorder(name: str) -> Recorder:
    if name in RECORDERS:
        return cast(Recorder, getattr(import_module(f"ecs_rl.runs.{name}_recorder"), RECORDERS[name])())
    if not is_reference(name):
        raise CommandError(f"{FLAG} {name}: there is {', '.join(RECORDERS)}, or FILE.py:NAME of your own")
    own = load_object(FLAG, name)
    with blaming(FLAG, own.file):
        if not callable(own.value):
            raise CommandError(f"{FLAG} {name}: a recorder is a class, and this is {quoted(own.value, 60)}")
        _require_no_arguments(name, own.value)
        made = own.value()
        lacks = ", ".join(each for each in METHODS if not callable(getattr(made, each, None)))
    if lacks:
        raise CommandError(f"{FLAG} {name}: it has no {lacks}: see Recorder in ecs_rl/runs/recorders.py")
    return cast(Recorder, made)


def _require_no_arguments(name: str, kind: Callable[..., Any]) -> None:
    try:
        inspect.signature(kind).bind()
    except TypeError as error:
        message = f"a recorder is made without arguments: {error}: give it a default"
        raise CommandError(f"{FLAG} {name}: {message}") from error
    except ValueError:  # a class of C has no signature: making it tells
        return
