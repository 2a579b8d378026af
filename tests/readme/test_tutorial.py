"""The tutorial's files run as a reader makes them, each is sound, and the bee learns what the text says it does."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from pages import tutorial

from ecs_rl.commands.play import main as play
from ecs_rl.commands.train import main


@pytest.fixture
def bee(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path / "bee.py"


@pytest.mark.parametrize("number", [1, 2, 3, 4])
def test_each_step_is_sound_and_says_what_the_text_says(
    number: int, bee: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bee.write_text(tutorial(number), encoding="utf-8")
    assert main(["bee.py", "--check", "--arenas", "16"]) == 0
    told = capsys.readouterr().out
    assert "same seed, same numbers: yes" in told
    assert re.search(r"\n  fell +[1-9]\d*\n  flew off +0\n", told)
    assert ("score" in told) == (number > 1)


@pytest.mark.parametrize("number", [3, 4])
def test_the_last_steps_train_and_are_played_back(number: int, bee: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bee.write_text(tutorial(number), encoding="utf-8")
    assert main(["bee.py", "--steps", "4k", "--arenas", "16", "--eval-every", "2k", "--eval-episodes", "2"]) == 0
    capsys.readouterr()
    assert play(["bee", "--headless", "--json", "--episodes", "2"]) == 0
    assert json.loads(capsys.readouterr().out)["mean_score"] >= 0.0  # flowers


def test_what_was_trained_before_the_look_plays_in_the_new_file(bee: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bee.write_text(tutorial(3), encoding="utf-8")
    assert main(["bee.py", "--steps", "4k", "--arenas", "16", "--eval-every", "2k", "--eval-episodes", "2"]) == 0
    bee.write_text(tutorial(4), encoding="utf-8")
    assert play(["bee", "--headless", "--episodes", "1"]) == 3
    assert "--scene" in capsys.readouterr().err
    assert play(["bee", "--scene", "bee.py", "--headless", "--episodes", "1"]) == 0


def test_the_first_steps_are_solved(bee: Path) -> None:
    for number in (1, 2):
        bee.write_text(tutorial(number), encoding="utf-8")
        assert main(["bee.py", "--until-solved", "--name", f"bee{number}"]) == 0
        (run,) = Path(f"runs/bee{number}/v1").iterdir()
        assert json.loads((run / "metadata.json").read_text("utf-8"))["status"] == "solved"


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(5))
def test_the_last_step_is_solved_with_every_seed(seed: int, bee: Path) -> None:
    bee.write_text(tutorial(4), encoding="utf-8")
    assert main(["bee.py", "--until-solved", "--seed", str(seed)]) == 0
    (run,) = Path("runs/bee/v1").iterdir()
    assert json.loads((run / "metadata.json").read_text("utf-8"))["status"] == "solved"
