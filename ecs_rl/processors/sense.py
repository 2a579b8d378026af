"""sense: Pose, Motion, Touch -> NextObservation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import groupby

import numpy as np

from ecs_rl.arrays import F32, finite
from ecs_rl.components import Motion, NextObservation, Pose
from ecs_rl.ecs import Stage
from ecs_rl.errors import RuleError
from ecs_rl.scene.sensors import Sensor
from ecs_rl.scene.teammates import Teammates
from ecs_rl.world import PolicyBatch, World

COLUMNS = ("x", "y", "angle", "vx", "vy", "spin")
"""What the physics' block of states holds, in its order."""


class Sense(Stage):
    """Write the next observations before respawn, so that the last observation of an episode survives."""

    def __init__(self, world: World) -> None:
        self.sights = [
            PolicySight(world, batch, world.of(batch.entity, NextObservation).value) for batch in world.batches
        ]

    def run(self) -> None:
        """Fill the next observations of all policies."""
        for sight in self.sights:
            sight.look()


class PolicySight:
    """The sensors of a policy's agents, each with its own part of (rows, numbers) to write to."""

    def __init__(self, world: World, batch: PolicyBatch, out: F32) -> None:
        self.world, self.batch, self.out, self.sound = world, batch, out, finite(out)
        self.parts: list[tuple[Callable[[F32], None], F32]] = []
        for slot in batch.slots:
            first, single = 0, slot.spec.count is None
            for plain, listed in groupby(slot.spec.senses, _plain):
                sensors = list(listed)
                for group in [sensors] if plain and single else [[sensor] for sensor in sensors]:
                    last = first + sum(len(sensor.names) for sensor in group)
                    write = Plain(world, group).write if plain and single else group[0].write
                    if isinstance(group[0], Teammates):
                        write = partial(group[0].copy, slot.shaped(out)[..., : len(batch.spec.observations)])
                    self.parts.append((write, slot.shaped(out)[..., first:last]))
                    first = last

    def look(self, *, begins: bool = False) -> None:
        """Let every sensor write; RuleError for a number that is not finite. `begins`: episodes have just begun."""
        with np.errstate(over="ignore", invalid="ignore"):  # refused here, by name
            for write, part in self.parts:
                write(part)
            sound = self.sound()
        if not sound:
            self.refuse(begins=begins)

    def refuse(self, *, begins: bool) -> None:
        """Raise RuleError for the sensor whose number is not finite; it is one of the scene's own."""
        bad = np.argwhere(~np.isfinite(self.out))
        if len(bad):  # squares of finite numbers can overflow
            row, number = bad[0].tolist()
            slot, arena, member = self.batch.locate(row, self.world.arenas)
            name, sensor = [(name, sensor) for sensor in slot.spec.senses for name in sensor.names][number]
            when = f"{self.world.when(arena, judged=begins)}{member}"
            problem = f"a number that is not finite: {self.out[row, number]:g} {when}"
            raise RuleError(f"the sensor '{name}' gave {problem}", sensor)


def _plain(sensor: Sensor) -> bool:
    """Tell whether all that a sensor gives is a column of a single role."""
    return type(sensor) is Sensor and sensor.column is not None and sensor.column[0].count is None


class Plain:
    """Sensors that each give a role's column, one after the other: written by one gather, to the same bits."""

    def __init__(self, world: World, sensors: Sequence[Sensor]) -> None:
        columns = [sensor.column for sensor in sensors if sensor.column is not None]
        state = world.block(Pose, Motion)
        bodies, self.state = state.shape[1], state.reshape(-1, world.arenas)
        self.rows = np.array([COLUMNS.index(name) * bodies + role.rows.start for role, name in columns])
        self.scales = np.array([[sensor.scale] for sensor in sensors])

    def write(self, out: F32) -> None:
        """Fill (arenas, sensors)."""
        np.multiply(self.state.take(self.rows, axis=0), self.scales, out=out.T, casting="unsafe")
