"""What a session saves and when: checkpoints, milestones, the best evaluation, and the manifest of each file."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import is_dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import msgspec

from ecs_rl.agents.base import Agent
from ecs_rl.errors import CheckpointError, CommandError, DivergedError
from ecs_rl.milestones import mark_after
from ecs_rl.records import EvalReport
from ecs_rl.runs import EvalSettings, Manifest, PolicyEntry, TrainingRun, join_sections, read_manifest
from ecs_rl.runs.write_queue import WriteQueue
from ecs_rl.session.trend import is_less
from ecs_rl.spaces import PolicySpec

if TYPE_CHECKING:
    from ecs_rl.agents.base import State

Surroundings = Callable[[], tuple[Mapping[str, "State"], Mapping[str, Any]]]
"""Returns what lies around the agent and must be saved with it: tensors by section, and facts as JSON values."""
LOOK_AGAIN = 0.004
"""Seconds for which writes are waited for before somebody else may go on."""
USUAL_STEPS = 1_000_000
"""Milestones lie as in a training of so many steps where nobody says how long it is."""


class Checkpointer:
    """The half of a session that saves: it knows the best score so far and the last step saved.

    Without a run it counts and judges all the same, and writes nothing. What is to be written is gathered here and now;
    it is on disk when the call returns, or, after `write_behind`, when `written` has no slice left.
    """

    def __init__(self, agent: Agent) -> None:
        self.agent = agent
        """The agent that is trained."""
        self.run: TrainingRun | None = None
        """The run that is written, if any."""
        self.total_steps = 0
        """Decisions so far, those before a resume included."""
        self.total_episodes = 0
        """Training episodes so far, those before a resume included."""
        self.best_eval: float | None = None
        """The best evaluation's score, None before the first."""
        self.best_step: int | None = None
        """The step of the policy that earned `best_eval`."""
        self._best_return: float | None = None
        """The mean return of that evaluation, None where it is not known."""
        self.shares = False
        """Whether it gathers what another process writes, and has no run of its own."""
        self.keep_checkpoints = 3
        """How many periodic checkpoints stay."""
        self.writes = WriteQueue()
        """All that goes into the run's directory, in order."""
        self._newest: Future[None] | None = None
        """The newest checkpoint, as the thread knows it."""
        self._evaluation: EvalSettings | None = None
        self._every: int | None = None
        self._saved_step = 0
        self._kept_step = -1
        """The step up to which every milestone is kept: -1 where there is not even that of step 0."""
        self._steps_before = 0
        """Steps that were taken before this session."""
        self._surroundings: Surroundings = lambda: ({}, {})

    def with_run(self, run: TrainingRun) -> Self:
        """Write to this run, and count on from where it is, with its stored best; the agent's settings go into it."""
        self.run = run
        self.total_steps = self._saved_step = self._steps_before = run.metadata.total_steps
        self._kept_step = self.total_steps or -1
        self.total_episodes = run.metadata.total_episodes
        self._take_over(_stored_best(run.best_checkpoint()))
        if not run.metadata.agent:
            run.update_metadata(agent=self.agent.name)
        settings = getattr(self.agent, "config", None)
        if is_dataclass(settings) and self.agent.name not in run.config:  # without them nobody can play its checkpoints
            run.write_config({**run.config, self.agent.name: settings})
        return self

    def with_checkpoint_every(self, steps: int) -> Self:
        """Save on the first tick at or past each multiple of `steps`; without it only at the end."""
        self._every = check_positive("--checkpoint-every", steps)
        return self

    def with_keep_checkpoints(self, keep: int) -> Self:
        """Keep the newest `keep` step checkpoints (3 unless told); best and latest always stay."""
        if keep < 0:
            raise CommandError(f"--keep is {keep}; use 0 or more")
        self.keep_checkpoints = keep
        return self

    def with_surroundings(self, surroundings: Surroundings) -> Self:
        """Save this with every checkpoint too: what lies around the agent, such as a world in mid-episode."""
        self._surroundings = surroundings
        return self

    def write_behind(self) -> None:
        """From now on write on a thread, in the same order: what the disk refuses is raised by a later call."""
        self.writes.go_behind()

    def written(self) -> Iterator[None]:
        """Wait in slices until all that was to be written is on disk; raise what the disk has refused."""
        while not self.writes.wait(LOOK_AGAIN):
            yield

    def checkpoint_written(self) -> Iterator[None]:
        """Wait in slices for the newest checkpoint alone, so that there are never two in memory."""
        while not self.writes.wait_for(self._newest, LOOK_AGAIN):
            yield

    def state(self) -> dict[str, Any]:
        """Return the session's own counters and statistics as JSON values."""
        raise NotImplementedError

    @property
    def saves(self) -> bool:
        """Whether its checkpoints are written, by whomever."""
        return self.run is not None or self.shares

    @property
    def saved_step(self) -> int:
        """The newest step that was saved."""
        return self._saved_step

    def is_due(self) -> bool:
        """Tell whether a multiple of `checkpoint_every` was reached or passed since the last save."""
        return self._every is not None and self.total_steps // self._every > self._saved_step // self._every

    def save_if_behind(self) -> None:
        """Save if anything happened since the last save, unless the disk has refused a write before."""
        if self.total_steps > self._saved_step and (self.run is None or self.run.problem is None):
            self.save_checkpoint()

    def save_checkpoint(self) -> Path | None:
        """Write all that continuing takes to `step_<N>` and `latest`, and prune; return the file, if there is a run."""
        self._require_finite()
        parts, facts = self._surroundings()
        if self.run is None:
            self._saved_step = self.total_steps
            return None
        tensors = join_sections({"policy": self.agent.policy_state(), "agent": self.agent.state(), **parts})
        manifest = self._manifest(self.total_steps, {"session": self.state(), **facts})
        self._newest = self.writes.do(partial(_write_checkpoint, self.run, tensors, manifest, self.keep_checkpoints))
        self._saved_step = self.total_steps
        self._update_metadata()
        return self.run.checkpoint_path(self.total_steps)

    def keep_milestone(self) -> None:
        """Write the policy alone to `milestone_<N>`, for good, on the first tick at or past each of the run's marks.

        Before a checkpoint of the same step: who goes on from that has it already.
        """
        if self.total_steps < mark_after(self._kept_step, self.whole_steps or USUAL_STEPS):
            return
        self._kept_step = self.total_steps
        if self.run is not None:
            self._require_finite()
            tensors = join_sections({"policy": self.agent.policy_state()})
            self._write_policy(f"milestone_{self.total_steps}", tensors, self.total_steps)

    @property
    def whole_steps(self) -> int | None:
        """The steps over which schedules run, None where nobody knows."""
        raise NotImplementedError

    def save_policy(self) -> None:
        """Write the policy alone to `latest`: what a broken training leaves, from which none can go on exactly."""
        self._require_finite()
        if self.run is not None:
            tensors = join_sections({"policy": self.agent.policy_state()})
            self._write_policy("latest", tensors, self.total_steps)

    def save_best_of(self, agent: str) -> None:
        """Write `best_<agent>`: the policies as they are, by which one of several agents has earned more than ever."""
        if self.run is None:
            return
        self._require_finite()
        if self.total_steps == self._saved_step:  # going on from there must find the one from before
            self.writes.do(partial(self.run.set_best_aside, f"best_{agent}"))
        tensors = join_sections({"policy": self.agent.policy_state()})
        self._write_policy(f"best_{agent}", tensors, self.total_steps)

    def return_to_bests_of(self, step: int, own: Mapping[str, int | None]) -> None:
        """Bring back what agents had earned by a checkpoint's step, each at its own, None for nothing yet."""
        for agent, earned_at in own.items():
            which = f"best_{agent}"
            there = None if self.run is None else _stored_best(self.run.best_checkpoint(which))
            if self.run is not None and there is not None and there.step == step != earned_at:
                self.run.bring_best_back(which)

    def return_to_best_of(self, manifest: Manifest) -> None:
        """Bring back the best that a checkpoint knew, if another one was earned after it without a further step.

        A training that goes on from the checkpoint does not earn that one again; one of a later step it does.
        """
        run, known = self.run, (manifest.best_eval, manifest.best_step)
        if run is None or self.best_step is None or self.best_step < manifest.step:
            return
        if known == (self.best_eval, self.best_step):
            return
        earlier = _stored_best(run.best_checkpoint(set_aside=True))
        if earlier is None:
            is_known = manifest.best_step is None and self.best_step == manifest.step
        else:
            is_known = known == (earlier.best_eval, earlier.best_step)
        if is_known:
            run.bring_best_back()
            self._take_over(earlier)
            self._update_metadata()

    def _is_best(self, score: float, mean_return: float | None, step: int) -> bool:
        """Return whether the score is the best; of equal scores the greater mean return is, then the later policy."""
        if self.best_eval is None or score != self.best_eval:
            return self.best_eval is None or score > self.best_eval
        if is_less(self._best_return, mean_return):
            return True
        is_later = self.best_step is None or step > self.best_step
        return is_later and not is_less(mean_return, self._best_return)

    def _save_if_best(
        self,
        score: float,
        report: EvalReport | None,
        *,
        seed: int | None,
        policy: State | None,
        newest: bool,
    ) -> bool:
        """Write `best` if the policy is better than the stored one or `newest` counts, and return whether it did."""
        evaluation, mean_return, step = None, None, self.total_steps
        if report is not None:
            evaluation, mean_return = EvalSettings(seed=seed, episodes=report.episodes), report.mean_return
            step = step if policy is None else report.total_steps_at_eval
        if not math.isfinite(score) or not (newest or self._is_best(score, mean_return, step)):
            return False
        self._require_finite()
        before = self.best_eval, self.best_step, self._best_return, self._evaluation
        self.best_eval, self.best_step, self._best_return, self._evaluation = score, step, mean_return, evaluation
        try:
            if self.run is not None:
                if step == self._saved_step:  # going on from there must find the best from before
                    self.writes.do(self.run.set_best_aside)
                tensors = join_sections({"policy": self.agent.policy_state() if policy is None else policy})
                self._write_policy("best", tensors, step)
        except BaseException:
            self.best_eval, self.best_step, self._best_return, self._evaluation = before
            raise
        self._update_metadata()
        return True

    def _finish(self, status: str) -> None:
        """Write the last metadata and close the run; after a failed write, say no more than that it failed."""
        if self.run is None:
            return
        try:
            try:
                self.writes.wait()
            except BaseException:
                status = "failed"
                raise
            finally:
                if self.run.problem is None:
                    self._update_metadata(status=status)
                    self.writes.wait()
        finally:
            self.writes.close()
            if self.run.problem is None:
                self.run.close()
            else:
                self.run.abandon("failed")

    def _take_over(self, best: Manifest | None) -> None:
        self.best_eval = self.best_step = self._best_return = self._evaluation = None
        if best is not None:
            self.best_eval, self.best_step = best.best_eval, best.best_step
            self._best_return, self._evaluation = best.best_return, best.evaluation

    def _update_metadata(self, **more: Any) -> None:
        if self.run is not None:
            changes = {
                "total_steps": self.total_steps,
                "total_episodes": self.total_episodes,
                "best_eval": self.best_eval,
                "best_step": self.best_step,
            }
            self.writes.do(partial(self.run.update_metadata, **changes, **more))

    def _write_policy(self, which: str, tensors: State, step: int) -> None:
        assert self.run is not None
        self.writes.do(partial(self.run.save_policy, which, tensors, self._manifest(step)))

    def _manifest(self, step: int, resume: dict[str, Any] | None = None) -> Manifest:
        assert self.run is not None
        metadata = self.run.metadata
        # Several policies in one world come as one agent with `specs`.
        specs: Sequence[PolicySpec] = getattr(self.agent, "specs", None) or (self.agent.spec,)
        return Manifest(
            scene=metadata.scene,
            scene_sha256=metadata.scene_sha256,
            scene_data=None if self.run.scene_data is None else dict(self.run.scene_data),
            versions=metadata.versions,
            agent=self.agent.name,
            step=step,
            episodes=self.total_episodes,
            seed=metadata.seed,
            config=self.run.config,
            policies=tuple(map(PolicyEntry.of, specs)),
            best_eval=self.best_eval,
            best_step=self.best_step,
            best_return=self._best_return,
            evaluation=self._evaluation,
            full=resume is not None,
            resume=resume or {},
        )

    def _require_finite(self) -> None:
        if not self.agent.is_finite():
            raise DivergedError(
                f"training diverged before step {self.total_steps}: a parameter is not finite; "
                "the checkpoints on disk are from before; lower the learning rate"
            )


def _write_checkpoint(run: TrainingRun, tensors: State, manifest: Manifest, keep: int) -> None:
    """Write a checkpoint that tells how long the logs are by now: all rows up to its step are in them."""
    resume = {**manifest.resume, "logs": run.flush(sync=True)}
    run.save_checkpoint(tensors, msgspec.structs.replace(manifest, resume=resume))
    run.prune_checkpoints(keep)


def _stored_best(path: Path | None) -> Manifest | None:
    # The file decides, not metadata.json: a crash between the two writes, or a damaged best, must not leave
    # a score behind that no checkpoint can show.
    if path is None:
        return None
    try:
        return read_manifest(path)
    except CheckpointError as error:
        warnings.warn(f"the next evaluation will be the new best: {error}", stacklevel=2)
        return None


def check_positive(option: str, number: int) -> int:
    """Return the number if it is 1 or more; CommandError otherwise."""
    if number < 1:
        raise CommandError(f"{option} is {number}; use 1 or more")
    return number
