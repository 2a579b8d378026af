"""How far a training is: a live block on a terminal, one line in a notebook, lines elsewhere; it stops no training."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import TracebackType
from typing import TYPE_CHECKING, Self, TextIO

from ecs_rl.console import end_line, number, redirect_to_nowhere, write_over

if TYPE_CHECKING:
    from ecs_rl.tasks.live_block import LiveBlock


@dataclass(frozen=True)
class ProgressSnapshot:
    """What there is to show at one moment; what is not known yet is None or NaN."""

    steps: int
    total_steps: int
    seconds: float
    """Training time so far."""
    steps_per_second: float
    episodes: int = 0
    mean_return: float | None = None
    """Rolling mean over the latest training episodes."""
    mean_length: float | None = None
    """Rolling mean of the same episodes' ticks."""
    mean_score: float | None = None
    """Rolling mean of their score, where the scene names one; evaluations go by it then."""
    last_eval: float | None = None
    """Mean score or return of the latest greedy evaluation."""
    elo: float | None = None
    """The learner's rating, in self-play: `best_eval` is one too then."""
    best_eval: float | None = None
    best_step: int | None = None
    most_seconds: float | None = None
    """Training time after which it ends, None if it has no limit."""
    lessons: str = ""
    """Where the scene's lessons stand, such as `gap 2.75 (1/6)`."""
    finding: str = ""
    """What the diagnosis says is wrong, and what to do about it."""
    losses: Mapping[str, float] = field(default_factory=dict)
    state: str = "training"
    """What is going on, in a word: training, evaluating, saving, interrupted, solved."""


class ProgressDisplay:
    """Draws a snapshot now and then; between two drawings `update` costs one look at the clock."""

    def __init__(self, stream: TextIO, *, scene: str, run: str, clock: Callable[[], float] = time.perf_counter) -> None:
        self._stream = stream
        self._clock = clock
        self._display = _display_for(stream, scene, run)
        self._snapshot: Callable[[], ProgressSnapshot] | None = None
        # Plain lines wait until there is something to report; a block should be there at once.
        self._due = clock() + (self._display.interval if isinstance(self._display, PlainLines) else 0.0)

    def update(self, snapshot: Callable[[], ProgressSnapshot]) -> None:
        """Draw `snapshot()` if it is time to; it is not called otherwise."""
        self._snapshot = snapshot
        if self._clock() >= self._due:
            self._draw(snapshot())

    def close(self) -> None:
        """Draw the last snapshot and give the terminal back; a second call does nothing."""
        if self._snapshot is not None and self._due < math.inf:
            self._draw(self._snapshot())
        self._display.stop()
        self._due = math.inf

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def _draw(self, snapshot: ProgressSnapshot) -> None:
        try:
            self._display.draw(snapshot)
            self._due = self._clock() + self._display.interval
        except (OSError, ValueError) as error:  # the reader went away, or somebody closed the stream
            self._due = math.inf
            self._display.stop()
            if isinstance(error, OSError):
                redirect_to_nowhere(self._stream)


class PlainLines:
    """One line every few seconds, for logs, pipes and CI."""

    interval = 3.0
    """Seconds between two drawings."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def draw(self, snapshot: ProgressSnapshot) -> None:
        """Write one line."""
        self._stream.write(plain_line(snapshot) + "\n")
        self._stream.flush()

    def stop(self) -> None:
        """Nothing to give back."""


def plain_line(snapshot: ProgressSnapshot) -> str:
    """Return a snapshot in one line, leaving out what is not known."""
    parts = [
        f"steps {snapshot.steps:,}/{snapshot.total_steps:,} {percent(snapshot)}",
        f"{whole(snapshot.steps_per_second)} steps/s",
        *labelled(*means(snapshot), evaluation(snapshot), ("lesson", snapshot.lessons)),
        *labelled(("left", time_left(snapshot))),
        *([] if snapshot.state in ("", "training") else [snapshot.state]),
    ]
    return "  ".join(parts)


def means(snapshot: ProgressSnapshot) -> list[tuple[str, str]]:
    """Return the rolling means by name: the score's first, if there is one, then the return's; and self-play's Elo."""
    elo = number(snapshot.elo) and f"{number(snapshot.elo)}{best(snapshot)}"
    return [("score", number(snapshot.mean_score)), ("return", number(snapshot.mean_return)), ("elo", elo)]


def labelled(*pairs: tuple[str, str]) -> list[str]:
    """Return `label value` for each pair that has a value."""
    return [f"{label} {value}" for label, value in pairs if value]


def percent(snapshot: ProgressSnapshot) -> str:
    """Return how much is done, `100%` only when all of it is."""
    return f"{min(100, 100 * snapshot.steps // max(1, snapshot.total_steps))}%"


def whole(value: float) -> str:
    """Return `84,000`, or `-` for what is not known."""
    return f"{value:,.0f}" if math.isfinite(value) else "-"


def evaluation(snapshot: ProgressSnapshot) -> tuple[str, str]:
    """Return `eval` and `201.3 (best 210.0 at 98,304)`, or nothing before the first evaluation."""
    label = "eval" if snapshot.mean_score is None else "eval score"
    return label, f"{number(snapshot.last_eval)}{best(snapshot) if snapshot.elo is None else ''}".strip()


def best(snapshot: ProgressSnapshot) -> str:
    """Return ` (best 210.0 at 98,304)`, or nothing while there is none."""
    at = f" at {snapshot.best_step:,}" if snapshot.best_step is not None else ""
    return f" (best {number(snapshot.best_eval)}{at})" if number(snapshot.best_eval) else ""


def time_left(snapshot: ProgressSnapshot) -> str:
    """Return `0:04`, `1:02:03` or `2d 3h`, or nothing while the speed is not known."""
    speed = snapshot.steps_per_second
    if not (math.isfinite(speed) and speed > 0):
        return ""
    left = (snapshot.total_steps - snapshot.steps) / speed
    if snapshot.most_seconds is not None:
        left = min(left, snapshot.most_seconds - snapshot.seconds)
    seconds = max(0, math.ceil(left))
    minutes, second = divmod(seconds, 60)
    hours, minute = divmod(minutes, 60)
    if hours >= 48:
        return f"{hours // 24}d {hours % 24}h"
    return f"{hours}:{minute:02}:{second:02}" if hours else f"{minute}:{second:02}"


class NotebookLine:
    """One line that is written over itself: a notebook's cell ignores an escape that moves the cursor up."""

    interval = 1.0

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def draw(self, snapshot: ProgressSnapshot) -> None:
        """Write the line over the one before."""
        write_over(plain_line(snapshot), self._stream)

    def stop(self) -> None:
        """End the line."""
        end_line()


def is_in_notebook() -> bool:
    """Return whether the terminal is the output of a notebook's cell, as with `!python train.py`."""
    return "JPY_PARENT_PID" in os.environ


def has_cursor(stream: TextIO) -> bool:
    """Return whether a stream is a terminal on which the cursor can go back to earlier lines."""
    return stream.isatty() and os.environ.get("TERM") not in ("dumb", "unknown") and not is_in_notebook()


def _display_for(stream: TextIO, scene: str, run: str) -> PlainLines | NotebookLine | LiveBlock:
    if not has_cursor(stream):
        return NotebookLine(stream) if stream.isatty() and is_in_notebook() else PlainLines(stream)
    from ecs_rl.tasks.live_block import LiveBlock  # rich costs 40 ms, and only a terminal needs it

    return LiveBlock(stream, scene, run)
