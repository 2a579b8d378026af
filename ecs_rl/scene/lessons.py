"""Lessons: numbers of the arena that start easy and go in steps to their full value as training gets good.

An arena plays each of its episodes at one step of every lesson, from which of its episodes on at which is a column,
`Since`. So what an episode was is a function of its number, and comes back with a saved world to the last bit. In a
world that nobody teaches (evaluations, pilots, the window's stage) every lesson has its full value.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from ecs_rl.arrays import F64, I64
from ecs_rl.ecs.component import column, component, live
from ecs_rl.ecs.context import Context
from ecs_rl.errors import SceneError, nearest
from ecs_rl.scene.chance import Spread
from ecs_rl.scene.checks import finite, not_negative, plain, quote, whole
from ecs_rl.scene.roles import Number

NEVER = np.iinfo(np.int64).max
"""The episode of a step that is not taken yet."""
TRIED = 3
"""Arenas for which a terrain or a path is tried before there is a world."""
Goal = float | Spread
"""An end of a lesson: a number, or a range from which each episode draws."""


@dataclass(frozen=True)
class Above:
    """What training must come to before a lesson goes one step further; `score_above` and its like make one."""

    of: str
    """`score`, `return` or `elo`."""
    level: float
    rise: float = 0.0
    """By how much more each further step asks for."""
    name: str = ""
    """Of the score; '' is the one that the Scene names."""

    def __post_init__(self) -> None:
        finite(f"the level of {self.of}_above", self.level)
        not_negative(f"the rise of {self.of}_above", self.rise)

    def __str__(self) -> str:
        rise = f", {self.rise:g} more each step" if self.rise else ""
        return f"{f'score {self.name}' if self.name else self.of} above {self.level:g}{rise}"


def score_above(level: float, name: str = "", *, rise: float = 0.0) -> Above:
    """Return that the mean of a score lies above a level: of the one that the Scene names, or of another by its name.

    Each further step asks for `rise` more.
    """
    return Above("score", level, rise, plain("a score", name) if name else "")


def return_above(level: float, *, rise: float = 0.0) -> Above:
    """Return that the mean return lies above a level; each further step asks for `rise` more."""
    return Above("return", level, rise)


def elo_above(level: float, *, rise: float = 0.0) -> Above:
    """Return that self-play's rating, which begins at 1200, lies above a level; each further step asks for `rise` more.

    With `--self-play` lessons go by this and by nothing else: results against oneself say nothing.
    """
    return Above("elo", level, rise)


@dataclass(frozen=True)
class Lesson:
    """What a number of the arena begins with, what it comes to, and when it goes on: see `Arena.lesson`."""

    name: str
    """What metrics, logs and windows call it."""
    easy: Goal
    """What training begins with: a number, or a range such as `jitter(0.5)`."""
    full: Goal
    """The task itself, which evaluations, pilots and `play.py` have from the first episode on."""
    when: Above | None = None
    """`score_above(0.7)`, `return_above(200)` or `elo_above(1300)`: asked of the newest training episodes."""
    steps: int = 6
    """In so many even steps it goes from `easy` to `full`."""
    episodes: int = 100
    """Whole episodes since the last step that count, the newest ones; never fewer than the training has arenas."""

    def __post_init__(self) -> None:
        what = f"lesson '{plain('a lesson', self.name)}'"
        for end in (self.easy, self.full):
            if not isinstance(end, Spread):
                finite(f"an end of {what}", end)
        if self.bounds(0) == self.bounds(1):
            raise SceneError(f"{what} goes from {quote(self.easy)} to {quote(self.full)}: its ends must differ")
        if not isinstance(self.when, Above):
            problem = "must say when it goes on" if self.when is None else f"cannot go on by {quote(self.when)}"
            raise SceneError(f"{what} {problem}: when=score_above(0.7), return_above(200) or elo_above(1300)")
        whole(f"the steps of {what}", self.steps, 1), whole(f"the episodes of {what}", self.episodes, 1)

    @property
    def draws(self) -> bool:
        """Whether each episode draws it from a range."""
        return isinstance(self.easy, Spread) or isinstance(self.full, Spread)

    def bounds(self, share: float) -> tuple[float, float]:
        """Return the lowest and the highest value at a share of the way from 0 to 1; of a plain number both are it."""
        ends = [(e.low, e.high) if isinstance(e, Spread) else (float(e), float(e)) for e in (self.easy, self.full)]
        (low, high), (low_end, high_end) = ends
        return low * (1.0 - share) + low_end * share, high * (1.0 - share) + high_end * share

    def describe(self, step: int) -> str:
        """Return the value at a step in words: `2.75`, or `-1 to 1`."""
        low, high = (bound + 0.0 for bound in self.bounds(step / self.steps))  # no -0
        return f"{low:.4g} to {high:.4g}" if self.draws else f"{low:.4g}"

    def facts(self) -> dict[str, Any]:
        """Return what `--check` tells of it."""
        easy, full = (self.describe(step) for step in (0, self.steps))
        return {"name": self.name, "easy": easy, "full": full, "steps": self.steps, "when": str(self.when)}


@component
class Since:
    """From which of its episodes on an arena plays each step of a lesson. Written between ticks by who teaches."""

    episode: I64 = column(dtype=np.int64, is_new=True)
    """(arenas, steps) NEVER for a step that is not taken yet; 0 everywhere is the full task from the first one on."""


class Taught(Number):
    """A lesson's number, as `arena.lesson` returns it: `gap.value` is (arenas,), the same all through an episode."""

    lesson: Lesson
    slot: int | None
    is_read: bool = False
    """Whether anything has asked for its value."""
    shaping: I64 | None = None
    """The arenas whose ground is being shaped, where that is at work: then the value is theirs alone."""
    table: F64
    """(steps + 1, 2) The lowest and the highest value at each step."""
    since: I64
    """(arenas, steps) See Since."""

    def __init__(self, lesson: Lesson, slot: int | None) -> None:
        super().__init__(lesson.name, None)
        self.lesson, self.slot = lesson, slot
        self.table = np.array([lesson.bounds(i / lesson.steps) for i in range(lesson.steps + 1)])

    @property
    def value(self) -> F64:
        """(arenas,) The number, which is the same all through an episode.

        In the rule of a terrain or a path it has a number for each arena whose ground is shaped, as the draws have.
        """
        self.is_read = True
        if self.shaping is None:
            return self.handle.value  # type: ignore[no-any-return]
        if not self.handle.__dict__:  # the rule is tried, and there is no world yet
            return np.full(TRIED, self.table[-1].mean())
        return np.asarray(self.handle.value[self.shaping])

    @value.setter
    def value(self, value: Any) -> None:
        raise SceneError(f"'{self.name}' is a lesson: it goes on as training gets good, and no system writes it")

    def create(self, world: Context) -> None:
        """Create what says when the arenas of a world play which step: the full task, until somebody teaches it."""
        self.since = np.zeros((world.arenas, self.lesson.steps), np.int64)
        world.create(f"@lesson/{self.name}", live(Since, episode=self.since))
        self._values: F64 = world.of(f"@number/{self.name}", self.kind).value

    def steps_at(self, rows: I64, episode: I64) -> I64:
        """Return how many steps were taken as these episodes of these arenas began, each (rows,)."""
        return np.asarray((self.since[rows] <= episode[:, None]).sum(axis=1))

    def begin(self, rows: I64, episode: I64, drawn: F64) -> None:
        """Set the value for these episodes, with (rows, draws) numbers in [0, 1)."""
        low, high = self.table[self.steps_at(rows, episode)].T
        self._values[rows] = low if self.slot is None else low + (high - low) * drawn[:, self.slot]


class Lessons:
    """What of an arena is about lessons; `Arena` is this too."""

    if TYPE_CHECKING:

        def _number(self, number: Taught) -> Taught:
            """See `Arena`."""

        def _draw(self, count: int) -> int:
            """See `Arena`."""

    @cached_property
    def lessons(self) -> list[Taught]:
        """Its lessons, in order."""
        return []

    def lesson(
        self,
        name: str | Lesson,
        easy: Goal | None = None,
        full: Goal | None = None,
        *,
        when: Above | None = None,
        steps: int = 6,
        episodes: int = 100,
    ) -> Taught:
        """Return a number that starts easy and goes in steps to its full value as training gets good.

        `gap = arena.lesson("gap", 3.0, 1.5, when=score_above(0.7))`, or of a `Lesson` made before: starts, terrains,
        paths and rules read `gap.value`. Ends that are ranges, as `jitter(0.0), jitter(5.0)`, are drawn from in each
        episode. An arena takes the next step over when its next episode begins. Evaluations always have the full value.
        """
        if isinstance(name, Lesson):
            if (easy, full, when) != (None, None, None):
                raise SceneError(f"lesson '{name.name}' says all itself: arena.lesson(...) takes nothing besides")
            lesson = name
        else:
            if easy is None or full is None:
                raise SceneError(
                    f"a lesson goes from an easy value to a full one: arena.lesson({name!r}, 3.0, 1.5, ...)"
                )
            lesson = Lesson(name, easy, full, when, steps, episodes)
        taught = Taught(lesson, self._draw(1) if lesson.draws else None)
        self._number(taught)
        self.lessons.append(taught)
        return taught

    def check_lessons(self, scores: Sequence[str], score: str) -> str:
        """Return what is wrong with the scores that lessons go by, '' if nothing is."""
        for lesson in (each.lesson for each in self.lessons):
            assert lesson.when is not None
            if lesson.when.of != "score":
                continue
            if not lesson.when.name and not score:
                return f"lesson '{lesson.name}' goes by the score, and Scene(score=...) names none: use return_above"
            if lesson.when.name and lesson.when.name not in scores:
                cure = nearest(lesson.when.name, scores) if scores else "add arena.score(name, rule)"
                return f"lesson '{lesson.name}' goes by a score '{lesson.when.name}' that is not there: {cure}"
        return ""

    def create_lessons(self, world: Context) -> None:
        """Create what lessons need in a world, where their numbers are already."""
        for taught in self.lessons:
            taught.create(world)

    def begin_lessons(self, rows: I64, episode: I64, drawn: F64) -> None:
        """Set every lesson's value for these episodes of these arenas."""
        for taught in self.lessons:
            taught.begin(rows, episode, drawn)

    def shaping(self, rows: I64) -> AbstractContextManager[None]:
        """Let lessons give the values of these arenas alone, as the rules of terrains and paths take them."""
        return self._shaping(rows)

    @contextmanager
    def _shaping(self, rows: I64) -> Iterator[None]:
        for taught in self.lessons:
            taught.shaping = rows
        try:
            yield
        finally:
            for taught in self.lessons:
                taught.shaping = None


def teach(lessons: Sequence[Taught], episode: int = NEVER) -> None:
    """Let arenas play every step from this episode on: none of them, or with 0 all."""
    for taught in lessons:
        taught.since[...] = episode


def unread(lessons: Sequence[Taught]) -> list[str]:
    """Return the names of the lessons whose value nothing has asked for."""
    return [taught.name for taught in lessons if not taught.is_read]
