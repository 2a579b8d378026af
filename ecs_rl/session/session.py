"""The training session: receives transitions and episode ends from any loop, and knows when to save and stop."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from ecs_rl.agents.base import ActMode, Agent, Experience
from ecs_rl.errors import CommandError, DivergedError
from ecs_rl.runs import TrainEpisode, TrainingRun
from ecs_rl.session.batch import experience_rows, observation_rows
from ecs_rl.session.checkpointer import Checkpointer, Surroundings, check_positive
from ecs_rl.session.evaluation import PendingEvaluation
from ecs_rl.session.records import EpisodeRecord, EpisodeStatus, EvalReport, check_status
from ecs_rl.session.stats import StatsTracker

if TYPE_CHECKING:
    from ecs_rl.agents.base import State
    from ecs_rl.runs import Manifest

Extras = Mapping[str, Any]


class TrainingSession:
    """One agent's training, driven by a world or by any loop of yours; nothing here knows about an ECS.

    A plain loop calls `act` and `observe`. The world calls `record`, `learn` (a slice at a time) and `save_if_due`,
    of which `observe` is made. One pending evaluation is gathered by `on_eval_episode` until `maybe_save_best`.
    """

    def __init__(self, agent: Agent) -> None:
        self._agent = agent
        self._checkpointer = Checkpointer(agent)
        self._stats = StatsTracker.default()
        self._max_steps: int | None = None
        self._schedule: int | None = None
        self._total_steps = 0
        self._total_episodes = 0
        self._steps_before = 0
        self._first_moment: float | None = None
        self._last_moment = 0.0
        self._start_extras: Extras = {}
        self._evaluation = PendingEvaluation()
        self._closed = False
        self._decided: tuple[Extras, ...] = ()
        """What the last exploring `act` of a plain loop added for the learner, by policy."""

    def with_run(self, run: TrainingRun) -> Self:
        """Write to this run, and count on from where it is."""
        self._checkpointer.attach(run)
        self._total_steps = self._steps_before = run.metadata.total_steps
        self._total_episodes = run.metadata.total_episodes
        return self

    def with_max_steps(self, max_steps: int) -> Self:
        """Be done at this many steps in total, those before a resume included."""
        self._max_steps = check_positive("--steps", max_steps)
        return self

    def with_schedule(self, steps: int) -> Self:
        """Let schedules such as the learning rate's run over this many steps; without it over `max_steps`."""
        self._schedule = check_positive("--schedule-steps", steps)
        return self

    def with_checkpoint_every(self, steps: int) -> Self:
        """Save on the first tick at or past each multiple of `steps`; without it only at the end."""
        self._checkpointer.every = check_positive("--checkpoint-every", steps)
        return self

    def with_keep_checkpoints(self, keep: int) -> Self:
        """Keep the newest `keep` step checkpoints (3 unless told); best and latest always stay."""
        if keep < 0:
            raise CommandError(f"--keep is {keep}; use 0 or more")
        self._checkpointer.keep = keep
        return self

    def with_surroundings(self, surroundings: Surroundings) -> Self:
        """Save this with every checkpoint too: what lies around the agent, such as a world in mid-episode."""
        self._checkpointer.surroundings = surroundings
        return self

    def with_stats(self, stats: StatsTracker) -> Self:
        """Gather these statistics instead of the default ones."""
        self._stats = stats
        return self

    @property
    def agent(self) -> Agent:
        """The agent that is trained."""
        return self._agent

    @property
    def run(self) -> TrainingRun | None:
        """The run that is written, if any."""
        return self._checkpointer.run

    @property
    def total_steps(self) -> int:
        """Decisions so far, those before a resume included."""
        return self._total_steps

    @property
    def total_episodes(self) -> int:
        """Training episodes so far, those before a resume included."""
        return self._total_episodes

    @property
    def best_eval(self) -> float | None:
        """The best evaluation's score, None before the first."""
        return self._checkpointer.best_eval

    @property
    def best_step(self) -> int | None:
        """The step of the policy that earned `best_eval`."""
        return self._checkpointer.best_step

    @property
    def max_steps(self) -> int | None:
        """Steps after which the session is done, None if it goes on for ever."""
        return self._max_steps

    @property
    def keep_checkpoints(self) -> int:
        """How many periodic checkpoints stay."""
        return self._checkpointer.keep

    @property
    def progress(self) -> float:
        """The share of the schedule that is done, 0 if there is neither `with_schedule` nor `with_max_steps`."""
        whole = self._schedule or self._max_steps
        return min(1.0, self._total_steps / whole) if whole else 0.0

    @property
    def is_done(self) -> bool:
        """True once `max_steps` is reached."""
        return self._max_steps is not None and self._total_steps >= self._max_steps

    @property
    def steps_per_sec(self) -> float:
        """Steps per second from the first `act` or `record` of this session to the last `record`."""
        elapsed = self._last_moment - (self._first_moment or 0.0)
        return (self._total_steps - self._steps_before) / elapsed if elapsed > 0 else 0.0

    def leave_out(self, seconds: float) -> None:
        """Let a pause not count for `steps_per_sec`."""
        if self._first_moment is not None:
            self._first_moment += seconds

    def act(self, observation: Any, mode: ActMode = ActMode.EXPLORE) -> Any:
        """Return an action per row, or one unbatched action for one unbatched observation; tuples go through as is."""
        self._start_clock()
        if isinstance(observation, tuple):  # an agent of several policies
            told: Any = self._agent.act(observation, mode)  # type: ignore[arg-type]
            self._decided = tuple(each.extras for each in told) if mode is ActMode.EXPLORE else self._decided
            return tuple(each.action for each in told)
        rows, single = observation_rows(observation)
        decision = self._agent.act(rows, mode)
        if mode is ActMode.EXPLORE:
            self._decided = (decision.extras,)
        return decision.action[0] if single else decision.action

    def observe(self, experience: Any) -> None:
        """Take the transitions (or the single one) that followed `act`, learn if it is time to, and save when due."""
        several = experience if isinstance(experience, tuple) else (experience,)
        told = tuple(
            replace(each, extras=extras) if extras and not each.extras else each
            for each, extras in zip(several, self._decided or ({},) * len(several), strict=True)
        )
        self.record(told if isinstance(experience, tuple) else told[0])
        for _ in self.learn():
            pass
        self.save_if_due()

    def record(self, experience: Any, steps: int | None = None) -> None:
        """Hand the transitions to the agent and count `steps`, the rows unless told."""
        self._start_clock()
        if isinstance(experience, Experience):
            experience = experience_rows(experience)
            steps = len(experience.reward) if steps is None else steps
        elif steps is None:
            raise ValueError(f"cannot count the steps in a {type(experience).__name__}; pass steps=")
        self._agent.observe(experience)
        self._total_steps += steps
        self._last_moment = time.perf_counter()

    def learn(self) -> Iterator[None]:
        """Return the agent's update in slices, empty if it is not yet time for one."""
        return self._agent.learn(self.progress)

    def save_if_due(self) -> bool:
        """Save if a multiple of `checkpoint_every` was reached since the last save, or all is done; tell whether."""
        done = self._max_steps is not None and self._checkpointer.saved_step < self._max_steps <= self._total_steps
        due = self.is_due() or done
        if due:
            self.save_checkpoint()
        return due

    def save_if_behind(self) -> None:
        """Save if anything happened since the last save, unless the disk has refused a write before."""
        if self._checkpointer.is_behind(self._total_steps):
            self.save_checkpoint()

    def save_checkpoint(self) -> Path | None:
        """Save now, whatever the milestones; return the file, None without a run."""
        return self._checkpointer.save(self._total_steps, self._total_episodes, self.state())

    def is_due(self) -> bool:
        """Tell whether a multiple of `checkpoint_every` was reached since the last save."""
        return self._checkpointer.is_due(self._total_steps)

    def state(self) -> dict[str, Any]:
        """Return the session's own counters and statistics as JSON values."""
        return {
            "total_steps": self._total_steps,
            "total_episodes": self._total_episodes,
            "start_extras": dict(self._start_extras),
            "stats": self._stats.state(),
        }

    def restore(self, state: Mapping[str, Any], *, unfinished_steps: int = 0) -> None:
        """Go on from a state that was taken from a session like this.

        The last `unfinished_steps` are of a tick that was left before its end: what it makes due is still to be saved.
        """
        self._total_steps = self._steps_before = state["total_steps"]
        self._checkpointer.saved_step = self._total_steps - unfinished_steps
        self._total_episodes = state["total_episodes"]
        # JSON has no NaN: it was written as null.
        self._start_extras = {name: math.nan if x is None else x for name, x in state["start_extras"].items()}
        self._stats.restore(state["stats"])

    def return_to_best_of(self, manifest: Manifest) -> None:
        """Bring back the best that a checkpoint knew, if a better one was earned at its very step after it."""
        if self._checkpointer.return_to_best_of(manifest):
            self._checkpointer.update_metadata(self._total_steps, self._total_episodes)

    def save_policy(self) -> None:
        """Save the policy alone as `latest`: what a training that broke leaves behind."""
        self._checkpointer.save_policy(self._total_steps, self._total_episodes)

    def on_episode_start(self, extras: Extras | None = None) -> None:
        """Note what is known of an episode when it starts; `on_episode` adds it below the episode's other extras."""
        self._start_extras = dict(extras or {})

    def on_episode(
        self, total_reward: float, steps: int, status: EpisodeStatus | str, extras: Extras | None = None
    ) -> None:
        """Take in one finished training episode: statistics and log."""
        record = self._record_of(total_reward, steps, status, extras, self._start_extras)
        self._start_extras = {}
        self.take([record])

    def on_episodes(
        self,
        total_rewards: Sequence[float],
        steps: Sequence[int],
        statuses: Sequence[EpisodeStatus | str],
        extras: Sequence[Extras | None] | None = None,
    ) -> None:
        """Take in all training episodes that ended in one tick, in order."""
        each = extras if extras is not None else (None,) * len(total_rewards)
        self.take([self._record_of(*row) for row in zip(total_rewards, steps, statuses, each, strict=True)])

    def on_eval_episode(
        self,
        total_reward: float,
        steps: int,
        status: EpisodeStatus | str,
        extras: Extras | None = None,
        seed: int | None = None,
    ) -> None:
        """Take in one evaluation episode; the first one after `maybe_save_best` begins a new report."""
        record = self._record_of(total_reward, steps, status, extras)
        self._evaluation.add(record, seed, self._total_steps)
        if self.run is not None:
            at = self._evaluation.step
            self.run.log_eval_episode(self._total_steps, *_columns(record), total_steps_at_eval=at, seed=seed)

    def eval_report(self) -> EvalReport | None:
        """Return the report on the pending evaluation, or on the last one; None before the first."""
        return self._evaluation.report()

    def maybe_save_best(self, score: float | None = None, *, policy: State | None = None, newest: bool = False) -> bool:
        """End the pending evaluation; save `best` if it is strictly better than the stored best, and tell whether.

        The score is the pending report's mean unless given. Pass the `policy` that was evaluated if the agent
        has learned since: the agent's present one is saved otherwise. With `newest` it is the best whatever its score:
        where agents are opponents, their scores tie by construction.
        """
        settings = self._evaluation.settings()
        report = self.eval_report() if settings else None
        if score is None:
            if report is None:
                raise ValueError("no evaluation to judge; call on_eval_episode first, or pass a score")
            score = report.mean_return
        self._evaluation.end()
        return self._checkpointer.save_if_best(
            float(score),
            settings,
            policy=policy,
            newest=newest,
            policy_step=self._total_steps if policy is None or report is None else report.total_steps_at_eval,
            total_steps=self._total_steps,
            total_episodes=self._total_episodes,
        )

    def stats_summary(self) -> dict[str, float]:
        """Return every statistic by name, NaN where there was no value yet."""
        return self._stats.summary()

    def close(self, status: str | None = None) -> None:
        """Save once more if anything happened since the last save, and close the run; a second call does nothing.

        The status is `finished` if the steps are done, `interrupted` otherwise, unless told.
        """
        if self._closed:
            return
        self._closed = True
        status = status or ("finished" if self.is_done else "interrupted")
        try:
            # What broke in the middle of a tick is no place to go on from: the checkpoints from before stay.
            if status not in ("diverged", "failed"):
                self.save_if_behind()
        except DivergedError:
            status = "diverged"
            raise
        finally:
            self._checkpointer.finish(self._total_steps, self._total_episodes, status)

    def _start_clock(self) -> None:
        if self._first_moment is None:
            self._first_moment = time.perf_counter()

    def _record_of(
        self,
        total_reward: float,
        steps: int,
        status: EpisodeStatus | str,
        extras: Extras | None,
        start_extras: Extras | None = None,
    ) -> EpisodeRecord:
        of_agent = getattr(self._agent, "episode_extras", None)
        # The environment's first, so that the agent's win.
        merged = {**(start_extras or {}), **(extras or {}), **(of_agent() if of_agent else {})}
        return EpisodeRecord(float(total_reward), int(steps), check_status(status), merged)

    def take(self, records: Sequence[EpisodeRecord]) -> None:
        """Take in all training episodes that ended in one tick, as records that are complete already."""
        self._total_episodes += len(records)
        self._stats.update_many(records)
        if self.run is not None:
            self.run.log_train_episodes([TrainEpisode(self._total_steps, *_columns(record)) for record in records])


def _columns(record: EpisodeRecord) -> tuple[float, int, Any, Extras]:
    return record.total_reward, record.length, record.status, record.extras
