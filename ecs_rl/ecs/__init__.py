"""Components whose fields are columns, systems and the runner: esper and numpy, nothing of physics or learning."""

from ecs_rl.ecs.context import Context
from ecs_rl.ecs.runner import Runner
from ecs_rl.ecs.schedule import Entry, LongStage, Stage

__all__ = ["Context", "Entry", "LongStage", "Runner", "Stage"]
