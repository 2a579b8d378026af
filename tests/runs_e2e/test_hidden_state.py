"""A scene that keeps something that no column holds cannot be resumed exactly, and nobody is left in the dark."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from command_runs import TINY, train

BALANCE = Path(__file__).parents[2] / "scenes" / "balance.py"
REWARD = '        earns={"upright": 1.0},\n'
BUILD = "    arena.agent(\n"
LONG = (*TINY, "--steps", 4000, "--checkpoint-every", 1000)

CLOSEST = """\
    nearest = {}

    def closer() -> np.ndarray:
        nearest[0] = np.minimum(nearest.get(0, np.inf), np.abs(cart.x))
        return np.abs(cart.x) - nearest[0]

"""
GENERATOR = """\
    random = np.random.default_rng(0)

    def closer() -> np.ndarray:
        return random.random(len(cart.x))

"""
CLOCK = """\
    calls = [0]

    def closer() -> np.ndarray:
        calls[0] += 1
        return np.full(len(cart.x), 1.0 if calls[0] < 700 else 2.0) + 0.0 * cart.x

"""
EFFECT = """\
    class Tired(Push):
        def apply(self, dt: float) -> None:
            self.left = getattr(self, "left", 1.0) * 0.9999
            self.role.force.force[:, 0] += self.x * self.amount * self.left

    right = Tired(cart, +10.0)

    def closer() -> float:
        return 1.0

"""
SCENES = {"a closure's variable": CLOSEST, "a generator": GENERATOR, "a clock": CLOCK, "an effect's own": EFFECT}


def scene_with(path: Path, rule: str) -> Path:
    text = BALANCE.read_text().replace(REWARD, '        earns={"upright": closer},\n')
    text = text.replace(BUILD, rule + BUILD).replace("from ecs_rl.scene", "import numpy as np\n\nfrom ecs_rl.scene")
    if "right = " in rule:
        text = text.replace("right=Push(cart, +10.0)", "right=right")
    path.write_text(text)
    return path


@pytest.mark.parametrize("rule", SCENES.values(), ids=SCENES.keys())
def test_the_check_finds_what_no_column_holds(tmp_path: Path, rule: str) -> None:
    told = train(scene_with(tmp_path / "mine.py", rule), "--check", "--arenas", 4, "--json")
    assert told.code == 2
    assert "the scene keeps something that no component holds" in told.err or "draws its own random" in told.err
    assert not json.loads(told.out)["resumable"] or not json.loads(told.out)["deterministic"]


@pytest.mark.parametrize("rule", [CLOSEST, GENERATOR, EFFECT], ids=["closure", "generator", "effect"])
def test_a_resume_past_a_checkpoint_says_that_it_cannot_be_exact(tmp_path: Path, rule: str) -> None:
    scene = scene_with(tmp_path / "mine.py", rule)
    first = train(scene, *LONG, "--runs", tmp_path / "runs", "--json")
    assert first.code == 0, first.err
    again = (scene, "--resume", first.run, "--runs", tmp_path / "runs", "--steps", 6000, "--json")
    refused = train(*again)
    assert refused.code == 3
    assert "cannot be continued exactly" in refused.err
    assert "--inexact" in refused.err
    went_on = train(*again, "--inexact")
    assert (went_on.code, went_on.json["steps"]) == (0, 6000)


def test_a_scene_of_columns_alone_is_resumed_without_a_word(tmp_path: Path) -> None:
    first = train("balance", *LONG, "--runs", tmp_path, "--json")
    again = train("balance", "--resume", first.run, "--runs", tmp_path, "--steps", 6000, "--json")
    whole = train("balance", *LONG, "--steps", 6000, "--runs", tmp_path / "whole", "--json")
    assert again.json["params_sha256"] == whole.json["params_sha256"]
