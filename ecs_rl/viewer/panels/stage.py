"""The stage: the shows that play now, one over the whole room or several side by side, under the user's hand."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pygame

from ecs_rl.viewer.camera import Aim, Camera
from ecs_rl.viewer.canvas import STRIP, Canvas, part_of
from ecs_rl.viewer.fields import SCALE
from ecs_rl.viewer.ghost_marks import draw_ghosts
from ecs_rl.viewer.live_episode import LiveEpisode
from ecs_rl.viewer.number_formats import signed
from ecs_rl.viewer.objects import BodyId
from ecs_rl.viewer.palette import NIGHT
from ecs_rl.viewer.panel import App, Command, Gesture, Hit, Panel
from ecs_rl.viewer.picking import pick
from ecs_rl.viewer.reports import Sight
from ecs_rl.viewer.stage import (
    corner_of,
    draw_panes,
    draw_stage,
    fitting,
    pane_camera,
    pane_places,
    scale_bar_end,
    stage_of,
)
from ecs_rl.viewer.view import PaneView, StageView
from ecs_rl.viewer.view_why import GhostView

REACH = 10
"""Pixels from a body within which the mouse still takes hold of it."""


@dataclass(frozen=True)
class StagesView:
    """The stages: one without a head, several with a head each."""

    panes: tuple[PaneView, ...]
    aim: Aim | None = None
    """Where the user has turned the camera; None: to the whole arena."""
    ghosts: tuple[GhostView, ...] = ()
    """Where the next second would lead."""


class Stage(Panel[StagesView]):
    """The user looks closer, pulls a body, or asks what it is."""

    name, place = "stage", "ground"

    def view(self, app: App) -> StagesView | None:
        """Return the pictures of all shows, None behind the grid."""
        if app.stage.grid is not None:
            return None
        for show in app.stage.shows:
            while show.reader.places.problems:
                app.say(show.reader.places.problems.pop(0), "warn")
        if len(app.stage.shows) > 1:
            return StagesView(tuple(map(pane_of, app.stage.shows)), app.stage.aim)
        show, mind = app.show, app.show.mind
        stage = show.stage(selected=app.stage.selected)
        if show.overlay.map is not None and show.overlay.map.on_stage:
            stage = replace(stage, field=show.overlay.map)
        if mind.name and mind.body is not None:
            stage = replace(stage, watched=(mind.body, mind.name))
        return StagesView((PaneView("", stage),), app.stage.aim, show.overlay.ghosts if show.paused else ())

    def act(self, app: App, hit: Hit, gesture: Gesture) -> None:
        """Turn the camera, pull a body, or choose one."""
        if gesture.kind in ("zoom", "pan"):
            aim = app.stage.aim or hit.aim
            if aim is not None:
                app.stage.aim = (
                    aim.panned(gesture.by) if gesture.kind == "pan" else aim.zoomed(gesture.factor, hit.away)
                )
        elif hit.index < len(app.stage.shows):
            self._touch(app, hit, gesture)

    def _touch(self, app: App, hit: Hit, gesture: Gesture) -> None:
        show, body = app.stage.shows[hit.index], None if hit.body is None else BodyId(*hit.body)
        if gesture.kind == "click":
            app.stage.selected = body
            app.show.mind.turn_to(body)
        elif gesture.kind == "grab" and body is not None and hit.metres is not None:
            show.grab(body, hit.metres)
        elif gesture.kind == "drag" and hit.metres is not None:
            show.drag(hit.metres)
        elif gesture.kind == "drop":
            for other in app.stage.shows:
                other.let_go()

    def is_on(self, app: App) -> bool:
        """Return whether the user has turned the camera."""
        return app.stage.aim is not None

    def leave(self, app: App) -> None:
        """Show the whole arena again."""
        app.stage.aim = None

    keys = (
        Command("Hands", "Left-drag", "grab", "pull a body, a policy, a moment"),
        Command("Hands", "Click", "click", "inspect; next agent's mind"),
        Command("Hands", "Wheel", "zoom", "zoom at the cursor"),
        Command("Hands", "Right-drag", "pan", "move the picture"),
        Command("Hands", "Home", "reset camera", "show the whole arena", leave, (pygame.K_HOME,)),
    )

    # --- painting ---------------------------------------------------------------------------------------------------

    def arrange(self, canvas: Canvas, view: StagesView, room: pygame.Rect) -> None:
        """Say where chips and hints stand: above and below, clear of captions, heads and the scale."""
        area, first, strip = _area(canvas, view, room), view.panes[0].stage, canvas.rooms["hints"]
        top = area
        if len(view.panes) > 1:
            top = stage_of(area, view.panes, corner_of(pane_places(area, view.panes, canvas)), canvas)
        else:
            end = scale_bar_end(_camera(canvas, view, room), canvas)
            strip.x, strip.w = strip.x + end, strip.w - end
        clear, captions = canvas.rooms["clear"], canvas.rooms["chips"]
        captions.topleft, captions.w = top.topleft, top.w
        down = top.y + (canvas.px(SCALE) if first.field is not None else 0) - clear.y
        clear.y, clear.h = clear.y + down, clear.h - down

    def paint(self, canvas: Canvas, view: StagesView, room: pygame.Rect) -> None:
        """Paint all stages, each as something to point at."""
        surface, area, camera = canvas.surface, _area(canvas, view, room), _camera(canvas, view, room)
        taken = max(0, canvas.rooms["chips"].w)
        if len(view.panes) > 1:
            surface.fill(NIGHT, (room.x, area.bottom, room.w, room.bottom - area.bottom))
            draw_panes(surface, area, view.panes, canvas, camera, taken=taken)
            for number, pane in enumerate(view.panes):
                _declare(canvas, stage_of(area, view.panes, number, canvas), number, pane.stage, camera)
            return
        stage = view.panes[0].stage
        draw_stage(surface, area, stage, camera, canvas, taken=taken)
        target = part_of(surface, area)
        if target is not None:
            draw_ghosts(target, view.ghosts, camera.onto(stage.focus), canvas)
        _declare(canvas, area, 0, stage, camera)
        if stage.drawn is None:
            seen = camera.onto(stage.focus)
            (x0, y1), (x1, y0) = seen.metres((0, 0)), seen.metres((area.w, area.h))
            canvas.reports.add(Sight((x0, y0), (x1, y1)))


def _area(canvas: Canvas, view: StagesView, room: pygame.Rect) -> pygame.Rect:
    """Return the room of the stages; several stay clear of the hints."""
    area = room.copy()
    if len(view.panes) > 1 and "hints" in canvas.panels:
        area.h = max(1, area.h - canvas.px(STRIP))
    return area


def _camera(canvas: Canvas, view: StagesView, room: pygame.Rect) -> Camera:
    """Return the camera of all stages; it counts pixels from the upper left corner of each."""
    area = _area(canvas, view, room)
    home = pane_camera(area, view.panes, canvas) if len(view.panes) > 1 else fitting(view.panes[0].stage, area, canvas)
    return home.aimed(view.aim)


def _declare(canvas: Canvas, area: pygame.Rect, number: int, stage: StageView, camera: Camera) -> None:
    reach = REACH * canvas.scale / camera.zoom
    canvas.hit(area, "stage", number, camera=camera, focus=stage.focus, find=lambda at: pick(stage, at, reach))


def pane_of(show: LiveEpisode) -> PaneView:
    """Return a show as one of several side by side."""
    tone = show.outcome.tone if show.outcome is not None else "plain"
    stage = replace(show.stage(), caption=show.short_caption)
    return PaneView(show.label, stage, f"{signed(show.total)}  {show.note}".strip(), tone)
