"""A file of trainings that were run: a table that was interrupted goes on with those that are missing."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

Key = tuple[str | int, ...]


class TrialFile:
    """Trainings by what distinguishes them, in a JSONL file if there is one."""

    def __init__(self, path: Path | None) -> None:
        self._path, self._trials = path, dict[Key, dict[str, Any]]()
        if path is not None and path.exists():
            lines = map(json.loads, path.read_text().splitlines())
            self._trials = {tuple(line["key"]): line["trial"] for line in lines}

    def trial(self, key: Key, train: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        """Return the training with this key, which is run only if the file does not have it."""
        if key not in self._trials:
            self._trials[key] = train()
            if self._path is not None:
                with self._path.open("a") as file:
                    file.write(json.dumps({"key": key, "trial": self._trials[key]}) + "\n")
        return self._trials[key]
