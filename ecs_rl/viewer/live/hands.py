"""A person at the controls: what their keys do, the episodes that they play, and the demonstrations."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pygame
from numpy.typing import NDArray

from ecs_rl.agents.base import Agent, Demonstration
from ecs_rl.components import Action, Done
from ecs_rl.runs.demonstrations import save_demonstrations
from ecs_rl.scene.controls import Controls, Does
from ecs_rl.scene.scene import Scene
from ecs_rl.spaces import TRIGGER, ActMode, Composed, Continuous, Decision, Discrete, Floats, PolicySpec, spans
from ecs_rl.training.recording import begun
from ecs_rl.viewer.live.playlist import Playlist
from ecs_rl.viewer.live_episode import LiveEpisode
from ecs_rl.viewer.played_episodes import Ended
from ecs_rl.viewer.tick_log import RunningEpisode, Tick
from ecs_rl.viewer.view import Tone
from ecs_rl.world import policy_specs

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


@dataclass(frozen=True)
class Idle:
    """An agent that does nothing: where a person plays and nobody has learned anything yet."""

    spec: PolicySpec
    name: str = "nobody"

    def act(self, observation: Floats, mode: ActMode, state: Floats | None = None) -> Decision:
        """Return the first option of every choice, and levers in the middle."""
        return Decision(self.spec.actions.none(len(observation)))


def idle_agents(scene: Scene) -> Mapping[str, Agent]:
    """Return an agent that does nothing for every policy of a scene."""
    return {name: Idle(spec) for name, spec in policy_specs(scene.describe()).items()}  # type: ignore[misc]


class HumanPlaylist(Playlist):
    """Waits for the person: each episode begins with the first key, and its end stays until another one."""

    def __init__(self, shows: Sequence[LiveEpisode], report: Callable[[int, Ended], None], hands: Hands) -> None:
        super().__init__(shows, report)
        self.hands, self.waits = hands, True
        self._presses = hands.presses
        self._prompt(shows)

    def look(self, shows: Sequence[LiveEpisode]) -> None:
        """Note what has ended; tell how it came out, and wait for a key before the next."""
        self.note_ends(shows)
        pressed, self._presses = self.hands.presses != self._presses, self.hands.presses
        if self.waits:
            self.waits = not pressed
        elif all(show.rested for show in shows):
            if self.verdict is None:
                self.verdict = verdict([(show.label, show.total) for show in shows], shows[0].counted)
            elif pressed:
                self.go_on(shows)
        self._prompt(shows)

    def _prompt(self, shows: Sequence[LiveEpisode]) -> None:
        """Let the person's stage ask for a key where an episode waits for one."""
        keys = "  ".join(f"{key} {what}" for key, what in self.hands.controls.legend)
        for show in shows:
            show.overlay.prompt = f"{keys}:  press one to start" if self.waits and show is self.hands.show else ""

    def go_on(self, shows: Sequence[LiveEpisode]) -> None:
        """Begin the next episode as soon as a key is pressed."""
        super().go_on(shows)
        self.wait()

    def wait(self) -> None:
        """Hold the episode that has been brought to its beginning until a key is pressed."""
        self.waits, self.verdict = True, None


def verdict(results: Sequence[tuple[str, float]], counted: str) -> tuple[str, Tone]:
    """Return who won, from each one's label and result, the person's first."""
    (_, own), *others = results
    text = f"you: {counted} {own:.1f}"
    if not others:
        return text, "plain"
    label, other = others[0]
    apart = own - other
    who = "you win" if apart > 0 else "a draw" if apart == 0 else "the policy wins"
    by = f" by {abs(apart):.1f}" if apart else ""
    return f"{text}  ·  {label}: {other:.1f}  ·  {who}{by}", "good" if apart > 0 else "plain" if not apart else "bad"


class DemoRecorder:
    """Writes the file anew whenever an episode has ended in which a person drove the watched agent."""

    def __init__(self, hands: Hands, path: Path) -> None:
        self.hands, self.path = hands, path
        self.demonstrations = begun(path, hands.show.scene)
        self._done = hands.show.world.of(hands.batch.entity, Done)
        self._last: RunningEpisode | None = None
        """The episode that was taken last; its agent may have left it before the others."""
        hands.show.log.keeps_sights = True
        hands.show.watchers.append(self.look)

    def look(self) -> None:
        """Take the episode if the agent's part of it ended with the tick that has just been logged."""
        show, row, done = self.hands.show, self.hands.row, self._done
        episode = show.log.running[show.arena]
        if episode is self._last or not (done.terminated[row] or done.truncated[row]):
            return
        self._last = episode
        if episode.is_whole and done.valid[row] and any(self._drives(tick) for tick in episode.ticks):
            self._add(episode.ticks)

    def _drives(self, tick: Tick) -> bool:
        return (self.hands.batch.name, self.hands.row) in tick.steered

    def _add(self, ticks: Sequence[Tick]) -> None:
        show, row = self.hands.show, self.hands.row
        policy = show.world.batches.index(self.hands.batch)
        earned = np.stack([tick.terms[policy][:, row] for tick in ticks], axis=1)
        episode = Demonstration(
            seed=show.seeds[show.arena],
            observation=np.stack([tick.sights[policy][row // show.world.arenas] for tick in ticks]),
            action=np.stack([tick.actions[policy][row] for tick in ticks]),
            reward=np.array([tick.rewards[policy][row] for tick in ticks], np.float32),
            imitated=np.array([self._drives(tick) for tick in ticks]),
            terminated=bool(self._done.terminated[row]),
            result=show.total,
            terms=dict(zip(self.hands.batch.term_names, earned, strict=True)),
        )
        self.demonstrations = replace(self.demonstrations, episodes=(*self.demonstrations.episodes, episode))
        save_demonstrations(self.path, self.demonstrations)
