"""How a training of several processes ends: by a signal, by the death of one of them, or beside another training."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from test_workers import BALANCE, MARK, ROOT, command, trained, workers_of

LONG = (*BALANCE, "--schedule-steps", "1M")


def started(folder: Path, *flags: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        command(folder, *flags),
        cwd=ROOT,
        env={**os.environ, MARK: str(folder)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,  # so that a signal can reach all of them, as Ctrl-C does in a terminal
    )


def saved(folder: Path, process: subprocess.Popen[str]) -> Path:
    """Wait for the second checkpoint of the only run in this folder."""
    deadline = time.monotonic() + 200
    while time.monotonic() < deadline and process.poll() is None:
        if found := list(folder.glob("balance/v1/*/checkpoints/step_4096.safetensors")):
            return found[0].parents[1]
        time.sleep(0.05)
    process.kill()
    raise AssertionError(process.communicate()[1][-2000:])


def stay(folder: Path) -> list[int]:
    """Return the workers that are still there after a while, as they should not be without the first process."""
    deadline = time.monotonic() + 60
    while list(workers_of(str(folder))) and time.monotonic() < deadline:
        time.sleep(0.1)
    return list(workers_of(str(folder)))


@pytest.mark.parametrize("number", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.slow)])
def test_a_signal_to_all_of_them_saves_and_the_run_goes_on_to_what_an_undisturbed_one_learns(
    tmp_path: Path, number: signal.Signals
) -> None:
    running = started(tmp_path, *LONG, "--steps", "1M", "--workers", "2")
    run = saved(tmp_path, running)
    os.killpg(running.pid, number)
    stdout, stderr = running.communicate(timeout=100)
    assert running.returncode == 0, stderr[-2000:]
    told = json.loads(stdout.splitlines()[-1])
    assert told["status"] == "interrupted"
    assert f"{number.name}: saving after this tick" in stderr
    assert "Traceback" not in stderr
    assert not stay(tmp_path)
    steps = str(told["steps"] + 4096)
    alone = trained(tmp_path / "alone", *LONG, "--steps", steps)
    on = trained(tmp_path, *LONG, "--steps", steps, "--resume", str(run), "--workers", "2")
    assert on["params_sha256"] == alone["params_sha256"]


def test_where_the_first_process_is_killed_resume_goes_on(tmp_path: Path) -> None:
    running = started(tmp_path, *LONG, "--steps", "1M", "--workers", "2")
    run = saved(tmp_path, running)
    running.kill()
    running.communicate(timeout=100)
    assert not stay(tmp_path)
    steps = str(4096 * 4)
    alone = trained(tmp_path / "alone", *LONG, "--steps", steps)
    newest = max(int(path.stem[5:]) for path in run.glob("checkpoints/step_*"))
    assert 4096 <= newest < int(steps)
    on = trained(tmp_path, *LONG, "--steps", steps, "--resume", str(run), "--workers", "2")
    assert on["params_sha256"] == alone["params_sha256"]


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Yield the address of a cluster of this machine that runs already."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    ray = [str(Path(sys.executable).with_name("ray"))]
    monkeypatch.setenv("RAY_AUTH_MODE", "disabled")  # whatever this machine's Ray does unless told
    env = {**os.environ, "RAY_USAGE_STATS_ENABLED": "0"}
    start = ["start", "--head", f"--port={port}", "--num-cpus=4", "--block", "--include-dashboard=false"]
    folder = tempfile.mkdtemp(prefix="ray", dir="/tmp")  # short, for names of sockets; and nobody's usual cluster
    head = subprocess.Popen(
        [*ray, *start, f"--temp-dir={folder}"], env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    deadline = time.monotonic() + 90
    while time.monotonic() < deadline:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            break
        except OSError:
            time.sleep(0.2)
    yield f"127.0.0.1:{port}"
    head.terminate()
    head.wait(60)
    shutil.rmtree(folder, ignore_errors=True)


@pytest.mark.slow
def test_two_trainings_and_a_sweep_on_one_cluster_do_not_disturb_each_other(tmp_path: Path, cluster: str) -> None:
    flags = (*LONG, "--steps", "6k")
    seeds = ("3", "4")
    together = ("--workers", "2", "--ray", cluster)
    running = [started(tmp_path / seed, *flags, *together, "--seed", seed) for seed in seeds]
    running.append(
        started(tmp_path / "sweep", *flags, "--ray", cluster, "--no-early-stopping", "--sweep", "ppo.lr=1e-3,2e-3")
    )
    told = [process.communicate(timeout=300) for process in running]
    assert [process.returncode for process in running] == [0, 0, 0], [err[-2000:] for _, err in told]
    *brains, sweep = [json.loads(out.splitlines()[-1]) for out, _ in told]
    alone = [trained(tmp_path / "a", *flags, "--seed", seed)["params_sha256"] for seed in seeds]
    assert [each["params_sha256"] for each in brains] == alone
    for trial in sweep["trials"]:
        again = trained(tmp_path / "a", *flags, "--ppo.lr", str(trial["settings"]["ppo.lr"]))
        assert [run["params_sha256"] for run in trial["runs"]] == [again["params_sha256"]]
    assert sweep["status"] == "finished"
