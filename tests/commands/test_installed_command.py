"""`ecs-rl train` and `ecs-rl play` are `train.py` and `play.py`, and every hint names what the person can type."""

from __future__ import annotations

import platform
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import pytest

from ecs_rl.cli import called
from ecs_rl.commands.main import main


def call(monkeypatch: pytest.MonkeyPatch, *words: str) -> int:
    monkeypatch.setattr(sys, "argv", ["/somewhere/bin/ecs-rl", *words])
    return main()


def test_the_first_word_is_the_command(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert call(monkeypatch, "train", "nowhere") == 2
    assert "ecs-rl train: there is no scene 'nowhere'" in capsys.readouterr().err
    assert call(monkeypatch, "play", "--list", "--runs", str(tmp_path)) == 0
    assert "there are no runs in" in capsys.readouterr().out


@pytest.mark.parametrize(("words", "told"), [([], "a command is missing"), (["watch"], "there is no command 'watch'")])
def test_another_word_is_refused_with_those_there_are(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], words: list[str], told: str
) -> None:
    assert call(monkeypatch, *words) == 2
    assert f"ecs-rl: {told}: write ecs-rl train or ecs-rl play" in capsys.readouterr().err
    assert call(monkeypatch, "--help") == 0
    assert "ecs-rl train SCENE" in capsys.readouterr().out


def test_what_is_said_to_be_typed_can_be_typed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert (called.program("train"), called.typed("play")) == ("train.py", "python play.py")
    assert call(monkeypatch, "train", "balance", "--human") == 2
    assert "(ecs-rl train --help lists all flags)" in capsys.readouterr().err
    monkeypatch.setattr(sys, "argv", ["-c"])
    monkeypatch.setattr(called, "_CLONE", Path("/somewhere/site-packages"))
    assert (called.program("train"), called.typed("play")) == ("ecs-rl train", "ecs-rl play")


def test_the_version_alone_is_that_of_the_program_and_with_a_value_that_of_a_run(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for words in (["--version"], ["train", "--version"], ["play", "--version"]):
        assert call(monkeypatch, *words) == 0
        said = capsys.readouterr().out
        assert said.startswith(
            f"ecs-rl {version('ecs-rl')} (Python {platform.python_version()}, torch {version('torch')}"
        )
        assert len(said.splitlines()) == 1
    assert call(monkeypatch, "train", "balance", "--version") == 2, "the version of a run has a value"


def test_a_clone_that_is_not_installed_knows_its_version(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> str:
        if name == "ecs-rl":
            raise PackageNotFoundError(name)
        return version(name)

    monkeypatch.setattr(called, "version", missing)
    assert called.versions_in_words().startswith(f"ecs-rl {version('ecs-rl')} (Python ")
