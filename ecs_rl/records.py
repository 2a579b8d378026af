"""What is known of an episode once it is over, and of the episodes of one evaluation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Literal, cast

import msgspec
import numpy as np

Status = Literal["Terminated", "Truncated"]


class EpisodeStatus(StrEnum):
    """How an episode ended; the plain strings do as well."""

    TERMINATED = "Terminated"
    """By a rule of the environment: nothing more was to be earned."""
    TRUNCATED = "Truncated"
    """By a limit from outside, such as time."""


OF_AGENT = "return/"
"""How the extras are named that tell an agent's own return, where an arena has several agents."""
SCORE = "score/"
"""How the extras are named that tell what the scene's scores came to."""
END, TERM, TIME_UP = "end/", "term/", "time up"
"""How the extras tell what ended an episode; how statistics name the mean of a reward term; an ending by no rule."""
ELO, OPPONENT = "elo", "opponent"
"""The extras of a game of self-play: the learner's rating after it, and the step of the policy it was against."""
LESSON, LESSON_STEP = "lesson/", "lesson_step/"
"""How metrics name the value of a lesson; how they and extras name how many steps it has taken."""
TIE = 1e-9
"""Share of what the agents earned up to which a sum of returns is rounding."""


def check_status(status: object) -> Status:
    """Return the status as a plain string; ValueError if it is neither of the two."""
    if not isinstance(status, str) or status not in tuple(EpisodeStatus):
        raise ValueError(f"status is {status!r}: an episode is either 'Terminated' or 'Truncated'")
    return cast(Status, str(status))


class EpisodeRecord(msgspec.Struct, frozen=True):
    """One finished episode."""

    total_reward: float
    length: int
    """Steps."""
    status: Status
    extras: Mapping[str, float] = {}

    def result(self, score: str = "") -> float:
        """Return what stands for the episode: the score of this name (NaN where it has none), or else the return."""
        return self.extras.get(f"{SCORE}{score}", np.nan) if score else self.total_reward


def opposed(records: Sequence[EpisodeRecord]) -> bool:
    """Tell whether what the agents earn cancels out in every episode: then their mean says nothing."""
    every = [[v for name, v in record.extras.items() if name.startswith(OF_AGENT)] for record in records]
    spread = [sum(map(abs, own)) for own in every]
    cancels = (abs(sum(own)) <= TIE * size for own, size in zip(every, spread, strict=True))
    return any(spread) and all(len(own) > 1 for own in every) and all(cancels)


class EvalReport(msgspec.Struct, frozen=True):
    """What one evaluation came to; `std_return` is of these episodes themselves (divided by n, not n - 1)."""

    episodes: int
    mean_return: float
    std_return: float
    min_return: float
    max_return: float
    mean_length: float
    total_steps_at_eval: int
    returns: Mapping[str, float] = {}
    """The mean return of each agent by name, where there are several."""
    scores: Mapping[str, float] = {}
    """The mean of each of the scene's scores by name."""

    def result(self, score: str = "") -> float:
        """Return what the evaluation goes by: the mean of the score of this name, without a name the mean return."""
        return self.scores.get(score, np.nan) if score else self.mean_return

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
            returns=_means(records, OF_AGENT),
            scores=_means(records, SCORE),
        )


def _means(records: Sequence[EpisodeRecord], prefix: str) -> dict[str, float]:
    """Return the mean of each extra that begins so, by the rest of its name."""
    return {
        name.removeprefix(prefix): float(np.mean([record.extras.get(name, np.nan) for record in records]))
        for name in records[0].extras
        if name.startswith(prefix)
    }
