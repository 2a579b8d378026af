"""SIGINT, SIGTERM and SIGHUP to a real process: the first saves and ends well, a later one ends at once."""

from __future__ import annotations

import signal
import time
from pathlib import Path

import pytest
from command_runs import changed_balance, finish, metadata, play, rows, start, train, wait_for, wait_for_words
from small_learners import PPO

from ecs_rl.cli import plan
from ecs_rl.runs import read_manifest

LONG = ("--arenas", 8, "--steps", "900M", "--eval-every", "50k", "--eval-episodes", 2, "--checkpoint-every", 500, *PPO)
pytestmark = pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="POSIX signals")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_the_first_signal_saves_says_how_to_play_and_exits_with_0(number: signal.Signals, tmp_path: Path) -> None:
    process = start("train.py", "balance", *LONG, "--json", "--runs", tmp_path)
    wait_for(lambda: any(tmp_path.glob("*/*/*/checkpoints/latest.safetensors")), process)
    process.send_signal(number)
    told = finish(process)
    assert told.code == 0, told.err
    found, known = told.json, metadata(told.run)
    assert (found["status"], known["status"]) == ("interrupted", "interrupted")
    assert 500 <= found["steps"] == known["total_steps"] < 900_000_000
    assert found["episodes"] == known["total_episodes"] == len(rows(told.run, "train_episodes"))
    latest = told.run / "checkpoints" / "latest.safetensors"
    assert read_manifest(latest).step == found["steps"]
    assert "Traceback" not in told.err
    assert f"stopping ({number.name})" in told.err
    assert told.err.count(f"train.py: {number.name}: saving after this tick; again to end at once\n") == 1
    # The command that it names really plays the run back.
    command = next(line for line in told.err.splitlines() if "python play.py" in line).partition("play.py ")[2]
    played = play(*command.split(), "--headless", "--json", "--episodes", 2)
    assert (played.code, played.json["run"]) == (0, str(told.run))
    assert play(told.run, "--headless", "--json", "--checkpoint", "latest").json["step"] == found["steps"]


def test_a_second_signal_ends_the_process_at_once(tmp_path: Path) -> None:
    # A tick that never ends: the first signal waits for it, the second does not.
    hang = "(__import__('pathlib').Path(__file__).with_name('hangs').touch(), __import__('time').sleep(600), 1.0)[-1]"
    scene = changed_balance(tmp_path / "hangs.py", '"upright": 1.0', f'"upright": lambda: CALLS.pop()(lambda: {hang})')
    scene.write_text(scene.read_text() + "\n\nCALLS = [lambda hang: hang()] + [lambda hang: 1.0] * 50\n")
    process = start("train.py", scene, *LONG, "--runs", tmp_path / "runs")
    wait_for((tmp_path / "hangs").exists, process)
    process.send_signal(signal.SIGINT)
    wait_for_words("again to end at once", process)
    time.sleep(1.3)  # signals within a second of each other are one
    assert process.poll() is None
    process.send_signal(signal.SIGINT)
    assert finish(process).code == -signal.SIGINT


def test_a_signal_before_training_begins_leaves_no_run_and_no_traceback(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(plan, "parse_train", interrupted)
    told = train("balance", "--runs", tmp_path / "runs")
    assert told.code == 130
    assert "interrupted before training began: nothing was saved" in told.err
    assert not (tmp_path / "runs").exists()


def test_handlers_are_as_before_after_a_training(tmp_path: Path) -> None:
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    before = [signal.getsignal(number) for number in numbers]
    assert train("balance", *LONG, "--steps", 500, "--runs", tmp_path).code == 0
    assert [signal.getsignal(number) for number in numbers] == before
