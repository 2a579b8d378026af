"""View models for tests, goldens and the benchmark: a lander in flight, a grid, panels full of numbers; no world."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Any

os.environ.setdefault("SDL_VIDEODRIVER", "dummy")

import numpy as np
import pygame

from ecs_rl.arrays import F64
from ecs_rl.scene.parts import Disc
from ecs_rl.viewer.canvas import Canvas, SliderView
from ecs_rl.viewer.mind import RibbonView
from ecs_rl.viewer.objects import LookView, Objects
from ecs_rl.viewer.palette import BAD, DIM, GOOD, WARN, role_colour
from ecs_rl.viewer.panel import Chip, Panel
from ecs_rl.viewer.panels.help import HelpGroup
from ecs_rl.viewer.panels.inspector import InspectorView
from ecs_rl.viewer.panels.learning import DrawerView, TimelineView
from ecs_rl.viewer.panels.messages import Toast
from ecs_rl.viewer.panels.profile import ProfileRow, ProfileView
from ecs_rl.viewer.panels.scrubber import ScrubberView
from ecs_rl.viewer.panels.stage import StagesView
from ecs_rl.viewer.panels.status import StatusView
from ecs_rl.viewer.view import (
    ContactView,
    ForceView,
    GridView,
    GroundView,
    LearningView,
    MapView,
    MindView,
    Option,
    PaneView,
    RayView,
    Seen,
    Series,
    Stack,
    StageView,
    Term,
)

pygame.font.init()

HULL = np.array(((-0.57, 0.0), (-0.57, -0.33), (0.57, -0.33), (0.57, 0.0), (0.47, 0.52), (-0.47, 0.52)))
LEG = np.array(((-0.065, -0.265), (0.065, -0.265), (0.065, 0.265), (-0.065, 0.265)))
LINE = np.stack((np.linspace(-12, 12, 11), [0.4, 1.1, -0.3, 0.5, 0, 0, 0, 0.7, 1.0, 0.2, 0.6]), axis=1)
GROUND = GroundView(
    walls=(((-4.0, 3.0), (-2.0, 3.4)),),
    lines=(LINE,),
    rails=(((2.0, 5.0), (6.0, 5.0)),),
    limits=(9.0,),
)
BOUNDS = ((-9.6, -1.5), (9.6, 7.5))
SHAPE = 19.2 / 9.0


def body(
    name: str,
    at: tuple[float, float],
    angle: float,
    *,
    trail: F64 | None = None,
    velocity: tuple[float, float] = (0, 0),
    **look: Any,
) -> Objects:
    """Return a single body where it is."""
    one = np.array
    trails = () if trail is None else (trail,)
    return Objects(
        LookView(name, **look),
        one((at,), float),
        one((angle,), float),
        np.ones(1, bool),
        one((velocity,), float),
        trails,
    )


def a_stage(x: float = 0.4, tick: int = 42) -> StageView:
    trail = np.stack((np.linspace(-3, x, 80), 3 + 1.5 * np.sin(np.linspace(1, 3, 80))), axis=1)
    return StageView(
        objects=(
            body("hull", (x, 3.1), 0.2, outlines=(HULL,), velocity=(1.5, -2.0), trail=trail),
            body("left leg", (x - 0.6, 2.75), -0.2, outlines=(LEG,), leads=False, colour=(236, 166, 42)),
            body("right leg", (x + 0.55, 2.95), 0.6, outlines=(LEG,), leads=False, colour=(236, 166, 42)),
            body("ball", (4.0, 0.5), 0.7, discs=(Disc(0.5),), colour=role_colour(3), leads=False),
        ),
        ground=GROUND,
        springs=(((2.0, 4.0), (4.0, 0.5)),),
        hinges=((x - 0.45, 2.95), (x + 0.5, 3.15)),
        forces=(
            ForceView("thrust", (x + 0.06, 2.78), (-17.0, 84.0), 1.0, 0.9),
            ForceView("push", (4.5, 0.5), (8.0, 0.0), 0.7, 1.0),
            ForceView("twist", (4.0, 0.5), strength=0.5, size=0.8, torque=1.0),
        ),
        contacts=(ContactView((4.0, 0.0), 1.2), ContactView((-3.0, 3.2))),
        rays=(RayView((x, 3.1), (-2.0, 0.1), 0.6), RayView((x, 3.1), (6.0, 6.0), 0.0)),
        bounds=BOUNDS,
        shape=SHAPE,
        tick=tick,
        caption="arena 3 · episode 12 · 0.84 s",
        ending="landed  +205.2",
        ending_tone="good",
    )


ROCK = np.array(((0.7, 0.0), (0.2, 0.6), (-0.5, 0.5), (-0.6, -0.3), (0.1, -0.7)))


COIN = LookView("coin", discs=(Disc(0.15),), colour=(242, 230, 90), leads=False, turns=False, many=True)
STONE = LookView("rock", (ROCK,), colour=(210, 134, 176), leads=False, many=True)
MARKS = (
    body("goal", (-7.5, 4.0), 0.0, outlines=(3 * LEG,), colour=(34, 176, 132), mark=True),
    body("ring", (6.5, 5.0), 0.0, discs=(Disc(0.8),), colour=(228, 110, 46), mark=True),
    body("line", (0.0, 0.0), 0.0, lines=(np.array(((0.0, -1.5), (0.0, 7.5))),), colour=(158, 172, 192), mark=True),
)
"""The same objects in every frame, as they do not move."""


def a_field(tick: int = 0, coins: int = 43) -> tuple[Objects, ...]:
    """Return marks, coins of which some are not here, and rocks that turn."""
    random = np.random.default_rng(3)
    at, drift = random.uniform((-9, 0), (9, 7), (coins, 2)), random.normal(0, 1.0, (coins, 2))
    lying = Objects(COIN, at + drift * tick / 50, np.zeros(coins), np.arange(coins) % 4 > 0)
    spots, spin = random.uniform((-9, 1), (9, 7), (12, 2)), random.normal(0, 2.0, 12)
    return *MARKS, lying, Objects(STONE, spots, spin * tick / 50, np.arange(12) > 2)


def a_grid(arenas: int = 128) -> GridView:
    random = np.random.default_rng(1)
    position = random.uniform((-8, 1), (8, 7), (arenas, 2))
    angle = random.normal(0, 0.4, arenas)
    lines = np.repeat(LINE[None], arenas, axis=0)
    lines[:, :, 1] += random.uniform(-0.3, 0.3, (arenas, len(LINE)))
    looks = (
        LookView("hull", (HULL,), colour=(92, 184, 236)),
        LookView("left leg", (LEG,), colour=(236, 166, 42), leads=False),
        LookView("right leg", (LEG,), colour=(236, 166, 42), leads=False),
    )
    positions = np.stack((position, position - (0.6, 0.3), position - (-0.6, 0.3)))
    angles = np.stack((angle, angle - 0.3, angle + 0.3))
    ground = np.stack((lines[:, :-1], lines[:, 1:]), axis=2)
    ended = np.zeros(arenas)
    ended[1] = 0.8
    bars = random.normal(50, 90, arenas)
    scale = (min(0.0, float(bars.min())), max(0.0, float(bars.max())))
    objects = tuple(
        Objects(look, positions[i][:, None], angles[i][:, None], np.ones((arenas, 1), bool))
        for i, look in enumerate(looks)
    )
    return GridView(objects, ground, bars, scale, ended, BOUNDS, SHAPE, selected=2)


def a_mind(tick: int = 0) -> MindView:
    names = ("hull x", "hull y", "hull vx", "hull vy", "hull angle", "hull spin", "left leg touches ground")
    sees = tuple(Seen(name, 0.9 * float(np.sin(i + tick / 10)), -1.0, 1.2) for i, name in enumerate(names))
    does = tuple(Option(name, p, name == "main") for name, p in (("coast", 0.1), ("main", 0.6), ("right", 0.3)))
    t = np.arange(150.0)
    came = np.where(t < 120, 80 - t / 2, np.nan)
    terms = (Term("approach", 2.6, 31.5), Term("fuel", -0.3, -7.8), Term("landed", 0.0, 0.0))
    return MindView(sees, "probabilities", does, 80 - t / 2 + 8 * np.sin(t / 7 + tick / 10), came, terms)


def a_learning(rows: int = 400) -> LearningView:
    random = np.random.default_rng(2)
    x = np.linspace(1000, 300_000, rows)
    curve = 250 / (1 + np.exp(-(x - 120_000) / 25_000)) - 50
    returns = Series("return", x, curve + random.normal(0, 8, rows), np.full(rows, 30.0))
    at = np.linspace(20_000, 300_000, 10)
    evaluations = Series("evaluation", at, np.interp(at, x, curve) + 10, np.linspace(60, 10, 10))
    losses = (Series("policy loss", x, 0.1 * random.normal(size=rows)), Series("value loss", x, np.exp(-x / 8e4)))
    others = (
        (Series("episode length", x, 200 + 100 * np.sin(x / 5e4)),),
        losses,
        (Series("entropy", x, 1.4 - x / 4e5),),
        (Series("steps per second", x, 32_000 + 500 * random.normal(size=rows)),),
    )
    return LearningView(returns, evaluations, (300_000.0, float(evaluations.y[-1])), 200.0, 1.5e6, others)


def a_stacked_learning() -> LearningView:
    """Return a history that tells endings and rewards too, and is solved at step 170,000."""
    learning = a_learning()
    x = learning.returns.x
    landed = 1 / (1 + np.exp(-(x - 120_000) / 25_000))
    up = (1 - landed) * 0.3
    shares = {"landed": (landed, GOOD), "crashed": (1 - landed - up, BAD), "time up": (up, DIM)}
    endings = tuple(Series(name, x, share, colour=colour) for name, (share, colour) in shares.items())
    turning = Series("upright", x, 40 * np.sin(x / 4e4))
    rewards = (Series("approach", x, 60 + x / 5e3), turning, Series("fuel", x, -20 - 10 * landed))
    stacks = (Stack("endings", endings, whole=True), Stack("rewards", rewards))
    return replace(learning, stacks=stacks, solved_step=170_000.0)


TIMELINE = TimelineView((0.0, *(300_000 / 1.5**power for power in range(18, -1, -1)), np.inf), 59_260.0, "step 59,260")
RIBBON = RibbonView(tuple((2.0 * np.sin(t / 5), -0.3, 100.0 * (t == 160)) for t in range(200)), (161,))
STATUS = StatusView(
    "lander", "v1/20261118_102922", "training", "plain", 204_800, 1_500_000, 40.0, 32_734.0, 16.0, 12.3, 220.8, 204_800
)
PROFILE = ProfileView(
    (
        *(ProfileRow(name, 0.3, 0.3, 0.08) for name in ("decide", "actuate", "simulate", "guard", "sense", "judge")),
        ProfileRow("learn", 1.05, 1.1, 0.4),
    ),
    (("train", 9.1), ("stage", 0.8), ("draw", 2.9), ("idle", 3.9)),
)
INSPECTOR = InspectorView("hull", (("Pose position", "1.20  4.31", "m"), ("Pose angle", "0.12", "rad")))
HELP = (
    HelpGroup("Stage", (("Space", "pause"), ("- =", "slower, faster"), ("Backspace", "new episode"))),
    HelpGroup("Mouse", (("Drag", "pull a body"), ("Right-drag", "move the camera"))),
)
CHIPS = (Chip("PAUSED", "Space", WARN), Chip("RECORDING", "V", BAD, dot=True), Chip("BEST ACTIONS", "D", DIM))
HINTS = (
    ("Space", "pause"),
    ("- =", "speed"),
    ("Backspace", "new episode"),
    ("G", "grid"),
    ("D", "greedy or sampled"),
    ("P", "poke"),
    ("F1", "all keys"),
)
MESSAGES = {"messages": (Toast("checkpoint written at step 204,800", "good", 0.6), Toast("speed 4x"))}


def ground(tick: int = 0, *, stage: StageView | None = None, **parts: Any) -> dict[str, Any]:
    """Return the views of one stage with chips and hints, or of other parts in their place."""
    pane = PaneView("", stage or a_stage(tick / 50, tick))
    return {"stage": StagesView((pane,)), "chips": CHIPS, "hints": HINTS} | parts


def without(views: dict[str, Any], *names: str) -> dict[str, Any]:
    return {name: view for name, view in views.items() if name not in names}


LEARNING = DrawerView(a_learning())


def docked(tick: int = 0) -> dict[str, Any]:
    """Return what the docked panels show."""
    return {"status": STATUS, "mind": a_mind(tick), "learning": LEARNING}


def painted(panel: Panel[Any], surface: pygame.Surface, view: Any, canvas: Canvas | None = None) -> Canvas:
    """Paint a panel all over a surface; return the canvas, which knows its texts and regions."""
    canvas = canvas or Canvas()
    canvas.begin(surface)
    with canvas.painting(panel.name):
        panel.paint(canvas, view, surface.get_rect())
    return canvas


COMPARED = {
    "status": StatusView(
        "lander", "v1/20261118_102922", "playing", steps=None, speed_asked=1.0, hint="F1 help · G grid"
    )
}
"""What the docked panels show beside several stages."""


FLOATS: dict[str, Any] = {
    "scrubber": ScrubberView(30.0, 11.4, ((24.0, "bad"), (17.5, "plain"), (3.0, "good"))),
    "plot": MapView(
        *(("pole angle", "pole spin"), ((-0.3, -2.0), (0.3, 2.0)), np.eye(12, 20), np.zeros((12, 20, 2))),
        *((0.05, 0.4), False),
    ),
    "weather": (SliderView("gravity", "10.0 m/s²", 1 / 3, 1 / 3), SliderView("wind", "← 4.0 m/s²", 0.3, 0.5)),
    "settings": tuple(SliderView(name, "0.01", 0.5, 0.25, True) for name in ("lr", "entropy", "fuel")),
    "inspector": INSPECTOR,
    "profile": PROFILE,
}
"""What each floating panel shows."""


def some_floats(*names: str) -> dict[str, Any]:
    """Return what floating panels of these names show, and the help."""
    return {name: (FLOATS | {"help": HELP})[name] for name in names}


def some_panes(count: int = 3) -> tuple[PaneView, ...]:
    notes = ("-31.4   -112.0 ± 40.2", "+205.2   +231.9 ± 12.0", "+98.3   +120.4 ± 88.1")
    return tuple(
        PaneView(
            f"step {10_000 * 5**i:,}",
            replace(a_stage(0.4 - i, 42 + i), ending="", caption="episode 3 · 0.84 s"),
            notes[i % 3],
            "good" if i == 1 else "plain",
        )
        for i in range(count)
    )


def compared(count: int = 3) -> dict[str, Any]:
    """Return the views of several stages side by side."""
    chips = (Chip("PAUSED", "Space", WARN), Chip("BEST ACTIONS", "D", DIM))
    return COMPARED | ground() | {"stage": StagesView(some_panes(count)), "chips": chips}
