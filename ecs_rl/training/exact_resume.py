"""Exact resume: what a training saves beyond its agent, and how it goes on as if it had never stopped."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from functools import partial
from time import perf_counter
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np
import torch
from numpy.typing import NDArray

from ecs_rl.agents.base import SharesOut
from ecs_rl.agents.state import check_fits
from ecs_rl.ecs import LongStage
from ecs_rl.errors import ActionError, CheckpointError, CommandError, quoted
from ecs_rl.runs import Manifest, section
from ecs_rl.runs.checkpoint import arrays_of
from ecs_rl.runs.manifest import ResumeFacts
from ecs_rl.session.trend import Trend
from ecs_rl.training.snapshots import Sections, restore_world, save_world
from ecs_rl.training.worker_sections import PARTS, gathered, of_worker, shared_out

if TYPE_CHECKING:
    from ecs_rl.agents.base import State
    from ecs_rl.training.training import Training

BEST_POLICY = "best_policy"
"""The section of a checkpoint with the policy that may be taken up again."""
EVALUATION = ("taken_at", "last", "solved_step", "solved_second")


def surroundings(training: Training) -> tuple[Mapping[str, State], Mapping[str, Any]]:
    """Return the world as tensors by section, and what else must be known as JSON values."""
    together = training.together
    parts: dict[str, State] = {
        f"world/{part}": {name: _tensor(array) for name, array in arrays.items()}
        for part, arrays in save_world(training.world).items()
    }
    if together is not None:
        agent = training.session.agent
        parts = gathered(together.group, agent, {"agent": agent.state(), **parts})
        del parts["agent"]  # the session saves it
    evaluation, metrics_schedule = training.evaluation, training.metrics_schedule
    if evaluation.best_policy:
        parts[BEST_POLICY] = evaluation.best_policy
    facts = {
        "exam": {**{name: getattr(evaluation, name) for name in EVALUATION}, "trend": asdict(evaluation.trend)},
        "left_at": training.left_at,
        "workers": 1 if together is None else together.group.size,
        "filmed_at": None if training.films is None else training.films.shot_at,
        "written_at": metrics_schedule.written_at,
        "seconds": perf_counter() - metrics_schedule.began if metrics_schedule.began else 0.0,
        "seconds_in": training.world.seconds_in,
        "live": {"changed": dict(training.live.changed), "planned": list(training.live.planned)},
        **({"lessons": training.lessons.facts()} if training.lessons.parts else {}),
    }
    return parts, facts


def go_on(training: Training, manifest: Manifest, tensors: State, *, exactly: bool = True) -> bool:
    """Bring a training that was just prepared to where the checkpoint was taken, to the last bit.

    Without `exactly` the world may come out otherwise; tells whether it did not.

    CheckpointError, and nothing of the training has moved but its agents, if the checkpoint does not fit it.
    """
    facts, agent = manifest.facts(), training.session.agent
    rank, size = (0, 1) if training.together is None else (training.together.group.rank, training.together.group.size)
    saved, best_policy = _world(training, tensors, facts.workers, rank, size), section(tensors, BEST_POLICY)
    if best_policy:
        check_fits(best_policy, agent.policy_state(), what="best policy")
    if facts.workers == size:
        agent.load_state(of_worker(tensors, rank, "agent"))
    elif isinstance(agent, SharesOut):
        agent.share_out([of_worker(tensors, each, "agent") for each in range(facts.workers)], rank, size)
    else:
        raise CheckpointError(f"{agent.name} goes on with as many processes as saved it: --workers {facts.workers}")
    _restore_settings(training, facts)
    if facts.left_at and not isinstance(training.world.stages.get(facts.left_at), LongStage):
        raise CheckpointError(f"the saved tick was left at {quoted(facts.left_at)}, which is no stage to go on from")
    training.left_at = facts.left_at
    unfinished = training.world.everywhere if training.left_at else 0
    training.session.restore(msgspec.to_builtins(facts.session), unfinished_steps=unfinished)
    try:
        exactly = exactly and facts.workers == size
        as_it_was = restore_world(training.world, saved, exactly=exactly, watch=partial(_unless_stopped, training))
    except ActionError as error:
        raise CheckpointError(f"the saved actions cannot be taken again: {error}; use another checkpoint") from error
    if not training.live.weights_fit:
        raise CheckpointError("the saved world has other reward weights than the settings say that were changed")
    training.lessons.restore(facts.lessons)
    for name in EVALUATION:
        setattr(training.evaluation, name, getattr(facts.evaluation, name))
    training.evaluation.trend = Trend(**msgspec.to_builtins(facts.evaluation.trend))
    if training.evaluation.trend.best is None:  # a checkpoint from before a trend was noted
        training.evaluation.trend.best, training.evaluation.trend.best_return = manifest.best_eval, manifest.best_return
    training.evaluation.best_policy = best_policy if training.evaluation.restores else {}
    schedule = training.metrics_schedule
    schedule.written_at, schedule.evaluated_at = facts.written_at, training.evaluation.taken_at
    schedule.began = perf_counter() - facts.seconds
    training.seconds = facts.seconds
    for name, seconds in facts.seconds_in.items():
        if name in training.world.stages:  # clips may be asked for in one life of a run and not in another
            training.world.stages[name].seconds = seconds
    if training.films is not None:
        training.films.shot_at = training.session.total_steps if facts.filmed_at is None else facts.filmed_at
    return as_it_was


def _restore_settings(training: Training, facts: ResumeFacts) -> None:
    try:
        training.live.restore(facts.live.changed, facts.live.planned, facts.session.total_steps)
    except CommandError as error:
        raise CheckpointError(f"the settings that were changed do not fit: {error}; use another checkpoint") from error


def _unless_stopped(training: Training) -> None:
    """Give up between two ticks of a replay where somebody stops the training."""
    if training.stop:
        raise KeyboardInterrupt


def _world(training: Training, tensors: State, workers: int, rank: int, size: int) -> Sections:
    """Return the saved world by section, saved by so many `workers`; every column and every action fits this one."""
    if workers == size:
        parts = {part: of_worker(tensors, rank, f"world/{part}") for part in PARTS}
    else:
        saved = [_arrays(of_worker(tensors, each, "world/now")) for each in range(workers)]
        own = shared_out(training.world, saved)
        parts = {part: {name: _tensor(array) for name, array in arrays.items()} for part, arrays in own.items()}
    if not parts["now"]:
        raise CheckpointError(
            "this checkpoint is of an older version, whose worlds this one cannot bring back: play it, or start a new "
            "run from its policy with --init-from"
        )
    new = {each.key for each in training.world.lasting() if each.column.is_new} - parts["now"].keys()
    wanted = {name: _tensor(now) for name, now in training.world.save_columns().items() if name not in new}
    lacks = {
        "it": sorted(wanted.keys() - parts["now"].keys()),
        "the scene": sorted(parts["now"].keys() - wanted.keys()),
    }
    if any(lacks.values()):
        gaps = ", and ".join(f"{who} has no {', '.join(names[:6])}" for who, names in lacks.items() if names)
        raise CheckpointError(
            f"the saved world does not fit the scene: {gaps}; go on with the scene as it was then, or start a new run "
            "from this policy with --init-from"
        )
    for part in ("now", "snapshot", *(["earlier"] if parts["earlier"] else [])):
        check_fits(parts[part], wanted, what="world")
    policies = {str(number) for number in range(len(training.world.batches))}
    for taken in (parts["actions"], parts["earlier_actions"]):
        lengths = {tuple(each.shape[:1]) for each in taken.values()}
        if taken and (set(taken) != policies or () in lengths or len(lengths) > 1):
            raise CheckpointError("the saved world does not fit: it lacks actions of a policy; use another checkpoint")
    return {part: _arrays(found) for part, found in parts.items()}


def _tensor(column: NDArray[Any]) -> torch.Tensor:
    # Not every file format and tool knows unsigned words: the same bits as signed ones.
    return torch.from_numpy(np.array(column.view(np.int64) if column.dtype == np.uint64 else column, order="C"))


def _arrays(tensors: State) -> dict[str, NDArray[Any]]:
    """Return the tensors as arrays; the keys of episodes are unsigned words again."""
    try:
        arrays = arrays_of(tensors)
    except ValueError as error:
        raise CheckpointError(f"the saved world does not fit: {error}; use another checkpoint") from error
    return {name: array.view(np.uint64) if name.endswith("Chance/key") else array for name, array in arrays.items()}
