"""Systems: stages that a scene brings along, as a closure over handles or as a function of the components it queries.

Handles are read-only for everyone. While a system runs, the columns that it declares as written are open, so writing to
any other fails in the very line that does it; a debug run notes which columns are asked for, too.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, get_type_hints

import numpy as np

from ecs_rl.arrays import finite
from ecs_rl.ecs.component import columns_of, is_component
from ecs_rl.ecs.entries import Entry, Stage
from ecs_rl.errors import RuleError, SceneError, nearest

if TYPE_CHECKING:
    from ecs_rl.ecs.context import Context

Moving = Callable[[], AbstractContextManager[None]]


@dataclass(frozen=True, eq=False)
class System:
    """A stage of a scene, and its place in the tick."""

    name: str
    run: Callable[..., None]
    query: tuple[type, ...]
    """The components that `run` takes, once for each entity that has all of them; empty for a closure."""
    reads: tuple[type, ...] | None
    """None: not declared, so that only what is written is known."""
    writes: tuple[type, ...]
    after: str
    before: str
    checked: bool = True
    """Whether what it writes is refused here if it is not finite; otherwise whoever reads it does that, by name."""
    asks: bool = False
    """Whether it asks rules, and writes nothing that a shared one can see (see Entry)."""

    @property
    def about(self) -> str:
        """The first line of its docstring, for the table of the tick."""
        return (inspect.getdoc(self.run) or "a system of the scene").split("\n", maxsplit=1)[0].rstrip(".")


def declare(
    run: Callable[..., None],
    *,
    reads: Iterable[Any] | None = None,
    writes: Iterable[Any] | None = None,
    after: str = "",
    before: str = "",
    name: str = "",
    checked: bool = True,
    asks: bool = False,
) -> System:
    """Return a system or raise SceneError; by default a function of components may write them."""
    named = name or getattr(run, "__name__", "")
    if not callable(run) or not named.isidentifier():
        raise SceneError(f"a system is a function with a name, or says name=..., not {run!r}")
    if after and before:
        raise SceneError(f"the system '{named}' stands after one stage or before one: say only one of the two")
    query = _query(run, named)
    written = query if writes is None else _kinds(writes, named, "writes")
    read = query if reads is None and query else None if reads is None else (*query, *_kinds(reads, named, "reads"))
    return System(named, run, query, read, written, after, before, checked, asks)


def _query(run: Callable[..., None], name: str) -> tuple[type, ...]:
    parameters = inspect.signature(run).parameters
    required = [p for p in parameters.values() if p.default is p.empty and p.kind is not p.VAR_KEYWORD]
    hints = get_type_hints(run) if required else {}
    for parameter in required:
        if not is_component(hints.get(parameter.name)):
            raise SceneError(f"'{name}' must say of which component its '{parameter.name}' is, as in `gun: Gun`")
    return tuple(hints[parameter.name] for parameter in required)


def _kinds(listed: Iterable[Any], name: str, word: str) -> tuple[type, ...]:
    if isinstance(listed, (type, str)):
        raise SceneError(f"{word} of '{name}' must be a tuple of components, as in `{word}=(Gun,)`")
    kinds = [getattr(each, "kind", each) for each in listed]
    for kind in kinds:
        if not isinstance(kind, type) or not is_component(kind):
            given = getattr(kind, "name", None)  # a role's, whose repr says nothing
            given_name = f"{type(kind).__name__} '{given}'" if isinstance(given, str) else repr(kind)
            raise SceneError(f"'{name}' {word} components such as Pose or one of the scene's own, not {given_name}")
    return tuple(kinds)


def placed(
    schedule: Sequence[Entry], systems: Iterable[System], moving: Moving, inside: Collection[type]
) -> list[Entry]:
    """Return the schedule with the systems in their places; systems at one place keep their order.

    `inside` are the engine's components that systems may write, `moving` surrounds those that write one of them.
    """
    entries = list(schedule)
    for system in systems:
        names = [entry.name for entry in entries]
        if system.name in names:
            message = f"there is a stage '{system.name}' already: give the system another name"
            raise RuleError(message, system.run)
        at = system.after or system.before or "sense"
        if at not in names:
            message = f"'{system.name}' stands next to '{at}', and there is no such stage: {nearest(at, names)}"
            raise RuleError(message, system.run)
        engine = {kind for entry in schedule for kind in (*entry.writes, *entry.keeps)} - set(inside)
        for kind in system.writes:
            if kind in engine:
                message = f"'{system.name}' writes {kind.__name__}, which only the engine writes"
                raise RuleError(message, system.run)
        place = names.index(at) + bool(system.after)
        _check_place(system, entries, place, {entry.name for entry in schedule})
        while system.after and place < len(entries) and entries[place].after == system.after:
            place += 1
        entries.insert(
            place, _entry(system, entries[:place], moving if set(inside) & set(system.writes) else nullcontext)
        )
    return entries


def _check_place(system: System, entries: Sequence[Entry], place: int, ours: Collection[str]) -> None:
    """Raise RuleError for a place where a written value would be lost, in the same tick or at a resume."""
    where = f"stands after '{system.after}'" if system.after else f"stands before '{system.before or 'sense'}'"
    last = max(i for i, entry in enumerate(entries) if entry.plays)
    if place > last + 1:  # a tick can be left there, and is saved before its end
        message = f"'{system.name}' {where}, when the game's part of the tick is over"
        raise RuleError(f"{message}: place it after '{entries[last].name}' at the latest", system.run)
    engine = [(i, entry) for i, entry in enumerate(entries) if entry.name in ours]
    for kind in system.writes:
        makers = [i for i, entry in engine if kind in entry.writes]
        readers = [i for i, entry in engine if kind in entry.reads]
        lost = makers and not all(column.lasts for column in columns_of(kind))
        if lost and not makers[0] < place <= readers[-1]:
            message = f"'{system.name}' {where} and writes {kind.__name__}, which nobody reads before it is made anew"
            raise RuleError(f"{message}: place it after '{entries[makers[0]].name}'", system.run)


def _entry(system: System, earlier: Sequence[Entry], moving: Moving) -> Entry:
    fresh = {kind for entry in earlier for kind in entry.writes}
    read = [kind for kind in system.reads or () if kind not in system.writes]
    for kind in read:
        if kind not in fresh and not any(column.lasts for column in columns_of(kind)):
            message = f"'{system.name}' reads {kind.__name__} before this tick's is there, and the last one's is gone"
            raise RuleError(f"{message}: place it after the stage that writes it", system.run)
    return Entry(
        system.name,
        partial(SystemStage, system=system, moving=moving),
        system.about,
        reads=tuple(kind for kind in read if kind in fresh),
        keeps=tuple(kind for kind in read if kind not in fresh),
        writes=system.writes,
        plays=True,
        asks=system.asks,
        after=system.after,
    )


class SystemStage(Stage):
    """Runs one system with its own columns open, and refuses numbers that are not finite."""

    def __init__(self, context: Context, system: System, moving: Moving) -> None:
        self.context, self.system, self.moving = context, system, moving
        self.calls = self._calls()
        self.open = [view for _, kind, views in context.exposed if kind in system.writes for view in views]
        self.checked = [
            (stored.key, stored.array)
            for stored in context.stored
            if system.checked and stored.array.dtype.kind == "f" and stored.kind in system.writes
        ]
        self.sound = finite(*(array for _, array in self.checked))
        self.looked: set[type] = set()
        """Components at which the system has looked in a debug run."""

    def _calls(self) -> list[Callable[[], None]]:
        system = self.system
        if not system.query:
            return [system.run]
        calls: list[Callable[[], None]] = []
        for handles in self.context.handles.values():
            if any(kind in handles for kind in system.query):
                both = {**self.context.handles.get("@arena", {}), **handles}
                if all(kind in both for kind in system.query):
                    calls.append(partial(system.run, *(both[kind] for kind in system.query)))
        if not calls:
            kinds = ", ".join(kind.__name__ for kind in system.query)
            raise RuleError(f"no role has {kinds} all together: the system '{system.name}' would never run", system.run)
        return calls

    def run(self) -> None:
        """Run the system."""
        for view in self.open:
            view.setflags(write=True)
        try:
            with self.moving():
                for call in self.calls:
                    call()
        finally:
            for view in self.open:
                view.setflags(write=False)
        if not self.sound():
            self._refuse()

    def _refuse(self) -> None:
        """Name the first number that is not finite."""
        for key, array in self.checked:
            bad = np.argwhere(~np.isfinite(array))
            if len(bad):  # a sum of squares can overflow
                arena, value = int(bad[0][0]), array[tuple(bad[0])]
                raise RuleError(
                    f"the system '{self.system.name}' made {key} {value} {self.context.when(arena)}", self.system.run
                )

    def check_reads(self) -> None:
        """Raise RuleError if the system read an undeclared column; debug runs note every read."""
        self.looked |= self.context.noted
        if self.system.reads is not None:
            secret = sorted(kind.__name__ for kind in self.looked - {*self.system.reads, *self.system.writes})
            if secret:
                raise RuleError(
                    f"the system '{self.system.name}' reads {', '.join(secret)} without saying so in reads=(...)",
                    self.system.run,
                )
