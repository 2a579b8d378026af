"""film: Session, Policy -> clips of the policy as it learns."""

from __future__ import annotations

from collections.abc import Iterator

from ecs_rl.ecs import LongStage
from ecs_rl.errors import EcsRlError
from ecs_rl.training_stages.resources import Films, Session
from ecs_rl.world import World


class Film(LongStage):
    """Film the policy in a world of its own; the stage changes no result."""

    def __init__(self, world: World) -> None:
        self.world, self.session, self.films = world, world.one(Session), world.one(Films)

    def work(self) -> Iterator[None]:
        """Shoot a clip at the first tick at or past each multiple of `every` and each milestone, in slices."""
        films, steps = self.films, self.session.training.total_steps
        if steps // films.every > films.shot_at // films.every or any(
            films.shot_at < milestone <= steps for milestone in films.milestones
        ):
            yield from self.shoot()

    def shoot(self) -> Iterator[None]:
        """Shoot a clip of the policy as it is, unless there is one."""
        films, steps = self.films, self.session.training.total_steps
        if self.session.training.run is None or films.problem or films.shot_at >= steps:
            return
        try:
            yield from self.world.callbacks.film(steps)
        except EcsRlError as error:  # such as a full disk: a film is less than a training
            films.problem = str(error)
        films.shot_at = steps
