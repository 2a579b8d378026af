"""snapshot: Session, bodies -> ActionLog, Snapshots, and an engine made anew."""

from __future__ import annotations

from collections.abc import Iterator

from ecs_rl.components import ActionLog
from ecs_rl.ecs import LongStage
from ecs_rl.training_stages.resources import Session
from ecs_rl.world import World

LONGEST = 50_000
"""Ticks after which a snapshot is taken even if nothing is saved, so that the log of actions stays small."""


class Snapshot(LongStage):
    """Take a snapshot of the world where a checkpoint is due."""

    def __init__(self, world: World) -> None:
        self.world, self.session, self.log = world, world.one(Session), world.one(ActionLog)

    def work(self) -> Iterator[None]:
        """Take a snapshot if one is due, in slices."""
        training = self.session.training
        if (training.saves and training.is_due()) or len(self.log.actions) >= LONGEST:
            yield from self.world.taking_snapshot()
