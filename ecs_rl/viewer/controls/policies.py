"""Which policy plays, and whether it draws its actions at random."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

import pygame

from ecs_rl.viewer.palette import DIM
from ecs_rl.viewer.panel import App, Chip, Command, Control

if TYPE_CHECKING:
    from ecs_rl.viewer.live.playlist import CheckpointList


class Policies(Control):
    """Puts the run's policies on the stage."""

    name = "policies"

    def chips(self, app: App) -> Iterable[Chip]:
        """Return how actions are chosen, where a policy plays."""
        if app.stage.grid is not None or app.show.replays:
            return []
        return [Chip("SAMPLED ACTIONS" if app.show.sampled else "BEST ACTIONS", "D", DIM, rank=10)]

    def choose(self, app: App, choose: Callable[[CheckpointList], str]) -> None:
        """Put another policy on the stage, and say which one."""
        if app.run.checkpoints is None or len(app.stage.shows) > 1 or app.stage.aside is not None:
            app.say("there is nothing else to choose from here", "warn")
            return
        label = choose(app.run.checkpoints)
        app.say(f"on the stage: {label}" if label else "there is no checkpoint yet", "plain" if label else "warn")

    def turn(self, app: App, by: int) -> None:
        """Put the policy so many places later on the stage."""
        self.choose(app, lambda checkpoints: checkpoints.turn(by, app.stage.shows))

    def turn_back(self, app: App) -> None:
        """Put the policy on the stage that was there at first."""
        self.choose(app, lambda checkpoints: checkpoints.back(app.stage.shows))

    def toggle_sampling(self, app: App) -> None:
        """Draw actions at random, or take the best ones."""
        if app.show.replays:
            app.say("this was played before: it goes as it went", "warn")
            return
        sampled = not app.show.sampled
        for show in app.stage.shows:
            show.sample(sampled)
        app.say("actions are drawn at random, as in training" if sampled else "the best action every time")

    # fmt: off
    keys = (
        Command("Policy", ",", "earlier checkpoint", "earlier, later policy of the run",
                lambda it, app: it.turn(app, -1), (), ",<"),
        Command("Policy", ".", "later checkpoint", "", lambda it, app: it.turn(app, +1), (), ".>"),
        Command("Policy", "D", "sampling", "best action or drawn at random", toggle_sampling, (pygame.K_d,)),
        Command("Policy", "L", "newest policy", "back to the newest; all in 20 seconds", turn_back, (pygame.K_l,)),
    )
    # fmt: on
