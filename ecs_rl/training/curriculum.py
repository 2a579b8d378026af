"""How far a training is in its scene's lessons, and what it goes by to take the next step of one.

Decided between two ticks, from the whole episodes of training since the last step of any lesson: the same everywhere,
whatever the clock, the window or the number of processes.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any

from ecs_rl.components import Clock
from ecs_rl.errors import CheckpointError, CommandError
from ecs_rl.records import ELO, LESSON, LESSON_STEP
from ecs_rl.runs.manifest import LessonFacts
from ecs_rl.scene.lessons import NEVER, Lesson, Taught, teach
from ecs_rl.session import EpisodeRecord
from ecs_rl.world import World


class Curriculum:
    """Lets the arenas of a training begin with the easy end of every lesson, and go on as training gets good."""

    def __init__(self) -> None:
        self.parts: list[LessonProgress] = []
        self._score = ""

    def begin(self, world: World, *, self_play: bool) -> None:
        """Begin all episodes of the world anew where it has lessons; CommandError for one that can never go on."""
        self._score, self._clock = world.scene.score, world.one(Clock)
        self.parts = [LessonProgress(taught, world.everywhere) for taught in world.arena.lessons]
        if not self.parts:
            return
        for part in self.parts:
            _check(part.lesson, self_play=self_play)
        teach(world.arena.lessons)
        world.start_over()

    def take(self, records: Sequence[EpisodeRecord]) -> None:
        """Add the results of episodes that ended in a tick; those that began before the last step do not count."""
        for record in records:
            if all(record.extras.get(f"{LESSON_STEP}{part.lesson.name}") == part.step for part in self.parts):
                for part in self.parts:
                    part.take(_result(part.lesson, record, self._score))

    @property
    def due(self) -> list[int]:
        """The numbers of the lessons whose next step is due."""
        return [number for number, part in enumerate(self.parts) if part.is_due]

    def advance(self, due: Sequence[int]) -> None:
        """Take the next step of these lessons: each arena plays it from its next episode on."""
        for part in [self.parts[number] for number in due]:
            part.taught.since[:, part.step] = self._clock.episode + 1
            part.step += 1
        for part in self.parts if due else ():
            part.results.clear()

    def metrics(self) -> dict[str, float]:
        """Return the present value and step of each lesson, as a row of metrics names them."""
        row: dict[str, float] = {}
        for part in self.parts:
            name, (low, high) = part.lesson.name, part.taught.table[part.step].tolist()
            row |= (
                {f"{LESSON}{name}/low": low, f"{LESSON}{name}/high": high}
                if part.lesson.draws
                else {f"{LESSON}{name}": low}
            )
            row[f"{LESSON_STEP}{name}"] = float(part.step)
        return row

    def __str__(self) -> str:
        return ", ".join(map(str, self.parts))

    def summary(self) -> dict[str, dict[str, Any]]:
        """Return where each lesson stands, for `--json`: a range as its lowest and highest value."""
        summary = {}
        for part in self.parts:
            bounds = part.taught.table[part.step].tolist()
            value = bounds if part.lesson.draws else bounds[0]
            summary[part.lesson.name] = {"value": value, "step": part.step, "steps": part.lesson.steps}
        return summary

    # --- going on with a saved training -----------------------------------------------------------------------------

    def facts(self) -> dict[str, Any]:
        """Return what a checkpoint tells besides columns."""
        return {part.lesson.name: {"step": part.step, "results": list(part.results)} for part in self.parts}

    def restore(self, facts: Mapping[str, LessonFacts]) -> None:
        """Go on from a checkpoint whose world is back already; a lesson that it does not know begins with its easy end.

        CheckpointError where it tells another step than the world.
        """
        for part in self.parts:
            saved = facts.get(part.lesson.name, LessonFacts())
            taken = (part.taught.since != NEVER).sum(axis=1)
            if not (taken == saved.step).all():
                raise CheckpointError(
                    f"the saved lesson '{part.lesson.name}' stands at step {saved.step}, and its arenas elsewhere: "
                    "use another checkpoint"
                )
            part.step = saved.step
            part.results.clear()
            part.results.extend(saved.results)


class LessonProgress:
    """One lesson, and the results since the last step."""

    def __init__(self, taught: Taught, arenas: int) -> None:
        self.taught, self.lesson, self.step = taught, taught.lesson, 0
        self.results: deque[float] = deque(maxlen=max(self.lesson.episodes, arenas))
        """The newest; as many as there are arenas at least, or those that end soon would decide alone."""

    def take(self, result: float) -> None:
        """Take in what an episode came to; NaN where it does not count."""
        if math.isfinite(result):
            self.results.append(result)

    @property
    def is_due(self) -> bool:
        """Whether the next step is to be taken."""
        when = self.lesson.when
        if self.step == self.lesson.steps or len(self.results) < (self.results.maxlen or 0) or when is None:
            return False
        return math.fsum(self.results) / len(self.results) > when.level + when.rise * self.step

    def __str__(self) -> str:
        return f"{self.lesson.name} {self.lesson.describe(self.step)} ({self.step}/{self.lesson.steps})"


def _result(lesson: Lesson, record: EpisodeRecord, score: str) -> float:
    """Return what an episode came to for a lesson, NaN where it tells nothing."""
    when = lesson.when
    assert when is not None
    if when.of == "elo":
        return record.extras.get(ELO, math.nan)
    return record.result(when.name or score) if when.of == "score" else record.total_reward


def _check(lesson: Lesson, *, self_play: bool) -> None:
    assert lesson.when is not None
    by_elo = lesson.when.of == "elo"
    if by_elo and not self_play:
        message = "goes on by Elo, which only --self-play has"
        raise CommandError(f"lesson '{lesson.name}' {message}: add --self-play, or take score_above or return_above")
    if self_play and not by_elo:
        message = f"goes on by {lesson.when}, and results against oneself say nothing"
        raise CommandError(f"--self-play: lesson '{lesson.name}' {message}: take elo_above, or leave --self-play out")
