"""Going back on the stage: what the keys, the scrubber and a key that is held down do to the past of every show."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pygame

from ecs_rl.viewer.panels.scrubber import ago_at, scrubber_bar, scrubber_place

if TYPE_CHECKING:
    from ecs_rl.viewer.live.window import Window
    from ecs_rl.viewer.rewind import Rewind

HELD = 0.35
"""Seconds after which a key that is held down goes on by itself."""
RATE, FASTER = 1.0, 3.0
"""Seconds of the stage that a held key goes through in a second, and by how much faster it gets in each."""


class LookingBack:
    """The window's hand on the past of its shows."""

    def __init__(self, window: Window) -> None:
        self.window = window
        self.scrubs = False
        """The mouse goes along the scrubber."""
        self._held = 0.0
        """Seconds for which Left or Right has been down."""
        self._owed = 0.0

    # --- keys -------------------------------------------------------------------------------------------------------

    @property
    def lead(self) -> Rewind:
        """The past of the show that has the longest one: where several play, those that have ended wait for it."""
        return max((show.rewind for show in self.window.shows), key=lambda rewind: len(rewind.log.past))

    def step(self, ticks: int) -> None:
        """Stop every show and go so many ticks on, back where it is below zero."""
        window = self.window
        window.pause_stage(True)
        if self.lead.at is None and ticks > 0:
            for show in window.shows:
                for _ in range(ticks):
                    show.tick()
        elif not self.lead.works:
            window.say("an environment cannot be wound back", "warn")
        else:
            self._go(self.lead.here + ticks)

    def second(self, by: int) -> None:
        """Stop every show and go a second back or on; on no further than the present."""
        ticks = max(1, round(1.0 / self.window.show.scene.dt))
        if by < 0 or self.lead.at is not None:
            self.step(by * ticks)

    def _go(self, at: int) -> None:
        for show in self.window.shows:
            show.rewind.go(at)

    def go_on_from_here(self) -> None:
        """Let every show go on from the moment that is seen; what came after is forgotten."""
        window = self.window
        back = [show for show in window.shows if show.rewind.at is not None]
        went_on = [show.go_on_from_here() for show in back]
        if not all(went_on):
            window.say("an episode ended here: go further back", "warn")
        elif back:
            window.pause_stage(False)
            window.say("it goes on from here, in another way than before")

    def leave(self) -> bool:
        """Go back to the present; False where every show is there already."""
        back = [show for show in self.window.shows if show.rewind.at is not None]
        for show in back:
            show.rewind.leave()
        return bool(back)

    def hold(self, seconds: float) -> None:
        """Let a key that is held down go on by itself."""
        down = self.window.down
        by = (pygame.K_RIGHT in down) - (pygame.K_LEFT in down)
        if not by or self.window.grid is not None:
            self._held = self._owed = 0.0
            return
        self._held += seconds
        if self._held > HELD:
            rate = RATE * FASTER ** (self._held - HELD)
            self._owed += seconds * min(rate, 8.0) / self.window.show.scene.dt
            ticks, self._owed = int(self._owed), self._owed % 1.0
            if ticks and (by < 0 or self.lead.at is not None):
                self.step(by * ticks)

    # --- mouse ------------------------------------------------------------------------------------------------------

    def scrub(self, pixel: tuple[float, float], *, beside: bool = False) -> bool:
        """Go to the moment under a pixel of the scrubber; tell whether there is one. `beside` takes all pixels."""
        window = self.window
        rewind = window.seen.rewind
        stage = window.layout.stage
        place = None if rewind is None else scrubber_place(stage, window.painter.canvas)
        if rewind is None or place is None:
            return False
        bar = scrubber_bar(place, window.painter.canvas).inflate(12, place.h)
        if not (beside or bar.collidepoint(pixel)):
            return False
        ago = ago_at(place, rewind, pixel[0], window.painter.canvas)
        self._go(len(self.lead.log.past) - 1 - round(ago / window.show.scene.dt))
        window.pause_stage(True)
        return True
