"""What learning has changed: the untrained policy and the present one on the same seed, in place of the stage."""

from __future__ import annotations

from pathlib import Path

from ecs_rl.agents.make import Algorithm
from ecs_rl.training.playback import Player
from ecs_rl.viewer.live_episode import LiveEpisode

LINGER = 2.0
"""Seconds for which the two pictures stay once both episodes are over."""


class BeforeAfter:
    """Two shows of one episode, until both have come to their end and were looked at, or somebody leaves them."""

    def __init__(self, show: LiveEpisode, untrained: Path) -> None:
        """Take the episode of a `show`; `untrained` is the file of the policy before it learned anything."""
        before = Player.load(untrained, scene=show.scene, algorithm=algorithm_of(show)).agents
        self._left = LINGER
        self.shows: list[LiveEpisode] = []
        try:
            for agents, label in ((before, "untrained"), (show.agents, show.label)):
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
        except BaseException:
            self.close()
            raise

    def set_speed(self, times: float) -> None:
        """Play both at this speed."""
        for show in self.shows:
            show.speed = times

    def is_over(self, seconds: float) -> bool:
        """Return whether both have been seen to their end; so many seconds have passed since this was asked last."""
        if all(show.rested for show in self.shows):
            self._left -= seconds
        return self._left <= 0

    def close(self) -> None:
        """Give both worlds back."""
        for show in self.shows:
            show.close()


def algorithm_of(show: LiveEpisode) -> Algorithm | None:
    """Return the algorithm of a user's own that is on the stage, None for one that comes with the project."""
    return getattr(next(iter(show.agents.values())), "algorithm", None)
