"""Exact resume: what a training saves beyond its agent, and how it goes on as if it had never stopped."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np
import torch
from numpy.typing import NDArray

from ecs_rl.agents.state import check_fits
from ecs_rl.columns import columns_of, stacked
from ecs_rl.components import Trail
from ecs_rl.errors import ActionError, CheckpointError
from ecs_rl.runs import Manifest, section

if TYPE_CHECKING:
    from ecs_rl.agents.base import State
    from ecs_rl.scene.arena import Scene
    from ecs_rl.training import Training

EXAM = ("taken_at", "last", "solved_step", "solved_second")


def surroundings(training: Training) -> tuple[Mapping[str, State], Mapping[str, Any]]:
    """Return the world as tensors by section, and what else must be known as JSON values."""
    trail = training.world.one(Trail)
    way = dict(enumerate(stacked(trail)))
    parts = {
        "world": {name: _tensor(column) for name, column in trail.anchor.items()},
        "trail": {str(policy): _tensor(actions) for policy, actions in way.items()},
    }
    exam, journal = training.exam, training.journal
    facts = {
        "scene_sha256": source_sha256(training.world.scene),
        "exam": {name: getattr(exam, name) for name in EXAM},
        "written_at": journal.written_at,
        "seconds": perf_counter() - journal.began if journal.began else 0.0,
        "seconds_in": training.world.seconds_in,
    }
    return parts, facts


def source_sha256(scene: Scene) -> str:
    """Return the SHA-256 of a scene's file, to tell whether it is still the one that was trained."""
    return hashlib.sha256(Path(scene.file).read_bytes()).hexdigest() if scene.file else ""


def go_on(training: Training, manifest: Manifest, tensors: State) -> None:
    """Bring a training that was just prepared to where the checkpoint was taken, to the last bit.

    CheckpointError, and nothing of the training has moved but its agents, if the checkpoint does not fit it.
    """
    facts = manifest.facts()
    columns, actions = _world(training, tensors)
    training.session.agent.load_state(section(tensors, "agent"))
    training.session.restore(msgspec.to_builtins(facts.session))
    try:
        training.world.return_to(columns, actions)
    except ActionError as error:
        raise CheckpointError(f"the saved actions cannot be taken again: {error}; use another checkpoint") from error
    for name in EXAM:
        setattr(training.exam, name, getattr(facts.exam, name))
    training.journal.written_at, training.journal.examined_at = facts.written_at, training.exam.taken_at
    training.journal.began = perf_counter() - facts.seconds
    training.seconds = facts.seconds
    for name, seconds in facts.seconds_in.items():
        if name in training.world.stages:  # clips may be asked for in one life of a run and not in another
            training.world.stages[name].seconds = seconds
    if training.films is not None:
        training.films.shot_at = training.session.total_steps


def _world(training: Training, tensors: State) -> tuple[dict[str, NDArray[Any]], list[NDArray[Any]]]:
    """Return the world's columns, and the (ticks, rows, ...) actions of each policy since; all of them fit."""
    columns, way = section(tensors, "world"), section(tensors, "trail")
    check_fits(columns, {name: _tensor(now) for name, now in columns_of(training.world).items()}, what="world")
    policies = [str(number) for number in range(len(training.world.crews))] if way else []
    lengths = {tuple(taken.shape[:1]) for taken in way.values()}
    if set(way) != set(policies) or () in lengths or len(lengths) > 1:
        raise CheckpointError("the saved world does not fit: it lacks actions of a policy; use another checkpoint")
    return {name: _array(column) for name, column in columns.items()}, [_array(way[name]) for name in policies]


def _tensor(column: NDArray[Any]) -> torch.Tensor:
    # Not every file format and tool knows unsigned words: the same bits as signed ones.
    return torch.from_numpy(np.array(column.view(np.int64) if column.dtype == np.uint64 else column, order="C"))


def _array(tensor: torch.Tensor) -> NDArray[Any]:
    try:
        return np.asarray(tensor.numpy())
    except TypeError as error:  # numpy knows fewer kinds of numbers than a file may hold
        raise CheckpointError(f"the saved world does not fit: {error}; use another checkpoint") from error
