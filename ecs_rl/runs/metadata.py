"""metadata.json: who, what and how far; the file that other programs look at first."""

from __future__ import annotations

import platform
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Annotated, Any

import msgspec

from ecs_rl.files import read_json
from ecs_rl.runs.manifest import Count, Whole

_LIBRARIES = ("ecs-rl", "esper", "msgspec", "numpy", "pygame-ce", "pymunk", "safetensors", "torch")

Word = Annotated[str, msgspec.Meta(max_length=4096)]
"""A name, a path or a time; no path is longer."""


class Metadata(msgspec.Struct, frozen=True, kw_only=True):
    """The content of metadata.json, its keys exactly as in the contract."""

    name: Word
    version: Word
    run_id: Word
    """`<name>/<version>/<start>`: also the run's place below the runs folder."""
    scene: Word
    scene_sha256: Word = ""
    """Of the scene's file and what that imports from its folder, '' if it is not known."""
    agent: Word
    seed: Whole
    total_steps: Count = 0
    total_episodes: Count = 0
    best_eval: float | None = None
    best_step: Count | None = None
    started_at: Word
    last_updated: Word
    status: Word = "running"
    """`running`, then `finished`, `solved`, `interrupted`, `diverged` or `failed`."""
    versions: Annotated[dict[Word, Word], msgspec.Meta(max_length=100)]
    """Of python, the libraries and the machine, as of the last start or resume."""


def now() -> datetime:
    """Return the time in UTC: local time goes back an hour each autumn, and the newest run would not sort last."""
    return datetime.now(UTC)


def iso(time: datetime) -> str:
    """Return a moment as ISO 8601 with its zone, to the second."""
    return time.isoformat(timespec="seconds")


def versions_here() -> dict[str, str]:
    """Return all that decides the last bits of a result: versions of python and the libraries, and the machine.

    `numpy_cpu` and `torch_cpu` name the processor's instructions that these two use here.
    """
    import numpy as np
    import torch

    simd: Any = np.show_config(mode="dicts")
    versions = {
        "python": platform.python_version(),
        "system": " ".join((platform.system(), *platform.libc_ver())).strip(),
        "machine": platform.machine(),
        "numpy_cpu": " ".join(simd["SIMD Extensions"].get("found", [])),
        "torch_cpu": torch.backends.cpu.get_cpu_capability(),
    }
    for name in _LIBRARIES:
        try:
            versions[name] = version(name)
        except PackageNotFoundError:
            continue
    return versions


def read_metadata(run: Path) -> Metadata:
    """Return the metadata of a run directory; CheckpointError if it is missing or broken."""
    unusable = f"{run} is not a run that can be used: metadata.json"
    return read_json(run / "metadata.json", Metadata, unusable, "choose another")
