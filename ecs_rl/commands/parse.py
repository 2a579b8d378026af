"""The command lines of `train.py` and `play.py`, read into settings that need no further checks.

What counts, first to last: the command line, the `--config` file, the settings of the run that is resumed, the
scene's recipe for the chosen agent, the built-in defaults.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, NoReturn

from ecs_rl.commands.called import program
from ecs_rl.commands.flags import read_flags
from ecs_rl.commands.help import about_playing, about_training
from ecs_rl.commands.layers import read_config, with_config, with_earlier, with_recipe
from ecs_rl.commands.limits import check_settings
from ecs_rl.commands.numbers import LARGEST, parse_count
from ecs_rl.commands.settings import PLAY_TO_COME, TRAIN_TO_COME, PlaySettings, SceneDefaults, TrainSettings
from ecs_rl.errors import CommandError, EcsRlError
from ecs_rl.shipped import scene_names

Recipes = Callable[[str], SceneDefaults]
Earlier = Callable[[TrainSettings], Mapping[str, Any]]

_HELP = frozenset({"-h", "--help"})


def parse_train(argv: Sequence[str], recipes: Recipes, earlier: Earlier | None = None) -> TrainSettings:
    """Return the settings of `train.py`, every one resolved; `--help` prints and exits.

    `recipes` loads what the scene of this name suggests. `earlier`, called only for `--resume`, is given the settings
    read so far (which run: `scene`, `name`, `version`, `runs`, `resume`) and returns that run's `config.json`.
    """
    if not _HELP.isdisjoint(argv):
        _help_train([token for token in argv if token not in _HELP], recipes)
    settings = _finished(_read(_defaults(argv, recipes, earlier), argv))
    check_settings(settings, _flag)
    if settings.resume is not None and settings.init_from is not None:
        raise CommandError("--resume and --init-from exclude each other: go on with a run, or start one from weights")
    return settings


def parse_play(argv: Sequence[str]) -> PlaySettings:
    """Return the settings of `play.py`; `--help` prints and exits."""
    settings = read_flags(PlaySettings(), argv, program("play"), PLAY_TO_COME, about_playing())
    check_settings(settings, _flag)
    if settings.seed + settings.episodes > LARGEST:
        raise CommandError(f"--seed and --episodes together must be at most {LARGEST}: every episode has the next seed")
    return replace(
        settings,
        checkpoint=_checkpoint("--checkpoint", settings.checkpoint),
        compare=tuple(
            each if each.endswith(".safetensors") else _checkpoint("--compare", each) for each in settings.compare
        ),
    )


def _help_train(argv: Sequence[str], recipes: Recipes) -> NoReturn:
    """Print the help and exit, with the defaults of the scene if one is named."""
    try:
        defaults = _defaults(argv, recipes, None)
    except EcsRlError:
        defaults = TrainSettings()  # help must always help, whatever else is wrong with the command
    _read(defaults, ["--help"])
    raise AssertionError("--help exits")


def _read(settings: TrainSettings, argv: Sequence[str]) -> TrainSettings:
    """Return the settings changed by the flags of `train.py`."""
    about = about_training() if "--help" in argv else ""
    return read_flags(settings, argv, program("train"), TRAIN_TO_COME, about)


def _defaults(argv: Sequence[str], recipes: Recipes, earlier: Earlier | None) -> TrainSettings:
    """Return what counts where the command line is silent; to learn that, the command line is read once before."""
    asked = _read(TrainSettings(), argv)
    config = read_config(asked.config) if asked.config else {}
    if config:
        asked = _read(with_config(TrainSettings(), config, asked.config), argv)
    check_settings(asked, _flag)
    _require_scene(asked)
    suggested = recipes(asked.scene)
    resumed = earlier(_finished(asked)) if earlier and asked.resume is not None else {}
    agent = asked.agent or str(resumed.get("agent", "")) or suggested.agent
    settings = with_recipe(TrainSettings(), asked.scene, suggested, agent)
    settings = with_earlier(settings, resumed, agent)
    if not settings.schedule_steps:
        settings = replace(settings, schedule_steps=settings.steps)
    arenas = _read(with_config(settings, config, asked.config), argv).arenas
    settings = with_config(_as_often(settings, arenas), config, asked.config)
    return replace(settings, scene=asked.scene, agent=agent)


def _as_often(settings: TrainSettings, arenas: int) -> TrainSettings:
    """Return the settings with evaluations and checkpoints as many ticks apart as with the scene's own arenas.

    A recipe counts them in steps; with thirty times the arenas those steps go by in a thirtieth of the time.
    """
    factor = arenas / settings.arenas
    if factor <= 1.0:
        return settings
    return replace(
        settings,
        eval_every=round(settings.eval_every * factor),
        checkpoint_every=round(settings.checkpoint_every * factor),
    )


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


def _flag(name: str) -> str:
    """Return how a setting is written on the command line."""
    return name.upper() if name in ("scene", "target") else "--" + name.replace("_", "-")
