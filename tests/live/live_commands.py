"""The commands as tests of the window call them: in this process, or in one of their own."""

from __future__ import annotations

import contextlib
import io
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ecs_rl.commands import play as play_command
from ecs_rl.commands import train as train_command

ROOT = Path(__file__).parents[2]
SCREENS = ("DISPLAY", "WAYLAND_DISPLAY", "SDL_VIDEODRIVER")


@dataclass(frozen=True)
class Said:
    """What a command did and said."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> dict[str, Any]:
        """The only line of stdout as the JSON object it must be."""
        (line,) = self.out.splitlines()
        found: dict[str, Any] = json.loads(line)
        return found

    @property
    def run(self) -> Path:
        return Path(self.json["run"])

    @property
    def sha(self) -> str:
        return str(self.json["params_sha256"])


def train(*args: object) -> Said:
    return _call(train_command.main, [str(arg) for arg in args])


def play(*args: object) -> Said:
    return _call(play_command.main, [str(arg) for arg in args])


def _call(main: Callable[[Sequence[str]], int], args: list[str]) -> Said:
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main(args)
    return Said(code, out.getvalue(), err.getvalue())


def start(program: str, *args: object, screen: Mapping[str, str]) -> subprocess.Popen[str]:
    """Start a command as a process of its own, with this screen and no other."""
    env = {name: value for name, value in os.environ.items() if name not in SCREENS}
    return subprocess.Popen(
        [sys.executable, str(ROOT / program), *map(str, args)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**env, **screen, "PYTHONPATH": str(ROOT)},
    )


def finish(process: subprocess.Popen[str], seconds: float = 300.0) -> Said:
    """Wait for the process, and never leave it behind."""
    try:
        out, err = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        raise
    return Said(process.returncode, out, err)


def until(happened: Callable[[], object], process: subprocess.Popen[str], seconds: float = 300.0) -> None:
    """Wait until something has happened to a process that is still running."""
    end = time.monotonic() + seconds
    while not happened():
        if process.poll() is not None:
            raise AssertionError(f"over too early, exit code {process.returncode}: {process.communicate()[1]}")
        if time.monotonic() > end:
            process.kill()
            raise AssertionError(f"it never happened: {process.communicate()[1]}")
        time.sleep(0.02)
