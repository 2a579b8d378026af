"""What the two commands are called here: `train.py` in a clone, `ecs-rl train` where the package is installed."""

from __future__ import annotations

import platform
import sys
import tomllib
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

_CLONE = Path(__file__).resolve().parents[2]


def program(name: str) -> str:
    """Return the command `train` or `play` as its own messages call it: `train.py` or `ecs-rl train`."""
    installed = Path(sys.argv[0]).stem == "ecs-rl" or not (_CLONE / f"{name}.py").is_file()
    return f"ecs-rl {name}" if installed else f"{name}.py"


def typed(name: str) -> str:
    """Return what a person types to start `train` or `play`: `python train.py` or `ecs-rl train`."""
    called = program(name)
    return f"python {called}" if called.endswith(".py") else called


def asks_for_version(argv: Sequence[str]) -> bool:
    """Return whether a command is `--version` alone; with a value behind it that is the version of a run."""
    return list(argv) == ["--version"]


def versions_in_words() -> str:
    """Return this program's version and those of what it computes with, in one line; nothing heavy is imported."""
    own = f"ecs-rl {_own_version()}"
    others = ", ".join(f"{name} {version(name)}" for name in ("torch", "numpy", "pymunk", "pygame-ce"))
    return f"{own} (Python {platform.python_version()}, {others})"


def _own_version() -> str:
    try:
        return version("ecs-rl")
    except PackageNotFoundError:  # a clone that was not installed
        return str(tomllib.loads((_CLONE / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"])
