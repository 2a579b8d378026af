"""The file of `--config`: TOML that somebody wrote, or the `config.json` of a run. Nothing that it names is run."""

from __future__ import annotations

import tomllib
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import msgspec

from ecs_rl.errors import CommandError, quoted
from ecs_rl.from_file import is_reference
from ecs_rl.runs.files import MAX_JSON_BYTES, UNREADABLE, opened
from ecs_rl.shipped import scene_names

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


def settings_in(config: Mapping[str, Any], names: Collection[str]) -> dict[str, Any]:
    """Return the settings with these names in a run's `config.json`, as they would be written today."""
    found = {name: value for name, value in config.items() if name in names}
    if found.get("workers") == 0:  # once the default, for one process
        found["workers"] = 1
    return found


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
    found = settings_in(config, {*lasting, "agent"} - left_out)
    if agent in found and f"{agent}.network" in left_out:
        found[agent] = {name: value for name, value in found[agent].items() if name != "network"}
    if config.get("scene") in scene_names():
        found["scene"] = config["scene"]
    return found
