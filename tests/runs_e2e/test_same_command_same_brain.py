"""The same arguments give the same parameters, whatever else is different: the process, its hashes, its threads."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from command_runs import BALANCE, JSON_KEYS, ROOT, SMALL, TINY, Told, finish, start, train
from readme_scenes import BEACONS
from small_learners import DQN, PPO

AGENTS = {"ppo": PPO, "dqn": DQN}
SCENES = ("balance", "beacons")
PINNED = """
import os, sys
os.sched_setaffinity(0, map(int, sys.argv[1].split(",")))
from ecs_rl.commands.train import main
sys.exit(main(sys.argv[2:]))
"""


def file_of(scene: str, folder: Path) -> str:
    """Return what names a scene on a command line: `beacons` is the README's, with systems of its own."""
    if scene != "beacons":
        return scene
    path = folder / "beacons.py"
    path.write_text(BEACONS)
    return str(path)


def pinned(cores: Sequence[int], *args: object) -> Told:
    """Run `train.py ARGS` in a process of its own that has these cores alone from its first line on."""
    done = subprocess.run(
        [sys.executable, "-c", PINNED, ",".join(map(str, cores)), *map(str, args)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    return Told(done.returncode, done.stdout, done.stderr)


@pytest.mark.parametrize("scene", SCENES)
def test_another_process_with_another_hash_seed_comes_to_the_same_parameters(scene: str, tmp_path: Path) -> None:
    named = file_of(scene, tmp_path)
    commands = {name: (named, *SMALL, *more, "--json", "--runs", tmp_path) for name, more in AGENTS.items()}
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
        ("beacons", ("--ppo.minibatch", 1024, "--ppo.rollout", 8)),
        ("beacons", DQN),
    ],
    ids=["ppo balance", "ppo lander", "dqn balance", "ppo own systems", "dqn own systems"],
)
def test_the_number_of_threads_changes_no_bit(scene: str, more: tuple[object, ...], tmp_path: Path) -> None:
    # Enough arenas and rows that two threads really share the physics and the two networks.
    args = (
        file_of(scene, tmp_path),
        *SMALL,
        "--arenas",
        512,
        "--steps",
        "16k",
        "--eval-every",
        "1M",
        *more,
        "--json",
        "--runs",
        tmp_path,
    )
    one, two = (train(*args, "--threads", threads) for threads in (1, 2))
    assert one.code == two.code == 0
    assert one.sha == two.sha
    assert (one.run / "train_episodes.jsonl").read_bytes() == (two.run / "train_episodes.jsonl").read_bytes()


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="the number of cores is not up to a process here")
@pytest.mark.parametrize("scene", [SCENES[0], *(pytest.param(each, marks=pytest.mark.slow) for each in SCENES[1:])])
def test_the_number_of_cores_changes_no_bit(scene: str, tmp_path: Path) -> None:
    more = ("--arenas", 256, "--steps", "8k", "--ppo.minibatch", 1024, "--ppo.rollout", 8, "--ppo.hidden", 16)
    args = (file_of(scene, tmp_path), *SMALL, *more, "--json", "--runs", tmp_path / "runs")
    every = sorted(os.sched_getaffinity(0))
    ways = ((every[:1], ()), (every[-1:], ("--threads", 2)), (every, ()), (every, ("--threads", 1)))
    told = [pinned(cores, *args, *threads) for cores, threads in ways]
    assert [each.code for each in told] == [0] * len(told), [each.err for each in told]
    assert len({each.sha for each in told}) == 1
    assert len({(each.run / "train_episodes.jsonl").read_bytes() for each in told}) == 1


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
