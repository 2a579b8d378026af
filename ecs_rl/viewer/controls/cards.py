"""A key makes a card to share: earlier policies of the run play the seed on the stage, out of sight and in slices."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from time import perf_counter

import numpy as np
import pygame

from ecs_rl.agents.base import Agent
from ecs_rl.arrays import F64
from ecs_rl.errors import EcsRlError
from ecs_rl.runs.layout import milestones
from ecs_rl.training.playback import Player
from ecs_rl.viewer.camera import Camera
from ecs_rl.viewer.canvas import SMALL, Canvas, wrapped
from ecs_rl.viewer.draw import line, rounded
from ecs_rl.viewer.films.encoder import write_picture
from ecs_rl.viewer.gather import Reader
from ecs_rl.viewer.live.playlist import algorithm_of
from ecs_rl.viewer.live_episode import LiveEpisode
from ecs_rl.viewer.number_formats import count, signed
from ecs_rl.viewer.palette import DIM, FAINT, NIGHT, ORANGE, PANEL, RULE, SKY, VERMILION, YELLOW, Colour, mix
from ecs_rl.viewer.panel import App, Command, Control
from ecs_rl.viewer.plots import paint_returns, x_reach
from ecs_rl.viewer.stage import draw_stage, fitting
from ecs_rl.viewer.view import LearningView, StageView

SIZE, SIDE, SCALE = (1280, 720), 400, 1.25
COLOURS: tuple[Colour, ...] = (VERMILION, ORANGE, YELLOW, SKY)
"""Of the policies, the earliest first; the last one is solved."""
SHARES = (0.0, 0.05, 0.2)
"""How far learning was, of the steps to the solved policy, or to the newest one."""
BUDGET = 0.006
"""Seconds of a frame that making a card may take."""


@dataclass(frozen=True, eq=False)
class Path:
    """How one policy fared."""

    label: str
    """Such as `5 %, step 12,288`."""
    points: F64
    """(ticks, points, 2) Where what leads was after each tick."""
    total: float
    ending: str


def paint_card(
    surface: pygame.Surface,
    stage: StageView,
    paths: Sequence[Path],
    learning: LearningView | None,
    *,
    title: str,
    caption: str,
) -> None:
    """Paint the card: the stage with all paths to the left, who they are, the curve and the words to the right."""
    canvas, (w, h) = Canvas(SCALE), surface.get_size()
    surface.fill(PANEL)
    area = pygame.Rect(0, 0, w - SIDE, h)
    whole = np.concatenate([path.points.reshape(-1, 2) for path in paths])
    bare = replace(_holding(stage, whole), caption="", ending="", forces=(), contacts=(), particles=None)
    bare = replace(bare, objects=tuple(replace(objects, trails=()) for objects in bare.objects))
    camera = fitting(bare, area, canvas)
    draw_stage(surface, area, bare, camera, canvas)
    target = surface.subsurface(area)
    for path, colour in zip(paths, _colours(len(paths)), strict=True):
        _draw_path(target, path.points, camera.onto(bare.focus), colour, canvas)
    side = pygame.Rect(area.right, 0, SIDE, h).inflate(-2 * canvas.px(18), -2 * canvas.px(20))
    y = side.y + canvas.px(12)
    canvas.write(surface, title, (side.x, y), size=26.0, width=side.w)
    y += canvas.px(26)
    for words in wrapped(caption, side.w, SMALL + 0.5, canvas):
        canvas.write(surface, words, (side.x, y), size=SMALL + 0.5, colour=DIM)
        y += canvas.px(17)
    y += canvas.px(12)
    for path, colour in zip(paths, _colours(len(paths)), strict=True):
        rounded(
            surface, pygame.Rect(side.x, y - canvas.px(3), canvas.px(18), canvas.px(6)), colour, radius=canvas.px(3)
        )
        right = canvas.write(
            surface, signed(path.total), (side.right, y), face="numbers", anchor="right", colour=colour
        )
        canvas.write(surface, path.label, (side.x + canvas.px(26), y), width=right.left - side.x - canvas.px(34))
        canvas.write(
            surface, path.ending, (side.x + canvas.px(26), y + canvas.px(16)), size=11.0, colour=FAINT, width=side.w
        )
        y += canvas.px(40)
    if learning is not None:
        surface.fill(RULE, (side.x, y, side.w, 1))
        plot = pygame.Rect(side.x, y + canvas.px(8), side.w, side.bottom - y - canvas.px(30))
        paint_returns(surface, plot, learning, x_reach(learning), canvas)
    canvas.write(
        surface, "made with ecs_rl", (side.right, side.bottom - canvas.px(4)), size=11.0, colour=FAINT, anchor="right"
    )


def _colours(number: int) -> tuple[Colour, ...]:
    """Return a colour for each policy, the last one that of what is solved."""
    return COLOURS[len(COLOURS) - number :]


def _holding(stage: StageView, points: F64) -> StageView:
    """Return the stage with bounds that hold all points, unless the scene wants its own."""
    good = points[np.isfinite(points).all(axis=1)]
    if stage.exact or not len(good):
        return stage
    (x0, y0), (x1, y1) = stage.bounds
    low, high = good.min(axis=0) - stage.focus, good.max(axis=0) - stage.focus
    bounds = (min(x0, float(low[0])), min(y0, float(low[1]))), (max(x1, float(high[0])), max(y1, float(high[1])))
    return replace(stage, bounds=bounds)


def _draw_path(surface: pygame.Surface, points: F64, camera: Camera, colour: Colour, canvas: Canvas) -> None:
    """Draw where each point went, and a dot where it came to its end."""
    for number in range(points.shape[1]):
        way = points[:, number]
        way = way[np.isfinite(way).all(axis=1)]
        at = [(x, y) for x, y in camera.pixels(way).tolist() if math.isfinite(x) and max(abs(x), abs(y)) < 1e5]
        if len(at) < 2:
            continue
        for wide, shade in ((canvas.px(5), mix(NIGHT, colour, 0.35)), (canvas.px(3), colour)):
            line(surface, at, shade, wide)
        pygame.draw.aacircle(surface, NIGHT, at[-1], canvas.px(7))
        pygame.draw.aacircle(surface, colour, at[-1], canvas.px(5))


def step_label(share: float, step: int) -> str:
    """Return how a policy is called by how far learning was."""
    return f"{share:.0%} of the way, step {count(step)}" if step else "at the start"


class Cards(Control):
    """Makes one card at a time."""

    name = "card"

    def __init__(self) -> None:
        self._work: Iterator[None] | None = None

    def make(self, app: App) -> None:
        """Begin to make a card of the seed that is on the stage."""
        if self._work is not None:
            app.say("a card is being made", "warn")
        elif len(app.stage.shows) > 1 or not isinstance(app.show.reader, Reader):
            app.say("a card is made of one stage: leave what is beside it first", "warn")
        else:
            app.say("a card is being made")
            self._work = _making(app)

    def advance(self, app: App, seconds: float) -> None:
        """Go on with a card that is being made."""
        until = perf_counter() + BUDGET
        while self._work is not None and perf_counter() < until:
            try:
                if next(self._work, self) is self:
                    self._work = None
            except EcsRlError as error:
                self._work = None
                app.say(str(error), "bad")

    keys = (Command("Window", "C", "card", "a card to share", make, (pygame.K_c,)),)


def _making(app: App) -> Iterator[None]:
    show = app.show
    paths, stage = list[Path](), show.stage()
    players = _players(app)
    seed = show.seeds[show.arena]
    for label, agents in players:
        yield
        played = LiveEpisode(show.scene, agents, seeds=[seed], label=label, stays=True, opponent=show.rival)
        try:
            points = list[F64]()
            while played.outcome is None:
                yield
                played.tick()
                points.append(_leading(played))
            stage = played.stage()
            ending = ", ".join(played.outcome.reasons) or "time is up"
            paths.append(Path(label, np.stack(points), played.outcome.total, ending))
        finally:
            played.close()
    _write(app, stage, paths, seed)


def _players(app: App) -> list[tuple[str, Mapping[str, Agent]]]:
    """Return the policies by how far learning was: milestones of the run, and the one that is on the stage."""
    run, show = app.run, app.show
    policies = milestones(run.checkpoints.run) if run.checkpoints is not None else {}
    solved = None if run.history is None else run.history.refresh().solved_step
    last = solved or max(policies, default=0)
    steps = dict[int, float]()
    for share in SHARES if policies and last else ():
        steps.setdefault(min(policies, key=lambda step: abs(step - share * last)), share)
    players = list[tuple[str, Mapping[str, Agent]]]()
    for step, share in steps.items():
        agents = Player.load(policies[step], scene=show.scene, algorithm=algorithm_of(show)).agents
        players.append((step_label(share, step), agents))
    return [*players, (f"{'solved: ' if solved else ''}{show.label}", show.agents)]


def _write(app: App, stage: StageView, paths: list[Path], seed: int) -> None:
    scene, history = app.show.scene, app.run.history
    surface = pygame.Surface(SIZE)
    curves = None if history is None else history.refresh()
    paint_card(surface, stage, paths, curves, title=scene.name, caption=f"{scene.about} Seed {seed}.")
    write_picture(app, surface, "card", "card")


def _leading(show: LiveEpisode) -> F64:
    """Return (points, 2) of what leaves a trail, where the tick has brought it."""
    trail = show.reader.trail if isinstance(show.reader, Reader) else None
    return np.zeros((0, 2)) if trail is None else trail.copy()
