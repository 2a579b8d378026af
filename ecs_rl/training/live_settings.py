"""Settings that may change between two ticks of a training: each change is told, saved, and can be made again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ecs_rl.agents.base import Agent
from ecs_rl.agents.config import Slider
from ecs_rl.components import RewardWeights
from ecs_rl.errors import CommandError, nearest
from ecs_rl.runs.rows import Change

if TYPE_CHECKING:
    from ecs_rl.world import World

WEIGHT = "weight/"
"""How the weight of a reward term is named, before the term's own name."""
HEAVIEST = 1000.0
WEIGHTS = Slider(0.0, 4.0, notch=0.025)
"""The slider of every reward term's weight."""


def _sliders(agent: Agent) -> Mapping[str, Slider]:
    """Return the settings of an agent that may change, but for those of what it does not do."""
    actions = agent.spec.actions
    does = {"": True, "levers": actions.levers > 0, "choices": actions.levers < actions.columns}
    sliders: Mapping[str, Slider] = getattr(getattr(agent, "config", None), "sliders", {})
    return {name: slider for name, slider in sliders.items() if does[slider.needs]}


class LiveSettings:
    """What may change, what has changed, and what is still to be changed at which step."""

    def __init__(self, agents: Mapping[str, Agent], world: World) -> None:
        self._agents: list[tuple[Any, Mapping[str, Slider]]] = [(agent, _sliders(agent)) for agent in agents.values()]
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
        return [*dict.fromkeys(name for _, sliders in self._agents for name in sliders), *self._weights()]

    def _weights(self) -> list[str]:
        return [f"{WEIGHT}{term}" for term in self._terms]

    def slider(self, name: str) -> Slider:
        """Return how far a slider goes."""
        return next((sliders[name] for _, sliders in self._agents if name in sliders), WEIGHTS)

    def now(self, name: str) -> float:
        """Return what a setting is; of the learning rate, before its schedule."""
        if name.startswith(WEIGHT):
            return self.changed.get(name, 1.0)
        agent, slider = next((agent, sliders[name]) for agent, sliders in self._agents if name in sliders)
        return float(getattr(agent, name, getattr(agent.config, (slider.fields or (name,))[-1])))

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
        for agent, sliders in self._agents:
            if name in sliders:
                agent.config = replace(agent.config, **dict.fromkeys(sliders[name].fields or (name,), value))
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
