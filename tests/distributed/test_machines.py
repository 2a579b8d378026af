"""Several machines, each a network namespace with an address of its own, train together."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from process_groups import ROOT
from small_learners import PPO
from worker_runs import BALANCE, command, same_run, trained

ADDRESS = "10.77.0.1"


def ip(*words: str) -> None:
    subprocess.run(("ip", *words), check=True, capture_output=True, timeout=20)


@pytest.fixture(params=[2, *(pytest.param(size, marks=pytest.mark.slow) for size in (4, 8))])
def machines(request: pytest.FixtureRequest) -> Iterator[list[str]]:
    """Yield the names of network namespaces that reach each other over a bridge, at 10.77.0.1 and so on."""
    names, bridge = [f"t{os.getpid()}n{rank}" for rank in range(request.param)], f"br{os.getpid()}"
    try:
        ip("netns", "add", names[0])
    except (OSError, subprocess.SubprocessError):
        pytest.skip("this user cannot make network namespaces")
    try:
        ip("-n", names[0], "link", "add", bridge, "type", "bridge")
        ip("-n", names[0], "addr", "add", f"{ADDRESS}/24", "dev", bridge)
        ip("-n", names[0], "link", "set", bridge, "up")
        for rank, name in enumerate(names[1:], 1):
            ip("netns", "add", name)
            ip("-n", name, "link", "add", "eth0", "type", "veth", "peer", "name", f"port{rank}", "netns", names[0])
            ip("-n", names[0], "link", "set", f"port{rank}", "master", bridge, "up")
            ip("-n", name, "addr", "add", f"10.77.0.{rank + 1}/24", "dev", "eth0")
            ip("-n", name, "link", "set", "eth0", "up")
        for name in names:
            ip("-n", name, "link", "set", "lo", "up")
        yield names
    finally:
        for name in names:
            subprocess.run(("ip", "netns", "del", name), check=False, capture_output=True, timeout=20)


def test_processes_of_several_machines_train_as_those_of_one(machines: list[str], tmp_path: Path) -> None:
    flags, size = (*BALANCE, *PPO, "--steps", "4k"), len(machines)
    environment = {**os.environ, "MASTER_ADDR": ADDRESS, "MASTER_PORT": "29571", "WORLD_SIZE": str(size)}
    environment.pop("GLOO_SOCKET_IFNAME", None)
    running = [
        subprocess.Popen(
            ["ip", "netns", "exec", name, *command(tmp_path / "machines", *flags)],
            cwd=ROOT,
            env={**environment, "RANK": str(rank)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank, name in enumerate(machines)
    ]
    try:
        answers = [process.communicate(timeout=300) for process in running]
    finally:
        for process in running:
            process.kill()
    assert [process.returncode for process in running] == [0] * size, answers
    there = json.loads(answers[0][0].splitlines()[-1])
    assert same_run(there, trained(tmp_path / "here", *flags, "--workers", str(size)))
