"""Every scene as a Gymnasium environment: `gymnasium.make("ecs_rl/Lander-v0")` and `make_vec`, once this is imported.

A scene file of one's own: `gymnasium.make("ecs_rl/Scene-v0", scene="my_scene.py")`. An episode's time limit is the
scene's own, so the registered environments have none.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import gymnasium
import numpy as np
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from ecs_rl.adapters.gym_spaces import action_space, mask_info, observation_space, world_action
from ecs_rl.adapters.stepping import Stepper
from ecs_rl.components import EndRules
from ecs_rl.errors import SceneError
from ecs_rl.scene.scene import Scene
from ecs_rl.shipped import scene_names
from ecs_rl.spaces import Floats, PolicySpec

MODES = ("rgb_array", "human")
Info = dict[str, Any]


class SceneEnv(gymnasium.Env[Floats, Any]):
    """One arena of a scene whose one agent is driven from outside."""

    metadata: dict[str, Any] = {"render_modes": list(MODES), "render_fps": 50}

    def __init__(self, scene: str | Scene, *, render_mode: str | None = None) -> None:
        self._stepper, self._policy = opened(scene, 1, render_mode, MODES)
        world = self._stepper.world
        self.render_mode = render_mode
        self.metadata = {**self.metadata, "render_fps": round(1 / world.scene.dt)}
        self.observation_space, self.action_space = observation_space(self._policy), action_space(self._policy.actions)
        self._ends = world.one(EndRules)
        self._has_begun = False
        """Whether the world stands at the beginning of an episode that nobody has seen."""

    def reset(self, *, seed: int | None = None, options: Mapping[str, Any] | None = None) -> tuple[Floats, Info]:
        """Begin an episode; the same seed gives the same episodes from there on."""
        super().reset(seed=seed)
        seen = self._stepper.reset([seed], again=not self._has_begun)[self._policy.name][0]
        self._has_begun = False
        self._show()
        return seen, mask_info(self._policy, seen)

    def step(self, action: Any) -> tuple[Floats, float, bool, bool, Info]:
        """Take one decision; at an episode's end the info names the rules that ended it (`ended_by`).

        Where the scene forbids options, `action_mask` says which are allowed now.
        """
        actions = {self._policy.name: world_action(self._policy.actions, action, 1)}
        rows = self._stepper.step(actions)[self._policy.name]
        terminated, truncated = bool(rows.terminated[0]), bool(rows.truncated[0])
        self._has_begun = terminated or truncated
        info: Info = mask_info(self._policy, rows.following[0])
        info |= {"ended_by": self._ended_by()} if self._has_begun else {}
        self._show()
        return rows.following[0], float(rows.reward[0]), terminated, truncated, info

    def _ended_by(self) -> list[str]:
        reasons = self._stepper.world.reasons
        return [name for name, held in zip(reasons, self._ends.fired[:, 0], strict=True) if held]

    def render(self) -> NDArray[np.uint8] | None:
        """Return the picture of this moment (`rgb_array`); a window shows itself."""
        picture = self._stepper.picture
        return picture.pixels(0) if picture is not None and self.render_mode == "rgb_array" else None

    def _show(self) -> None:
        picture = self._stepper.picture
        if picture is not None and self.render_mode == "human":
            picture.show(0, self._stepper.world.scene.dt)

    def close(self) -> None:
        """Give the world, and the window, back."""
        self._stepper.close()
        super().close()


class SceneVectorEnv(gymnasium.vector.VectorEnv[Floats, Any, Any]):
    """Many arenas of a scene in one world, without a loop over them; one that ends begins again in the same step."""

    metadata: dict[str, Any] = {
        "render_modes": ["rgb_array"],
        "render_fps": 50,
        "autoreset_mode": gymnasium.vector.AutoresetMode.SAME_STEP,
    }

    def __init__(
        self, scene: str | Scene, *, num_envs: int = 1, threads: int = 1, render_mode: str | None = None
    ) -> None:
        self._stepper, self._policy = opened(scene, num_envs, render_mode, MODES[:1], threads)
        self.num_envs, self.render_mode = num_envs, render_mode
        self.metadata = {**self.metadata, "render_fps": round(1 / self._stepper.world.scene.dt)}
        self.single_observation_space = observation_space(self._policy)
        self.single_action_space = action_space(self._policy.actions)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)

    def reset(
        self, *, seed: int | Sequence[int | None] | None = None, options: Mapping[str, Any] | None = None
    ) -> tuple[Floats, Info]:
        """Begin episodes, all or those of `options["reset_mask"]`; a seed alone counts up from the first arena."""
        if isinstance(seed, (int, np.integer)):
            seed = [int(seed) + i for i in range(self.num_envs)]
        if seed is not None and len(seed) != self.num_envs:
            raise ValueError(f"{self.num_envs} environments need as many seeds, not {len(seed)}")
        mask = (options or {}).get("reset_mask")
        if mask is not None and (np.shape(mask) != (self.num_envs,) or np.asarray(mask).dtype != bool):
            raise ValueError(f"options['reset_mask'] must be {self.num_envs} truths")
        seen = self._stepper.reset(seed, mask)[self._policy.name]
        return seen, mask_info(self._policy, seen)

    def step(self, actions: Any) -> tuple[Floats, NDArray[np.float64], NDArray[np.bool_], NDArray[np.bool_], Info]:
        """Take one decision in every arena; `final_obs` in the infos is the last sight of the episodes that ended."""
        rows = self._stepper.step({self._policy.name: world_action(self._policy.actions, actions, self.num_envs)})
        results = rows[self._policy.name]
        ended, infos = results.terminated | results.truncated, mask_info(self._policy, results.seen)
        if ended.any():
            infos |= {"final_obs": results.following, "_final_obs": ended}
        return results.seen, results.reward.astype(np.float64), results.terminated, results.truncated, infos

    def render(self) -> tuple[NDArray[np.uint8], ...] | None:
        """Return a picture of each arena."""
        picture = self._stepper.picture
        return None if picture is None else tuple(picture.pixels(i) for i in range(self.num_envs))

    def close_extras(self, **kwargs: Any) -> None:
        """Give the world back."""
        self._stepper.close()


def opened(
    scene: str | Scene, arenas: int, render_mode: str | None, modes: Sequence[str], threads: int = 1
) -> tuple[Stepper, PolicySpec]:
    """Return the arenas of a scene, and what its one agent sees and does; SceneError if it has several."""
    if render_mode is not None and render_mode not in modes:
        raise ValueError(f"render_mode '{render_mode}' is not there: {' or '.join(modes)}")
    stepper = Stepper(scene, arenas, threads=threads, pictures=render_mode is not None)
    agents = stepper.world.arena.agents
    if len(agents) > 1 or agents[0].count is not None:
        stepper.close()
        name = stepper.world.scene.name
        raise SceneError(
            f"'{name}' has several agents, and a Gymnasium environment has one: "
            f"use ecs_rl.adapters.pettingzoo.parallel_env('{name}')"
        )
    (batch,) = stepper.world.batches
    return stepper, batch.spec


def environment_id(scene: str) -> str:
    """Return the name of a shipped scene's environment: `ecs_rl/MyScene-v0` for `my_scene`."""
    return f"ecs_rl/{''.join(word.capitalize() for word in scene.split('_'))}-v0"


def register() -> None:
    """Make all shipped scenes, and `ecs_rl/Scene-v0` for any file, known to Gymnasium."""
    here: dict[str, Any] = {"entry_point": f"{__name__}:SceneEnv", "vector_entry_point": f"{__name__}:SceneVectorEnv"}
    for scene in scene_names():
        if environment_id(scene) not in gymnasium.registry:
            gymnasium.register(environment_id(scene), **here, kwargs={"scene": scene})
    if "ecs_rl/Scene-v0" not in gymnasium.registry:
        gymnasium.register("ecs_rl/Scene-v0", **here)


register()
