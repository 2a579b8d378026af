"""How a training of several processes ends: by a signal, by the death of one of them, or beside another training."""

from __future__ import annotations

import contextlib
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
from process_groups import start_group
from test_workers import BALANCE, MARK, command, trained, workers_of

LONG = (*BALANCE, "--schedule-steps", "1M")


def started(folder: Path, *flags: str) -> subprocess.Popen[str]:
    return start_group(command(folder, *flags), {**os.environ, MARK: str(folder)})


def saved(folder: Path, process: subprocess.Popen[str]) -> Path:
    """Wait for the second checkpoint of the only run in this folder."""
    deadline = time.monotonic() + 400
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
    stdout, stderr = running.communicate(timeout=300)
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
    running.communicate(timeout=300)
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


def processes_of(session: int) -> dict[int, str]:
    """Return the processes of a session that still run, each with its command line; the dead are not counted."""
    found = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            state, _, _, its_session, *_ = path.read_text().rpartition(")")[2].split()
            if int(its_session) == session and state != "Z":
                found[int(path.parent.name)] = (path.parent / "cmdline").read_bytes().decode()
    return found


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="this system has no /proc")
def test_nothing_of_ray_stays_where_the_first_process_is_killed(tmp_path: Path) -> None:
    running = started(tmp_path, *LONG, "--steps", "1M", "--workers", "2")
    saved(tmp_path, running)
    there = processes_of(running.pid)
    assert any("DashboardAgent" in name for name in there.values()), "by itself it would stay for more than a minute"
    running.kill()
    deadline = time.monotonic() + 30
    while processes_of(running.pid) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not processes_of(running.pid)
    running.communicate()


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="this system has no /proc")
@pytest.mark.parametrize(
    "name",
    ["/raylet/raylet", *(pytest.param(name, marks=pytest.mark.slow) for name in ("DashboardAgent", "gcs_server"))],
)
def test_a_training_ends_and_says_so_where_a_process_of_ray_is_killed(tmp_path: Path, name: str) -> None:
    running = started(tmp_path, *LONG, "--steps", "1M", "--workers", "2")
    run = saved(tmp_path, running)
    (pid,) = (pid for pid, line in processes_of(running.pid).items() if name in line.replace("\0", " ").split(" --")[0])
    os.kill(pid, signal.SIGKILL)
    stderr = running.communicate(timeout=300)[1]
    assert running.returncode == 1
    assert "Ray has stopped on this machine: its process " in stderr
    assert "--resume" in stderr.splitlines()[-1]
    assert not stay(tmp_path)
    steps = json.loads((run / "metadata.json").read_text())["total_steps"] + 4096
    assert trained(tmp_path, *LONG, "--steps", str(steps), "--resume", str(run), "--workers", "2")["steps"] >= steps
