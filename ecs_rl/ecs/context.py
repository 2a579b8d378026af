"""One esper context: its entities by name, and the columns of their components in a fixed order."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass, replace
from itertools import count
from typing import Any, TypeVar

import esper
import numpy as np

from ecs_rl.arrays import F64, I64
from ecs_rl.ecs.component import Array, Axis, Column, arrays_of, bind_handle, columns_of
from ecs_rl.errors import CheckpointError, RuleError, SceneError

C = TypeVar("C")
Columns = dict[str, Array]
"""Arrays by `entity/Component/field`."""
_serial = count()


@dataclass(frozen=True)
class Stored:
    """A column of a world with its entity, its declaration and the start of its rows."""

    key: str
    entity: str
    kind: type
    column: Column
    array: Array
    start: Any


class Context:
    """The entities of N arenas. Everything is made before the first tick, and no array ever moves after that."""

    def __init__(self, name: str, arenas: int) -> None:
        self.context, self.arenas = f"{name}-{next(_serial)}", arenas
        self.ticks = 0
        self.version = 0
        """Goes up whenever columns that a rule can see may have changed."""
        self.asking = False
        """Whether a stage is at work that asks rules and changes nothing they can see."""
        self.entities: dict[str, int] = {}
        self.stored: list[Stored] = []
        self.handles: dict[str, dict[type, object]] = {}
        """By entity, the read-only twins that a scene holds."""
        self.exposed: list[tuple[str, type, list[Array]]] = []
        """Entity, component and the read-only views of its columns that the scene holds."""
        self.noted: set[type] = set()
        """Components at which somebody has looked; noted in debug runs only."""
        self.queried: set[type] = set()
        """Components for which `each`, `one` or `of` were asked; a runner compares them with those a stage declares."""
        self.enter()

    def enter(self) -> None:
        """Make this context esper's current one."""
        if esper.current_world != self.context:
            esper.switch_world(self.context)

    def create(self, name: str, *components: object, starts: dict[str, Any] | None = None) -> int:
        """Create an entity; `starts` overrules a column's declared start, by `Component/field`."""
        self.enter()
        if name in self.entities:
            raise SceneError(f"there are two '{name}': give one of them another name")
        self.entities[name] = entity = esper.create_entity(*components)
        for made in components:
            for column in columns_of(type(made)):
                key = f"{type(made).__name__}/{column.name}"
                start = (starts or {}).get(key, column.start)
                self.stored.append(Stored(f"{name}/{key}", name, type(made), column, made.__dict__[column.name], start))
        return entity

    def expose(self, name: str, handle: object, *, tracked: bool) -> dict[str, Array]:
        """Give a scene's handle the columns of the entity's component of its kind; return its read-only views."""
        kind = type(handle)
        views = bind_handle(handle, arrays_of(self.of(name, kind)), self.noted.add if tracked else None)
        self.handles.setdefault(name, {})[kind] = handle
        self.exposed.append((name, kind, list(views.values())))
        return views

    def resize(self, entity: str, old: object, new: object) -> None:
        """Replace the arrays of a component by others of another width; no scene or stage may hold them."""
        arrays = arrays_of(new)
        vars(old).update(arrays)
        for i, stored in enumerate(self.stored):
            if stored.entity == entity and stored.kind is type(old):
                self.stored[i] = replace(stored, array=arrays[stored.column.name])

    # --- finding ----------------------------------------------------------------------------------------------------

    def each(self, *types: type) -> list[tuple[Any, ...]]:
        """Return the components of every entity that has all of these, in the order of creation."""
        self.enter()
        self.queried.update(types)
        # esper lists entities in the order of a set; data must never depend on that.
        entities: list[tuple[int, Any]] = esper.get_components(*types)
        return [tuple(parts) for _, parts in sorted(entities, key=lambda pair: pair[0])]

    def one(self, kind: type[C]) -> C:
        """Return the only component of its kind."""
        components = self.each(kind)
        if len(components) != 1:
            raise LookupError(f"the world has {len(components)} {kind.__name__}, not one")
        return components[0][0]  # type: ignore[no-any-return]

    def of(self, entity: int | str, kind: type[C]) -> C:
        """Return the component of an entity, by its number or its name."""
        self.enter()
        self.queried.add(kind)
        return esper.component_for_entity(self.entities[entity] if isinstance(entity, str) else entity, kind)

    def when(self, arena: int) -> str:
        """Return the arena and the tick as words for an error message."""
        return f"in arena {arena} at tick {self.ticks}"

    # --- columns ----------------------------------------------------------------------------------------------------

    def reset(self, rows: I64, uniform: F64, first_slot: dict[str, int], between: Callable[[], None]) -> None:
        """Start these rows anew: constants, then draws from (rows, draws) in [0, 1), then rules, which see both.

        `between` is called before the rules.
        """
        rules = []
        for stored in self.stored:
            if stored.start is None or not stored.array.size:
                continue
            if not callable(stored.start):
                _rows(stored, rows, stored.start, self.arenas)
            elif hasattr(stored.start, "draws"):
                first, shape = first_slot[stored.key], stored.array.shape[1:]
                drawn = uniform[:, first : first + math.prod(shape)].reshape(len(rows), *shape)
                _rows(stored, rows, stored.start(drawn), self.arenas)
            else:
                rules.append(stored)
        between()
        for stored in rules:
            value = rows_of(np.asarray(stored.start()), rows, self.arenas, stored.array.ndim)
            _rows(stored, rows, value, self.arenas)

    def lasting(self) -> list[Stored]:
        """Return every column whose numbers last from tick to tick."""
        return [each for each in self.stored if each.column.lasts]

    def save_columns(self) -> Columns:
        """Return copies of all lasting columns under stable names."""
        return {each.key: each.array.copy() for each in self.lasting()}

    def load_columns(self, columns: Columns) -> None:
        """Load all lasting columns; the engine must be rebuilt from them afterwards."""
        arrays = {e.key: e.array for e in self.lasting() if not e.column.is_new or e.key in columns}
        odd = arrays.keys() ^ columns.keys()
        odd |= {key for key in arrays.keys() - odd if _form(arrays[key]) != _form(columns[key])}
        if odd:
            raise CheckpointError(
                f"the saved world does not fit this scene: it differs in {', '.join(sorted(odd)[:5])}"
            )
        self.version += 1
        for key, array in arrays.items():
            array[...] = columns[key]

    def arena_columns(self, arena: int) -> Columns:
        """Return views of an arena's part of all lasting columns that have one, under stable names."""
        parts = {each.key: each.column.of_arena(each.array, self.arenas, arena) for each in self.lasting()}
        return {key: part for key, part in parts.items() if part is not None}

    def load_arena(self, columns: Columns, arena: int) -> None:
        """Load an arena's part of all lasting columns; the engine must be rebuilt from them before the next tick.

        Where another policy remembers other numbers, it begins to remember anew.
        """
        self.version += 1
        for key, part in self.arena_columns(arena).items():
            part[...] = columns[key] if part.shape == columns[key].shape else 0

    def copy_arena(self, source: Context, one: int, other: int) -> None:
        """Copy an arena of another context of the same scene into one of this context, with its episode."""
        self.load_arena(source.arena_columns(one), other)

    def digests(self) -> dict[tuple[str, type], str]:
        """Return the SHA-256 of every component by entity and class, over its columns or else its fields."""
        self.enter()
        components: dict[str, tuple[object, ...]] = {
            n: esper.components_for_entity(e) for n, e in self.entities.items()
        }
        return {(name, type(made)): _digest(made) for name, parts in components.items() for made in parts}

    def close(self) -> None:
        """Delete the esper context."""
        if esper.current_world == self.context:
            esper.switch_world("default")
        if self.context in esper.list_worlds():
            esper.delete_world(self.context)


def rows_of(value: Array, rows: I64, arenas: int, ndim: int) -> Array:
    """Return the rows of a rule's value with `ndim` axes; a value for all arenas stays one value."""
    if not value.ndim or len(value) != arenas:
        return value
    return value[rows].reshape(len(rows), *value.shape[1:], *[1] * (ndim - value.ndim))


def _rows(stored: Stored, rows: I64, value: Any, arenas: int) -> None:
    array = stored.array
    try:
        match stored.column.axis:
            case Axis.ARENA:
                array[rows] = value
            case Axis.LAST:
                array[..., rows] = value
            case Axis.ROWS:
                array.reshape(-1, arenas, *array.shape[1:])[:, rows] = value
    except ValueError:
        message = f"{stored.key} cannot start as {np.shape(value)}: its rows are {array.shape[1:]}"
        raise RuleError(message, stored.start) from None


def _form(array: Array) -> tuple[tuple[int, ...], np.dtype[Any]]:
    return array.shape, array.dtype


def _digest(made: object) -> str:
    digest = hashlib.sha256()
    _add(digest, made)
    return digest.hexdigest()


def _add(digest: Any, value: object) -> None:
    if columns_of(type(value)):
        for column in columns_of(type(value)):
            digest.update(value.__dict__[column.name].tobytes())
    elif is_dataclass(value):
        for field in fields(value):
            _add(digest, getattr(value, field.name))
    elif isinstance(value, (dict, list, tuple)):  # the repr of an array leaves out most of its numbers
        digest.update(f"{type(value).__name__} {len(value)}".encode())
        for held in value.items() if isinstance(value, dict) else value:
            _add(digest, held)
    else:
        digest.update(value.tobytes() if isinstance(value, np.ndarray) else repr(value).encode())
