"""sense: Pose, Motion, Touch -> NextObservation."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ecs_rl.arrays import F32
from ecs_rl.components import NextObservation
from ecs_rl.processors.base import Stage, when
from ecs_rl.scene.checks import RuleError

if TYPE_CHECKING:
    from ecs_rl.world import Crew, World


class Sense(Stage):
    """See what came of the tick, before anything starts again, so that the last sight of an episode survives."""

    def __init__(self, world: World) -> None:
        super().__init__(world)
        self.crews = [(crew, world.of(crew.entity, NextObservation)) for crew in world.crews]

    def run(self) -> None:
        """Fill the next observations of all policies."""
        for crew, seen in self.crews:
            look(crew, seen.value, self.world)


def look(crew: Crew, out: F32, world: World, *, begins: bool = False) -> None:
    """Let every agent of a policy see, each into its own rows of (rows, numbers)."""
    with np.errstate(over="ignore"):  # refused here, by name
        for seat in crew.seats:
            first = 0
            for sensor in seat.plan.sees:
                last = first + len(sensor.names)
                sensor.write(out[seat.rows, first:last])
                first = last
        sound = np.isfinite(out.sum())
    if not sound:
        refuse(crew, out, world, begins=begins)


def refuse(crew: Crew, out: F32, world: World, *, begins: bool) -> None:
    """Name the number that is not finite; nothing of the physics is, so it is a sensor of the scene's own."""
    bad = np.argwhere(~np.isfinite(out))
    if len(bad):  # a sum of finite numbers can overflow
        row, number = bad[0].tolist()
        seat = next(seat for seat in crew.seats if row < seat.rows.stop)
        name, sensor = [(name, sensor) for sensor in seat.plan.sees for name in sensor.names][number]
        arena = row - seat.rows.start
        where = when(world, arena, judged=begins)
        raise RuleError(f"the sensor '{name}' gave a number that is not finite: {out[row, number]:g} {where}", sensor)
