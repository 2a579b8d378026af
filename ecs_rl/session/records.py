"""What is known of an episode once it is over, and of the episodes of one evaluation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum

import msgspec
import numpy as np

from ecs_rl.runs.rows import Status


class EpisodeStatus(StrEnum):
    """How an episode ended; the plain strings do as well."""

    TERMINATED = "Terminated"
    """By a rule of the environment: nothing more was to be earned."""
    TRUNCATED = "Truncated"
    """By a limit from outside, such as time."""


_STATUSES: dict[object, Status] = {"Terminated": "Terminated", "Truncated": "Truncated"}


def check_status(status: object) -> Status:
    """Return the status as a plain string; ValueError if it is neither of the two."""
    known = _STATUSES.get(status) or _STATUSES.get(getattr(status, "value", None))
    if known is None:
        raise ValueError(f"status is {status!r}: an episode is either 'Terminated' or 'Truncated'")
    return known


class EpisodeRecord(msgspec.Struct, frozen=True):
    """One finished episode."""

    total_reward: float
    length: int
    """Steps."""
    status: Status
    extras: Mapping[str, float] = {}


class EvalReport(msgspec.Struct, frozen=True):
    """What one evaluation came to; `std_return` is of these episodes themselves (divided by n, not n - 1)."""

    episodes: int
    mean_return: float
    std_return: float
    min_return: float
    max_return: float
    mean_length: float
    total_steps_at_eval: int

    @classmethod
    def of(cls, records: Sequence[EpisodeRecord], total_steps_at_eval: int) -> EvalReport:
        """Return the report on at least one episode."""
        if not records:
            raise ValueError("an evaluation of no episodes says nothing; run at least one")
        returns = np.array([record.total_reward for record in records], dtype=np.float64)
        return cls(
            episodes=len(records),
            mean_return=float(returns.mean()),
            std_return=float(returns.std()),
            min_return=float(returns.min()),
            max_return=float(returns.max()),
            mean_length=float(np.mean([record.length for record in records])),
            total_steps_at_eval=total_steps_at_eval,
        )
