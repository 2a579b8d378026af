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


class Catches(gymnasium.Env[Any, Any]):
    """Be below what falls: 0 goes left, 1 stays, 2 goes right. Shows (height, width, 3) of bytes and nothing else."""

    metadata = {"render_modes": ["rgb_array"], "render_fps": 20}  # noqa: RUF012
    size = (8, 8)
    observation_space: spaces.Space[Any] = spaces.Box(0, 255, (*size, 3), np.uint8)
    action_space: spaces.Space[Any] = spaces.Discrete(3)

    def __init__(self, render_mode: str | None = None) -> None:
        self.render_mode = render_mode

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self.x, self.fruit = self.np_random.integers(0, self.size[1], 2).tolist()
        self.y = 0
        return self.seen(), {}

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        self.x = int(np.clip(self.x + int(action) - 1, 0, self.size[1] - 1))
        self.y += 1
        over = self.y == self.size[0] - 1
        return self.seen(), float(over and abs(self.x - self.fruit) <= 1), over, False, {}

    def seen(self) -> Any:
        picture = np.zeros((*self.size, 3), np.uint8)
        picture[self.y, self.fruit, 0], picture[-1, self.x, 1] = 255, 255
        return picture

    def render(self) -> Any:
        return np.repeat(np.repeat(Catches.seen(self), 8, axis=0), 8, axis=1)


class CatchesGrey(Catches):
    """Shows (height, width)."""

    observation_space = spaces.Box(0, 255, (8, 8), np.uint8)

    def seen(self) -> Any:
        return super().seen().max(axis=2)


class CatchesFirst(Catches):
    """Shows (3, height, width)."""

    observation_space = spaces.Box(0, 255, (3, 8, 8), np.uint8)

    def seen(self) -> Any:
        return np.moveaxis(super().seen(), 2, 0)


class Wide(Catches):
    """Shows more than is seen: (130, 200, 3)."""

    size = (130, 200)
    observation_space = spaces.Box(0, 255, (130, 200, 3), np.uint8)


class Shrinks(Catches):
    def seen(self) -> Any:
        return super().seen()[: 8 if self.y < 5 else 7]


class Stacked(Line):
    observation_space = spaces.Box(0, 255, (4, 210, 160, 3), np.uint8)


class Looks(Line):
    observation_space = spaces.Dict({"eye": spaces.Box(0, 255, (84, 84, 3), np.uint8), "place": BOX})


class Says(Line):
    observation_space = spaces.Sequence(spaces.Discrete(2))


class Unbounded(Line):
    action_space = spaces.Box(-np.inf, np.inf, (1,), np.float32)


class Nested(Line):
    action_space = spaces.Dict({"a": spaces.Discrete(2)})


class NoPicture(Line):
    metadata = {"render_modes": [], "render_fps": 20}  # noqa: RUF012


class NoRate(Line):
    metadata = {"render_modes": ["rgb_array"], "render_fps": "fast"}  # noqa: RUF012


class EmptyPicture(Line):
    def render(self) -> Any:
        return np.zeros((0, 60, 3), np.uint8)


class Deck(gymnasium.Env[Any, Any]):
    """Play cards, each of them once; a card like the number that is shown earns 1. `info` has the mask."""

    metadata = {"render_modes": ["rgb_array"], "render_fps": 20}  # noqa: RUF012
    counts: tuple[int, ...] = (4,)
    observation_space: spaces.Space[Any] = spaces.Box(0.0, 4.0, (2,), np.float32)
    action_space: spaces.Space[Any] = spaces.Discrete(4, start=1)

    def __init__(self, render_mode: str | None = None) -> None:
        self.render_mode = render_mode

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self.held, self.tick = [np.ones(count, np.int8) for count in self.counts], 0
        self.card = int(self.np_random.integers(4))
        return self.seen(), self.told()

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        for held, card in zip(self.held, np.ravel(action - self.first()), strict=True):
            assert held[card], f"{card} was played before"
            held[card] = 0
        earned = float(np.ravel(action - self.first())[0] == self.card)
        self.card, self.tick = int(self.np_random.integers(4)), self.tick + 1
        return self.seen(), earned, self.tick == min(self.counts), False, self.told()

    def first(self) -> Any:
        return 1

    def seen(self) -> Any:
        return np.array([self.card, self.tick], np.float32)

    def told(self) -> dict[str, Any]:
        return {"action_mask": self.held[0].copy()}

    def render(self) -> Any:
        return np.full((40, 60, 3), 40 * self.card, np.uint8)


class DeckInSight(Deck):
    """Shows the mask among its observations, as PettingZoo's environments do."""

    observation_space = spaces.Dict({"action_mask": spaces.Box(0, 1, (4,), np.int8), "observation": BOX})

    def seen(self) -> Any:
        return {"observation": super().seen(), "action_mask": self.held[0].copy()}

    def told(self) -> dict[str, Any]:
        return {}


class TwoDecks(Deck):
    counts = (4, 3)
    action_space = spaces.MultiDiscrete([4, 3])

    def first(self) -> Any:
        return 0

    def told(self) -> dict[str, Any]:
        return {"action_mask": tuple(held.copy() for held in self.held)}


class OneRow(TwoDecks):
    """Gives the masks of both choices in one row."""

    def told(self) -> dict[str, Any]:
        return {"action_mask": np.concatenate(self.held)}


class EmptyHand(Deck):
    def told(self) -> dict[str, Any]:
        return {"action_mask": self.held[0] * (self.tick != 2)}


class ShortMask(Deck):
    def told(self) -> dict[str, Any]:
        return {"action_mask": self.held[0][: 3 if self.tick == 2 else 4]}


class LosesMask(Deck):
    def told(self) -> dict[str, Any]:
        return {} if self.tick == 2 else super().told()


class NoInfo(FromOne):
    """Begins without a dict of information, which Gymnasium does not check."""

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, Any]:
        return super().reset(seed=seed)[0], None


class Grown(Deck):
    def seen(self) -> Any:
        return np.zeros((2, 2), np.float32) if self.tick == 2 else super().seen()


class WrongAtOnce(TwoDecks):
    def told(self) -> dict[str, Any]:
        return {"action_mask": tuple(reversed(self.held))}


class WideMask(DeckInSight):
    observation_space = spaces.Dict({"action_mask": spaces.Box(0, 1, (5,), np.int8), "observation": BOX})


for _kind in (
    *(Line, Mixed, Switches, FromOne, Forgetful, Endless, Raises, Pays, Blind),
    *(Grows, Looks, Says, Unbounded, Nested, NoPicture, Stacked, NoRate, EmptyPicture),
    *(Catches, CatchesGrey, CatchesFirst, Wide, Shrinks),
    *(Deck, DeckInSight, TwoDecks, OneRow, EmptyHand, ShortMask, LosesMask, WrongAtOnce, WideMask, NoInfo, Grown),
):
    _id = f"{_kind.__name__}-v0"
    if _id not in gymnasium.registry:
        _solved = 0.95 if issubclass(_kind, Catches) else 20.0
        gymnasium.register(_id, entry_point=f"odd_environments:{_kind.__name__}", reward_threshold=_solved)
