"""record: Observation, Action, Reward, NextObservation, Done -> Session."""

from __future__ import annotations

from ecs_rl.components import Action, Done, Explosion, Extras, NextObservation, Observation, Reward
from ecs_rl.ecs import Stage
from ecs_rl.spaces import Experience
from ecs_rl.training_stages.resources import Session
from ecs_rl.world import World


class Record(Stage):
    """Pass the tick's complete transitions to the session, the only way to a learner."""

    def __init__(self, world: World) -> None:
        self.session, self.explosion, self.arenas = world.one(Session), world.one(Explosion), world.everywhere
        self.batches = world.each(Action, Extras, Observation, Reward, NextObservation, Done)
        self.may_be_out = any(plan.of is not None and plan.of.comes_and_goes for plan in world.arena.agents)

    def run(self) -> None:
        """Record one experience per policy; learners copy what they keep."""
        experiences = [
            Experience(
                observation=before.value,
                action=action.value,
                reward=reward.value,
                next_observation=after.value,
                terminated=ends.terminated,
                truncated=ends.truncated,
                valid=ends.valid if self.explosion.any or self.may_be_out else None,
                extras=extras.values,
            )
            for action, extras, before, reward, after, ends in self.batches
        ]
        self.session.training.record(experiences[0] if len(experiences) == 1 else tuple(experiences), steps=self.arenas)
