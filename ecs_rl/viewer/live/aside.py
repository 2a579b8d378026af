"""What takes the place of the stage for a while: other shows, until they were looked at or somebody leaves them."""

from __future__ import annotations

from ecs_rl.viewer.live_episode import LiveEpisode

LINGER = 2.0
"""Seconds for which the last pictures stay once all episodes are over."""


class Aside:
    """Shows of one episode each; they are closed together."""

    title, key = "", ""
    """What the chip says that leads back to the stage, and the key on it."""

    def __init__(self) -> None:
        self.shows: list[LiveEpisode] = []
        self._left = LINGER

    def set_speed(self, times: float) -> None:
        """Play all of them at this speed."""
        for show in self.shows:
            show.speed = times

    def is_over(self, seconds: float) -> bool:
        """Return whether all have been seen to their end; so many seconds have passed since this was asked last."""
        if all(show.rested for show in self.shows):
            self._left -= seconds
        return self._left <= 0

    def close(self) -> None:
        """Give their worlds back."""
        for show in self.shows:
            show.close()
