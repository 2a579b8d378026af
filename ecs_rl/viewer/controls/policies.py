"""Which policy plays, and whether it draws its actions at random."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

import pygame

from ecs_rl.viewer.palette import DIM
from ecs_rl.viewer.panel import Chip, Command, Control

if TYPE_CHECKING:
    from ecs_rl.viewer.live.playlist import CheckpointList
    from ecs_rl.viewer.live.window import Window


class Policies(Control):
    """Puts the run's policies on the stage."""

    name = "policies"

    def chips(self, app: Window) -> Iterable[Chip]:
        """Return how actions are chosen, where a policy plays."""
        if app.grid is not None or app.show.replays:
            return []
        return [Chip("SAMPLED ACTIONS" if app.show.sampled else "BEST ACTIONS", "D", DIM, rank=10)]

    def choose(self, app: Window, choose: Callable[[CheckpointList], str]) -> None:
        """Put another policy on the stage, and say which one."""
        if app.checkpoints is None or len(app.shows) > 1 or app.aside is not None:
            app.say("there is nothing else to choose from here", "warn")
            return
        label = choose(app.checkpoints)
        app.say(f"on the stage: {label}" if label else "there is no checkpoint yet", "plain" if label else "warn")

    def turn(self, app: Window, by: int) -> None:
        """Put the policy so many places later on the stage."""
        self.choose(app, lambda checkpoints: checkpoints.turn(by, app.shows))

    def turn_back(self, app: Window) -> None:
        """Put the policy on the stage that was there at first."""
        self.choose(app, lambda checkpoints: checkpoints.back(app.shows))

    def toggle_sampling(self, app: Window) -> None:
        """Draw actions at random, or take the best ones."""
        if app.show.replays:
            app.say("this was played before: it goes as it went", "warn")
            return
        sampled = not app.show.sampled
        for show in app.shows:
            show.sample(sampled)
        app.say("actions are drawn at random, as in training" if sampled else "the best action every time")

    # fmt: off
    keys = (
        Command("Policy", ",", "earlier checkpoint", "earlier, later policy of the run",
                lambda it, app: it.turn(app, -1), (), ",<"),
        Command("Policy", ".", "later checkpoint", "", lambda it, app: it.turn(app, +1), (), ".>"),
        Command("Policy", "L", "newest policy", "back to the newest, or the first one", turn_back, (pygame.K_l,)),
        Command("Policy", "D", "sampling", "best action or drawn at random", toggle_sampling, (pygame.K_d,)),
    )
    # fmt: on
