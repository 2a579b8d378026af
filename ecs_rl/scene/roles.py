"""Handles that a scene holds: they name a role or a number, and once a world runs they give its columns.

What a handle gives is read-only, but for the columns that a system declares as written, while it runs.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import numpy as np

from ecs_rl.arrays import F64, Bool
from ecs_rl.components import Force, Here, Motion, Pose
from ecs_rl.ecs.component import column, component, new_handle
from ecs_rl.errors import SceneError, nearest
from ecs_rl.scene.checks import Point, quote
from ecs_rl.scene.look import Colour, Look, rgb
from ecs_rl.scene.members import offered_by
from ecs_rl.scene.parts import Body, Shape, Start

if TYPE_CHECKING:
    from ecs_rl.scene.arena import Arena
    from ecs_rl.scene.placing import Placing

C = TypeVar("C")
NOWHERE = Start()


def not_yet(name: str) -> SceneError:
    """Return the refusal of columns that are read while a scene is being built."""
    return SceneError(f"'{name}' has no numbers before the world runs: read them inside a rule, as in `lambda: ...`")


def is_role(what: str, role: object) -> Role:
    """Return the role, or refuse what is none."""
    if not isinstance(role, Role):
        raise SceneError(f"{what} a role, which arena.spawn(...) returns, not {quote(role)}")
    return role


class Handle:
    """The base of roles and numbers. It refuses a name that its class does not have: nobody would read that value."""

    name: str
    _settable: ClassVar[frozenset[str]]
    """Every name that the class and its bases define or annotate."""

    def __init_subclass__(cls) -> None:
        annotated = (name for each in cls.__mro__ for name in inspect.get_annotations(each))
        cls._settable = frozenset((*dir(cls), *annotated))

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in self._settable and not name.startswith("_"):
            message = f"'{self.__dict__.get('name')}' has no '{name}': {nearest(name, offered_by(self))}"
            raise AttributeError(message, name=name)
        object.__setattr__(self, name, value)


class _Short:
    """A short name for one of a role's columns, or for `part` of it, as its component gives it."""

    def __init__(self, kind: type, field: str, part: int | None = None) -> None:
        self.kind, self.field = kind, field
        self.index: Any = ... if part is None else (..., part)

    def __get__(self, role: Role, kind: type | None = None) -> F64:
        try:
            column: F64 = role.handles[self.kind].__dict__[self.field]
        except KeyError:  # it has none, or nobody has numbers yet, or a debug run notes who asks
            column = self._column_of(role)
        return column if self.index is ... else column[self.index]

    def _column_of(self, role: Role) -> F64:
        handle: Any = role[self.kind]
        try:
            return getattr(handle, self.field)  # type: ignore[no-any-return]
        except SceneError:
            raise not_yet(role.name) from None

    def __set__(self, role: Role, value: Any) -> None:
        self.__get__(role)[...] = value


@dataclass(eq=False, repr=False)
class Role(Handle):
    """One thing in the arena, or many of a kind, and its columns in all arenas.

    `cart.x` is (arenas,), `cart[Gun].heat` too; of a kind they are (arenas, count).
    """

    name: str
    """What messages, logs, cameras and what the agent sees call it."""
    number: int
    """The row in Touch.pairs; the ground comes after the last role."""
    body: Body | None = None
    """The ground has none."""
    shapes: tuple[Shape, ...] = ()
    start: Start = NOWHERE
    moment: float = 0.0
    look: Look | None = None
    """Without one, the window decides."""
    parts: tuple[object, ...] = ()
    """The scene's own components, with their start values."""
    count: int | None = None
    """How many of a kind there are; None for a single thing."""
    here_at_start: bool | tuple[bool, ...] | None = None
    """Whether it is there when an episode begins; None for what always is."""
    arena: Arena | None = None
    rows: slice = field(default_factory=lambda: slice(-1, 0))
    """Its members' rows in the blocks of all bodies, once the scene is described."""
    handles: dict[type, Any] = field(init=False)
    """The role's components as a scene may hold them, by their class."""

    position = _Short(Pose, "position")
    """(arenas, 2) metres: x and y."""
    x = _Short(Pose, "position", 0)
    """(arenas,) metres, to the right."""
    y = _Short(Pose, "position", 1)
    """(arenas,) metres, up."""
    angle = _Short(Pose, "angle")
    """(arenas,) radians, counter-clockwise, never wrapped."""
    velocity = _Short(Motion, "velocity")
    """(arenas, 2) metres per second."""
    vx = _Short(Motion, "velocity", 0)
    """(arenas,) metres per second, to the right."""
    vy = _Short(Motion, "velocity", 1)
    """(arenas,) metres per second, up."""
    spin = _Short(Motion, "spin")
    """(arenas,) radians per second, counter-clockwise."""

    def __post_init__(self) -> None:
        kinds = (Pose, Motion, Force, *([Here] if self.comes_and_goes else ()), *map(type, self.parts))
        self.handles = {kind: new_handle(kind) for kind in kinds}
        self._stamp, self._heading = b"", np.zeros((0, 2))

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"'{self.__dict__.get('name')}' has no attribute '{name}'", name=name, obj=self)

    def __getitem__(self, kind: type[C]) -> C:
        """Return the role's component of this class."""
        if not isinstance(kind, type):
            raise SceneError(
                f"'{self.name}' is not taken apart, its columns are, as in coins.x[:, 0]: brackets take a component, "
                "as in car[Tank]"
            )
        if kind is Here and kind not in self.handles:
            raise SceneError(f"'{self.name}' is always here: spawn it with here=True to let it come and go")
        if kind not in self.handles:
            names = [each.__name__ for each in self.handles]
            wanted = getattr(kind, "__name__", repr(kind))
            raise SceneError(
                f"'{self.name}' has no component {wanted}: give it one in spawn ({nearest(wanted, names)})"
            )
        component: C = self.handles[kind]
        return component

    @property
    def arenas(self) -> int:
        """How many copies of it the world holds."""
        return self.arena.placing.arenas if self.arena is not None else 0

    @property
    def members(self) -> int:
        """How many bodies it is."""
        return 1 if self.count is None else self.count

    @property
    def comes_and_goes(self) -> bool:
        """Whether it has a column `here`: a kind has, and what was spawned with `here=`."""
        return self.here_at_start is not None

    @property
    def solid(self) -> bool:
        """Whether it is in the physics; the ground is."""
        return self.body is None or self.body.solid

    @property
    def yields(self) -> bool:
        """Whether the physics moves it."""
        return self.body is not None and self.body.solid and self.body.moves == "freely"

    @property
    def colour(self) -> Colour | None:
        """The colour that the scene gives it."""
        return rgb(self.look.colour) if self.look and self.look.colour else None

    @property
    def pose(self) -> Pose:
        """The role's Pose component."""
        return self[Pose]

    @property
    def motion(self) -> Motion:
        """The role's Motion component."""
        return self[Motion]

    @property
    def force(self) -> Force:
        """The role's Force component, for an effect of your own: `role.force.force` and `role.force.torque`."""
        return self[Force]

    @property
    def here(self) -> Bool:
        """(arenas,) truths, of what comes and goes. Systems change it by `place` and `leave`."""
        now: Bool = self[Here].now
        return now

    @property
    def heading(self) -> F64:
        """(arenas, 2) Cosine and sine of the angle; kept until the angle changes, as many rules ask for it."""
        stamp = self.angle.tobytes()
        if stamp != self._stamp:
            self._stamp = stamp
            angle = self.angle
            turned = np.empty((2, *angle.shape))
            np.cos(angle, out=turned[0]), np.sin(angle, out=turned[1])
            turned.flags.writeable = False
            self._heading = turned.transpose(*range(1, turned.ndim), 0)
        return self._heading

    def point(self, at: Point) -> F64:
        """Return where a point of the body's own axes is in each arena, (arenas, 2)."""
        return np.asarray(self.position + self._turned(at))

    def velocity_at(self, at: Point) -> F64:
        """Return how fast a point of the body's own axes moves, (arenas, 2): the body's velocity and its spin's."""
        arm = self._turned(at)
        turning = np.stack((-self.spin * arm[..., 1], self.spin * arm[..., 0]), axis=-1)
        return np.asarray(self.velocity + turning)

    def _turned(self, at: Point) -> F64:
        """Return a vector of the body's own axes in those of the arena."""
        cos, sin = self.heading[..., 0], self.heading[..., 1]
        return np.stack((cos * at[0] - sin * at[1], sin * at[0] + cos * at[1]), axis=-1)

    def place(self, where: Any, start: Start | None = None, *, keep: Sequence[type] = (), **columns: Any) -> None:
        """Put it somewhere where `where` is true, as if an episode began for it; for systems that write Pose.

        It starts by its own Start or the one given, and by `x`, `y`, `angle`, `vx`, `vy` and `spin` where they are
        named: numbers, spreads (drawn anew), rules, or arrays (arenas, [count]). Its components start anew too, but
        those of the classes in `keep`.
        """
        self._world("place").place(self, where, start or self.start, columns, keep)

    def leave(self, where: Any) -> None:
        """Take it away where `where`, (arenas, [count]), is true; for systems that write Pose.

        The tick is the last of a member that is an agent, if the system stands before judge, as it does unless told.
        """
        self._world("leave").leave(self, where)

    def _world(self, what: str) -> Placing:
        if self.arena is None or self.body is None:
            raise SceneError(f"the ground can neither be placed nor leave: {what} something else")
        return self.arena.placing


class Number(Handle):
    """A number of the arena that systems change, as `arena.number` returns it: a score, a phase, a target."""

    start: Any
    count: int | None
    kind: type
    """The component behind it: what systems name as read or written."""
    handle: Any

    def __init__(self, name: str, start: Any, count: int | None = None) -> None:
        self.name, self.start, self.count = name, start, count
        self.kind = component(type(name, (), {"__annotations__": {"value": float}, "value": column(start)}))
        self.handle = new_handle(self.kind)

    @property
    def value(self) -> F64:
        """(arenas,) The number; a system that writes it names it in `writes=`, as in `writes=(got,)`."""
        return self.handle.value  # type: ignore[no-any-return]

    @value.setter
    def value(self, value: Any) -> None:
        self.handle.value = value


class Draw(Number):
    """A number that each episode draws anew, as `arena.random` returns it: `wind.value` is (arenas,)."""


class Dice(Number):
    """A number that each tick draws anew, as `arena.dice` returns it.

    It is a rule, too: `luck()` and `luck.value` are (arenas,), or (arenas, count) for the members of a kind.
    """

    def __call__(self) -> F64:
        """Return this tick's draw."""
        return self.value
