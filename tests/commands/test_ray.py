"""Processes that Ray starts on a cluster: they come to the bits of those that are started here."""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from small_learners import PPO
from worker_runs import BALANCE, same_run, trained, wait_until

from ecs_rl.errors import CommandError
from ecs_rl.tasks.ray_cluster import answers_of, cluster

pytest.importorskip("ray")


@pytest.mark.parametrize(
    ("address", "message"),
    [("127.0.0.1:1", "nothing answers there"), ("nowhere", "an address is HOST:PORT, or auto")],
)
def test_an_address_without_a_cluster_is_refused_in_one_sentence(tmp_path: Path, address: str, message: str) -> None:
    stderr = trained(tmp_path, "balance", "--workers", "2", "--ray", address, code=2)["stderr"]
    assert f"--ray {address}: {message}" in stderr
    assert stderr.count("\n") == 1


def test_workers_for_which_there_is_no_place_yet_are_said(
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
    said = "train.py: {} of 2 workers have not come up yet; the cluster has 1 free cores: waiting"
    assert capsys.readouterr().err.splitlines() == [said.format(2), said.format(1)]


@pytest.mark.parametrize(
    "message",
    [
        "Version mismatch: The cluster was started with:\n    Ray: 2.40.0\n    Python: 3.11.7\nThis process was ...",
        "Failed to connect to Ray cluster at 10.0.0.1:6379",
    ],
)
def test_a_cluster_that_ray_refuses_is_said_in_one_line(message: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(**options: object) -> None:
        raise RuntimeError(message)

    monkeypatch.setattr("ray.init", refuse)
    monkeypatch.setattr("ecs_rl.tasks.ray_cluster.refuse_nobody", lambda address: None)
    refused = re.escape("--ray 10.0.0.1:6379: the cluster cannot be used: ")
    with pytest.raises(CommandError, match=refused) as caught, cluster("10.0.0.1:6379", 1, 1, "--workers 2"):
        raise AssertionError
    assert "\n" not in str(caught.value)


@pytest.fixture
def address(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Yield the address of a cluster of this machine that runs already."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    ray = [sys.executable, "-m", "ray.scripts.scripts"]
    monkeypatch.setenv("RAY_AUTH_MODE", "disabled")  # whatever this machine's Ray does unless told
    env = {**os.environ, "RAY_USAGE_STATS_ENABLED": "0"}
    start = ["start", "--head", f"--port={port}", "--num-cpus=4", "--block", "--include-dashboard=false"]
    folder = tempfile.mkdtemp(prefix="ray", dir="/tmp")  # short, for names of sockets; and nobody's usual cluster
    head = subprocess.Popen(
        [*ray, *start, f"--temp-dir={folder}"], env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )

    def answers() -> bool:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            return False
        return True

    try:
        wait_until(answers)
        yield f"127.0.0.1:{port}"
    finally:
        head.terminate()
        head.wait(60)
        shutil.rmtree(folder, ignore_errors=True)


@pytest.mark.slow
def test_a_training_on_a_cluster_comes_to_the_bits_of_one_here(tmp_path: Path, address: str) -> None:
    flags = (*BALANCE, *PPO, "--steps", "4k", "--workers", "2")
    there = trained(tmp_path / "there", *flags, "--ray", address)
    assert same_run(there, trained(tmp_path / "here", *flags))
