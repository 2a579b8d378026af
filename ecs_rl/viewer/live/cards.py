"""A key makes a card to share: earlier policies of the run play the seed on the stage, out of sight and in slices."""

from __future__ import annotations

from collections.abc import Iterator
from time import perf_counter
from typing import TYPE_CHECKING

import numpy as np
import pygame

from ecs_rl.arrays import F64
from ecs_rl.errors import EcsRlError
from ecs_rl.runs.layout import milestones
from ecs_rl.training.playback import Player
from ecs_rl.viewer.card import SIZE, Path, paint_card, step_told
from ecs_rl.viewer.films.recorder import stamp
from ecs_rl.viewer.gather import Reader
from ecs_rl.viewer.live.before_after import algorithm_of
from ecs_rl.viewer.live_episode import LiveEpisode
from ecs_rl.viewer.view import LearningView, StageView

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ecs_rl.agents.base import Agent
    from ecs_rl.viewer.live.window import Window

SHARES = (0.0, 0.05, 0.2)
"""How far learning was, of the steps to the solved policy, or to the newest one."""
BUDGET = 0.006
"""Seconds of a frame that making a card may take."""


class Cards:
    """Makes one card at a time."""

    def __init__(self, window: Window) -> None:
        self.window = window
        self._work: Iterator[None] | None = None

    def make(self) -> None:
        """Begin to make a card of the seed that is on the stage."""
        window = self.window
        if self._work is not None:
            window.say("a card is being made", "warn")
        elif len(window.shows) > 1 or not isinstance(window.show.reader, Reader):
            window.say("a card is made of one stage: leave what is beside it first", "warn")
        else:
            window.say("a card is being made")
            self._work = self._make()

    def go_on(self) -> None:
        """Do a little of it."""
        until = perf_counter() + BUDGET
        while self._work is not None and perf_counter() < until:
            try:
                if next(self._work, self) is self:
                    self._work = None
            except EcsRlError as error:
                self._work = None
                self.window.say(str(error), "bad")

    def _make(self) -> Iterator[None]:
        show = self.window.show
        paths, stage = list[Path](), show.stage()
        players = self._players()
        seed = show.seeds[show.arena]
        for label, agents in players:
            yield
            played = LiveEpisode(show.scene, agents, seeds=[seed], label=label, stays=True, opponent=show.rival)
            try:
                points = list[F64]()
                while played.outcome is None:
                    yield
                    played.tick()
                    points.append(_leading(played))
                stage = played.stage()
                ending = ", ".join(played.outcome.reasons) or "time is up"
                paths.append(Path(label, np.stack(points), played.outcome.total, ending))
            finally:
                played.close()
        self._write(stage, paths, seed)

    def _players(self) -> list[tuple[str, Mapping[str, Agent]]]:
        """Return the policies by how far learning was: kept ones of the run, and the one that is on the stage."""
        window, show = self.window, self.window.show
        found = list[tuple[str, "Mapping[str, Agent]"]]()
        kept = milestones(window.checkpoints.run) if window.checkpoints is not None else {}
        learning = _curves(window)
        solved = learning.solved_step if learning is not None else None
        last = solved or max(kept, default=0)
        steps = dict[int, float]()
        for share in SHARES if kept and last else ():
            steps.setdefault(min(kept, key=lambda step: abs(step - share * last)), share)
        for step, share in steps.items():
            agents = Player.load(kept[step], scene=show.scene, algorithm=algorithm_of(show)).agents
            found.append((step_told(share, step), agents))
        return [*found, (f"{'solved: ' if solved else ''}{show.label}", show.agents)]

    def _write(self, stage: StageView, paths: list[Path], seed: int) -> None:
        window, scene = self.window, self.window.show.scene
        surface = pygame.Surface(SIZE)
        caption = f"{scene.about} Seed {seed}."
        paint_card(surface, stage, paths, _curves(window), title=scene.name, caption=caption)
        path = window.recorder.folder / "pictures" / f"card_{stamp()}.png"
        window.recorder.write(surface, path, "card", window)


def _curves(window: Window) -> LearningView | None:
    return None if window.history is None else window.history.refresh()


def _leading(show: LiveEpisode) -> F64:
    """Return (points, 2) of what leaves a trail, where the tick has brought it."""
    trail = show.reader.trail if isinstance(show.reader, Reader) else None
    return np.zeros((0, 2)) if trail is None else trail.copy()
