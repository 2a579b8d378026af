"""The scene of a Gymnasium environment: one agent whose observations, rewards and ends the environment gives."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, cast

from numpy.typing import NDArray

from ecs_rl.environments.action_mask import NAME as MASK
from ecs_rl.environments.environment import PREFIX, Environment, environment_of, name_of
from ecs_rl.environments.environment_recipes import recipes_for
from ecs_rl.environments.gym_engine import GymEngine
from ecs_rl.scene.agents import AgentSpec
from ecs_rl.scene.allowed import Allowed
from ecs_rl.scene.arena import Arena
from ecs_rl.scene.scene import Scene
from ecs_rl.scene.sensors import Sensor
from ecs_rl.spaces import ActionSpace, Picture


def load_environment(reference: str) -> Scene:
    """Return the scene that `gym:ID` names; CommandError where there is none, or none that can be trained."""
    environment = environment_of(reference.removeprefix(PREFIX))
    levers = environment.actions.levers > 0
    return Scene(
        about=f"Gymnasium's {environment.id}.",
        max_ticks=environment.max_ticks,
        solved_at=environment.solved_at,
        dt=1 / environment.fps,
        recipes=recipes_for(environment.id, levers=levers, pictures=environment.pixels is not None),
        name=name_of(environment.id),
        reference=PREFIX + environment.id,
        build=partial(_describe, environment),
        engine=partial(GymEngine, environment),
    )


@dataclass(frozen=True)
class Does:
    """The controls of an agent that acts outside of any physics."""

    space: ActionSpace
    effects: tuple[Any, ...] = ()
    description: str = "an environment's actions"

    def bind(self, column: NDArray[Any], note: object) -> None:
        """Do nothing: the actions go to the environments as they are."""


class Sees(Sensor):
    """The names of what an environment shows; its engine writes the numbers."""

    def __init__(self, names: tuple[str, ...], layout: Picture | None) -> None:
        self.names, self.layout = names, layout


class SeesAllowed(Allowed):
    """The names of an environment's `action_mask`; its engine writes the numbers."""

    def __init__(self, environment: str, names: tuple[str, ...]) -> None:
        self.names, self.outputs = names, tuple(range(len(names)))
        self.source = f"'{PREFIX}{environment}' gave an {MASK} that"


def _describe(environment: Environment, arena: Arena) -> None:
    does = cast(Any, Does(environment.actions))
    layout = None if environment.pixels is None else environment.pixels.seen
    names, mask = environment.observations, environment.masked
    sees: tuple[Sensor, ...] = (
        Sees(names[: mask.start], layout),
        SeesAllowed(environment.id, names[mask]),
        Sees(names[mask.stop :], None),
    )
    sees = tuple(sensor for sensor in sees if sensor.names)
    arena.agents.append(AgentSpec("agent", "policy", sees, does, {"reward": _zero}, {"terminated": _never}))


def _zero() -> float:
    return 0.0  # an environment pays by itself


def _never() -> bool:
    return False  # and ends its episodes by itself
