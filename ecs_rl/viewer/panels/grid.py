"""The grid: all training arenas at once; a click brings one to the stage."""

from __future__ import annotations

import pygame

from ecs_rl.viewer.canvas import STRIP, Canvas
from ecs_rl.viewer.grid import Grid, cells, draw_legend
from ecs_rl.viewer.grid_watch import GridWatch
from ecs_rl.viewer.palette import NIGHT
from ecs_rl.viewer.panel import App, Command, Gesture, Hit, Panel
from ecs_rl.viewer.view import GridView


class AllArenas(Panel[GridView]):
    """Watches the arenas of the training, and one of them in particular."""

    name, place = "grid", "ground"

    def __init__(self) -> None:
        self._passed = 0.0
        """Seconds since the last frame."""
        self._painted = Grid()

    def advance(self, app: App, seconds: float) -> None:
        """Let what flashes fade."""
        self._passed += seconds

    def view(self, app: App) -> GridView | None:
        """Return all arenas, None while the grid is closed."""
        seconds, self._passed = self._passed, 0.0
        if app.stage.grid is None:
            return None
        problems = app.stage.grid.reader.places.problems
        while problems:
            app.say(problems.pop(0), "warn")
        return app.stage.grid.view(seconds)

    def act(self, app: App, hit: Hit, gesture: Gesture) -> None:
        """Bring the arena under the mouse to the stage."""
        if gesture.kind == "click" and app.stage.grid is not None and 0 <= hit.index < app.stage.grid.arenas:
            app.stage.grid.selected = hit.index
            self.watch(app)

    def is_on(self, app: App) -> bool:
        """Return whether all arenas are shown."""
        return app.stage.grid is not None

    def mode_hints(self, app: App) -> tuple[tuple[str, str], ...]:
        """Return the keys of the grid."""
        if app.stage.grid is None:
            return ()
        return (("[ ]", "choose"), ("Enter", "watch it"), ("G", "back to the stage"), ("F1", "all keys"))

    def leave(self, app: App) -> None:
        """Go back to the stage."""
        app.stage.grid = None

    def toggle(self, app: App) -> None:
        """Show all arenas, or the stage again."""
        work = app.run.background
        if app.stage.grid is not None:
            app.stage.grid = None
        elif work is not None and work.training.world.engine.picture is not None:
            app.say("the training's environments are not drawn: there is no grid", "warn")
        elif work is not None:
            app.stage.leave_aside()
            app.stage.grid = GridWatch(work.training.world)

    def watch(self, app: App) -> None:
        """Bring the chosen arena to the stage."""
        if app.stage.grid is not None and app.run.background is not None:
            chosen = app.stage.grid.selected
            app.show.adopt(app.run.background.training.world, chosen, f"training arena {chosen}")
            app.stage.grid = app.stage.selected = None

    keys = (
        Command("Training", "G", "grid", "grid of all training arenas", toggle, (pygame.K_g,), trains=True),
        Command("Training", "", "watch arena", "", watch, trains=True),
    )

    # --- painting ---------------------------------------------------------------------------------------------------

    def arrange(self, canvas: Canvas, view: GridView, room: pygame.Rect) -> None:
        """Say where chips and hints stand: in the line below, for above they would lie over arenas."""
        strip = canvas.rooms["hints"]
        canvas.rooms["chips"] = pygame.Rect(room.x, strip.y, room.w, strip.h)

    def paint(self, canvas: Canvas, view: GridView, room: pygame.Rect) -> None:
        """Paint all arenas and, where hints leave room for it, the legend."""
        canvas.surface.fill(NIGHT, room)
        area = room.copy()
        if "hints" in canvas.panels:
            area.h = max(1, area.h - canvas.px(STRIP))
        self._painted.draw(canvas.surface, area, view, canvas)
        if "legend" in canvas.rooms:
            draw_legend(canvas.surface, canvas.rooms["legend"], view, canvas)
        arenas = len(view.bars)
        places = cells(area.size, arenas, view.shape, canvas)
        canvas.hit(area, "arena", -1, find=lambda at: places.arena_at(at, arenas))
