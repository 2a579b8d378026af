"""The scrubber: back to any moment of the stage's last half minute, by a bar above its lower edge and by keys."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pygame

from ecs_rl.viewer.canvas import RIBBON, SMALL, STRIP, Canvas
from ecs_rl.viewer.draw import rounded
from ecs_rl.viewer.palette import DIM, FAINT, MAIN_LINE, NIGHT, PANEL, RAISED, TEXT, mix
from ecs_rl.viewer.panel import App, Chip, Command, Gesture, Hit, Panel
from ecs_rl.viewer.stage import TONES
from ecs_rl.viewer.view import Tone

if TYPE_CHECKING:
    from ecs_rl.viewer.live_episode import LiveEpisode
    from ecs_rl.viewer.tick_log import Rewind

TALL, BAR = 26, 6
"""Heights of the place that takes the mouse, and of the bar in it."""
EDGE, WORDS = 14, 52
"""Pixels beside the place, and within it those beside the bar for how long ago it is."""
LEAST = 240, 160
"""Pixels of a stage that has a scrubber, at least."""
HELD = 0.35
"""Seconds after which a key that is held down goes on by itself."""
RATE, FASTER, FASTEST = 1.0, 3.0, 8.0
"""Seconds of the stage that a held key goes through in a second, by how much faster it gets in each, and the most."""


@dataclass(frozen=True)
class ScrubberView:
    """How far back the stage can go, and where in its past it is."""

    seconds: float
    ago: float | None = None
    """Seconds before the present; None in the present."""
    ends: tuple[tuple[float, Tone], ...] = ()
    """How many seconds ago episodes ended, and how good each ending was."""


def lead_of(shows: Sequence[LiveEpisode]) -> Rewind:
    """Return the longest past of several shows: those that have ended wait for the others."""
    return max((show.rewind for show in shows), key=lambda rewind: rewind.seconds)


def _key(key: str, name: str, text: str, run: Callable[[Any, App], None], *codes: int) -> Command:
    return Command("Stage", key, name, text, run, codes)


class Scrubber(Panel[ScrubberView]):
    """The user's hand on the past of all shows, which is seen while the stage rests or is back."""

    name = "scrubber"

    def __init__(self) -> None:
        self._held = self._owed = 0.0
        """Seconds for which Left or Right has been down, and ticks that this has not gone through yet."""

    def view(self, app: App) -> ScrubberView | None:
        """Return the past of the stage while it rests or is to be seen."""
        past = lead_of(app.stage.shows)
        if app.stage.grid is not None or not (app.show.paused or past.at is not None) or past.seconds <= 0:
            return None
        return ScrubberView(past.seconds, None if past.at is None else past.ago, past.ends)

    # --- painting ---------------------------------------------------------------------------------------------------

    def paint(self, canvas: Canvas, view: ScrubberView, room: pygame.Rect) -> None:
        """Paint the bar, where episodes ended on it, and the moment that is to be seen."""
        if room.w <= canvas.px(LEAST[0]) or room.h <= canvas.px(LEAST[1]):
            return
        place = pygame.Rect(room.x + canvas.px(EDGE), 0, room.w - 2 * canvas.px(EDGE), canvas.px(TALL))
        place.bottom = room.bottom - canvas.px(STRIP + 4 + RIBBON)
        canvas.take(place)
        surface, bar = canvas.surface, pygame.Rect(place.x, 0, place.w - canvas.px(WORDS), canvas.px(BAR))
        bar.centery = place.centery
        canvas.hit(bar, "bar", reach=bar.inflate(2 * canvas.px(BAR), place.h))
        radius = bar.h // 2
        rounded(surface, bar.inflate(canvas.px(2), canvas.px(2)), NIGHT, radius=radius + 1, alpha=200)
        rounded(surface, bar, RAISED, radius=radius, alpha=235)
        seconds = max(view.seconds, 1e-9)
        x = round(bar.right - (view.ago or 0.0) / seconds * bar.w)
        done = pygame.Rect(bar.x, bar.y, x - bar.x, bar.h)
        rounded(surface, done, mix(PANEL, MAIN_LINE, 0.75), radius=radius)
        for ago, tone in view.ends:
            at = round(bar.right - ago / seconds * bar.w)
            colour = DIM if tone == "plain" else TONES[tone]
            surface.fill(colour, (at - canvas.px(1), bar.y - canvas.px(4), canvas.px(2), bar.h + canvas.px(8)))
        pygame.draw.aacircle(surface, NIGHT, (x, bar.centery), canvas.px(8))
        pygame.draw.aacircle(surface, TEXT, (x, bar.centery), canvas.px(6))
        text, colour = ("now", FAINT) if view.ago is None else (f"-{view.ago:.1f} s", TEXT)
        words = pygame.Rect(bar.right + canvas.px(10), 0, canvas.px(WORDS - 10), canvas.px(16))
        words.centery = bar.centery
        rounded(surface, words, NIGHT, radius=canvas.px(4), alpha=170)
        end = words.right - canvas.px(4), words.centery
        canvas.write(surface, text, end, size=SMALL, colour=colour, face="numbers", anchor="right")

    # --- keys -------------------------------------------------------------------------------------------------------

    def step(self, app: App, ticks: int) -> None:
        """Stop every show and go so many ticks on, back where it is below zero."""
        lead = lead_of(app.stage.shows)
        app.stage.pause(True)
        if lead.at is None and ticks > 0:
            for show in app.stage.shows:
                for _ in range(ticks):
                    show.tick()
        elif not lead.works:
            app.say("an environment cannot be wound back", "warn")
        else:
            _go(app, lead.here + ticks)

    def second(self, app: App, by: int) -> None:
        """Stop every show and go a second back or on; on no further than the present."""
        if by < 0 or lead_of(app.stage.shows).at is not None:
            self.step(app, by * max(1, round(1.0 / app.show.scene.dt)))

    def go_on_from_here(self, app: App) -> None:
        """Let every show go on from the moment that is seen; what came after is forgotten."""
        back = [show for show in app.stage.shows if show.rewind.at is not None]
        went_on = [show.go_on_from_here() for show in back]
        if not all(went_on):
            app.say("an episode ended here: go further back", "warn")
        elif back:
            app.stage.pause(False)
            app.say("it goes on from here, in another way than before")

    def enter(self, app: App) -> None:
        """Watch the arena that is chosen in the grid, or go on from the moment that is seen."""
        if app.stage.grid is not None:
            app.do("watch arena")
        else:
            self.go_on_from_here(app)

    keys = (
        _key("Left", "step back", "one tick back, on", lambda panel, app: panel.step(app, -1), pygame.K_LEFT),
        _key("Right", "step", "", lambda panel, app: panel.step(app, +1), pygame.K_RIGHT),
        _key("PgUp", "second back", "one second back, on", lambda panel, app: panel.second(app, -1), pygame.K_PAGEUP),
        _key("PgDn", "second on", "", lambda panel, app: panel.second(app, +1), pygame.K_PAGEDOWN),
        _key("Enter", "go on from here", "watch it; go on from here", enter, pygame.K_RETURN, pygame.K_KP_ENTER),
    )

    def advance(self, app: App, seconds: float) -> None:
        """Let a key that is held down go on by itself."""
        by = (pygame.K_RIGHT in app.down) - (pygame.K_LEFT in app.down)
        if not by or app.stage.grid is not None:
            self._held = self._owed = 0.0
            return
        self._held += seconds
        if self._held > HELD:
            rate = RATE * FASTER ** (self._held - HELD)
            self._owed += seconds * min(rate, FASTEST) / app.show.scene.dt
            ticks, self._owed = int(self._owed), self._owed % 1.0
            if ticks and (by < 0 or lead_of(app.stage.shows).at is not None):
                self.step(app, by * ticks)

    def is_on(self, app: App) -> bool:
        """Return whether a moment of the past is seen."""
        return any(show.rewind.at is not None for show in app.stage.shows)

    def chips(self, app: App) -> Iterable[Chip]:
        """Return how long ago the moment is that is seen."""
        lead = lead_of(app.stage.shows)
        return [Chip(f"{lead.ago:.1f} S AGO", "Esc", rank=1)] if app.stage.grid is None and lead.at is not None else []

    def mode_hints(self, app: App) -> tuple[tuple[str, str], ...]:
        """Return the keys of somebody who looks back."""
        if app.stage.grid is not None or not self.is_on(app):
            return ()
        play = ("Space", "play" if app.show.paused else "pause")
        return (("F1", "help"), play, ("Left Right", "one tick"), ("Enter", "go on from here"), ("Esc", "back to now"))

    def leave(self, app: App) -> None:
        """Go back to the present."""
        for show in app.stage.shows:
            show.rewind.leave()
        app.say("back in the present")

    # --- mouse ------------------------------------------------------------------------------------------------------

    def act(self, app: App, hit: Hit, gesture: Gesture) -> None:
        """Go to the moment under the mouse."""
        if gesture.kind in ("click", "grab", "drag"):
            lead = lead_of(app.stage.shows)
            ago = lead.seconds * (1.0 - hit.along)
            _go(app, lead.here + round((lead.ago - ago) / app.show.scene.dt))
            app.stage.pause(True)


def _go(app: App, at: int) -> None:
    for show in app.stage.shows:
        show.rewind.go(at)
