"""The functions that stages call outside of a world. A world gets them when it is made."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass

from ecs_rl.records import EpisodeRecord

Records = list[EpisodeRecord]


def nothing() -> None:
    """Do nothing."""


def unchanged(records: Records) -> Records:
    """Return the records as they are."""
    return records


def own(steps: int, records: Records) -> list[tuple[int, Records]]:
    """Return the records of this process, if there are any, with the step at which they ended."""
    return [(steps, records)] if records else []


def same(mean: float) -> float:
    """Return the number as it is."""
    return mean


def no_lesson(records: Records) -> None:
    """Teach nothing."""


def no_film(steps: int) -> Iterator[None]:
    """Film nothing."""
    return iter(())


def no_episodes(seeds: Sequence[int]) -> Generator[None, None, Records]:
    """Play nothing."""
    yield from ()
    return []


@dataclass(frozen=True)
class Callbacks:
    """One function for each stage that calls one; the defaults do nothing."""

    render: Callable[[], None] = nothing
    """render: show the tick to a viewer. It must not change anything."""
    note: Callable[[Records], Records] = unchanged
    """tally: return the episodes that ended in this tick with what self-play rates them by."""
    gather: Callable[[int, Records], list[tuple[int, Records]]] = own
    """tally: return the episodes that ended in all processes and are to be taken in now, by the step of their end."""
    rate: Callable[[Records], Records] = unchanged
    """tally: return the episodes with the ratings of self-play."""
    teach: Callable[[Records], None] = no_lesson
    """tally: let the lessons take in the episodes."""
    agree: Callable[[], None] = nothing
    """tally: let all processes agree on what they do next."""
    trained: Callable[[float], float] = same
    """evaluate: return the mean result of the newest training episodes of all processes, given this one's."""
    evaluate: Callable[[Sequence[int]], Generator[None, None, Records]] = no_episodes
    """evaluate: play one greedy episode for each seed, in slices."""
    film: Callable[[int], Iterator[None]] = no_film
    """film: film the policy of this step, in slices."""
    lesson_metrics: Callable[[], dict[str, float]] = dict
    """write: return the step and value of each lesson by the name of its metric."""


NOTHING = Callbacks()
