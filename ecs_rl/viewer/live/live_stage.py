"""The stage of a window: the shows on it, who plays them, and what the user has turned, chosen or put aside."""

from __future__ import annotations

from collections.abc import Sequence

from ecs_rl.viewer.camera import Aim
from ecs_rl.viewer.grid_watch import GridWatch
from ecs_rl.viewer.live.aside import Aside
from ecs_rl.viewer.live.hands import Hands
from ecs_rl.viewer.live.playlist import Playlist
from ecs_rl.viewer.live_episode import LiveEpisode
from ecs_rl.viewer.objects import BodyId


class LiveStage:
    """One or several shows."""

    def __init__(self, shows: Sequence[LiveEpisode], playlist: Playlist | None = None) -> None:
        """Take the shows, and for `play.py` which episodes they play."""
        self.shows = list(shows)
        self.playlist = playlist
        self.grid: GridWatch | None = None
        """All arenas of the training, which hide the shows."""
        self.coming: Aside | None = None
        """Other shows that are being opened; they take the place of these once all are there."""
        self.aside: Aside | None = None
        """Other shows, in place of those that stood here before."""
        self._shows_before = self.shows
        """The shows that come back after it."""
        self.hands: Hands | None = None
        """The person at the controls, None while the policy drives."""
        self.aim: Aim | None = None
        """Where the user has turned the camera; None: to the whole arena."""
        self.selected: BodyId | None = None
        """The body that the user has chosen."""

    @property
    def show(self) -> LiveEpisode:
        """The first show."""
        return self.shows[0]

    @property
    def is_single(self) -> bool:
        """Whether one show is all there is to see."""
        return self.grid is None and len(self.shows) == 1

    def set_speed(self, speed: float) -> None:
        """Play every show at this speed."""
        for show in self.shows:
            show.speed = speed

    def pause(self, rest: bool) -> None:
        """Stop every show, or let it go on."""
        for show in self.shows:
            show.paused = rest

    def advance(self, seconds: float, budget: float) -> None:
        """Let time pass on every show; all together may take `budget` seconds."""
        waits = self.playlist is not None and self.playlist.waits and self.aside is None
        for show in self.shows if self.grid is None and not waits else ():  # nobody sees it behind the grid
            show.advance(seconds, budget / len(self.shows))

    def new_episode(self) -> None:
        """Begin the next episode, on every show."""
        if self.playlist is not None and self.aside is None:
            self.playlist.go_on(self.shows)
            return
        for show in self.shows:
            show.new_episode()

    def open_aside(self) -> None:
        """Open another show of those that are coming, or let them take the place of these."""
        coming = self.coming
        if coming is None:
            return
        try:
            is_open = next(coming.opening, coming) is coming
        except BaseException:
            self._stop_coming()
            raise
        if is_open:
            self.coming = None
            self._take_aside(coming)

    def _take_aside(self, aside: Aside) -> None:
        self.leave_aside()
        self.grid = self.selected = None
        speed = self.show.speed
        self.aside, self._shows_before = aside, self.shows
        self._put(aside.shows)
        self.set_speed(speed)
        if aside.hands is not None:
            self.leave_hands()
            self.hands = aside.hands

    def leave_aside(self) -> None:
        """Bring back the shows that stood here before; others come no more."""
        self._stop_coming()
        if self.aside is not None:
            if self.hands is not None and self.hands.show in self.shows:
                self.hands = None
            self.aside.close()
            self.aside, self.aim = None, None
            self._put(self._shows_before)

    def _stop_coming(self) -> None:
        if self.coming is not None:
            self.coming.close()
            self.coming = None

    def leave_hands(self) -> None:
        """Give the controls back to the policy."""
        if self.hands is not None:
            self.hands.let_go()
            self.hands = None

    def _put(self, shows: list[LiveEpisode]) -> None:
        """Let these shows stand here: no hand holds what stood here before."""
        for show in self.shows:
            show.let_go()
        self.shows = shows
