"""How an agent drives effects: by a choice among named options, by levers, or by any mixture of those and triggers.

What it decides becomes the `amount` column of each effect: 0 or 1 under a choice or a trigger, -1 to 1 on a lever.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ecs_rl.arrays import F64, I64, Bool
from ecs_rl.components import Action
from ecs_rl.errors import SceneError, nearest
from ecs_rl.scene.allowed import Allow, Allowed, Rule, allow, sensors_of
from ecs_rl.scene.checks import named, quote, ruling
from ecs_rl.scene.effects import Effect, sound
from ecs_rl.scene.roles import not_yet
from ecs_rl.spaces import TRIGGER, Composed, Continuous, Discrete

NAMED_KEYS = ("left", "right", "up", "down", "space", "shift", "enter")
"""Keys that have a name; others are letters and digits."""
Effects = Effect | tuple[Effect, ...] | None
Note = Callable[[type], None] | None


def _listed(effects: Effects) -> tuple[Effect, ...]:
    listed = effects if isinstance(effects, tuple) else () if effects is None else (effects,)
    for effect in listed:
        if not isinstance(effect, Effect):
            cure = ": several go into a tuple, (one, other)" if isinstance(effect, list) else ""
            if isinstance(effect, (_Decided, _Named)):
                cure = ": Controls(...) mixes choices, triggers and levers"
            raise SceneError(f"an action is made of effects such as Push or Thrust, not of {quote(effect)}{cure}")
        sound(effect)
    return listed


class _Decided:
    """What the agent decided of a choice or a trigger, as rules and systems read it."""

    name = ""
    """What it is called among Controls."""
    _column: NDArray[Any] | None = None
    _note: Note = None
    _shared = False

    def bind(self, column: NDArray[Any], note: Note) -> None:
        """Take its column of Action, (arenas,) or (arenas, count); with `note`, each look at it is told."""
        self._shared = self._column is not None
        self._column, self._note = column, note

    def _look(self, what: str) -> NDArray[Any]:
        if self._column is None:
            if not self.name:
                message = f"a {type(self).__name__} whose .{what} is read is no control of any agent so far"
                raise SceneError(
                    f"{message}: name it, as in does=Controls(fire=fire), and read it inside a rule or a system"
                )
            raise not_yet(f"{self.name}.{what}")
        if self._shared:
            message = f"'{self.name}.{what}' is" if self.name else f"a control whose .{what} is read is"
            raise SceneError(
                f"{message} that of several agents or worlds: make it inside build, a new one for each agent"
            )
        if self._note is not None:
            self._note(Action)
        return self._column


class _Keyed:
    """What a person who plays presses, where the scene says it; everything else gets its keys by name, or by order."""

    names: tuple[str, ...]
    keyed: Mapping[str, tuple[str, ...]] = MappingProxyType({})
    """By a control or an option its key; by a lever the key for more and the one for less."""

    def keys(self, **keys: str | tuple[str, str]) -> Self:
        """Name the keys of controls or options, as in `keys(jump="space", steer=("a", "d"))`; return the same object.

        A key is a letter, a digit, `left`, `right`, `up`, `down`, `space`, `shift` or `enter`.
        """
        for name, given in keys.items():
            if name not in self.names:
                raise SceneError(f"keys({name}=...): there is no such control: {nearest(name, self.names)}")
            for key in (given,) if isinstance(given, str) else given:
                if not (isinstance(key, str) and (key in NAMED_KEYS or re.fullmatch("[a-z0-9]", key))):
                    there = ", ".join(NAMED_KEYS)
                    raise SceneError(f"keys({name}={quote(key)}): a key is a small letter, a digit, or one of {there}")
        self.keyed = {**self.keyed, **{name: (k,) if isinstance(k, str) else tuple(k) for name, k in keys.items()}}
        return self


class _Named(_Keyed):
    """The base of Choice and Levers: named controls, each of which works some effects."""

    least = 1
    """Controls that there must be."""
    too_few = "levers need at least one effect"

    def __init__(self, *unnamed: Any, **controls: Effects) -> None:
        _all_named(self, unnamed, controls)
        works = [_listed(effects) for effects in controls.values()]
        if len(works) < self.least:
            raise SceneError(self.too_few)
        self.names = tuple(controls)
        # By identity: an effect of the scene's own may be a dataclass that equals another.
        self.effects = tuple({id(effect): effect for listed in works for effect in listed}.values())
        self.table = np.array([[float(any(e is each for each in listed)) for e in self.effects] for listed in works])
        """(controls, effects) Which control works which effect."""

    @property
    def description(self) -> str:
        """Return it as messages show it."""
        return f"{type(self).__name__}({quote(', '.join(self.names))[1:-1]})"


def _all_named(control: object, unnamed: tuple[Any, ...], names: Iterable[str]) -> None:
    kind = type(control).__name__
    if unnamed:
        raise SceneError(f"each effect in {kind} needs a name, as in {kind}(push=...), not {quote(unnamed[0])} alone")
    for name in names:
        named(f"each part of {kind}", name)


class Choice(_Decided, _Named):
    """The agent picks one of the named options: `Choice(left=Push(cart, x=-10.0), right=Push(cart, x=10.0))`.

    Each is an effect, several in a tuple, or None for doing nothing. `allowed=rule` gives (arenas, options) truths,
    `allowed={"left": rule}` (arenas,) truths for single options: no policy picks an option that is not allowed, and
    where somebody else does, the next one that is allowed counts. One must be at any time. The policy sees the truths.
    """

    least, too_few = 2, "a choice needs at least two options"

    def __init__(self, *unnamed: Any, allowed: Allow | Effects = None, **controls: Effects) -> None:
        if isinstance(allowed, (Effect, tuple)):  # an option of this name
            allowed, controls = None, {"allowed": allowed, **controls}
        super().__init__(*unnamed, **controls)
        self.allowed = allow("Choice", allowed, self.names)

    def allows(self, first: int) -> list[Allowed]:
        """Return the sensors of what is allowed; `first` is the output of the first option."""
        prefix = f"{self.name} " if self.name else ""
        return sensors_of(self.allowed, {name: first + i for i, name in enumerate(self.names)}, prefix)

    @property
    def space(self) -> Discrete:
        """What a policy decides."""
        return Discrete(self.names, self.name)

    @property
    def picked(self) -> I64:
        """(arenas,) The number of the option that the agent picked in this tick, counted from 0; 0 at the start."""
        return _fixed(self._look("picked").astype(np.int64))

    def work(self, action: NDArray[Any], amounts: F64) -> None:
        """Fill (effects, arenas) from (arenas,) whole numbers, which must be options that there are."""
        action = action.astype(np.int64, copy=False)
        self.table.T.take(action, axis=1, out=amounts, mode="clip")  # "clip" writes without a copy in between


class Levers(_Named):
    """The agent sets each named lever between -1 and 1: `Levers(gas=Thrust(car, x=9.0))`.

    A lever works one effect, or several in a tuple; what it was set to is their `amount`.
    """

    @property
    def space(self) -> Continuous:
        """What a policy decides."""
        return Continuous(self.names)

    def bind(self, column: NDArray[Any], note: Note) -> None:
        """Do nothing: a lever is read by the amount of its effects."""

    def work(self, action: NDArray[Any], amounts: F64) -> None:
        """Fill (effects, arenas) from (arenas, levers), each clipped to -1..1 first."""
        amounts[...] = self.table.T @ np.clip(action, -1.0, 1.0).T


class Trigger(_Decided):
    """The agent pulls it or not; while it is on, its effects work in full. A Trigger() is for systems to read.

    It is one of `Controls`: `fire = Trigger()` before the agent, `does=Controls(fire=fire)`, then `fire.on`. With
    `allowed=rule`, (arenas,) truths, it can be pulled only where the rule says so.
    """

    def __init__(self, effects: Effects = None, *, allowed: Rule | None = None) -> None:
        self.effects = _listed(effects)
        self.allowed = None if allowed is None else ruling("allowed= of a Trigger", allowed, "`lambda: gun.shots > 0`")

    def allows(self, first: int) -> list[Allowed]:
        """Return the sensor of whether it may be pulled; `first` is the output of its first option."""
        return sensors_of(self.allowed, {self.name: first + TRIGGER.index("on")})

    @property
    def space(self) -> Discrete:
        """What a policy decides."""
        return Discrete(TRIGGER, self.name)

    @property
    def description(self) -> str:
        """Return it as messages show it."""
        return "Trigger()"

    @property
    def on(self) -> Bool:
        """(arenas,) Whether the agent pulls it in this tick; false at the start."""
        return _fixed(self._look("on") > 0.5)

    def work(self, action: NDArray[Any], amounts: F64) -> None:
        """Fill (effects, arenas) from (arenas,) zeros and ones."""
        amounts[...] = action


class Lever(_Decided):
    """The agent sets it between -1 and 1, and its effects work by as much. A Lever() is for rules and systems to read.

    It is one of `Controls`: `aim = Lever()` before the agent, `does=Controls(aim=aim)`, then `aim.amount`.
    """

    def __init__(self, effects: Effects = None) -> None:
        self.effects = _listed(effects)

    @property
    def space(self) -> Continuous:
        """What a policy decides."""
        return Continuous((self.name,))

    @property
    def description(self) -> str:
        """Return it as messages show it."""
        return "Lever()"

    @property
    def amount(self) -> F64:
        """(arenas,) What the agent sets it to in this tick, -1 to 1; 0 at the start."""
        return _fixed(np.clip(self._look("amount"), -1.0, 1.0).astype(np.float64))

    def work(self, action: NDArray[Any], amounts: F64) -> None:
        """Fill (effects, arenas) from (arenas,), clipped to -1..1 first."""
        amounts[...] = np.clip(action, -1.0, 1.0)


class Controls(_Keyed):
    """The agent sets several controls at once: each a Choice, a Trigger, a Lever, or an effect or several as lever."""

    def __init__(self, *unnamed: Any, **controls: Choice | Trigger | Lever | Effects) -> None:
        _all_named(self, unnamed, controls)
        if not controls:
            raise SceneError("Controls need at least one control, as in Controls(gas=Thrust(car, x=5.0))")
        self.names = tuple(controls)
        self.parts = tuple(_control(name, control) for name, control in controls.items())
        self.effects = tuple(effect for part in self.parts for effect in part.effects)
        self._check()

    def _check(self) -> None:
        """Refuse what two controls have in common."""
        owner = dict[int, str]()
        for name, part in zip(self.names, self.parts, strict=True):
            for effect in part.effects:
                other = owner.setdefault(id(effect), name)
                if other != name:
                    message = f"'{other}' and '{name}' both work the same {type(effect).__name__}"
                    raise SceneError(f"{message}: give each control an effect of its own, they add up")
        names = self.space.names
        twice = [name for name in names if names.count(name) > 1]
        if twice:
            raise SceneError(f"two controls are told as '{twice[0]}': give one of them another name")

    @property
    def space(self) -> Composed:
        """What a policy decides."""
        return Composed(tuple(part.space for part in self.parts))

    @property
    def description(self) -> str:
        """Return it as messages show it."""
        named = zip(self.names, self.parts, strict=True)
        parts = [name if isinstance(part, Lever) else f"{name}={part.description}" for name, part in named]
        return f"Controls({quote(', '.join(parts))[1:-1]})"

    def bind(self, columns: NDArray[Any], note: Note) -> None:
        """Give each control its column of (arenas, controls) or (arenas, count, controls)."""
        for i, part in enumerate(self.parts):
            part.bind(columns[..., i], note)

    def work(self, action: NDArray[Any], amounts: F64) -> None:
        """Fill (effects, arenas) from (arenas, controls)."""
        first = 0
        for i, part in enumerate(self.parts):
            part.work(action[:, i], amounts[first : first + len(part.effects)])
            first += len(part.effects)


def _control(name: str, control: Any) -> Choice | Trigger | Lever:
    """Return a control under its name, or refuse what is none."""
    if isinstance(control, (Controls, Levers)):
        kind = type(control).__name__
        raise SceneError(f"the control '{name}' is {kind}: name its controls here, beside the others, one by one")
    if isinstance(control, (Choice, Trigger, Lever)):
        if control.name:
            message = f"the {type(control).__name__} of '{name}' is the control '{control.name}' already"
            raise SceneError(f"{message}: make another one for each control, inside build")
        control.name = name
        return control
    if control is None or (isinstance(control, tuple) and not control):
        cure = "give it an effect, or Trigger() or Lever() for rules and systems to read"
        raise SceneError(f"the control '{name}' works nothing: {cure}")
    lever = Lever(control)
    lever.name = name
    return lever


def _fixed(values: NDArray[Any]) -> NDArray[Any]:
    """Return numbers made for one look, read-only like every column."""
    values.flags.writeable = False
    return values


Does = Choice | Levers | Controls
"""What an agent may do."""
