"""The learning drawer's numbers: a run's own files, read once, and the rows that its training adds after that.

A long log is read in slices, each a few milliseconds long, and thinned out as it comes in: memory and the time for a
view depend on how many curves there are, not on how many rows.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import chain, islice
from pathlib import Path
from time import perf_counter
from typing import Any

import msgspec
import numpy as np

from ecs_rl.arrays import F64
from ecs_rl.records import ELO, END, LESSON, LESSON_STEP, OF_AGENT, SCORE, TERM, TIME_UP
from ecs_rl.runs.rows import CHANGE
from ecs_rl.training.live_settings import WEIGHT
from ecs_rl.viewer.number_formats import count, result
from ecs_rl.viewer.palette import BLUE, DIM, GREEN, ORANGE, PANEL, PURPLE, SKY, VERMILION, Colour, mix
from ecs_rl.viewer.played_episodes import tone_of_ends
from ecs_rl.viewer.view import LearningView, Series, Stack, Tone

GROUPS: dict[str, tuple[Callable[[str], bool], int]] = {
    "losses": (lambda key: key.startswith("train/") and "/loss" in key, 3),
    "exploring": (lambda key: key.startswith("train/") and key.endswith(("entropy", "epsilon")), 3),
    "KL": (lambda key: key.startswith("train/") and key.endswith("kl"), 3),
    "clip share": (lambda key: key.startswith("train/") and key.endswith("clip_fraction"), 3),
    "endings": (lambda key: key.startswith(f"rollout/{END}"), 7),
    "terms": (lambda key: key.startswith(f"rollout/{TERM}"), 7),
}
"""Metrics that share a plot: which they are, and how many of them at most."""
UPDATE = ("KL", "clip share")
"""The groups that tell how far an update has moved the policy."""
HUES: dict[Tone, tuple[Colour, ...]] = {"good": (GREEN, SKY, BLUE), "bad": (VERMILION, ORANGE, PURPLE)}
"""The colours of good endings and of bad ones, the first one's first."""
MOST_NAMES = 1000
MOST_POINTS = 4000
"""Points of a curve, at most twice as many for a moment; a wide screen has as many columns."""
RATING = f"rollout/{ELO}"
"""What self-play rates its learner by, and its best."""
SLICE_SECONDS = 0.004
"""How long one look reads: a frame has 16 ms."""
SLICE_ROWS = 64
LONGEST_ROW = 1 << 20
"""Bytes; what is longer is no row of ours and is left out."""
SPREADS = {"rollout/mean_return": "rollout/std_return", "eval/mean_return": "eval/std_return"}
Row = Mapping[str, Any]


class History:
    """How the training of a run went: what its files hold by now, and what is added to `new`, in this order.

    Rows of metrics.jsonl become a curve for each number, those of eval_episodes.jsonl mean and spread of an evaluation.
    """

    def __init__(
        self,
        run: Path,
        *,
        solved_at: float | None = None,
        steps_total: int | None = None,
        score: str = "",
        agents: Sequence[str] = (),
        colours: Mapping[str, Colour] | None = None,
        before: History | None = None,
    ) -> None:
        """`colours` are those of agents' bodies; `before` is the previous run of the scene."""
        self._colours, self._before = colours or {}, before
        self.solved_at, self.steps_total, self.score = solved_at, steps_total, score
        self._results = f"{SCORE}{score}" if score else "mean_return"
        """What stands for an arena, as metrics name it behind the group."""
        self._returns_of = {f"rollout/{OF_AGENT}{name}": f"{name} return" for name in agents if len(agents) > 1}
        """The returns that have a plot of their own, and what they are called there."""
        if score and not self._returns_of:
            self._returns_of = {"rollout/mean_return": "return"}
        self.waiting = "nothing was noted of this run's training"
        """What is said as long as there is no number at all."""
        self._stored = chain(*(_rows_now(run / name) for name in ("metrics.jsonl", "eval_episodes.jsonl")))
        self.behind = True
        """Whether the files hold more than was read so far."""
        self.new: list[Row] = []
        """Rows that nobody has looked at yet."""
        self._curves: dict[str, Curve] = {}
        self._evaluations = Curve(has_spread=True)
        self._step, self._played = math.nan, list[float]()
        """Of the newest evaluation."""
        self._seen: set[str] = set()
        self._groups: dict[str, list[str]] = {name: [] for name in GROUPS}
        """The first metrics of each group."""
        self._changes: list[tuple[float, str]] = []
        """Steps at which settings were changed or lessons went on, and what to, and of the first good endings."""
        self._ended: set[str] = set()
        """The endings that there were."""
        self._lessons: dict[str, float] = {}
        """How many steps each lesson had taken in the newest row."""
        self._bests: dict[str, tuple[float, float]] = {}
        """Step and return of each agent's own best evaluation, by the name of its curve."""
        self._view: LearningView | None = None

    def read(self) -> None:
        """Read the files for a few milliseconds; once that is done, take in the new rows."""
        until = perf_counter() + SLICE_SECONDS
        while self.behind:
            rows = list(islice(self._stored, SLICE_ROWS))
            self._add(rows)
            self.behind = bool(rows)
            if perf_counter() > until:
                return
        self._add(self.new)
        self.new.clear()
        if self._before is not None and self._before.behind:
            self._before.read()
            self._view = None

    def refresh(self) -> LearningView:
        """Read, and return the history so far: the same object while there is nothing new; once a second will do."""
        self.read()
        if self._view is None:
            self._view = self._made()
        return self._view

    # --- rows become curves -----------------------------------------------------------------------------------------

    def _add(self, rows: Sequence[Row]) -> None:
        if not rows:
            return
        self._view = None
        self._add_evaluations([row for row in rows if "total_steps_at_eval" in row])
        metrics = [row for row in rows if "total_steps_at_eval" not in row]
        for row in metrics:
            self._changes += [*_changes(row), *self._lesson_steps(row), *self._firsts(row)]
        self._add_bests(metrics)
        names = set().union(*metrics)
        self._find(metrics, names)
        drawn = {f"{group}/{self._results}" for group in ("rollout", "eval")} | self._returns_of.keys()
        drawn |= {RATING, "rollout/mean_length", "time/steps_per_second", *chain(*self._groups.values())}
        for key in names & drawn:
            spread, having = SPREADS.get(key, ""), [row for row in metrics if key in row]
            columns = [[row.get(name) for row in having] for name in ("total_steps", key, spread)]
            curve = self._curves.setdefault(key, Curve())
            curve.add(np.stack([_numbers(column) for column in columns], axis=1))
            curve.has_spread |= spread in names

    def _find(self, rows: Sequence[Row], names: set[str]) -> None:
        """Note the first metrics of each group."""
        if names <= self._seen or len(self._seen) > MOST_NAMES:
            return
        self._seen |= names
        for key in dict.fromkeys(chain(*rows)):
            for name, (belongs, most) in GROUPS.items():
                keys = self._groups[name]
                if belongs(key) and key not in keys and len(keys) < most:
                    keys.append(key)

    def _add_bests(self, rows: Sequence[Row]) -> None:
        """Take in what each agent's best evaluation came to."""
        for key, name in self._returns_of.items():
            own = f"eval/best_{key.removeprefix('rollout/')}"
            for row in rows if key.startswith(f"rollout/{OF_AGENT}") else ():
                step, value = _number(row.get("total_steps")), _number(row.get(own))
                if step >= 0 and value > self._bests.get(name, (0.0, -math.inf))[1]:
                    self._bests[name] = step, value

    def _firsts(self, row: Row) -> Iterator[tuple[float, str]]:
        """Yield the step and the words of each good ending that an episode has come to for the first time."""
        for key in row:
            if key.startswith(f"rollout/{END}") and key not in self._ended and _number(row[key]) > 0:
                self._ended.add(key)
                name = key.removeprefix(f"rollout/{END}")
                paid = _number(row.get(f"rollout/{TERM}{name}", 0.0))
                if name != TIME_UP and tone_of_ends((name,), paid) == "good":
                    yield _number(row.get("total_steps")), f"first {name}"

    def _lesson_steps(self, row: Row) -> Iterator[tuple[float, str]]:
        """Yield the step and the words of each lesson that has gone on since the row before."""
        for key in row:
            if key.startswith(LESSON_STEP):
                name, step = key.removeprefix(LESSON_STEP), _number(row[key])
                if step > self._lessons.get(name, 0.0):
                    value = _number(row.get(f"{LESSON}{name}", row.get(f"{LESSON}{name}/high")))
                    yield _number(row.get("total_steps")), f"{name} {value:.3g}"
                self._lessons[name] = step

    def _add_evaluations(self, rows: Sequence[Row]) -> None:
        points = [NO_POINTS]
        for row in rows:
            value = row.get("total_reward")
            if self.score:
                extras = row.get("extras")
                value = extras.get(f"{SCORE}{self.score}") if isinstance(extras, dict) else None
            step, value = _numbers([row.get("total_steps_at_eval"), value]).tolist()
            if not (math.isfinite(step) and math.isfinite(value)):
                continue
            if step != self._step:
                points.append(self._evaluation())
                self._step, self._played = step, []
            self._played.append(value)
        self._evaluations.add(np.concatenate(points))

    def _evaluation(self) -> F64:
        """Return (0 or 1, 3): step, mean and spread of the newest evaluation, as far as its episodes are there."""
        if not self._played:
            return NO_POINTS
        with np.errstate(over="ignore"):
            return np.array(((self._step, np.mean(self._played), np.std(self._played)),))

    # --- curves become a view ---------------------------------------------------------------------------------------

    def _made(self) -> LearningView:
        evaluations = self._evaluations.series("evaluation", self._evaluation())
        if not len(evaluations.x):
            evaluations = self._series(f"eval/{self._results}", "evaluation")
        results = self._series(f"rollout/{self._results}", "score" if self.score else "return")
        view = LearningView(
            results,
            evaluations,
            _best(evaluations),
            self.solved_at,
            self.steps_total,
            self._others(),
            self._stacks(),
            self._solved_step(evaluations),
            waiting=self.waiting,
            changes=tuple(self._changes),
            bests=tuple(self._bests.items()),
            ghost=None if self._before is None or self._before.behind else self._before.as_ghost(),
        )
        return view if RATING not in self._curves else self._rated(view)

    def as_ghost(self) -> Series | None:
        """Return the large plot's curve, by what this run came to in words; None without a number."""
        view = self._made()
        if view.best is None:
            return None
        solved = view.solved_step
        came_to = f"best {result(view.best[1])}" if solved is None else f"solved at {count(solved)} steps"
        return replace(view.returns, name=f"last time {came_to}", spread=None)

    def _rated(self, view: LearningView) -> LearningView:
        """Return the view of self-play: Elo is the large plot, for results against oneself say little."""
        rating, evaluated = self._series(RATING, "Elo"), view.evaluations.x
        known = np.isfinite(rating.x) & np.isfinite(rating.y)
        elo = np.interp(evaluated, rating.x[known], rating.y[known]) if known.any() else evaluated * math.nan
        at_evaluations = Series("Elo", evaluated, elo)
        others = ((view.returns, replace(view.evaluations, spread=None)), *view.others)
        none = Series(view.evaluations.name)
        best = _best(at_evaluations)
        return replace(view, returns=rating, evaluations=none, best=best, solved_at=None, others=others)

    def _solved_step(self, evaluations: Series) -> float | None:
        """Return the step of the first evaluation that reached `solved_at`."""
        if self.solved_at is None:
            return None
        reached = np.flatnonzero(evaluations.y >= self.solved_at)
        return float(evaluations.x[reached[0]]) if len(reached) else None

    def _stacks(self) -> tuple[Stack, ...]:
        """Return how episodes ended, and what was earned by each term; nothing for a run that has not noted it.

        In self-play it is what the first agent earned: its opponent's mirrors it.
        """
        names = [key.removeprefix(f"rollout/{TERM}") for key in self._groups["terms"]]
        first = next(iter(self._returns_of.values()), "").removesuffix("return").strip()
        own = [name for name in names if RATING in self._curves and name.startswith(f"{first}/")]
        terms = tuple(self._series(f"rollout/{TERM}{name}", name.removeprefix(f"{first}/")) for name in own or names)
        stacks = (
            Stack("endings", tuple(self._endings()), whole=True),
            Stack(f"{first} rewards" if own else "rewards", terms),
        )
        return tuple(stack for stack in stacks if stack.parts)

    def _endings(self) -> Iterator[Series]:
        """Yield the share of each ending, in the colour of the agent that it is for, or of good and of bad ones."""
        hues = {tone: iter(colours) for tone, colours in HUES.items()}
        for key in self._groups["endings"]:
            name = key.removeprefix(f"rollout/{END}")
            colour = mix(PANEL, DIM, 0.7) if name == TIME_UP else self._colours.get(name.partition("/")[0])
            if colour is None:
                paid = self._series(f"rollout/{TERM}{name}", name).y
                tone = tone_of_ends((name,), float(np.nansum(paid[-1:])))
                colour = next(hues[tone], HUES[tone][-1])
            yield replace(self._series(key, name), colour=colour)

    def _others(self) -> tuple[tuple[Series, ...], ...]:
        """Return the small plots, the most telling first: narrow windows have room for some of them.

        Returns are each agent's own where there are several, or the return where the large plot shows the score.
        """
        returns = tuple(
            replace(self._series(key, name), colour=self._colours.get(name.removesuffix(" return")))
            for key, name in self._returns_of.items()
        )
        moved = [name for name in UPDATE if self._groups[name]]
        after = "loss" if len(self._groups["losses"]) > 1 else ""
        return (
            *((returns,) if returns else ()),
            (self._series("rollout/mean_length", "episode length"),),
            tuple(self._series(key, _name(key)) for key in self._groups["exploring"]) or (Series("entropy"),),
            *(tuple(self._series(key, _of(key, name)) for key in self._groups[name]) for name in moved),
            tuple(self._series(key, _name(key, after)) for key in self._groups["losses"]) or (Series("loss"),),
            (self._series("time/steps_per_second", "mean steps per second"),),
        )

    def _series(self, key: str, name: str) -> Series:
        """Return one number over the steps; rows without it are left out."""
        return self._curves[key].series(name) if key in self._curves else Series(name)


NO_POINTS: F64 = np.zeros((0, 3))


def _best(line: Series) -> tuple[float, float] | None:
    """Return the step and the number of the best point of a line, None where it has none."""
    if not np.isfinite(line.y).any():
        return None
    at = int(np.nanargmax(line.y))
    return float(line.x[at]), float(line.y[at])


@dataclass
class Curve:
    """One number over the steps, thinned out: of each group of neighbours the lowest and the highest stay."""

    thin: F64 = field(default_factory=lambda: NO_POINTS)
    """(points, 3) Steps, value and spread of the groups that are full."""
    rest: F64 = field(default_factory=lambda: NO_POINTS)
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

    def series(self, name: str, more: F64 = NO_POINTS) -> Series:
        """Return the curve as it is drawn, with `more` points that are not final yet at its end."""
        rest = self.rest
        if len(rest) > 4:
            newest = rest[-1:]
            rest = np.concatenate((_extremes(rest[:-1], len(rest) - 1), newest))
        x, y, spread = np.concatenate((self.thin, rest, more)).T
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


def _rows_now(path: Path) -> Iterator[Row]:
    """Return what a file of JSON lines holds at this moment, to be read row by row; none where there is no file."""
    try:
        return _rows(path, path.stat().st_size)
    except OSError:
        return iter(())


def _rows(path: Path, size: int) -> Iterator[Row]:
    """Yield the rows within the first `size` bytes, an empty one for a torn line or for what is no row."""
    try:
        with path.open("rb") as file:
            while (left := size - file.tell()) > 0 and (line := file.readline(min(left, LONGEST_ROW))):
                yield _decoded(line)
    except OSError:
        return


def _decoded(line: bytes) -> Row:
    try:
        row = msgspec.json.decode(line)
    except (ValueError, RecursionError):
        return {}
    return row if isinstance(row, dict) else {}


def _changes(row: Row) -> Iterator[tuple[float, str]]:
    """Yield the step and the words of each setting that a row says was changed."""
    for key, value in row.items():
        if key.startswith(CHANGE):
            name = key.removeprefix(CHANGE).removeprefix(WEIGHT).replace("_", " ")
            by = "x" if key.startswith(f"{CHANGE}{WEIGHT}") else ""
            yield _number(row.get("total_steps")), f"{name} {by}{_number(value):.3g}"


def _name(key: str, after: str = "") -> str:
    last = key.removeprefix("train/").replace("loss/", "").replace("/", " ")
    return f"{last} {after}".strip()


def _of(key: str, name: str) -> str:
    """Return what a number of an update is called, of several policies with the policy's name before it."""
    return f"{key.removeprefix('train/').rpartition('/')[0]} {name}".strip()


def _number(value: object) -> float:
    good = isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) <= sys.float_info.max
    return float(value) if good else math.nan  # type: ignore[arg-type]  # a file may hold numbers of 400 digits


def _numbers(values: Sequence[object]) -> F64:
    """Return a column of numbers, NaN for what is none."""
    if set(map(type, values)) <= {int, float, type(None)}:
        with suppress(OverflowError):  # of a number of 400 digits: then one by one
            return np.array(values, np.float64)
    return np.array([_number(value) for value in values])
