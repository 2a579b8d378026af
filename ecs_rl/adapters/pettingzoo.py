"""Scenes with several agents by PettingZoo's parallel API: `parallel_env("soccer")`.

Agents have the names they have in the scene, the members of a kind `player 0`, `player 1`, ... One that is out, by an
end of its own or because it left, is done until the next `reset`, also where the scene would let it come back.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray
from pettingzoo import ParallelEnv

from ecs_rl.adapters.gym import MODES
from ecs_rl.adapters.gym_spaces import action_space, mask_info, observation_space, world_action
from ecs_rl.adapters.stepping import Rows, Stepper
from ecs_rl.scene.scene import Scene
from ecs_rl.spaces import Floats, PolicySpec

Info = dict[str, Any]


class SceneParallelEnv(ParallelEnv[str, Floats, Any]):
    """One arena of a scene, each of whose agents is driven from outside."""

    metadata: dict[str, Any] = {"name": "ecs_rl", "render_modes": list(MODES), "is_parallelizable": True}

    def __init__(self, scene: str | Scene, *, render_mode: str | None = None) -> None:
        if render_mode is not None and render_mode not in MODES:
            raise ValueError(f"render_mode '{render_mode}' is not there: {' or '.join(MODES)}")
        self._stepper = Stepper(scene, 1, pictures=render_mode is not None)
        world = self._stepper.world
        self.metadata = {**self.metadata, "name": world.scene.name, "render_fps": round(1 / world.scene.dt)}
        self.render_mode = render_mode
        self._places: dict[str, tuple[PolicySpec, int]] = {}
        """Each agent's policy, and its row there."""
        for batch in world.batches:
            for slot in batch.slots:
                names = [slot.spec.name]
                if slot.spec.count is not None:
                    names = [f"{slot.spec.name} {member}" for member in range(slot.spec.count)]
                self._places |= {name: (batch.spec, slot.rows.start + i) for i, name in enumerate(names)}
        self.possible_agents = list(self._places)
        self.agents: list[str] = []
        self._has_begun = False
        """Whether the world stands at the beginning of an episode that nobody has seen."""

    def observation_space(self, agent: str) -> spaces.Space[Any]:
        """Return what an agent sees."""
        return self._spaces(agent)[0]

    def action_space(self, agent: str) -> spaces.Space[Any]:
        """Return what an agent does."""
        return self._spaces(agent)[1]

    def _spaces(self, agent: str) -> tuple[spaces.Space[Any], spaces.Space[Any]]:
        by_agent: dict[str, tuple[spaces.Space[Any], spaces.Space[Any]]] = self.__dict__.setdefault("_kept", {})
        if agent not in by_agent:  # the same object each time: whoever seeds it samples from it
            spec = self._places[agent][0]
            by_agent[agent] = observation_space(spec), action_space(spec.actions)
        return by_agent[agent]

    def reset(
        self, seed: int | None = None, options: Mapping[str, Any] | None = None
    ) -> tuple[dict[str, Floats], dict[str, Info]]:
        """Begin an episode for everybody; the same seed gives the same episodes from there on."""
        seen = self._stepper.reset([seed], again=not self._has_begun)
        self._has_begun, self.agents = False, list(self.possible_agents)
        self._show()
        observations = {name: seen[spec.name][row] for name, (spec, row) in self._places.items()}
        return observations, {name: mask_info(self._places[name][0], each) for name, each in observations.items()}

    def step(
        self, actions: Mapping[str, Any]
    ) -> tuple[dict[str, Floats], dict[str, float], dict[str, bool], dict[str, bool], dict[str, Info]]:
        """Take one decision for everybody who is still there; return what came of it for each of them."""
        acting, stepper = self.agents, self._stepper
        results = stepper.step({batch.name: self._batch(batch.spec, actions) for batch in stepper.world.batches})
        rows = {name: (results[self._places[name][0].name], self._places[name][1]) for name in acting}
        terminated = {name: bool(of.terminated[row]) for name, (of, row) in rows.items()}
        truncated = {name: bool(of.truncated[row]) for name, (of, row) in rows.items()}
        over = stepper.ended
        for name, (of, row) in rows.items():
            # Who left without a word is out; when the episode is over everybody's is.
            terminated[name] |= not truncated[name] and (over or _is_out(of, row))
        self.agents = [name for name in acting if not (terminated[name] or truncated[name])]
        self._has_begun = over
        self._show()
        seen = {name: of.following[row] for name, (of, row) in rows.items()}
        rewards = {name: float(of.reward[row]) for name, (of, row) in rows.items()}
        infos = {name: mask_info(self._places[name][0], each) for name, each in seen.items()}
        return seen, rewards, terminated, truncated, infos

    def _batch(self, spec: PolicySpec, actions: Mapping[str, Any]) -> NDArray[Any]:
        """Return a policy's actions, those of agents that are out being nothing."""
        batch = next(each for each in self._stepper.world.batches if each.name == spec.name)
        whole = spec.actions.none(batch.rows)
        for name in self.agents:
            own, row = self._places[name]
            if own.name == spec.name:
                if name not in actions:
                    raise ValueError(f"'{name}' is still there: give it an action")
                whole[row] = world_action(spec.actions, actions[name], 1)[0]
        return whole

    def render(self) -> NDArray[np.uint8] | None:
        """Return the picture of this moment (`rgb_array`); a window shows itself."""
        picture = self._stepper.picture
        return picture.pixels(0) if picture is not None and self.render_mode == "rgb_array" else None

    def _show(self) -> None:
        if self._stepper.picture is not None and self.render_mode == "human":
            self._stepper.picture.show(0, self._stepper.world.scene.dt)

    def close(self) -> None:
        """Give the world, and the window, back."""
        self._stepper.close()


def _is_out(of: Rows, row: int) -> bool:
    return not of.valid[row]


def parallel_env(scene: str | Scene, *, render_mode: str | None = None) -> SceneParallelEnv:
    """Return a scene as a parallel environment: a shipped scene's name, or a scene file."""
    return SceneParallelEnv(scene, render_mode=render_mode)
