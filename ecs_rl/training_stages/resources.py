"""The components of a training: one of each in its world, written by the stages of this folder."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ecs_rl.session.diagnosis import Diagnosis
from ecs_rl.session.trend import Trend

if TYPE_CHECKING:
    from ecs_rl.agents.base import State
    from ecs_rl.session import TrainingSession


@dataclass(slots=True)
class Session:
    """The training session, which also works without a world. Written by record, learn, tally, evaluate and write."""

    training: TrainingSession


@dataclass(slots=True)
class Evaluation:
    """When the policies are evaluated, and how that went. Written by evaluate."""

    every: int
    """Steps between two evaluations."""
    seeds: tuple[int, ...]
    """One episode each."""
    solved_at: float | None
    comparable: bool = False
    """Whether it means the same in every evaluation even where agents are opponents: a score, or a fixed opponent."""
    taken_at: int = 0
    """Steps at the last evaluation."""
    last: float | None = None
    """What the last evaluation came to: the mean score, or the mean return."""
    solved_step: int | None = None
    solved_second: float | None = None
    """Training time, evaluation left out, before the evaluation that first reached `solved_at`."""
    trend: Trend = field(default_factory=Trend)
    """How all evaluations so far have gone."""
    restores: bool = False
    """Whether the best policy is taken up again once the present one has collapsed."""
    best_policy: State = field(default_factory=dict)
    """The policy of the best evaluation, where it may be taken up again."""


@dataclass(slots=True)
class Films:
    """When the policy is filmed. Written by film."""

    every: int
    """Steps between two clips."""
    milestones: tuple[int, ...]
    """Steps at which there is a clip in any case, the last one at the end: one film of all learning is made of them."""
    shot_at: int = -1
    """Steps at the last clip, -1 before the first."""
    problem: str = ""
    """Why no more clips are made; the training goes on without them."""


@dataclass(slots=True)
class MetricsSchedule:
    """When numbers go into the run's metrics. Written by write."""

    every: int
    """Steps between two rows; there is one at each evaluation too."""
    began: float
    """Clock reading at the first tick."""
    written_at: int = 0
    evaluated_at: int = 0
    """Steps at the last evaluation that has its row."""
    fresh: list[Mapping[str, Any]] | None = None
    """New rows of metrics.jsonl and of eval_episodes.jsonl, for a window's curves; None where nobody wants them."""
    diagnosis: Diagnosis | None = None
    """Looks at every row."""
