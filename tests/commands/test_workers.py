"""One training in several processes: the same bits as in one, and a worker that is lost costs no result."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
from pages import example

from ecs_rl.cli.command_settings import TrainSettings
from ecs_rl.cli.plan import Plan, refuse_what_is_not_shared
from ecs_rl.cli.process import Answer
from ecs_rl.errors import CommandError, WorkerLostError
from ecs_rl.loading import load_scene
from ecs_rl.tasks import workers
from ecs_rl.tasks.same_everywhere import (
    contents,
    own_files,
    refuse_other_files,
    refuse_other_versions,
    versions,
)
from ecs_rl.tasks.workers import answers_of, cluster

pytest.importorskip("ray")
ROOT = Path(__file__).resolve().parents[2]
SCENE = ROOT / "scenes" / "lander.py"
MARK = "ECS_RL_TEST_OF_WORKERS"
BALANCE: tuple[str, ...] = (
    "balance",
    "--arenas",
    "64",
    "--threads",
    "1",
    "--eval-every",
    "2048",
    "--eval-episodes",
    "2",
)
BALANCE += ("--checkpoint-every", "2048")


def command(folder: Path, *flags: str) -> list[str]:
    return [sys.executable, "train.py", *flags, "--runs", str(folder), "--json"]


def trained(folder: Path, *flags: str, code: int = 0) -> dict[str, Any]:
    done = subprocess.run(command(folder, *flags), cwd=ROOT, capture_output=True, text=True, timeout=500, check=False)
    assert done.returncode == code, done.stderr[-2000:]
    return {"stderr": done.stderr, **(json.loads(done.stdout.splitlines()[-1]) if done.stdout else {})}


def workers_of(mark: str) -> Iterator[int]:
    """Yield the processes of workers that were started with this mark in their environment."""
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            is_worker = b"ray::RemoteWorker" in (entry / "cmdline").read_bytes()
            if is_worker and f"{MARK}={mark}".encode() in (entry / "environ").read_bytes().split(b"\0"):
                yield int(entry.name)
        except OSError:
            continue  # it has just ended


@pytest.mark.slow
def test_parts_of_large_minibatches_are_shared_out_and_solid_scenes_are_resumed_by_as_many(tmp_path: Path) -> None:
    flags: tuple[str, ...] = (
        "lander",
        "--arenas",
        "128",
        "--threads",
        "1",
        "--ppo.rollout",
        "32",
        "--ppo.minibatch",
        "4096",
    )
    flags += ("--eval-every", "100k", "--eval-episodes", "2", "--schedule-steps", "100k", "--workers", "2")
    whole = trained(tmp_path / "whole", *flags, "--steps", "12k")
    half = trained(tmp_path / "half", *flags, "--steps", "6k")
    resumed = ("--steps", "12k", "--resume", half["run"])
    told = trained(tmp_path / "half", *flags, "--workers", "1", *resumed, code=3)["stderr"]
    assert "2 processes trained it, and 1 cannot repeat its bits: resume it with --workers 2" in told
    assert trained(tmp_path / "half", *flags, *resumed)["params_sha256"] == whole["params_sha256"]


def test_two_processes_learn_what_one_learns_to_the_last_bit_and_either_goes_on_from_the_other(tmp_path: Path) -> None:
    together = trained(tmp_path / "two", *BALANCE, "--steps", "4k", "--schedule-steps", "100k", "--workers", "2")
    same = ("steps", "episodes", "best_eval", "best_step", "solved_step", "params_sha256")
    first = trained(tmp_path / "one", *BALANCE, "--steps", "4k", "--schedule-steps", "100k")
    assert [together[name] for name in same] == [first[name] for name in same]
    for name in ("train_episodes.jsonl", "eval_episodes.jsonl"):
        assert Path(together["run"], name).read_bytes() == Path(first["run"], name).read_bytes()
    longer = ("--steps", "7k", "--resume")
    on_alone = trained(tmp_path / "two", *BALANCE, *longer, together["run"])
    on_together = trained(tmp_path / "one", *BALANCE, *longer, first["run"], "--workers", "2")
    assert on_alone["params_sha256"] == on_together["params_sha256"]


OWN_DICE = """
    def draw(self, rows, random):
        return torch.normal(*(part.expand(rows, -1, -1) for part in self.policy.values()))
"""


@pytest.mark.parametrize(
    ("flag", "mark", "name"),
    [pytest.param("--network", "network", "Residual", marks=pytest.mark.slow), ("--agent", "algorithm", "CEM")],
)
def test_networks_and_algorithms_of_a_users_own_learn_together_what_one_process_learns(
    tmp_path: Path, flag: str, mark: str, name: str
) -> None:
    (file := tmp_path / "mine.py").write_text(example(mark))
    flags = (*BALANCE, "--steps", "4k", flag, f"{file}:{name}")
    alone, together = (trained(tmp_path / n, *flags, "--workers", n) for n in ("1", "2"))
    assert together["params_sha256"] == alone["params_sha256"]


def test_an_algorithm_whose_dice_no_seed_makes_is_told_so(tmp_path: Path) -> None:
    (file := tmp_path / "mine.py").write_text(example("algorithm") + OWN_DICE)
    told = trained(tmp_path, *BALANCE, "--agent", f"{file}:CEM", "--workers", "2", code=2)["stderr"]
    assert "the processes decide differently" in told
    assert "random numbers from generators that its seed makes" in told


def test_a_node_with_other_files_is_refused_by_their_names(tmp_path: Path) -> None:
    (scene := tmp_path / "scene.py").write_text("from parts import LEG\n")
    (parts := tmp_path / "parts.py").write_text("LEG = 1.0\n")
    (policy := tmp_path / "policy.safetensors").write_bytes(b"weights")
    settings = TrainSettings(scene=str(SCENE), agent="ppo", against=str(policy))
    assert own_files(Plan(settings, load_scene(settings.scene))) == [str(SCENE), str(policy)]
    files = [str(scene), str(policy)]
    mine = contents(files)
    refuse_other_files([contents(files), contents(files)], mine)
    parts.write_text("LEG = 2.0\n")
    with pytest.raises(CommandError, match=re.escape(f"a node of the cluster has another {scene} than there was here")):
        refuse_other_files([mine, contents(files)], mine)
    parts.write_text("LEG = 1.0\n")
    policy.unlink()
    with pytest.raises(CommandError, match=re.escape(f"a node of the cluster has no file {policy}: copy it there")):
        refuse_other_files([contents(files)], mine)


@pytest.mark.slow
def test_a_run_of_one_checkpoint_goes_on_together(tmp_path: Path) -> None:
    flags = ("balance", "--arenas", "64", "--threads", "1", "--eval-episodes", "2", "--workers", "2")
    first = trained(tmp_path, *flags, "--steps", "1k", "--schedule-steps", "100k")
    assert trained(tmp_path, *flags, "--steps", "2k", "--resume", first["run"])["steps"] == 2048


@pytest.mark.parametrize("times", [2, pytest.param(10, marks=pytest.mark.slow)])
def test_workers_that_are_killed_cost_no_result(tmp_path: Path, times: int) -> None:
    flags = (*BALANCE, "--steps", str(2048 * (2 * times + 6)), "--schedule-steps", "100k")
    undisturbed = trained(tmp_path / "one", *flags)
    running = subprocess.Popen(
        command(tmp_path / "two", *flags, "--workers", "2"),
        cwd=ROOT,
        env={**os.environ, MARK: str(tmp_path)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    killed, deadline = 0, time.monotonic() + 150 * times
    while running.poll() is None and killed < times and time.monotonic() < deadline:
        saved = [int(path.stem[5:]) for path in (tmp_path / "two").glob("balance/v1/*/checkpoints/step_*.safetensors")]
        for pid in workers_of(str(tmp_path)) if max(saved, default=0) >= 2048 * 2 * (killed + 1) else ():
            os.kill(pid, signal.SIGKILL)
            killed += 1
        time.sleep(0.05)
    stdout, stderr = running.communicate(timeout=400)
    assert running.returncode == 0, stderr[-2000:]
    assert killed == stderr.count("going on from step") == times
    assert json.loads(stdout.splitlines()[-1])["params_sha256"] == undisturbed["params_sha256"]


@pytest.mark.parametrize(
    ("flags", "told"),
    [
        (("balance", "--arenas", "65"), "65 arenas cannot be shared out evenly among 2 processes: take --arenas 64"),
        (("balance", "--ray", "127.0.0.1:1"), "--ray 127.0.0.1:1: nothing answers there"),
        (("balance", "--ray", "nowhere"), "--ray nowhere: an address is HOST:PORT, or auto"),
        (("balance", "--seeds", "2"), "--workers cannot be used with --seeds"),
        (("gym:CartPole-v1",), "gym:CartPole-v1: environments of Gymnasium live in one process; leave one of them out"),
    ],
)
def test_what_cannot_be_shared_out_is_told_in_one_sentence(tmp_path: Path, flags: tuple[str, ...], told: str) -> None:
    answer = trained(tmp_path, *flags, "--workers", "2", code=2)
    assert told in answer["stderr"]
    assert answer["stderr"].count("\n") == 1
    assert not list(tmp_path.iterdir())


def test_more_processes_than_this_machine_can_have_are_refused_and_a_cluster_may_have_them() -> None:
    plan = Plan(TrainSettings(scene="balance", agent="ppo", arenas=100_000, workers=1000), load_scene("balance"))
    with pytest.raises(CommandError, match=r"--workers 1000: this machine has \d+ cores, .*: take at most \d+$"):
        refuse_what_is_not_shared(plan)
    refuse_what_is_not_shared(plan.changed(ray="10.0.0.1:6379"))


HURTS = """
import sys
from ecs_rl.scene import *

SCENE = Scene(about="It hurts in a worker alone.", max_ticks=50)

def build(arena):
    ball = arena.spawn("ball", Body(mass=1.0), Disc(0.5), Start(x=jitter(0.05)))

    def hurts():
        if abs(ball.x).max() > 0.5 and not sys.argv[0].endswith("train.py"):
            raise ValueError("this hurts")
        return ball.x

    arena.agent(sees=[X(ball)], does=Choice(left=Push(ball, -9.0), right=Push(ball, 9.0)), earns={"x": hurts})
"""


def test_what_goes_wrong_in_a_worker_alone_is_told_by_its_line(tmp_path: Path) -> None:
    (scene := tmp_path / "hurts.py").write_text(HURTS)
    told = trained(tmp_path, str(scene), "--arenas", "64", "--threads", "1", "--workers", "2", code=2)["stderr"]
    assert "hurts.py, line 12: ValueError: this hurts" in told
    assert "Traceback" not in told


def test_a_machine_that_dies_before_the_new_worker_came_up_is_one_loss_more(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    gone, run = WorkerLostError("a worker did not come up"), Path("runs/balance/v1/now")
    told, resumed = list[Any](), list[str | None]()

    def train_once(plan: Plan, answer: Answer) -> int:
        resumed.append(plan.settings.resume)
        if (problem := told.pop(0)) is not None:
            raise problem
        return 0

    monkeypatch.setattr(workers, "cluster", lambda *asked: nullcontext())
    monkeypatch.setattr(workers, "train_once", train_once)
    plan = Plan(TrainSettings(scene="balance", agent="ppo", workers=2), load_scene("balance"))
    told[:] = [workers.Lost("worker 1 is gone", run, 700), gone, None]
    assert workers.run_together(plan, Answer(print)) == 0
    assert resumed == [None, str(run), str(run)]
    went_on = "going on from step 700 with a new one"
    said = [f"train.py: worker 1 is gone: {went_on}", f"train.py: a worker did not come up: {went_on}"]
    assert capsys.readouterr().err.splitlines() == said
    for told[:] in ([gone], [workers.Lost("gone", run, 700), gone, gone, gone, None]):
        with pytest.raises(WorkerLostError):
            workers.run_together(plan, Answer(print))
    assert told == [None], "it gives up where one loss follows another without a new checkpoint"


def test_workers_for_which_there_is_no_place_yet_are_told_of(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    came = iter([[], ["a"], ["a", "b"]])

    def wait(asked: list[str], *, num_returns: int, timeout: float) -> tuple[list[str], list[str]]:
        there = next(came)
        return there, [each for each in asked if each not in there]

    monkeypatch.setattr("ray.wait", wait)
    monkeypatch.setattr("ray.get", lambda asked: [each.upper() for each in asked])
    monkeypatch.setattr("ray.available_resources", lambda: {"CPU": 1.0})
    assert answers_of(["a", "b"]) == ["A", "B"]
    told = "train.py: {} of 2 workers have not come up yet; the cluster has 1 free cores: waiting"
    assert capsys.readouterr().err.splitlines() == [told.format(2), told.format(1)]


@pytest.mark.parametrize("name", ["python", "torch", "ray", "ecs_rl"])
def test_a_node_with_another_version_is_refused_by_name(name: str) -> None:
    mine = versions()
    refuse_other_versions([mine, mine])
    told = f"a node of the cluster has {name} 0.0, and this machine {mine[name]}: install the same everywhere"
    with pytest.raises(CommandError, match=re.escape(told)):
        refuse_other_versions([mine, {**mine, name: "0.0"}])


@pytest.mark.parametrize(
    "told",
    [
        "Version mismatch: The cluster was started with:\n    Ray: 2.40.0\n    Python: 3.11.7\nThis process was ...",
        "Failed to connect to Ray cluster at 10.0.0.1:6379",
    ],
)
def test_a_cluster_that_ray_refuses_is_told_in_one_line(told: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(**options: object) -> None:
        raise RuntimeError(told)

    monkeypatch.setattr("ray.init", refuse)
    monkeypatch.setattr("ecs_rl.tasks.workers.refuse_nobody", lambda address: None)
    with (
        pytest.raises(CommandError, match=r"--ray 10.0.0.1:6379: the cluster cannot be used: ") as caught,
        cluster("10.0.0.1:6379", 1, 1, "--workers 2"),
    ):
        raise AssertionError
    assert "\n" not in str(caught.value)
