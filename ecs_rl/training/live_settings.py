"""Settings that may change between two ticks of a training: each change is told, saved, and can be made again."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from ecs_rl.agents.base import Agent
from ecs_rl.components import RewardWeights
from ecs_rl.errors import CommandError, nearest
from ecs_rl.runs.rows import Change

if TYPE_CHECKING:
    from ecs_rl.world import World

WEIGHT = "weight/"
"""How the weight of a reward term is named, before the term's own name."""
HEAVIEST = 1000.0
TUNABLE: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "ppo": {"lr": ("lr",), "entropy": ("entropy",)},
    "dqn": {"lr": ("lr",), "epsilon": ("epsilon_start", "epsilon_end")},
    "sac": {"lr": ("lr",), "lever_entropy": ("lever_entropy",), "choice_entropy": ("choice_entropy",)},
}
"""What may change of each algorithm that reads its `config` anew in every update, and the fields that become it."""


@dataclass(frozen=True)
class Reach:
    """The numbers that a slider gives a setting; the command line and a file may go further."""

    low: float
    high: float
    power: float = 1.0
    """How much finer it is at the low end; 0 is a scale on which each step is a factor."""
    notch: float = 0.02
    """Share of the slider by which a key changes it."""

    def value(self, share: float) -> float:
        """Return the number at a share of the slider, with three digits."""
        share = min(max(share, 0.0), 1.0)
        if not self.power:
            return float(f"{self.low * (self.high / self.low) ** share:.3g}")
        return float(f"{self.low + (self.high - self.low) * share**self.power:.3g}")

    def share(self, value: float) -> float:
        """Return where on the slider a number is."""
        if not self.power:
            return min(max(math.log(max(value, self.low) / self.low) / math.log(self.high / self.low), 0.0), 1.0)
        return float(min(max((value - self.low) / (self.high - self.low), 0.0), 1.0) ** (1.0 / self.power))


REACHES: Mapping[str, Reach] = {
    "lr": Reach(1e-6, 0.1, power=0.0),
    "entropy": Reach(0.0, 0.2, power=2.0),
    "epsilon": Reach(0.0, 1.0),
    "lever_entropy": Reach(-5.0, 0.69),
    "choice_entropy": Reach(0.0, 1.0),
}


def _tunable(agent: Agent) -> Mapping[str, tuple[str, ...]]:
    """Return what may change of an agent, but for the entropy of what it does not do."""
    actions = agent.spec.actions
    lacks = {"lever_entropy": not actions.levers, "choice_entropy": actions.levers == actions.columns}
    return {name: fields for name, fields in TUNABLE.get(agent.name, {}).items() if not lacks.get(name)}


class LiveSettings:
    """What may change, what has changed, and what is still to be changed at which step."""

    def __init__(self, agents: Mapping[str, Agent], world: World) -> None:
        self._agents: list[tuple[Any, Mapping[str, tuple[str, ...]]]] = [
            (agent, _tunable(agent)) for agent in agents.values() if hasattr(agent, "config")
        ]
        self._world = world
        self._terms = world.terms if "judge" in world.stages else ()  # Gymnasium's environments pay by themselves
        self.changed: dict[str, float] = {}
        """The settings that are not as the training began, by name."""
        self.planned: list[Change] = []
        """In the order of their steps."""
        self.first = {name: self.now(name) for name in self.names}
        """What all settings were as the training began, or, if it was resumed, as its command says."""

    @property
    def names(self) -> list[str]:
        """What may be changed: settings of the agents, and the weight of each reward term."""
        return [*dict.fromkeys(name for _, tunable in self._agents for name in tunable), *self._weights()]

    def _weights(self) -> list[str]:
        return [f"{WEIGHT}{term}" for term in self._terms]

    def reach(self, name: str) -> Reach:
        """Return how far a slider goes."""
        return REACHES.get(name, Reach(0.0, 4.0, notch=0.025))

    def now(self, name: str) -> float:
        """Return what a setting is; of the learning rate, before its schedule."""
        if name.startswith(WEIGHT):
            return self.changed.get(name, 1.0)
        agent, fields = next((agent, tunable[name]) for agent, tunable in self._agents if name in tunable)
        return float(getattr(agent, name, getattr(agent.config, fields[-1])))

    @property
    def weights_fit(self) -> bool:
        """Whether the world's reward weights are those that were set here, all others 1."""
        wanted = [self.now(name) for name in self._weights()]
        return not wanted or self._world.one(RewardWeights).value.tolist() == wanted

    def set(self, name: str, value: float) -> None:
        """Go by another number from the next tick on; CommandError if there is no such setting or it cannot be so."""
        if name not in self.names:
            raise CommandError(f"there is no setting '{name}' that may change here: {nearest(name, self.names)}")
        if name.startswith(WEIGHT):
            if not -HEAVIEST <= value <= HEAVIEST:
                raise CommandError(f"{name} must lie between {-HEAVIEST:g} and {HEAVIEST:g}, not {value:g}")
            self.changed[name] = value
            self._world.one(RewardWeights).value[self._weights().index(name)] = value
            return
        for agent, tunable in self._agents:
            if name in tunable:
                agent.config = replace(agent.config, **dict.fromkeys(tunable[name], value))
        self.changed[name] = value

    def plan(self, changes: Sequence[Change]) -> None:
        """Change these at the first tick at or past their steps; CommandError where one is not possible."""
        for change in changes:
            if change.name not in self.names:
                raise CommandError(
                    f"there is no setting '{change.name}' that may change here: {nearest(change.name, self.names)}"
                )
        self.planned = sorted([*self.planned, *changes], key=lambda change: change.step)

    def due(self, step: int) -> list[Change]:
        """Return what is to be changed at this step, and forget it."""
        due = [change for change in self.planned if change.step <= step]
        self.planned = self.planned[len(due) :]
        return due

    def restore(self, changed: Mapping[str, float], planned: Sequence[tuple[int, str, float]], step: int) -> None:
        """Go on from what was saved at a step; of what is planned already, what lies before that is over."""
        for name, value in changed.items():
            self.set(name, value)
        self.planned = [change for change in self.planned if change.step >= step]
        self.plan([Change(*each) for each in planned])
