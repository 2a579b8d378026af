"""Components: classes whose fields are columns, each with a declared life.

A field declares where a row starts when an episode begins, whether its numbers last from tick to tick, and along which
axis its array holds the arenas. Allocation, reset, save, copy, the debug run and the inspector all follow from that.
"""

from __future__ import annotations

import dataclasses
import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, dataclass
from enum import Enum
from typing import Any, TypeVar, dataclass_transform, get_type_hints

import numpy as np
from numpy.typing import NDArray

from ecs_rl.arrays import F32, F64, I64, Bool, read_only
from ecs_rl.errors import SceneError, nearest

C = TypeVar("C")
Array = NDArray[Any]
_KINDS: dict[Any, type] = {float: np.float64, int: np.int64, bool: np.bool_}
_KINDS |= {F64: np.float64, F32: np.float32, I64: np.int64, Bool: np.bool_, NDArray[np.uint64]: np.uint64}


class Axis(Enum):
    """Where an array holds the arenas."""

    ARENA = "(arenas, ...)"
    LAST = "(..., arenas)"
    ROWS = "(agents * arenas, ...), all arenas of the first agent first"
    WORLD = "one for the whole world"


@dataclass(frozen=True)
class Column:
    """The declared life of one field."""

    name: str
    dtype: np.dtype[Any]
    start: Any = None
    """What a row is when an episode begins: a number, a tuple, a Spread, a rule; None leaves it to a processor."""
    axis: Axis = Axis.ARENA
    lasts: bool = True
    """False where every tick makes it anew before anything reads it: then it is neither saved nor copied."""
    unit: str = ""
    is_new: bool = False
    """Whether older saves lack it: then it is left as it is."""

    def of_arena(self, array: Array, arenas: int, one: int) -> Array | None:
        """Return a view of one arena's part; None where arenas have no parts."""
        match self.axis:
            case Axis.ARENA:
                return array[one : one + 1]
            case Axis.LAST:
                return array[..., one : one + 1]
            case Axis.ROWS:
                return array.reshape(len(array) // arenas, arenas, *array.shape[1:])[:, one]
            case Axis.WORLD:
                return None

    def of_arenas(self, array: Array, arenas: int, some: slice) -> Array:
        """Return a copy of the part of some arenas; of the whole array where arenas have no parts."""
        match self.axis:
            case Axis.ARENA:
                return array[some].copy()
            case Axis.LAST:
                return array[..., some].copy()
            case Axis.ROWS:
                return rows_of_arenas(array, arenas, some)
            case Axis.WORLD:
                return array.copy()

    def joined(self, parts: Sequence[Array], arenas: int) -> Array:
        """Return the array of all arenas from parts of `arenas` arenas; the inverse of `of_arenas`."""
        match self.axis:
            case Axis.ARENA:
                return np.concatenate(parts)
            case Axis.LAST:
                return np.concatenate(parts, axis=-1)
            case Axis.ROWS:
                return joined_rows(parts, arenas)
            case Axis.WORLD:
                return parts[0]


def rows_of_arenas(array: Array, arenas: int, some: slice) -> Array:
    """Return the rows of some arenas, of an array that has all arenas of the first agent first."""
    agents = len(array) // arenas
    rows = array.reshape(agents, arenas, *array.shape[1:])[:, some]
    return rows.reshape(agents * rows.shape[1], *array.shape[1:])


def joined_rows(parts: Sequence[Array], arenas: int) -> Array:
    """Return the rows of all arenas from parts of `arenas` arenas; the inverse of `rows_of_arenas`."""
    agents, shape = len(parts[0]) // arenas, parts[0].shape[1:]
    whole = np.concatenate([part.reshape(agents, arenas, *shape) for part in parts], axis=1)
    return whole.reshape(agents * arenas * len(parts), *shape)


def column(
    start: Any = None,
    *,
    unit: str = "",
    axis: Axis = Axis.ARENA,
    lasts: bool = True,
    dtype: type | None = None,
    is_new: bool = False,
) -> Any:
    """Return the declaration of a field that needs more said than a type and a start value.

    `unit` is shown by the window's inspector. `lasts=False` is for what every tick makes anew before anything reads it:
    it is neither saved nor copied. The others are the engine's own.
    """
    life = {"axis": axis, "lasts": lasts, "dtype": dtype, "unit": unit, "is_new": is_new}
    return dataclasses.field(default=start, metadata=life)


@dataclass_transform(eq_default=False, field_specifiers=(column,))
def component(kind: type[C]) -> type[C]:
    """Make a class a component, each field of which, as in `fuel: float = 1.0`, is a column: (arenas,).

    A field is a float, an int or a bool, or of several numbers, (arenas, n), if it starts as a tuple; it starts anew in
    every episode. An instance holds start values, `Tank(fuel=0.5)`, until a world gives it arrays (see `live`).
    """
    for name in inspect.get_annotations(kind):
        if getattr(kind.__dict__.get(name), "__hash__", True) is None:  # a list, or an array: of one object for all
            start = type(kind.__dict__[name]).__name__
            raise SceneError(f"{kind.__name__}.{name} starts as a number or a tuple of them, not as a {start}")
    made: Any = dataclass(eq=False)(kind)
    hints = get_type_hints(kind)
    made.__columns__ = tuple(_declared(made, field, hints[field.name]) for field in dataclasses.fields(made))
    for declared in made.__columns__:  # an instance without arrays must not answer with the default
        if declared.name in made.__dict__:
            delattr(made, declared.name)
    made.__getattr__, made.__setattr__ = _missing, _assign
    return made  # type: ignore[no-any-return]


def _declared(kind: type, field: dataclasses.Field[Any], hint: Any) -> Column:
    if field.default is MISSING:
        raise SceneError(f"{kind.__name__}.{field.name} needs a start value, as in `{field.name}: float = 0.0`")
    dtype = field.metadata.get("dtype") or _KINDS.get(hint)
    if dtype is None:
        raise SceneError(f"{kind.__name__}.{field.name} must be a float, an int or a bool, not {hint!r}")
    life = {key: field.metadata[key] for key in ("axis", "lasts", "unit", "is_new") if key in field.metadata}
    return Column(field.name, np.dtype(dtype), field.default, **life)


def _missing(self: Any, name: str) -> Any:
    """Return a tracked column; raise for any other missing attribute."""
    tracked = self.__dict__.get("__tracked__")
    if tracked is not None and name in tracked[0]:
        tracked[1](type(self))
        return tracked[0][name]
    kind = type(self).__name__
    names = [column.name for column in columns_of(type(self))]
    if name in names:
        raise SceneError(f"'{kind}.{name}' has no numbers before the world runs: read them inside a rule or a system")
    raise AttributeError(f"{kind} has no attribute '{name}': {nearest(name, names)}", name=name)


def _assign(self: Any, name: str, value: Any) -> None:
    """Write into the column, so that `gun.heat = x` and `gun.heat -= 1` change the shared array."""
    tracked = self.__dict__.get("__tracked__")
    present = self.__dict__.get(name) if tracked is None else tracked[0].get(name)
    if isinstance(present, np.ndarray):
        if present is not value:
            present[...] = value
        elif not present.flags.writeable:  # numpy has refused `+=` already, unless there was nothing to add
            raise ValueError("assignment destination is read-only")
        return
    if name not in {column.name for column in columns_of(type(self))}:
        raise AttributeError(
            f"{type(self).__name__} has no '{name}': declare it as a field, and it is saved with the run"
        )
    object.__setattr__(self, name, value)


def is_component(value: object) -> bool:
    """Tell whether this is a component with columns, or its class."""
    return hasattr(value if isinstance(value, type) else type(value), "__columns__")


def columns_of(kind: type) -> tuple[Column, ...]:
    """Return the declared columns of a component's class, none for a plain class."""
    return getattr(kind, "__columns__", ())


def arrays_of(made: object) -> dict[str, Array]:
    """Return the arrays of a live component by field."""
    return {column.name: made.__dict__[column.name] for column in columns_of(type(made))}


def starts_of(parts: Sequence[object]) -> dict[str, Any]:
    """Return how the columns of these components start, by `Component/field`."""
    return {
        f"{type(part).__name__}/{column.name}": part.__dict__[column.name]
        for part in parts
        for column in columns_of(type(part))
    }


def live(kind: type[C], **arrays: Array) -> C:
    """Return a component on these arrays, which must be all of its columns and never move."""
    made = object.__new__(kind)
    made.__dict__.update((column.name, arrays[column.name]) for column in columns_of(kind))
    return made


def zeros(kind: type[C], rows: int, *width: int) -> C:
    """Return a component of the engine with zeroed arrays of (rows, *width); rows are arenas or agents."""
    shapes = {Axis.LAST: (*width, rows), Axis.WORLD: ()}
    return live(kind, **{c.name: np.zeros(shapes.get(c.axis, (rows, *width)), c.dtype) for c in columns_of(kind)})


def row_shape(column: Column, start: Any, count: int | None) -> tuple[int, ...]:
    """Return the shape of an arena's row: `count` members where there are several, then the numbers of each.

    Several numbers for a column that is declared as one are one for each member.
    """
    declared, given = (() if value is None or callable(value) else np.shape(value) for value in (column.start, start))
    if count is None:
        return given or declared
    return (count,) if column.start is not None and not declared else (count, *(given or declared))


def draws_of(template: object, count: int | None) -> int:
    """Return how many uniform numbers an episode draws for a component."""
    starts = [(column, template.__dict__[column.name]) for column in columns_of(type(template))]
    return sum(math.prod(row_shape(column, start, count)) for column, start in starts if hasattr(start, "draws"))


def allocate(template: C, arenas: int, count: int | None = None) -> C:
    """Return a component of a scene with arrays of its own, every row at the template's start value."""
    arrays = {}
    for column in columns_of(type(template)):
        start = template.__dict__[column.name]
        arrays[column.name] = np.zeros((arenas, *row_shape(column, start, count)), column.dtype)
        if start is not None and not callable(start):
            arrays[column.name][...] = start
    return live(type(template), **arrays)


def check_template(template: object, count: int | None = None) -> None:
    """Raise SceneError for a start value that its column cannot hold, for `count` members."""
    for column in columns_of(type(template)):
        start, name = template.__dict__[column.name], f"{type(template).__name__}.{column.name}"
        if callable(start) or start is None:
            continue
        numbers = start if isinstance(start, tuple) else (start,)
        fits = {"f": (int, float), "i": (int,), "b": (bool,)}[column.dtype.kind]
        good = all(isinstance(n, fits) and (column.dtype.kind == "b" or not isinstance(n, bool)) for n in numbers)
        if not numbers or not good or not all(math.isfinite(n) for n in numbers):
            word = {"f": "a finite number", "i": "a whole number", "b": "true or false"}[column.dtype.kind]
            raise SceneError(f"{name} starts as {word}, a tuple of them, a jitter or a rule, not {start!r}")
        if column.start is None or callable(column.start) or np.shape(column.start) == np.shape(start):
            continue
        if count is None or np.shape(column.start):
            raise SceneError(
                f"{name} is declared as {_count(column.start)} and cannot start as {_count(start)}: {start!r}"
            )
        if len(numbers) != count:
            raise SceneError(f"{name} starts as one number for each of the {count} members, not as {len(numbers)}")


def _count(start: Any) -> str:
    return "one number" if np.shape(start) == () else f"{len(start)} numbers"


def new_handle(kind: type[C]) -> C:
    """Return a handle without arrays, which a scene may hold before a world exists."""
    return object.__new__(kind)


def bind_handle(handle: object, arrays: Mapping[str, Array], note: Callable[[type], None] | None) -> dict[str, Array]:
    """Bind a handle to read-only views and return them; `note` is called with its class at each read."""
    views = {name: read_only(array) for name, array in arrays.items()}
    handle.__dict__.clear()
    handle.__dict__.update(views if note is None else {"__tracked__": (views, note)})
    return views


def views_of(handle: object) -> Mapping[str, Array]:
    """Return the views of a bound handle by field."""
    tracked = handle.__dict__.get("__tracked__")
    return handle.__dict__ if tracked is None else tracked[0]
