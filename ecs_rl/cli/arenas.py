"""What follows from a number of arenas that is not that of the scene's recipe, where the user says nothing else.

Evaluations and checkpoints stay as many ticks apart; how an algorithm learns follows its own law, `for_arenas`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ecs_rl.agents.config import Settings
from ecs_rl.cli.command_settings import TrainSettings
from ecs_rl.values import LARGEST

FOLLOWS = ("minibatch", "lr")
"""Settings that follow from others by a law."""


def learning_for_arenas(own: TrainSettings, agent: str, over: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings that the algorithm's law gives for the arenas in `over`; `own` are the recipe's settings.

    `over` holds what the user gave. It counts more, and the other settings follow from it.
    """
    config = getattr(own, agent)
    if not isinstance(config, Settings):
        return {}
    given = {name.removeprefix(f"{agent}."): value for name, value in over.items() if name.startswith(f"{agent}.")}
    learning, growth = config.for_arenas(over.get("arenas", own.arenas) / own.arenas, given)
    layer = {f"{agent}.{name}": value for name, value in learning.items()}
    if growth != 1.0:
        layer["steps"] = min(LARGEST, round(own.steps * growth))
        layer["schedule_steps"] = min(LARGEST, round(own.steps_of_schedules * growth))
    return layer


def intervals_for_arenas(own: TrainSettings, arenas: int) -> dict[str, Any]:
    """Return evaluations and checkpoints as many ticks apart as with the recipe's own arenas.

    A recipe counts them in steps; with thirty times the arenas those steps go by in a thirtieth of the time.
    """
    factor = max(1.0, arenas / own.arenas)
    return {name: min(LARGEST, round(getattr(own, name) * factor)) for name in ("eval_every", "checkpoint_every")}


def arenas_in_words(recipe: TrainSettings, settings: TrainSettings) -> str:
    """Return what the law has changed in the settings of a training, "" for nothing."""
    agent = settings.agent
    config = getattr(settings, agent)
    if not isinstance(config, Settings):
        return ""
    used = {f"{agent}.{name}": value for name, value in vars(config).items() if name not in FOLLOWS}
    changes = []
    for name, value in learning_for_arenas(recipe, agent, {"arenas": settings.arenas, **used}).items():
        table, _, own = name.rpartition(".")
        before, now = (getattr(getattr(each, table) if table else each, own) for each in (recipe, settings))
        if value == now != before and name != "schedule_steps":
            changes.append(f"{own} {now:,} instead of {before:,}")
    return f"{settings.arenas:,} arenas instead of {recipe.arenas:,}: {', '.join(changes)}" if changes else ""
