"""respawn: Ending -> Pose, Motion, Ground, Observation."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ecs_rl.arrays import F32, I64
from ecs_rl.components import Chance, Clock, Ending, Episodes, Memory, NextObservation, Observation
from ecs_rl.processors.base import Stage
from ecs_rl.processors.sense import look

if TYPE_CHECKING:
    from ecs_rl.world import Crew, World


class Respawn(Stage):
    """Start ended arenas again, each from the draws of its own next episode, and show everyone where they stand."""

    def __init__(self, world: World) -> None:
        super().__init__(world)
        self.clock, self.chance, self.ending = world.one(Clock), world.one(Chance), world.one(Ending)
        self.episodes, self.memory = world.one(Episodes), world.one(Memory)
        self.crews = [
            (crew, world.of(crew.entity, Observation), world.of(crew.entity, NextObservation)) for crew in world.crews
        ]

    def run(self) -> None:
        """Go on with what was seen, or look again where something started anew."""
        rows = self.ending.rows
        if len(rows):
            self.clock.episode[rows] += 1
        if not len(rows) or self.world.memories:
            for _, before, after in self.crews:
                before.value[...] = after.value
        if len(rows):
            self.begin(rows)

    def begin(self, rows: I64) -> None:
        """Begin the current episode of these arenas."""
        self.clock.tick[rows] = 0
        self.episodes.terms[:, rows] = 0.0
        self.memory.now[:, rows] = 0.0
        self.world.physics.place(rows, self.chance, self.clock)
        for memory in self.world.memories:
            memory.begin(rows)
        for crew, before, _ in self.crews:
            for seat in crew.seats:
                seat.amounts[:, rows] = 0.0
            self.see(crew, before.value, rows)

    def see(self, crew: Crew, seen: F32, rows: I64) -> None:
        """Look again where an episode begins; what goes on was seen already, before its rules remembered this tick."""
        if not self.world.memories or len(rows) == self.world.arenas:
            look(crew, seen, self.world, begins=True)
            return
        fresh = np.empty_like(seen)
        look(crew, fresh, self.world, begins=True)
        again = (len(crew.seats), self.world.arenas, -1)
        seen.reshape(again)[:, rows] = fresh.reshape(again)[:, rows]

    def begin_all(self) -> None:
        """Begin the current episode of every arena: how a world starts."""
        self.begin(np.arange(self.world.arenas))
