"""What several seeds come to together: a table, a picture of the learning curves, a JSON object."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

from ecs_rl.cli.called import program, typed
from ecs_rl.cli.plan import Plan
from ecs_rl.console import deliver, number, tell
from ecs_rl.errors import EcsRlError
from ecs_rl.many.table import aligned
from ecs_rl.session.bootstrap import summary

MEASURES = ("solved_second", "solved_step", "best_eval")
"""What is summed up over the seeds, as the JSON object of one run names it."""
IN_WORDS = {"solved_second": "seconds to solve", "solved_step": "steps to solve", "best_eval": "best evaluation"}


@dataclass(frozen=True)
class Outcome:
    """How the run of one seed went."""

    seed: int
    summary: dict[str, Any] | None = None
    """Its JSON object, None if it did not come to that."""
    code: int = 0
    message: str = ""
    """Why it failed."""

    @property
    def state(self) -> str:
        """The status of the run in a word."""
        if self.summary is not None:
            return str(self.summary["status"])
        return f"failed ({self.code})" if self.code else "not begun"


def seeds_in_words(seeds: Sequence[int]) -> str:
    """Return `0` or `0 to 4`."""
    return f"{seeds[0]} to {seeds[-1]}" if len(seeds) > 1 else f"{seeds[0]}"


def report(plan: Plan, outcomes: Sequence[Outcome], stream: TextIO, *, interrupted: bool) -> int:
    """Print the table of all seeds, make the picture, and with `--json` deliver one line for programs.

    Who interrupts the runs waits for no picture. Returns the exit code of a picture that failed, 0 otherwise.
    """
    settings = plan.settings
    runs = [outcome.summary for outcome in outcomes if outcome.summary is not None]
    solved, summaries = sum(run["solved_step"] is not None for run in runs), summed_up(runs)
    results = f"{solved} of {len(outcomes)} solved", *lessons_of(runs), *table_of_summaries(summaries)
    for line in (*table_of_seeds(outcomes), *results):
        tell(line, stream)
    picture, code = None, 0
    if runs and not interrupted:
        try:
            picture = drawn(plan, runs)
            tell(f"learning curves: {picture}", stream)
        except EcsRlError as error:
            tell(f"{program('train')}: no picture of the learning curves: {error}", sys.stderr)
            code = error.exit_code
    for run in runs:
        if run["status"] == "interrupted":
            tell(f"go on: {typed('train')} {settings.scene} --resume {run['run']}", stream)
    if settings.json:
        result = {
            "scene": settings.scene,
            "agent": settings.agent,
            "runs": runs,
            "solved": solved,
            **summaries,
            "failed": [
                {"seed": outcome.seed, "exit_code": outcome.code, "message": outcome.message}
                for outcome in outcomes
                if outcome.code
            ],
            "picture": None if picture is None else str(picture),
        }
        deliver(json.dumps(result))
    return code


def summed_up(runs: Sequence[Mapping[str, Any]]) -> dict[str, dict[str, float] | None]:
    """Return mean, interquartile mean, median and interval of each measure over the runs that have it, else None."""
    summaries = {name: summary([float(run[name]) for run in runs if run[name] is not None]) for name in MEASURES}
    return {name: None if item is None else item._asdict() for name, item in summaries.items()}


def drawn(plan: Plan, runs: Sequence[Mapping[str, Any]]) -> Path:
    """Draw the learning curves of all runs into a picture beside them, and return its path."""
    from ecs_rl.viewer.comparison_pictures import draw_seeds

    scene, first = plan.scene, Path(runs[0]["run"])
    seeds = [int(run["seed"]) for run in runs]
    path = first.parent / f"{first.name}_seeds_{min(seeds)}_to_{max(seeds)}.png"
    paths = {int(run["seed"]): Path(run["run"]) for run in runs}
    draw_seeds(paths, path, title=f"{scene.name}, {plan.settings.agent}", solved_at=scene.solved_at, score=scene.score)
    return path


def table_of_seeds(outcomes: Sequence[Outcome]) -> list[str]:
    """Return a line for each seed: how it ended, its best evaluation, when it was solved, where it is."""
    rows: list[tuple[str, ...]] = [("seed", "status", "steps", "best eval", "at step", "solved after", "", "run")]
    for outcome in outcomes:
        run = outcome.summary
        if run is None:
            rows.append((str(outcome.seed), outcome.state, *[""] * 5, outcome.message if outcome.code else ""))
            continue
        second, step = run["solved_second"], run["solved_step"]
        rows.append(
            (
                *(str(outcome.seed), outcome.state, f"{run['steps']:,}", number(run["best_eval"]) or "-"),
                "-" if run["best_step"] is None else f"{run['best_step']:,}",
                *(("-", "") if step is None else (f"{second:.2f} s", f"{step:,} steps")),
                run["run"],
            )
        )
    return aligned(rows, left=(1, 7))


def lessons_of(runs: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return a line for each of the scene's lessons: in how many runs it came to the full task, and how far else."""
    lines = []
    for name in dict.fromkeys(name for run in runs for name in run.get("lessons", {})):
        lessons = [run["lessons"][name] for run in runs if name in run.get("lessons", {})]
        short = [f"{item['step']}/{item['steps']}" for item in lessons if item["step"] < item["steps"]]
        rest = f", else at {', '.join(short)}" if short else ""
        full = f"{len(lessons) - len(short)} of {len(lessons)}"
        lines.append(f"lesson {name}: {full} came to the full task{rest}")
    return lines


def table_of_summaries(summaries: Mapping[str, Mapping[str, float] | None]) -> list[str]:
    """Return a line for each measure that any run has, over all runs that have it."""
    rows = [("", "mean", "IQM", "median", "95 % of the IQM")]
    for name, values in summaries.items():
        if values is not None:
            texts = {key: f"{value:,.0f}" if name == "solved_step" else number(value) for key, value in values.items()}
            interval = f"{texts['low']} to {texts['high']}"
            rows.append((IN_WORDS[name], texts["mean"], texts["iqm"], texts["median"], interval))
    return aligned(rows, left=(0,)) if len(rows) > 1 else []
