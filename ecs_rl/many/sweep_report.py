"""What a sweep says at its end: a table, a picture, the best recipe as a file, and a JSON object."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TextIO

import msgspec

from ecs_rl.cli.called import program, typed
from ecs_rl.cli.plan import Plan
from ecs_rl.console import deliver, number, tell
from ecs_rl.errors import EcsRlError
from ecs_rl.many.ranges import Axis, in_words, value_in_words
from ecs_rl.many.sweep_file import BEST_EVAL, BROKEN, SOLVED_STEP, Row, Sweep, SweepFile
from ecs_rl.many.table import aligned

RECIPE, PICTURE = "best.toml", "sweep.png"
MEASURES = {BEST_EVAL: "best evaluation", SOLVED_STEP: "steps to solve"}


def report(
    plan: Plan,
    file: SweepFile,
    axes: Sequence[Axis],
    recipe: Mapping[str, Any],
    *,
    stream: TextIO,
    go_on: str,
) -> int:
    """Print the table, write recipe and picture, and with `--json` deliver one line for programs.

    `recipe` is what `--config` needs besides the scene's own settings; `go_on` the command that continues, '' if there
    is nothing to continue. Returns the exit code of a picture that failed, 0 otherwise.
    """
    settings, sweep, code, picture = plan.settings, file.sweep, 0, None
    for line in table(sweep, axes):
        tell(line, stream)
    written = None if sweep.best is None else file.put(RECIPE, recipe_of(sweep, sweep.best, recipe).encode())
    if sweep.best is not None and not go_on:  # who interrupts it waits for no picture
        try:
            picture = drawn(plan, file, axes)
        except EcsRlError as error:
            tell(f"{program('train')}: no picture of the sweep: {error}", sys.stderr)
            code = error.exit_code
    if written is not None and sweep.best is not None:
        tell(f"best: {in_words(sweep.best.setting)}", stream)
        tell(f"train with it: {typed('train')} {settings.scene} --config {written}", stream)
        if sweep.population:
            tell(f"play it: {typed('play')} {sweep.best.runs[0]}", stream)
    if picture is not None:
        tell(f"picture: {picture}", stream)
    if go_on:
        tell(f"go on: {go_on}", stream)
    if settings.json:
        deliver(json.dumps(as_json(file, written, picture)))
    return code


def table(sweep: Sweep, axes: Sequence[Axis]) -> list[str]:
    """Return a line for each trial, the best first."""
    names = [axis.name for axis in axes]
    head = (sweep.row_name, *names, "status", "steps", MEASURES[sweep.measure], "solved", "run")
    rows: list[tuple[str, ...]] = [head]
    for row in sweep.ranked():
        where = row.runs[0] if row.runs else ""
        where += f" and {len(row.runs) - 1} more" if len(row.runs) > 1 else ""
        rows.append(
            (
                *(str(row.trial), *(value_in_words(row.setting.get(name, "")) for name in names), row.state),
                *(f"{row.steps:,}", _judged(sweep, row), f"{row.solved} of {sweep.seeds}"),
                ": ".join(filter(None, (where, row.message if row.state in BROKEN else ""))),
            )
        )
    return aligned(rows, left=(len(names) + 1, len(head) - 1))


def _judged(sweep: Sweep, row: Row) -> str:
    if row.value is None:
        return "-"
    return number(row.value) if sweep.measure == BEST_EVAL else f"{row.value:,.0f}"


def recipe_of(sweep: Sweep, best: Row, recipe: Mapping[str, Any]) -> str:
    """Return the file that `--config` takes: all that the best trial's settings have beside the scene's own."""
    value = _judged(sweep, best)
    lines = [
        f"# The best of {len(sweep.rows)} {sweep.row_name}s in {sweep.scene}: {MEASURES[sweep.measure]} {value} "
        f"over {sweep.seeds} {'seed' if sweep.seeds == 1 else 'seeds'}",
    ]
    if sweep.population:
        lines.append("# Its settings changed on the way: these are the last ones")
    tables: dict[str, list[str]] = {}
    for name, value in recipe.items():
        table, _, own = name.rpartition(".")
        tables.setdefault(table, []).append(f"{own} = {toml(value)}")
    lines += tables.pop("", [])
    for table, content in tables.items():
        lines += ["", f"[{table}]", *content]
    return "\n".join(lines) + "\n"


def toml(value: Any) -> str:
    """Return a value as TOML writes it."""
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(toml, value))}]"
    return json.dumps(value) if isinstance(value, bool | str) else repr(value)


def drawn(plan: Plan, file: SweepFile, axes: Sequence[Axis]) -> Path:
    """Draw all trials into a picture in the sweep's folder, and return its path."""
    from ecs_rl.viewer.comparison_pictures import SettingAxis, SweepView, TrialCurve, draw_sweep

    sweep, scene, path = file.sweep, plan.scene, file.path / PICTURE
    rows = [row for row in sweep.ranked() if row.curve]
    trials = [
        TrialCurve(
            [step for step, _ in row.curve],
            [best for _, best in row.curve],
            row.value,
            [axis.place(row.setting[axis.name]) for axis in axes],
        )
        for row in rows
    ]
    view = SweepView(
        f"{scene.name}, {plan.settings.agent}: {len(sweep.rows)} {sweep.row_name}s",
        MEASURES[sweep.measure],
        trials,
        [SettingAxis(axis.name, axis.marks) for axis in axes],
        best=0,
        solved_at=scene.solved_at,
        score=scene.score,
    )
    draw_sweep(view, path)
    return path


def as_json(file: SweepFile, recipe: Path | None, picture: Path | None) -> dict[str, Any]:
    """Return the object that `--json` ends with."""
    sweep = file.sweep
    trials = [
        {
            **{"trial": row.trial, "settings": row.setting, "status": row.state, "steps": row.steps},
            **{sweep.measure: row.value, "solved": row.solved, "runs": row.summaries, "message": row.message},
            **({"taken_over": msgspec.to_builtins(row.taken_over)} if sweep.population else {}),
        }
        for row in sweep.ranked()
    ]
    return {
        **{"scene": sweep.scene, "agent": sweep.agent, "sweep": str(file.path), "status": sweep.status},
        **{"search": sweep.search, "measure": sweep.measure, "seeds": sweep.seeds, "trials": trials},
        "best": None if sweep.best is None else sweep.best.trial,
        "recipe": None if recipe is None else str(recipe),
        "picture": None if picture is None else str(picture),
    }
