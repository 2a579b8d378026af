"""Components: data only, columns over all arenas; each says who writes it."""

from ecs_rl.components.arena import Chance, Clock, Ending, Episodes, Explosion, Finished, Memory
from ecs_rl.components.bodies import Force, Ground, Motion, Pose, Touch
from ecs_rl.components.mind import Action, NextObservation, Observation, Policy, Reward, RowEnds
from ecs_rl.components.session import Exam, Journal, Session
from ecs_rl.components.trail import Trail

__all__ = [
    "Action",
    "Chance",
    "Clock",
    "Ending",
    "Episodes",
    "Exam",
    "Explosion",
    "Finished",
    "Force",
    "Ground",
    "Journal",
    "Memory",
    "Motion",
    "NextObservation",
    "Observation",
    "Policy",
    "Pose",
    "Reward",
    "RowEnds",
    "Session",
    "Touch",
    "Trail",
]
