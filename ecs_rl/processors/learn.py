"""learn: Session -> Session, Policy."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ecs_rl.components import Session
from ecs_rl.ecs import Stage

if TYPE_CHECKING:
    from ecs_rl.world import World


class Learn(Stage):
    """Let the agent improve once it has gathered enough, yielding between minibatches."""

    can_leave = True  # an agent's state tells where its update stands, and `learn` goes on from there

    def __init__(self, world: World) -> None:
        self.session = world.one(Session)

    def run(self) -> None:
        """Finish the update that is due, if any."""
        for _ in self.session.training.learn():
            pass

    def slices(self) -> Iterator[None]:
        """Stop after each minibatch."""
        return self.timed(self.session.training.learn())
