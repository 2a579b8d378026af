"""What every agent is: a plain object that acts on a batch, takes transitions and learns in slices. No ECS here."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Any, Literal, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import torch

Floats = NDArray[np.float32]
Bools = NDArray[np.bool_]


class ActMode(Enum):
    """How an agent picks its action."""

    EXPLORE = "explore"
    """To learn: samples, and adds what the learner wants back."""
    SAMPLE = "sample"
    """As while exploring, from random numbers of its own, so that whoever watches changes nothing."""
    GREEDY = "greedy"
    """The best action as far as the agent knows: no randomness."""


@dataclass(frozen=True)
class Discrete:
    """One of `len(names)` choices; an action is a whole number."""

    names: tuple[str, ...]


@dataclass(frozen=True)
class Continuous:
    """A number between -1 and 1 for each name; what lies outside is clipped by the world, not by the agent."""

    names: tuple[str, ...]


@dataclass(frozen=True)
class PolicySpec:
    """What a policy sees and does, in all the rows of a batch."""

    observations: tuple[str, ...]
    """The name of each number in an observation, in order."""
    actions: Discrete | Continuous
    name: str = "policy"
    state: int = 0
    """Numbers that a recurrent policy remembers for each row; zero where an episode begins."""


@dataclass(frozen=True, slots=True)
class Decision:
    """What a policy decides for a batch: a function of its parameters, the observations and its state."""

    action: NDArray[Any]
    """(rows,) whole numbers for choices, (rows, actions) otherwise."""
    state: Floats | None = None
    """(rows, numbers) What a recurrent policy remembers from here on; None for the others."""
    extras: Mapping[str, Any] = field(default_factory=dict)
    """What its learner wants back with the transition, (rows, ...) each, by name: log-probability, value, ..."""


@dataclass(slots=True)
class Experience:
    """One tick's transitions, one row for each agent that decided; `terminated` and `truncated` are never both true."""

    observation: Floats
    """(rows, numbers) What the agent saw when it decided."""
    action: NDArray[Any]
    """(rows,) whole numbers for choices, (rows, actions) otherwise."""
    reward: Floats
    """(rows,)"""
    next_observation: Floats
    """(rows, numbers) What came of it, taken before a new episode starts."""
    terminated: Bools
    """(rows,) The episode ended by a rule of the scene: nothing more is to be earned."""
    truncated: Bools
    """(rows,) The episode was cut by its time limit: what would have come is what the agent expects."""
    valid: Bools | None = None
    """(rows,) False where the transition must not be learned from (an arena that exploded); None: all are good."""
    extras: Mapping[str, Any] = field(default_factory=dict)
    """What the decision carried for the learner."""


@dataclass(frozen=True, slots=True)
class PolicyOutput:
    """What an agent thinks of each row of a batch."""

    kind: Literal["probabilities", "values", "levers"]
    does: Floats
    """(rows, actions), in the order of the spec: each choice's probability or its value, or each lever's mean."""
    spread: Floats | None
    """(actions,) The standard deviation of each lever; None where an agent chooses."""
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

    def introspect(self, observation: Floats) -> PolicyOutput:
        """Return what the agent thinks of each row, any number of them; nothing in the agent changes."""


def output_of(agent: Agent, observation: Floats) -> PolicyOutput | None:
    """Return what an agent thinks of each row, None if it lets nobody look."""
    return agent.introspect(observation) if isinstance(agent, Introspectable) else None
