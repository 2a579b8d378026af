"""A minute's tour of the window: eight signs, each at the panel that it tells about; it begins by itself once."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pygame

from ecs_rl.user_files.known import state_folder
from ecs_rl.viewer.canvas import NORMAL, SMALL, Canvas, wrapped
from ecs_rl.viewer.draw import rounded
from ecs_rl.viewer.palette import DIM, MAIN_LINE, PANEL, TEXT, mix
from ecs_rl.viewer.panel import App, Command, Gesture, Hit, Panel

LINE, PAD = 20, 14
MAY_BE_HIDDEN = ("mind", "learning")
SECONDS = 7.5
"""For which each sign stays; F2 goes on before that."""
SIGNS: tuple[tuple[str, str], ...] = (
    ("stage", "The stage: one arena in real time, played by the newest policy. It fails at first; that is the point."),
    ("mind", "Sees: the numbers that the policy is given. Does: what it decides from them. There is nothing else."),
    ("mind", "Expects: the reward that it counts on from here. Earned: what the scene pays and fines, by name."),
    ("learning", "Learning: the return over steps. Drag along the curve, and the stage plays the policy of then."),
    ("stage", "Pull a body with the mouse, kick it with P, change gravity and wind with A: does it cope?"),
    ("stage", "H lets you drive, Y races the policy on the same seed, B shows it untrained and now."),
    ("stage", "Left goes back in time, Space stands still, I asks why it did that, X maps what it expects."),
    ("hints", "F1 shows every key. Rest the mouse on any word to learn what it means. That is all: enjoy it."),
)


@dataclass(frozen=True)
class TourView:
    """One sign of the tour."""

    place: str
    """The panel that it tells about."""
    text: str
    number: int
    count: int


class Tour(Panel[TourView]):
    """Shows one sign after the other."""

    name = "tour"
    place = "over"
    filmed = False

    def __init__(self) -> None:
        self.sign, self._seconds = 0, 0.0

    def view(self, app: App) -> TourView | None:
        """Return the sign that stands now, None while there is no tour."""
        if self.name not in app.open_panels:
            return None
        place, text = SIGNS[self.sign]
        return TourView(place, text, self.sign + 1, len(SIGNS))

    def go_on(self, app: App) -> None:
        """Begin the tour, or go on to its next sign; a panel that is hidden is left out."""
        self.sign = self.sign + 1 if self.name in app.open_panels else 0
        self._seconds = 0.0
        while self.sign < len(SIGNS) and SIGNS[self.sign][0] in {*MAY_BE_HIDDEN} - app.open_panels:
            self.sign += 1
        app.open_panels = app.open_panels | {self.name} if self.sign < len(SIGNS) else app.open_panels - {self.name}

    keys = (Command("Window", "F2", "tour", "a minute's tour", go_on, (pygame.K_F2,)),)

    def advance(self, app: App, seconds: float) -> None:
        """Go on to the next sign once this one has stood long enough."""
        self._seconds += seconds
        if self.name in app.open_panels and self._seconds > SECONDS:
            self.go_on(app)

    def act(self, app: App, hit: Hit, gesture: Gesture) -> None:
        """Go on where the sign is clicked."""
        if gesture.kind == "click":
            self.go_on(app)

    def paint(self, canvas: Canvas, view: TourView, room: pygame.Rect) -> None:
        """Paint a frame around the panel, and the sign in its middle or above a low one."""
        place, surface = canvas.place_of(view.place) or room, canvas.surface
        frame = place.inflate(-canvas.px(4), -canvas.px(4))
        pygame.draw.rect(surface, MAIN_LINE, frame, canvas.px(2), border_radius=canvas.px(8))
        wide = max(canvas.px(170), min(canvas.px(420), place.w - 2 * canvas.px(PAD + 12)))
        lines = wrapped(view.text, wide, NORMAL, canvas)
        wide = max(canvas.width(line, NORMAL) for line in lines) + 2 * canvas.px(PAD)
        box = pygame.Rect(0, 0, wide, (len(lines) + 1) * canvas.px(LINE) + canvas.px(PAD))
        box.center = place.centerx, round(place.y + place.h * 0.62)
        if box.h > place.h:
            box.bottom = place.y - canvas.px(8)
        box.clamp_ip(room)
        rounded(surface, box, PANEL, radius=canvas.px(8), edge=mix(PANEL, MAIN_LINE, 0.7), alpha=245)
        canvas.hit(box, "sign")
        y = box.y + canvas.px(PAD) // 2 + canvas.px(LINE) // 2
        for line in lines:
            canvas.write(surface, line, (box.x + canvas.px(PAD), y), size=NORMAL, colour=TEXT)
            y += canvas.px(LINE)
        foot, at = f"{view.number} of {view.count}   F2 goes on, Esc ends the tour", (box.right - canvas.px(PAD), y)
        canvas.write(surface, foot, at, size=SMALL - 0.5, colour=DIM, anchor="right", width=wide)


def begin_for_the_first_time(begin: Callable[[], object]) -> None:
    """Begin the tour if nobody has seen it with this account; where that cannot be noted, it does not begin."""
    seen = noted_at()
    if seen.exists():
        return
    with suppress(OSError):
        seen.parent.mkdir(parents=True, exist_ok=True)
        seen.touch()
        begin()


def noted_at() -> Path:
    """Return the file that tells that the tour was seen."""
    return state_folder() / "toured"
