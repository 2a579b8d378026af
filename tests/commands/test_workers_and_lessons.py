"""Processes that train together go through a scene's lessons as one, and go on from each other's checkpoints."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from lesson_scenes import LAMP

pytest.importorskip("ray")
ROOT = Path(__file__).resolve().parents[2]


def trained(folder: Path, *flags: object) -> dict[str, Any]:
    command = [sys.executable, "train.py", str(folder / "lamp.py"), *map(str, flags), "--runs", str(folder), "--json"]
    command += ["--arenas", "64", "--threads", "1", "--eval-every", "8k", "--eval-episodes", "2"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=500, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def test_two_processes_take_the_steps_of_one_and_one_goes_on_where_two_left_off(tmp_path: Path) -> None:
    (tmp_path / "lamp.py").write_text(LAMP)
    flags = ("--schedule-steps", "150k", "--checkpoint-every", "4k")
    alone = trained(tmp_path, *flags, "--steps", "24k")
    together = trained(tmp_path, *flags, "--steps", "18k", "--workers", "2")
    assert together["lessons"]["way"]["step"] >= 1
    resumed = trained(tmp_path, *flags, "--steps", "24k", "--resume", together["run"], "--workers", "1", "--inexact")
    assert resumed["lessons"] == alone["lessons"]
    assert resumed["params_sha256"] == alone["params_sha256"]
