"""What learning has changed: the untrained policy and the present one on the same seed, in place of the stage."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from ecs_rl.agents.base import Agent
from ecs_rl.agents.make import Algorithm
from ecs_rl.training.playback import Player
from ecs_rl.viewer.live.aside import Aside
from ecs_rl.viewer.live_episode import LiveEpisode


class BeforeAfter(Aside):
    """Two shows of one episode."""

    title, key = "BEFORE AND AFTER", "B"

    def __init__(self, show: LiveEpisode, untrained: Path) -> None:
        """Take the episode of a `show`; `untrained` is the file of the policy before it learned anything."""
        before = Player.load(untrained, scene=show.scene, algorithm=algorithm_of(show)).agents
        super().__init__()
        self.begin(show, [(before, "untrained"), (show.agents, show.label)])

    def begin(self, show: LiveEpisode, players: Sequence[tuple[Mapping[str, Agent], str]]) -> None:
        """Open a show for each of these agents, under its label, on the episode of a `show`."""
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
        except BaseException:
            self.close()
            raise


def algorithm_of(show: LiveEpisode) -> Algorithm | None:
    """Return the algorithm of a user's own that is on the stage, None for one that comes with the project."""
    return getattr(next(iter(show.agents.values())), "algorithm", None)
