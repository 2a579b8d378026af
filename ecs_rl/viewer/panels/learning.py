"""The learning drawer: the return as a large plot, all else as small ones, and along the return the run's policies.

The plots are painted only when there are new numbers.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import partial
from time import perf_counter

import numpy as np
import pygame
from numpy.lib.stride_tricks import sliding_window_view

from ecs_rl.arrays import F64
from ecs_rl.viewer.canvas import SMALL, Canvas, draw_head_key
from ecs_rl.viewer.draw import rounded
from ecs_rl.viewer.number_formats import result
from ecs_rl.viewer.palette import DIM, MAIN_LINE, NIGHT, PANEL, PURPLE, ROLES, SECOND_LINE, TEXT, Colour, mix
from ecs_rl.viewer.panel import App, Command, Gesture, Hit, Panel
from ecs_rl.viewer.plots import (
    HEAD,
    Axes,
    decimate,
    draw_axes,
    draw_band,
    draw_head,
    draw_line,
    draw_star,
    newest_of,
    paint_returns,
    plot_area,
    steady_reach,
    write_nothing,
    x_reach,
)
from ecs_rl.viewer.view import LearningView, Series, Stack

NAME = SMALL - 1
"""Size of the names that stand in areas."""
LINES: tuple[Colour, ...] = (MAIN_LINE, SECOND_LINE, PURPLE)
RETURN = " return"
"""How the names of agents' own curves end."""
EDGE = 14
KEY, KEY_ROOM, KEYED = "M", 22, 420
"""The key that hides the drawer takes a little room to the right of one that is so wide."""
EVERY = 1.0
"""Seconds for which the curves stay as they are: painting them takes a while."""
NOTCH = 6
"""Pixels that the notch of a policy is high."""
WORDS = {
    "return": "The sum of all rewards of an episode; the line is the mean of the last hundred in training.",
    "score": "What the scene itself counts, such as coins or laps; evaluations go by it.",
    "training": "Episodes played while learning, with actions drawn at random; the band is their standard deviation.",
    "evaluation": "The mean of episodes with the best actions on seeds that never change: how good the policy is.",
    "solved": "An evaluation has reached the number at which the scene counts as solved.",
    "episode length": "Ticks that an episode lasts, the mean of the last hundred.",
    "entropy": "How varied the actions are: high while much is tried, near zero once the policy is sure of itself.",
    "epsilon": "The share of actions that are drawn evenly at random, to try what the agent does not think best.",
    "kl": "How far the newest update moved the policy from the one that had played: 0.001 to 0.02 is usual.",
    "clip share": "The share of decisions whose probability changed as far as the clip lets an update go; 0.3 is much.",
    "policy loss": "What the policy's update makes smaller: minus the advantage of what it did; it hovers around zero.",
    "value loss": "How far the expected return was from the one that came, squared: low means it knows what comes.",
    "loss": "How far the agent's predictions were off in the newest update.",
    "advantage": "How much better an action turned out than the agent had expected: what makes it more likely.",
    "mean steps per second": "Decisions of all arenas a second, the mean since the training began.",
    "endings": "How the last hundred episodes ended, as shares of all of them.",
    "rewards": "What each reward term brought per episode, the mean of the last hundred; below zero are fines.",
    "last time": "The same curve of the run of this scene before this one.",
    "elo": "How strong the policy is against its earlier selves; 400 more means ten wins for each defeat.",
}


def colour_of(stack: Stack, number: int) -> Colour:
    """Return the colour of one of the parts."""
    return stack.parts[number].colour or ROLES[number % len(ROLES)]


def layers(stack: Stack) -> tuple[F64, list[tuple[F64, F64]]]:
    """Return the steps, and for each part the lower and upper edges of two areas: of its gains, and of its losses.

    Gains are stacked upwards and losses downwards, each in the order of the parts. A part has both where it changes.
    """
    x, values = _together(stack.parts)
    up, down, areas = np.zeros(len(x)), np.zeros(len(x)), []
    for row in values:
        above, below = up + np.maximum(row, 0.0), down + np.minimum(row, 0.0)
        areas += [(up, above), (below, down)]
        up, down = above, below
    return x, areas


def _together(parts: tuple[Series, ...]) -> tuple[F64, F64]:
    """Return the steps of the first part, and (parts, steps) numbers; zero where a part has no number."""
    x = parts[0].x if parts else np.zeros(0)
    rows = []
    for part in parts:
        good = np.isfinite(part.x) & np.isfinite(part.y)
        rows.append(np.interp(x, part.x[good], part.y[good]) if good.any() else np.zeros(len(x)))
    return x, np.array(rows).reshape(len(parts), len(x))


def reach_of(stack: Stack) -> tuple[float, float]:
    """Return the lowest and the highest number that is drawn; zero is always among them."""
    if stack.whole:
        return 0.0, 1.0
    edges = [edge for pair in layers(stack)[1] for edge in pair]
    low, high = (pick([0.0, *(float(pick(e)) for e in edges if len(e))]) for pick in (min, max))
    return (low, high) if high > low else (0.0, 1.0)


def by_area(stack: Stack) -> list[int]:
    """Return the numbers of the parts that cover anything, the one that covers most first."""
    x, values = _together(stack.parts)
    if len(x) < 2:
        return list(range(len(stack.parts)))
    covered = np.abs(values[:, 1:] + values[:, :-1]) @ np.diff(x)
    return [number for number in np.argsort(-covered, kind="stable").tolist() if covered[number] > 0]


def draw_names(surface: pygame.Surface, axes: Axes, stack: Stack, canvas: Canvas) -> list[int]:
    """Write the names of parts into their areas, where each is tallest; return those without room, largest first.

    A name that would lie on another one, or in an area lower than its letters, has no room.
    """
    x, areas = layers(stack)
    area, left_out = axes.area, by_area(stack)
    if len(x) < 2 or area.w < 2:
        return left_out
    steps, placed = np.linspace(axes.x[0], axes.x[1], area.w), list[pygame.Rect]()
    for number in tuple(left_out):
        name = stack.parts[number].name
        wide = canvas.width(name, NAME) + canvas.px(6)
        for low, high in areas[2 * number : 2 * number + 2] if wide <= area.w else ():
            edges = (np.interp(steps, x, edge, left=0.0, right=0.0) for edge in (high, low))
            tops, bases = (sliding_window_view(axes.at(steps, edge)[:, 1], wide) for edge in edges)
            top, base = tops.max(axis=1), bases.min(axis=1)  # of the room that the name has from each column on
            at = int(np.argmax(base - top))
            room = pygame.Rect(0, 0, wide, canvas.px(NAME))
            room.center = round(area.left + at + wide / 2), round((top[at] + base[at]) / 2)
            if (
                base[at] - top[at] >= canvas.px(NAME - 3) and room.collidelist(placed) < 0
            ):  # letters but for their tails
                placed.append(room)
                left_out.remove(number)
                canvas.write(surface, name, room.center, size=NAME, colour=NIGHT, anchor="middle")
                break
    return left_out


def draw_stack(surface: pygame.Surface, axes: Axes, stack: Stack) -> None:
    """Fill the area of each part."""
    x, areas = layers(stack)
    for number, (low, high) in enumerate(areas):
        if len(x) < 2 or not (high > low).any():
            continue
        top_x, top = decimate(x, high, axes.area.w)
        base_x, base = decimate(x, low, axes.area.w)
        points = np.concatenate((axes.at(top_x, top), axes.at(base_x, base)[::-1]))
        pygame.draw.polygon(surface, mix(PANEL, colour_of(stack, number // 2), 0.75), points.tolist())
    zero = round(axes.y_at(0.0))
    if not stack.whole:
        surface.fill(mix(PANEL, TEXT, 0.6), (axes.area.left, min(zero, axes.area.bottom - 1), axes.area.w, 1))


@dataclass(frozen=True)
class TimelineView:
    """Where on the return curve the policy stands that is on the stage."""

    steps: tuple[float, ...] = ()
    """Of the policies that can be put there, in order; infinity is the newest."""
    step: float = math.inf
    label: str = "now"


@dataclass(frozen=True)
class DrawerView:
    """The curves, and the timeline along the first of them where there is a run whose policies can be played."""

    curves: LearningView
    timeline: TimelineView | None = None


class Learning(Panel[DrawerView]):
    """Shows how learning goes; along the return the mouse chooses the policy that plays on the stage."""

    name = "learning"
    place = "bottom"
    words = WORDS

    def __init__(self) -> None:
        self._curves: LearningView | None = None
        self._steps: tuple[float, ...] = ()
        """The steps of the policies that can be put on the stage."""
        self._due = 0.0

    def view(self, app: App) -> DrawerView | None:
        """Return the curves, None while they are hidden or where there is no run."""
        if app.run.history is None or self.name not in app.open_panels:
            self._curves = None
            return None
        now = perf_counter()
        if self._curves is None or now >= self._due:
            self._due = now + EVERY
            self._curves = app.run.history.refresh()
            if app.run.checkpoints is not None:
                self._steps = tuple(choice.step for choice in app.run.checkpoints.choices())
        return DrawerView(self._curves, self._timeline(app))

    def _timeline(self, app: App) -> TimelineView | None:
        """Return where the policy on the stage stands; None where another cannot take its place."""
        if app.run.checkpoints is None or len(app.stage.shows) > 1 or app.show.replays:
            return None
        step = app.run.checkpoints.step
        return TimelineView(self._steps, step, "now" if math.isinf(step) else app.show.label)

    def thickness(self, scale: float, size: tuple[int, int]) -> int:
        """Return about a quarter of the window's height."""
        return round(min(max(0.27 * size[1], 112 * scale), 240 * scale))

    def toggle(self, app: App) -> None:
        """Hide the drawer, or show it."""
        if app.run.history is None:
            app.say("there is no run here whose learning could be shown", "warn")
        else:
            app.open_panels ^= {self.name}

    keys = (Command("Window", KEY, name, "how learning goes", toggle, (pygame.K_m,)),)

    def hints(self, app: App) -> tuple[tuple[str, str], ...]:
        """Return the key that brings it back while it is hidden."""
        return () if app.run.history is None or self.name in app.open_panels else ((KEY, self.name),)

    def act(self, app: App, hit: Hit, gesture: Gesture) -> None:
        """Put the policy on the stage that stands at the mouse on the return curve."""
        if (hit.part, hit.index) != ("plot", 0) or gesture.kind not in ("click", "grab", "drag"):
            return
        if app.run.checkpoints is None or self._curves is None or self._timeline(app) is None:
            return
        share, (_, newest) = hit.along, x_reach(self._curves)
        app.run.checkpoints.seek(share * newest, newest, app.stage.shows)

    def tip(self, view: DrawerView, hit: Hit) -> tuple[str, ...]:
        """Return the step and the values of the curves under the mouse."""
        if hit.part != "plot":
            return ()
        curves = view.curves
        plots = [_returns(curves), *(stack.parts for stack in curves.stacks), *curves.others]
        step = hit.share[0] * x_reach(curves)[1]
        lines = plots[hit.index] if hit.index < len(plots) else ()
        values = [f"{line.name}  {text}" for line in lines if (text := _value_at(line, step))]
        return (f"step {step:,.0f}", *values) if values else ()

    def paint(self, canvas: Canvas, view: DrawerView, room: pygame.Rect) -> None:
        """Paint the plots, and over the first the timeline."""
        if room.w <= canvas.px(80) or room.h <= canvas.px(60):
            return
        canvas.lay(canvas.surface, room, self.name, view.curves, _paint)
        if view.timeline is not None:
            axes = curve_axes(room, view.curves, canvas)
            place = axes.area.inflate(2 * canvas.px(NOTCH), 2 * canvas.px(NOTCH))
            shows = view.timeline, axes.x, place
            paint = partial(_paint_timeline, replace(axes, area=axes.area.move(-place.x, -place.y)))
            canvas.lay(canvas.surface, place, "timeline", shows, paint, clear=True)


def _returns(learning: LearningView) -> tuple[Series, ...]:
    names = f"{learning.returns.name} in training", "evaluation"
    lines = (learning.returns, learning.evaluations)
    return tuple(replace(line, name=name) for line, name in zip(lines, names, strict=True))


def _value_at(line: Series, step: float) -> str:
    """Return the value of a curve that is nearest to a step, '' where it has none."""
    good = np.isfinite(line.x) & np.isfinite(line.y)
    if not good.any():
        return ""
    return result(float(line.y[good][np.abs(line.x[good] - step).argmin()]))


# --- painting ---------------------------------------------------------------------------------------------------------


def places(
    size: tuple[int, int], others: int, canvas: Canvas, stacks: int = 0
) -> tuple[pygame.Rect, list[pygame.Rect]]:
    """Return the rectangle of the large plot, and as many small ones as there is room for, in two rows.

    With stacks the small ones are narrower, so that there are two more; and with many, where the window is wide.
    """
    w, h = size
    edge, gap = canvas.px(EDGE), canvas.px(18)
    key = canvas.px(KEY_ROOM) if w >= canvas.px(KEYED) else 0
    inner = pygame.Rect(edge, canvas.px(4), w - 2 * edge - key, h - canvas.px(8))
    rows = 2 if h >= canvas.px(150) else 1
    others += stacks
    needed, room = max(1, -(-others // rows)), int(inner.w * 0.62)
    wide = max(canvas.px(132), min(round(inner.w * (0.18 if stacks else 0.235)), room // needed - gap))
    columns = min(needed if others else 0, room // (wide + gap))
    if not columns:
        return inner, []
    large = pygame.Rect(inner.x, inner.y, inner.w - columns * (wide + gap), inner.h)
    tall = inner.h // rows
    small = [
        pygame.Rect(large.right + gap + (i // rows) * (wide + gap), inner.y + (i % rows) * tall, wide, tall)
        for i in range(min(others, rows * columns))
    ]
    return large, small


def curve_axes(room: pygame.Rect, learning: LearningView, canvas: Canvas) -> Axes:
    """Return where the return curve is in the drawer's room, and which steps it shows."""
    large, _ = places(room.size, len(learning.others), canvas, len(learning.stacks))
    return Axes(plot_area(large, canvas, below=True).move(room.topleft), x_reach(learning), (0.0, 1.0))


def _paint(surface: pygame.Surface, learning: LearningView, canvas: Canvas) -> None:
    surface.fill(PANEL)
    surface.fill(NIGHT, (0, 0, surface.get_width(), canvas.px(1)))
    if surface.get_width() >= canvas.px(KEYED):
        draw_head_key(surface, KEY, surface.get_width() - canvas.px(7), canvas.px(4 + HEAD / 2), canvas)
    large, small = places(surface.get_size(), len(learning.others), canvas, len(learning.stacks))
    x = x_reach(learning)
    paint_returns(surface, large, learning, x, canvas)
    canvas.hit(plot_area(large, canvas, below=True), "plot", 0)
    for rect, stack in zip(small, learning.stacks, strict=False):
        _paint_stack(surface, rect, stack, x, canvas)
    for rect, lines in zip(small[len(learning.stacks) :], learning.others, strict=False):
        _paint_small(surface, rect, lines, learning, canvas)
    for number, rect in enumerate(small, start=1):
        canvas.hit(plot_area(rect, canvas, below=False), "plot", number)


def _paint_small(
    surface: pygame.Surface, rect: pygame.Rect, lines: tuple[Series, ...], learning: LearningView, canvas: Canvas
) -> None:
    """Paint a small plot, with a star in the colour of its line where an agent was at its best."""
    area = plot_area(rect, canvas, below=False)
    colours = [line.colour or LINES[i % len(LINES)] for i, line in enumerate(lines)]
    if len(lines) == 1:
        heads, newest = [(lines[0].name, TEXT)], newest_of(lines[0])
    else:
        heads, newest = list(zip((line.name for line in lines), colours, strict=True)), ""
        if all(name.endswith(RETURN) for name, _ in heads):
            heads = [(RETURN.strip(), TEXT), *((name.removesuffix(RETURN), colour) for name, colour in heads)]
    draw_head(surface, rect, heads, newest, canvas)
    if not any(np.isfinite(line.y).any() for line in lines):
        write_nothing(surface, area, "nothing yet", canvas)
        return
    bests = dict(learning.bests)
    stars = [bests.get(line.name) for line in lines]
    numbers = [*(line.y for line in lines), *(np.array(star[1:]) for star in stars if star is not None)]
    axes = Axes(area, x_reach(learning), steady_reach(numbers))
    draw_axes(surface, canvas, axes, x_most=0, y_most=max(3, area.h // canvas.px(22)))
    clip = surface.get_clip()
    surface.set_clip(area.inflate(0, canvas.px(4)).clip(clip))  # what flattened all others leaves the plot
    for line, colour in zip(lines, colours, strict=True):
        draw_band(surface, axes, line, colour)
        draw_line(surface, axes, line, colour, canvas.px(1))
    surface.set_clip(clip)
    for star, colour in zip(stars, colours, strict=True):
        if star is not None and axes.x[0] <= star[0] <= axes.x[1]:
            x, y = axes.point(*star)  # one beyond the others stands at the edge
            draw_star(surface, (x, min(max(y, area.top), area.bottom)), 4.5 * canvas.scale, colour)


def _paint_stack(
    surface: pygame.Surface, rect: pygame.Rect, stack: Stack, x: tuple[float, float], canvas: Canvas
) -> None:
    area = plot_area(rect, canvas, below=False)
    axes = Axes(area, x, reach_of(stack))
    draw_axes(surface, canvas, axes, x_most=0, y_most=max(3, area.h // canvas.px(22)))
    draw_stack(surface, axes, stack)
    left_out = draw_names(surface, axes, stack, canvas)
    heads = [(stack.parts[number].name, colour_of(stack, number)) for number in left_out]
    draw_head(surface, rect, [(stack.name, TEXT), *heads], "", canvas, least=2)


def _paint_timeline(
    axes: Axes, surface: pygame.Surface, shows: tuple[TimelineView, tuple[float, float], pygame.Rect], canvas: Canvas
) -> None:
    """Paint a notch for each policy that can be put on the stage, and the mark of the one that is there."""
    timeline, area = shows[0], axes.area
    bottom, high = area.bottom, canvas.px(NOTCH)
    for step in timeline.steps:
        if step <= axes.x[1]:
            x = round(axes.x_at(step))
            surface.fill(mix(PANEL, DIM, 0.7), (x, bottom - high, canvas.px(1), high))
    x = round(axes.x_at(min(timeline.step, axes.x[1])))
    surface.fill(TEXT, (x, area.top, canvas.px(1), area.h))
    tip = [
        (x - canvas.px(4), bottom + canvas.px(5)),
        (x + canvas.px(4), bottom + canvas.px(5)),
        (x, bottom - canvas.px(2)),
    ]
    pygame.draw.polygon(surface, TEXT, tip)
    wide = canvas.width(timeline.label, SMALL - 0.5) + canvas.px(10)
    label = pygame.Rect(0, area.top, min(wide, area.w), canvas.px(16))
    label.centerx = x
    label.clamp_ip(area)
    rounded(surface, label, PANEL, radius=canvas.px(4), edge=mix(PANEL, TEXT, 0.5), alpha=225)
    canvas.write(surface, timeline.label, label.center, size=SMALL - 0.5, anchor="middle", width=label.w - canvas.px(4))
