"""Finds a checkpoint and reads its policies: by hand, so that a game that plays them needs nothing but numpy."""

from __future__ import annotations

import hashlib
import json
import math
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ecs_rl.agents.policy_heads import EARLIER, HEADS
from ecs_rl.errors import CheckpointError, CommandError, nearest, quoted
from ecs_rl.shipped import pilot_file
from ecs_rl.spaces import ActionSpace, Composed, Continuous, Discrete, Members, Picture, PolicySpec

SCHEMA = 1
NETWORKS = ("mlp", "gru", "conv", "attention")
NOTHING: tuple[str, dict[str, Any]] = ("", {})
_SEAL = b'\\"sha256\\":\\"'
_SEALED = 64
MALFORMED = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError)
"""What values of other types or sizes than were written may raise."""
_DTYPES = {"F32": "<f4", "F64": "<f8", "I64": "<i8", "I32": "<i4", "U8": "u1", "BOOL": "?"}

Tensors = dict[str, NDArray[Any]]


@dataclass(frozen=True)
class SavedPolicy:
    """One policy of a checkpoint: what it sees and does, how its networks are made, and their parameters."""

    path: Path
    spec: PolicySpec
    agent: str
    config: dict[str, Any]
    """The settings of its algorithm, as they stand in the checkpoint."""
    tensors: Tensors
    scene: str
    step: int

    def setting(self, name: str) -> Any:
        """Return a setting that acting needs, that of older versions where the checkpoint does not say it."""
        return self.config.get(name, EARLIER.get(self.agent, NOTHING)[1].get(name))

    @property
    def head(self) -> str:
        """How the network's outputs become actions."""
        return self.spec.head or EARLIER.get(self.agent, NOTHING)[0]


def checkpoint_at(source: str | Path, checkpoint: str, runs: str | Path) -> Path:
    """Return the checkpoint file that is meant: a file, one of a run, or a pilot that comes with the project."""
    path = Path(source)
    if path.suffix == ".safetensors":
        if not path.is_file():
            raise CommandError(f"there is no checkpoint file {path}: check the path")
        return path
    name = checkpoint if checkpoint in ("best", "latest") or checkpoint.startswith("best_") else f"step_{checkpoint}"
    inside = Path("checkpoints") / f"{name}.safetensors"
    if (path / inside).is_file():
        return path / inside
    shipped = pilot_file(str(source))
    if shipped is not None and not (Path(runs) / source).is_dir() and not path.is_dir():
        return shipped
    from ecs_rl.runs.layout import find_run  # which reads metadata: a file or the very directory needs none of that

    run = find_run(str(source), runs)
    for skipped in run.skipped:
        warnings.warn(skipped, stacklevel=4)
    latest = run.path / inside.with_stem("latest")
    if checkpoint == "best" and not (run.path / inside).is_file() and latest.is_file():
        warnings.warn(f"{run.path} has no best policy, as nothing was evaluated: this is its latest", stacklevel=4)
        return latest
    if not (run.path / inside).is_file():
        there = sorted(each.stem.removeprefix("step_") for each in (run.path / "checkpoints").glob("*.safetensors"))
        raise CheckpointError(f"{run.path} has no checkpoint '{checkpoint}': name one of {', '.join(there)}")
    return run.path / inside


def saved_policies(path: Path) -> list[SavedPolicy]:
    """Return the policies of a checkpoint file; CheckpointError unless every bit of it is as it was written."""
    try:
        manifest, tensors = _read(path)
        specs = [_spec(entry) for entry in manifest["policies"]]
        agent, step = str(manifest["agent"]), int(manifest["step"])
        config, scene = dict(manifest["config"]), str(manifest["scene"])
    except OSError as error:
        raise CheckpointError(f"cannot read checkpoint {path}: {error.strerror or error}; check the path") from error
    except MALFORMED as error:
        reason = f"{error} is missing" if isinstance(error, KeyError) else error
        raise CheckpointError(
            f"checkpoint {path} is damaged: {reason}; "
            "use another checkpoint of the run, or restore this file from a copy"
        ) from error
    _refuse_unknown(path, agent, config, specs)
    policies = []
    for spec in specs:
        start = f"policy/{spec.name}/" if len(specs) > 1 else "policy/"
        own = {name.removeprefix(start): tensor for name, tensor in tensors.items() if name.startswith(start)}
        policies.append(SavedPolicy(path, spec, agent, dict(config[agent]), own, scene, step))
    return policies


def named(policies: list[SavedPolicy], name: str) -> SavedPolicy:
    """Return the policy with this name, the only one without; CommandError otherwise."""
    by_name = {each.spec.name: each for each in policies}
    if not name and len(policies) == 1:
        return policies[0]
    if not name:
        names = ", ".join(by_name)
        raise CommandError(f"{policies[0].path} has several policies: choose one with policy=NAME (there is: {names})")
    if name not in by_name:
        raise CommandError(f"{policies[0].path} has no policy {quoted(name)}: {nearest(name, by_name)}")
    return by_name[name]


def _refuse_unknown(path: Path, agent: str, config: dict[str, Any], specs: list[PolicySpec]) -> None:
    """Refuse what somebody's own program made, which only that program can bring back, and what does not say enough."""
    play = "it plays with play.py, which asks for that file"
    heads = {spec.head or EARLIER.get(agent, NOTHING)[0] for spec in specs}
    if "agent_file" in config or not heads <= {*HEADS}:
        raise CheckpointError(f"{path} was made by {quoted(agent)}, which a pilot does not know: {play}")
    table = config.get(agent)
    if not isinstance(table, dict):
        raise CheckpointError(
            f"{path} does not say how its network was made: train it again, or write the settings into its run first, "
            f'as in run.write_config({{"{agent}": config}})'
        )
    network = table.get("network", "mlp")
    if network not in NETWORKS:
        raise CheckpointError(
            f"{path} has the network {quoted(network)}, and a pilot knows {', '.join(NETWORKS)}: {play}"
        )
    if not specs:
        raise CheckpointError(f"{path} does not say what its policies see and do: train it again")


def _read(path: Path) -> tuple[dict[str, Any], Tensors]:
    """Return the manifest of a sealed safetensors file, and the tensors of its policies."""
    data = path.read_bytes()
    size = 8 + int.from_bytes(data[:8], "little")
    if len(data) < max(size, 9):
        raise ValueError(f"it is cut short at {len(data)} bytes")
    at = data.find(_SEAL, 8, size) + len(_SEAL)
    digest = hashlib.sha256(data[:at] + b"0" * _SEALED)
    digest.update(memoryview(data)[at + _SEALED :])
    if data[at : at + _SEALED] != digest.hexdigest().encode():
        raise ValueError("its content does not match its SHA-256, or it was not written by ecs_rl")
    head = json.loads(data[8:size])
    manifest = json.loads(head.pop("__metadata__")["manifest"])
    json.dumps(manifest, ensure_ascii=False).encode()  # raises ValueError for half characters, as other readers do
    if manifest["schema"] != SCHEMA:
        raise ValueError(f"it has schema {manifest['schema']} and this version of ecs_rl reads schema {SCHEMA}")
    return manifest, {name: _array(data, size, about) for name, about in head.items() if name.startswith("policy/")}


def _array(data: bytes, start: int, about: dict[str, Any]) -> NDArray[Any]:
    """Return a tensor, copied out of the file."""
    if about["dtype"] not in _DTYPES:
        raise ValueError(f"a pilot knows no numbers of the type {quoted(about['dtype'], 20)}")
    dtype, shape, (first, last) = np.dtype(_DTYPES[about["dtype"]]), about["shape"], about["data_offsets"]
    if not 0 <= first <= last <= len(data) - start or last - first != math.prod(shape) * dtype.itemsize:
        raise ValueError(f"a tensor of {shape} cannot stand in its bytes {first} to {last}")
    flat = np.frombuffer(data, dtype, math.prod(shape), start + first)
    return flat.reshape(shape).astype(dtype.newbyteorder("="))


def _spec(entry: dict[str, Any]) -> PolicySpec:
    """Return what a policy sees and does, as its entry in a manifest says it."""
    names = tuple(entry["actions"])
    lone: ActionSpace = Continuous(names) if entry["continuous"] else Discrete(names)
    parts = tuple(
        Continuous(tuple(part["names"])) if part.get("continuous") else Discrete(tuple(part["names"]), part["name"])
        for part in entry.get("parts", ())
    )
    forms = ((form["first"], *form["shape"]) for form in entry.get("layout", ()))
    layout = tuple(Picture(*form) if len(form) == 4 else Members(*form) for form in forms)
    return PolicySpec(
        tuple(entry["observations"]),
        Composed(parts) if parts else lone,
        entry["name"],
        entry.get("state", 0),
        layout,
        entry.get("head", ""),
        tuple((column, output) for column, output in entry.get("allowed", ())),
        tuple(entry.get("critic_sees", ())),
    )
