"""What lies between the built-in defaults and the command line: a scene's recipe, a run's own settings, a TOML file."""

from __future__ import annotations

import tomllib
from collections.abc import Collection, Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from pathlib import Path
from typing import Any, Literal, TypeVar, cast, get_args, get_origin, get_type_hints

import msgspec

from ecs_rl.commands.limits import check_settings
from ecs_rl.commands.numbers import parse_count
from ecs_rl.commands.settings import AGENTS, AGENTS_TO_COME, SceneDefaults, TrainSettings
from ecs_rl.errors import CheckpointError, CommandError, EcsRlError, SceneError, nearest, quoted

T = TypeVar("T")

_OF_THE_CALL = frozenset(
    {"scene", "agent", "resume", "init_from", "name", "version", "runs", "config", "json", "check", "watch", "inexact"}
)
"""Settings of one call of the command: neither a scene nor an earlier run decides them."""


@dataclass(frozen=True)
class Source:
    """Where a layer of settings comes from, for its error messages."""

    where: str
    error: type[EcsRlError] = CommandError
    closed: Collection[str] = ()
    """Names that are settings, but not for this source."""


def overlay(settings: T, values: Mapping[str, Any], source: Source, prefix: str = "") -> T:
    """Return the settings with these values, each one of the right type and in its range."""
    hints = get_type_hints(type(settings))
    known = [name for name in hints if name not in source.closed]
    changes: dict[str, Any] = {}
    for key, value in values.items():
        name = key.replace("-", "_")
        if name not in known:
            raise source.error(f"{source.where}: unknown setting '{prefix}{key}': {_nearest(key, known)}")
        table = getattr(settings, name)
        if is_dataclass(table):
            changes[name] = overlay(table, _as_table(value, key, source), source, f"{prefix}{key}.")
        else:
            changes[name] = _fit(value, hints[name], prefix + key, source)
    try:
        changed = cast(T, replace(cast(Any, settings), **changes))  # an algorithm's settings check themselves
    except CommandError as error:
        raise source.error(f"{source.where}: {error}") from None
    if isinstance(changed, TrainSettings):
        check_settings(changed, lambda name: f"{source.where}: {name}", source.error)
    return changed


def read_config(path: Path) -> dict[str, Any]:
    """Return the TOML file of `--config` as it stands; its keys are checked when they are laid over the settings."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise CommandError(f"--config {path}: cannot be read: {error.strerror}") from None
    except RecursionError:
        raise CommandError(f"--config {path}: is nested too deeply: it needs no more than [ppo] and [dqn]") from None
    except ValueError as error:  # not TOML, or not UTF-8
        raise CommandError(f"--config {path}: is not valid TOML: {error}") from None


def with_config(settings: TrainSettings, values: Mapping[str, Any], path: Path | None) -> TrainSettings:
    """Return the settings with those of the `--config` file over them."""
    return overlay(settings, values, Source(str(path), closed=("config",)))


def with_recipe(settings: TrainSettings, scene: str, defaults: SceneDefaults, agent: str) -> TrainSettings:
    """Return the settings with the scene's recipe for this agent, run settings and hyperparameters mixed, over them."""
    where = f"scene '{scene}'"
    for name in (defaults.agent, *defaults.recipes):
        if name not in (*AGENTS, *AGENTS_TO_COME):
            raise SceneError(f"{where}: unknown agent '{name}': {nearest(name, AGENTS)}")
    table = getattr(settings, agent, None)
    own = [each.name for each in fields(table)] if table is not None else []
    shared = [n for n in _plain_names(settings) if n not in _OF_THE_CALL]
    nested: dict[str, Any] = {}
    for name, value in defaults.recipes.get(agent, {}).items():
        if name not in own and name not in shared:
            raise SceneError(f"{where}, recipe for {agent}: unknown setting '{name}': {nearest(name, own + shared)}")
        (nested.setdefault(agent, {}) if name in own else nested)[name] = value
    return overlay(settings, nested, Source(f"{where}, recipe for {agent}", SceneError))


def with_earlier(settings: TrainSettings, earlier: Mapping[str, Any], agent: str) -> TrainSettings:
    """Return the settings with those a resumed run wrote into its `config.json` over them."""
    lasting = [n for n in _plain_names(settings) if n not in _OF_THE_CALL]
    kept = {name: value for name, value in earlier.items() if name in (*lasting, agent)}
    return overlay(settings, kept, Source("config.json of the run to resume", CheckpointError))


def _plain_names(settings: TrainSettings) -> list[str]:
    return [each.name for each in fields(settings) if not is_dataclass(getattr(settings, each.name))]


def _as_table(value: Any, key: str, source: Source) -> Mapping[str, Any]:
    if isinstance(value, Mapping):
        return value
    raise source.error(f"{source.where}: '{key}' must be a table of settings, not {quoted(value)}")


def _nearest(key: str, known: Collection[str]) -> str:
    return nearest(key, [name.replace("_", "-") for name in known] if "-" in key else known)


def _fit(value: Any, kind: Any, key: str, source: Source) -> Any:
    """Return the value as its setting's type; a count may be written as text, as on the command line."""
    try:
        if kind is int and isinstance(value, str):
            return parse_count(value)
        if kind is int and isinstance(value, float) and value.is_integer():
            return int(value)
        return msgspec.convert(value, kind, dec_hook=lambda path, text: path(text))
    except CommandError as error:
        raise source.error(f"{source.where}: {key}: {error}") from None
    except (msgspec.ValidationError, TypeError):
        raise source.error(f"{source.where}: {key} must be {_in_words(kind)}, not {quoted(value)}") from None


def _in_words(kind: Any) -> str:
    if get_origin(kind) is Literal:
        return " or ".join(get_args(kind))
    names = {
        int: "a whole number",
        float: "a number",
        bool: "true or false",
        tuple[int, ...]: "a list of whole numbers",
    }
    return names.get(kind, "text")
