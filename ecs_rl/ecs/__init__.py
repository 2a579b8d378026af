"""Components whose fields are columns, systems and the runner: esper and numpy, nothing of physics or learning."""

from ecs_rl.ecs.context import Context
from ecs_rl.ecs.entries import Entry, LongStage, Stage
from ecs_rl.ecs.stage_runner import Runner

__all__ = ["Context", "Entry", "LongStage", "Runner", "Stage"]
