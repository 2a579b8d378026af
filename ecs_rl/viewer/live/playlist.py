"""The playlist of `play.py`: which episodes are played, on all shows at once, and how they ended."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from statistics import fmean

from ecs_rl.viewer.live_episode import Ended, LiveEpisode


class Playlist:
    """Gives every episode its turn, on all shows at once, and then begins again."""

    def __init__(self, shows: Sequence[LiveEpisode], report: Callable[[int, Ended], None]) -> None:
        self.results: list[dict[int, Ended]] = [{} for _ in shows]
        """For each show how each episode ended, by its arena: the first time that counts."""
        self.episodes = len(shows[0].seeds)
        self._had: set[int] = set()
        self._report = report

    @property
    def is_over(self) -> bool:
        """Whether every episode had its turn: played to its end, or skipped."""
        return len(self._had) == self.episodes

    def look(self, shows: Sequence[LiveEpisode]) -> None:
        """Note what has ended, and go on to the next episode once all shows are ready for it."""
        for number, show in enumerate(shows):
            for ended in show.ended:
                if ended.counts and not self.is_over and ended.arena not in self.results[number]:
                    self.results[number][ended.arena] = ended
                    self._report(number, ended)
            show.ended.clear()
        if all(show.rested for show in shows):
            self.go_on(shows)

    def go_on(self, shows: Sequence[LiveEpisode]) -> None:
        """Begin the next episode that had no turn yet, of all if each had one."""
        at = shows[0].arena
        self._had.add(at)
        order = [(at + step) % self.episodes for step in range(1, self.episodes + 1)]
        following = next((arena for arena in order if arena not in self._had), order[0])
        for show in shows:
            show.go_to(following)

    def mean(self, number: int) -> str:
        """Return how this show has fared so far."""
        done = self.results[number]
        return f"mean of {len(done)}: {fmean(ended.total for ended in done.values()):.1f}" if done else ""

    def note(self, number: int, shows: Sequence[LiveEpisode]) -> str:
        """Return where the playlist is and how this show has fared."""
        where = f"episode {shows[number].arena + 1} of {self.episodes}"
        return "  ·  ".join(filter(None, (where if len(shows) == 1 else "", self.mean(number))))
