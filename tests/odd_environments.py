"""Gymnasium environments for tests, registered as this module is imported: `gym:odd_environments:Line-v0`."""

from __future__ import annotations

import random
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces

BOX = spaces.Box(-10.0, 10.0, (2,), np.float32)


class Line(gymnasium.Env[Any, Any]):
    """Stay near zero: an action from 2 to 6 moves a point, 4 holds it."""

    metadata = {"render_modes": ["rgb_array"], "render_fps": 20}  # noqa: RUF012
    observation_space: spaces.Space[Any] = BOX
    action_space: spaces.Space[Any] = spaces.Box(2.0, 6.0, (1,), np.float32)

    def __init__(self, render_mode: str | None = None) -> None:
        self.render_mode = render_mode
        self.given: list[Any] = []

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self.x, self.tick = self.np_random.uniform(-1.0, 1.0), 0
        return self.seen(), {}

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        self.given.append(action)
        assert self.action_space.contains(action), action
        self.tick += 1
        self.x += 0.1 * self.push(action) + 0.01 * self.np_random.normal()
        return self.seen(), self.earned(), abs(self.x) > 2.0, self.tick >= 40, {}

    def push(self, action: Any) -> float:
        return float(action[0]) - 4.0

    def seen(self) -> Any:
        return np.array([self.x, self.tick / 40], np.float32)

    def earned(self) -> Any:
        return 1.0 - abs(self.x)

    def render(self) -> Any:
        picture = np.full((40, 60, 3), 255, np.uint8)
        picture[:, round(30 + 10 * self.x) % 60] = 0
        return picture


class Mixed(Line):
    observation_space = spaces.Dict({"place": BOX, "side": spaces.Discrete(2)})
    action_space = spaces.MultiDiscrete([3, 2])

    def push(self, action: Any) -> float:
        return float(action[0]) - 1.0

    def seen(self) -> Any:
        return {"place": super().seen(), "side": int(self.x > 0)}


class Switches(Line):
    observation_space = spaces.Discrete(5)
    action_space = spaces.MultiBinary(2)

    def push(self, action: Any) -> float:
        return float(action[0]) - float(action[1])

    def seen(self) -> Any:
        return int(np.clip(round(self.x) + 2, 0, 4))


class FromOne(Line):
    action_space = spaces.Discrete(3, start=1)

    def push(self, action: Any) -> float:
        return float(action) - 2.0


class Forgetful(Line):
    """Draws random numbers that no seed sets."""

    def push(self, action: Any) -> float:
        return super().push(action) + random.gauss(0.0, 0.1)


class Endless(Line):
    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        seen, *_ = super().step(action)
        return seen, 1.0, False, False, {}


class Raises(Line):
    def earned(self) -> Any:
        if self.tick == 30:
            raise RuntimeError("the bearing broke")
        return 1.0


class Pays(Line):
    def earned(self) -> Any:
        return np.nan if self.tick == 30 else 1.0


class Blind(Line):
    def seen(self) -> Any:
        return super().seen() * (np.nan if self.tick == 30 else 1)


class Grows(Line):
    def seen(self) -> Any:
        return np.zeros(3 if self.tick == 30 else 2, np.float32)


class Looks(Line):
    observation_space = spaces.Box(0, 255, (40, 60, 3), np.uint8)


class Says(Line):
    observation_space = spaces.Sequence(spaces.Discrete(2))


class Unbounded(Line):
    action_space = spaces.Box(-np.inf, np.inf, (1,), np.float32)


class Nested(Line):
    action_space = spaces.Dict({"a": spaces.Discrete(2)})


class NoPicture(Line):
    metadata = {"render_modes": [], "render_fps": 20}  # noqa: RUF012


for _kind in (
    *(Line, Mixed, Switches, FromOne, Forgetful, Endless, Raises, Pays, Blind),
    *(Grows, Looks, Says, Unbounded, Nested, NoPicture),
):
    _id = f"{_kind.__name__}-v0"
    if _id not in gymnasium.registry:
        gymnasium.register(_id, entry_point=f"odd_environments:{_kind.__name__}", reward_threshold=20.0)
