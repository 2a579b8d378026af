"""Processes of tests: commands in groups of their own, which a signal reaches as Ctrl-C does, and forked ones."""

from __future__ import annotations

import multiprocessing
import socket
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).parents[1]
forked = multiprocessing.get_context("forkserver")
"""Makes processes by forking one that has torch and the package, and no thread."""
forked.set_forkserver_preload(["torch.distributed", "ecs_rl.tasks.workers", "ecs_rl.tasks.run_training"])


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


def free_port() -> int:
    """Return a port of this machine that nobody listens at."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])
