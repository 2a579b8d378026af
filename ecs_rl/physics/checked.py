"""The physics of a debug run: it tells the context which components a stage reads or writes through the engine."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from ecs_rl.components import Force, Ground, Here, Motion, MotorSpeed, Pose, Touch
from ecs_rl.ecs.context import Context
from ecs_rl.physics.physics import Physics
from ecs_rl.scene.engine import WorldPlan

BEHIND: Mapping[str, tuple[type, ...]] = {
    "state": (Pose, Motion),
    "force": (Force,),
    "here": (Here,),
    "ground": (Ground,),
    "motors": (MotorSpeed,),
    "contacts": (Touch,),
}
"""The components behind each attribute of `Physics`."""


class CheckedPhysics(Physics):
    """Counts every use of a block as a query of the stage at work, so that its entry must declare it."""

    def __init__(self, plan: WorldPlan) -> None:
        self.context: Context | None = None
        super().__init__(plan)

    def attach(self, context: Context, *, is_watched: bool) -> None:
        """Take the context that notes queries."""
        self.context = context

    def __getattribute__(self, name: str) -> Any:
        if name in BEHIND and self.context is not None:
            self.context.queried.update(BEHIND[name])
        return super().__getattribute__(name)

    @contextmanager
    def moving(self) -> Iterator[None]:
        """Take over new places of bodies; what that reads is no query of the system that moved them."""
        context, self.context = self.context, None
        try:
            with super().moving():
                yield
        finally:
            self.context = context
