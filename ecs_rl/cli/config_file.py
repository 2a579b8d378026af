"""The file of `--config`: TOML that somebody wrote, or the `config.json` of a run.

Code that it names runs only if the user has run it before, or the command line names it as well.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import msgspec

from ecs_rl.errors import CommandError, quoted
from ecs_rl.files import MAX_JSON_BYTES, UNREADABLE, opened
from ecs_rl.shipped import scene_names
from ecs_rl.user_files.known import is_known
from ecs_rl.user_files.named import is_reference
from ecs_rl.user_files.sources import read_sources

PROGRAMS = ("agent", "against", "pool_also", "recorder")
"""Settings that may be `FILE.py:NAME`, besides networks."""
OF_A_RUN = ".json"
"""How a file is called that a training wrote."""


def read_config_file(path: Path) -> dict[str, Any]:
    """Return the content of a file of settings, read without waiting for anybody; CommandError if it has none."""
    kind = "JSON" if path.suffix == OF_A_RUN else "TOML"
    try:
        with opened(path, MAX_JSON_BYTES) as (file, size):
            content = file.read(size)
        if kind == "JSON":
            return msgspec.json.decode(content, type=dict[str, Any])
        return tomllib.loads(content.decode())
    except OSError as error:
        raise CommandError(f"--config {path}: cannot be read: {error.strerror}") from None
    except RecursionError:
        raise CommandError(f"--config {path}: is nested too deeply: it needs no more than tables like [ppo]") from None
    except UNREADABLE as error:
        raise CommandError(f"--config {path}: is not valid {kind}: {error}") from None


def refuse_unknown_code(path: Path, config: Mapping[str, Any], given: Collection[str] = ()) -> None:
    """Raise CommandError for a file of code among these settings that this user has never run.

    Settings that the command line has `given` do not count: its own take their place.
    """
    tables = {f"{name}.network": table.get("network") for name, table in config.items() if isinstance(table, Mapping)}
    named = {**{name: config.get(name) for name in ("scene", "network", *PROGRAMS)}, **tables}
    for name, value in named.items():
        flag = name.rpartition(".")[2]
        if not isinstance(value, str) or {name, flag} & set(given):
            continue
        word = f"{value} as SCENE" if name == "scene" else f"--{flag.replace('_', '-')} {value}"
        if name == "scene" and value.startswith("gym:") and ":" in value.removeprefix("gym:"):
            raise CommandError(f"--config {path}: '{value}' imports a module: if you trust that, add {word}")
        for file in filter(_is_unknown, _files_of(value)):
            raise CommandError(f"--config {path}: you have never run {file}: if you trust it, add {word}")


def _files_of(value: str) -> list[Path]:
    """Return the files that a setting may mean: several have commas between them, an opponent its policy in front."""
    texts = [each for part in (value, *value.split(",")) for each in (part, part.partition("=")[2])]
    files = [Path(text.rpartition(":")[0] if is_reference(text) else text) for text in texts]
    return [file for file in files if file.suffix == ".py" and os.path.isfile(file)]


def _is_unknown(file: Path) -> bool:
    try:
        return not is_known(read_sources(file.resolve()).sha256)
    except (OSError, *UNREADABLE, SyntaxError):
        return False  # it cannot be run: whoever loads it says why


def settings_in(config: Mapping[str, Any], names: Collection[str]) -> dict[str, Any]:
    """Return the settings with these names in a run's `config.json`, as they would be written today."""
    settings = {name: value for name, value in config.items() if name in names}
    if settings.get("workers") == 0:  # once the default, for one process
        settings["workers"] = 1
    return settings


def lasting_settings(
    path: Path, config: Mapping[str, Any], lasting: Collection[str], given: Collection[str]
) -> dict[str, Any]:
    """Return what a run's `config.json` says of a training: its scene, its agent, and the settings that are `lasting`.

    A program that it names is not taken from there: it must be among the settings that the command line has `given`.
    """
    agent = str(config.get("agent", ""))
    programs = {"agent": config.get("agent_file", ""), f"{agent}.network": config.get(agent, {}).get("network", "")}
    programs |= {name: config.get(name, "") for name in ("against", "pool_also", "recorder")}
    for name, value in programs.items():
        flag = "network" if name.endswith(".network") else name
        if is_reference(str(value)) and not {name, flag} & set(given):
            reason = f"that run was trained with {quoted(value)}, and a program runs only if the command line names it"
            raise CommandError(f"--config {path}: {reason}: add --{flag.replace('_', '-')} {value}")
    left_out = {name for name, value in programs.items() if is_reference(str(value))}
    settings = settings_in(config, {*lasting, "agent"} - left_out)
    if agent in settings and f"{agent}.network" in left_out:
        settings[agent] = {name: value for name, value in settings[agent].items() if name != "network"}
    if config.get("scene") in scene_names():
        settings["scene"] = config["scene"]
    return settings
