"""Self-play learns sumo: the newest policy beats random play, a rush, and itself as it was."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from ecs_rl.commands import play, train
from ecs_rl.shipped import SCENES

GAMES, SEED = 200, 50_000
"""Games that no evaluation saw, and the seed of the first."""


def trained(folder: Path, *more: str) -> Path:
    """Train with the recipe of the scene; return the folder of the checkpoints, all of them kept."""
    name = f"seed{len(list(folder.iterdir()))}"
    arguments = [
        "sumo",
        "--runs",
        str(folder),
        "--name",
        name,
        "--keep",
        "99",
        "--checkpoint-every",
        "25k",
        *more,
    ]
    assert train.main(arguments) == 0
    (run,) = (folder / name / "v1").iterdir()
    return run / "checkpoints"


def won(folder: Path, opponent: str, capsys: pytest.CaptureFixture[str]) -> Mapping[str, float]:
    """Return how many of the games the newest policy wins, with the interval."""
    capsys.readouterr()
    more = ["--episodes", str(GAMES), "--seed", str(SEED), "--against", opponent]
    assert play.main([str(folder / "latest.safetensors"), "--headless", "--json", *more]) == 0
    found: Mapping[str, float] = json.loads(capsys.readouterr().out)
    return found


def at(folder: Path, steps: int) -> str:
    """Return the first checkpoint of at least so many steps."""
    there = sorted(int(path.stem.removeprefix("step_")) for path in folder.glob("step_*.safetensors"))
    return str(folder / f"step_{next(step for step in there if step >= steps)}.safetensors")


def test_a_short_training_beats_random_play_and_itself_as_it_was(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = trained(tmp_path, "--steps", "100k", "--schedule-steps", "500k")
    assert won(folder, "random", capsys)["low"] > 0.85
    assert won(folder, at(folder, 25_000), capsys)["low"] > 0.55


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(10))
def test_the_newest_policy_beats_random_play_and_itself_as_it_was_after_a_quarter(
    seed: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = trained(tmp_path, "--seed", str(seed))
    random, quarter = won(folder, "random", capsys), won(folder, at(folder, 125_000), capsys)
    rush = won(folder, f"{SCENES / 'sumo.py'}:rush", capsys)
    with capsys.disabled():
        for who, found in (("random", random), ("a quarter of the way", quarter), ("a rush", rush)):
            told = "{wins:.0f} won, {draws:.0f} drawn, {losses:.0f} lost, {low:.1%} to {high:.1%}".format(**found)
            print(f"\nsumo, seed {seed}, against {who}: {told}", end="")
    assert random["wins"] >= 0.95 * GAMES
    assert quarter["wins"] >= 0.7 * GAMES
    assert rush["wins"] > 0.5 * GAMES
