"""A person at the controls of the agent that is watched: keys and gamepad in place of its policy."""

from __future__ import annotations

import numpy as np
import pygame

from ecs_rl.components import Action
from ecs_rl.spaces import Composed, Continuous
from ecs_rl.viewer.live.keys_of_controls import KeysOfControls
from ecs_rl.viewer.live_episode import LiveEpisode

CODES = {
    **{name: getattr(pygame, f"K_{name.upper()}") for name in ("left", "right", "up", "down", "space")},
    **{"enter": pygame.K_RETURN, "shift": pygame.K_LSHIFT},
    **{letter: ord(letter) for letter in "abcdefghijklmnopqrstuvwxyz0123456789"},
}
NAMES = {code: name for name, code in CODES.items()}
ALSO = {"a": "left", "d": "right", "w": "up", "s": "down"}
"""Where nothing else uses them, these stand for the arrows."""
DEAD = 0.2
"""How far a stick must be moved before it counts."""
OF_KEYS = (pygame.KEYDOWN, pygame.KEYUP)


class Hands:
    """Drives one show's agent; whoever takes it over lets `steer` be called before each look at the show."""

    def __init__(self, show: LiveEpisode, *, counts: bool = False) -> None:
        """Take the controls of a show; what is played so `counts` as an episode of its own right, or does not."""
        self.show, self.counts = show, counts
        self.batch, self.slot = show.mind.watched
        self.controls = KeysOfControls(self.slot.spec.does)
        self.presses = 0
        """How often something was pressed."""
        self._keyboard: dict[str, float] = {}
        self._pad: dict[str, float] = {}
        self._turn = 0

    # --- events -----------------------------------------------------------------------------------------------------

    def take(self, event: pygame.event.Event) -> bool:
        """Take what a person presses or lets go; return whether it was for the controls."""
        if event.type in OF_KEYS:
            return self._key(event)
        if event.type == pygame.JOYAXISMOTION:
            self._axis(event.axis, event.value)
        elif event.type == pygame.JOYHATMOTION:
            x, y = event.value
            self._stick(("left", "right"), float(x))
            self._stick(("down", "up"), float(y))
        elif event.type in (pygame.JOYBUTTONDOWN, pygame.JOYBUTTONUP):
            buttons = self.controls.buttons
            if event.button < len(buttons):
                self._hold(self._pad, buttons[event.button], float(event.type == pygame.JOYBUTTONDOWN))
        elif event.type == pygame.WINDOWFOCUSLOST:
            self._keyboard.clear()  # nobody will tell that a key was let go
            return False
        else:
            return False
        return True

    def _key(self, event: pygame.event.Event) -> bool:
        name = NAMES.get(event.key, "")
        used = self.controls.used
        name = ALSO.get(name, name) if name not in used else name
        held = name in self._keyboard
        if name not in used or (event.type == pygame.KEYDOWN and event.mod & (pygame.KMOD_CTRL | pygame.KMOD_META)):
            return False
        self._hold(self._keyboard, name, float(event.type == pygame.KEYDOWN))
        return held or event.type == pygame.KEYDOWN

    def _axis(self, axis: int, value: float) -> None:
        if axis < len(self.controls.axes):
            self._stick(self.controls.axes[axis], value)

    def _stick(self, ends: tuple[str, str], value: float) -> None:
        far = 0.0 if abs(value) < DEAD else min(1.0, (abs(value) - DEAD) / (0.95 - DEAD))
        for end, key in enumerate(ends):
            self._hold(self._pad, key, far if (value > 0) == bool(end) else 0.0)

    def _hold(self, held: dict[str, float], key: str, strength: float) -> None:
        if key not in self.controls.used:
            return
        self.presses += strength >= 0.5 > held.get(key, 0.0)
        if strength:
            held[key] = strength
        else:
            held.pop(key, None)

    # --- driving ----------------------------------------------------------------------------------------------------

    @property
    def row(self) -> int:
        """The row of the watched agent in the batch of its policy."""
        return int(self.slot.rows.start) + self.show.mind.member * self.show.world.arenas + self.show.arena

    def steer(self) -> None:
        """Let the show's coming ticks do what is pressed now; it may be another agent by now that is watched."""
        if self.show.mind.watched[1] is not self.slot:
            self.batch, self.slot = self.show.mind.watched
            self.controls = KeysOfControls(self.slot.spec.does)
            self._keyboard, self._pad = {}, {}
        pressed = dict(self._pad)
        for key, strength in self._keyboard.items():
            pressed[key] = max(strength, pressed.get(key, 0.0))
        space, self._turn = self.batch.spec.actions, self._turn + 1
        before = self.show.world.of(self.batch.entity, Action).value[self.row]
        action = self.controls.action(pressed, np.atleast_1d(before), self._turn)
        several = isinstance(space, Continuous | Composed)
        chosen = action.astype(np.float32) if several else np.int64(action[0])
        self.show.hand.steers = {(self.batch.name, self.row): np.asarray(chosen)}
        if not (self.counts or self.show.resting):
            self.show.touched = True

    def let_go(self) -> None:
        """Give the controls back to the policy."""
        self.show.hand.steers = {}
