"""How far many trainings are: a live table on a terminal, plain lines elsewhere; and the columns of a report."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from time import monotonic
from typing import TextIO

from rich.live import Live
from rich.table import Table as RichTable

from ecs_rl.cli.called import program
from ecs_rl.cli.command_settings import TrainSettings
from ecs_rl.console import tell
from ecs_rl.tasks.live_block import PatientConsole
from ecs_rl.tasks.progress import PlainLines, has_cursor


@dataclass
class Table:
    """Plain lines: one of each row every few seconds, and one where it begins or ends."""

    stream: TextIO
    row_name: str = "seed"
    """What is numbered: seed, trial or member."""
    waiting_lines: dict[int, str] = field(default_factory=dict)
    """The newest lines that were not printed yet, by number."""
    printed_at: dict[int, float] = field(default_factory=dict)

    def progress(self, number: int, line: str) -> None:
        """Show the newest line of progress of a row."""
        self.waiting_lines[number] = line
        if monotonic() - self.printed_at.get(number, -math.inf) >= PlainLines.interval:
            self._print_waiting(number)

    def state(self, number: int, state: str) -> None:
        """Show that a row has begun or ended."""
        self._print_waiting(number)
        tell(f"{self.row_name} {number}: {state}", self.stream)

    def _print_waiting(self, number: int) -> None:
        if number in self.waiting_lines:
            tell(f"{self.row_name} {number}: {self.waiting_lines.pop(number)}", self.stream)
            self.printed_at[number] = monotonic()

    def message(self, number: int, text: str) -> None:
        """Pass on a message of a row to stderr."""
        tell(f"{program('train')}: {self.row_name} {number}: {text}", sys.stderr)

    def draw(self) -> None:
        """Draw nothing: plain lines stay as they are."""


@dataclass
class LiveTable(Table):
    """A table on a terminal, a row for each training."""

    live: Live | None = None
    rows: dict[int, tuple[str, str]] = field(default_factory=dict)
    """State and newest line of progress by number."""

    def progress(self, number: int, line: str) -> None:
        """Put the newest line of progress into its row."""
        self.rows[number] = (self.rows.get(number, ("", ""))[0], line)
        self.draw()

    def state(self, number: int, state: str) -> None:
        """Put into its row that a training has begun or ended."""
        self.rows[number] = (state, self.rows.get(number, ("", ""))[1])
        self.draw()

    def draw(self) -> None:
        """Draw the table over the one before; a terminal that has gone is no reason to stop."""
        assert self.live is not None
        rows = [(f"{self.row_name} {number}", *row) for number, row in self.rows.items()]
        table = RichTable.grid(padding=(0, BETWEEN, 0, 0))
        for width in widths_in(self.live.console.width, rows):
            table.add_column(no_wrap=True, overflow="ellipsis", width=width)
        for row in rows:
            table.add_row(*row)
        with suppress(OSError, ValueError):
            self.live.update(table, refresh=True)


BETWEEN = 2
"""Blanks between two columns of the live table."""


def widths_in(room: int, rows: Sequence[tuple[str, str, str]]) -> list[int]:
    """Return the widths of the columns label, state and progress in a terminal with `room` columns.

    A label is never cut. A state may take half of what is left, the progress takes the rest.
    """
    label, state, progress = (max(map(len, column)) for column in zip(("", "", ""), *rows, strict=True))
    left = max(2, room - label - 2 * BETWEEN)
    state = min(state, max(left // 2, left - progress))
    return [label, state, max(1, min(progress, left - state))]


@contextmanager
def open_table(stream: TextIO, heading: str, row_name: str, waiting: Sequence[int] = ()) -> Iterator[Table]:
    """Print the heading, then yield a live table on a terminal, plain lines elsewhere."""
    tell(heading, stream)
    if not has_cursor(stream):
        yield Table(stream, row_name)
        return
    console = PatientConsole(file=stream, force_terminal=True, highlight=False, emoji=False, markup=False)
    live = Live(
        console=console,
        auto_refresh=False,
        redirect_stdout=sys.stdout.isatty(),
        redirect_stderr=sys.stderr.isatty(),
    )
    table = LiveTable(stream, row_name, live=live, rows=dict.fromkeys(waiting, ("waiting", "")))
    with suppress(OSError, ValueError):
        live.start()
        console.show_cursor(True)  # a second Ctrl-C leaves at once, and must not leave it hidden
    try:
        yield table
    finally:
        with suppress(OSError, ValueError):  # the terminal is gone
            live.stop()


def with_threads(settings: TrainSettings) -> str:
    """Return how many threads each of several trainings has, in words."""
    return f"with {'1 thread' if settings.threads == 1 else f'{settings.threads} threads'} each"


def aligned(rows: Sequence[Sequence[str]], left: Sequence[int]) -> list[str]:
    """Return rows as lines with columns two blanks apart; numbers stand to the right, columns in `left` to the left."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            text.ljust(width) if i in left else text.rjust(width)
            for i, (text, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]
