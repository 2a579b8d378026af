"""The inspector: what the components of the body hold that the user has clicked."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pygame
from numpy.typing import NDArray

from ecs_rl.components import Clock, Touch
from ecs_rl.viewer.canvas import HEAD, PAD, ROW, SMALL, Canvas, fill_card
from ecs_rl.viewer.number_formats import fixed, short
from ecs_rl.viewer.objects import BodyId
from ecs_rl.viewer.palette import DIM, FAINT
from ecs_rl.viewer.panel import App, Panel

if TYPE_CHECKING:
    from ecs_rl.scene.roles import Role
    from ecs_rl.world import World

WIDTH = 290
FOOT, LEAST_ROWS = 8, 3
"""Space below the rows, and rows without which the panel is left out."""
UNIT, NAME = 53, 0.42
"""Pixels that units take, and the share of the width that names take."""
Row = tuple[str, str, str]


@dataclass(frozen=True)
class InspectorView:
    """The components of one entity: a title, and name, value and unit of each field."""

    title: str
    rows: tuple[Row, ...]


class Inspector(Panel[InspectorView]):
    """Shows the selected body as it was in the picture."""

    name = "inspector"

    def view(self, app: App) -> InspectorView | None:
        """Return what the body's components hold, None while none is selected."""
        show, selected = app.show, app.stage.selected
        if selected is None or not app.stage.is_single:
            return None
        with show.rewind.seen():
            return inspect(show.world, show.arena, selected)

    def is_on(self, app: App) -> bool:
        """Return whether a body is selected."""
        return app.stage.selected is not None

    def leave(self, app: App) -> None:
        """Select nothing any more."""
        app.stage.selected = None

    def paint(self, canvas: Canvas, view: InspectorView, room: pygame.Rect) -> None:
        """Paint the panel to the right; where not all rows have room, the first ones."""
        row, besides, count = canvas.px(ROW), canvas.px(HEAD + FOOT), len(view.rows)
        placed = canvas.place_rows(room, "top right", WIDTH, count, row=row, besides=besides, least=LEAST_ROWS)
        if placed is not None:
            canvas.lay(canvas.surface, placed[0], self.name, view, _paint)


def inspect(world: World, arena: int, chosen: BodyId) -> InspectorView:
    """Return every component of a body in one arena, what it touches, the arena's clock and the scene's own numbers."""
    role = next(role for role in world.arena.roles if role.name == chosen.role)
    own = {type(part) for part in world.arena.parts}
    many = role.count is not None
    rows = [
        *_columns(world, chosen.role, (arena, chosen.member) if many else (arena,)),
        *_body(role),
        *_touching(world, role, arena),
        *_columns(world, "@arena", (arena,), {Clock, *own}),
        *(("number " + number.name, _numbers(number.value[arena]), "") for number in world.arena.numbers),
    ]
    return InspectorView(chosen.label(many=many), tuple(rows))


def _columns(world: World, entity: str, row: tuple[int, ...], only: set[type] | None = None) -> list[Row]:
    """Return what the columns of an entity's components hold in one row."""
    rows = []
    for stored in world.stored:
        if stored.entity == entity and (only is None or stored.kind in only):
            name = f"{stored.kind.__name__} {stored.column.name}"
            rows.append((name, _numbers(stored.array[row]), stored.column.unit))
    return rows


def _numbers(values: NDArray[Any]) -> str:
    """Return one number, or those of all members of a kind."""
    return "  ".join(_written(value) for value in np.ravel(values).tolist())


def _written(value: float | bool) -> str:
    if isinstance(value, float):
        return fixed(value)
    return ("yes" if value else "no") if isinstance(value, bool) else str(value)


def _body(role: Role) -> list[Row]:
    if role.body is None:
        return []
    spins = math.isfinite(role.moment)
    inertia = short(role.moment) if spins else "never spins"
    return [("mass", short(role.body.mass), "kg"), ("inertia", inertia, "kg m²" if spins else "")]


def _touching(world: World, role: Role, arena: int) -> list[Row]:
    """Return what the body touches, where the scene asks for that at all: otherwise nobody looks."""
    if not world.arena.wants_contacts:
        return []
    names = [*(other.name for other in world.arena.roles), "ground"]
    touched = np.flatnonzero(world.one(Touch).pairs[arena, role.number]).tolist()
    return [("Touch", ", ".join(names[i] for i in touched) or "nothing", "")]


def _paint(surface: pygame.Surface, view: InspectorView, canvas: Canvas) -> None:
    w, h = surface.get_size()
    y, unit = fill_card(surface, "Esc", view.title, canvas), canvas.px(UNIT)
    right = w - canvas.px(PAD) - unit
    room = right - canvas.px(PAD) - round(w * NAME)
    for name, value, of in view.rows:
        middle = y + canvas.px(ROW) // 2
        if middle + canvas.px(ROW) // 2 > h:
            return
        canvas.write(surface, name, (canvas.px(PAD), middle), size=SMALL + 0.5, colour=DIM, width=w * NAME)
        canvas.write(surface, value, (right, middle), size=SMALL + 0.5, face="numbers", anchor="right", width=room)
        canvas.write(surface, of, (right + canvas.px(6), middle), size=SMALL, colour=FAINT, width=unit - canvas.px(6))
        y += canvas.px(ROW)
