"""tally: Finished -> Session."""

from __future__ import annotations

import numpy as np

from ecs_rl.components import Clock, Finished
from ecs_rl.ecs import Stage
from ecs_rl.records import LESSON_STEP, OF_AGENT, SCORE
from ecs_rl.session import EpisodeRecord
from ecs_rl.training_stages.resources import Session
from ecs_rl.world import World


class Tally(Stage):
    """Pass ended episodes to the session, which updates statistics and log."""

    def __init__(self, world: World) -> None:
        self.world, self.session, self.finished = world, world.one(Session), world.one(Finished)

    def run(self) -> None:
        """Pass on the episodes that ended in this tick, with the ratings of self-play."""
        callbacks, training = self.world.callbacks, self.session.training
        records = records_of(self.world, self.finished)
        if records:
            records = callbacks.note(records)
        for steps, ended in callbacks.gather(training.total_steps, records):
            rated = callbacks.rate(ended)
            training.take(rated, steps)
            callbacks.teach(rated)
        callbacks.agree()


def records_of(world: World, done: Finished) -> list[EpisodeRecord]:
    """Return the episodes that ended in this tick.

    Their extras are the sum of each reward term, each agent's own return where there are several, the scores, how many
    steps each lesson had taken as they began, and what ended them.
    """
    if not len(done.arena):
        return []
    extras = [dict(zip(world.terms, row, strict=True)) for row in done.terms.T.tolist()]
    named = {f"{OF_AGENT}{name}": returns for name, returns in done.returns.items()}
    named |= {f"{SCORE}{name}": scores for name, scores in zip(world.arena.scores, done.scores, strict=True)}
    for name, values in named.items():
        for episode, value in enumerate(values.tolist()):
            extras[episode][name] = value
    for taught in world.arena.lessons:
        began = taught.steps_at(done.arena, world.one(Clock).episode[done.arena] - 1)
        for extra, step in zip(extras, began.tolist(), strict=True):
            extra[f"{LESSON_STEP}{taught.name}"] = float(step)
    for name, ended in zip(world.reasons, done.reasons, strict=True):
        for episode in np.flatnonzero(ended).tolist():
            extras[episode][f"end/{name}"] = 1.0
    rows = zip(done.total.tolist(), done.length.tolist(), done.terminated.tolist(), extras, strict=True)
    return [EpisodeRecord(total, n, "Terminated" if ended else "Truncated", told) for total, n, ended, told in rows]
