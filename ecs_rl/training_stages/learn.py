"""learn: Session -> Session, Policy."""

from __future__ import annotations

from collections.abc import Iterator

from ecs_rl.ecs import LongStage
from ecs_rl.training_stages.resources import Session
from ecs_rl.world import World


class Learn(LongStage):
    """Update the agent once it has enough transitions, yielding between minibatches."""

    can_leave = True  # an agent's state tells where its update stands, and `learn` goes on from there

    def __init__(self, world: World) -> None:
        self.session = world.one(Session)
        self.updates = 0
        """Ticks, since this world was made, in which the agent learned from what it had gathered."""

    def work(self) -> Iterator[None]:
        """Run the update that is due, if any, yielding after each minibatch."""
        learned = False
        for _ in self.session.training.learn():
            learned = True
            yield
        self.updates += learned
