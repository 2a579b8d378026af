"""Trainings that are stopped, killed and resumed, and what must be the same as if nothing had happened.

Lives are real processes of their own: children of a fork server that has imported torch and nothing else has happened
in, so that a start costs some 20 ms and not two seconds. The fork server is a fresh interpreter with one thread.
"""

from __future__ import annotations

import contextlib
import io
import json
import multiprocessing
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from multiprocessing.connection import wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from small_learners import DQN, IQL, PPO, SAC, TD3

from ecs_rl.commands import train as train_command
from ecs_rl.runs import read_checkpoint
from ecs_rl.runs.layout import milestones
from ecs_rl.session import TrainingSession
from ecs_rl.spaces import Experience
from ecs_rl.training.training import Training

ROOT = Path(__file__).parents[2]
SMALL_PPO = PPO
SMALL_DQN, SMALL_SAC, SMALL_TD3, SMALL_IQL = (
    (*words, f"--{words[1]}.memory", "1000") for words in (DQN, SAC, TD3, IQL)
)
LOGS = ("train_episodes", "eval_episodes", "metrics")
NEVER_READ = ("rollout/advantage", "rollout/returns")
"""Tensors that are worked out anew when the rollout is full: until then they hold what was there before."""
FORKS = multiprocessing.get_context("forkserver")
STATUS = threading.Lock()
"""Held wherever an exit status may be read. It can be read once, and every start of a process reads those of all that
have ended: of two threads that read the same one, the second finds nothing and calls it 255."""
FORKS.set_forkserver_preload(["torch", "rich.live", "tyro", "safetensors.torch", "ecs_rl.training", "ecs_rl.tasks"])


@dataclass(frozen=True)
class Told:
    """What a command did and said."""

    code: int | None
    out: str
    err: str

    @property
    def json(self) -> dict[str, Any]:
        assert self.code == 0, self.err
        found: dict[str, Any] = json.loads(self.out.splitlines()[-1])
        return found

    @property
    def run(self) -> Path:
        return Path(self.json["run"])

    @property
    def sha(self) -> str:
        return str(self.json["params_sha256"])


# --- in this process ------------------------------------------------------------------------------------------------


def train(*args: object) -> Told:
    """Run `train.py ARGS --json` in this process."""
    out, err = io.StringIO(), io.StringIO()
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = train_command.main([*map(str, args), "--json"])
    finally:
        for number, handler in before.items():  # a stopped training leaves them ignored
            signal.signal(number, handler)
    return Told(code, out.getvalue(), err.getvalue())


@contextlib.contextmanager
def signal_at(step: int, number: signal.Signals = signal.SIGINT) -> Iterator[None]:
    """Send this process a signal at the end of the tick that reaches `step`."""
    with pytest.MonkeyPatch.context() as patch:
        _signal_at(patch, step, number)
        yield


def _signal_at(patch: pytest.MonkeyPatch, step: int, number: signal.Signals) -> None:
    tick = Training.tick

    def signalled(training: Training) -> None:
        before = training.session.total_steps
        tick(training)
        if before < step <= training.session.total_steps:
            if number == signal.SIGKILL:  # what this tick made due is on disk then; random kills come earlier
                for _ in training.session.written():
                    pass
            os.kill(os.getpid(), number)

    patch.setattr(Training, "tick", signalled)


Transitions = list[tuple[Any, ...]]


@contextlib.contextmanager
def transitions() -> Iterator[Transitions]:
    """Gather copies of all that `session.record` is given, one entry per tick and policy."""
    seen: Transitions = []
    record = TrainingSession.record

    def spied(session: TrainingSession, experience: Any, steps: int | None = None) -> None:
        for policy, e in enumerate(experience if isinstance(experience, tuple) else (experience,)):
            assert isinstance(e, Experience)
            columns = (e.observation, e.action, e.reward, e.next_observation, e.terminated, e.truncated)
            valid = np.ones(len(e.reward), bool) if e.valid is None else e.valid
            seen.append((session.total_steps, policy, *(np.array(column) for column in (*columns, valid))))
        record(session, experience, steps)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(TrainingSession, "record", spied)
        yield seen


def assert_same_transitions(found: Transitions, wanted: Transitions) -> None:
    assert [row[:2] for row in found] == [row[:2] for row in wanted]
    names = ("observation", "action", "reward", "next observation", "terminated", "truncated", "valid")
    for ours, theirs in zip(found, wanted, strict=True):
        for name, a, b in zip(names, ours[2:], theirs[2:], strict=True):
            assert a.dtype == b.dtype, name
            assert a.tobytes() == b.tobytes(), f"{name} differs after step {ours[0]}"


# --- in a process of its own ----------------------------------------------------------------------------------------


@dataclass
class Life:
    """One process that trains, between its start and its end."""

    args: tuple[str, ...]
    said: Path
    """Where its stdout and stderr go: two files of this name, with `.out` and `.err`."""
    stop_at: tuple[int, signal.Signals] | None = None
    process: BaseProcess = field(init=False)

    def __post_init__(self) -> None:
        self.process = FORKS.Process(target=live, args=(self.args, str(self.said), self.stop_at))
        with STATUS:
            self.process.start()

    def is_alive(self) -> bool:
        """Tell whether the process has not ended yet."""
        with STATUS:
            return self.process.is_alive()

    def send(self, number: signal.Signals) -> None:
        assert self.process.pid is not None
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.process.pid, number)

    def end(self, seconds: float = 120.0) -> Told:
        """Wait for the end, and never leave the process behind."""
        late = not wait([self.process.sentinel], seconds)
        if late:
            self.process.kill()
        with STATUS:
            self.process.join()
            code = self.process.exitcode
        out, err = (self.said.with_suffix(suffix) for suffix in (".out", ".err"))
        told = Told(
            code,
            out.read_text() if out.exists() else "",
            err.read_text() if err.exists() else "",
        )
        assert not late, told.err
        return told


def live(args: tuple[str, ...], said: str, stop_at: tuple[int, signal.Signals] | None) -> None:
    """Be `train.py ARGS --json`, in a process that was forked for it."""
    for number, suffix in ((1, ".out"), (2, ".err")):
        file = os.open(said + suffix, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o666)
        os.dup2(file, number)
        os.close(file)
    if stop_at is not None:
        _signal_at(pytest.MonkeyPatch(), *stop_at)
    sys.exit(train_command.main([*args, "--json"]))


def wait_until(there: Any, life: Life, seconds: float = 300.0) -> bool:
    """Wait for something to be there; tell whether it was before the process ended."""
    end = time.monotonic() + seconds
    while not there():
        if not life.is_alive():
            return False
        assert time.monotonic() < end, f"{life.args} takes too long"
        time.sleep(0.001)
    return True


# --- what must be the same ------------------------------------------------------------------------------------------


def newest_step(folder: Path, name: str) -> int:
    """Return the newest step checkpoint that anyone can see of the run of this name, 0 before the first."""
    files = (folder / name / "v1").glob("*/checkpoints/step_*.safetensors")
    return max((int(file.stem.removeprefix("step_")) for file in files), default=0)


def rows(run: Path, log: str) -> list[dict[str, Any]]:
    """Return the rows of a log without what a clock said; every line must be whole."""
    text = (run / f"{log}.jsonl").read_text()
    assert not text or text.endswith("\n")
    found = [json.loads(line) for line in text.splitlines()]
    return [{key: row[key] for key in row if key != "seconds" and not key.startswith("time/")} for row in found]


def metadata(run: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((run / "metadata.json").read_text())
    return found


def assert_same_logs(found: Path, wanted: Path) -> None:
    """Compare all logs row for row."""
    for log in LOGS:
        ours, theirs = rows(found, log), rows(wanted, log)
        assert len(ours) == len(theirs), log
        for a, b in zip(ours, theirs, strict=True):
            assert a == b, log


def assert_same_end(found: Path, wanted: Path) -> None:
    """Compare the last checkpoints: every tensor (agents, world, way) bit by bit, and every fact but the clock's."""
    assert_same_best(found, wanted)
    assert_same_milestones(found, wanted)
    ours, theirs = (read_checkpoint(run / "checkpoints" / "latest.safetensors") for run in (found, wanted))
    assert ours[1].keys() == theirs[1].keys()
    for name, tensor in theirs[1].items():
        if name.endswith(NEVER_READ):
            continue
        assert tensor.dtype == ours[1][name].dtype
        assert torch.equal(_bits(tensor), _bits(ours[1][name])), f"{name} differs"
    keys: tuple[str, ...] = ("scene", "agent", "step", "episodes", "seed", "policies", "full")
    keys += ("best_eval", "best_step", "evaluation")
    assert [getattr(ours[0], key) for key in keys] == [getattr(theirs[0], key) for key in keys]
    assert _facts(ours[0].resume) == _facts(theirs[0].resume)
    known: tuple[str, ...] = ("scene", "agent", "seed", "total_steps", "total_episodes", "status", "version")
    known += ("best_eval", "best_step")
    assert [metadata(found)[key] for key in known] == [metadata(wanted)[key] for key in known]


def assert_same_milestones(found: Path, wanted: Path) -> None:
    """Compare the policies that are kept for good: the same steps, and every tensor bit by bit.

    Which evaluation was the best so far may differ: one that was killed knew of later ones when it passed again.
    """
    ours, theirs = milestones(found), milestones(wanted)
    assert ours.keys() == theirs.keys()
    for step, path in theirs.items():
        (told, tensors), (expected, policy) = read_checkpoint(ours[step]), read_checkpoint(path)
        assert (told.step, told.episodes) == (step, expected.episodes)
        assert {name: _bits(each).tolist() for name, each in tensors.items()} == {
            name: _bits(each).tolist() for name, each in policy.items()
        }


def assert_same_best(found: Path, wanted: Path) -> None:
    """Compare the checkpoints of the best evaluation, and of each agent's own, as far as there are any."""
    bests = [sorted(each.name for each in (run / "checkpoints").glob("best*.safetensors")) for run in (found, wanted)]
    assert bests[0] == bests[1]
    for best in bests[0]:
        ours, theirs = (read_checkpoint(run / "checkpoints" / best) for run in (found, wanted))
        assert (ours[0].step, ours[0].best_eval) == (theirs[0].step, theirs[0].best_eval)
        assert ours[1].keys() == theirs[1].keys()
        for name, tensor in theirs[1].items():
            assert torch.equal(_bits(tensor), _bits(ours[1][name])), f"{name} of {best} differs"


def _bits(tensor: torch.Tensor) -> torch.Tensor:
    return torch.from_numpy(np.frombuffer(tensor.contiguous().numpy().tobytes(), np.uint8).copy())


def _facts(resume: dict[str, Any]) -> dict[str, Any]:
    facts = {name: value for name, value in resume.items() if name not in ("seconds", "seconds_in", "logs")}
    evaluation = {name: value for name, value in facts["exam"].items() if name != "solved_second"}
    logs = {name: length for name, length in resume["logs"].items() if name == "train_episodes.jsonl"}
    return {**facts, "exam": evaluation, "logs": logs}
