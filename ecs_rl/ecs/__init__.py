"""Components whose fields are columns, systems and the runner: esper and numpy, nothing of physics or learning."""

from ecs_rl.ecs.component import Axis, Column, column, component, is_component
from ecs_rl.ecs.context import Context
from ecs_rl.ecs.runner import Runner
from ecs_rl.ecs.schedule import Entry, ScheduleError
from ecs_rl.ecs.stage import Stage
from ecs_rl.ecs.system import System

__all__ = [
    "Axis",
    "Column",
    "Context",
    "Entry",
    "Runner",
    "ScheduleError",
    "Stage",
    "System",
    "column",
    "component",
    "is_component",
]
