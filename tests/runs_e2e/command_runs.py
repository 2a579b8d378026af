"""The commands as tests call them: in this process where that will do, in one of their own where it is the point."""

from __future__ import annotations

import contextlib
import io
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from small_learners import PPO

from ecs_rl.commands import play as play_command
from ecs_rl.commands import train as train_command

if hasattr(signal, "SIGHUP"):
    signal.signal(signal.SIGHUP, signal.SIG_DFL)  # as programs get it from a terminal, also where tests run by `nohup`

ROOT = Path(__file__).parents[2]
BALANCE = ROOT / "scenes" / "balance.py"
SMALL = ("--arenas", "8", "--steps", "3k", "--eval-every", "1000", "--eval-episodes", "3")
TINY = (*SMALL, *PPO)
HANGS = 300.0
"""Seconds after which a process hangs: on a busy machine all takes ten times as long as on one with nothing to do."""
JSON_KEYS = [
    *("run", "scene", "agent", "seed", "arenas", "status", "steps", "episodes", "seconds", "steps_per_second"),
    *("seconds_in", "best_eval", "best_step", "solved_step", "solved_second", "finding", "params_sha256"),
]


@dataclass(frozen=True)
class Told:
    """What a command did and said."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> dict[str, Any]:
        """The last line of stdout as the JSON object it must be."""
        found: dict[str, Any] = json.loads(self.out.splitlines()[-1])
        assert isinstance(found, dict)
        return found

    @property
    def run(self) -> Path:
        """The run directory that the JSON object names."""
        return Path(self.json["run"])

    @property
    def sha(self) -> str:
        return str(self.json["params_sha256"])


def train(*args: object) -> Told:
    return _call(train_command.main, [str(arg) for arg in args])


def play(*args: object) -> Told:
    return _call(play_command.main, [str(arg) for arg in args])


def _call(main: Callable[[Sequence[str]], int], args: list[str]) -> Told:
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main(args)
    return Told(code, out.getvalue(), err.getvalue())


def start(program: str, *args: object, hash_seed: str = "0") -> subprocess.Popen[str]:
    """Start `train.py` or `play.py` as a process of its own."""
    return subprocess.Popen(
        [sys.executable, str(ROOT / program), *map(str, args)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": str(ROOT)},
    )


def wait_for(there: Callable[[], object], process: subprocess.Popen[str]) -> None:
    """Wait until something is there; AssertionError if the process ends before."""
    end = time.monotonic() + HANGS
    while not there():
        if process.poll() is not None or time.monotonic() > end:
            process.kill()
            raise AssertionError(f"not there yet, exit code {process.returncode}: {process.communicate()[1]}")
        time.sleep(0.02)


def wait_for_words(words: str, process: subprocess.Popen[str]) -> None:
    """Read the process's stderr until it says this; AssertionError if that does not come."""
    assert process.stderr is not None
    watch = threading.Timer(HANGS, process.kill)
    watch.start()
    try:
        read = ""
        while words not in read:
            line = process.stderr.readline()
            assert line, f"'{words}' never came: {read}"
            read += line
    finally:
        watch.cancel()


def finish(process: subprocess.Popen[str]) -> Told:
    """Wait for the process, and never leave it behind."""
    try:
        out, err = process.communicate(timeout=HANGS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        raise
    return Told(process.returncode, out, err)


def rows(run: Path, log: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (run / f"{log}.jsonl").read_text().splitlines()]


def metadata(run: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((run / "metadata.json").read_text())
    return found


def changed_balance(path: Path, old: str, new: str) -> Path:
    """Write a copy of the scene `balance` in which something is different."""
    text = BALANCE.read_text()
    assert text.count(old) == 1
    path.write_text(text.replace(old, new))
    return path
