"""The live block that a training shows on a terminal; imported only when there is one."""

from __future__ import annotations

import math
import sys
from typing import TextIO

from rich.console import Console, Group
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from ecs_rl.console import number
from ecs_rl.tasks.progress import ProgressSnapshot, evaluation, labelled, means, percent, time_left, whole


class LiveBlock:
    """A few lines that are drawn over themselves."""

    interval = 0.1

    def __init__(self, stream: TextIO, scene: str, run: str) -> None:
        self._title = f"{scene}  {run}"
        self._console = PatientConsole(file=stream, force_terminal=True, highlight=False, emoji=False, markup=False)
        # What others print meanwhile appears above the block, but only where it would have gone to a terminal anyway:
        # a stdout that is piped into a file must get its lines itself.
        self._live = Live(
            console=self._console,
            auto_refresh=False,
            redirect_stdout=sys.stdout.isatty(),
            redirect_stderr=sys.stderr.isatty(),
        )

    def draw(self, snapshot: ProgressSnapshot) -> None:
        """Draw this snapshot over the one before."""
        if not self._live.is_started:
            self._live.start()
            self._console.show_cursor(True)  # a second Ctrl-C leaves at once, and must not leave it hidden
        self._live.update(self._block(snapshot), refresh=True)

    def stop(self) -> None:
        """Leave the last block standing and let others print again."""
        try:
            self._live.stop()
        except (OSError, ValueError):  # the terminal is gone; what it held back is of no use to anyone
            self._console.quiet = True

    def _block(self, snapshot: ProgressSnapshot) -> Group:
        head = Table.grid(expand=True, padding=(0, 2))
        head.add_column(no_wrap=True, ratio=1, overflow="ellipsis")
        head.add_column(no_wrap=True)
        head.add_row(Text(self._title, "bold"), Text(snapshot.state, "cyan"))
        length = number(snapshot.mean_length)
        rows = [
            [
                f"{whole(snapshot.steps_per_second)} steps/s",
                f"{snapshot.episodes:,} episodes",
                f"{whole(snapshot.seconds)} s",
            ],
            labelled(*means(snapshot), ("length", length), evaluation(snapshot)),
            labelled(("lesson", snapshot.lessons)),
            labelled(
                *((name, f"{value:.4g}" if math.isfinite(value) else "-") for name, value in snapshot.losses.items())
            ),
        ]
        notes = [Text(snapshot.finding, "yellow")] if snapshot.finding else []
        return Group(head, _bar(snapshot), *(_line(row) for row in rows if row), *notes)


class PatientConsole(Console):
    """A console that reports a broken pipe to its caller; rich's own would end the process."""

    def on_broken_pipe(self) -> None:
        """Hand on the error that is being handled."""
        self.quiet = True
        raise BrokenPipeError


def _bar(snapshot: ProgressSnapshot) -> Table:
    left = time_left(snapshot)
    table = Table.grid(expand=True, padding=(0, 1))
    table.add_column(ratio=1)
    table.add_column(no_wrap=True, overflow="ellipsis")
    counts = f"{snapshot.steps:,}/{snapshot.total_steps:,} {percent(snapshot)}" + (f"  left {left}" if left else "")
    table.add_row(ProgressBar(total=max(1, snapshot.total_steps), completed=snapshot.steps), counts)
    return table


def _line(parts: list[str]) -> Text:
    return Text("   ".join(parts))  # wraps: a narrow terminal makes the block taller, not less telling
