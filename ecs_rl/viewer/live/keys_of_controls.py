"""Which key, and which part of a gamepad, works which of an agent's controls: as the scene says, by name, by order."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ecs_rl.scene.controls import Controls, Does
from ecs_rl.spaces import TRIGGER, Discrete, spans

Pair = tuple[str, str]
"""The key for more and the one for less."""
WORDS: dict[str, frozenset[str]] = {
    "space": frozenset(("fire", "shoot", "flap", "jump", "kick", "drop")),
    "left": frozenset(("left", "west", "port")),
    "right": frozenset(("right", "east", "starboard")),
    "up": frozenset(("up", "north", "main", "gas", "thrust", "throttle", "forward", "accelerate", "go", "lift", "y")),
    "down": frozenset(("down", "south", "brake", "back", "backward", "reverse", "crouch")),
}
"""What a control or an option is called that goes with a key."""
TURNS = frozenset(("steer", "turn", "spin", "twist", "rudder", "torque", "yaw", "roll"))
"""Levers that turn: more is to the left, as angles count."""
ACROSS = frozenset(("x", "push", "move", "force", "slide", "paddle"))
OPPOSITE = {"left": "right", "right": "left", "up": "down", "down": "up"}
ARROWS: tuple[Pair, ...] = (("right", "left"), ("up", "down"))
LETTERS: tuple[Pair, ...] = tuple(zip("qwertyui", "asdfghjk", strict=True))
TRIGGERS = ("space", *"zxcvbnm")
OPTIONS = tuple("1234567890")
SIGNS = {"left": "←", "right": "→", "up": "↑", "down": "↓"}
"""How keys are written on the screen."""


@dataclass(frozen=True)
class Key:
    """One key, and what it does: choose an option, hold a trigger, or push a lever up or down."""

    key: str
    what: str
    """The control's name, or the option's."""
    column: int
    """Of the action."""
    option: int | None = None
    """What the choice is set to; 1 for a trigger."""
    way: float = 0.0
    """1 or -1 for a lever."""


class KeysOfControls:
    """The keys of one agent's controls."""

    def __init__(self, does: Does) -> None:
        self.space = does.space
        self.keys: list[Key] = []
        self.rest: dict[int, int | None] = {}
        """By column what a choice is set to while nobody presses anything; None: what it was before."""
        levers = self.space.levers
        for i, (space, columns, _) in enumerate(spans(self.space)):
            part = does.parts[i] if isinstance(does, Controls) else does
            keyed = {**getattr(does, "keyed", {}), **getattr(part, "keyed", {})}
            if isinstance(space, Discrete):
                self._choice(space, columns.start, keyed, part)
                continue
            for column, name in enumerate(space.names, columns.start):
                more, less = self._pair(name, keyed.get(name, ()), levers)
                self.keys += [Key(more, name, column, way=1.0)] + ([Key(less, name, column, way=-1.0)] if less else [])

    @property
    def used(self) -> frozenset[str]:
        """The names of all keys that do something."""
        return frozenset(key.key for key in self.keys)

    def _choice(self, space: Discrete, column: int, keyed: Mapping[str, tuple[str, ...]], part: Any) -> None:
        if space.names == TRIGGER:
            name = space.name or "fire"
            key = next(iter(keyed.get(space.name, ())), "") or self._natural(name) or self._free(TRIGGERS)
            self.rest[column] = 0
            self.keys.append(Key(key, name, column, option=1))
            return
        table = getattr(part, "table", None)
        idle = [i for i in range(len(space.names)) if table is not None and not table[i].any()]
        self.rest[column] = idle[0] if idle else None
        for option, name in enumerate(space.names):
            if option in idle[:1] and name not in keyed:
                continue
            by_order = OPTIONS if len(space.names) > 2 else ("left", "right")
            key = next(iter(keyed.get(name, ())), "") or self._natural(name) or self._free(by_order)
            self.keys.append(Key(key, name, column, option=option))

    def _natural(self, name: str) -> str:
        words = set(name.lower().replace("_", " ").replace("-", " ").split())
        return next((key for key, known in WORDS.items() if words & known and key not in self.used), "")

    def _free(self, keys: tuple[str, ...]) -> str:
        return next((key for key in keys if key not in self.used), keys[-1])

    def _pair(self, name: str, given: tuple[str, ...], levers: int) -> Pair:
        """Return a lever's keys."""
        if given:
            return given[0], given[1] if len(given) > 1 else ""
        words = set(name.lower().replace("_", " ").replace("-", " ").split())
        natural = ("left", "right") if words & TURNS else ("right", "left") if words & ACROSS else ("", "")
        if not natural[0]:
            key = self._natural(name)
            natural = (key, OPPOSITE.get(key, ""))
        if natural[0] and not self.used & set(natural):
            return natural
        pairs = (*ARROWS, *LETTERS) if levers <= len(ARROWS) else LETTERS
        return next((pair for pair in pairs if not self.used & set(pair)), pairs[-1])

    # --- what is done -----------------------------------------------------------------------------------------------

    def action(self, pressed: Mapping[str, float], before: NDArray[Any], turn: int) -> NDArray[Any]:
        """Return (columns,) what the agent does while keys are pressed so far, 0 to 1; `before` is what it did last.

        Of several options that are pressed at once each has its turn, tick by tick.
        """
        action = np.zeros(self.space.columns)
        for column, rest in self.rest.items():
            held = [k.option for k in self.keys if k.column == column and pressed.get(k.key, 0.0) >= 0.5]
            option = held[turn % len(held)] if held else rest
            action[column] = before[column] if option is None else option
        for key in self.keys:
            if key.way:
                action[key.column] += key.way * pressed.get(key.key, 0.0)
        return action

    # --- gamepads ---------------------------------------------------------------------------------------------------

    @property
    def axes(self) -> tuple[tuple[str, str], ...]:
        """For each axis of a gamepad the keys that its two ends stand for, `left` and `up` first; '' does nothing."""
        arrows = bool(self.used & {"left", "right", "up", "down"})
        levers = [(k, self._less(k)) for k in self.keys if k.way > 0 and k.key not in OPPOSITE]
        others = [(less, k.key) for k, less in levers]
        first = [("left", "right"), ("up", "down")] if arrows else []
        # A stick that is pushed away from oneself counts down.
        turned = [pair[::-1] if number % 2 else pair for number, pair in enumerate(others, len(first))]
        return (*first, *turned)

    def _less(self, more: Key) -> str:
        return next((k.key for k in self.keys if k.column == more.column and k.way < 0), "")

    @property
    def buttons(self) -> tuple[str, ...]:
        """For each button of a gamepad the key that it stands for."""
        single = [k.key for k in self.keys if k.option is not None]
        return tuple(sorted(dict.fromkeys(single), key=lambda key: (key in OPPOSITE and key != "up", key != "space")))

    # --- words ------------------------------------------------------------------------------------------------------

    @property
    def legend(self) -> tuple[tuple[str, str], ...]:
        """The keys and what they do, as hints: a lever's two keys in one."""
        rows: dict[tuple[int, str], list[str]] = {}
        for key in self.keys:
            rows.setdefault((key.column, key.what), []).append(key.key)
        return tuple((" ".join(map(written, sorted(keys, key=_place))), what) for (_, what), keys in rows.items())


def written(key: str) -> str:
    """Return a key as it is written on the screen."""
    return SIGNS.get(key, key.capitalize())


def _place(key: str) -> int:
    """Return where a key stands beside its opposite: arrows from left to right and from top to bottom."""
    return list(SIGNS).index(key) if key in SIGNS else len(SIGNS)
