"""Processes that torchrun has started train as those of `--workers` do."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from process_groups import start_group
from small_learners import PPO
from worker_runs import BALANCE, LOGS, MARK, nobody_stays, saved, trained, workers_of

FLAGS = (*BALANCE, *PPO, "--schedule-steps", "100k")


def torchrun(folder: Path, *flags: str, more: tuple[str, ...] = ()) -> subprocess.Popen[str]:
    """Start two processes by torchrun."""
    launcher = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2", "--standalone", *more]
    words = [*launcher, "train.py", *flags, "--runs", str(folder), "--json"]
    return start_group(words, {**os.environ, MARK: str(folder), "OMP_NUM_THREADS": "1"})


def told(running: subprocess.Popen[str]) -> tuple[dict[str, Any], str]:
    stdout, stderr = running.communicate(timeout=300)
    assert running.returncode == 0, stderr[-3000:]
    lines = [line for line in stdout.splitlines() if line.startswith("{")]
    assert len(lines) == 1, "process 0 alone says how it went"
    return json.loads(lines[0]), stderr


def test_torchrun_gives_the_bits_of_as_many_workers(tmp_path: Path) -> None:
    there, stderr = told(torchrun(tmp_path / "torchrun", *FLAGS, "--steps", "4k"))
    here = trained(tmp_path / "here", *FLAGS, "--steps", "4k", "--workers", "2")
    assert there["params_sha256"] == here["params_sha256"]
    for name in LOGS:
        assert Path(there["run"], name).read_bytes() == Path(here["run"], name).read_bytes()
    assert "Traceback" not in stderr
    assert "frame #0" not in stderr


@pytest.mark.slow
@pytest.mark.parametrize("rank", [0, 1])
def test_torchrun_starts_all_again_where_one_is_killed_and_they_go_on(tmp_path: Path, rank: int) -> None:
    flags = (*FLAGS, "--steps", "14k")
    running = torchrun(tmp_path / "killed", *flags, more=("--max-restarts", "1"))
    run = saved(tmp_path / "killed", running)
    os.kill(workers_of(tmp_path / "killed")[rank], signal.SIGKILL)
    there, _ = told(running)
    assert there["run"] == str(run)
    assert nobody_stays(tmp_path / "killed")
    here = trained(tmp_path / "here", *flags, "--workers", "2")
    assert there["params_sha256"] == here["params_sha256"]
