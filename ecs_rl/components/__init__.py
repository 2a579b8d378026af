"""Components: data only, columns over all arenas; each says who writes it."""

from ecs_rl.components.arena import Chance, Clock, Ending, Episodes, Explosion, Finished, Memory
from ecs_rl.components.bodies import Force, Ground, Motion, Pose, Touch
from ecs_rl.components.hand import Hand, Onlooker
from ecs_rl.components.mind import Action, NextObservation, Observation, Policy, Reward, RowEnds
from ecs_rl.components.session import Exam, Films, Journal, Session
from ecs_rl.components.trail import Trail

__all__ = [
    "Action",
    "Chance",
    "Clock",
    "Ending",
    "Episodes",
    "Exam",
    "Explosion",
    "Films",
    "Finished",
    "Force",
    "Ground",
    "Hand",
    "Journal",
    "Memory",
    "Motion",
    "NextObservation",
    "Observation",
    "Onlooker",
    "Policy",
    "Pose",
    "Reward",
    "RowEnds",
    "Session",
    "Touch",
    "Trail",
]
