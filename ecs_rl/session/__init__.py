"""A training session for any loop: counts, statistics, logs, checkpoints, and when it is done. No ECS here."""

from ecs_rl.records import EpisodeRecord, EpisodeStatus, EvalReport
from ecs_rl.session.aggregators import Aggregator, Count, Last, Max, Mean, Min, RollingMax, RollingMean, RollingStd, Std
from ecs_rl.session.session import TrainingSession
from ecs_rl.session.stats import EndedBy, Extra, Length, Source, StatsTracker, TotalReward

__all__ = [
    "Aggregator",
    "Count",
    "EndedBy",
    "EpisodeRecord",
    "EpisodeStatus",
    "EvalReport",
    "Extra",
    "Last",
    "Length",
    "Max",
    "Mean",
    "Min",
    "RollingMax",
    "RollingMean",
    "RollingStd",
    "Source",
    "StatsTracker",
    "Std",
    "TotalReward",
    "TrainingSession",
]
