"""What every agent is: a plain object that acts on a batch, takes transitions and learns in slices. No ECS here."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from ecs_rl.spaces import ActMode, Bools, Decision, Experience, Floats, PolicySpec

if TYPE_CHECKING:
    import torch

Kind = Literal["probabilities", "values", "levers", "mixture"]
"""What the numbers of a PolicyOutput are; in a mixture probabilities and levers, part by part."""


@dataclass(frozen=True, slots=True)
class PolicyOutput:
    """What an agent thinks of each row of a batch."""

    kind: Kind
    does: Floats
    """(rows, actions), in the order of the spec: each choice's probability or its value, or each lever's mean."""
    spread: Floats | None
    """(actions,), or (rows, actions) where rows differ: the standard deviation of each lever, NaN for a choice beside
    levers; None where there is no lever."""
    value: NDArray[np.float64]
    """(rows,) The discounted return expected from here on, in the reward's own units; NaN where it is not known."""


State = dict[str, "torch.Tensor"]


class Agent(Protocol):
    """The interface that the session, the world and the run writer use."""

    name: str
    spec: PolicySpec

    def act(self, observation: Floats, mode: ActMode, state: Floats | None = None) -> Decision:
        """Return the decision for every row; nothing but the random streams changes in the agent."""

    def observe(self, experience: Experience) -> None:
        """Take complete transitions, the extras of their decision included; copies what it keeps."""

    def learn(self, progress: float) -> Iterator[None]:
        """Update if enough has been gathered, yielding between minibatches; `progress` is the schedule's share done."""

    def metrics(self) -> Mapping[str, float]:
        """Return the newest numbers of learning by name (`loss/policy`, `entropy`, ...), empty before the first."""

    def is_finite(self) -> bool:
        """Tell whether every parameter is a finite number."""

    def policy_state(self) -> State:
        """Return all that acting needs: parameters and normaliser, under stable names; copies."""

    def load_policy_state(self, state: State) -> None:
        """Take over a policy saved by `policy_state`; refuses other names or shapes with CheckpointError."""

    def state(self) -> State:
        """Return all that continuing exactly needs (optimiser, buffers, random state, counters too); copies."""

    def load_state(self, state: State) -> None:
        """Continue exactly where `state` was taken."""

    def parameters_sha256(self) -> str:
        """Return the SHA-256 of the policy's parameters in a fixed order."""


@runtime_checkable
class Introspectable(Protocol):
    """An agent that lets others look into its mind; not every agent does."""

    @property
    def discount(self) -> float:
        """What a reward one tick later counts for."""

    def introspect(self, observation: Floats, state: Floats | None = None) -> PolicyOutput:
        """Return what the agent thinks of each row, any number of them; nothing in the agent changes.

        One that remembers is told (rows, state) of what it remembered as it saw that.
        """


@runtime_checkable
class Restartable(Protocol):
    """An agent that can go on learning from an earlier policy of its own; not every agent can."""

    def restart(self, policy: State) -> None:
        """Take over a policy saved by `policy_state`, with a new optimiser; what it remembers besides stays."""


@dataclass(frozen=True, eq=False)
class Demonstration:
    """One episode as somebody played it, of one agent."""

    seed: int
    observation: Floats
    """(ticks, numbers) What was seen before each decision."""
    action: NDArray[Any]
    """(ticks,) whole numbers for a lone choice, (ticks, columns) otherwise."""
    reward: Floats
    """(ticks,)"""
    imitated: Bools
    """(ticks,) Which of the decisions are to be imitated; a policy may have made the others."""
    terminated: bool
    """Ended by a rule of the scene, not by time or by whoever played."""
    result: float
    """What stands for the episode: its score, or its return."""
    terms: Mapping[str, Floats] = field(default_factory=dict)
    """(ticks,) What each named term of the reward earned; empty where that is not known."""

    def __len__(self) -> int:
        return len(self.action)


@runtime_checkable
class Imitating(Protocol):
    """An agent that can begin by imitating somebody; not every agent can."""

    def imitate(self, episodes: Sequence[Demonstration]) -> float:
        """Learn to act as in the episodes before the first step; return the share of their actions that is best now."""


@runtime_checkable
class LearnsOffline(Protocol):
    """An agent that can learn from recorded episodes without acting; not every agent can."""

    def remember(self, episodes: Sequence[Demonstration], *, stay: bool = False) -> None:
        """Store all transitions of the episodes; CommandError, with nothing stored, if they do not all fit.

        With `stay` they stay while the agent acts, and may fill half of its memory.
        """

    def study(self, steps: int) -> None:
        """Let `learn` take so many gradient steps more, if anything is stored."""


@runtime_checkable
class SharesOut(Protocol):
    """An agent that can go on where another number of processes stopped; not every agent can."""

    def share_out(self, states: Sequence[State], rank: int, size: int) -> None:
        """Go on as process `rank` of `size`, given the `state` of each process that saved.

        What they gathered for the next update is dropped.
        """


def output_of(agent: Agent, observation: Floats, state: Floats | None = None) -> PolicyOutput | None:
    """Return what an agent thinks of each row, None if it lets nobody look; `state` is for one that remembers."""
    if not isinstance(agent, Introspectable):
        return None
    remembers = state is not None and state.shape[1]
    return agent.introspect(observation, state) if remembers else agent.introspect(observation)
