"""What takes the place of the stage for a while: other shows, until they were looked at or somebody leaves them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

from ecs_rl.agents.base import Agent
from ecs_rl.runs.episode_file import Episode
from ecs_rl.training.playback import Player
from ecs_rl.viewer.live.hands import Hands
from ecs_rl.viewer.live.playlist import algorithm_of
from ecs_rl.viewer.live_episode import LiveEpisode
from ecs_rl.viewer.number_formats import signed
from ecs_rl.viewer.replay import Replay

LINGER = 2.0
"""Seconds for which the last pictures stay once all episodes are over."""
YOU = "you"


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
