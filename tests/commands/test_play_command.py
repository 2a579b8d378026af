"""What `play.py` refuses, and what it says where there is nothing to play."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from ecs_rl.cli import target
from ecs_rl.cli.listing import table
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
def test_without_any_run_it_says_so_with_3_unless_pilots_may_play(
    more: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    for how in (["--headless", "--checkpoint", "latest"], ["--record", "film.mp4"], ["--against", "random"]):
        assert "no run that can be used in " in (said := refusal(capsys, [*how, *more], 3))
        assert "train one first" in said


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["pong", "--headless"], "there is no run 'pong' in runs; train one first"),
        (["balance", "--headless", "--checkpoint", "7"], "its pilot is one policy, without a checkpoint '7'"),
        (["mine.safetensors", "--headless"], "there is no checkpoint file mine.safetensors"),
        (["--headles"], "unknown flag '--headles': did you mean '--headless'?"),
        (["--headless", "--checkpoint", "bset"], "no checkpoint 'bset': name best, latest, pilot, random or a step"),
        (["--headless", "--episodes", "0"], "--episodes must be a whole number from 1 to 100,000"),
        (["--headless", "--record", "film.txt"], "--record must be a path that ends in .mp4 or .gif"),
        (["balance", "--compare", *"1234567"], "--compare shows at most 6 checkpoints, not 7: name fewer"),
        (
            ["balance", "--compare", "bset"],
            "--compare bset: there is no run 'bset' in runs; train one first (a checkpoint",
        ),
        (
            ["--headless", "--pilot"],
            "--pilot: no run says which scene is meant: name it, as in: python play.py asteroids",
        ),
        (["balance", "--pilot", "--checkpoint", "latest"], "--pilot and --checkpoint latest exclude each other"),
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


def test_a_step_at_which_nothing_was_kept_is_played_by_the_nearest_policy_with_a_note(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert train(["balance", "--arenas", "8", "--steps", "400", "--eval-episodes", "2", "--ppo.rollout", "8"]) == 0
    capsys.readouterr()
    kept = (0, 136, 208, 312, 400)  # marks past 0 lie at 200,000 / 1.5**18 and on, a tick is 8 steps; 400 is the end
    for wanted in (*kept, 66, 250, 10**17):
        nearest = min(kept, key=lambda step: abs(step - wanted))
        assert main(["--headless", "--json", "--episodes", "2", "--checkpoint", str(wanted)]) == 0
        told = capsys.readouterr()
        assert json.loads(told.out)["step"] == nearest
        note = f"play.py: no policy was kept at step {wanted:,}: this is the nearest, step {nearest:,}\n"
        assert told.err == ("" if wanted in kept else note)


def test_checkpoints_to_compare_may_be_milestones_and_the_list_tells_them(capsys: pytest.CaptureFixture[str]) -> None:
    assert train(["balance", "--arenas", "8", "--steps", "400", "--eval-episodes", "2", "--ppo.rollout", "8"]) == 0
    capsys.readouterr()
    assert main(["--headless", "--json", "--episodes", "2", "--compare", "best", "0", "300"]) == 0
    told = capsys.readouterr()
    assert [row["step"] for row in json.loads(told.out)["compare"]] == [400, 0, 312]
    assert "the nearest, step 312" in told.err
    assert main(["--list"]) == 0
    head, row = (re.split(" {2,}", line) for line in capsys.readouterr().out.splitlines()[-2:])
    assert dict(zip(head, row, strict=True))["milestones"] == "4"
    assert main(["--list", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)[0]["milestones"] == [0, 136, 208, 312]


def test_a_damaged_milestone_is_refused_and_a_step_is_no_word(capsys: pytest.CaptureFixture[str]) -> None:
    assert train(["balance", "--arenas", "8", "--steps", "100", "--eval-episodes", "2", "--ppo.rollout", "8"]) == 0
    (path,) = Path("runs").rglob("milestone_0.safetensors")
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)
    capsys.readouterr()
    assert "milestone_0.safetensors is damaged" in refusal(capsys, ["--headless", "--checkpoint", "0"], 3)
    assert "there is no run 'blance' in runs; did you mean 'balance'?" in refusal(capsys, ["blance", "--headless"], 2)


def test_a_file_that_is_neither_run_nor_checkpoint_is_told_what_is_wanted(
    empty_folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (empty_folder / "afile").write_text("")
    said = refusal(capsys, ["afile", "--headless"], 2)
    assert said == "play.py: afile is a file: name the directory of a run, a .safetensors file or a scene's .py file\n"


def test_an_interruption_is_one_line_and_exits_with_130(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(target, "checkpoint_meant", interrupted)
    assert refusal(capsys, ["--headless"], 130) == "play.py: interrupted\n"


LONG_LIST = [
    {
        "name": "balance",
        "version": "v1",
        "when": "2026-01-01 00:00:00",
        "scene": "balance",
        "agent": "ppo",
        "steps": "1,000,000",
        "best": "210.0 at 98,304",
        "status": "interrupted",
        "run": "runs/balance/v1/20260101_000000",
    }
]


@pytest.mark.parametrize(
    ("width", "gone"),
    [
        (None, ""),
        (200, ""),
        (100, "run"),
        (80, "run when"),
        (60, "run when version agent"),
        (40, "run when version agent scene best"),
    ],
)
def test_a_narrow_terminal_gets_fewer_columns_and_no_line_that_is_too_long(width: int | None, gone: str) -> None:
    lines = table(LONG_LIST, width)
    assert lines[0].split() == [name for name in LONG_LIST[0] if name not in gone.split()]
    assert all(value in lines[1] for name, value in LONG_LIST[0].items() if name not in gone.split())
    assert max(map(len, lines)) <= (width or 200)


def test_an_empty_list_says_what_to_do(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--list"]) == 0
    assert capsys.readouterr().out.endswith("\nthere are no runs in runs: train one first\n")
    assert main(["--list", "--json"]) == 0
    assert capsys.readouterr().out == "[]\n"
