"""The learning drawer's numbers, from a run's own files: a resumed run shows its whole history."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from ecs_rl.arrays import F64
from ecs_rl.viewer.view import LearningView, Point, Series

MOST_LOSSES = 3
Row = Mapping[str, Any]


class Rows:
    """A file of JSON lines that somebody else writes; each look reads only what is new."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.rows: list[Row] = []
        self._read = 0

    def refresh(self) -> bool:
        """Read on; return whether there is anything new. A torn last line waits for its end, a bad one is left out."""
        try:
            size = self.path.stat().st_size
            if size < self._read:  # a resumed run forgot what came after its checkpoint
                self.rows, self._read = [], 0
            if size == self._read:
                return False
            with self.path.open("rb") as file:
                file.seek(self._read)
                data = file.read(size - self._read)
        except OSError:
            return False
        whole = data.rfind(b"\n") + 1
        self._read += whole
        self.rows += [row for row in map(_decoded, data[:whole].splitlines()) if row is not None]
        return whole > 0


def _decoded(line: bytes) -> Row | None:
    try:
        row = msgspec.json.decode(line)
    except (ValueError, RecursionError):
        return None
    return row if isinstance(row, dict) else None


class History:
    """How the training of a run went; `view` is the same object as long as there is nothing new."""

    def __init__(self, run: Path, *, solved_at: float | None = None, steps_total: int | None = None) -> None:
        self.solved_at, self.steps_total = solved_at, steps_total
        self._metrics, self._exams = Rows(run / "metrics.jsonl"), Rows(run / "eval_episodes.jsonl")
        self._view = LearningView(solved_at=solved_at, steps_total=steps_total)

    def refresh(self) -> LearningView:
        """Read what is new and return the whole history; call it about once a second."""
        fresh = [self._metrics.refresh(), self._exams.refresh()]
        if any(fresh):
            self._view = learning_of(self._metrics.rows, self._exams.rows, self.solved_at, self.steps_total)
        return self._view


def learning_of(
    metrics: list[Row], exams: list[Row], solved_at: float | None = None, steps_total: int | None = None
) -> LearningView:
    """Return the series of metrics.jsonl and eval_episodes.jsonl."""
    evaluations = evaluations_of(exams)
    if not len(evaluations.x):
        evaluations = series_of(metrics, "evaluation", "eval/mean_return", "eval/std_return")
    returns = series_of(metrics, "return", "rollout/mean_return", "rollout/std_return")
    return LearningView(returns, evaluations, _best(evaluations), solved_at, steps_total, others_of(metrics))


def evaluations_of(exams: list[Row]) -> Series:
    """Return mean and spread of each evaluation's episodes."""
    by_step: dict[float, list[float]] = {}
    for row in exams:
        step, value = _number(row.get("total_steps_at_eval")), _number(row.get("total_reward"))
        if math.isfinite(step) and math.isfinite(value):
            by_step.setdefault(step, []).append(value)
    steps = sorted(by_step)
    mean = [float(np.mean(by_step[step])) for step in steps]
    spread = [float(np.std(by_step[step])) for step in steps]
    return Series("evaluation", np.array(steps), np.array(mean), np.array(spread))


def others_of(metrics: list[Row]) -> tuple[tuple[Series, ...], ...]:
    """Return the small plots: episode length, losses, entropy or epsilon, steps per second."""
    keys = list(dict.fromkeys(key for row in metrics for key in row if isinstance(key, str)))
    losses = [key for key in keys if key.startswith("train/") and "/loss" in key][:MOST_LOSSES]
    exploring = [key for key in keys if key.startswith("train/") and key.endswith(("entropy", "epsilon"))][:MOST_LOSSES]
    many = len(losses) > 1
    plots = [
        (series_of(metrics, "episode length", "rollout/mean_length"),),
        tuple(series_of(metrics, _name(key, "loss" if many else ""), key) for key in losses) or (Series("loss"),),
        tuple(series_of(metrics, _name(key, ""), key) for key in exploring) or (Series("entropy"),),
        (series_of(metrics, "steps per second", "time/steps_per_second"),),
    ]
    return tuple(plots)


def _name(key: str, after: str) -> str:
    last = key.removeprefix("train/").replace("loss/", "").replace("/", " ")
    return f"{last} {after}".strip()


def series_of(metrics: list[Row], name: str, key: str, spread: str = "") -> Series:
    """Return one number of the metrics over the steps, rows without it left out."""
    rows = [row for row in metrics if key in row]
    x = np.array([_number(row.get("total_steps")) for row in rows])
    y = np.array([_number(row.get(key)) for row in rows])
    band: F64 | None = None
    if spread and any(spread in row for row in rows):
        band = np.array([_number(row.get(spread)) for row in rows])
    return Series(name, x, y, band)


def _number(value: object) -> float:
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else math.nan


def _best(evaluations: Series) -> Point | None:
    good = np.isfinite(evaluations.y)
    if not good.any():
        return None
    i = int(np.nanargmax(evaluations.y))
    return float(evaluations.x[i]), float(evaluations.y[i])
