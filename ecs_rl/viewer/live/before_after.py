"""What learning has changed: the untrained policy and the present one on the same seed, in place of the stage."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ecs_rl.agents.base import Agent
from ecs_rl.agents.make import Algorithm
from ecs_rl.errors import EcsRlError
from ecs_rl.training.playback import Player
from ecs_rl.viewer.live.aside import Aside
from ecs_rl.viewer.live_episode import LiveEpisode

if TYPE_CHECKING:
    from ecs_rl.viewer.live.window import Window


class BeforeAfter(Aside):
    """Two shows of one episode."""

    title, key = "BEFORE AND AFTER", "B"

    def __init__(self, show: LiveEpisode, untrained: Path) -> None:
        """Take the episode of a `show`; `untrained` is the file of the policy before it learned anything."""
        before = Player.load(untrained, scene=show.scene, algorithm=algorithm_of(show)).agents
        super().__init__()
        self.opening = self.begin(show, [(before, "untrained"), (show.agents, show.label)])
        """Opens another show at each step: both at once would take longer than a frame."""

    def begin(self, show: LiveEpisode, players: Sequence[tuple[Mapping[str, Agent], str]]) -> Iterator[None]:
        """Open a show for each of these agents, one at each step, under its label, on the episode of a `show`."""
        try:
            for agents, label in players:
                self.shows.append(
                    LiveEpisode(
                        show.scene,
                        agents,
                        seeds=[show.seeds[show.arena]],
                        sampled=show.sampled,
                        label=label,
                        stays=True,
                        opponent=show.opponent,
                    )
                )
                yield
        except BaseException:
            self.close()
            raise


class Comparison:
    """Compares before and after when it is asked for, and once by itself when the scene was solved."""

    def __init__(self, window: Window) -> None:
        self.window = window
        self._coming: BeforeAfter | None = None
        """One whose shows are being opened."""
        self._was_shown = False
        """It has come by itself."""

    def toggle(self) -> None:
        """Show the untrained policy and the present one on the seed that is on the stage, or go back."""
        window = self.window
        untrained = None if window.checkpoints is None else window.checkpoints.untrained
        if window.aside is not None:
            window.leave_aside()
        elif untrained is None or len(window.shows) > 1:
            window.say("there is no untrained policy here to compare with", "warn")
        elif self._coming is None:
            self._coming = BeforeAfter(window.show, untrained)

    def go_on(self, *, solved: bool) -> None:
        """Open another show of a comparison that is coming, or begin one if the scene is `solved` and it is time."""
        window, coming = self.window, self._coming
        if window.aside is not None:
            self.close()
        elif coming is not None:
            try:
                if next(coming.opening, self) is self:
                    self._coming = None
                    window.take_aside(coming)
            except EcsRlError as error:
                self._coming = None
                window.say(str(error), "bad")
        elif solved and not self._was_shown:
            self._was_shown = True
            if len(window.shows) == 1 and window.grid is None and window.checkpoints and window.checkpoints.untrained:
                window.do("before and after")

    def close(self) -> None:
        """Leave a comparison that is coming."""
        if self._coming is not None:
            self._coming.close()
            self._coming = None


def algorithm_of(show: LiveEpisode) -> Algorithm | None:
    """Return the algorithm of a user's own that is on the stage, None for one that comes with the project."""
    return getattr(next(iter(show.agents.values())), "algorithm", None)
