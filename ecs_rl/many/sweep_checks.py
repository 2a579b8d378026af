"""What `sweep.json` may say: anybody can write it, and its settings, states and paths are taken up by `--resume`.

The command says which settings vary and in which ranges. A trial has exactly these settings, so no trial can name a
file of code that the command does not name.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ecs_rl.errors import CheckpointError, quoted, visible
from ecs_rl.many.jobs import LONGEST_MESSAGE
from ecs_rl.many.ranges import Axis, Setting, combinations
from ecs_rl.many.sweep_file import FILE, GRID, SEARCHES, Row, Sweep
from ecs_rl.runs.layout import START


def check_sweep(folder: Path, sweep: Sweep, axes: Sequence[Axis]) -> None:
    """Bring the rows of a sweep that was read into the form in which they were written.

    Raises CheckpointError where they are not what the command with these axes writes.
    """
    if sweep.search not in SEARCHES or (sweep.search == GRID and not combinations(axes)):
        raise _damaged(folder, f"'search' is {quoted(sweep.search)}")
    numbers = [row.trial for row in sweep.rows]
    if len(set(numbers)) < len(numbers) or (sweep.population and sorted(numbers) != list(range(sweep.population))):
        raise _damaged(folder, f"its {sweep.row_name}s do not have a number each")
    for row in sweep.rows:
        where = f"{sweep.row_name} {row.trial}"
        row.setting = _setting(folder, where, row.setting, axes)
        row.runs = [str(_run(folder, where, run)) for run in row.runs]
        if len(row.runs) > sweep.seeds:
            raise _damaged(folder, f"{where} has {len(row.runs)} runs, and the sweep {sweep.seeds} seeds")
        row.message = visible(row.message, LONGEST_MESSAGE)
        _check_curve(folder, where, row)
        for exchange in row.taken_over:
            exchange.setting = _setting(folder, where, exchange.setting, axes)


def _setting(folder: Path, where: str, setting: Mapping[str, Any], axes: Sequence[Axis]) -> Setting:
    """Return what a trial trains with, each value as its range has it."""
    names = [axis.name for axis in axes]
    if sorted(setting) != sorted(names):
        varied = f"{where} varies {', '.join(map(quoted, setting)) or 'nothing'}"
        raise _damaged(folder, f"{varied}, and the command {', '.join(names)}")
    values = {axis.name: axis.own(setting[axis.name]) for axis in axes}
    for axis in axes:
        if values[axis.name] is None:
            raise _damaged(folder, f"{where} has {axis.name} = {quoted(setting[axis.name])}, outside of {axis.text}")
    return values


def _run(folder: Path, where: str, run: str) -> Path:
    """Return a trial's run in the sweep's folder, which may have moved."""
    name = Path(run).name
    if not START.fullmatch(name):
        raise _damaged(folder, f"{where} names the run {quoted(run)}")
    return folder.resolve() / name


def _check_curve(folder: Path, where: str, row: Row) -> None:
    steps = [step for step, _ in row.curve]
    if steps != sorted(set(steps)):
        raise _damaged(folder, f"the steps of {where} do not go up")
    if row.state == "solved" and row.value is None:
        raise _damaged(folder, f"{where} is solved and has no value")


def _damaged(folder: Path, reason: str) -> CheckpointError:
    return CheckpointError(
        f"{folder} is no sweep that can be gone on with: {FILE}: {reason}: restore the file, or begin a new sweep"
    )
