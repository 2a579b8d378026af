"""record: Observation, Action, Reward, NextObservation, RowEnds -> Session."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ecs_rl.agents.base import Experience
from ecs_rl.columns import follow
from ecs_rl.components import Action, NextObservation, Observation, Reward, RowEnds, Session, Trail
from ecs_rl.processors.base import Stage

if TYPE_CHECKING:
    from ecs_rl.world import World


class Record(Stage):
    """Hand the tick's transitions to the session; the only stage that does."""

    def __init__(self, world: World) -> None:
        super().__init__(world)
        self.session, self.trail = world.one(Session), world.one(Trail)
        self.minds = world.each(Observation, Action, Reward, NextObservation, RowEnds)

    def run(self) -> None:
        """Record one experience per policy; learners copy what they keep."""
        told = [
            Experience(
                observation=before.value,
                action=action.value,
                reward=reward.value,
                next_observation=after.value,
                terminated=ends.terminated,
                truncated=ends.truncated,
                valid=None if ends.all_valid else ends.valid,
            )
            for before, action, reward, after, ends in self.minds
        ]
        if self.trail.anchor:
            follow(self.trail, tuple(experience.action for experience in told))
        self.session.training.record(told[0] if len(told) == 1 else tuple(told), steps=self.world.arenas)
