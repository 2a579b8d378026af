"""sense: Pose, Motion, Touch -> NextObservation."""

from __future__ import annotations

import numpy as np

from ecs_rl.arrays import F32, finite
from ecs_rl.components import NextObservation
from ecs_rl.ecs import Stage
from ecs_rl.errors import RuleError
from ecs_rl.world import PolicyBatch, World


class Sense(Stage):
    """See what came of the tick, before anything starts again, so that the last sight of an episode survives."""

    def __init__(self, world: World) -> None:
        self.sights = [Sight(world, batch, world.of(batch.entity, NextObservation).value) for batch in world.batches]

    def run(self) -> None:
        """Fill the next observations of all policies."""
        for sight in self.sights:
            sight.look()


class Sight:
    """The sensors of a policy's agents, each with its own part of (rows, numbers) to write to."""

    def __init__(self, world: World, batch: PolicyBatch, out: F32) -> None:
        self.world, self.batch, self.out, self.sound = world, batch, out, finite(out)
        self.parts = []
        for slot in batch.slots:
            first = 0
            for sensor in slot.spec.sees:
                last = first + len(sensor.names)
                self.parts.append((sensor.write, slot.shaped(out)[..., first:last]))
                first = last

    def look(self, *, begins: bool = False) -> None:
        """Let every sensor write its numbers, and refuse what is not finite; `begins`: the episodes have just begun."""
        with np.errstate(over="ignore", invalid="ignore"):  # refused here, by name
            for write, part in self.parts:
                write(part)
            sound = self.sound()
        if not sound:
            self.refuse(begins=begins)

    def refuse(self, *, begins: bool) -> None:
        """Name the number that is not finite; nothing of the physics is, so it is a sensor of the scene's own."""
        bad = np.argwhere(~np.isfinite(self.out))
        if len(bad):  # squares of finite numbers can overflow
            row, number = bad[0].tolist()
            slot, arena, member = self.batch.found(row, self.world.arenas)
            name, sensor = [(name, sensor) for sensor in slot.spec.sees for name in sensor.names][number]
            when = f"{self.world.when(arena, judged=begins)}{member}"
            told = f"a number that is not finite: {self.out[row, number]:g} {when}"
            raise RuleError(f"the sensor '{name}' gave {told}", sensor)
