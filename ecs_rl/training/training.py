"""A training: its world, agents, session and evaluations. Whoever runs it ticks until it is done."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from time import perf_counter
from typing import TYPE_CHECKING, Any, Protocol, Self

from ecs_rl.agents.base import Agent, LearnsOffline
from ecs_rl.errors import EcsRlError
from ecs_rl.records import ELO, END, OF_AGENT, SCORE, TERM, TIME_UP
from ecs_rl.runs.rows import CHANGE, Change
from ecs_rl.session import EndedBy, Extra, Last, RollingMean, StatsTracker, TrainingSession
from ecs_rl.session.diagnosis import Finding
from ecs_rl.training.curriculum import Curriculum
from ecs_rl.training.evaluator import Evaluator
from ecs_rl.training.exact_resume import surroundings
from ecs_rl.training.live_settings import LiveSettings
from ecs_rl.training.matches import Match
from ecs_rl.training.settings import TrainingSettings
from ecs_rl.training.together import Together
from ecs_rl.training_stages.evaluate import Evaluate
from ecs_rl.training_stages.film import Film
from ecs_rl.training_stages.learn import Learn
from ecs_rl.training_stages.resources import Evaluation, Films, MetricsSchedule
from ecs_rl.training_stages.write import Write
from ecs_rl.world import World

if TYPE_CHECKING:
    from pathlib import Path

    from ecs_rl.runs import TrainingRun


class FilmRecorder(Protocol):
    """Films a training. The viewer has one; a training does without pictures."""

    @property
    def every(self) -> int:
        """Steps between two clips."""
        ...

    def milestones(self, steps: int) -> tuple[int, ...]:
        """Return the steps of the clips that make the film of a whole training."""
        ...

    def shoot(self, training: Training, run: Path, steps: int) -> Iterator[None]:
        """Film the policy of this step, in slices."""
        ...

    def join(self, run: Path, milestones: Sequence[int]) -> Iterator[None]:
        """Join the clips of these steps to one film, in slices."""
        ...


@dataclass
class Training:
    """All that a training is made of: whoever runs it ticks until it is `done`."""

    settings: TrainingSettings
    world: World
    session: TrainingSession
    agents: dict[str, Agent]
    evaluation: Evaluation
    metrics_schedule: MetricsSchedule
    evaluator: Evaluator
    lessons: Curriculum
    """The steps that the training has taken in the lessons of its scene."""
    match: Match | None = None
    """The games of self-play."""
    films: Films | None = None
    filming: FilmRecorder | None = None
    stop: str = ""
    """Why to stop as soon as it can be saved; empty goes on."""
    together: Together | None = None
    """The share of this process where several train together, None for one alone."""
    reloads: bool = False
    """It stops only to go on with its scene as the file is now."""
    again: bool = False
    """Somebody wants another training of its scene after it, with the next seed."""
    left_at: str = ""
    """The stage at which the present tick was left and will be taken up again; empty between whole ticks."""
    seconds: float = field(default=0.0, init=False)
    """From the first tick to the last, evaluation and writing included."""
    _finished: bool = field(default=False, init=False)
    live: LiveSettings = field(init=False)
    """What may change between two ticks."""

    def __post_init__(self) -> None:
        """Begin statistics, self-play and lessons, and join the other processes."""
        self.session.with_stats(stats_of(self.world, rated=self.match is not None))
        if self.match is not None:
            self.match.begin(self.world)
        self.lessons.begin(self.world, self_play=self.match is not None)
        self.live = LiveSettings(self.agents, self.world)
        if self.together is not None:
            self.together.join(self)

    def write_to(self, run: TrainingRun) -> Self:
        """Write this training to a run from now on, and return it."""
        self.session.with_run(run).with_surroundings(partial(surroundings, self))
        self.world.snapshot()
        return self

    def tick(self) -> None:
        """Run one tick, or the rest of one that was left; a `stop` can leave it too."""
        for _ in self.slices():
            pass

    def slices(self) -> Iterator[None]:
        """Do the same in slices: between two of them a window may draw, and other worlds may run.

        Once there is a `stop`, a tick in the middle of an update or an evaluation is left there: the agent knows where
        its update stands, the evaluation is held again from its beginning, and a resumed run begins with the rest.
        """
        if not self.metrics_schedule.began:
            self.metrics_schedule.began = perf_counter()
        first, self.left_at = self.left_at, ""
        for change in () if first else self.live.due(self.session.total_steps):
            self._change(change)
        if not first:
            if self.together is None:
                self.lessons.advance(self.lessons.due)
            if self.is_offline:
                self._study()
                first = "learn"  # the stages before it play, and nothing happens in the arenas
        for name in self.world.slices(first):
            leaves = self.stop and not self.reloads and self.together is None
            if leaves and self.world.stages[name].can_leave:
                self.left_at = name
                break
            yield
        self.seconds = perf_counter() - self.metrics_schedule.began
        if self.together is not None:
            yield from self.together.do_what_was_asked()

    @property
    def is_offline(self) -> bool:
        """Whether it learns from recorded data, and nothing happens in its arenas."""
        return self.settings.offline is not None or bool(self.settings.minari)

    def _study(self) -> None:
        """Let the agents that have data take as many gradient steps in this tick as there are arenas."""
        steps = self.settings.arenas
        self.session.count(steps)
        for agent in self.agents.values():
            if isinstance(agent, LearnsOffline):
                agent.study(steps)

    def change(self, name: str, value: float) -> None:
        """Change a setting, between two ticks only, and note it among the metrics; CommandError if it cannot be so.

        A training with the same changes at the same steps comes to the same bits.
        """
        self._change(Change(self.session.total_steps, name, value))

    def _change(self, change: Change) -> None:
        self.live.set(change.name, change.value)
        schedule, session, row = self.metrics_schedule, self.session, {f"{CHANGE}{change.name}": change.value}
        if session.run is not None:
            seconds = perf_counter() - schedule.began if schedule.began else 0.0
            session.writes.later(partial(session.run.log_metrics, session.total_steps, seconds, row))
            session.writes.do(session.run.flush)  # who goes on from an earlier checkpoint changes it again
        if schedule.fresh is not None:
            schedule.fresh.append({"total_steps": session.total_steps, **row})

    @property
    def updates(self) -> int:
        """The updates of the policy since this process began."""
        learn = self.world.stages["learn"]
        assert isinstance(learn, Learn)
        return learn.updates

    @property
    def solved(self) -> bool:
        """Whether an evaluation has reached the scene's `solved_at`."""
        return self.evaluation.solved_step is not None

    @property
    def solved_as_asked(self) -> bool:
        """Whether it is to stop once it is solved, and is."""
        return self.settings.until_solved and self.solved

    @property
    def done(self) -> bool:
        """Whether there is nothing more to do."""
        if self.together is not None:  # all processes at the same tick
            return self.together.stops or self.session.is_done or self.on_plateau or self.solved_as_asked
        if self.stop or self.left_at:
            return bool(self.stop)
        return self.complete or self.solved_as_asked

    def diagnose(self, row: Mapping[str, Any]) -> None:
        """Let the diagnosis look at a row of metrics that is there already."""
        if self.metrics_schedule.diagnosis is not None:
            self.metrics_schedule.diagnosis.add(row)

    @property
    def finding(self) -> Finding | None:
        """What the diagnosis says is wrong right now."""
        diagnosis = self.metrics_schedule.diagnosis
        return None if diagnosis is None else diagnosis.finding

    @property
    def complete(self) -> bool:
        """Whether there was enough of it: its steps, its minutes, or evaluations that bring nothing better."""
        return self.session.is_done or self.out_of_time or self.on_plateau

    @property
    def out_of_time(self) -> bool:
        """Whether the minutes that it may take are over."""
        return 0 < 60 * self.settings.minutes <= self.seconds

    @property
    def on_plateau(self) -> bool:
        """Whether none of the newest `plateau` evaluations was better than all before."""
        return 0 < self.settings.plateau <= self.evaluation.trend.since_best

    @property
    def status(self) -> str:
        """`solved`, `finished` or `interrupted`: what the present state would be called."""
        if self.solved_as_asked:
            return "solved"
        whole = not self.left_at and self.evaluation.taken_at == self.session.total_steps
        return "finished" if whole and self.complete else "interrupted"

    @property
    def steps_total(self) -> int:
        """Steps after which the training is done."""
        return self.session.max_steps or 0

    def seconds_left(self, steps_per_second: float) -> float:
        """Return how long it takes at most at this speed, its minutes considered."""
        steps = max(0, self.steps_total - self.session.total_steps) / steps_per_second
        return min(steps, max(0.0, 60 * self.settings.minutes - self.seconds)) if self.settings.minutes else steps

    def leave_out(self, seconds: float) -> None:
        """Let a pause not count as training."""
        if self.metrics_schedule.began:
            self.metrics_schedule.began += seconds
            self.session.leave_out(seconds)

    def evaluate(self) -> Iterator[None]:
        """Hold an evaluation now, in slices; between two ticks only, and not twice at the same step.

        One that is still playing its episodes when there is a `stop` is dropped.
        """
        evaluate = self.world.stages["evaluate"]
        assert isinstance(evaluate, Evaluate)
        if self.session.total_steps <= self.evaluation.taken_at:
            return
        for _ in evaluate.timed(evaluate.hold()):
            if self.stop and evaluate.can_leave and self.together is None:
                return
            yield

    def finishing(self, status: str | None = None) -> Iterator[None]:
        """Save what there is, once, in slices; a training that came to a good end is evaluated and filmed once more."""
        if self._finished:
            return
        self._finished = True
        try:
            if status not in ("diverged", "failed"):
                self.session.save_if_behind()  # first: whatever comes after it, nothing is lost
                yield from self.session.written()
                yield from self._evaluate_at_the_end()
                yield from self._film_the_end()
                yield from self.session.written()
        finally:
            self.session.close(status or self.status)

    def _evaluate_at_the_end(self) -> Iterator[None]:
        """Hold the evaluation with which a run ends when there was enough of it.

        A longer run does not have it. It comes after the last checkpoint, so that whoever goes on from that takes its
        rows back, and the `best` that it may have brought too.
        """
        write, steps = self.world.stages["write"], self.session.total_steps
        assert isinstance(write, Write)
        if self.left_at or not self.complete or self.evaluation.taken_at == steps:
            return
        yield from self.evaluate()
        if self.evaluation.taken_at == steps:
            write.log_row(evaluated=True)
        self.seconds = perf_counter() - self.metrics_schedule.began

    def film(self, steps: int) -> Iterator[None]:
        """Film the policy of this step, in slices."""
        if self.filming is not None and self.session.run is not None:
            yield from self.filming.shoot(self, self.session.run.path, steps)

    def _film_the_end(self) -> Iterator[None]:
        """Film the policy at the end of its training, and join the clips of the milestones, in slices.

        Nothing happens where nothing is filmed, and no second clip is shot when it is called again.
        """
        run, films = self.session.run, self.films
        if films is None or self.filming is None or run is None or not self.session.total_steps:
            return
        stage = self.world.stages["film"]
        assert isinstance(stage, Film)
        yield from stage.shoot()
        try:
            if not films.problem:
                yield from self.filming.join(run.path, films.milestones)
        except EcsRlError as error:
            films.problem = str(error)

    def close(self, status: str | None = None) -> None:
        """Save what there is and give everything back."""
        try:
            for _ in self.finishing(status):
                pass
        finally:
            self.evaluator.close()
            self.world.close()


def stats_of(world: World, *, rated: bool = False) -> StatsTracker:
    """Return the usual statistics, and of the last 100 episodes scores, shares of endings and means of reward terms.

    Where there are several agents each one's own return is among them, and with `rated` self-play's Elo.
    """
    stats, agents = StatsTracker.default(), world.arena.agents
    names = [f"{OF_AGENT}{agent.name}" for agent in agents] if len(agents) > 1 else []
    for name in (*names, *(f"{SCORE}{score}" for score in world.arena.scores)):
        stats.with_stat(name, Extra(name), RollingMean(100))
    for name in world.reasons:
        stats.with_stat(f"{END}{name}", EndedBy(name), RollingMean(100))
    if TIME_UP not in world.reasons:
        stats.with_stat(f"{END}{TIME_UP}", EndedBy(), RollingMean(100))
    for name in world.terms:
        stats.with_stat(f"{TERM}{name}", Extra(name), RollingMean(100))
    return stats.with_stat(ELO, Extra(ELO), Last()) if rated else stats
