"""What a panel of the window is: one file with its data, place, painting, regions, keys and words.

A panel lives twice. In the process of the training it answers: `view` makes plain data, `act` takes what the user did.
In the process that draws it paints: `paint` gets that data and nothing else, and declares what can be pointed at.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Literal, Protocol, TypeVar, get_type_hints

import msgspec
import pygame

from ecs_rl.viewer.camera import Aim
from ecs_rl.viewer.palette import MAIN_LINE, Colour

if TYPE_CHECKING:
    from ecs_rl.viewer.canvas import Canvas
    from ecs_rl.viewer.frame_codec import Frame
    from ecs_rl.viewer.live.background import WatchedRun
    from ecs_rl.viewer.live.commands import Modes
    from ecs_rl.viewer.live.live_stage import LiveStage
    from ecs_rl.viewer.live.screen_process import AnyScreen
    from ecs_rl.viewer.live_episode import LiveEpisode
    from ecs_rl.viewer.regions import Reports
    from ecs_rl.viewer.view import Tone

V = TypeVar("V")
Point = tuple[float, float]
Place = Literal["ground", "stage", "over", "top", "right", "bottom", "line"]
"""The room of a panel: the stage, below all else or floating over it, the whole window, or a dock of its own."""
DOCKS: tuple[Place, ...] = ("top", "right", "bottom", "line")
"""Where panels dock, in the order in which their rooms are cut off; `line` is between the stage and the bottom."""
CTRL = pygame.KMOD_CTRL | pygame.KMOD_META
Kind = Literal["point", "click", "grab", "drag", "drop", "zoom", "pan"]


class Hit(msgspec.Struct, frozen=True):
    """The part of a painted frame that the user points at."""

    panel: str
    part: str = ""
    index: int = 0
    share: Point = (0.0, 0.0)
    """The place within the part, right and down: 0 to 1 inside of it, more or less where it was dragged out."""
    at: Point = (0.0, 0.0)
    """The pixel of the window."""
    key: str = ""
    """The key whose command a click carries out."""
    metres: Point | None = None
    """The point of the arena, where a picture of one was hit."""
    body: tuple[str, int] | None = None
    """The role and the member of the body there, for a click and a grab."""
    aim: Aim | None = None
    """Where the camera of that picture aims."""
    away: Point = (0.0, 0.0)
    """Pixels right and down of the middle of that picture."""

    @property
    def along(self) -> float:
        """How far right within the part it is, 0 to 1 also where it was dragged out."""
        return min(max(self.share[0], 0.0), 1.0)


class Gesture(msgspec.Struct, frozen=True, omit_defaults=True, tag=True):
    """What the user does with the mouse.

    A press without a move is a `click`; else it is a `grab`, a `drag` for each move and a `drop`, all with the part
    that was grabbed. `point` tells that something else is under the mouse now.
    """

    kind: Kind
    hit: Hit
    factor: float = 1.0
    """How much larger a `zoom` shows everything."""
    by: Point = (0.0, 0.0)
    """Pixels of a `pan`."""


@dataclass(frozen=True)
class Command:
    """A key or a gesture, and what it does."""

    section: str
    """Of the help."""
    key: str
    """The key's name in the help and the README, `Ctrl+` included; `""` if no key gives it."""
    name: str
    help: str
    """`""`: the help of the row above covers this key too."""
    run: Callable[..., object] | None = None
    """Takes the panel that declares it, and the window; None for gestures of the mouse, which a panel's `act` takes."""
    codes: tuple[int, ...] = ()
    characters: str = ""
    """The characters that the key writes, for keys that stand elsewhere on other keyboards."""
    trains: bool = False
    """Only while something trains."""
    listed: bool = True
    """Has a row of its own in the help; otherwise another row mentions it."""

    def is_given_by(self, event: pygame.event.Event) -> bool:
        """Return whether a pressed key asks for this."""
        character = getattr(event, "unicode", "")
        fits = event.key in self.codes or (character and character in self.characters)
        # AltGr, with which some keyboards write brackets, says Ctrl as well.
        return bool(fits and (bool(self.characters) or self.key.startswith("Ctrl+") == bool(event.mod & CTRL)))


@dataclass(frozen=True)
class Chip:
    """A mode that is on, and the key that leaves it."""

    text: str
    key: str
    colour: Colour = MAIN_LINE
    dot: bool = False
    """A red dot stands before it."""
    rank: int = 3
    """Its place among the chips, the most surprising one first."""


@dataclass
class Message:
    """Something the window says for a while."""

    text: str
    tone: Tone
    until: float
    """By this machine's `perf_counter`."""


class App(Protocol):
    """The window as its controls and panels see it."""

    screen: AnyScreen
    stage: LiveStage
    run: WatchedRun
    panels: dict[str, Control]
    """The controls and panels by their names, from the lowest to the topmost."""
    open_panels: set[str]
    """The names of the panels that are open."""
    modes: Modes
    messages: list[Message]
    reports: Reports
    """What the screen has found out while it painted."""
    down: set[int]
    """The keys that are held down."""
    frame_parts: dict[str, float]
    """Seconds that each part of the last frame took."""
    closing: bool
    """The window is to be closed."""

    @property
    def rows(self) -> Sequence[Command]:
        """The commands that there are now."""

    @property
    def show(self) -> LiveEpisode:
        """The first show on the stage."""

    def do(self, name: str) -> None:
        """Carry out the command of this name."""

    def say(self, text: str, tone: Tone = "plain", *, aloud: bool = False) -> None:
        """Show a message for a while."""


class Control:
    """Keys, and modes with their chips: all but `name` may stay as it is here, and is not called each frame then."""

    name: ClassVar[str]
    """Its switch, its key in a frame, its section in reports of mistakes."""
    filmed: ClassVar[bool] = False
    """Whether a film of the window shows it."""
    keys: ClassVar[tuple[Command, ...]] = ()

    def view(self, app: App) -> Any:
        """Return what to show as plain frozen data, None where there is nothing to show."""

    def open(self, app: App) -> None:
        """Prepare for a window that has just opened."""

    def close(self, app: App) -> None:
        """End what is under way, and give back what it holds: the window closes."""

    def act(self, app: App, hit: Hit, gesture: Gesture) -> None:
        """Carry out a gesture at one of the parts that it has painted."""

    def advance(self, app: App, seconds: float) -> None:
        """Let so many seconds pass before the next frame, ahead of the stage."""

    def look(self, app: App, seconds: float) -> None:
        """Look at what the stage has done in these seconds."""

    def after_draw(self, app: App, frame: Frame) -> None:
        """Take a frame that has just been drawn."""

    def is_on(self, app: App) -> bool:
        """Return whether this is a mode that Esc leaves now."""
        return False

    def leave(self, app: App) -> None:
        """Answer Esc while this is on: leave the mode, or one step of it."""

    def chips(self, app: App) -> Iterable[Chip]:
        """Return a chip for each of its modes that is on."""
        return ()

    def hints(self, app: App) -> Iterable[tuple[str, str]]:
        """Return keys that matter now besides, such as the one that brings it back, and what they do."""
        return ()

    def mode_hints(self, app: App) -> tuple[tuple[str, str], ...]:
        """Return the keys that matter while this mode is on, in place of the usual ones; nothing otherwise."""
        return ()


class Panel(Control, Generic[V]):
    """A control with a picture: all but `name`, `view` and `paint` may stay as it is here."""

    place: ClassVar[Place] = "stage"
    filmed: ClassVar[bool] = True
    words: ClassVar[Mapping[str, str]] = {}
    """Sentences that explain words which it writes."""

    def view(self, app: App) -> V | None:
        """Return what to show as plain frozen data, None while the panel is not shown."""
        raise NotImplementedError

    def paint(self, canvas: Canvas, view: V, room: pygame.Rect) -> None:
        """Paint the view within a room of `canvas.surface`, and declare with `canvas.hit` what can be pointed at."""
        raise NotImplementedError

    def thickness(self, scale: float, size: tuple[int, int]) -> int:
        """Return the height of a docked panel, at the right its width, in a window of this size; pixels."""
        raise NotImplementedError

    def arrange(self, canvas: Canvas, view: V, room: pygame.Rect) -> None:
        """Note in `canvas.rooms` where others may stand; called for all panels before the first one paints."""

    def tip(self, view: V, hit: Hit) -> tuple[str, ...]:
        """Return what to say at once about the part under the mouse; asked in the process that draws."""
        return ()

    def explain(self, view: V, hit: Hit) -> str:
        """Return a sentence about the part under the mouse once the mouse rests there; `""`: words explain it."""
        return ""

    def is_on(self, app: App) -> bool:
        """Return whether this is a mode that Esc leaves now: an open panel, unless it docks."""
        return self.name in app.open_panels and self.place not in DOCKS

    def toggle(self, app: App) -> None:
        """Open the panel, or close it."""
        app.open_panels ^= {self.name}

    def leave(self, app: App) -> None:
        """Answer Esc while this is on: close the panel, or leave one step of it."""
        app.open_panels -= {self.name}

    @classmethod
    def view_type(cls) -> Any:
        """Return the type of its data, by which a frame is packed."""
        return get_type_hints(cls.view)["return"]


Panels = Sequence[type[Panel[Any]]]
