"""Exact resume: what a training saves beyond its agent, and how it goes on as if it had never stopped."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray

from ecs_rl.columns import stacked
from ecs_rl.components import Trail
from ecs_rl.errors import CheckpointError
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
        "left_at": training.left_at,
        "filmed_at": None if training.films is None else training.films.shot_at,
        "written_at": journal.written_at,
        "seconds": perf_counter() - journal.began if journal.began else 0.0,
        "seconds_in": training.world.seconds_in,
    }
    return parts, facts


def source_sha256(scene: Scene) -> str:
    """Return the SHA-256 of a scene's file, to tell whether it is still the one that was trained."""
    return hashlib.sha256(Path(scene.file).read_bytes()).hexdigest() if scene.file else ""


def go_on(training: Training, manifest: Manifest, tensors: State) -> None:
    """Bring a training that was just prepared to where the checkpoint was taken, to the last bit."""
    if not manifest.full:
        raise CheckpointError("this checkpoint holds only a policy: start a new run from it with --init-from")
    facts = manifest.resume
    training.session.agent.load_state(section(tensors, "agent"))
    training.left_at = facts.get("left_at", "")  # runs from before it could be left have whole ticks
    training.session.restore(facts["session"], unfinished_steps=training.world.arenas if training.left_at else 0)
    way = section(tensors, "trail")
    actions = [_unless_stopped(training, _array(way[str(policy)])) for policy in range(len(way))]
    training.world.return_to({name: _array(t) for name, t in section(tensors, "world").items()}, actions)
    for name in EXAM:
        setattr(training.exam, name, facts["exam"][name])
    training.journal.written_at, training.journal.examined_at = facts["written_at"], training.exam.taken_at
    training.journal.began = perf_counter() - facts["seconds"]
    training.seconds = facts["seconds"]
    for name, seconds in facts["seconds_in"].items():
        if name in training.world.stages:  # clips may be asked for in one life of a run and not in another
            training.world.stages[name].seconds = seconds
    if training.films is not None:
        filmed_at = facts.get("filmed_at")
        training.films.shot_at = training.session.total_steps if filmed_at is None else filmed_at


def _unless_stopped(training: Training, actions: NDArray[Any]) -> Iterator[NDArray[Any]]:
    """Pass on the actions tick by tick; whoever stops the training does not wait for all of them."""
    for action in actions:
        if training.stop:
            raise KeyboardInterrupt
        yield action


def _tensor(column: NDArray[Any]) -> torch.Tensor:
    # Not every file format and tool knows unsigned words: the same bits as signed ones.
    return torch.from_numpy(np.array(column.view(np.int64) if column.dtype == np.uint64 else column, order="C"))


def _array(tensor: torch.Tensor) -> NDArray[Any]:
    return np.asarray(tensor.numpy())
