"""What several seeds show while they train, and what is said of them at the end: a table, a picture, a JSON object."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from ecs_rl.commands.called import program, typed
from ecs_rl.commands.progress import has_cursor, number
from ecs_rl.commands.settings import TrainSettings
from ecs_rl.console import deliver, tell
from ecs_rl.errors import EcsRlError

if TYPE_CHECKING:
    from rich.live import Live

MEASURES = ("solved_second", "solved_step", "best_eval")
"""What is summed up over the seeds, as the JSON object of one run names it."""
IN_WORDS = {"solved_second": "seconds to solve", "solved_step": "steps to solve", "best_eval": "best evaluation"}


@dataclass(frozen=True)
class Outcome:
    """How the run of one seed went."""

    seed: int
    told: dict[str, Any] | None = None
    """Its JSON object, None where it did not come to that."""
    code: int = 0
    message: str = ""
    """The last that it said."""

    @property
    def state(self) -> str:
        """The status of the run in a word."""
        if self.told is not None:
            return str(self.told["status"])
        return f"failed ({self.code})" if self.code else "not begun"


# --- while they train -----------------------------------------------------------------------------------------------


@dataclass
class Shown:
    """Plain lines of progress: every line of every run, with its seed, or of every trial, with its number."""

    stream: TextIO
    each: str = "seed"
    """What the numbers are."""

    def progress(self, seed: int, line: str) -> None:
        """Show a run's newest line of progress."""
        tell(f"{self.each} {seed}: {line}", self.stream)

    def state(self, seed: int, state: str) -> None:
        """Show that a run has begun or ended."""
        tell(f"{self.each} {seed}: {state}", self.stream)

    def message(self, seed: int, text: str) -> None:
        """Pass on what a run has to say besides."""
        tell(f"{program('train')}: {self.each} {seed}: {text}", sys.stderr)

    def draw(self) -> None:
        """Plain lines are not drawn anew."""


@dataclass
class ShownTable(Shown):
    """A live table on a terminal, a row for each seed."""

    live: Live | None = None
    rows: dict[int, tuple[str, str]] = field(default_factory=dict)
    """State and newest line of progress by seed."""

    def progress(self, seed: int, line: str) -> None:
        """Put a run's newest line of progress into its row."""
        self.rows[seed] = (self.rows.get(seed, ("", ""))[0], line)
        self.draw()

    def state(self, seed: int, state: str) -> None:
        """Put into its row that a run has begun or ended."""
        self.rows[seed] = (state, self.rows.get(seed, ("", ""))[1])
        self.draw()

    def draw(self) -> None:
        """Draw the table over the one before; a terminal that has gone is no reason to stop."""
        from rich.table import Table

        assert self.live is not None
        rows = [(f"{self.each} {seed}", *row) for seed, row in self.rows.items()]
        table = Table.grid(padding=(0, BETWEEN, 0, 0))
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
def shown_on(stream: TextIO, head: str, each: str, waiting: Sequence[int] = ()) -> Iterator[Shown]:
    """Say what is about to happen, and show how far the runs are: a live table on a terminal, plain lines elsewhere."""
    tell(head, stream)
    if not has_cursor(stream):
        yield Shown(stream, each)
        return
    from rich.live import Live

    from ecs_rl.commands.live_block import PatientConsole

    console = PatientConsole(file=stream, force_terminal=True, highlight=False, emoji=False, markup=False)
    live = Live(
        console=console,
        auto_refresh=False,
        redirect_stdout=sys.stdout.isatty(),
        redirect_stderr=sys.stderr.isatty(),
    )
    shown = ShownTable(stream, each, live, dict.fromkeys(waiting, ("waiting", "")))
    with suppress(OSError, ValueError):
        live.start()
        console.show_cursor(True)  # a second Ctrl-C leaves at once, and must not leave it hidden
    try:
        yield shown
    finally:
        with suppress(OSError, ValueError):  # the terminal is gone
            live.stop()


def heading(settings: TrainSettings, at_once: int) -> str:
    """Return what is said before the first run begins."""
    seeds = range(settings.seed, settings.seed + settings.seeds)
    return (
        f"{settings.scene}: {settings.seeds} runs, seeds {named(seeds)}, {at_once} at a time {with_threads(settings)}"
    )


def with_threads(settings: TrainSettings) -> str:
    """Return how many threads each of several runs has, in words."""
    return f"with {'1 thread' if settings.threads == 1 else f'{settings.threads} threads'} each"


def named(seeds: Sequence[int]) -> str:
    """Return `0` or `0 to 4`."""
    return f"{seeds[0]} to {seeds[-1]}" if len(seeds) > 1 else f"{seeds[0]}"


# --- at the end -----------------------------------------------------------------------------------------------------


def report(settings: TrainSettings, outcomes: Sequence[Outcome], stream: TextIO, *, interrupted: bool) -> int:
    """Print the table of all seeds, make the picture, and with `--json` deliver one line for programs.

    Who interrupts the runs waits for no picture. Returns the exit code of a picture that failed, 0 otherwise.
    """
    runs = [each.told for each in outcomes if each.told is not None]
    solved, summaries = sum(run["solved_step"] is not None for run in runs), summed_up(runs)
    results = f"{solved} of {len(outcomes)} solved", *lessons_of(runs), *table_of_summaries(summaries)
    for line in (*table_of_seeds(outcomes), *results):
        tell(line, stream)
    picture, code = None, 0
    if runs and not interrupted:
        try:
            picture = drawn(settings, runs)
            tell(f"learning curves: {picture}", stream)
        except EcsRlError as error:
            tell(f"{program('train')}: no picture of the learning curves: {error}", sys.stderr)
            code = error.exit_code
    for run in runs:
        if run["status"] == "interrupted":
            tell(f"go on: {typed('train')} {settings.scene} --resume {run['run']}", stream)
    if settings.json:
        told = {
            "scene": settings.scene,
            "agent": settings.agent,
            "runs": runs,
            "solved": solved,
            **summaries,
            "failed": [{"seed": e.seed, "exit_code": e.code, "message": e.message} for e in outcomes if e.code],
            "picture": None if picture is None else str(picture),
        }
        deliver(json.dumps(told))
    return code


def summed_up(runs: Sequence[Mapping[str, Any]]) -> dict[str, dict[str, float] | None]:
    """Return mean, interquartile mean, median and interval of each measure over the runs that have it, else None."""
    from ecs_rl.session.bootstrap import summary

    found = {name: summary([float(run[name]) for run in runs if run[name] is not None]) for name in MEASURES}
    return {name: None if each is None else each._asdict() for name, each in found.items()}


def drawn(settings: TrainSettings, runs: Sequence[Mapping[str, Any]]) -> Path:
    """Draw the learning curves of all runs into a picture beside them, and return its path."""
    from ecs_rl.loading import load_scene
    from ecs_rl.viewer.seed_curves import draw_seeds

    scene, first = load_scene(settings.scene), Path(runs[0]["run"])
    seeds = [int(run["seed"]) for run in runs]
    path = first.parent / f"{first.name}_seeds_{min(seeds)}_to_{max(seeds)}.png"
    paths = {int(run["seed"]): Path(run["run"]) for run in runs}
    draw_seeds(paths, path, title=f"{scene.name}, {settings.agent}", solved_at=scene.solved_at, score=scene.score)
    return path


def table_of_seeds(outcomes: Sequence[Outcome]) -> list[str]:
    """Return a line for each seed: how it ended, its best evaluation, when it was solved, where it is."""
    rows: list[tuple[str, ...]] = [("seed", "status", "steps", "best eval", "at step", "solved after", "", "run")]
    for each in outcomes:
        run = each.told
        if run is None:
            rows.append((str(each.seed), each.state, *[""] * 5, each.message if each.code else ""))
            continue
        second, step = run["solved_second"], run["solved_step"]
        rows.append(
            (
                *(str(each.seed), each.state, f"{run['steps']:,}", number(run["best_eval"]) or "-"),
                "-" if run["best_step"] is None else f"{run['best_step']:,}",
                *(("-", "") if step is None else (f"{second:.2f} s", f"{step:,} steps")),
                run["run"],
            )
        )
    return aligned(rows, left=(1, 7))


def lessons_of(runs: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return a line for each of the scene's lessons: in how many runs it came to the full task, and how far else."""
    found = []
    for name in dict.fromkeys(name for run in runs for name in run.get("lessons", {})):
        told = [run["lessons"][name] for run in runs if name in run.get("lessons", {})]
        short = [f"{each['step']}/{each['steps']}" for each in told if each["step"] < each["steps"]]
        rest = f", else at {', '.join(short)}" if short else ""
        found.append(f"lesson {name}: {len(told) - len(short)} of {len(told)} came to the full task{rest}")
    return found


def table_of_summaries(summaries: Mapping[str, Mapping[str, float] | None]) -> list[str]:
    """Return a line for each measure that any run has, over all runs that have it."""
    rows = [("", "mean", "IQM", "median", "95 % of the IQM")]
    for name, found in summaries.items():
        if found is not None:
            told = {key: f"{value:,.0f}" if name == "solved_step" else number(value) for key, value in found.items()}
            interval = f"{told['low']} to {told['high']}"
            rows.append((IN_WORDS[name], told["mean"], told["iqm"], told["median"], interval))
    return aligned(rows, left=(0,)) if len(rows) > 1 else []


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
