"""A mistake that can be seen in the command, or in the names of files, is told before torch is loaded."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from ecs_rl.runs import TrainingRun

ROOT = Path(__file__).parents[2]
MISTAKES = [
    *("train landr", "train ./nowhere.py", "train balance --stepz 3", "train balance --agent sac --ppo.lr 1e-3"),
    *("train balance --resume nowhere", "train balance --resume --name nobody", "train balance --workers 3"),
    *("train balance --trials 3", "train balance --sweep foo=1..2", "train balance --sweep ppo.lr=1..2 --workers 2"),
    *("train balance --seeds 2 --check", "train balance --init-from nowhere", "train balance --imitate nowhere"),
    *("train balance --changes nowhere", "train balance --config nowhere.toml", "train balance --network nowhere.py:X"),
    *("play nowhere --headless", "play x.safetensors --headless", "play balance --checkpoint 5 --headless"),
    *(
        "play --pilot --headless --runs nowhere",
        "play --compare nowhere pilot --headless",
    ),
]
NO_MISTAKES = ["play --list", "train --version"]
CODE = """
import json, sys
from ecs_rl.commands import play, train
lines = json.loads(sys.argv[1])
told = []
for line in lines:
    command, *argv = line.split()
    code = (train if command == "train" else play).main(argv)
    told.append((line, code, "torch" in sys.modules))
print(json.dumps(told))
"""


def told(folder: Path, lines: list[str]) -> list[tuple[str, int, bool]]:
    """Return each command with its exit code and whether torch was loaded then; one process carries them all out."""
    done = subprocess.run(
        [sys.executable, "-c", CODE, json.dumps(lines)],
        cwd=folder,
        env={"PYTHONPATH": str(ROOT), "HOME": str(folder)},
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    return [(line, code, loaded) for line, code, loaded in json.loads(done.stdout.splitlines()[-1])]


def test_trivial_mistakes_are_told_before_torch_is_loaded(tmp_path: Path) -> None:
    TrainingRun.create("balance", runs_dir=tmp_path / "runs", scene="balance", agent="ppo", seed=0).close()
    for line, code, torch_was_loaded in told(tmp_path, [*MISTAKES, *NO_MISTAKES]):
        assert code == (0 if line in NO_MISTAKES else 3 if "nowhere" in line and code == 3 else 2), line
        assert not torch_was_loaded, line


@pytest.mark.parametrize("line", ["train balance --steps 8 --arenas 8 --eval-episodes 1"])
def test_a_training_does_load_it(tmp_path: Path, line: str) -> None:
    ((_, code, torch_was_loaded),) = told(tmp_path, [line])
    assert (code, torch_was_loaded) == (0, True)
