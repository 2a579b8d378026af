"""Things that come and go within an episode: put somewhere, taken away, started anew."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ecs_rl.arrays import F64, I64, Bool
from ecs_rl.components import Chance, Clock, Here, Motion, Pose
from ecs_rl.ecs.component import columns_of, new_handle, views_of
from ecs_rl.errors import SceneError, nearest
from ecs_rl.scene.chance import U64, Spread, drawn, tick_words
from ecs_rl.scene.checks import aligned, form, quote
from ecs_rl.scene.parts import Start
from ecs_rl.scene.rules import Restarted
from ecs_rl.scene.starts import FIELDS, Starter

if TYPE_CHECKING:
    from ecs_rl.scene.arena import Arena
    from ecs_rl.scene.roles import Role

Members = tuple[NDArray[np.intp], ...]
"""Some members, as indices of a column: (arenas,) and, of a kind, (members,)."""


class Placing:
    """Does what `Role.place`, `Role.leave` and `Arena.restart` say; what is drawn is a hash of episode and tick."""

    def __init__(self, arena: Arena) -> None:
        self.arena = arena
        self.clock, self.chance = new_handle(Clock), new_handle(Chance)
        self.restarted = new_handle(Restarted)
        self.arenas = 0
        """Set by the world."""
        self._starter: Starter | None = None
        self._words, self._words_of = np.zeros(0, np.uint64), (b"", b"", b"")

    # --- one role ---------------------------------------------------------------------------------------------------

    def place(self, role: Role, where: Any, start: Start, columns: Mapping[str, Any], keep: Sequence[type]) -> None:
        """Put members of a role where a start and some columns say, and start their components but some anew."""
        check_keep(role, keep)
        self._may_move(role, [part for part in role.parts if type(part) not in keep])
        if role in self.joined:
            raise SceneError(
                f"'{role.name}' is joined to others: start them anew together, by arena.restart(where, ...)"
            )
        if not isinstance(start, Start):
            raise SceneError(f"'{role.name}' is placed by a Start or by columns such as x=2.0, not by {quote(start)}")
        for name in columns:
            if name not in FIELDS:
                raise SceneError(f"'{role.name}' has no '{name}' to be placed by: {nearest(name, FIELDS)}")
        members = self._members(role, where)
        if not len(members[0]):
            return
        targets = self._targets(role)
        for number, (name, value) in enumerate({**vars(start), **columns}.items()):
            targets[name][members] = self._value(role, value, members, targets[name], number)
        self._begin(role, members, here=True, keep=keep)

    def leave(self, role: Role, where: Any) -> None:
        """Take members away: they stand still where they are, and nothing touches or sees them."""
        if not role.comes_and_goes:
            raise SceneError(f"'{role.name}' is always here: spawn it with here=True to let it leave")
        if role in self.joined:
            raise SceneError(f"'{role.name}' is joined to others and cannot leave")
        self._may_move(role, ())
        members = self._members(role, where)
        views_of(role.handles[Here])["now"][members] = False
        motion = views_of(role.handles[Motion])
        motion["velocity"][members] = 0.0
        motion["spin"][members] = 0.0

    # --- several together -------------------------------------------------------------------------------------------

    def restart(self, where: Any, roles: tuple[Role, ...]) -> None:
        """Start roles anew in whole arenas, what is joined together; the episode goes on."""
        for role in roles:
            self._may_move(role, role.parts)
            for joint in self.arena.joints:
                missing = {joint.a, joint.b} - {*roles, self.arena.ground}
                if role in (joint.a, joint.b) and missing:
                    other = missing.pop()
                    raise SceneError(f"'{role.name}' is joined to '{other.name}': restart both")
        where = np.asarray(where)
        if where.shape != (self.arenas,) or where.dtype != bool:
            raise SceneError(f"arenas are started anew where (arenas,) truths say, not where {form(where)}")
        rows = np.flatnonzero(where)
        if not len(rows):
            return
        self._starter = self._starter or Starter(self.arena)
        if self.arena.memories:
            self.restarted.now[rows] = True
        state = self._starter(drawn(self.words(rows)[:, None], np.arange(self.arena.draw_count)), rows)
        for role in roles:
            own = state[:, role.rows if role.count is not None else role.rows.start]
            for number, column in enumerate(self._targets(role).values()):
                column[rows] = own[..., number]
            everyone = np.ones(role.members, bool)
            members = (
                (rows,) if role.count is None else tuple(i.ravel() for i in np.meshgrid(rows, everyone.nonzero()[0]))
            )
            self._begin(role, members, here=role.here_at_start)

    # --- details ----------------------------------------------------------------------------------------------------

    @property
    def joined(self) -> set[Role]:
        """The roles that joints hold."""
        return {role for joint in self.arena.joints for role in (joint.a, joint.b)}

    def _may_move(self, role: Role, parts: Sequence[object]) -> None:
        """Refuse to change a role, and these of its components, while its columns are read-only."""
        kinds = [Pose, Motion, *([Here] if role.comes_and_goes else ()), *map(type, parts)]
        for kind in kinds:
            views = views_of(role.handles[kind])
            if not views:
                raise SceneError(
                    f"'{role.name}' is placed, started anew or taken away by a system, while the world runs: "
                    "where it begins, and whether it is here, is said in spawn(..., Start(x=2.0), here=False)"
                )
            for view in views.values():
                if not view.flags.writeable:
                    component = "Pose" if kind in (Pose, Motion, Here) else kind.__name__
                    what = f"its {component}" if component != "Pose" else "it"
                    raise SceneError(
                        f"'{role.name}' can be placed, started anew or taken away by a system that writes {component}: "
                        f"{what} would change; say @arena.system(writes=({component}, ...))"
                    )

    def _members(self, role: Role, where: Any) -> Members:
        """Return the members for which `where` is true."""
        where = np.asarray(where)
        shape = (self.arenas,) if role.count is None else (self.arenas, role.count)
        if where.dtype != bool or where.shape not in ((), (self.arenas,), (*shape[:1], 1)[: len(shape)], shape):
            wanted = "(arenas,)" if role.count is None else f"(arenas, {role.count})"
            raise SceneError(f"'{role.name}' is placed or leaves where {wanted} truths say, not where {form(where)}")
        return _true(where if where.shape == shape else np.broadcast_to(aligned(where, role.count), shape))

    def _targets(self, role: Role) -> dict[str, F64]:
        """Return the columns of a body by their names."""
        pose, motion = views_of(role.handles[Pose]), views_of(role.handles[Motion])
        position, velocity = pose["position"], motion["velocity"]
        parts = (position[..., 0], position[..., 1], pose["angle"], velocity[..., 0], velocity[..., 1], motion["spin"])
        return dict(zip(FIELDS, parts, strict=True))

    def _value(self, role: Role, value: Any, members: Members, column: NDArray[Any], number: int) -> Any:
        """Return what a start value, a rule or an array gives for these members of a column; draws from `number` on."""
        if isinstance(value, float):
            return value
        width = column.shape[len(members) :]
        if isinstance(value, Spread):
            member = members[1][:, None] if role.count is not None else 0
            numbers = (number + np.arange(math.prod(width))) * role.members + member + (1 + role.number << 32)
            return value(drawn(self.words(members[0])[:, None], numbers)).reshape(-1, *width)
        given = value = value() if callable(value) else value
        if isinstance(value, tuple):  # one number for each member, or what all of them get
            value = np.asarray(value) if width else np.asarray(value)[None]
        else:  # the arenas first, then the members
            value = np.asarray(value)
            value = value.reshape(value.shape + (1,) * (column.ndim - value.ndim if value.ndim else 0))
        what = f"{FIELDS[number]}=" if number < len(FIELDS) else ""
        if value.dtype.kind not in "biuf":
            raise SceneError(f"'{role.name}' cannot be placed at {what}{form(given)}: it takes numbers")
        try:
            return np.broadcast_to(value, column.shape)[members]
        except ValueError:
            problem = f"{what}{form(value)}: it takes {column.shape}"
            raise SceneError(f"'{role.name}' cannot be placed at {problem}") from None

    def words(self, arenas: I64 | slice) -> U64:
        """Return a word for each of these arenas that belongs to this tick; all who draw in it share them."""
        key, clock = self.chance.key, self.clock
        of = key.tobytes(), clock.episode.tobytes(), clock.tick.tobytes()
        if of != self._words_of:
            self._words, self._words_of = tick_words(key, clock.episode, clock.tick), of
        return self._words[arenas]

    def rolled(self, stream: int, count: int | None) -> F64:
        """Return this tick's (arenas,) or (arenas, count) numbers in [0, 1) of one die."""
        words = self.words(slice(None))
        number = np.arange(count or 1) + ((1 << 20) + stream << 32)
        return drawn(words[:, None], number) if count is not None else drawn(words, number[:1])

    def _begin(self, role: Role, members: Members, *, here: Any, keep: Sequence[type] = ()) -> None:
        """Let members be here, or not, and start their components as an episode does, but those of some classes."""
        if role.comes_and_goes:
            now = np.asarray(here)
            views_of(role.handles[Here])["now"][members] = now[members[1]] if now.ndim else now
        number = len(FIELDS)
        for part in role.parts:
            views = views_of(role.handles[type(part)])
            for declared in columns_of(type(part)):
                start, column = part.__dict__[declared.name], views[declared.name]
                if start is None:
                    continue
                if type(part) not in keep:
                    column[members] = self._value(role, start, members, column, number)
                number += math.prod(column.shape[len(members) :])


def check_keep(role: Role, keep: Any) -> None:
    """Refuse to keep what are no components of a role."""
    own = [type(part) for part in role.parts]
    if not isinstance(keep, Sequence) or not all(isinstance(kind, type) for kind in keep):
        raise SceneError(f"place(..., keep=...) takes components in a tuple, as in keep=(Tank,), not {quote(keep)}")
    for kind in keep:
        if kind not in own:
            names = [each.__name__ for each in own]
            raise SceneError(f"'{role.name}' has no component {kind.__name__} to keep: {nearest(kind.__name__, names)}")


def _true(mask: Bool) -> Members:
    """Return where a mask is true, as `nonzero` does, but in a fraction of its time for one of two axes in a row."""
    if mask.ndim == 2 and mask.flags.c_contiguous:
        return np.divmod(np.flatnonzero(mask), mask.shape[1])
    if mask.ndim == 2 and mask.T.flags.c_contiguous:
        return _true(mask.T)[::-1]
    return mask.nonzero()


def check_start(name: str, start: Start, count: int | None) -> None:
    """Refuse a start with numbers for other members than there are."""
    for key, value in vars(start).items():
        if isinstance(value, tuple) and len(value) != count:
            has = "is one" if count is None else f"has {count} members"
            raise SceneError(f"'{name}' {has}, and its start's {key} is {len(value)} numbers: give one for each")
