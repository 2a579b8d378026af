"""The learning again in twenty seconds: the run's policies one after the other, on the seed that is on the stage."""

from __future__ import annotations

from collections.abc import Iterable

import pygame

from ecs_rl.viewer.panel import App, Chip, Command, Control

SECONDS = 20.0
"""For which all policies play together."""
FASTER = 4.0
"""Times real time that the stage plays: each policy has a second, and most episodes are longer."""
KEY = "E"


class LearningReplay(Control):
    """Puts one policy after the other on the stage, and in the end the one that was there before."""

    name = "learning replay"

    def __init__(self) -> None:
        self._steps: list[float] = []
        """The steps of the policies; none while this is off."""
        self._number, self._passed, self._speed = -1, 0.0, 1.0
        self._episode = (0, 0)

    def toggle(self, app: App) -> None:
        """Begin with the first policy, or go back to the newest."""
        if self._steps:
            self.leave(app)
            return
        checkpoints, stage = app.run.checkpoints, app.stage
        steps = [] if checkpoints is None else [choice.step for choice in checkpoints.choices()]
        if len(steps) < 2 or stage.playlist is not None or len(stage.shows) > 1 or stage.aside is not None:
            app.say("there is no learning here to see again", "warn")
            return
        self._steps, self._number, self._passed, self._speed = steps, -1, 0.0, app.show.speed
        self._episode = (app.show.arena, app.show.episode)
        stage.grid = None
        stage.pause(False)
        stage.set_speed(FASTER)

    keys = (Command("Policy", KEY, name, "", toggle, (pygame.K_e,)),)

    def advance(self, app: App, seconds: float) -> None:
        """Go on to the next policy once this one has played for its share of the time."""
        if not self._steps:
            return
        if len(app.stage.shows) > 1 or app.run.checkpoints is None:
            self._steps = []
            return
        self._passed += seconds
        number = int(self._passed / SECONDS * len(self._steps))
        if number >= len(self._steps):
            self.leave(app)
        elif number != self._number:
            self._number = number
            app.run.checkpoints.put(self._steps[number], app.stage.shows)
            app.show.go_to(*self._episode)

    def is_on(self, app: App) -> bool:
        """Return whether policies follow each other."""
        return bool(self._steps)

    def leave(self, app: App) -> None:
        """Put the policy on the stage that was there at first."""
        self._steps = []
        app.stage.set_speed(self._speed)
        if app.run.checkpoints is not None:
            app.run.checkpoints.back(app.stage.shows)

    def chips(self, app: App) -> Iterable[Chip]:
        """Return the chip that leads back."""
        return [Chip("THE LEARNING AGAIN", KEY, rank=4)] if self._steps else []
