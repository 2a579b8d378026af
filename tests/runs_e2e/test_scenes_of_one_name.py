"""A scene's file that is called like a scene of the project: its runs have the same name, and are told apart."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from command_runs import BALANCE, TINY, Told, changed_balance, metadata, play, train

ONE = ("--headless", "--json", "--episodes", 1)


@pytest.fixture
def runs(tmp_path: Path, new_user: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Path]:
    """The runs of both scenes, the one of the user's own file the newer one."""
    monkeypatch.chdir(tmp_path)
    changed_balance(tmp_path / "balance.py", "max_ticks=500", "max_ticks=400")
    return {scene: trained(scene).run for scene in ("balance", "./balance.py")}


def trained(scene: str, *more: object) -> Told:
    told = train(scene, *TINY, "--steps", 1000, "--json", *more)
    assert told.code == 0, told.err
    return told


def played(*args: object) -> tuple[Path, str]:
    told = play(*args, *ONE)
    assert told.code == 0, told.err
    return told.run, told.err


def test_play_takes_the_runs_of_the_scene_that_is_named(runs: dict[str, Path], tmp_path: Path) -> None:
    assert {run.parent for run in runs.values()} == {Path("runs/balance/v1")}
    run, told = played("balance")
    assert run == runs["balance"]
    own = runs["./balance.py"]
    assert f"skipped {own}: it trains '{tmp_path / 'balance.py'}', not 'balance': play it with python play.py" in told
    assert played("./balance.py") == (own, "")
    assert played(own) == (own, "")
    assert played(BALANCE)[0] == runs["balance"]


def test_resume_takes_the_runs_of_the_scene_that_is_named(runs: dict[str, Path]) -> None:
    for scene, run in runs.items():
        for name in ((), ("balance",)):
            steps = metadata(run)["total_steps"] + 1000
            assert train(scene, "--resume", *name, "--steps", steps, "--json").run == run


def test_a_copy_of_the_scene_is_the_scene(runs: dict[str, Path], tmp_path: Path) -> None:
    shutil.copy(BALANCE, tmp_path / "balance.py")
    copy = trained("./balance.py").run
    assert played("balance") == (copy, "")


def test_a_file_plays_wherever_its_run_is_and_where_it_has_moved(runs: dict[str, Path], tmp_path: Path) -> None:
    named = trained("./balance.py", "--name", "mine").run
    assert played("./balance.py") == (named, "")
    (tmp_path / "balance.py").rename(tmp_path / "moved.py")
    assert played("moved.py") == (named, "")
    (tmp_path / "moved.py").write_text("SCENE = 1 +\n")
    assert "moved.py, line 1: invalid syntax" in play("moved.py", *ONE).err


def test_a_file_without_a_run_says_how_to_train_it(runs: dict[str, Path], tmp_path: Path) -> None:
    shutil.copy(BALANCE, tmp_path / "other.py")
    (tmp_path / "other.py").write_text(BALANCE.read_text() + "\n# another one\n")
    told = play("other.py", *ONE)
    assert told.code == 3
    assert "there is no run of " in told.err
    assert "train one first: python train.py " in told.err


def test_a_person_plays_against_the_run_of_the_scene_that_is_named(runs: dict[str, Path]) -> None:
    from ecs_rl.cli.parse import parse_play
    from ecs_rl.tasks.play_human import scene_and_rival

    for scene, run in runs.items():
        found, rival = scene_and_rival(parse_play(["--human", scene]))
        assert rival is not None
        assert rival.path == run / "checkpoints" / "best.safetensors"
        assert found.max_ticks == (500 if scene == "balance" else 400)
