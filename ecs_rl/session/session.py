"""The training session: receives transitions and episode ends from any loop, and knows when to save and stop."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from msgspec.structs import astuple
from numpy.typing import ArrayLike

from ecs_rl.agents.base import Agent
from ecs_rl.errors import DivergedError
from ecs_rl.records import SCORE, EpisodeRecord, EpisodeStatus, EvalReport, check_status
from ecs_rl.runs import TrainEpisode
from ecs_rl.session.checkpointer import Checkpointer, check_positive
from ecs_rl.session.decisions import Decisions
from ecs_rl.session.stats import StatsTracker
from ecs_rl.spaces import ActMode, Decision, Experience, Floats

if TYPE_CHECKING:
    from ecs_rl.agents.base import State

Extras = Mapping[str, Any]


class TrainingSession(Checkpointer):
    """One agent's training, driven by a world or by any loop of yours; nothing here knows about an ECS.

    A plain loop calls `act` and `observe`. The world calls `record`, `learn` (a slice at a time) and `save_checkpoint`,
    of which `observe` is made. One pending evaluation is gathered by `on_eval_episode` until `maybe_save_best`.
    """

    def __init__(self, agent: Agent) -> None:
        super().__init__(agent)
        self.max_steps: int | None = None
        """Steps after which the session is done, None if it goes on for ever."""
        self._score = ""
        self._schedule: int | None = None
        self._stats = StatsTracker.default()
        self._first_moment: float | None = None
        self._last_moment = 0.0
        self._start_extras: Extras = {}
        self._evaluated: list[EpisodeRecord] = []
        """Episodes of the pending evaluation, or of the last one, begun at this step with this seed."""
        self._evaluation_step = 0
        self._evaluation_seed: int | None = None
        self._is_pending = False
        self._closed = False
        self._decisions = Decisions()
        self._remembered: dict[ActMode, list[Floats | None]] = {}
        """What recurrent policies remember in a plain loop, by policy, in each mode by itself."""

    def with_max_steps(self, max_steps: int) -> Self:
        """Be done at this many steps in total, those before a resume included."""
        self.max_steps = check_positive("--steps", max_steps)
        return self

    def with_schedule(self, steps: int) -> Self:
        """Let schedules such as the learning rate's run over this many steps; without it over `max_steps`."""
        self._schedule = check_positive("--schedule-steps", steps)
        return self

    def with_score(self, name: str) -> Self:
        """Let evaluations go by the mean of the episodes' extra `score/<name>`; '' is the mean return."""
        self._score = name
        return self

    def with_stats(self, stats: StatsTracker) -> Self:
        """Gather these statistics instead of the default ones."""
        self._stats = stats
        return self

    @property
    def whole_steps(self) -> int | None:
        """The steps over which schedules run: those of `with_schedule`, else `max_steps`."""
        return self._schedule or self.max_steps

    @property
    def progress(self) -> float:
        """The share of the schedule that is done, 0 if there is neither `with_schedule` nor `with_max_steps`."""
        whole = self.whole_steps
        return min(1.0, self.total_steps / whole) if whole else 0.0

    @property
    def is_done(self) -> bool:
        """True once `max_steps` is reached."""
        return self.max_steps is not None and self.total_steps >= self.max_steps

    @property
    def steps_per_sec(self) -> float:
        """Steps per second from the first `act` or `record` of this session to the last `record`."""
        elapsed = self._last_moment - (self._first_moment or 0.0)
        return (self.total_steps - self._steps_before) / elapsed if elapsed > 0 else 0.0

    def leave_out(self, seconds: float) -> None:
        """Let a pause not count for `steps_per_sec`."""
        if self._first_moment is not None:
            self._first_moment += seconds

    def act(self, observation: Any, mode: ActMode = ActMode.EXPLORE) -> Any:
        """Return an action per row, or one unbatched action for one unbatched observation, as the pilot would act.

        Levers are clipped to -1 and 1; `observe` learns from what was drawn before that. An agent of several policies
        takes a tuple of batches and returns a tuple of actions.
        """
        self._start_clock()
        if isinstance(observation, tuple):
            state: Any = self._memory(mode, [len(part) for part in observation])
            decisions: Any = self.agent.act(observation, mode, *state)  # type: ignore[arg-type]
            return self._actions(observation, decisions, mode)
        rows, single = _observation_rows(observation)
        state = self._memory(mode, [len(rows)])
        decision = self.agent.act(rows, mode, *(each[0] for each in state))
        (action,) = self._actions((rows,), (decision,), mode)
        return action[0] if single else action

    def _actions(self, seen: Sequence[Floats], decisions: Sequence[Decision], mode: ActMode) -> tuple[Any, ...]:
        """Return the clipped action of each policy; keep what `observe` and the next `act` need of the decisions."""
        self._remember(mode, decisions)
        specs = getattr(self.agent, "specs", None) or (self.agent.spec,) * len(decisions)
        actions = tuple(spec.actions.clipped(decision.action) for spec, decision in zip(specs, decisions, strict=True))
        if mode is ActMode.EXPLORE:
            self._decisions.add(seen, decisions, actions)
        return actions

    def observe(self, experience: Any) -> None:
        """Take the transitions (or the single one) that followed `act`, learn if it is time to, and save when due."""
        several = experience if isinstance(experience, tuple) else (experience,)
        completed = self._decisions.completed(tuple(map(_experience_rows, several)))
        self.record(completed if isinstance(experience, tuple) else completed[0])
        for state, transition in zip(self._remembered.get(ActMode.EXPLORE, ()), several, strict=False):
            if state is not None:
                over = np.atleast_1d(transition.terminated) | np.atleast_1d(transition.truncated)
                state[over if transition.valid is None else over | ~np.atleast_1d(transition.valid)] = 0.0
        for _ in self.learn():
            pass
        self.keep_milestone()
        if self.is_due() or (self.is_done and self._saved_step < (self.max_steps or 0)):
            self.save_checkpoint()

    def record(self, experience: Any, steps: int | None = None) -> None:
        """Hand the transitions to the agent and count `steps`, the rows unless told."""
        self._start_clock()
        if isinstance(experience, Experience):
            experience = _experience_rows(experience)
            steps = len(experience.reward) if steps is None else steps
        elif steps is None:
            raise ValueError(f"cannot count the steps in a {type(experience).__name__}; pass steps=")
        if not self.total_steps:
            self.keep_milestone()
        self.agent.observe(experience)
        self.total_steps += steps
        self._last_moment = time.perf_counter()

    def count(self, steps: int) -> None:
        """Count steps of an agent that learns without acting."""
        self._start_clock()
        if not self.total_steps:
            self.keep_milestone()
        self.total_steps += steps
        self._last_moment = time.perf_counter()

    def learn(self) -> Iterator[None]:
        """Return the agent's update in slices, empty if it is not yet time for one."""
        return self.agent.learn(self.progress)

    def state(self) -> dict[str, Any]:
        """Return the session's own counters and statistics as JSON values."""
        return {
            "total_steps": self.total_steps,
            "total_episodes": self.total_episodes,
            "start_extras": dict(self._start_extras),
            "stats": self._stats.state(),
        }

    def restore(self, state: Mapping[str, Any], *, unfinished_steps: int = 0) -> None:
        """Go on from a state that was taken from a session like this.

        The last `unfinished_steps` are of a tick that was left before its end: what it makes due is still to be saved.
        """
        self.total_steps = self._steps_before = state["total_steps"]
        self._saved_step = self._kept_step = self.total_steps - unfinished_steps
        self.total_episodes = state["total_episodes"]
        # JSON has no NaN: it was written as null.
        self._start_extras = {name: math.nan if x is None else x for name, x in state["start_extras"].items()}
        self._stats.restore(state["stats"])

    def on_episode_start(self, extras: Extras | None = None) -> None:
        """Note what is known of an episode when it starts; `on_episode` adds it below the episode's other extras."""
        self._start_extras = dict(extras or {})

    def on_episode(
        self, total_reward: float, steps: int, status: EpisodeStatus | str, extras: Extras | None = None
    ) -> None:
        """Take in one finished training episode: statistics and log."""
        record = self._record_of(total_reward, steps, status, self._start_extras, extras)
        self._start_extras = {}
        self.take([record])

    def take(self, records: Sequence[EpisodeRecord], steps: int | None = None) -> None:
        """Take in training episodes that ended at one step, the present one unless said, as complete records."""
        steps = self.total_steps if steps is None else steps
        self.total_episodes += len(records)
        self._stats.update(*records)
        if self.run is not None:
            rows = [TrainEpisode(steps, *astuple(record)) for record in records]
            self.writes.later(partial(self.run.log_train_episodes, rows))

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
        self._remembered = {mode: kept for mode, kept in self._remembered.items() if mode is ActMode.EXPLORE}
        if not self._is_pending:
            self._is_pending, self._evaluated = True, []
            self._evaluation_step, self._evaluation_seed = self.total_steps, seed
        self._evaluated.append(record)
        if self.run is not None:
            row, at = (self.total_steps, *astuple(record)), self._evaluation_step
            self.writes.later(partial(self.run.log_eval_episode, *row, total_steps_at_eval=at, seed=seed))

    def eval_report(self) -> EvalReport | None:
        """Return the report on the pending evaluation, or on the last one; None before the first."""
        return EvalReport.of(self._evaluated, self._evaluation_step) if self._evaluated else None

    def evaluated(self) -> float | None:
        """Return what the pending evaluation, or the last one, goes by: the mean score or return; None before any."""
        report = self.eval_report()
        return None if report is None else report.result(self._score)

    def evaluated_spread(self) -> float:
        """Return how the episodes of the pending or last evaluation scatter: infinitely where there is only one."""
        results = [record.result(self._score) for record in self._evaluated]
        return float(np.std(results, ddof=1)) if len(results) > 1 else math.inf

    def trained(self) -> float:
        """Return the rolling mean of the training episodes' score or return, NaN before the first."""
        name = f"{SCORE}{self._score}" if self._score else "mean_return"
        return self.stats_summary().get(name, math.nan)

    def maybe_save_best(self, score: float | None = None, *, policy: State | None = None, newest: bool = False) -> bool:
        """End the pending evaluation; save `best` if it is better than the stored best, and return whether it is.

        Of equal scores the greater mean return is better, and of equal returns the later policy. The score is what
        `evaluated` says of the pending report unless given. Pass the `policy` that was evaluated if the agent has
        learned since: the agent's present one is saved otherwise. With `newest` it is the best whatever its score:
        where agents are opponents, their returns tie by construction.
        """
        report = self.eval_report() if self._is_pending else None
        if score is None:
            if report is None:
                raise ValueError("no evaluation to judge; call on_eval_episode first, or pass a score")
            score = report.result(self._score)
        self._is_pending = False
        return self._save_if_best(float(score), report, seed=self._evaluation_seed, policy=policy, newest=newest)

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
            self._finish(status)

    def _memory(self, mode: ActMode, rows: Sequence[int]) -> list[list[Floats | None]]:
        """Return the last argument of an `act` on so many rows: the states by policy; nothing where there are none."""
        states = self._remembered.get(mode)
        if states is None or any(state is not None and len(state) != n for state, n in zip(states, rows, strict=True)):
            return []
        return [states]

    def _remember(self, mode: ActMode, decisions: Sequence[Decision]) -> None:
        """Keep what recurrent policies remember for the next `act`; `observe` and the end of an evaluation reset it."""
        if any(each.state is not None for each in decisions):
            self._remembered[mode] = [None if each.state is None else each.state.copy() for each in decisions]

    def _start_clock(self) -> None:
        if self._first_moment is None:
            self._first_moment = time.perf_counter()

    def _record_of(
        self, total_reward: float, steps: int, status: EpisodeStatus | str, *extras: Extras | None
    ) -> EpisodeRecord:
        of_agent = getattr(self.agent, "episode_extras", dict)
        merged: dict[str, Any] = {}
        for part in (*extras, of_agent()):  # the environment's first, so that the agent's win
            merged |= part or {}
        return EpisodeRecord(float(total_reward), int(steps), check_status(status), merged)


def _observation_rows(observation: ArrayLike) -> tuple[Floats, bool]:
    """Return the observation as (rows, numbers), and whether it was a single one."""
    rows = np.asarray(observation, dtype=np.float32)
    return (rows.reshape(1, -1), True) if rows.ndim < 2 else (rows, False)


def _experience_rows(experience: Experience) -> Experience:
    """Return the experience itself if it has rows, a batch of one row made of it otherwise."""
    if np.ndim(experience.observation) >= 2:
        return experience
    return Experience(
        observation=_observation_rows(experience.observation)[0],
        action=np.asarray(experience.action)[None],
        reward=_one(experience.reward, np.float32),
        next_observation=_observation_rows(experience.next_observation)[0],
        terminated=_one(experience.terminated, np.bool_),
        truncated=_one(experience.truncated, np.bool_),
        valid=None if experience.valid is None else _one(experience.valid, np.bool_),
        extras=experience.extras,
    )


def _one(value: Any, dtype: type[np.generic]) -> Any:
    return np.asarray(value, dtype=dtype).reshape(1)
