"""The stage of a window: the shows on it, who plays them, and what the user has turned, chosen or put aside.

The grid of the training's arenas and the asides, such as a race or a replay, take its place for a while.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

import numpy as np

from ecs_rl.agents.base import Agent
from ecs_rl.arrays import F64
from ecs_rl.results import Results
from ecs_rl.runs.episode_file import Episode
from ecs_rl.training.playback import Player
from ecs_rl.viewer.camera import Aim, Following, Framing
from ecs_rl.viewer.gather import Reader
from ecs_rl.viewer.live.hands import Hands
from ecs_rl.viewer.live.playlist import Playlist, algorithm_of
from ecs_rl.viewer.live_episode import LiveEpisode
from ecs_rl.viewer.number_formats import signed
from ecs_rl.viewer.objects import BodyId
from ecs_rl.viewer.replay import Replay
from ecs_rl.viewer.shapes import Placement
from ecs_rl.viewer.view import GridView
from ecs_rl.viewer.why import Questions
from ecs_rl.world import World

FADE = 0.5
"""Seconds for which an arena shows that its episode has just ended."""
CALM = 0.5
"""Endings per second and arena that may flash brightly; more flash as much more faintly, or all would flicker."""
MEMORY = 1.5
"""Seconds over which endings are counted."""
BRIGHTEST = 0.75
SLOWEST = 0.4
"""Seconds that a line takes to follow its return when episodes last less than that; then it shows their usual one."""
LINGER = 2.0
"""Seconds for which the last pictures stay once all episodes are over."""
YOU = "you"


class GridWatch:
    """Looks at all arenas of a world, and at one of them in particular."""

    def __init__(self, world: World) -> None:
        self.world, self.arenas, self.selected = world, world.arenas, 0
        self.reader = Reader(world)
        self._episode = self.reader.clock.episode.copy()
        self._ended: F64 = np.zeros(world.arenas)
        self._rate: float | None = None
        """Endings per second and arena; None before the second look."""
        self._bars: F64 | None = None
        self._seen = False
        self._framed_at = -1
        """Episodes that had ended in all arenas together when the picture was last reconsidered."""
        self._low = self._high = 0.0

    def view(self, seconds: float) -> GridView:
        """Return all arenas now, so many seconds after the last look."""
        reader = self.reader
        placement = reader.places.at(slice(None))
        focus = self._frame(placement, seconds)
        results = Results(self.world).now()
        flashes = self._flashes(seconds)
        return GridView(
            tuple(reader.places.objects(placement).values()),
            reader.ground.segments.copy(),
            self._followed(results, seconds),
            self._scale(results),
            flashes,
            reader.framing.bounds(),
            reader.framing.shape,
            reader.rails,
            self.selected,
            "score" if self.world.scene.score else "return",
            focus,
            tuple((line.points.copy(), line.road, line.closed) for line in self.world.arena.paths if line.road),
            self.world.scene.backdrop,
        )

    def _frame(self, placement: Placement, seconds: float) -> F64 | None:
        """Make room for all arenas; what was visited counts until each of them has ended so many episodes.

        Where the scene's camera follows something, return (arenas, 2) where that is.
        """
        framing = self.reader.framing
        if isinstance(framing, Following):
            return np.nan_to_num(framing.targets(placement))
        if not isinstance(framing, Framing) or framing.outline is None:
            return None
        reach = framing.outline.reach(placement)
        if not self._seen:
            self._seen = True
            framing.jump(reach)
            return None
        ended = int(self.reader.clock.episode.sum())
        if ended - self._framed_at >= self.arenas:
            self._framed_at = ended
            framing.begin()
        framing.see(reach, seconds)
        return None

    def _flashes(self, seconds: float) -> F64:
        """Return how brightly each arena shows that its episode has just ended, calmer the more of them end."""
        now = self.reader.clock.episode
        ended = now != self._episode
        if seconds > 0:
            rate = float(np.maximum(0, now - self._episode).sum()) / self.arenas / seconds
            share = 1.0 if self._rate is None else 1.0 - math.exp(-seconds / MEMORY)
            self._rate = rate if self._rate is None else self._rate + (rate - self._rate) * share
        self._episode = now.copy()
        strength = BRIGHTEST * min(1.0, CALM / max(self._rate or 0.0, 1e-9))
        self._ended = np.where(ended, strength, np.maximum(0.0, self._ended - seconds / FADE * strength))
        return self._ended

    def _followed(self, returns: F64, seconds: float) -> F64:
        """Return the returns, smoothed where episodes are too short to be followed by eye."""
        slow = SLOWEST * min(1.0, (self._rate or 0.0) * SLOWEST)
        share = 1.0 - math.exp(-seconds / slow) if slow > 0 else 1.0
        good = np.where(np.isfinite(returns), returns, 0.0)
        before = good if self._bars is None else self._bars
        self._bars = before + (good - before) * share
        return self._bars

    def _scale(self, returns: F64) -> tuple[float, float]:
        """Return the returns at both ends of the lines: full is solved, or the most that was seen."""
        good = returns[np.isfinite(returns)]
        self._low = min(self._low, float(good.min(initial=0.0)))
        self._high = max(self._high, float(good.max(initial=0.0)))
        goal = self.world.scene.solved_at
        if goal is not None and goal > 0:
            return (-goal if self._low < -0.02 * goal else 0.0), float(goal)
        return self._low, max(self._high, self._low + 1e-9)


class Aside:
    """Shows of one episode each; they are opened one by one and closed together."""

    title, key = "", ""
    """What the chip says that leads back to the stage, and the key on it."""
    opening: Iterator[None]
    """Opens another show at each step: all at once would take longer than a frame."""

    def __init__(self) -> None:
        self.shows: list[LiveEpisode] = []
        self.hands: Hands | None = None
        """The person who plays one of them."""
        self._left = LINGER

    def play(self, show: LiveEpisode, players: Sequence[tuple[Mapping[str, Agent], str]]) -> Iterator[None]:
        """Return what lets each of these agents play the present episode of a `show`, under its label."""
        seeds = [show.seeds[show.arena]]
        alike = partial(LiveEpisode, show.scene, seeds=seeds, sampled=show.sampled, stays=True, opponent=show.rival)

        def open_one(player: tuple[Mapping[str, Agent], str]) -> None:
            agents, label = player
            self.shows.append(alike(agents, label=label))

        return map(open_one, players)

    def is_over(self, seconds: float) -> bool:
        """Return whether all have been seen to their end; so many seconds have passed since this was asked last."""
        if all(show.rested for show in self.shows):
            self._left -= seconds
        return self._left <= 0

    def close(self) -> None:
        """Give their worlds back."""
        for show in self.shows:
            show.close()


class BeforeAfter(Aside):
    """What learning has changed: the untrained policy and the present one on the same seed."""

    title, key = "BEFORE AND AFTER", "B"

    def __init__(self, show: LiveEpisode, untrained: Path) -> None:
        """Take the episode of a `show`; `untrained` is the file of the policy before it learned anything."""
        super().__init__()
        before = Player.load(untrained, scene=show.scene, algorithm=algorithm_of(show)).agents
        self.opening = self.play(show, [(before, "untrained"), (show.agents, show.label)])


class Race(Aside):
    """The person and the policy of a show on the same seed, until both have come to their end."""

    title, key = "RACE", "Y"

    def __init__(self, show: LiveEpisode) -> None:
        """Take the episode of a `show`."""
        super().__init__()
        self.opening = self._open(show)

    def _open(self, show: LiveEpisode) -> Iterator[None]:
        yield from self.play(show, [(show.agents, YOU), (show.agents, show.label)])
        self.hands = Hands(self.shows[0], counts=True)


class ReplayAside(Aside):
    """One of the stage's last episodes."""

    key = "W"

    def __init__(self, show: LiveEpisode, which: str, episode: Episode) -> None:
        super().__init__()
        self.which, self.title = which, f"THE {which.upper()} OF {len(show.played.episodes)}"
        facts = episode.facts
        replay = Replay(show.scene, episode, show.agents, label=f"replay of {facts.who}", rival=show.opponent)
        if which == "most surprising" and facts.expected is not None and facts.came is not None:
            replay.note = f"expected {signed(facts.expected)}, came {signed(facts.came)}"
        self.shows.append(replay)
        self.opening = map(Replay.restart, [replay])


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
        self.questions = Questions()
        """What the user asks about the agent of the only show."""

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

    def open_grid(self, world: World) -> None:
        """Show all arenas of a world in place of the shows."""
        self.leave_aside()
        self.grid = GridWatch(world)

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
