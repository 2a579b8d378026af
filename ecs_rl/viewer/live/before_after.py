"""What learning has changed: the untrained policy and the present one on the same seed, in place of the stage."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from ecs_rl.agents.base import Agent
from ecs_rl.agents.make import Algorithm
from ecs_rl.errors import EcsRlError
from ecs_rl.training.playback import Player
from ecs_rl.viewer.live.aside import Aside
from ecs_rl.viewer.live_episode import LiveEpisode

if TYPE_CHECKING:
    from ecs_rl.viewer.live.window import Window


Opening: TypeAlias = Generator[None, None, None]
"""Opens another show at each step: all at once would take longer than a frame."""


class BeforeAfter(Aside):
    """Two shows of one episode."""

    title, key = "BEFORE AND AFTER", "B"

    def __init__(self, show: LiveEpisode, untrained: Path) -> None:
        """Take the episode of a `show`; `untrained` is the file of the policy before it learned anything."""
        before = Player.load(untrained, scene=show.scene, algorithm=algorithm_of(show)).agents
        super().__init__()
        self.opening = self.begin(show, [(before, "untrained"), (show.agents, show.label)])

    def begin(self, show: LiveEpisode, players: Sequence[tuple[Mapping[str, Agent], str]]) -> Opening:
        """Return what opens a show for each of these agents, under its label, on the present episode of a `show`."""
        scene, seed, sampled, opponent = show.scene, show.seeds[show.arena], show.sampled, show.rival

        def opening() -> Opening:
            try:
                for agents, label in players:
                    alike: dict[str, Any] = {"sampled": sampled, "stays": True, "opponent": opponent}
                    self.shows.append(LiveEpisode(scene, agents, seeds=[seed], label=label, **alike))
                    yield
            except BaseException:
                self.close()
                raise

        return opening()


class Comparison:
    """Compares before and after when it is asked for, and once by itself when the scene was solved."""

    def __init__(self, window: Window) -> None:
        self.window = window
        self._coming: BeforeAfter | None = None
        """One whose shows are being opened."""
        self._was_shown = False
        """The scene was solved: it has come by itself, or there was something else to see."""

    def toggle(self) -> None:
        """Show the untrained policy and the present one on the seed that is on the stage, or go back."""
        window, untrained = self.window, self._untrained
        if window.aside is not None:
            window.leave_aside()
        elif untrained is None or len(window.shows) > 1:
            window.say("there is no untrained policy here to compare with", "warn")
        elif self._coming is None:
            self._coming = BeforeAfter(window.show, untrained)

    @property
    def _untrained(self) -> Path | None:
        return None if self.window.checkpoints is None else self.window.checkpoints.untrained

    def go_on(self, *, solved: bool) -> None:
        """Open another show of a comparison that is coming, or begin one if the scene is `solved` and it is time."""
        window = self.window
        if window.aside is not None:
            self.close()
        elif self._coming is not None:
            self._open(self._coming)
        elif solved and not self._was_shown and len(window.shows) == 1 and window.grid is None and self._untrained:
            window.do("before and after")
        self._was_shown = self._was_shown or solved

    def _open(self, coming: BeforeAfter) -> None:
        """Open another show, or show them all once they are there."""
        try:
            if next(coming.opening, self) is self:
                self._coming = None
                self.window.take_aside(coming)
        except EcsRlError as error:
            self._coming = None
            self.window.say(str(error), "bad")

    def close(self) -> None:
        """Leave a comparison that is coming."""
        if self._coming is not None:
            self._coming.opening.close()  # and what it has opened
            self._coming = None


def algorithm_of(show: LiveEpisode) -> Algorithm | None:
    """Return the algorithm of a user's own that is on the stage, None for one that comes with the project."""
    return getattr(next(iter(show.agents.values()), None), "algorithm", None)
