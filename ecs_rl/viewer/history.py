"""The learning drawer's numbers, from a run's own files: a resumed run shows its whole history.

A long log is read in slices, each a few milliseconds long, and thinned out as it comes in: memory and the time for a
view depend on how many curves there are, not on how many rows.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter
from typing import Any

import msgspec
import numpy as np

from ecs_rl.arrays import F64
from ecs_rl.viewer.view import LearningView, Point, Series

MOST_LOSSES, MOST_NAMES = 3, 1000
MOST_POINTS = 4000
"""Points of a curve, at most twice as many for a moment; a wide screen has as many columns."""
SLICE_SECONDS = 0.004
"""How long one look reads: a frame has 16 ms."""
SLICE_BYTES = 1 << 15
LONGEST_ROW = 1 << 20
"""Bytes; what is longer is no row of ours and is left out."""
Row = Mapping[str, Any]


class Rows:
    """A file of JSON lines that somebody else writes, read once from its beginning to its end."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.behind = False
        """Whether there was more than the last look could read."""
        self._read = 0
        self._skipping = False  # in the middle of something too long for a row

    def look(self, until: float) -> Iterator[list[Row] | None]:
        """Yield new rows, at least one slice and more until that clock reading, and None where the file begins anew.

        A torn last line waits for its end; one that is no row is left out.
        """
        self.behind = False
        try:
            size = self.path.stat().st_size
            if size == self._read:
                return
            with self.path.open("rb") as file:
                if size < self._read or not self._goes_on(file):  # a resumed run forgot what came after its checkpoint
                    self._read, self._skipping = 0, False
                    yield None
                while self._read < size and not self.behind:
                    file.seek(self._read)
                    lines = self._whole(file.read(SLICE_BYTES), file)
                    if lines is None:
                        return
                    yield [row for row in map(_decoded, lines) if row is not None]
                    self.behind = self._read < size and perf_counter() > until
        except OSError:
            return

    def _goes_on(self, file: Any) -> bool:
        """Tell whether a row still ends where the last look did."""
        if not self._read or self._skipping:
            return True
        file.seek(self._read - 1)
        return bool(file.read(1) == b"\n")

    def _whole(self, data: bytes, file: Any) -> list[bytes] | None:
        """Return the whole lines of what was read, and go past them; None if the end of the last one is not there."""
        end = data.rfind(b"\n") + 1
        if not end and len(data) == SLICE_BYTES:  # a long line
            data += file.read(LONGEST_ROW - len(data))
            end = data.find(b"\n") + 1
            if not end and len(data) == LONGEST_ROW:
                self._read, self._skipping = self._read + len(data), True
                return []
        if not end:
            return None
        self._read += end
        lines = data[:end].splitlines()
        if self._skipping:
            self._skipping = False
            del lines[0]
        return lines


def _decoded(line: bytes) -> Row | None:
    try:
        row = msgspec.json.decode(line)
    except (ValueError, RecursionError):
        return None
    return row if isinstance(row, dict) else None


@dataclass
class Curve:
    """One number over the steps, thinned out: of each group of neighbours the lowest and the highest stay."""

    thin: F64 = field(default_factory=lambda: np.zeros((0, 3)))
    """(points, 3) Steps, value and spread of the groups that are full."""
    rest: F64 = field(default_factory=lambda: np.zeros((0, 3)))
    """The same of the newest rows, which do not fill a group yet."""
    group: int = 2
    """Rows in a group; of two both stay."""
    has_spread: bool = False

    def add(self, points: F64) -> None:
        """Take in new points, in the order of the file."""
        rest = np.concatenate((self.rest, points))
        full = len(rest) // self.group * self.group
        self.thin = np.concatenate((self.thin, _extremes(rest[:full], self.group)))
        self.rest = rest[full:]
        while len(self.thin) > MOST_POINTS:
            even = len(self.thin) // 4 * 4
            self.thin = np.concatenate((_extremes(self.thin[:even], 4), self.thin[even:]))
            self.group *= 2

    def series(self, name: str, *more: tuple[float, float, float]) -> Series:
        """Return the curve as it is drawn, with a point that is not final yet at its end."""
        rest = self.rest
        if len(rest) > 4:
            newest = rest[-1:]
            rest = np.concatenate((_extremes(rest[:-1], len(rest) - 1), newest))
        x, y, spread = np.concatenate((self.thin, rest, np.array(more).reshape(-1, 3))).T
        return Series(name, x, y, spread if self.has_spread else None)


def _extremes(points: F64, group: int) -> F64:
    """Return the point with the lowest and that with the highest value of each group of neighbours, in their order."""
    if group <= 2 or not len(points):
        return points
    groups = points.reshape(-1, group, points.shape[1])
    y = groups[:, :, 1]
    low = np.argmin(np.where(np.isfinite(y), y, np.inf), axis=1)
    high = np.argmax(np.where(np.isfinite(y), y, -np.inf), axis=1)
    high = np.where(low == high, np.where(low == 0, group - 1, 0), high)  # two points in any case
    picked = np.sort(np.stack((low, high), axis=1), axis=1)
    return np.take_along_axis(groups, picked[:, :, None], axis=1).reshape(-1, points.shape[1])


class Metrics:
    """The curves of metrics.jsonl."""

    def __init__(self) -> None:
        self.curves: dict[str, Curve] = {}
        self._spreads = {f"{group}/mean_return": f"{group}/std_return" for group in ("rollout", "eval")}
        self._keys = [*self._spreads, "rollout/mean_length", "time/steps_per_second"]
        self._seen: set[str] = set()
        self.losses: list[str] = []
        self.exploring: list[str] = []

    def add(self, rows: Sequence[Row]) -> None:
        """Take in rows in the order of the file."""
        names = set().union(*rows)
        self._find(rows, names)
        for key in (*self._keys, *self.losses, *self.exploring):
            if key in names:
                spread, found = self._spreads.get(key, ""), [row for row in rows if key in row]
                columns = [[row.get(each) for row in found] for each in ("total_steps", key, spread)]
                curve = self.curves.setdefault(key, Curve())
                curve.add(np.stack([_numbers(column) for column in columns], axis=1))
                curve.has_spread |= spread in names

    def _find(self, rows: Sequence[Row], names: set[str]) -> None:
        """Note the first losses and the first measures of exploring that there are."""
        if names <= self._seen or len(self._seen) > MOST_NAMES:
            return
        self._seen |= names
        for key in dict.fromkeys(key for row in rows for key in row):
            if not key.startswith("train/"):
                continue
            for kept, wanted in ((self.losses, "/loss" in key), (self.exploring, key.endswith(("entropy", "epsilon")))):
                if wanted and key not in kept and len(kept) < MOST_LOSSES:
                    kept.append(key)

    def series(self, key: str, name: str) -> Series:
        """Return one number over the steps; rows without it are left out."""
        return self.curves[key].series(name) if key in self.curves else Series(name)

    def others(self) -> tuple[tuple[Series, ...], ...]:
        """Return the small plots: episode length, losses, entropy or epsilon, steps per second."""
        many = len(self.losses) > 1
        losses = tuple(self.series(key, _name(key, "loss" if many else "")) for key in self.losses)
        exploring = tuple(self.series(key, _name(key, "")) for key in self.exploring)
        return (
            (self.series("rollout/mean_length", "episode length"),),
            losses or (Series("loss"),),
            exploring or (Series("entropy"),),
            (self.series("time/steps_per_second", "steps per second"),),
        )


class Evaluations:
    """Mean and spread of each evaluation's episodes, which stand one after the other in eval_episodes.jsonl."""

    def __init__(self) -> None:
        self._curve = Curve(has_spread=True)
        self._step, self._count, self._mean, self._squares = math.nan, 0, 0.0, 0.0

    def add(self, rows: Iterable[Row]) -> None:
        """Take in rows in the order of the file."""
        points = []
        for row in rows:
            step, value = _number(row.get("total_steps_at_eval")), _number(row.get("total_reward"))
            if not (math.isfinite(step) and math.isfinite(value)):
                continue
            if step != self._step:
                points += self._point()
                self._step, self._count, self._mean, self._squares = step, 0, 0.0, 0.0
            self._count += 1
            delta = value - self._mean
            self._mean += delta / self._count
            self._squares += delta * (value - self._mean)
        if points:
            self._curve.add(np.array(points))

    def _point(self) -> list[tuple[float, float, float]]:
        return [(self._step, self._mean, math.sqrt(self._squares / self._count))] if self._count else []

    def series(self) -> Series:
        """Return the evaluations, the newest with the episodes that it has so far."""
        return self._curve.series("evaluation", *self._point())


class History:
    """How the training of a run went; `refresh` returns the same object as long as there is nothing new."""

    def __init__(self, run: Path, *, solved_at: float | None = None, steps_total: int | None = None) -> None:
        self.solved_at, self.steps_total = solved_at, steps_total
        self._metrics, self._evaluations = Metrics(), Evaluations()
        self._files = Rows(run / "metrics.jsonl"), Rows(run / "eval_episodes.jsonl")
        self._view = LearningView(solved_at=solved_at, steps_total=steps_total)
        self._news = False

    @property
    def behind(self) -> bool:
        """Whether the files hold more than was read: the next frame may read on."""
        return any(rows.behind for rows in self._files)

    def read(self) -> None:
        """Read what is new for a few milliseconds."""
        end = perf_counter() + SLICE_SECONDS
        metrics, evaluations = self._files
        for rows in metrics.look(end):
            self._news = True
            if rows is None:
                self._metrics = Metrics()
            else:
                self._metrics.add(rows)
        for rows in evaluations.look(end):
            self._news = True
            if rows is None:
                self._evaluations = Evaluations()
            else:
                self._evaluations.add(rows)

    def refresh(self) -> LearningView:
        """Read what is new and return the history so far; call it about once a second."""
        self.read()
        if self._news:
            self._news = False
            self._view = self._made()
        return self._view

    def _made(self) -> LearningView:
        evaluations = self._evaluations.series()
        if not len(evaluations.x):
            evaluations = self._metrics.series("eval/mean_return", "evaluation")
        returns = self._metrics.series("rollout/mean_return", "return")
        best, others = _best(evaluations), self._metrics.others()
        return LearningView(returns, evaluations, best, self.solved_at, self.steps_total, others)


def _name(key: str, after: str) -> str:
    last = key.removeprefix("train/").replace("loss/", "").replace("/", " ")
    return f"{last} {after}".strip()


def _number(value: object) -> float:
    good = isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) <= sys.float_info.max
    return float(value) if good else math.nan  # type: ignore[arg-type]  # a file may hold numbers of 400 digits


def _numbers(values: Sequence[object]) -> F64:
    """Return a column of numbers, NaN for what is none."""
    if set(map(type, values)) <= {int, float, type(None)}:
        try:
            return np.array(values, np.float64)
        except OverflowError:
            pass
    return np.array([_number(value) for value in values])


def _best(evaluations: Series) -> Point | None:
    good = np.isfinite(evaluations.y)
    if not good.any():
        return None
    i = int(np.nanargmax(evaluations.y))
    return float(evaluations.x[i]), float(evaluations.y[i])
