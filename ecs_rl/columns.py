"""The columns are the whole state of a world: taken out, put back, and lived through again from an anchor."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ecs_rl.components import (
    Chance,
    Clock,
    Episodes,
    Explosion,
    Ground,
    Memory,
    Motion,
    Observation,
    Pose,
    Touch,
)
from ecs_rl.components.trail import Columns, Trail
from ecs_rl.errors import CheckpointError

if TYPE_CHECKING:
    from ecs_rl.world import World

LASTING = (Pose, Motion, Touch, Ground, Clock, Chance, Memory, Episodes, Explosion, Observation)
"""What a tick finds as the last one left it; all else is made anew in every tick, or never changes."""
_ROWS: tuple[tuple[type, str], ...] = (
    (Touch, "pairs"),
    (Ground, "segments"),
    (Clock, "tick"),
    (Clock, "episode"),
    (Chance, "key"),
    (Chance, "uniform"),
)
"""Fields of the world's own with a row for each arena."""
_COLUMNS: tuple[tuple[type, str], ...] = ((Memory, "value"), (Memory, "now"), (Episodes, "terms"))
"""Those that have a column for each arena instead."""


def columns_of(world: World) -> Columns:
    """Return copies of all columns that last, under stable names."""
    return {name: np.array(getattr(component, field)) for name, component, field in _fields(world)}


def put_columns(world: World, columns: Columns) -> None:
    """Put all columns back; the physics does not know of it until it is made anew."""
    fields = list(_fields(world))
    odd = sorted({name for name, _, _ in fields} ^ set(columns))
    if odd:
        raise CheckpointError(f"the saved world does not fit this scene: it differs in {', '.join(odd[:5])}")
    for name, component, field in fields:
        saved, now = columns[name], getattr(component, field)
        if np.shape(now) != saved.shape:
            raise CheckpointError(f"the saved world does not fit: {name} is {saved.shape}, this one's {np.shape(now)}")
        if isinstance(now, int):
            setattr(component, field, type(now)(saved))  # a truth stays one
        else:
            now[...] = saved


def copy_arena(source: World, one: int, target: World, other: int) -> None:
    """Let an arena of one world stand where one of another world of the same scene stands, episode and all.

    The target's physics must be made anew before its next tick.
    """
    target.physics.state[:, :, other] = source.physics.state[:, :, one]
    for kind, name in _ROWS:
        getattr(target.one(kind), name)[other] = getattr(source.one(kind), name)[one]
    for kind, name in _COLUMNS:
        getattr(target.one(kind), name)[:, other] = getattr(source.one(kind), name)[:, one]
    for crew, mine in zip(source.crews, target.crews, strict=True):
        seen, shown = source.of(crew.entity, Observation), target.of(mine.entity, Observation)
        for there, here in zip(crew.seats, mine.seats, strict=True):
            shown.value[here.rows.start + other] = seen.value[there.rows.start + one]


def _fields(world: World) -> Iterator[tuple[str, object, str]]:
    """Yield a stable name, the component and the field of everything that lasts."""
    for kind in LASTING:
        for number, (component,) in enumerate(world.each(kind)):
            for field in dataclasses.fields(component):
                value = getattr(component, field.name)
                if isinstance(value, np.ndarray | int):
                    yield f"{kind.__name__}/{number}/{field.name}", component, field.name


def follow(trail: Trail, actions: tuple[NDArray[Any], ...]) -> None:
    """Note one tick's actions, choices in a byte each where they fit."""
    trail.actions.append(tuple(_small(action) for action in actions))


def stacked(trail: Trail) -> list[NDArray[Any]]:
    """Return (ticks, rows, ...) actions for each policy; nothing if there was no tick."""
    return [np.stack(column) for column in zip(*trail.actions, strict=True)]


def _small(action: NDArray[Any]) -> NDArray[Any]:
    if action.dtype.kind in "iu":
        return action.astype(np.uint8 if action.size and action.max() < 256 else np.int64)
    return action.copy()
