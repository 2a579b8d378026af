"""sense: Pose, Motion, Touch -> NextObservation."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ecs_rl.arrays import F32
from ecs_rl.components import NextObservation
from ecs_rl.processors.base import Stage
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
            look(crew, seen.value)


def look(crew: Crew, out: F32) -> None:
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
        refuse(crew, out)


def refuse(crew: Crew, out: F32) -> None:
    """Name the number that is not finite; nothing of the physics is, so it is a sensor of the scene's own."""
    bad = np.flatnonzero(~np.isfinite(out).all(axis=0))
    if len(bad):  # a sum of finite numbers can overflow
        sensors = [(name, sensor) for sensor in crew.seats[0].plan.sees for name in sensor.names]
        name, sensor = sensors[bad[0]]
        raise RuleError(f"the sensor '{name}' gave a number that is not finite", sensor)
