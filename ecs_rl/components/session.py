"""The session in the world: where each tick's transitions and episode ends go."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ecs_rl.session import EpisodeRecord, TrainingSession


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
    play: Callable[[Sequence[int]], Generator[None, None, list[EpisodeRecord]]]
    """Plays a greedy episode for each seed, in a world of its own, a tick at a time; returns the records."""
    solved_at: float | None
    taken_at: int = 0
    """Steps at the last evaluation."""
    last: float | None = None
    """Mean return of the last evaluation."""
    solved_step: int | None = None
    solved_second: float | None = None
    """Training time, evaluation left out, before the evaluation that first reached `solved_at`."""


@dataclass(slots=True)
class Films:
    """When the policy is filmed. Written by film."""

    every: int
    """Steps between two clips."""
    milestones: tuple[int, ...]
    """Steps at which there is a clip in any case, the last one at the end: one film of all learning is made of them."""
    shoot: Callable[[int], Iterator[None]] | None = None
    """Films a greedy episode of the policy of this step, a picture at a time; None while there is no run."""
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
    listeners: list[Callable[[Mapping[str, Any]], None]] = field(default_factory=list)
    """Are handed each new row of metrics.jsonl and of eval_episodes.jsonl in memory, such as the window's curves."""
