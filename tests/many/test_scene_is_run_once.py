"""The process that drives many trainings runs the scene's file once, however many settings it looks at."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ecs_rl.commands.train import main

BALANCE = Path(__file__).parents[2] / "scenes" / "balance.py"
RECORDS = """
import os
with open(os.environ["RUN_BY"], "a") as file:
    file.write(f"{os.getpid()}\\n")
"""
SMALL = ("--arenas", "8", "--steps", "2k", "--eval-every", "1k", "--eval-episodes", "2", "--threads", "1")


@pytest.mark.parametrize(
    "flags",
    [
        ("--seeds", "2"),
        ("--sweep", "ppo.lr=1e-3,2e-3", "ppo.epochs=2,4", "--trials", "2", "--no-early-stopping"),
        ("--population", "2", "--sweep", "ppo.lr=1e-4..1e-2:log", "ppo.clip=0.1..0.3"),
    ],
    ids=["seeds", "sweep", "population"],
)
def test_the_process_that_drives_runs_the_scene_once(
    flags: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    scene = tmp_path / "scenes" / "mine.py"
    scene.parent.mkdir()
    scene.write_text(BALANCE.read_text() + RECORDS)
    monkeypatch.setenv("RUN_BY", str(tmp_path / "run_by"))
    assert main([str(scene), *SMALL, *flags, "--runs", str(tmp_path / "runs")]) == 0, capsys.readouterr().err
    processes = (tmp_path / "run_by").read_text().split()
    assert processes.count(str(os.getpid())) == 1
    assert len(processes) > 2, "each training runs it in its own process"
