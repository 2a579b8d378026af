"""Command lines of trainings in several processes, started and looked at from outside."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from process_groups import ROOT, forked, free_port, start_group

from ecs_rl.cli.process import NOTHING_SAVED, run_program

MARK = "ECS_RL_TEST_OF_WORKERS"
"""An environment variable by which a test finds the processes that it started."""
LOGS = ("train_episodes.jsonl", "eval_episodes.jsonl")
BALANCE: tuple[str, ...] = (
    "balance",
    "--arenas",
    "64",
    "--threads",
    "1",
    "--eval-every",
    "2048",
    "--eval-episodes",
    "3",
)
BALANCE += ("--checkpoint-every", "2048")


def command(folder: Path, *flags: str) -> list[str]:
    return [sys.executable, "train.py", *flags, "--runs", str(folder), "--json"]


def trained(folder: Path, *flags: str, code: int = 0, env: Mapping[str, str] | None = None) -> dict[str, Any]:
    """Train to the end; return what is printed, and as `stderr` what is said.

    Nobody waits for Python and torch to start: the command runs in a process forked from one that has them. Several
    processes are forked as a launcher would start them, which gives the bits of `--workers` (see test_launchers.py);
    what is to fail starts its workers itself.
    """
    words, environments = [*flags, "--runs", str(folder), "--json"], [dict(env or {})]
    size = int(words[words.index("--workers") + 1]) if "--workers" in words and "--ray" not in words and not code else 1
    if size > 1:
        at = words.index("--workers")
        words = words[:at] + words[at + 2 :]
        group = {**environments[0], "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_port())}
        environments = [{**group, "RANK": str(rank), "WORLD_SIZE": str(size)} for rank in range(size)]
    with tempfile.TemporaryDirectory() as said:
        team = [
            forked.Process(target=_be_the_command, args=(words, environment, f"{said}/{rank}"), daemon=False)
            for rank, environment in enumerate(environments)
        ]
        try:
            for process in team:
                process.start()
            team[0].join(300)
        finally:
            for process in team[1:]:
                process.join(0 if code else 60)
            for process in team:
                process.kill()
                process.join()
        stdout, stderr = (Path(f"{said}/0.{stream}").read_text() for stream in ("out", "err"))
        everyone_said = "".join(Path(f"{said}/{rank}.err").read_text() for rank in range(len(team)))
    assert [process.exitcode for process in team] == [code] * len(team), everyone_said[-2000:]
    return {"stderr": stderr, **(json.loads(stdout.splitlines()[-1]) if stdout else {})}


def _be_the_command(words: Sequence[str], environment: Mapping[str, str], said: str) -> None:
    """Be `train.py`, with these files in the place of its streams."""
    os.environ.update(environment)
    os.chdir(ROOT)
    for descriptor, stream in ((1, "out"), (2, "err")):
        with open(f"{said}.{stream}", "wb") as file:
            os.dup2(file.fileno(), descriptor)
    sys.argv = ["train.py", *words]
    run_program("train.py", "ecs_rl.commands.train", NOTHING_SAVED)


def started(folder: Path, *flags: str) -> subprocess.Popen[str]:
    """Start a training whose processes `processes_of` finds."""
    return start_group(command(folder, *flags), {**os.environ, MARK: str(folder)})


def ended(process: subprocess.Popen[str]) -> tuple[dict[str, Any], str]:
    """Return what a training that was started prints at its end, and what it says."""
    stdout, stderr = process.communicate(timeout=300)
    return (json.loads(stdout.splitlines()[-1]) if stdout else {}), stderr


def same_run(first: Mapping[str, Any], second: Mapping[str, Any]) -> bool:
    """Tell whether two trainings came to the same parameters and the same episodes."""
    logs = all(Path(first["run"], name).read_bytes() == Path(second["run"], name).read_bytes() for name in LOGS)
    return logs and bool(first["params_sha256"] == second["params_sha256"])


def processes_of(folder: Path) -> Iterator[tuple[int, dict[str, str]]]:
    """Yield the processes that were started with this mark, each with its environment; the dead are not counted."""
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            words = (entry / "environ").read_bytes().decode(errors="replace").split("\0")
            state = (entry / "stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            continue  # it has just ended
        if f"{MARK}={folder}" in words and state != "Z":
            yield int(entry.name), dict(word.split("=", 1) for word in words if "=" in word)


def workers_of(folder: Path) -> list[int]:
    """Return the processes beside the first, in the order of their ranks."""
    return [pid for _, pid in sorted((env["RANK"], pid) for pid, env in processes_of(folder) if "RANK" in env)]


def wait_until(holds: Callable[[], Any], process: subprocess.Popen[str] | None = None, seconds: float = 120) -> Any:
    """Return what `holds` returns once that is true; fail where the process ends before."""
    deadline = time.monotonic() + seconds
    while not (value := holds()):
        if process is not None and process.poll() is not None:
            raise AssertionError(process.communicate()[1][-2000:])
        assert time.monotonic() < deadline, "it takes too long"
        time.sleep(0.02)
    return value


def saved(folder: Path, process: subprocess.Popen[str], step: int = 4096) -> Path:
    """Wait for a checkpoint of this step in the only run of a folder; return the run."""
    pattern = f"*/*/*/checkpoints/step_{step}.safetensors"
    paths: list[Path] = wait_until(lambda: list(folder.glob(pattern)), process)
    return paths[0].parents[1]


def nobody_stays(folder: Path) -> bool:
    """Wait for the end of all processes with this mark."""
    wait_until(lambda: not list(processes_of(folder)))
    return True
