"""The same arguments give the same parameters, whatever else is different: the process, its hashes, its threads."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from command_runs import BALANCE, DQN, JSON_KEYS, PPO, SMALL, TINY, finish, start, train

AGENTS = {"ppo": PPO, "dqn": DQN}


def test_another_process_with_another_hash_seed_comes_to_the_same_parameters(tmp_path: Path) -> None:
    commands = {name: ("balance", *SMALL, *more, "--json", "--runs", tmp_path) for name, more in AGENTS.items()}
    started = {
        (name, seed): start("train.py", *args, hash_seed=seed)
        for seed, (name, args) in zip(("1", "4711"), commands.items(), strict=True)
    }
    here = {name: train(*args) for name, args in commands.items()}
    for (name, _), process in started.items():
        there = finish(process)
        assert there.code == 0, there.err
        assert there.sha == here[name].sha
        # What a shell sees of a real process: one line on stdout, progress on stderr.
        assert len(there.out.splitlines()) == 1
        assert list(there.json) == JSON_KEYS
        assert "3,000/3,000 100%" in there.err
    assert here["ppo"].sha != here["dqn"].sha


@pytest.mark.parametrize("agent", AGENTS)
def test_the_same_arguments_twice_give_the_same_parameters_and_episodes(agent: str, tmp_path: Path) -> None:
    args = ("balance", *SMALL, *AGENTS[agent], "--json", "--runs", tmp_path)
    one, other, another_seed = train(*args), train(*args), train(*args, "--seed", 1)
    assert one.run != other.run
    assert one.sha == other.sha != another_seed.sha
    for log in ("train_episodes.jsonl", "eval_episodes.jsonl"):
        assert (one.run / log).read_bytes() == (other.run / log).read_bytes()
    best = Path("checkpoints", "best.safetensors")
    assert (one.run / best).read_bytes() == (other.run / best).read_bytes()


@pytest.mark.parametrize(
    ("scene", "more"),
    [
        ("balance", ("--ppo.minibatch", 1024, "--ppo.rollout", 8)),
        ("lander", ("--ppo.minibatch", 1024, "--ppo.rollout", 8)),
        ("balance", DQN),
    ],
    ids=["ppo balance", "ppo lander", "dqn balance"],
)
def test_the_number_of_threads_changes_no_bit(scene: str, more: tuple[object, ...], tmp_path: Path) -> None:
    # Enough arenas and rows that two threads really share the physics and the two networks.
    args = (scene, *SMALL, "--arenas", 512, "--steps", "16k", "--eval-every", "1M", *more, "--json", "--runs", tmp_path)
    one, two = (train(*args, "--threads", threads) for threads in (1, 2))
    assert one.code == two.code == 0
    assert one.sha == two.sha
    assert (one.run / "train_episodes.jsonl").read_bytes() == (two.run / "train_episodes.jsonl").read_bytes()


@pytest.mark.parametrize("agent", AGENTS)
def test_evaluating_often_or_never_gives_the_same_parameters(agent: str, tmp_path: Path) -> None:
    args = ("balance", *SMALL, *AGENTS[agent], "--json", "--runs", tmp_path)
    often, never = train(*args, "--eval-every", 100), train(*args, "--eval-every", "100M")
    assert often.sha == never.sha
    assert len((often.run / "eval_episodes.jsonl").read_text().splitlines()) == 3 * 30
    assert len((never.run / "eval_episodes.jsonl").read_text().splitlines()) == 3


def test_more_evaluation_episodes_and_checkpoints_do_not_disturb_training_either(tmp_path: Path) -> None:
    few = train("balance", *TINY, "--json", "--runs", tmp_path)
    many = train(
        "balance", *TINY, "--eval-episodes", 11, "--checkpoint-every", 300, "--keep", 1, "--json", "--runs", tmp_path
    )
    assert few.sha == many.sha


def test_a_scene_by_path_learns_exactly_like_the_same_scene_by_name(tmp_path: Path) -> None:
    scene = tmp_path / "my balance.py"
    shutil.copy(BALANCE, scene)
    by_name = train("balance", *TINY, "--json", "--runs", tmp_path / "runs")
    by_path, again = (train(scene, *TINY, "--json", "--runs", tmp_path / "runs") for _ in range(2))
    assert by_path.code == 0, by_path.err
    assert by_path.sha == again.sha == by_name.sha
    assert by_path.run.parent.parent == tmp_path / "runs" / "my_balance"
    assert by_path.json["scene"] == str(scene)
