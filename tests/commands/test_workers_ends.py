"""How a training of several processes ends: by a signal, by the death of one of them, or by a mistake in one."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import pytest
from small_learners import PPO
from worker_runs import (
    BALANCE,
    ended,
    nobody_stays,
    same_run,
    saved,
    started,
    trained,
    wait_until,
    workers_of,
)

from ecs_rl.cli.command_settings import TrainSettings
from ecs_rl.cli.plan import Plan
from ecs_rl.cli.process import Answer
from ecs_rl.errors import WorkerLostError
from ecs_rl.loading import load_scene
from ecs_rl.tasks import workers

pytestmark = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="this system has no /proc")
LONG = (*BALANCE, *PPO, "--schedule-steps", "1M", "--workers", "2")


@pytest.mark.parametrize("number", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.slow)])
def test_a_signal_to_all_of_them_saves_and_the_run_goes_on_to_what_an_undisturbed_one_learns(
    tmp_path: Path, number: signal.Signals
) -> None:
    running = started(tmp_path, *LONG, "--steps", "1M")
    run = saved(tmp_path, running)
    os.killpg(running.pid, number)
    told, stderr = ended(running)
    assert running.returncode == 0, stderr[-2000:]
    assert told["status"] == "interrupted"
    assert f"{number.name}: saving after this tick" in stderr
    assert "Traceback" not in stderr
    assert nobody_stays(tmp_path)
    steps = str(told["steps"] + 4096)
    straight = trained(tmp_path / "straight", *LONG, "--steps", steps)
    assert same_run(trained(tmp_path, *LONG, "--steps", steps, "--resume", str(run)), straight)


def test_a_signal_while_they_come_up_ends_all_at_once(tmp_path: Path) -> None:
    running = started(tmp_path, *LONG, "--steps", "1M")
    wait_until(lambda: workers_of(tmp_path), running)
    os.killpg(running.pid, signal.SIGINT)
    _, stderr = ended(running)
    assert running.returncode in (0, 130), stderr[-2000:]
    assert "Traceback" not in stderr
    assert nobody_stays(tmp_path)


def test_where_the_first_process_is_killed_nobody_stays_and_resume_goes_on(tmp_path: Path) -> None:
    running = started(tmp_path, *LONG, "--steps", "1M")
    run = saved(tmp_path, running)
    running.kill()
    running.communicate(timeout=300)
    assert nobody_stays(tmp_path)
    newest = max(int(path.stem[5:]) for path in run.glob("checkpoints/step_*"))
    steps = str(newest + 4096)
    straight = trained(tmp_path / "straight", *LONG, "--steps", steps)
    on = trained(tmp_path, *LONG, "--steps", steps, "--resume", str(run))
    assert on["params_sha256"] == straight["params_sha256"]


def test_where_the_first_process_is_killed_while_they_come_up_nobody_stays(tmp_path: Path) -> None:
    running = started(tmp_path, *LONG, "--steps", "1M")
    wait_until(lambda: workers_of(tmp_path), running)
    running.kill()
    running.communicate(timeout=300)
    assert nobody_stays(tmp_path)


@pytest.mark.parametrize("times", [1, pytest.param(5, marks=pytest.mark.slow)])
def test_a_worker_that_is_killed_costs_the_time_since_the_newest_checkpoint(tmp_path: Path, times: int) -> None:
    flags = (*LONG, "--steps", str(2048 * (2 * times + 4)))
    running = started(tmp_path / "killed", *flags)
    for killed in range(times):
        saved(tmp_path / "killed", running, 4096 * (killed + 1))
        (worker,) = wait_until(lambda: workers_of(tmp_path / "killed"), running)
        os.kill(worker, signal.SIGKILL)
    told, stderr = ended(running)
    assert running.returncode == 0, stderr[-2000:]
    assert stderr.count("with a new one") == times
    assert "train.py: a worker is gone: " in stderr
    assert "Traceback" not in stderr
    undisturbed = trained(tmp_path / "undisturbed", *flags)
    assert same_run(told, undisturbed)
    assert nobody_stays(tmp_path / "killed")


@pytest.mark.slow
def test_one_of_several_workers_that_is_killed_is_replaced(tmp_path: Path) -> None:
    flags = (*LONG[:-1], "4", "--steps", "14k")
    running = started(tmp_path, *flags)
    saved(tmp_path, running)
    os.kill(workers_of(tmp_path)[1], signal.SIGKILL)
    told, stderr = ended(running)
    assert running.returncode == 0, stderr[-2000:]
    assert stderr.count("with a new one") == 1, stderr
    assert told["status"] == "finished"
    assert nobody_stays(tmp_path)


def test_a_worker_that_is_killed_while_it_comes_up_is_replaced_or_said(tmp_path: Path) -> None:
    running = started(tmp_path, *LONG, "--steps", "4k")
    (worker,) = wait_until(lambda: workers_of(tmp_path), running)
    os.kill(worker, signal.SIGKILL)
    _, stderr = ended(running)
    assert running.returncode == 1, stderr[-2000:]
    assert "train.py: a worker did not come up" in stderr
    assert stderr.count("\n") == 1
    assert nobody_stays(tmp_path)


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


def test_what_goes_wrong_in_a_worker_alone_is_said_by_its_line(tmp_path: Path) -> None:
    (scene := tmp_path / "hurts.py").write_text(HURTS)
    flags = (str(scene), "--arenas", "64", "--threads", "1", "--workers", "2", "--steps", "100k")
    stderr = trained(tmp_path, *flags, code=2)["stderr"]
    assert "hurts.py, line 12: ValueError: this hurts" in stderr
    assert "Traceback" not in stderr


def test_a_training_that_diverges_says_so_once(tmp_path: Path) -> None:
    flags = (*LONG, "--steps", "20k", "--ppo.lr", "1e30", "--ppo.max-grad-norm", "1e30")
    stderr = trained(tmp_path, *flags, code=5)["stderr"]
    assert stderr.count("train.py: training diverged: ") == 1
    assert "Traceback" not in stderr


def test_it_gives_up_where_one_loss_follows_another_without_a_new_checkpoint(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run, resumed, losses = Path("runs/balance/v1/now"), list[str | None](), list[int]()

    def train_as_first(plan: Plan, answer: Answer, others: Any) -> int:
        resumed.append(plan.settings.resume)
        if losses:
            raise workers.Lost("worker 1 is gone", run, losses.pop(0))
        return 0

    class Nobody:
        def __init__(self, settings: TrainSettings, folder: Path) -> None:
            pass

        def end(self) -> None:
            pass

    monkeypatch.setattr(workers, "StartedHere", Nobody)
    monkeypatch.setattr(workers, "train_as_first", train_as_first)
    plan = Plan(TrainSettings(scene="balance", agent="ppo", workers=2), load_scene("balance"))
    losses[:] = [700, 700, 1400]
    assert workers.run_together(plan, Answer(print)) == 0
    assert resumed == [None, *[str(run)] * 3]
    said = capsys.readouterr().err.splitlines()
    assert said[0] == "train.py: worker 1 is gone: going on from step 700 with a new one"
    losses[:] = [1400] * 9
    with pytest.raises(WorkerLostError):
        workers.run_together(plan, Answer(print))
    assert len(losses) == 9 - 1 - workers.MOST_LOSSES
