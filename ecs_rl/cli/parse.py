"""The command lines of `train.py` and `play.py`, read into settings that need no further checks.

Settings come in layers: a scene's recipe < the run that is resumed < a TOML file < the command line. A layer is a flat
dict of the settings that its source names, those of a table as `ppo.lr`, each of its right type. What counts more is
laid over what counts less by `|`, and all of it over the built-in defaults by `_settings_of`.
"""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any, NoReturn, TypeVar

from ecs_rl.agents.make import AGENTS, USUAL, Algorithm
from ecs_rl.agents.own import load_algorithm
from ecs_rl.cli.arenas import arenas_in_words, intervals_for_arenas, learning_for_arenas
from ecs_rl.cli.called import program
from ecs_rl.cli.command_settings import (
    PILOT,
    RANDOM,
    PlaySettings,
    TrainSettings,
    algorithms_of,
    is_checkpoint_name,
    settings_with,
)
from ecs_rl.cli.config_file import OF_A_RUN, lasting_settings, read_config_file, refuse_unknown_code, settings_in
from ecs_rl.cli.flags import flags_of, print_help, read_flags
from ecs_rl.cli.help_texts import about_playing, about_training
from ecs_rl.errors import CheckpointError, CommandError, EcsRlError, SceneError, nearest, quoted
from ecs_rl.milestones import usual_eval_every
from ecs_rl.shipped import scene_names
from ecs_rl.training.settings import TrainingSettings
from ecs_rl.user_files.named import is_reference
from ecs_rl.values import LARGEST, fitted, hints_of, nearest_setting, parse_count

T = TypeVar("T")
Layer = dict[str, Any]
Recipes = Mapping[str, Mapping[str, Any]]
"""For each agent, run settings and hyperparameters by name: `{"ppo": {"arenas": 32, "steps": "500k", "lr": 3e-3}}`.

Those of a scene that was loaded know its `max_ticks`, by which the usual `eval_every` goes.
"""
Earlier = Callable[[TrainSettings], Mapping[str, Any]]

_HELP = frozenset({"-h", "--help"})
_OF_THE_CALL = (
    frozenset(name for name in hints_of(TrainSettings) if "." not in name) - hints_of(TrainingSettings).keys()
)
"""Settings of one call of the command: neither a scene nor an earlier run decides them, as they do the others."""
_UNTIL = ("steps", "solved")


def refuse_what_is_no_text(argv: Sequence[str]) -> None:
    """Refuse names that cannot go into a run's files, all of which are UTF-8."""
    for word in argv:
        try:
            word.encode()
        except UnicodeEncodeError:
            readable = word.encode(errors="backslashreplace").decode()
            raise CommandError(f"'{readable}' is not text in this locale: rename it, or set LC_ALL=C.UTF-8") from None


def asks_for_help(argv: Sequence[str]) -> bool:
    """Return whether a command asks for its help, whatever else it says."""
    return not _HELP.isdisjoint(argv)


def print_train_help(
    argv: Sequence[str], recipes: Callable[[str], Recipes], kind: type[TrainSettings] = TrainSettings
) -> NoReturn:
    """Print the help of `train.py` with the defaults of the scene that is named, if one is, and exit."""
    defaults, argv = kind(), [token for token in argv if token not in _HELP]
    with suppress(EcsRlError):  # help must always help, whatever else is wrong with the command
        kind = _kind_named(argv, kind)
        defaults = kind()
        kind, below = _below(kind, _train_flags(argv, kind), recipes, None)
        defaults = _settings_of(kind, below)
    print_help(defaults, program("train"), about_training())


def parse_train(
    argv: Sequence[str],
    recipes: Callable[[str], Recipes],
    earlier: Earlier | None = None,
    over: Mapping[str, Any] | None = None,
    *,
    kind: type[TrainSettings] = TrainSettings,
) -> TrainSettings:
    """Return the settings of `train.py`, every one resolved; `--help` prints and exits. `over` counts more than a flag.

    `recipes` gives for a scene's name its recipe for each agent, the first one for its own. `earlier`, called only for
    `--resume`, is given the settings read so far (which run: `scene`, `name`, `version`, `runs`, `resume`) and returns
    that run's `config.json`. The fields of `kind` are the settings.
    """
    if asks_for_help(argv):
        print_train_help(argv, recipes, kind)
    kind = _kind_named(argv, kind)
    line = _train_flags(argv, kind) | _layer_of(over or {}, kind)
    if line.get("arenas_per_worker"):
        if "arenas" in line:
            raise CommandError("--arenas and --arenas-per-worker exclude each other: leave one of them out")
        line["arenas"] = line["arenas_per_worker"] * line.get("workers", 1)
    _refuse_for_data(line)
    kind, below = _below(kind, line, recipes, earlier)
    settings = _settings_of(kind, below | line)
    if settings.resume is not None and settings.init_from is not None and not settings.sweep:
        raise CommandError("--resume and --init-from exclude each other: go on with a run, or start one from weights")
    if not settings.sweep:
        _refuse_for_seeds(settings)
    if over is None and not any(text.startswith("agent=") for text in settings.sweep):
        _refuse_another_agents(settings, line)
    return _finished(_with_network(settings, line))


def _refuse_for_data(line: Layer) -> None:
    """Refuse flags that make no sense beside those that name recorded data."""
    starts = {"--imitate": "imitating is how a new run starts", "--remember": "a run keeps what it remembers"}
    for flag, reason in starts.items():
        # A sweep that goes on resumes runs and begins others.
        if line.get("resume") is not None and line.get(flag[2:]) is not None and not line.get("sweep"):
            raise CommandError(f"--resume and {flag} exclude each other: {reason}")
    filled = [flag for flag in ("--remember", "--imitate", "--offline", "--minari") if line.get(flag[2:])]
    if "--remember" in filled and len(filled) > 1:
        raise CommandError(f"--remember and {filled[1]} both fill the memory: leave one of them out")
    data = [flag for flag in ("--offline", "--minari") if flag in filled]
    if len(data) > 1:
        raise CommandError("--offline and --minari exclude each other: learn from one of them")
    several = line.get("workers", 1) > 1
    if "--remember" in filled and several:
        raise CommandError("--remember is for a training of one process: leave --workers out")
    for flag, is_on in (("--workers", several), ("--self-play", line.get("self_play", False))):
        if data and is_on:
            raise CommandError(f"{data[0]} learns from data in one process, without acting: leave {flag} out")


def difference_from_recipe(settings: TrainSettings, recipes: Recipes) -> str:
    """Return in words how a training in more or fewer arenas than the scene's recipe learns, "" if it learns alike."""
    layer = _recipe_layer(type(settings), settings.scene, recipes, settings.agent)
    return arenas_in_words(_settings_of(type(settings), layer), settings)


def _with_network(settings: TrainSettings, line: Layer) -> TrainSettings:
    """Hand the network that was named to the algorithm; `network` stays what the command named, by either flag."""
    own = f"{settings.agent}.network"
    named = settings.network if "network" in line or own not in line else line[own]
    if not named:
        return settings
    table = getattr(settings, settings.agent)
    if not hasattr(table, "network"):
        raise CommandError(
            f"--network {named}: {settings.agent} learns with a perceptron: leave it out, or take {USUAL}"
        )
    return replace(settings, network=named, **{settings.agent: replace(table, network=named)})


def _refuse_another_agents(settings: TrainSettings, line: Layer) -> None:
    """Refuse a flag of an algorithm that does not learn: it would be without effect."""
    for name in line:
        table, _, own = name.rpartition(".")
        if table not in ("", settings.agent):
            flags = flags_of(type(settings))
            same = flags.get(f"{settings.agent}.{own}")
            remedy = f"leave it out, or write {same}" if same else "leave it out"
            raise CommandError(f"{flags[name]} is a setting of {table}, and {settings.agent} learns: {remedy}")


def _refuse_for_seeds(settings: TrainSettings) -> None:
    """Refuse what makes no sense for several runs at once."""
    if not settings.seeds:
        return
    if settings.watch:
        raise CommandError("--watch shows one training: leave out --seeds, or --watch, and see them later with play.py")
    if settings.check:
        raise CommandError("--check trains nothing: leave out --seeds")
    if settings.seed + settings.seeds > LARGEST:
        raise CommandError(f"--seed and --seeds together must be at most {LARGEST}: every run has the next seed")


def parse_play(argv: Sequence[str]) -> PlaySettings:
    """Return the settings of `play.py`; `--help` prints and exits."""
    if asks_for_help(argv):
        print_help(PlaySettings(), program("play"), about_playing())
    given = read_flags(PlaySettings, argv, program("play"))
    settings = _settings_of(PlaySettings, _layer_of(given, PlaySettings))
    if settings.seed + settings.episodes > LARGEST:
        raise CommandError(f"--seed and --episodes together must be at most {LARGEST}: every episode has the next seed")
    if settings.pilot and settings.checkpoint not in ("best", PILOT):
        raise CommandError(f"--pilot and --checkpoint {settings.checkpoint} exclude each other: leave one of them out")
    return replace(
        settings,
        checkpoint=PILOT if settings.pilot else _checkpoint("--checkpoint", settings.checkpoint),
        compare=tuple(_checkpoint("--compare", each, or_run=True) for each in settings.compare),
    )


def _kind_named(argv: Sequence[str], kind: type[TrainSettings]) -> type[TrainSettings]:
    """Return `kind`, with the settings of a user's own algorithm if the flags or their file name one.

    That must be known before the flags can be read, for its settings are flags.
    """
    path, text = _value_of("--config", argv), _value_of("--agent", argv) or ""
    if path and not is_reference(text):
        text = str(read_config_file(Path(path)).get("agent", ""))
        refuse_unknown_code(Path(path), {"agent": text})
    return settings_with(load_algorithm(text), kind) if is_reference(text) else kind


def _value_of(flag: str, argv: Sequence[str]) -> str | None:
    """Return what stands behind a flag the last time."""
    last = None
    for token, following in pairwise((*argv, "")):
        name, equals, value = token.partition("=")
        if name == flag:
            last = value if equals else following
    return last


def _train_flags(argv: Sequence[str], kind: type[TrainSettings]) -> Layer:
    return _layer_of(read_flags(kind, argv, program("train")), kind)


def _below(
    kind: type[TrainSettings], line: Layer, recipes: Callable[[str], Recipes], earlier: Earlier | None
) -> tuple[type[TrainSettings], Layer]:
    """Return what counts where the command line is silent; of a run to resume the algorithm comes with it."""
    config = _config_layer(kind, line)
    named = _finished(_settings_of(kind, config | line))
    _require_scene(named)
    suggested = recipes(named.scene)
    resumed = dict(earlier(named)) if earlier and named.resume is not None else {}
    own = resumed.get("agent")
    if isinstance(own, Algorithm):
        resumed["agent"] = own.name
        kind = kind if own.name in kind.algorithms else settings_with(own, kind)
    agent = named.agent or str(resumed.get("agent", "")) or next(iter(suggested), USUAL)
    layer = _recipe_layer(kind, named.scene, suggested, agent) | _earlier_layer(kind, resumed, agent)
    over = config | line
    layer |= learning_for_arenas(_settings_of(kind, layer), agent, over)
    usual = _settings_of(kind, layer)
    layer["schedule_steps"] = usual.steps_of_schedules
    if "eval_every" not in layer:
        episodes = over.get("eval_episodes", usual.eval_episodes)
        every = usual_eval_every(getattr(suggested, "max_ticks", 0), episodes, layer["schedule_steps"])
        usual = replace(usual, eval_every=every)
    layer |= intervals_for_arenas(usual, over.get("arenas", 0)) | config | {"scene": named.scene, "agent": agent}
    return kind, layer


def _require_scene(settings: TrainSettings) -> None:
    if settings.scene:
        return
    hint = f" (--resume took '{settings.resume}' as its run: write SCENE before it)" if settings.resume else ""
    there = ", ".join(scene_names())
    raise CommandError(f"SCENE is missing: name a scene, as in: {program('train')} balance (there is: {there}){hint}")


def _finished(settings: TrainSettings) -> TrainSettings:
    """Fill in what follows from the other settings and from this machine."""
    most = 1 if settings.sweep else cores() // (settings.seeds or 1)
    threads = settings.threads or max(1, min(2, most))
    schedule = settings.schedule_steps or settings.steps
    return replace(
        settings, threads=threads, schedule_steps=schedule, name=settings.name or name_of_run(settings.scene)
    )


def cores() -> int:
    """Return how many cores this process may use; only Linux can tell that apart from how many there are."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def name_of_run(scene: str) -> str:
    """Return a run's name for a scene: `my_scene` for `path/to/my scene.py`, `Pong-v5` for `gym:Pong-v5`."""
    stem = scene.removeprefix("gym:").replace("/", "_") if scene.startswith("gym:") else Path(scene).stem
    return re.sub(r"[^A-Za-z0-9._-]", "_", stem).lstrip("._-")[:64] or "run"


def _checkpoint(flag: str, text: str, *, or_run: bool = False) -> str:
    """Return the name of a checkpoint, of a step its plain digits (`98k` is `98000`), or also a run's name."""
    if is_checkpoint_name(text) or (text == RANDOM and not or_run):
        return text
    with suppress(CommandError):
        if (step := parse_count(text)) >= 0:
            return str(step)
    if or_run:
        return text
    raise CommandError(
        f"{flag}: there is no checkpoint '{text}': name best, latest, pilot, random or a step like 98304"
    )


def _settings_of(kind: type[T], layer: Layer) -> T:
    """Return the settings of this class: those in the layer, and the built-in defaults of the others."""
    tables: dict[str, Layer] = {"": {}}
    for name, value in layer.items():
        table, _, own = name.rpartition(".")
        tables.setdefault(table, {})[own] = value
    plain = tables.pop("")
    return kind(**plain, **{name: algorithms_of(kind)[name].settings(own) for name, own in tables.items()})


def _layer_of(values: Mapping[str, Any], kind: type, where: str = "", error: type[EcsRlError] = CommandError) -> Layer:
    """Return values as the types of their settings; one that is unknown or does not fit is told by its name.

    `where` is the place that messages name, '' for the command line.
    """
    hints, layer = hints_of(kind), {}
    algorithms = algorithms_of(kind)
    for key, value in _flat(values, algorithms):
        name = key.replace("-", "_")
        if name in algorithms:
            raise error(f"{where}: '{name}' must be a table of settings, not {quoted(value)}")
        if name not in hints or (where and name == "config"):  # a file does not name another file
            known = [each for each in hints if each != "config"]
            near = nearest_setting(key, [each.replace("_", "-") for each in known] if "-" in key else known)
            raise error(f"{where}: unknown setting '{key}': {near}")
        label = f"{where}: {key}" if where else flags_of(kind)[name]
        try:
            layer[name] = fitted(label, value, hints[name])
            if name == "agent" and algorithms:
                layer[name] = _agent_named(label, layer[name], algorithms)
        except CommandError as refused:
            raise error(str(refused)) from None
    if layer.get("until") in _UNTIL:  # `solved` is another word for a switch, and `steps` takes that back
        layer = {"until_solved": layer["until"] == "solved"} | layer | {"until": "steps"}
    return layer


def _flat(values: Mapping[str, Any], algorithms: Collection[str]) -> Iterator[tuple[str, Any]]:
    for key, value in values.items():
        if key in algorithms and isinstance(value, Mapping):
            yield from ((f"{key}.{name}", each) for name, each in value.items())
        else:
            yield key, value


def _agent_named(label: str, text: str, algorithms: Mapping[str, Algorithm]) -> str:
    """Return the name of an algorithm that is named by it, or by its file."""
    if is_reference(text):
        # The one that was loaded for the flags; there can be another only in a file below a command line with its own.
        return next((name for name, each in algorithms.items() if each.reference), text)
    if text and text not in AGENTS:
        close = difflib.get_close_matches(text, AGENTS, n=1, cutoff=0.5)
        hint = f"did you mean '{close[0]}'?" if close else "one of your own is named as FILE.py:CLASS"
        raise CommandError(f"{label} must be {' or '.join(AGENTS)}, not {quoted(text)}: {hint}")
    return text


def _config_layer(kind: type[TrainSettings], line: Layer) -> Layer:
    """Return what the file of `--config` names, nothing without one."""
    if "config" not in line:
        return {}
    path = line["config"]
    values = read_config_file(path)
    refuse_unknown_code(path, values, line)
    if path.suffix == OF_A_RUN:
        values = lasting_settings(path, values, _lasting(kind), line)
    return _layer_of(values, kind, where=str(path))


def _recipe_layer(kind: type[TrainSettings], scene: str, recipes: Recipes, agent: str) -> Layer:
    """Return the scene's recipe for this agent, in which run settings and hyperparameters are mixed.

    Other names may be those of algorithms that this command does not know, unless the one that it needs is missing.
    """
    unknown = [name for name in recipes if name not in kind.algorithms]
    close = difflib.get_close_matches(agent, unknown, n=1, cutoff=0.5) if agent not in recipes else []
    if agent in unknown or close:
        name = agent if agent in unknown else close[0]
        problem = f"{nearest(name, AGENTS)} One of your own is trained with --agent FILE.py:CLASS"
        raise SceneError(f"scene '{scene}': unknown agent '{name}': {problem}")
    where = f"scene '{scene}', recipe for {agent}"
    names = {name.removeprefix(f"{agent}."): name for name in hints_of(kind)}
    names = {short: name for short, name in names.items() if name not in _OF_THE_CALL and "." not in short}
    recipe = recipes.get(agent, {})
    for name in recipe:
        if name not in names:
            raise SceneError(f"{where}: unknown setting '{name}': {nearest_setting(name, names)}")
    return _layer_of({names[name]: value for name, value in recipe.items()}, kind, where, SceneError)


def _earlier_layer(kind: type[TrainSettings], config: Mapping[str, Any], agent: str) -> Layer:
    """Return what a resumed run wrote into its `config.json`."""
    names = _lasting(kind) - {*kind.algorithms} | {agent}
    return _layer_of(settings_in(config, names), kind, "config.json of the run to resume", CheckpointError)


def _lasting(kind: type[TrainSettings]) -> set[str]:
    """Return the names of the settings and tables that belong to a training, and not to one call of the command."""
    return {name for name in hints_of(kind) if name not in _OF_THE_CALL} | {*kind.algorithms}
