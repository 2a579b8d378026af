"""How the evaluations of a training have gone: how long ago the best was, and whether the policy has collapsed."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

LEAST_SHARE = 0.2
"""Share of what the best evaluation had gained; one that kept less of it is low."""
IN_A_ROW = 10
"""So many low evaluations, one after the other, are a collapse."""


@dataclass
class Trend:
    """What one evaluation after the other came to; all numbers are scores, or mean returns where a scene has no score.

    An evaluation is low if it kept less than a fifth of what the best one had gained over the start of the training,
    and if the best one lies further above it than its episodes scatter (their standard deviation). The policy has
    collapsed when the newest ten evaluations are low without exception.
    """

    start: float | None = None
    """What learning began with: the first evaluation, or the training episodes before it where those were worse."""
    best: float | None = None
    best_return: float | None = None
    """The mean return of the best evaluation, None where it is not known."""
    since_best: int = 0
    """Evaluations since the first one with the best score."""
    low: int = 0
    """How many of the newest evaluations in a row are low."""
    restored: int = 0
    """How often the best policy was taken up again."""
    own_best: dict[str, float] = field(default_factory=dict)
    """The best mean return of each agent, where there are several: opponents are seldom at their best together."""
    own_step: dict[str, int] = field(default_factory=dict)
    """The steps after which they earned it."""

    @property
    def collapsed(self) -> bool:
        """Whether the policy has collapsed."""
        return self.low >= IN_A_ROW

    def add(
        self, score: float, spread: float, trained: float, *, mean_return: float | None = None, newest: bool = False
    ) -> bool:
        """Take in an evaluation and return whether its policy is the best so far.

        `spread` is the standard deviation of its episodes, `trained` the mean of the latest training episodes (NaN if
        unknown). Of equal scores the greater mean return is better, and of equal returns the later policy. With
        `newest` it is the best whatever its score: where agents are opponents, scores say nothing.
        """
        if not math.isfinite(score):
            self.since_best += 1
            return False
        if self.start is None:
            self.start = min(score, trained) if math.isfinite(trained) else score
        if newest or self.best is None or score > self.best:
            self.best, self.best_return, self.since_best, self.low = score, mean_return, 0, 0
            return True
        self.since_best += 1
        is_low = score < self.start + LEAST_SHARE * (self.best - self.start) and score + spread < self.best
        self.low = self.low + 1 if is_low else 0
        if score == self.best and not is_less(mean_return, self.best_return):
            self.best_return = mean_return
            return True
        return False

    def add_own(self, returns: Mapping[str, float], step: int) -> list[str]:
        """Take in what each agent earned in an evaluation after so many steps; return whose best it is so far."""
        better = [
            agent
            for agent, value in returns.items()
            if math.isfinite(value) and value > self.own_best.get(agent, -math.inf)
        ]
        for agent in better:
            self.own_best[agent], self.own_step[agent] = returns[agent], step
        return better

    def restore(self) -> None:
        """Note that the best policy was taken up again: what was low before it does not count any more."""
        self.low, self.restored = 0, self.restored + 1


def is_less(mean_return: float | None, other: float | None) -> bool:
    """Return whether a mean return is less than another one; False where either is not known."""
    return mean_return is not None and other is not None and mean_return < other
