"""A key makes a card to share: earlier policies of the run play the seed on the stage, out of sight and in slices."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from time import perf_counter

import numpy as np
import pygame

from ecs_rl.agents.base import Agent
from ecs_rl.arrays import F64
from ecs_rl.errors import EcsRlError
from ecs_rl.runs.layout import milestones
from ecs_rl.training.playback import Player
from ecs_rl.viewer.card import SIZE, Path, paint_card, step_label
from ecs_rl.viewer.films.picture_files import write_picture
from ecs_rl.viewer.gather import Reader
from ecs_rl.viewer.live.playlist import algorithm_of
from ecs_rl.viewer.live_episode import LiveEpisode
from ecs_rl.viewer.panel import App, Command, Control
from ecs_rl.viewer.view import StageView

SHARES = (0.0, 0.05, 0.2)
"""How far learning was, of the steps to the solved policy, or to the newest one."""
BUDGET = 0.006
"""Seconds of a frame that making a card may take."""


class Cards(Control):
    """Makes one card at a time."""

    name = "card"

    def __init__(self) -> None:
        self._work: Iterator[None] | None = None

    def make(self, app: App) -> None:
        """Begin to make a card of the seed that is on the stage."""
        if self._work is not None:
            app.say("a card is being made", "warn")
        elif len(app.stage.shows) > 1 or not isinstance(app.show.reader, Reader):
            app.say("a card is made of one stage: leave what is beside it first", "warn")
        else:
            app.say("a card is being made")
            self._work = _making(app)

    def advance(self, app: App, seconds: float) -> None:
        """Go on with a card that is being made."""
        until = perf_counter() + BUDGET
        while self._work is not None and perf_counter() < until:
            try:
                if next(self._work, self) is self:
                    self._work = None
            except EcsRlError as error:
                self._work = None
                app.say(str(error), "bad")

    keys = (Command("Window", "C", "card", "a card to share", make, (pygame.K_c,)),)


def _making(app: App) -> Iterator[None]:
    show = app.show
    paths, stage = list[Path](), show.stage()
    players = _players(app)
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
    _write(app, stage, paths, seed)


def _players(app: App) -> list[tuple[str, Mapping[str, Agent]]]:
    """Return the policies by how far learning was: milestones of the run, and the one that is on the stage."""
    run, show = app.run, app.show
    policies = milestones(run.checkpoints.run) if run.checkpoints is not None else {}
    solved = None if run.history is None else run.history.refresh().solved_step
    last = solved or max(policies, default=0)
    steps = dict[int, float]()
    for share in SHARES if policies and last else ():
        steps.setdefault(min(policies, key=lambda step: abs(step - share * last)), share)
    players = list[tuple[str, Mapping[str, Agent]]]()
    for step, share in steps.items():
        agents = Player.load(policies[step], scene=show.scene, algorithm=algorithm_of(show)).agents
        players.append((step_label(share, step), agents))
    return [*players, (f"{'solved: ' if solved else ''}{show.label}", show.agents)]


def _write(app: App, stage: StageView, paths: list[Path], seed: int) -> None:
    scene, history = app.show.scene, app.run.history
    surface = pygame.Surface(SIZE)
    curves = None if history is None else history.refresh()
    paint_card(surface, stage, paths, curves, title=scene.name, caption=f"{scene.about} Seed {seed}.")
    write_picture(app, surface, "card", "card")


def _leading(show: LiveEpisode) -> F64:
    """Return (points, 2) of what leaves a trail, where the tick has brought it."""
    trail = show.reader.trail if isinstance(show.reader, Reader) else None
    return np.zeros((0, 2)) if trail is None else trail.copy()
