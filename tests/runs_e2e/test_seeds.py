"""`--seeds K`: ordinary runs side by side, what they come to together, and how they end."""

from __future__ import annotations

import json
import os
import re
import signal
import time
from pathlib import Path
from typing import Any

import pytest
from command_runs import (
    BALANCE,
    HANGS,
    JSON_KEYS,
    TINY,
    changed_balance,
    finish,
    metadata,
    play,
    start,
    train,
    wait_for,
    wait_for_words,
)
from test_stopping import LONG

from ecs_rl.cli.parse import cores

KEYS = ["scene", "agent", "runs", "solved", "solved_second", "solved_step", "best_eval", "failed", "picture"]
ONE_AT_A_TIME = ("--threads", cores())
"""As many threads as cores: one process, where what runs beside what is not the point."""
NUMBERS = ["mean", "iqm", "median", "low", "high"]


@pytest.fixture(scope="module")
def three(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Return what three seeds from 4 on said, and the folder of their runs."""
    folder = tmp_path_factory.mktemp("three")
    told = train("balance", *TINY, "--seeds", 3, "--seed", 4, "--json", "--runs", folder)
    return told, folder


def test_every_seed_is_bit_for_bit_the_run_that_it_is_alone(three: Any, tmp_path: Path) -> None:
    told, _ = three
    assert told.code == 0, told.err
    assert [run["seed"] for run in told.json["runs"]] == [4, 5, 6]
    alone = train("balance", *TINY, "--seed", 5, "--json", "--runs", tmp_path)
    second = told.json["runs"][1]
    assert second["params_sha256"] == alone.sha
    assert len({run["params_sha256"] for run in told.json["runs"]}) == 3
    for log in ("train_episodes.jsonl", "eval_episodes.jsonl"):
        assert (Path(second["run"]) / log).read_bytes() == (alone.run / log).read_bytes()


def test_the_json_object_holds_the_runs_and_what_they_come_to(three: Any) -> None:
    told, _ = three
    assert len(told.out.splitlines()) == 1
    found = told.json
    assert list(found) == KEYS
    assert [list(run) for run in found["runs"]] == [JSON_KEYS] * 3
    assert (found["solved"], found["solved_second"], found["solved_step"], found["failed"]) == (0, None, None, [])
    assert list(found["best_eval"]) == NUMBERS
    bests = sorted(run["best_eval"] for run in found["runs"])
    assert found["best_eval"]["mean"] == found["best_eval"]["iqm"] == pytest.approx(sum(bests) / 3)
    assert found["best_eval"]["median"] == bests[1]
    assert bests[0] <= found["best_eval"]["low"] <= found["best_eval"]["high"] <= bests[2]


def test_every_run_is_an_ordinary_directory_and_the_picture_lies_beside_them(three: Any) -> None:
    told, folder = three
    listed = play("--list", "--runs", folder).out
    for run in told.json["runs"]:
        assert run["run"] in listed
        assert metadata(Path(run["run"]))["status"] == "finished"
    picture = Path(told.json["picture"])
    assert picture.parent == Path(told.json["runs"][0]["run"]).parent
    assert picture.read_bytes().startswith(b"\x89PNG")
    played = play(told.json["runs"][2]["run"], "--headless", "--json", "--episodes", 3)
    assert played.code == 0


def test_progress_and_the_table_name_every_seed(three: Any) -> None:
    told, _ = three
    assert re.search(r"^balance: 3 runs, seeds 4 to 6, \d+ at a time with \d thread", told.err, re.M)
    for seed in (4, 5, 6):
        assert f"seed {seed}: steps 3,000/3,000 100%" in told.err
        assert re.search(rf"^ +{seed}  finished  3,000 ", told.err, re.M)
    assert "0 of 3 solved" in told.err
    assert re.search(r"^best evaluation +[\d.]+ ", told.err, re.M)


def test_solved_seeds_are_counted_and_summed_up_and_a_file_of_settings_may_say_how_many(tmp_path: Path) -> None:
    easy = changed_balance(tmp_path / "easy.py", "solved_at=475", "solved_at=9")
    (tmp_path / "mine.toml").write_text("seeds = 2\n")
    more = ("--config", tmp_path / "mine.toml", *ONE_AT_A_TIME)
    told = train(easy, *TINY, "--until-solved", *more, "--json", "--runs", tmp_path / "runs")
    found = told.json
    assert [run["seed"] for run in found["runs"]] == [0, 1]
    assert (told.code, found["solved"]) == (0, 2)
    assert found["solved_step"] == dict.fromkeys(NUMBERS, 1000.0)
    assert 0 < found["solved_second"]["low"] <= found["solved_second"]["high"]
    assert "2 of 2 solved" in told.err


def test_a_seed_that_fails_is_told_and_the_others_go_on(tmp_path: Path) -> None:
    scene = tmp_path / "fails.py"
    fails = "\nimport sys\n\nif sys.argv[-2:] == ['--seed', '1']:\n    raise ValueError('no luck')\n"
    scene.write_text(BALANCE.read_text() + fails)
    told = train(scene, *TINY, *ONE_AT_A_TIME, "--seeds", 3, "--json", "--runs", tmp_path / "runs")
    found = told.json
    assert told.code == 2
    assert [run["seed"] for run in found["runs"]] == [0, 2]
    assert [(each["seed"], each["exit_code"]) for each in found["failed"]] == [(1, 2)]
    assert "no luck" in found["failed"][0]["message"]
    assert re.search(r"^train\.py: seed 1 failed, exit code 2: .*no luck", told.err, re.M)
    assert re.search(r"^ +1  failed \(2\) .*no luck", told.err, re.M)


def test_seeds_that_diverge_end_with_that_exit_code_and_have_their_objects(tmp_path: Path) -> None:
    told = train("balance", *TINY, *ONE_AT_A_TIME, "--seeds", 2, "--ppo.lr", "1e30", "--json", "--runs", tmp_path)
    assert told.code == 5, told.err
    assert [run["status"] for run in told.json["runs"]] == ["diverged", "diverged"]
    assert {each["exit_code"] for each in told.json["failed"]} == {5}


def test_what_is_wrong_with_the_command_is_told_once_and_no_run_is_made(tmp_path: Path) -> None:
    told = train("swingup", "--agent", "dqn", "--seeds", 3, "--runs", tmp_path / "runs")
    assert told.code == 2
    assert told.err.count("dqn can only choose") == 1
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (("--seeds", 2, "--watch"), "--watch shows one training: leave out --seeds"),
        (("--seeds", 2, "--check"), "--check trains nothing: leave out --seeds"),
        (("--seeds", 2, "--seed", 2**63 - 1), "--seed and --seeds together must be at most"),
        (("--seeds", 1001), "--seeds must be a whole number from 0 to 1,000, not 1001"),
        (("--seeds", 2, "--resume"), "go on with each run by itself: python train.py balance --resume RUN"),
    ],
)
def test_what_makes_no_sense_for_several_runs_is_refused(args: tuple[object, ...], words: str, tmp_path: Path) -> None:
    told = train("balance", *args, "--runs", tmp_path)
    assert told.code == 2
    assert words in told.err
    assert list(tmp_path.iterdir()) == []


def test_seeds_start_from_the_policy_of_a_checkpoint(three: Any, tmp_path: Path) -> None:
    first = Path(three[0].json["runs"][0]["run"])
    best = first / "checkpoints" / "best.safetensors"
    args = ("balance", *TINY, "--steps", 500, "--init-from", best, "--json", "--runs", tmp_path)
    together, alone = train(*args, "--seeds", 1), train(*args)
    assert together.code == 0, together.err
    assert together.json["runs"][0]["params_sha256"] == alone.sha


def latest(folder: Path) -> list[Path]:
    return list(folder.glob("*/*/*/checkpoints/latest.safetensors"))


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="POSIX signals")
@pytest.mark.parametrize("number", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.slow)])
def test_a_signal_lets_every_run_save_and_says_how_each_goes_on(number: signal.Signals, tmp_path: Path) -> None:
    process = start("train.py", "balance", *LONG, "--seeds", 3, "--threads", 1, "--json", "--runs", tmp_path)
    wait_for(lambda: bool(latest(tmp_path)), process)
    process.send_signal(number)
    told = finish(process)
    assert told.code == 0, told.err
    runs = [run for run in told.json["runs"] if run["status"] == "interrupted"]
    assert runs
    for run in runs:
        assert metadata(Path(run["run"]))["total_steps"] == run["steps"] > 0
        assert f"go on: python train.py balance --resume {run['run']}" in told.err
    assert told.err.count("again to end at once") == 1
    assert "Traceback" not in told.err
    assert (told.json["failed"], told.json["picture"]) == ([], None)
    refused = train("balance", "--seeds", 3, "--resume", "--runs", tmp_path)
    assert refused.code == 2
    assert all(f"python train.py balance --resume {run['run']}" in refused.err for run in runs)
    again = train("balance", "--resume", runs[0]["run"], "--steps", runs[0]["steps"] + 800, "--json")
    assert (again.code, again.json["status"]) == (0, "finished")


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="POSIX signals")
def test_runs_whose_command_was_killed_save_and_end(tmp_path: Path) -> None:
    process = start("train.py", "balance", *LONG, "--seeds", 2, "--threads", 1, "--runs", tmp_path)
    wait_for(lambda: bool(latest(tmp_path)), process)
    process.kill()
    process.communicate()
    end = time.monotonic() + HANGS
    while {metadata(path.parents[1])["status"] for path in latest(tmp_path)} != {"interrupted"}:
        assert time.monotonic() < end, "a run goes on although nobody can see it"
        time.sleep(0.05)


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="POSIX signals")
def test_a_run_whose_process_was_killed_goes_on_in_another_to_the_same_bits(three: Any, tmp_path: Path) -> None:
    best = Path(three[0].json["runs"][0]["run"]) / "checkpoints" / "best.safetensors"
    args = ("balance", *TINY, "--steps", "20k", "--checkpoint-every", "2k", "--init-from", best, "--json")
    process = start("train.py", *args, "--seeds", 1, "--runs", tmp_path / "runs")
    wait_for(lambda: bool(latest(tmp_path / "runs")), process)
    (checkpoint,) = latest(tmp_path / "runs")
    os.kill(json.loads((checkpoint.parents[1] / ".lock").read_text())["pid"], signal.SIGKILL)
    told = finish(process)
    assert told.code == 0, told.err
    assert "train.py: seed 0: its process died: going on from its newest checkpoints" in told.err
    (run,) = told.json["runs"]
    assert (run["run"], run["status"]) == (str(checkpoint.parents[1]), "finished")
    assert run["params_sha256"] == train(*args, "--runs", tmp_path / "alone").sha


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="POSIX signals")
def test_a_run_whose_process_dies_again_and_again_has_failed(tmp_path: Path) -> None:
    scene = tmp_path / "deadly.py"
    scene.write_text(BALANCE.read_text() + "\nimport os, sys\n\nif sys.argv[-1] == '1':\n    os.kill(os.getpid(), 9)\n")
    told = train(scene, *TINY, "--steps", 500, "--seeds", 2, "--json", "--runs", tmp_path / "runs")
    assert told.code == 128 + signal.SIGKILL
    assert [run["seed"] for run in told.json["runs"]] == [0]
    assert [(row["seed"], row["exit_code"]) for row in told.json["failed"]] == [(1, 128 + signal.SIGKILL)]
    assert "train.py: seed 1 failed, ended by SIGKILL: it said nothing" in told.err


def is_there(pid: int) -> bool:
    """Tell whether a process runs; one that has ended and waits for its parent does not."""
    try:
        return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except FileNotFoundError:
        return False


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="looks for processes as Linux shows them")
def test_a_second_signal_ends_the_command_and_its_runs_at_once(tmp_path: Path) -> None:
    # A tick that never ends: the first signal waits for it, the second does not.
    hang = "(open(f'{__file__}.{__import__(\"os\").getpid()}', 'w').close(), __import__('time').sleep(600), 1.0)[-1]"
    scene = changed_balance(tmp_path / "hangs.py", '"upright": 1.0', f'"upright": lambda: CALLS.pop()(lambda: {hang})')
    scene.write_text(scene.read_text() + "\n\nCALLS = [lambda hang: hang()] + [lambda hang: 1.0] * 50\n")
    process = start("train.py", scene, *LONG, "--seeds", 1, "--runs", tmp_path / "runs")
    wait_for(lambda: bool(list(tmp_path.glob("hangs.py.*"))), process)
    (pid,) = (int(path.suffix[1:]) for path in tmp_path.glob("hangs.py.*"))
    process.send_signal(signal.SIGINT)
    wait_for_words("again to end at once", process)
    time.sleep(1.5)  # signals within a second of each other are one
    assert process.poll() is None
    process.send_signal(signal.SIGINT)
    told = finish(process)
    assert told.code == -signal.SIGINT
    end = time.monotonic() + HANGS
    while is_there(pid):
        assert time.monotonic() < end
        time.sleep(0.05)
