"""The stage: the shows that play now, one over the whole room or several side by side, under the user's hand."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import pygame

from ecs_rl.arrays import F64
from ecs_rl.viewer.annotations import SCALE
from ecs_rl.viewer.camera import Aim, Camera
from ecs_rl.viewer.canvas import SMALL, STRIP, Canvas, part_of
from ecs_rl.viewer.draw import line, rounded
from ecs_rl.viewer.number_formats import signed
from ecs_rl.viewer.objects import BodyId, LookView, Objects
from ecs_rl.viewer.palette import DIM, NIGHT, PANEL, TEXT, Colour, mix, role_colour
from ecs_rl.viewer.panel import App, Command, Gesture, Hit, Panel
from ecs_rl.viewer.regions import Sight
from ecs_rl.viewer.shapes import distances, place
from ecs_rl.viewer.stage import (
    TONES,
    corner_of,
    draw_panes,
    draw_stage,
    fitting,
    pane_camera,
    pane_places,
    scale_bar_end,
    stage_of,
)
from ecs_rl.viewer.view import GhostView, PaneView, Point, StageView

if TYPE_CHECKING:
    from ecs_rl.viewer.live_episode import LiveEpisode

FARTHEST = 20_000
"""Pixels; what is further off is left out."""
REACH = 10
"""Pixels from a body within which the mouse still takes hold of it."""


def pick(stage: StageView, at: Point, reach: float) -> BodyId | None:
    """Return the body under a point: the smallest that it is inside of, else the nearest within reach, metres."""
    near = []
    for look, number, away in (each for objects in stage.objects for each in _aways(objects, at)):
        if away <= reach:
            near.append((away, _surface_of(look), BodyId(look.name, number)))
    return min(near)[2] if near else None


def _aways(objects: Objects, at: Point) -> list[tuple[LookView, int, float]]:
    """Return how far a point is from each body of a look, 0 inside."""
    look, aways = objects.look, []
    for number, place_of, angle in objects.seen() if not look.mark else ():
        x, y = place((0.0, 0.0), -angle, (at[0] - place_of[0], at[1] - place_of[1]))
        away = [max(0.0, math.hypot(x - disc.at[0], y - disc.at[1]) - disc.radius) for disc in look.discs]
        away += [_away_from(outline, (x, y)) for outline in look.outlines]
        aways.append((look, number, min((distance for distance in away if math.isfinite(distance)), default=math.inf)))
    return aways


def _away_from(outline: F64, at: Point) -> float:
    following = np.roll(outline, -1, axis=0)
    (x0, y0), (x1, y1) = outline.T, following.T
    crosses = (y0 > at[1]) != (y1 > at[1])
    with np.errstate(all="ignore"):  # a level side crosses nothing
        beyond = at[0] < x0 + (at[1] - y0) / (y1 - y0) * (x1 - x0)
    if (crosses & beyond).sum() % 2:
        return 0.0
    return float(distances(np.array((at,)), np.stack((outline, following), axis=1))[0])


def _surface_of(look: LookView) -> float:
    areas = [math.pi * disc.radius**2 for disc in look.discs]
    for outline in look.outlines:
        (x0, y0), (x1, y1) = outline.T, np.roll(outline, -1, axis=0).T
        areas.append(abs(float((x0 * y1 - x1 * y0).sum())) / 2)
    return sum(areas)


def draw_ghosts(surface: pygame.Surface, ghosts: tuple[GhostView, ...], camera: Camera, canvas: Canvas) -> None:
    """Draw the ways as dots, the policy's own as a line, each with its name where it comes to after a second."""
    taken: list[pygame.Rect] = []
    for number, ghost in reversed(list(enumerate(ghosts))):
        colour = role_colour(number - 1) if ghost.name else TEXT
        ways = [camera.pixels(path) for path in ghost.paths]
        ways = [at for at in ways if len(at) > 1 and np.isfinite(at).all() and np.abs(at).max() < FARTHEST]
        for at in ways:
            _draw_way(surface, at, colour, canvas, own=not ghost.name)
        if ways:
            taken.append(_draw_end(surface, ghost, (ways[0][-1], colour), canvas, taken))


def _draw_way(surface: pygame.Surface, at: F64, colour: Colour, canvas: Canvas, *, own: bool) -> None:
    points = [(float(x), float(y)) for x, y in at]
    if own:
        line(surface, points, colour, 1.6 * canvas.scale)
        return
    step = max(1, round(len(points) / 16))
    for x, y in points[step::step]:
        pygame.draw.aacircle(surface, NIGHT, (x, y), 2.6 * canvas.scale)
        pygame.draw.aacircle(surface, colour, (x, y), 1.8 * canvas.scale)


def _draw_end(
    surface: pygame.Surface, ghost: GhostView, end: tuple[F64, Colour], canvas: Canvas, taken: list[pygame.Rect]
) -> pygame.Rect:
    """Draw a way's name, and a cross where the episode ends on it; return where the name stands, clear of others."""
    (x, y), colour = end[0].tolist(), end[1]
    if ghost.tone is not None:
        size, edge = canvas.px(4), TONES[ghost.tone] if ghost.tone != "plain" else DIM
        for dy in (size, -size):
            pygame.draw.aaline(surface, edge, (x - size, y - dy), (x + size, y + dy), canvas.px(2))
    name = ghost.name or "as it would"
    box = pygame.Rect(0, 0, canvas.width(name, SMALL) + canvas.px(10), canvas.px(16))
    box.midleft = round(x) + canvas.px(8), round(y)
    box.clamp_ip(surface.get_rect())
    for _ in taken:
        hit = box.collidelist(taken)
        if hit < 0:
            break
        box.top = taken[hit].bottom + canvas.px(2)
    rounded(surface, box, PANEL, radius=canvas.px(4), edge=mix(PANEL, colour, 0.6), alpha=215)
    canvas.write(surface, name, box.center, size=SMALL, colour=colour, anchor="middle")
    return box


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
