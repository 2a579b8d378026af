"""Four machines, each a network namespace with an address of its own, make up one group."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SIZE = 4
PROGRAM = """
import os, sys, torch
from ecs_rl.distributed.processes import joined
rank = int(sys.argv[1])
with joined(rank, 4, "gloo", None) as group:
    numbers = torch.arange(5.0) * (rank + 1)
    group.mean(numbers, weight=rank + 1.0)
    total = int(group.total(torch.tensor(10**rank)))
    print(os.environ["GLOO_SOCKET_IFNAME"], total, [part.decode() for part in group.everyone(b"x" * rank)], numbers[1])
"""


def ip(*words: str) -> None:
    subprocess.run(("ip", *words), check=True, capture_output=True, timeout=20)


@pytest.fixture
def machines() -> Iterator[list[str]]:
    """Yield the names of network namespaces that reach each other over a bridge, at 10.77.0.1 and so on."""
    names, bridge = [f"t{os.getpid()}n{rank}" for rank in range(SIZE)], f"br{os.getpid()}"
    try:
        ip("netns", "add", names[0])
    except (OSError, subprocess.SubprocessError):
        pytest.skip("this user cannot make network namespaces")
    try:
        ip("-n", names[0], "link", "add", bridge, "type", "bridge")
        ip("-n", names[0], "addr", "add", "10.77.0.1/24", "dev", bridge)
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


def test_processes_of_several_machines_reach_each_other_by_their_addresses(machines: list[str]) -> None:
    environment = {**os.environ, "MASTER_ADDR": "10.77.0.1", "MASTER_PORT": "29571"}
    environment.pop("GLOO_SOCKET_IFNAME", None)
    running = [
        subprocess.Popen(
            ["ip", "netns", "exec", name, sys.executable, "-c", PROGRAM, str(rank)],
            cwd=ROOT,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank, name in enumerate(machines)
    ]
    try:
        answers = [process.communicate(timeout=120) for process in running]
    finally:
        for process in running:
            process.kill()
    assert [process.returncode for process in running] == [0] * SIZE, answers
    said = [out.split(maxsplit=1) for out, _ in answers]
    assert [interface for interface, _ in said][1:] == ["eth0"] * (SIZE - 1)
    assert {rest for _, rest in said} == {"1111 ['', 'x', 'xx', 'xxx'] tensor(3.)\n"}
