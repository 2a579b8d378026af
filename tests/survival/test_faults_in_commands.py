"""`train.py` on a disk that refuses: exit code 4 at once, one sentence that names the file, the old save still sound.

`python -m pytest -m slow tests/survival/test_faults_in_commands.py` refuses every single call of a whole training.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable
from itertools import count
from pathlib import Path
from time import perf_counter

import pytest
from injected_faults import Act, Call, failing, watched

from ecs_rl.commands.train import main
from ecs_rl.errors import CheckpointError
from ecs_rl.runs import read_manifest

SMALL = ["balance", "--steps", "2000", "--arenas", "8", "--checkpoint-every", "500", "--eval-every", "1000"]
SMALL += ["--eval-episodes", "2"]


def stopping_the_clock(act: Act, moments: list[float]) -> Act:
    """Note when the first call was refused."""

    def timed(number: int, call: Call, arguments: tuple[object, ...]) -> None:
        try:
            act(number, call, arguments)
        except OSError:
            moments.append(perf_counter())
            raise

    return timed


def refuse_each(folder: Path, capsys: pytest.CaptureFixture[str], which: Iterable[int], code: int) -> int:
    """Train once for each number, with this call and all later ones refused; return how many were tried."""
    tried = 0
    for at in which:
        runs, moments = folder / str(at), list[float]()
        with watched(stopping_the_clock(failing(at, code, from_then_on=True), moments), runs) as calls:
            ended = main([*SMALL, "--runs", str(runs)])
        told = capsys.readouterr().err
        if len(calls) < at:
            assert ended == 0
            return tried
        tried += 1
        assert ended == 4, (calls[at - 1], told)
        assert perf_counter() - moments[0] < 60.0, "it waits for a disk that has refused"
        refusals = [line for line in told.splitlines() if line.startswith("train.py: ")]
        assert len(refusals) == 1, told
        assert f"train.py: cannot write {runs}" in refusals[0]
        assert os.strerror(code) in refusals[0]
        assert not list(runs.rglob(".*.tmp"))
        for run in runs.glob("*/*/*"):
            whole(run, any(call.name == "unlink" for call in calls[: at - 1]))
    return tried


def whole(run: Path, must_have: bool) -> None:
    checkpoints = list((run / "checkpoints").glob("*.safetensors"))
    assert checkpoints or not must_have
    for path in checkpoints:
        read_manifest(path)
    for log in run.glob("*.jsonl"):
        assert log.read_bytes()[-1:] in (b"", b"\n")


def test_a_disk_that_is_full_from_some_moment_on_ends_training_with_4(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert refuse_each(tmp_path, capsys, (1, 8, 20, 33, 47, 64), errno.ENOSPC) == 6


@pytest.mark.slow
@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EIO])
def test_a_disk_that_refuses_from_any_call_on_ends_training_with_4(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], code: int
) -> None:
    assert refuse_each(tmp_path, capsys, count(1), code) > 60


def test_a_run_that_is_written_by_another_is_refused_with_3(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from ecs_rl.runs import TrainingRun

    assert main([*SMALL, "--runs", str(tmp_path)]) == 0
    held = TrainingRun.resume("balance", tmp_path)
    before = {path: path.read_bytes() for path in held.path.rglob("*") if path.is_file()}
    capsys.readouterr()
    assert main(["balance", "--resume", "--steps", "4000", "--runs", str(tmp_path)]) == CheckpointError.exit_code
    assert f"is being written by process {os.getpid()} on" in capsys.readouterr().err
    assert {path: path.read_bytes() for path in held.path.rglob("*") if path.is_file()} == before
    held.close()
