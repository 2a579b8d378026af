"""Components: data only, columns over all arenas; each says who writes it."""

from ecs_rl.components.actions import ActionLog, Snapshots
from ecs_rl.components.arena import Chance, Clock, EpisodeEnd, Explosion, Finished, Terms
from ecs_rl.components.bodies import Force, Ground, Motion, MotorSpeed, Pose, Touch
from ecs_rl.components.interact import UserInput
from ecs_rl.components.mind import Action, Amount, Done, NextObservation, Observation, Policy, PolicyState, Reward
from ecs_rl.components.session import Evaluation, Films, MetricsSchedule, Session

__all__ = [
    "Action",
    "ActionLog",
    "Amount",
    "Chance",
    "Clock",
    "Done",
    "EpisodeEnd",
    "Evaluation",
    "Explosion",
    "Films",
    "Finished",
    "Force",
    "Ground",
    "MetricsSchedule",
    "Motion",
    "MotorSpeed",
    "NextObservation",
    "Observation",
    "Policy",
    "PolicyState",
    "Pose",
    "Reward",
    "Session",
    "Snapshots",
    "Terms",
    "Touch",
    "UserInput",
]
