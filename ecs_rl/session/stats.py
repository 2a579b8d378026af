"""Running statistics over episodes: each is a source (which number) and an aggregator (what to make of it)."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Self, cast

from ecs_rl.errors import CheckpointError
from ecs_rl.records import END, EpisodeRecord
from ecs_rl.session.aggregators import Aggregator, Count, Resumable, RollingMax, RollingMean, RollingStd

Source = Callable[[EpisodeRecord], float]


def TotalReward() -> Source:
    """Return the source of each episode's sum of rewards."""
    return attrgetter("total_reward")


def Length() -> Source:
    """Return the source of each episode's steps."""
    return attrgetter("length")


@dataclass(frozen=True)
class Extra:
    """One of the episode's extras, by name."""

    name: str

    def __call__(self, record: EpisodeRecord) -> float:
        """Return it, NaN if this episode has none."""
        return record.extras.get(self.name, math.nan)


@dataclass(frozen=True)
class EndedBy:
    """Whether a rule ended the episode: its share where several did; of no rule, without a name."""

    name: str = ""

    def __call__(self, record: EpisodeRecord) -> float:
        """Return the share, between 0 and 1."""
        if self.name and f"{END}{self.name}" not in record.extras:
            return 0.0
        endings = sum([name.startswith(END) for name in record.extras])
        return 1.0 / endings if self.name else float(not endings)


class StatsTracker:
    """Statistics by name; a number that is missing or not finite is left out, so it cannot poison a mean."""

    def __init__(self) -> None:
        self._stats: dict[str, tuple[Source, Aggregator]] = {}

    @classmethod
    def default(cls) -> Self:
        """Return what a learning curve needs: return and its spread over the last 100 episodes, length, episodes."""
        return (
            cls()
            .with_stat("mean_return", TotalReward(), RollingMean(100))
            .with_stat("std_return", TotalReward(), RollingStd(100))
            .with_stat("max_return", TotalReward(), RollingMax(100))
            .with_stat("mean_length", Length(), RollingMean(100))
            .with_stat("episodes", Length(), Count())
        )

    def with_stat(self, name: str, source: Source, aggregator: Aggregator) -> Self:
        """Add a statistic and return the tracker itself."""
        if name in self._stats:
            raise ValueError(f"there is already a statistic '{name}'; choose another name")
        self._stats[name] = source, aggregator
        return self

    def update(self, *records: EpisodeRecord) -> None:
        """Take in finished episodes, in order."""
        for source, aggregator in self._stats.values():
            values = list(filter(math.isfinite, map(source, records)))
            add_many = getattr(aggregator, "add_many", None)  # an aggregator of somebody else's need not have it
            if add_many is not None:
                add_many(values)
                continue
            for value in values:
                aggregator.add(value)

    def summary(self) -> dict[str, float]:
        """Return every statistic by name, NaN where there was no value yet."""
        return {name: aggregator.value() for name, (_, aggregator) in self._stats.items()}

    def state(self) -> dict[str, list[float]]:
        """Return what every aggregator knows; one that cannot tell (somebody's own) begins anew after a resume."""
        states = {name: getattr(aggregator, "state", None) for name, (_, aggregator) in self._stats.items()}
        return {name: state() for name, state in states.items() if state is not None}

    def restore(self, state: Mapping[str, Sequence[float]]) -> None:
        """Go on from there, with the statistics that there are now."""
        for name, (_, aggregator) in self._stats.items():
            if name not in state:
                continue
            try:
                cast(Resumable, aggregator).restore(state[name])
            except (IndexError, ValueError, OverflowError) as error:
                raise CheckpointError(
                    f"the saved statistic '{name}' cannot go on from {len(state[name])} numbers: {error}; "
                    "use another checkpoint"
                ) from error
