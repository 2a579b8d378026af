"""Exact resume: what a training saves beyond its agent, and how it goes on as if it had never stopped."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray

from ecs_rl.errors import CheckpointError
from ecs_rl.runs import Manifest, section
from ecs_rl.snapshots import restore_world, save_world

if TYPE_CHECKING:
    from ecs_rl.agents.base import State
    from ecs_rl.training import Training

PARTS = ("now", "snapshot", "actions", "earlier", "earlier_actions")
EXAM = ("taken_at", "last", "solved_step", "solved_second")


def surroundings(training: Training) -> tuple[Mapping[str, State], Mapping[str, Any]]:
    """Return the world as tensors by section, and what else must be known as JSON values."""
    parts = {
        f"world/{part}": {name: _tensor(array) for name, array in arrays.items()}
        for part, arrays in save_world(training.world).items()
    }
    exam, journal = training.exam, training.journal
    facts = {
        "exam": {name: getattr(exam, name) for name in EXAM},
        "left_at": training.left_at,
        "filmed_at": None if training.films is None else training.films.shot_at,
        "written_at": journal.written_at,
        "seconds": perf_counter() - journal.began if journal.began else 0.0,
        "seconds_in": training.world.seconds_in,
    }
    return parts, facts


def go_on(training: Training, manifest: Manifest, tensors: State, *, exactly: bool = True) -> None:
    """Bring a training that was just prepared to where the checkpoint was taken, to the last bit."""
    if not manifest.full:
        raise CheckpointError("this checkpoint holds only a policy: start a new run from it with --init-from")
    if not section(tensors, "world/now"):
        raise CheckpointError(
            "this checkpoint is of an older version, whose worlds this one cannot bring back: play it, or start a new "
            "run from its policy with --init-from"
        )
    facts = manifest.resume
    training.session.agent.load_state(section(tensors, "agent"))
    training.left_at = facts.get("left_at", "")  # runs from before it could be left have whole ticks
    training.session.restore(facts["session"], unfinished_steps=training.world.arenas if training.left_at else 0)
    saved = {part: _arrays(section(tensors, f"world/{part}")) for part in PARTS}
    restore_world(training.world, saved, exactly=exactly, watch=partial(_unless_stopped, training))
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


def _unless_stopped(training: Training) -> None:
    """Give up between two ticks of a replay where somebody stops the training."""
    if training.stop:
        raise KeyboardInterrupt


def _tensor(column: NDArray[Any]) -> torch.Tensor:
    # Not every file format and tool knows unsigned words: the same bits as signed ones.
    return torch.from_numpy(np.array(column.view(np.int64) if column.dtype == np.uint64 else column, order="C"))


def _arrays(tensors: State) -> dict[str, NDArray[Any]]:
    """Return the tensors as arrays; the keys of episodes are unsigned words again."""
    arrays = {name: np.asarray(tensor.numpy()) for name, tensor in tensors.items()}
    return {name: array.view(np.uint64) if name.endswith("Chance/key") else array for name, array in arrays.items()}
