"""Effects that look at where their role is: springs to a place, jumps; and forces that no agent drives."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ecs_rl.arrays import F64, Bool
from ecs_rl.components import Amount, MotorSpeed
from ecs_rl.ecs.component import column, component, zeros
from ecs_rl.ecs.context import Context
from ecs_rl.errors import RuleError, SceneError
from ecs_rl.scene.agents import AgentSpec, check_effects
from ecs_rl.scene.checks import Point, aligned, as_array, finite, form, not_negative, point, positive, quote, ruling
from ecs_rl.scene.effects import Effect, Motor, sound
from ecs_rl.scene.roles import Role
from ecs_rl.scene.rules import Remembering
from ecs_rl.scene.sensors import Rule, Sensor

if TYPE_CHECKING:
    from ecs_rl.scene.scene import Scene

A_PLACE = "`(0.0, 2.0)`, a role or a rule that gives (arenas, 2)"


def _mass(role: Role) -> float:
    return 1.0 if role.body is None else role.body.mass


@dataclass(eq=False)
class Pull(Effect):
    """A spring from the role's centre of gravity to a place.

    Of any stiffness it comes to rest: the force is the one that a spring has at the end of the tick. It never pushes:
    an amount below zero counts as none.
    """

    to: Point | Role | Rule
    """A point, metres; another role, which feels nothing of it; or a rule that gives (arenas, 2)."""
    stiffness: float = 1.0
    """Newtons per metre."""
    damping: float = 0.0
    """Newtons per metre per second."""
    beside: Sequence[Pull] = field(default=(), init=False, repr=False)
    """All pulls of the arena that have a role in common with this one, itself included."""

    def __post_init__(self) -> None:
        super().__post_init__()
        not_negative("a pull's stiffness", self.stiffness), not_negative("a pull's damping", self.damping)
        if isinstance(self.to, Role):
            if self.to is self.role or self.to.body is None:
                raise SceneError(f"'{self.role.name}' is pulled to {A_PLACE}, not to {quote(self.to)}")
            if self.to.count is not None and self.to.count != self.role.count:
                counts = f"'{self.to.name}' has {self.to.count} members, '{self.role.name}' {self.role.count or 1}"
                raise SceneError(f"a pull to a kind wants as many members on both sides: {counts}")
        elif callable(self.to):
            ruling("what a pull goes to", self.to, "`lambda: goal.position`")
        else:
            point("what a pull goes to", self.to)

    def roles(self) -> tuple[Role, ...]:
        """Return the role, and the one that it is pulled to."""
        return (self.role, self.to) if isinstance(self.to, Role) else (self.role,)

    def fit(self, scene: Scene) -> None:
        """Take the clock and the gravity."""
        self._lead, self._falls = scene.dt / scene.substeps, scene.dt * np.array(scene.gravity)

    def apply(self, dt: float) -> None:
        """Add the force that the spring has at the end of the tick: taken at its beginning, it would swing up."""
        place, velocity = self._place()
        # The physics moves bodies before it looks at forces: what counts is where they are then.
        off = self.role.position + self._lead * self.role.velocity - place
        speed = self.role.velocity - velocity + self._falls
        amount = np.maximum(self._scale, 0.0)
        if isinstance(self.to, Role) and self.to.comes_and_goes:  # nothing pulls to what is not there
            amount *= aligned(self.to.here, self.role.count)
        # Several springs on one body share what it can yield, or together they would push it past its rest.
        amount /= 1.0 + amount * sum(pull.eased(dt) for pull in self.beside or (self,))
        force = self.role.force.force
        force -= amount[..., None] * (self.stiffness * off + (self.damping + dt * self.stiffness) * speed)

    def eased(self, dt: float) -> float:
        """Return by how much softer the spring is at the end of a tick, as it moves its body by then."""
        return (self.damping + dt * self.stiffness) * dt / _mass(self.role)

    def _place(self) -> tuple[Any, Any]:
        """Return where the spring leads, as seen by the role, and how fast that moves."""
        to, count = self.to, self.role.count
        if isinstance(to, Role):
            place, velocity = to.position + self._lead * to.velocity, to.velocity
            return (place, velocity) if to.count == count else (place[:, None], velocity[:, None])
        if not callable(to):
            return to, 0.0
        place = as_array(value := to(), to)
        shape = self.role.position.shape
        if place.shape not in ((2,), (shape[0], 2), shape) or place.dtype.kind not in "iuf":
            raise RuleError(f"what '{self.role.name}' is pulled to must be (arenas, 2), not {form(value)}", to)
        return (place[:, None] if place.ndim == 2 and count is not None else place), 0.0


@component
class Jumped:
    """What a Jump knows. Written by actuate."""

    used: Bool = column(False, dtype=np.bool_)
    """(arenas, [count]) Whether it has given its impulse and may not do so again yet."""


@dataclass(eq=False)
class Jump(Effect):
    """Gives the role an upward speed in one tick, where it can jump off.

    There is one impulse, then none until the rule has been false, or the jump was let go and the role no longer rises.
    """

    speed: float
    """Metres per second, up."""
    off: Rule = field(kw_only=True)
    """A rule that is true where it can jump off, such as `Touching(hero, arena.ground)`."""
    memory: Jumped = field(init=False, repr=False)
    """What it knows, which the world gives it."""

    def __post_init__(self) -> None:
        super().__post_init__()
        positive("a jump's speed", self.speed)
        ruling("what a role jumps off", self.off, "`Touching(hero, arena.ground)`")

    def fit(self, scene: Scene) -> None:
        """Take the gravity, against which the speed is to be reached."""
        self._falls = scene.dt * scene.gravity[1]

    def apply(self, dt: float) -> None:
        """Add the force that lifts the role to its speed within the tick, where it may jump."""
        amount, used, rising = self._scale, self.memory.used, self.role.vy
        wanted, can = amount > 0.0, self._can()
        used &= can & (wanted | (rising > 0.0))
        jumps = wanted & can & ~used
        if jumps.any():
            lift = np.maximum(self.speed * amount - rising, 0.0) - self._falls
            force = self.role.force.force[..., 1]
            force += np.where(jumps, lift * (_mass(self.role) / dt), 0.0)
            used |= jumps

    def _can(self) -> NDArray[np.bool_]:
        can = as_array(value := self.off(), self.off)
        shape = self.memory.used.shape
        if can.shape not in ((), shape, shape[:1]) or can.dtype != bool:
            raise RuleError(f"what '{self.role.name}' jumps off must give true or false, not {form(value)}", self.off)
        return np.asarray(aligned(can, self.role.count))


@dataclass(frozen=True, eq=False)
class Always:
    """Effects that no agent drives, and the rule that says how strongly they work."""

    effects: tuple[Effect, ...]
    amount: Rule
    columns: list[F64] = field(default_factory=list)
    """The amount of each, (arenas, [count]), which the world gives."""

    def work(self, when: Callable[[int], str]) -> None:
        """Fill the columns, or refuse what is no finite number; `when` says at which tick of an arena that was."""
        value = as_array(given := self.amount(), self.amount)
        what = f"the amount of {type(self.effects[0]).__name__} on '{self.effects[0].role.name}'"
        for effect, amounts in zip(self.effects, self.columns, strict=True):
            try:
                if value.dtype.kind not in "biuf":  # numpy would make NaN of None
                    raise TypeError
                amounts[...] = aligned(value, effect.role.count)
            except (TypeError, ValueError):
                raise RuleError(f"{what} must give one number per arena, not {form(given)}", self.amount) from None
            if not np.isfinite(amounts).all():
                bad = np.argwhere(~np.isfinite(amounts))[0]
                place = f"{amounts[tuple(bad)]:g} {when(int(bad[0]))}"
                raise RuleError(f"{what} gave a number that is not finite: {place}", self.amount)


def always_of(effects: tuple[Any, ...], amount: Rule | float) -> Always:
    """Return forces that no agent drives, or refuse what is neither effect nor amount."""
    if not effects:
        raise SceneError("arena.always needs at least one effect, as in arena.always(Push(ball, x=1.0), amount=2.0)")
    for effect in effects:
        if not isinstance(effect, Effect):
            raise SceneError(f"arena.always is given effects such as Push or Pull, not {quote(effect)}")
        sound(effect)
    if callable(amount):
        return Always(effects, ruling("an amount", amount))
    number = finite("an amount", amount)
    return Always(effects, lambda: number)


class Forces:
    """The effects of an arena; `Arena` is this too."""

    roles: list[Role]
    ground: Role
    agents: list[AgentSpec]
    forces: list[Always]
    use: Callable[[Sensor | Remembering], Sensor | Remembering]

    def always(self, *effects: Effect, amount: Rule | float = 1.0) -> None:
        """Add forces that no agent drives, such as wind or a spring.

        `amount`, a number or a rule that gives (arenas,), says how strongly they work.
        """
        forces = always_of(effects, amount)
        check_effects("arena.always", effects, [*self.effects], self.roles, self.ground)
        self._use_all((amount, *effects))
        self.forces.append(forces)

    def _use_all(self, items: Iterable[object]) -> None:
        """Make known what sensors and remembering rules there are among these, and behind these effects."""
        for item in items:
            rule = getattr(item, "off", None) if isinstance(item, Jump) else item
            if isinstance(rule, (Sensor, Remembering)):
                self.use(rule)

    @property
    def effects(self) -> Iterator[Effect]:
        """Yield the effects of all agents, in order, and then those that no agent drives."""
        yield from (effect for agent in self.agents for effect in agent.does.effects)
        yield from (effect for forces in self.forces for effect in forces.effects)

    @cached_property
    def motors(self) -> list[Motor]:
        """The motors, in order."""
        return [effect for effect in self.effects if isinstance(effect, Motor)]

    @cached_property
    def jumps(self) -> list[Jump]:
        """The jumps, in order."""
        return [effect for effect in self.effects if isinstance(effect, Jump)]

    def gather_pulls(self) -> None:
        """Tell each pull which others work on the same roles."""
        pulls = [effect for effect in self.effects if isinstance(effect, Pull)]
        for pull in pulls:
            pull.beside = [other for other in pulls if set(pull.roles()) & set(other.roles())]

    def create_forces(self, world: Context, *, tracked: bool) -> None:
        """Give effects that no agent drives their amounts, motors their rates, jumps their memory."""
        driven = [(forces, effect) for forces in self.forces for effect in forces.effects]
        for i, (forces, effect) in enumerate(driven):
            count = effect.role.count
            amount = zeros(Amount, world.arenas, count or 1)
            world.create(f"@always/{i}", amount)
            forces.columns.append(amount.value[0] if count is None else amount.value.T)
            effect.bind(forces.columns[-1], world.noted.add if tracked else None)
        for i, jump in enumerate(self.jumps):
            jump.memory = zeros(Jumped, world.arenas, *([] if jump.role.count is None else [jump.role.count]))
            world.create(f"@jump/{i}", jump.memory)
        first = 0
        for motor in self.motors:
            rates = world.one(MotorSpeed).rate[first : first + len(motor.pairs)]
            motor.rate = rates[0] if motor.role.count is None else rates.T
            first += len(motor.pairs)
