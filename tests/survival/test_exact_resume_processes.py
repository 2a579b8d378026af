"""Real processes, real signals: SIGINT and SIGTERM end a life, `--resume` begins the next, and nobody can tell.

More of it: `python -m pytest -m slow tests/survival/test_exact_resume_processes.py`.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from exact_resume_cases import ARENAS, BOTH, CASES, CHECKPOINT, STEPS, Case, Trained
from survival_runs import ROOT, Life, Told, assert_same_end, assert_same_logs, newest_step, train, wait_until

NAMED = {case.name: case for case in CASES}
SECOND = 125
"""Ticks of the second checkpoint, at 1,000 steps."""
SAME = ("steps", "episodes", "best_eval", "best_step", "solved_step")


def stopped(trained: Trained, args: tuple[str, ...], name: str, step: int, number: signal.Signals) -> Told:
    """Live until the tick that reaches `step`; the signal comes in the middle of it."""
    told = Life(args, trained.folder / name, (step, number)).end()
    assert (told.json["status"], told.json["steps"]) == ("interrupted", step), told.err
    assert f"stopping ({number.name})" in told.err
    return told


@pytest.mark.parametrize(
    "case",
    [
        NAMED["ppo balance"],
        pytest.param(NAMED["dqn balance"], marks=pytest.mark.slow),
        pytest.param(NAMED["ppo swingup"], marks=pytest.mark.slow),
        pytest.param(NAMED["dqn lander"], marks=pytest.mark.slow),
        NAMED["ppo by path"],
        NAMED["ppo two policies"],
        NAMED["ppo own systems"],
        pytest.param(NAMED["dqn own systems"], marks=pytest.mark.slow),
    ],
    ids=lambda case: case.name,
)
def test_signals_in_a_row_to_real_processes_change_nothing(case: Case, tmp_path: Path) -> None:
    trained = Trained(case, tmp_path)
    wanted = trained.whole()
    args = trained.args("signals", "--steps", STEPS)
    for tick, number in ((100, signal.SIGINT), (171, signal.SIGTERM), (172, signal.SIGINT), (188, signal.SIGTERM)):
        run = stopped(trained, args, f"life-{tick}", tick * ARENAS, number).run
        args = trained.again(run)
    resumed = Life(args, tmp_path / "last").end()
    assert resumed.sha == wanted.sha
    assert_same_logs(resumed.run, wanted.run)
    assert_same_end(resumed.run, wanted.run)


@pytest.mark.parametrize("tick", [SECOND - 1, SECOND, SECOND + 1, SECOND + 30, BOTH - 1, BOTH])
@pytest.mark.parametrize(
    "case",
    [
        NAMED["ppo own systems"],
        NAMED["dqn own systems"],
        NAMED["iql from data"],
        pytest.param(NAMED["td3 from data"], marks=pytest.mark.slow),
        pytest.param(NAMED["ppo self-play"], marks=pytest.mark.slow),
    ],
    ids=lambda case: case.name,
)
def test_kill_9_before_at_and_after_a_checkpoint_changes_nothing(case: Case, tick: int, tmp_path: Path) -> None:
    trained = Trained(case, tmp_path)
    wanted = trained.whole()
    args = trained.args("killed", "--steps", STEPS)
    killed = Life(args, tmp_path / "killed-said", (tick * ARENAS, signal.SIGKILL)).end()
    assert killed.code == -signal.SIGKILL, killed.err
    left = {CHECKPOINT, SECOND, BOTH}
    assert newest_step(tmp_path, "killed") == max(at for at in left if at <= tick) * ARENAS
    resumed = Life(trained.again(trained.run_named("killed")), tmp_path / "resumed").end()
    assert resumed.sha == wanted.sha
    assert {key: resumed.json[key] for key in SAME} == {key: wanted.json[key] for key in SAME}
    assert_same_logs(resumed.run, wanted.run)
    assert_same_end(resumed.run, wanted.run)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6))
def test_signals_from_outside_at_random_moments_change_nothing(seed: int, tmp_path: Path) -> None:
    rng = random.Random(seed)
    trained = Trained(CASES[0], tmp_path)
    steps = ("--steps", 20_000)
    wanted = train(*trained.args("whole", *steps))
    args, lives, told = trained.args("signals", *steps), 0, None
    while told is None or told.json["status"] == "interrupted":
        begins = newest_step(tmp_path, "signals")
        life = Life(args, tmp_path / f"life-{lives}")
        if wait_until(lambda begins=begins: newest_step(tmp_path, "signals") > begins, life):
            time.sleep(rng.uniform(0.0, 0.1))
            life.send(rng.choice((signal.SIGINT, signal.SIGTERM)))
        told, lives = life.end(), lives + 1
        args = trained.again(told.run, *steps)
    assert lives > 2
    assert told.sha == wanted.sha
    assert_same_logs(told.run, wanted.run)
    assert_same_end(told.run, wanted.run)


def test_a_new_interpreter_goes_on_with_what_another_began(tmp_path: Path) -> None:
    # The lives above are forks of one process; this one shares nothing with the one before but the directory.
    trained = Trained(CASES[0], tmp_path)
    wanted = trained.whole()
    first = stopped(trained, trained.args("fresh", "--steps", STEPS), "first", 1200, signal.SIGTERM)
    fresh = fresh_interpreter(trained.again(first.run))
    assert fresh.sha == wanted.sha
    assert_same_logs(fresh.run, wanted.run)
    assert_same_end(fresh.run, wanted.run)


def fresh_interpreter(args: tuple[str, ...]) -> Told:
    done = subprocess.run(
        [sys.executable, str(ROOT / "train.py"), *args, "--json"],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env={**os.environ, "PYTHONHASHSEED": "4711"},
    )
    return Told(done.returncode, done.stdout, done.stderr)
