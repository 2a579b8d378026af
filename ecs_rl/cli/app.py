"""The door of the command line: the one place that imports what carries the commands out, and torch with it."""

from __future__ import annotations

from importlib import import_module
from typing import Any


def app(module: str) -> Any:
    """Import and return a module of the package, such as `commands.train`; torch takes seconds the first time."""
    return import_module(f"ecs_rl.{module}")
