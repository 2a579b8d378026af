"""What `play.py` refuses, and what it says where there is nothing to play."""

from __future__ import annotations

from pathlib import Path

import pytest

from ecs_rl.commands.play import main
from ecs_rl.commands.train import main as train


@pytest.fixture(autouse=True)
def empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Let the default `runs` be in a folder of the test's own."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def refusal(capsys: pytest.CaptureFixture[str], args: list[str], code: int) -> str:
    assert main(args) == code
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err.startswith("play.py: ")
    assert "Traceback" not in told.err
    return told.err


@pytest.mark.parametrize("more", [[], ["--json"], ["--runs", "elsewhere"]], ids=["plain", "json", "elsewhere"])
def test_without_any_run_it_says_so_with_3(more: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert "no run that can be used in " in (said := refusal(capsys, ["--headless", *more], 3))
    assert "train one first" in said


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["balance", "--headless"], "there is no run 'balance' in runs; train one first"),
        (["mine.safetensors", "--headless"], "there is no checkpoint file mine.safetensors"),
        (["--headles"], "unknown flag '--headles': did you mean '--headless'?"),
        (["--headless", "--checkpoint", "bset"], "there is no checkpoint 'bset': name best, latest or a step"),
        (["--headless", "--episodes", "0"], "--episodes must be at least 1"),
        ([], "play with --headless"),
        (["--headless", "--record", "film.mp4"], "films are not there yet"),
        (["--headless", "--record", "film.txt"], "--record must end in .mp4 or .gif"),
        (["balance", "--headless", "--compare", "best", "1000"], "not there yet"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_a_bad_command_is_refused_with_2(args: list[str], words: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert words in refusal(capsys, args, 2)


@pytest.mark.parametrize("content", [b"", b"not a checkpoint", b"\xff" * 100], ids=["empty", "text", "bytes"])
def test_a_file_that_is_no_checkpoint_is_refused_with_3(
    content: bytes, empty_folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (empty_folder / "brain.safetensors").write_bytes(content)
    assert "checkpoint brain.safetensors is damaged" in refusal(capsys, ["brain.safetensors", "--headless"], 3)


def test_a_checkpoint_that_the_run_does_not_have_is_refused_with_what_there_is(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert train(["balance", "--arenas", "8", "--steps", "100", "--eval-episodes", "2", "--ppo.rollout", "8"]) == 0
    capsys.readouterr()
    said = refusal(capsys, ["--headless", "--checkpoint", "64"], 3)
    assert "has no checkpoint '64'; there is: 104, best, latest" in said
    assert "there is no run 'blance' in runs; did you mean 'balance'?" in refusal(capsys, ["blance", "--headless"], 2)


def test_an_empty_list_says_what_to_do(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--list"]) == 0
    assert capsys.readouterr().out == "there are no runs in runs: train one first\n"
    assert main(["--list", "--json"]) == 0
    assert capsys.readouterr().out == "[]\n"
