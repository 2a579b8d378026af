"""The processes that Ray starts on this machine for one command: they end with it, and it ends when they are gone.

Ray itself leaves a program waiting when its own processes die, and two of them linger for a minute after a program
that was killed.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from ecs_rl.cli.called import program
from ecs_rl.console import tell

VITAL = ("raylet", "gcs_server")
"""The processes without which no other one of Ray's goes on."""
LOOK_EVERY = 0.1
"""Seconds between two looks at them: Ray ends this process without a word soon after some of them."""
GRACE = 10.0
"""Seconds in which the command may end by itself after one of them is gone; it may be waiting inside Ray for ever."""
REAPER = """
import glob, os, select, signal, sys

def fields(path):
    try:
        with open(path) as file:
            return file.read().rpartition(")")[2].split()
    except OSError:
        return None  # it has just ended

parent, every = sys.argv[1], float(sys.argv[2])
children = {}
while True:
    for path in glob.glob("/proc/[0-9]*/stat"):
        found = fields(path)
        if found and found[1] == parent:
            children[path] = found[19]
    if select.select([sys.stdin], [], [], every)[0]:
        break
for path, start in children.items():
    found = fields(path)
    if found and found[19] == start:
        try:
            os.kill(int(path.split("/")[2]), signal.SIGKILL)
        except ProcessLookupError:
            pass
"""
"""A program that waits until its stdin closes, and then ends the children that a process had.

A process is its number and when it began, for a number is given again.
"""
REAP_EVERY = 2.0
"""Seconds between two looks for new children."""


@contextmanager
def bound_to_this_process() -> Iterator[None]:
    """Within the block, end Ray's processes of this machine if this one is killed, and this one if they end."""
    with ExitStack() as stack:
        stack.enter_context(ended_with_ray())
        if Path("/proc/self/stat").exists():
            stack.enter_context(agents_end_with_this())
        yield


@contextmanager
def ended_with_ray() -> Iterator[None]:
    """Say it and end this process where one of Ray's vital processes is gone before the block is over."""
    over = threading.Event()

    def watch() -> None:
        while not over.wait(LOOK_EVERY):
            gone = gone_processes()
            if gone:
                remedy = "the same command with --resume goes on from the newest checkpoints"
                told = f"Ray has stopped on this machine: its process {gone[0]} is gone: {remedy}"
                tell(f"{program('train')}: {told}", sys.stderr)
                if not over.wait(GRACE):
                    os._exit(1)
                return

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def gone_processes() -> list[str]:
    """Return which of Ray's vital processes, that this process started, have ended."""
    from ray._private import worker

    node = worker._global_node
    return [] if node is None else [name for name, _ in node.dead_processes() if name in VITAL]


@contextmanager
def agents_end_with_this() -> Iterator[None]:
    """Let a small process end the children of Ray's raylet, its agents above all, when this process is killed."""
    reaper = subprocess.Popen(
        [sys.executable, "-I", "-S", "-c", REAPER, str(raylet()), str(REAP_EVERY)],
        stdin=subprocess.PIPE,
        start_new_session=True,  # a signal to the whole group must not end it first
    )
    try:
        yield
    finally:
        reaper.kill()
        reaper.wait()
        assert reaper.stdin is not None
        reaper.stdin.close()


def raylet() -> int:
    """Return the process of Ray's scheduler that this process started."""
    from ray._private import worker

    (info,) = worker._global_node.all_processes["raylet"]
    pid: int = info.process.pid
    return pid
