"""The layers that settings come from: a scene's recipe < the run that is resumed < a TOML file < the command line.

A layer is one flat dict of the settings that its source names, those of a table as `ppo.lr`, each of its right type.
What stands above is laid over what stands below by `|`, and all of it over the built-in defaults by `settings_of`.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from ecs_rl.agents.make import AGENTS
from ecs_rl.commands.flags import flags_of
from ecs_rl.commands.settings import AGENTS_TO_COME, TrainSettings
from ecs_rl.errors import CheckpointError, CommandError, EcsRlError, SceneError, nearest, quoted
from ecs_rl.values import fitted, hints_of

T = TypeVar("T")
Layer = dict[str, Any]

_OF_THE_CALL = frozenset(
    {"scene", "agent", "resume", "init_from", "name", "version", "runs", "config", "json", "check", "watch", "inexact"}
)
"""Settings of one call of the command: neither a scene nor an earlier run decides them."""


@dataclass(frozen=True)
class Source:
    """Where values come from: a place for messages ('' for the command line), and what is raised for a bad one."""

    where: str = ""
    error: type[EcsRlError] = CommandError


def settings_of(kind: type[T], layer: Layer) -> T:
    """Return the settings of this class: those in the layer, and the built-in defaults of the others."""
    tables: dict[str, Layer] = {"": {}}
    for name, value in layer.items():
        table, _, own = name.rpartition(".")
        tables.setdefault(table, {})[own] = value
    plain = tables.pop("")
    return kind(**plain, **{name: AGENTS[name](**own) for name, own in tables.items()})


def layer_of(values: Mapping[str, Any], source: Source = Source(), kind: type = TrainSettings) -> Layer:
    """Return values as the types of their settings; one that is unknown or does not fit is told by its name."""
    hints, layer = hints_of(kind), {}
    for key, value in _flat(values, source):
        name = key.replace("-", "_")
        if name not in hints or (source.where and name == "config"):  # a file does not name another file
            known = [each for each in hints if each != "config"]
            near = nearest(key, [each.replace("_", "-") for each in known] if "-" in key else known)
            raise source.error(f"{source.where}: unknown setting '{key}': {near}")
        shown = f"{source.where}: {key}" if source.where else flags_of(kind)[name]
        try:
            if name == "agent":
                refuse_planned(shown, value)
            layer[name] = fitted(shown, value, hints[name])
        except CommandError as error:
            raise source.error(str(error)) from None
    return layer


def refuse_planned(shown: str, agent: Any) -> None:
    """Refuse an algorithm that nothing can train yet."""
    if agent in AGENTS_TO_COME:
        raise CommandError(f"{shown} {agent} is not there yet: use ppo, which learns continuous actions too")
    if ".py:" in str(agent):
        known = ", ".join(AGENTS)
        raise CommandError(f"{shown} {agent}: an algorithm from a file is not there yet: use one of {known}")


def config_layer(path: Path) -> Layer:
    """Return what the TOML file of `--config` names."""
    try:
        values = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise CommandError(f"--config {path}: cannot be read: {error.strerror}") from None
    except RecursionError:
        raise CommandError(f"--config {path}: is nested too deeply: it needs no more than [ppo] and [dqn]") from None
    except ValueError as error:  # not TOML, or not UTF-8
        raise CommandError(f"--config {path}: is not valid TOML: {error}") from None
    return layer_of(values, Source(str(path)))


def recipe_layer(scene: str, recipes: Mapping[str, Mapping[str, Any]], agent: str) -> Layer:
    """Return the scene's recipe for this agent, in which run settings and hyperparameters are mixed."""
    for name in recipes:
        if name not in (*AGENTS, *AGENTS_TO_COME):
            raise SceneError(f"scene '{scene}': unknown agent '{name}': {nearest(name, AGENTS)}")
    where = f"scene '{scene}', recipe for {agent}"
    names = {name.removeprefix(f"{agent}."): name for name in hints_of(TrainSettings)}
    names = {short: name for short, name in names.items() if name not in _OF_THE_CALL and "." not in short}
    recipe = recipes.get(agent, {})
    for name in recipe:
        if name not in names:
            raise SceneError(f"{where}: unknown setting '{name}': {nearest(name, names)}")
    return layer_of({names[name]: value for name, value in recipe.items()}, Source(where, SceneError))


def earlier_layer(config: Mapping[str, Any], agent: str) -> Layer:
    """Return what a resumed run wrote into its `config.json`."""
    lasting = {name for name in hints_of(TrainSettings) if name not in _OF_THE_CALL} | {agent}
    kept = {name: value for name, value in config.items() if name in lasting}
    return layer_of(kept, Source("config.json of the run to resume", CheckpointError))


def _flat(values: Mapping[str, Any], source: Source) -> Iterator[tuple[str, Any]]:
    for key, value in values.items():
        if key not in AGENTS:
            yield key, value
        elif isinstance(value, Mapping):
            yield from ((f"{key}.{name}", each) for name, each in value.items())
        else:
            raise source.error(f"{source.where}: '{key}' must be a table of settings, not {quoted(value)}")
