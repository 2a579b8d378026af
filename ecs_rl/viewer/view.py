"""The view model: what stages and panels show, as plain data. Metres, seconds, newtons and radians, y up.

Records with arrays compare by identity: hand over the same object while nothing in it changed,
and it is not drawn anew.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ecs_rl.arrays import F64, Bool
from ecs_rl.viewer.objects import BodyId, Objects

Point = tuple[float, float]
Tone = Literal["plain", "good", "bad", "warn"]


@dataclass(frozen=True)
class ForceView:
    """What an effect does right now: a thrust burns, a push is an arrow, a twist is a bent arrow."""

    kind: Literal["thrust", "push", "twist"]
    at: Point
    force: Point = (0.0, 0.0)
    """Newtons that act on the body, in the arena's axes; a flame points the other way."""
    strength: float = 1.0
    """How strongly it works: 1 is all it can, a lever can make it negative."""
    size: float = 1.0
    """How long a flame or arrow is at full strength, metres."""
    torque: float = 0.0


@dataclass(frozen=True)
class ContactView:
    """A place where a body touches something."""

    at: Point
    speed: float = 0.0
    """Of the body there, metres per second: a fast touch throws sparks."""


@dataclass(frozen=True)
class RayView:
    """One ray of a sensor."""

    start: Point
    end: Point
    """Where it hit something, or its full reach."""
    nearness: float
    """1 touching, 0 nothing within reach."""


@dataclass(frozen=True, eq=False)
class RoadView:
    """A path that is drawn as a road; nothing bumps into it."""

    points: F64
    """(points, 2)"""
    width: float
    closed: bool


@dataclass(frozen=True, eq=False)
class GroundView:
    """What never moves during an episode."""

    walls: tuple[tuple[Point, Point], ...] = ()
    lines: tuple[F64, ...] = ()
    """Terrain, each (points, 2); what is below it is earth."""
    rails: tuple[tuple[Point, Point], ...] = ()
    limits: tuple[float, ...] = ()
    """Where the arena ends to the left and right, metres."""
    roads: tuple[RoadView, ...] = ()
    backdrop: str = "night"


@dataclass(frozen=True, eq=False)
class ParticlesView:
    """Dust, smoke and sparks."""

    position: F64
    """(particles, 2)"""
    radius: F64
    """(particles,) metres"""
    strength: F64
    """(particles,) 1 when it is new, falling to 0."""
    colour: F64
    """(particles, 3) 0 to 255."""
    glows: Bool
    """(particles,) It gives light; other particles cover what is behind them."""


@dataclass(frozen=True, eq=False)
class DrawnView:
    """What an environment draws of itself."""

    pixels: NDArray[np.uint8]
    """(height, width, 3)"""


@dataclass(frozen=True, eq=False)
class StageView:
    """One arena at one moment."""

    objects: tuple[Objects, ...] = ()
    """In the order in which they are drawn."""
    ground: GroundView = field(default_factory=GroundView)
    particles: ParticlesView | None = None
    springs: tuple[tuple[Point, Point], ...] = ()
    hinges: tuple[Point, ...] = ()
    forces: tuple[ForceView, ...] = ()
    contacts: tuple[ContactView, ...] = ()
    rays: tuple[RayView, ...] = ()
    grip: tuple[Point, Point] | None = None
    """The spring of the user's hand: from the body to the mouse."""
    selected: BodyId | None = None
    focus: Point = (0.0, 0.0)
    """The point of the arena that the picture goes along with."""
    bounds: tuple[Point, Point] = ((-3.0, -2.0), (3.0, 2.0))
    """Lower left and upper right corner of what is shown of the arena, counted from the focus."""
    exact: bool = False
    """The scene asks for these bounds: they are shown without a margin."""
    shape: float = 1.5
    """Width over height that a pane makes room for, which stays while the bounds change."""
    tick: int = 0
    caption: str = ""
    """Such as `arena 3 · episode 12 · 4.2 s`."""
    watched: tuple[BodyId, str] | None = None
    """The body of the agent whose mind is shown, and its name, where there are several."""
    ending: str = ""
    """How the episode ended, as long as that should be shown."""
    ending_detail: str = ""
    """What led to it, such as what touched what, and how fast."""
    ending_tone: Tone = "plain"
    field: MapView | None = None
    """What the agent expects of other places, which lies on the ground."""
    drawn: DrawnView | None = None
    """What an environment draws of itself, in place of all objects."""


@dataclass(frozen=True, eq=False)
class PaneView:
    """One of several stages side by side: who plays there, and how well."""

    title: str
    """Such as the step of a checkpoint."""
    stage: StageView
    note: str = ""
    """Such as the return so far and those of the episodes before."""
    tone: Tone = "plain"


@dataclass(frozen=True, eq=False)
class GridView:
    """All training arenas at one moment."""

    objects: tuple[Objects, ...]
    """In the order in which they are drawn."""
    ground: F64
    """(arenas, segments, 2, 2)"""
    bars: F64
    """(arenas,) What stands for the running episodes so far, shown as lines under the arenas."""
    scale: Point
    """The score or return at the left and at the right end of those lines."""
    ended: F64
    """(arenas,) 1 where an episode has just ended, falling to 0."""
    bounds: tuple[Point, Point]
    shape: float
    """Width over height of a cell, which stays while the bounds change."""
    rails: tuple[tuple[Point, Point], ...] = ()
    selected: int | None = None
    counted: str = "return"
    """What the lines show."""
    focus: F64 | None = None
    """(arenas, 2) The point of each arena that its picture goes along with, from which the bounds count."""
    roads: tuple[tuple[F64, float, bool], ...] = ()
    """Of each path that is drawn as a road (arenas, points, 2), its width, and whether it is closed."""
    backdrop: str = "night"


@dataclass(frozen=True)
class Seen:
    """One number that the agent sees, and the range it usually has."""

    name: str
    value: float
    low: float = -1.0
    high: float = 1.0
    scale: float | None = None
    """What the scene multiplies it by, None if nobody knows."""


@dataclass(frozen=True, eq=False)
class SeenPicture:
    """Numbers that an agent sees and that belong together: rays, or the cells of a grid."""

    name: str
    first: int
    """The number of the first among all that it sees."""
    values: F64
    """(layers, up, across) Rays are one row; of a grid the lowest row comes first."""


@dataclass(frozen=True)
class Option:
    """One thing that the agent can do."""

    name: str
    value: float
    """Its probability, its value, or the mean of a lever."""
    chosen: bool = False
    taken: float | None = None
    """What a lever was set to; None for what is chosen."""
    spread: float | None = None


@dataclass(frozen=True)
class Term:
    """One named reward: in this tick, and in this episode so far."""

    name: str
    now: float
    total: float


@dataclass(frozen=True, eq=False)
class MindView:
    """What the agent sees, does, expects and earned."""

    sees: tuple[Seen, ...] = ()
    kind: Literal["probabilities", "values", "levers", "mixture"] = "probabilities"
    does: tuple[Option, ...] = ()
    expected: F64 = field(default_factory=lambda: np.zeros(0))
    """(ticks,) What the agent expected to earn from there on."""
    came: F64 = field(default_factory=lambda: np.zeros(0))
    """(ticks,) What it really earned from there on; NaN while that is not known."""
    earned: tuple[Term, ...] = ()
    begins: tuple[int, ...] = ()
    """The ticks of these at which another episode began: what came before does not lead there."""
    who: str = ""
    """The agent's name, where there are several."""
    pictures: tuple[SeenPicture, ...] = ()
    """Numbers among these that belong together, as small pictures in place of a row each."""
    sees_more: int = 0
    """Numbers that it sees besides, such as most of a picture's."""
    why: WhyView | None = None
    """What pulls on what it does, if somebody asks."""


@dataclass(frozen=True, eq=False)
class Series:
    """A named line of numbers over training steps; NaN leaves a gap."""

    name: str
    x: F64 = field(default_factory=lambda: np.zeros(0))
    y: F64 = field(default_factory=lambda: np.zeros(0))
    spread: F64 | None = None
    """Half the height of the band around the line."""
    colour: tuple[int, int, int] | None = None
    """Of what it stands for, such as a good ending; None: any."""


@dataclass(frozen=True, eq=False)
class LearningView:
    """How training went so far."""

    returns: Series = field(default_factory=lambda: Series("return"))
    """What stands for an arena and is drawn large, by its name: the return or the score."""
    evaluations: Series = field(default_factory=lambda: Series("evaluation"))
    best: Point | None = None
    """Step and mean score or return of the best evaluation."""
    solved_at: float | None = None
    steps_total: float | None = None
    others: tuple[tuple[Series, ...], ...] = ()
    """One small plot each: returns, episode length, entropy or epsilon, KL, clip share, losses, steps per second."""
    stacks: tuple[Stack, ...] = ()
    """One small plot each, before the others: how episodes ended, and what was earned by each term."""
    solved_step: float | None = None
    """The step of the first evaluation that reached `solved_at`."""
    waiting: str = "no episode has ended yet"
    """What is said where there is no number at all."""
    changes: tuple[tuple[float, str], ...] = ()
    """Steps at which settings were changed while it trained, and what to, and of the first good endings."""
    bests: tuple[tuple[str, Point], ...] = ()
    """The name of an agent's own curve, with step and mean return of its best evaluation."""
    ghost: Series | None = None
    """What the previous run of the scene came to, by what that was in words."""


@dataclass(frozen=True, eq=False)
class Stack:
    """Lines that are stacked over training steps: what is below zero downwards."""

    name: str
    parts: tuple[Series, ...]
    whole: bool = False
    """The parts are shares of one whole."""


@dataclass(frozen=True)
class WhyView:
    """What pulls on one of the things that the agent can do, and what it would do if it saw something else."""

    of: str
    """The option or lever that is explained."""
    row: int
    """Its row among what the agent does; -1 where it has none."""
    pulls: tuple[float, ...] | None
    """Of each number seen: above zero it speaks for that option, or turns that lever up. None: not told."""
    turned: tuple[int, ...] = ()
    """The numbers that were turned by hand."""
    did: tuple[Option, ...] = ()
    """What it did before they were turned; empty where none is."""
    value: float | None = None
    """What it would expect now that they are turned."""


@dataclass(frozen=True, eq=False)
class GhostView:
    """The way that the next second would take."""

    name: str
    """What is done all the while; empty where the policy decides."""
    paths: tuple[F64, ...]
    """(ticks, 2) each: where the agent's bodies come."""
    tone: Tone | None = None
    """How good it is that the episode ends within the second, None if it goes on."""


@dataclass
class StageOverlay:
    """What lies over a stage besides what happens there."""

    prompt: str = ""
    """What the person is asked to do before the episode begins; it stands where an ending would."""
    map: MapView | None = None
    """What the agent expects elsewhere, if somebody asks."""
    ghosts: tuple[GhostView, ...] = ()
    """Where the next second would lead, if somebody asks."""


@dataclass(frozen=True, eq=False)
class MapView:
    """What the agent expects over two of the numbers that it sees, all others as they are."""

    names: tuple[str, str]
    """Across, up."""
    bounds: tuple[Point, Point]
    """The lower left and the upper right corner: of the arena in metres, or of the two numbers."""
    values: F64
    """(rows, columns), from the lowest row up."""
    arrows: F64
    """(rows, columns, 2) Where the best action pushes, at most 1 long; zeros where it pushes nowhere."""
    here: Point
    """Where the two numbers are now."""
    on_stage: bool
    """They are the place of a body, and the map lies on the arena."""
