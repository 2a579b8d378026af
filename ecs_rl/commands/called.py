"""What the two commands are called here: `train.py` in a clone, `ecs-rl train` where the package is installed."""

from __future__ import annotations

import sys
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
