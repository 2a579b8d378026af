"""What the stage plays: the checkpoints of a run, and which episodes of `play.py` have had their turn."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

from ecs_rl.agents.base import Agent
from ecs_rl.agents.make import Algorithm
from ecs_rl.errors import EcsRlError
from ecs_rl.runs import read_manifest
from ecs_rl.runs.layout import CHECKPOINTS, milestones, policies
from ecs_rl.scene.scene import Scene
from ecs_rl.training.playback import Player
from ecs_rl.viewer.live_episode import LiveEpisode
from ecs_rl.viewer.played_episodes import Ended
from ecs_rl.viewer.view import Tone

NEWEST = "newest policy"
LAST = 1e18
"""The place of a file that does not tell its step: before the newest policy, which has none."""


class Playlist:
    """Gives every episode its turn, on all shows at once, and then begins again."""

    verdict: tuple[str, Tone] | None = None
    """How the episode came out that has just ended, in words, as long as that waits for a person."""
    waits = False
    """Whether the episode is to begin with the next key of a person."""

    def __init__(self, shows: Sequence[LiveEpisode], report: Callable[[int, Ended], None]) -> None:
        self.results: list[dict[int, Ended]] = [{} for _ in shows]
        """For each show how each episode ended, by its arena: the first time that counts."""
        self.episodes = shows[0].episodes
        self.begins_again = False
        """Whether an episode that had its turn has just begun again; who looks clears it."""
        self._had: set[int] = set()
        self._report = report

    @property
    def is_over(self) -> bool:
        """Whether every episode had its turn: played to its end, or skipped."""
        return len(self._had) == self.episodes

    def look(self, shows: Sequence[LiveEpisode]) -> None:
        """Note what has ended, and go on to the next episode once all shows are ready for it."""
        self.note_ends(shows)
        if all(show.rested for show in shows):
            self.go_on(shows)

    def note_ends(self, shows: Sequence[LiveEpisode]) -> None:
        """Note what has ended since this was asked last."""
        for number, show in enumerate(shows):
            for ended in show.ended:
                if ended.counts and not self.is_over and ended.arena not in self.results[number]:
                    self.results[number][ended.arena] = ended
                    self._report(number, ended)
            show.ended.clear()

    def go_on(self, shows: Sequence[LiveEpisode]) -> None:
        """Begin the next episode that had no turn yet, of all if each had one."""
        at = shows[0].arena
        self._had.add(at)
        order = [(at + step) % self.episodes for step in range(1, self.episodes + 1)]
        following = next((arena for arena in order if arena not in self._had), order[0])
        self.begins_again = self.is_over and following == order[0]
        for show in shows:
            show.go_to(following)

    def wait(self) -> None:
        """Hold the episode that has been brought to its beginning, where a person plays."""

    def note(self, number: int, shows: Sequence[LiveEpisode]) -> str:
        """Return where the playlist is, if there is one show, and how this one has fared."""
        again = ", again" if self.is_over else ""
        which = f"episode {shows[number].arena + 1} of {self.episodes}{again}"
        where = which if len(shows) == 1 < self.episodes else ""
        totals = [ended.total for ended in self.results[number].values()]
        mean = f"mean of {len(totals)}: {fmean(totals):.1f}" if totals else ""
        return "  ·  ".join(filter(None, (where, mean)))


@dataclass(frozen=True)
class Choice:
    """One policy that can be watched; without a file it is the one that learns."""

    label: str
    path: Path | None
    step: float


class CheckpointList:
    """Knows which policy is on the stage, and finds the one before and after it."""

    def __init__(self, run: Path, newest: Mapping[str, Agent] | None = None, now: Path | None = None) -> None:
        self.run, self.newest = run, newest
        self.step = self.first = math.inf if now is None else _place(now).step
        """The place of the policy on the stage, and of the one that is there at first: in training the newest."""

    @property
    def untrained(self) -> Path | None:
        """The file of the policy before it had learned anything, if the run has kept it."""
        return milestones(self.run).get(0)

    def choices(self) -> list[Choice]:
        """Return all policies there are right now, the oldest first."""
        choices = [Choice(f"step {step:,}", path, step) for step, path in sorted(policies(self.run).items())]
        best = self.run / CHECKPOINTS / "best.safetensors"
        if best.is_file():
            choices.append(_place(best))
        choices.sort(key=lambda choice: choice.step)
        return choices if self.newest is None else [*choices, Choice(NEWEST, None, math.inf)]

    def turn(self, by: int, shows: list[LiveEpisode]) -> str:
        """Put the policy so many places further on the stage, none further than the last; return its label.

        One that cannot be used is passed by: the next turn goes on from there.
        """
        choices = self.choices()
        if not choices:
            return ""
        at = bisect_left([choice.step for choice in choices], self.step)
        there = at < len(choices) and choices[at].step == self.step
        target = at + by if there or by < 0 else at + by - 1  # what is on the stage may be gone from the list
        return self._put(choices[min(max(target, 0), len(choices) - 1)], shows)

    def seek(self, step: float, newest: float, shows: list[LiveEpisode]) -> str:
        """Put the policy that is nearest to a step on the stage; the newest counts as being at the step `newest`."""
        choices = self.choices()
        if not choices:
            return ""
        return self._put(min(reversed(choices), key=lambda choice: abs(min(choice.step, newest) - step)), shows)

    def back(self, shows: list[LiveEpisode]) -> str:
        """Put the policy on the stage that was there at first; return its label, '' where it is gone."""
        return self.put(self.first, shows)

    def put(self, step: float, shows: list[LiveEpisode]) -> str:
        """Put the policy of this very step on the stage; return its label, '' where it is gone."""
        there = [choice for choice in self.choices() if choice.step == step]
        return self._put(there[-1], shows) if there else ""

    def _put(self, chosen: Choice, shows: list[LiveEpisode]) -> str:
        """Put a policy on the stage, and begin the episode that is there again; nothing if it is there already."""
        if chosen.step != self.step:
            self.step = chosen.step
            agents = self.agents(chosen, shows[0].scene, algorithm_of(shows[0]))
            for show in shows:
                show.use(agents, chosen.label)
                show.restart()
        return chosen.label

    def agents(self, choice: Choice, scene: Scene, algorithm: Algorithm | None = None) -> Mapping[str, Agent]:
        """Return the agents of a choice, which play the scene that is on the stage by the algorithm that is there."""
        if choice.path is None:
            assert self.newest is not None
            return self.newest
        return Player.load(choice.path, scene=scene, algorithm=algorithm).agents


def _place(path: Path) -> Choice:
    """Return a checkpoint at its place among the others, the best behind its like; an unreadable one comes last."""
    is_best = path.stem == "best"
    try:
        step = read_manifest(path).step
    except EcsRlError:
        return Choice(path.stem, path, LAST)
    return Choice(f"best, step {step:,}" if is_best else f"step {step:,}", path, step + (0.5 if is_best else 0.0))


def algorithm_of(show: LiveEpisode) -> Algorithm | None:
    """Return the algorithm of a user's own that is on the stage, None for one that comes with the project."""
    return getattr(next(iter(show.agents.values()), None), "algorithm", None)
