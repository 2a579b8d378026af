"""The command lines of `train.py` and `play.py`, read into settings that need no further checks."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from ecs_rl.commands.called import program
from ecs_rl.commands.flags import print_help, read_flags
from ecs_rl.commands.help import about_playing, about_training
from ecs_rl.commands.layers import (
    Layer,
    config_layer,
    earlier_layer,
    layer_of,
    recipe_layer,
    refuse_planned,
    settings_of,
)
from ecs_rl.commands.settings import PLAY_TO_COME, TRAIN_TO_COME, PlaySettings, TrainSettings
from ecs_rl.errors import CommandError, EcsRlError
from ecs_rl.shipped import scene_names
from ecs_rl.values import LARGEST, parse_count

Recipes = Mapping[str, Mapping[str, Any]]
"""For each agent, run settings and hyperparameters by name: `{"ppo": {"arenas": 32, "steps": "500k", "lr": 3e-3}}`."""
Earlier = Callable[[TrainSettings], Mapping[str, Any]]

_HELP = frozenset({"-h", "--help"})


def parse_train(
    argv: Sequence[str], recipes: Callable[[str], Recipes], earlier: Earlier | None = None
) -> TrainSettings:
    """Return the settings of `train.py`, every one resolved; `--help` prints and exits.

    `recipes` gives for a scene's name its recipe for each agent, the first one for its own. `earlier`, called only for
    `--resume`, is given the settings read so far (which run: `scene`, `name`, `version`, `runs`, `resume`) and returns
    that run's `config.json`.
    """
    if not _HELP.isdisjoint(argv):
        defaults = TrainSettings()
        with suppress(EcsRlError):  # help must always help, whatever else is wrong with the command
            line = _train_flags([token for token in argv if token not in _HELP])
            defaults = settings_of(TrainSettings, _below(line, recipes, None))
        print_help(defaults, program("train"), about_training())
    line = _train_flags(argv)
    settings = settings_of(TrainSettings, _below(line, recipes, earlier) | line)
    if settings.resume is not None and settings.init_from is not None:
        raise CommandError("--resume and --init-from exclude each other: go on with a run, or start one from weights")
    return _finished(settings)


def parse_play(argv: Sequence[str]) -> PlaySettings:
    """Return the settings of `play.py`; `--help` prints and exits."""
    if not _HELP.isdisjoint(argv):
        print_help(PlaySettings(), program("play"), about_playing())
    given = read_flags(PlaySettings, argv, program("play"), PLAY_TO_COME)
    settings = settings_of(PlaySettings, layer_of(given, kind=PlaySettings))
    if settings.seed + settings.episodes > LARGEST:
        raise CommandError(f"--seed and --episodes together must be at most {LARGEST}: every episode has the next seed")
    return replace(
        settings,
        checkpoint=_checkpoint("--checkpoint", settings.checkpoint),
        compare=tuple(
            each if each.endswith(".safetensors") else _checkpoint("--compare", each) for each in settings.compare
        ),
    )


def _train_flags(argv: Sequence[str]) -> Layer:
    return layer_of(read_flags(TrainSettings, argv, program("train"), TRAIN_TO_COME))


def _below(line: Layer, recipes: Callable[[str], Recipes], earlier: Earlier | None) -> Layer:
    """Return what counts where the command line is silent."""
    config = config_layer(line["config"]) if "config" in line else {}
    asked = _finished(settings_of(TrainSettings, config | line))
    _require_scene(asked)
    suggested = recipes(asked.scene)
    resumed = earlier(asked) if earlier and asked.resume is not None else {}
    agent = asked.agent or str(resumed.get("agent", "")) or next(iter(suggested), "ppo")
    refuse_planned("--agent", agent)
    layer = recipe_layer(asked.scene, suggested, agent) | earlier_layer(resumed, agent)
    own = settings_of(TrainSettings, layer)
    layer["schedule_steps"] = own.schedule_steps or own.steps
    return layer | _as_often(own, (config | line).get("arenas", 0)) | config | {"scene": asked.scene, "agent": agent}


def _as_often(own: TrainSettings, arenas: int) -> Layer:
    """Return evaluations and checkpoints as many ticks apart as with the scene's own arenas.

    A recipe counts them in steps; with thirty times the arenas those steps go by in a thirtieth of the time.
    """
    factor = max(1.0, arenas / own.arenas)
    return {name: min(LARGEST, round(getattr(own, name) * factor)) for name in ("eval_every", "checkpoint_every")}


def _require_scene(settings: TrainSettings) -> None:
    if settings.scene:
        return
    hint = f" (--resume took '{settings.resume}' as its run: write SCENE before it)" if settings.resume else ""
    there = ", ".join(scene_names())
    raise CommandError(f"SCENE is missing: name a scene, as in: {program('train')} balance (there is: {there}){hint}")


def _finished(settings: TrainSettings) -> TrainSettings:
    """Fill in what follows from the other settings and from this machine."""
    threads = settings.threads or min(2, _cores())
    schedule = settings.schedule_steps or settings.steps
    return replace(settings, threads=threads, schedule_steps=schedule, name=settings.name or _name_of(settings.scene))


def _cores() -> int:
    """Return how many cores this process may use; only Linux can tell that apart from how many there are."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _name_of(scene: str) -> str:
    """Return a run's name for a scene: `my_scene` for `path/to/my scene.py`, `Pong-v5` for `gym:Pong-v5`."""
    stem = scene.removeprefix("gym:").replace("/", "_") if scene.startswith("gym:") else Path(scene).stem
    return re.sub(r"[^A-Za-z0-9._-]", "_", stem).lstrip("._-")[:64] or "run"


def _checkpoint(flag: str, text: str) -> str:
    """Return `best`, `latest` or the plain digits of a step (`98k` is `98000`)."""
    if text in ("best", "latest"):
        return text
    with suppress(CommandError):
        if (step := parse_count(text)) >= 0:
            return str(step)
    raise CommandError(f"{flag}: there is no checkpoint '{text}': name best, latest or a step like 98304")
