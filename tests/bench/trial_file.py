"""What tables of trainings share: which rows are asked for, and a file by which an interrupted table goes on."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Sequence
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


def asked_rows(about: str, known: Sequence[str], metavar: str) -> argparse.Namespace:
    """Return the `rows` of a table that were asked for, all unless some are named, and of each the seeds of trainings.

    The command ends with a message where a row is none of the known ones.
    """
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument("rows", nargs="*", default=list(known), metavar=metavar, help=", ".join(known))
    parser.add_argument("--seeds", type=int, default=10, help="trainings of each row (default: 10)")
    parser.add_argument("--first", type=int, default=0, help="the first seed (default: 0)")
    parser.add_argument("--json", action="store_true", help="print one JSON object for each training as well")
    asked = parser.parse_args()
    for name in asked.rows:
        if name not in known:
            parser.error(f"there is no row '{name}': {', '.join(known)}")
    asked.seeds = range(asked.first, asked.first + asked.seeds)
    return asked
