"""A command with all its processes in a group of their own, which a signal reaches as Ctrl-C in a terminal does."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).parents[1]


def start_group(words: Sequence[str], env: Mapping[str, str] | None = None) -> subprocess.Popen[str]:
    """Start a command in the project's folder; `os.killpg` with its pid signals all its processes."""
    return subprocess.Popen(
        words,
        cwd=ROOT,
        env=env,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
