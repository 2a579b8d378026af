"""What is saved when: milestones, the best evaluation, and the manifest that goes with each checkpoint."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ecs_rl.agents.base import Agent, PolicySpec
from ecs_rl.errors import CheckpointError, CommandError, DivergedError
from ecs_rl.runs import EvalSettings, Manifest, TrainingRun, join_sections, policy_entries, read_manifest

if TYPE_CHECKING:
    from ecs_rl.agents.base import State

Surroundings = Callable[[], tuple[Mapping[str, "State"], Mapping[str, Any]]]
"""Returns what lies around the agent and must be saved with it: tensors by section, and facts as JSON values."""


class Checkpointer:
    """Knows the best score so far and the last step saved; writes through the run, if there is one."""

    def __init__(self, agent: Agent) -> None:
        self.run: TrainingRun | None = None
        self.every: int | None = None
        self.keep = 3
        self.best_eval: float | None = None
        self.best_step: int | None = None
        self.saved_step = 0
        self.surroundings: Surroundings = lambda: ({}, {})
        self._agent = agent
        self._evaluation: EvalSettings | None = None

    def attach(self, run: TrainingRun) -> None:
        """Write to this run, and go on from its stored best and last saved step."""
        self.run = run
        self.saved_step = run.metadata.total_steps
        self._take_over(_stored_best(run))
        if not run.metadata.agent:
            run.update_metadata(agent=self._agent.name)

    def _take_over(self, best: Manifest | None) -> None:
        known = (best.best_eval, best.best_step, best.evaluation) if best is not None else (None, None, None)
        self.best_eval, self.best_step, self._evaluation = known

    def return_to_best_of(self, manifest: Manifest) -> bool:
        """Bring back the best that a checkpoint knew, and tell whether another one had taken its place.

        Only a best that was earned after the checkpoint without a further step goes: a training that goes on from it
        does not earn it again. One of a later step it does.
        """
        run, known = self.run, (manifest.best_eval, manifest.best_step)
        if run is None or self.best_step is None or self.best_step < manifest.step:
            return False
        if known == (self.best_eval, self.best_step):
            return False
        earlier = _stored_best(run, aside=True)
        if earlier is not None and (earlier.best_eval, earlier.best_step) != known:
            return False
        if earlier is None and (manifest.best_step is not None or self.best_step > manifest.step):
            return False
        run.bring_best_back()
        self._take_over(earlier)
        return True

    def is_due(self, total_steps: int) -> bool:
        """Tell whether a multiple of `every` was reached or passed since the last save."""
        return self.every is not None and total_steps // self.every > self.saved_step // self.every

    def is_behind(self, total_steps: int) -> bool:
        """Tell whether something happened since the last save that can still be saved: not after a failed write."""
        return total_steps > self.saved_step and (self.run is None or self.run.problem is None)

    def save(self, total_steps: int, total_episodes: int, session: Mapping[str, Any]) -> Path | None:
        """Write all that continuing takes to `step_<N>` and `latest`, prune, renew the metadata; None without a run."""
        self._require_finite(total_steps)
        if self.run is None:
            self.saved_step = total_steps
            return None
        parts, facts = self.surroundings()
        tensors = join_sections({"policy": self._agent.policy_state(), "agent": self._agent.state(), **parts})
        resume = {"session": session, "logs": self.run.flush(sync=True), **facts}
        path = self.run.save_checkpoint(tensors, self._manifest(total_steps, total_episodes, resume))
        self.saved_step = total_steps
        self.run.prune_checkpoints(self.keep)
        self.update_metadata(total_steps, total_episodes)
        return path

    def save_policy(self, total_steps: int, total_episodes: int) -> None:
        """Write the policy alone to `latest`: what a broken training leaves, from which none can go on exactly."""
        self._require_finite(total_steps)
        if self.run is not None:
            tensors = join_sections({"policy": self._agent.policy_state()})
            self.run.save_latest(tensors, self._manifest(total_steps, total_episodes))

    def save_if_best(
        self,
        score: float,
        evaluation: EvalSettings | None,
        *,
        policy: State | None,
        newest: bool,
        policy_step: int,
        total_steps: int,
        total_episodes: int,
    ) -> bool:
        """Write `best` if the score is strictly better than the stored one or `newest` counts, and tell whether."""
        if not math.isfinite(score) or (self.best_eval is not None and score <= self.best_eval and not newest):
            return False
        self._require_finite(total_steps)
        before = self.best_eval, self.best_step, self._evaluation
        self.best_eval, self.best_step, self._evaluation = score, policy_step, evaluation
        try:
            if self.run is not None:
                if policy_step == self.saved_step:  # going on from there must find the best from before
                    self.run.set_best_aside()
                tensors = join_sections({"policy": self._agent.policy_state() if policy is None else policy})
                self.run.save_best(tensors, self._manifest(policy_step, total_episodes))
        except BaseException:
            self.best_eval, self.best_step, self._evaluation = before
            raise
        self.update_metadata(total_steps, total_episodes)
        return True

    def finish(self, total_steps: int, total_episodes: int, status: str) -> None:
        """Write the last metadata and close the run; after a failed write, say no more than that it failed."""
        if self.run is None:
            return
        if self.run.problem is not None:
            self.run.abandon("failed")
            return
        try:
            self.update_metadata(total_steps, total_episodes, status=status)
        finally:
            self.run.close()

    def update_metadata(self, total_steps: int, total_episodes: int, **more: Any) -> None:
        """Write how far the run is, what its best score is, and anything more."""
        if self.run is not None:
            self.run.update_metadata(
                total_steps=total_steps,
                total_episodes=total_episodes,
                best_eval=self.best_eval,
                best_step=self.best_step,
                **more,
            )

    def _manifest(self, step: int, total_episodes: int, resume: dict[str, Any] | None = None) -> Manifest:
        assert self.run is not None
        metadata = self.run.metadata
        return Manifest(
            scene=metadata.scene,
            scene_sha256=metadata.scene_sha256,
            versions=metadata.versions,
            agent=self._agent.name,
            step=step,
            episodes=total_episodes,
            seed=metadata.seed,
            config=self.run.config,
            policies=policy_entries(_specs(self._agent)),
            best_eval=self.best_eval,
            best_step=self.best_step,
            evaluation=self._evaluation,
            full=resume is not None,
            resume=resume or {},
        )

    def _require_finite(self, total_steps: int) -> None:
        if not self._agent.is_finite():
            raise DivergedError(
                f"training diverged before step {total_steps}: a parameter is not finite; "
                "the checkpoints on disk are from before; lower the learning rate"
            )


def _specs(agent: Agent) -> Sequence[PolicySpec]:
    # Several policies in one world come as one agent with `specs`.
    specs: Sequence[PolicySpec] | None = getattr(agent, "specs", None)
    return (agent.spec,) if specs is None else specs


def _stored_best(run: TrainingRun, *, aside: bool = False) -> Manifest | None:
    # The file decides, not metadata.json: a crash between the two writes, or a damaged best, must not leave
    # a score behind that no checkpoint can show.
    path = run.best_set_aside() if aside else run.best_checkpoint()
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
