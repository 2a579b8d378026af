"""Records what policies do: `play.py --save-data FILE`. The file is one of demonstrations, to learn from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ecs_rl.agents.base import Demonstration
from ecs_rl.arrays import F32, I64, Bool
from ecs_rl.components import Action, Done, EpisodeEnd, Observation, Reward, Terms
from ecs_rl.errors import CheckpointError
from ecs_rl.records import EpisodeRecord
from ecs_rl.runs.demonstrations import Demonstrations, read_demonstrations, save_demonstrations
from ecs_rl.scene.scene import Scene
from ecs_rl.training.same_policies import refuse_other_spec
from ecs_rl.world import World, policy_specs


def begun(path: Path, scene: Scene, flag: str = "--save-demo") -> Demonstrations:
    """Return what a file holds already, of nothing if there is none; CheckpointError if it is of another scene."""
    first = scene.describe().agents[0]
    fresh = Demonstrations(scene.reference, scene.sha256, policy_specs(scene.describe())[first.policy])
    if not path.exists():
        if not path.absolute().parent.is_dir():
            raise CheckpointError(f"{flag} {path}: there is no folder {path.absolute().parent}: make it first")
        return fresh
    stored = read_demonstrations(path)
    if stored.spec.name != fresh.spec.name:
        raise CheckpointError(
            f"{path} demonstrates the policy '{stored.spec.name}', not '{fresh.spec.name}': name another"
        )
    refuse_other_spec(path, scene.name, stored.spec, fresh.spec)
    return stored


@dataclass(frozen=True)
class Segment:
    """What one row of a batch did from its beginning to its end."""

    arena: int
    """The number of its episode among all that were played."""
    observation: F32
    action: NDArray[Any]
    reward: F32
    terms: dict[str, F32]
    terminated: bool


@dataclass
class PolicyTicks:
    """The ticks so far of the first policy's batch in one world, all of (rows, ...)."""

    first: int
    """The number of the world's first episode among all that are played."""
    begins: I64
    """(rows,) The tick with which the present segment began."""
    is_open: Bool
    """(rows,) Whether the arena's first episode is still running."""
    ticks: list[tuple[NDArray[Any], ...]] = field(default_factory=list)
    """Observation, action, reward, and what each term earned, (terms, rows)."""


class DataRecorder:
    """Takes the first episode of each arena, of each agent of the scene's first policy.

    An agent that leaves and comes back during the episode begins a new demonstration. What an explosion cut is left
    out.
    """

    def __init__(self, scene: Scene, path: Path) -> None:
        self.scene, self.path = scene, path
        self.demonstrations = begun(path, scene, "--save-data")
        self._running: dict[int, PolicyTicks] = {}
        self._segments: list[Segment] = []
        self._first = 0

    def begin(self, world: World) -> None:
        """Prepare for the episodes of a world that has just been made."""
        rows = world.batches[0].rows
        self._running[id(world)] = PolicyTicks(self._first, np.zeros(rows, np.int64), np.ones(rows, bool))
        self._first += world.arenas

    def look(self, world: World) -> None:
        """Take the tick that has just been judged, before any arena begins anew."""
        batch, running = world.batches[0], self._running[id(world)]
        if not running.is_open.any():
            return
        entity = batch.entity
        seen, action, reward = world.of(entity, Observation), world.of(entity, Action), world.of(entity, Reward)
        running.ticks.append(
            (seen.value.copy(), action.value.copy(), reward.value.copy(), batch.terms(world.one(Terms)))
        )
        done, now = world.of(batch.entity, Done), len(running.ticks)
        over = done.terminated | done.truncated
        for row in np.flatnonzero(running.is_open & done.valid & over):
            self._segments.append(self._segment(world, running, int(row), terminated=bool(done.terminated[row])))
        running.begins[over | ~done.valid] = now
        running.is_open &= ~np.resize(world.one(EpisodeEnd).ended & ~self._is_cut(world), batch.rows)

    def _is_cut(self, world: World) -> Bool:
        """Return (arenas,) where an episode ended by an explosion: another takes its place."""
        ends = world.one(EpisodeEnd)
        return ends.ended & ~ends.terminated & ~ends.truncated

    def _segment(self, world: World, running: PolicyTicks, row: int, *, terminated: bool) -> Segment:
        ticks = running.ticks[running.begins[row] :]
        seen, action, reward = (np.stack([tick[part][row] for tick in ticks]) for part in range(3))
        earned = np.stack([tick[3][:, row] for tick in ticks], axis=1)
        terms = dict(zip(world.batches[0].term_names, earned, strict=True))
        arena = running.first + row % world.arenas
        action = world.batches[0].spec.actions.clipped(action)
        return Segment(arena, seen, action, reward.astype(np.float32), terms, terminated)

    def save(self, records: Sequence[EpisodeRecord], seeds: Sequence[int]) -> None:
        """Add the episodes, whose records and seeds these are, to the file."""
        episodes = [
            Demonstration(
                seed=seeds[segment.arena],
                observation=segment.observation,
                action=segment.action,
                reward=segment.reward,
                imitated=np.ones(len(segment.action), bool),
                terminated=segment.terminated,
                result=records[segment.arena].result(self.scene.score),
                terms=segment.terms,
            )
            for segment in sorted(self._segments, key=lambda segment: segment.arena)
        ]
        self.demonstrations = replace(self.demonstrations, episodes=(*self.demonstrations.episodes, *episodes))
        save_demonstrations(self.path, self.demonstrations)
