"""What the lander has learned from three recorded landings is not lost when it goes on by acting."""

from __future__ import annotations

import json
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest

from ecs_rl.commands.play import main as play
from ecs_rl.commands.train import main as train

SHARED = ("--agent", "iql", "--threads", "1", "--eval-every", "100M", "--eval-episodes", "40")


def last_return(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[Path, float]:
    """Train the lander; return its run and the mean return of its last evaluation."""
    assert train(["lander", *SHARED, *words, "--json"]) == 0
    report: dict[str, Any] = json.loads(capsys.readouterr().out.splitlines()[-1])
    rows = [json.loads(row) for row in (Path(report["run"]) / "metrics.jsonl").read_text().splitlines()]
    return Path(report["run"]), [row["eval/mean_return"] for row in rows if "eval/mean_return" in row][-1]


@pytest.mark.slow
def test_three_landings_are_learned_without_acting_and_kept_while_acting(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data, runs = str(tmp_path / "three.data"), ("--runs", str(tmp_path / "runs"))
    line = ["lander", "--pilot", "--headless", "--stochastic", "--episodes", "3", "--seed", "500", "--save-data", data]
    assert play(line) == 0
    offline, online = [], []
    for seed in map(str, range(3)):
        run, score = last_return(capsys, "--offline", data, "--steps", "5k", "--seed", seed, *runs)
        offline.append(score)
        weights = str(run / "checkpoints" / "latest.safetensors")
        more = ("--init-from", weights, "--remember", data, "--steps", "20k", "--seed", seed, *runs)
        online.append(last_return(capsys, *more)[1])
    print(f"\nwithout acting {offline}, after 20,000 steps of acting {online}")
    assert fmean(offline) > 170
    assert fmean(online) > 150  # below 60 where the scale of observations follows the first ticks
