"""Decisions of a plain loop: `act` returns levers that are clipped, `observe` learns from the draws as they were."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ecs_rl.spaces import Decision, Experience, Floats

NEWEST = 2
"""Decisions that are kept. A loop may act on what came of a transition before it observes that transition."""


@dataclass(frozen=True)
class Decided:
    """A decision of one policy, what it saw, and the action that the loop received."""

    observation: Floats
    decision: Decision
    """As the agent made it: its action is not clipped."""
    action: NDArray[Any]

    def led_to(self, experience: Experience) -> bool:
        """Return whether these transitions follow from this decision."""
        seen = np.asarray(experience.observation, np.float32)
        return np.array_equal(self.observation, seen) and np.array_equal(self.action, experience.action)

    def completed(self, experience: Experience) -> Experience:
        """Return the transitions with the extras of the decision and, where the action is its own, the raw draw."""
        raw, given = self.decision.action, np.asarray(experience.action)
        if given.shape == self.action.shape:
            own = (given == self.action).reshape(len(given), -1).all(1)
            own = own.reshape(-1, *[1] * (given.ndim - 1))
            raw = raw if own.all() else np.where(own, raw, given).astype(raw.dtype)
            experience = replace(experience, action=raw)
        return replace(experience, extras=self.decision.extras)


class Decisions:
    """The newest exploring decisions of a plain loop, one for each policy."""

    def __init__(self) -> None:
        self._newest: deque[tuple[Decided, ...]] = deque(maxlen=NEWEST)

    def add(self, seen: Sequence[Floats], decisions: Sequence[Decision], actions: Sequence[NDArray[Any]]) -> None:
        """Keep copies of what the policies saw, of what they decided, and of the actions that the loop receives."""
        own = (replace(each, action=np.array(each.action)) for each in decisions)
        rows = zip(seen, own, actions, strict=True)
        self._newest.append(tuple(Decided(np.array(x), decision, action.copy()) for x, decision, action in rows))

    def completed(self, several: tuple[Experience, ...]) -> tuple[Experience, ...]:
        """Return transitions as the agents learn from them; those that bring extras of their own stay as they are.

        They belong to the decision with their observations and actions, or else to the newest one.
        """
        if not self._newest:
            return several
        decided = next(
            (
                every
                for every in reversed(self._newest)
                if all(decision.led_to(experience) for decision, experience in zip(every, several, strict=True))
            ),
            self._newest[-1],
        )
        return tuple(
            experience if experience.extras else decision.completed(experience)
            for decision, experience in zip(decided, several, strict=True)
        )
