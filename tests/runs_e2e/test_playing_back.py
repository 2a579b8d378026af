"""`play.py` on runs that `train.py` made: the recorded evaluation comes out again, to the last bit."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from command_runs import BALANCE, SMALL, TINY, Told, changed_balance, finish, metadata, play, rows, start, train
from readme_scenes import BEACONS
from small_learners import DQN, PPO, SAC, TD3

from ecs_rl.runs import TrainingRun
from ecs_rl.runs.lock import RunLock

KEYS = [
    *("run", "checkpoint", "step", "episodes", "mean_return", "std_return", "min_return", "max_return"),
    *("mean_length", "returns"),
]
THREE = ("--headless", "--json", "--episodes", 3)


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("playing") / "runs"


@pytest.fixture(scope="module")
def told(runs: Path) -> Told:
    return train("balance", *TINY, "--checkpoint-every", 1000, "--json", "--runs", runs)


def recorded(run: Path, step: int) -> list[float]:
    return [row["total_reward"] for row in rows(run, "eval_episodes") if row["total_steps_at_eval"] == step]


def assert_reproduces_best(played: Told, run: Path) -> None:
    assert played.code == 0, played.err
    known, found = metadata(run), played.json
    assert found["step"] == known["best_step"]
    assert found["returns"] == recorded(run, known["best_step"])
    assert found["mean_return"] == known["best_eval"]


def test_the_run_directory_is_enough(told: Told) -> None:
    played = play(told.run, *THREE)
    assert_reproduces_best(played, told.run)
    assert list(played.json) == KEYS
    assert len(played.out.splitlines()) == 1
    assert played.err == ""
    assert (played.json["run"], played.json["episodes"]) == (str(told.run), 3)
    assert played.json["checkpoint"] == str(told.run / "checkpoints" / "best.safetensors")


def test_the_numbers_follow_from_the_returns(told: Told) -> None:
    found = play(told.run, *THREE).json
    returns = found["returns"]
    mean = sum(returns) / 3
    assert found["mean_return"] == pytest.approx(mean)
    assert found["std_return"] == pytest.approx((sum((each - mean) ** 2 for each in returns) / 3) ** 0.5)
    assert (found["min_return"], found["max_return"]) == (min(returns), max(returns))
    assert found["mean_length"] == found["mean_return"]  # `balance` pays one a tick


def test_a_name_a_version_or_nothing_means_the_newest_run(told: Told, runs: Path) -> None:
    for target in (("balance",), ("balance/v1",), (runs / "balance",), (runs / "balance" / "v1",), ()):
        assert_reproduces_best(play(*target, "--runs", runs, *THREE), told.run)


def test_runs_slash_name_works_from_the_folder_that_holds_runs(
    told: Told, runs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(runs.parent)
    assert_reproduces_best(play("runs/balance", *THREE), told.run)
    assert_reproduces_best(play(*THREE), told.run)


def test_a_checkpoint_file_alone_is_enough(told: Told, tmp_path: Path) -> None:
    alone = shutil.copy(told.run / "checkpoints" / "best.safetensors", tmp_path / "brain.safetensors")
    played = play(alone, *THREE)
    assert_reproduces_best(played, told.run)
    assert played.json["run"] is None
    assert played.json["checkpoint"] == str(alone)


def test_latest_and_a_step_can_be_asked_for(told: Told) -> None:
    for asked, step in (("latest", 3000), ("3000", 3000), ("2k", 2000), ("1000", 1000)):
        played = play(told.run, "--checkpoint", asked, *THREE)
        assert (played.json["step"], played.json["returns"]) == (step, recorded(told.run, step)), asked
    assert len({tuple(recorded(told.run, step)) for step in (1000, 2000, 3000)}) > 1


@pytest.mark.parametrize(
    "args",
    [
        ("swingup", *SMALL, "--steps", 2000, *PPO),
        ("lander", *SMALL, "--steps", 2000, *PPO),
        ("balance", *SMALL, *DQN, "--threads", 2),
        ("swingup", *SMALL, *SAC),
        ("lander", *SMALL, *SAC, "--threads", 2),
        ("swingup", *SMALL, *TD3),
        ("balance", *SMALL, *PPO, "--eval-episodes", 20),
        ("beacons.py", *SMALL, *PPO),
        ("beacons.py", *SMALL, *DQN, "--eval-episodes", 20),
    ],
    ids=[
        "swingup",
        "lander",
        "dqn",
        "sac levers",
        "sac choices",
        "td3",
        "twenty episodes",
        "ppo own systems",
        "dqn own systems",
    ],
)
def test_every_scene_and_agent_plays_back_what_was_recorded(
    args: tuple[object, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("beacons.py").write_text(BEACONS)
    told = train(*args, "--json", "--runs", tmp_path)
    episodes = 20 if 20 in args else 3
    assert_reproduces_best(play(told.run, "--headless", "--json", "--episodes", episodes), told.run)


def test_other_seeds_play_other_episodes(told: Told) -> None:
    ahead = play(told.run, *THREE, "--seed", 10_001).json["returns"]
    assert ahead[:2] == play(told.run, *THREE).json["returns"][1:]
    assert play(told.run, *THREE, "--seed", 77).json["returns"] != ahead


def test_sampled_actions_repeat_with_the_same_seed_and_are_not_the_greedy_ones(told: Told) -> None:
    first, again = (play(told.run, *THREE, "--stochastic") for _ in range(2))
    assert first.code == 0
    assert first.json == again.json
    assert first.json["returns"] != play(told.run, *THREE).json["returns"]


def test_dqn_samples_with_the_exploring_that_training_had_come_to(tmp_path: Path) -> None:
    quiet = ("--dqn.epsilon-end", "0", "--dqn.epsilon-steps", "500")
    told = train("balance", *SMALL, *DQN, *quiet, "--json", "--runs", tmp_path)
    greedy, sampled = play(told.run, *THREE), play(told.run, *THREE, "--stochastic")
    assert greedy.json["step"] >= 500
    assert sampled.json["returns"] == greedy.json["returns"]


def test_people_are_told_every_episode_and_the_mean(told: Told) -> None:
    played = play(told.run, "--headless", "--episodes", 3)
    *episodes, last = played.out.splitlines()
    returns = recorded(told.run, told.json["best_step"])
    assert [line.split(":")[0] for line in episodes] == ["seed 10000", "seed 10001", "seed 10002"]
    assert all(f"{value:.1f}" in line for value, line in zip(returns, episodes, strict=True))
    assert f"step {told.json['best_step']:,}: mean {told.json['best_eval']:.1f}" in last


@pytest.mark.parametrize("more", [(), ("--json",)], ids=["lines", "json"])
def test_returns_that_nobody_reads_are_no_error(told: Told, more: tuple[str, ...]) -> None:
    process = start("play.py", told.run, "--headless", "--episodes", 3, *more)
    assert process.stdout is not None
    process.stdout.close()
    process.stdout = None  # nothing is left to read for `finish`
    played = finish(process)
    assert (played.code, played.err) == (0, "")


def test_the_list_shows_the_newest_run_last_and_names_the_broken_one(tmp_path: Path) -> None:
    old, new = (train("balance", *TINY, "--steps", 1000, "--json", "--runs", tmp_path).run for _ in range(2))
    broken = tmp_path / "balance" / "v1" / "20200101_000000"
    broken.mkdir()
    listed = play("--list", "--runs", tmp_path)
    assert listed.code == 0
    problem, _, *lines = listed.out.splitlines()[-5:]
    assert [line.split()[-1] for line in lines] == [str(broken), str(old), str(new)]
    assert "finished" in lines[2]
    assert "1,000" in lines[2]
    assert "broken" in lines[0]
    assert problem.startswith(f"{broken} is not a run that can be used: metadata.json: ")
    found = json.loads(play("--list", "--json", "--runs", tmp_path).out)
    assert [each["run"] for each in found] == [str(new), str(old), str(broken)]
    assert (found[0]["scene"], found[0]["total_steps"], found[0]["problem"]) == ("balance", 1000, None)
    assert found[2]["problem"]


def test_a_run_that_says_running_is_listed_as_killed_once_nobody_holds_its_lock(tmp_path: Path) -> None:
    def statuses() -> list[str]:
        return [each["status"] for each in json.loads(play("--list", "--json", "--runs", tmp_path).out)]

    run = TrainingRun.create("balance", "v1", tmp_path)
    known = (run.path / "metadata.json").read_bytes()
    assert statuses() == ["running"]
    run.update_metadata(status="finished")
    run.close()
    assert statuses() == ["finished"]
    (run.path / "metadata.json").write_bytes(known)
    lock = (run.path / ".lock").read_bytes()
    assert statuses() == ["killed"]
    assert (run.path / ".lock").read_bytes() == lock
    RunLock(run.path).release()  # looking has not kept it


def test_a_broken_newest_run_is_skipped_with_a_warning(told: Told, tmp_path: Path) -> None:
    good = tmp_path / "balance" / "v1" / told.run.name
    shutil.copytree(told.run, good)
    (tmp_path / "balance" / "v1" / "29990101_000000").mkdir()
    played = play("balance", "--runs", tmp_path, *THREE)
    assert_reproduces_best(played, told.run)
    assert "skipped" in played.err
    assert "29990101_000000" in played.err
    assert len(played.out.splitlines()) == 1


def test_one_flipped_bit_in_a_checkpoint_is_refused_with_3(told: Told, tmp_path: Path) -> None:
    damaged = tmp_path / "damaged.safetensors"
    data = bytearray((told.run / "checkpoints" / "best.safetensors").read_bytes())
    data[-5] ^= 1
    damaged.write_bytes(data)
    run = tmp_path / "balance" / "v1" / told.run.name
    shutil.copytree(told.run, run)
    shutil.copy(damaged, run / "checkpoints" / "best.safetensors")
    for target, file in ((damaged, damaged), (run, run / "checkpoints" / "best.safetensors")):
        played = play(target, *THREE)
        assert played.code == 3
        assert f"{file} is damaged" in played.err
        assert played.out == ""


def test_a_scene_file_that_has_gone_is_named_with_3(tmp_path: Path) -> None:
    scene = tmp_path / "mine.py"
    shutil.copy(BALANCE, scene)
    told = train(scene, *TINY, "--steps", 1000, "--json", "--runs", tmp_path / "runs")
    assert_reproduces_best(play(told.run, *THREE), told.run)
    scene.unlink()
    played = play(told.run, *THREE)
    assert played.code == 3
    assert f"scene '{scene}', and there is no such file: name it with --scene FILE" in played.err


def test_a_scene_that_has_changed_what_is_seen_is_refused_with_the_difference(tmp_path: Path) -> None:
    scene = changed_balance(tmp_path / "mine.py", "about=", "about=")
    told = train(scene, *TINY, "--steps", 1000, "--json", "--runs", tmp_path / "runs")
    changed_balance(scene, "sees=[X(cart), Vx(cart)", "sees=[X(cart), Vx(pole)")
    played = play(told.run, "--scene", scene, *THREE)
    assert played.code == 3
    assert "'policy' sees ['cart vx'] there and ['pole vx'] here" in played.err
    assert "Traceback" not in played.err
