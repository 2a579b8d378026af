"""Makes the system calls of a save fail, or the process die in them, one after the other."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import torch

from ecs_rl.errors import CheckpointError, StorageError
from ecs_rl.runs import Manifest, TrainEpisode, TrainingRun, read_checkpoint
from ecs_rl.runs.layout import step_checkpoints

CALLS = ("open", "write", "fsync", "replace", "link", "unlink", "ftruncate", "mkdir")
ERRORS = (errno.ENOSPC, errno.EIO, errno.EACCES, errno.EROFS, errno.ENOENT)
ROWS_PER_STEP = 40


class Call(NamedTuple):
    name: str
    path: str
    """What it was for: the path, or that of the descriptor."""


Act = Callable[[int, Call, tuple[Any, ...]], None]


@contextmanager
def watched(act: Act, under: Path = Path("/")) -> Iterator[list[Call]]:
    """Call `act` before each system call for a file under a folder; it may raise or end the process."""
    calls: list[Call] = []
    names: dict[int, str] = {}
    if Path("/proc/self/fd").is_dir():  # files that were opened before
        names = {int(entry.name): os.path.realpath(entry) for entry in Path("/proc/self/fd").iterdir()}

    def watching(name: str, original: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **more: Any) -> Any:
            first = arguments[0]
            made = Call(name, names.get(first, "") if isinstance(first, int) else os.fspath(first))
            folder = more.get("dir_fd", more.get("src_dir_fd"))
            if folder is not None:
                made = Call(name, os.path.join(names.get(folder, ""), made.path))
            if made.path.startswith(str(under)):
                calls.append(made)
                act(len(calls), made, arguments)
            result = original(*arguments, **more)
            if name == "open":
                names[result] = made.path
            return result

        return call

    with pytest.MonkeyPatch.context() as patch:
        for name in CALLS:
            patch.setattr(os, name, watching(name, getattr(os, name)))
        yield calls


def failing(at: int, code: int, *, from_then_on: bool = False) -> Act:
    """Refuse call number `at`; with `from_then_on` every later one too that would need space."""

    def act(number: int, call: Call, _: tuple[Any, ...]) -> None:
        if call.name == "unlink" and code == errno.ENOENT:
            return  # what was to be deleted is gone already: no failure
        if number == at or (from_then_on and number > at and call.name not in ("unlink", "ftruncate")):
            raise OSError(code, os.strerror(code))

    return act


def dying(at: int) -> Act:
    """End the process in call number `at`, a write after half of it."""

    def act(number: int, call: Call, arguments: tuple[Any, ...]) -> None:
        if number == at:
            if call.name == "write":
                _write(arguments[0], bytes(arguments[1])[: len(arguments[1]) // 2])
            os._exit(9)

    return act


_write = os.write


def refusal(work: Callable[[], object]) -> StorageError | None:
    """Return the error that the disk's refusal became, None if the work was done."""
    try:
        work()
    except StorageError as error:
        return error
    return None


def tensors(step: int) -> dict[str, torch.Tensor]:
    return {"policy/weight": torch.full((7, 5), float(step)), "agent/counter": torch.tensor(step)}


def save(run: TrainingRun, step: int, keep: int = 1) -> None:
    """Do all that a training writes at a milestone."""
    run.log_train_episodes([TrainEpisode(step, 1.0, row, "Terminated", {}) for row in range(ROWS_PER_STEP)])
    run.log_metrics(step, step / 10, {"train/loss": 0.5})
    facts = {"logs": run.flush(sync=True)}
    manifest = Manifest(scene="s", agent="a", step=step, full=True, resume=facts)
    run.save_checkpoint(tensors(step), manifest)
    run.prune_checkpoints(keep)
    run.save_policy("best", tensors(step), Manifest(scene="s", agent="a", step=step, best_eval=float(step)))
    run.update_metadata(total_steps=step)


def prepared(folder: Path) -> Path:
    """Return a closed run with one save, at step 1."""
    run = TrainingRun.create("base", runs_dir=folder)
    run.write_config({"a": 1})
    save(run, 1)
    run.close()
    return run.path


def copied(base: Path, number: object) -> Path:
    path = base.parents[2] / "copies" / str(number) / base.name
    shutil.copytree(base, path)
    return path


def sound(run: Path) -> dict[str, int]:
    """Return the step in each checkpoint that can be loaded, its content checked."""
    found = {}
    for path in sorted((run / "checkpoints").glob("*.safetensors")):
        try:
            manifest, content = read_checkpoint(path)
        except CheckpointError:
            continue
        assert all(torch.equal(content[name], tensor) for name, tensor in tensors(manifest.step).items())
        found[path.stem] = manifest.step
    return found


def assert_goes_on(path: Path, steps: set[int]) -> None:
    """The run resumes at one of these steps, all the rows counted there are whole, and one more save works."""
    found = sound(path)
    assert {"latest", "best"} <= set(found), found
    newest = max(step for stem, step in found.items() if stem != "best")
    assert newest in steps
    assert found["latest"] == newest or f"step_{newest}" in found
    for step, file in step_checkpoints(path).items():
        assert found.get(file.stem) == step, f"{file} is torn"
    manifest, _ = read_checkpoint(path / "checkpoints" / f"step_{newest}.safetensors")
    run = TrainingRun.resume(path)
    assert not list(path.rglob(".*.tmp"))
    run.cut_logs(manifest.resume["logs"])
    rows = (path / "train_episodes.jsonl").read_bytes()
    assert rows.count(b"\n") == rows.count(b'{"total_steps":') == ROWS_PER_STEP * newest
    save(run, newest + 1)
    run.close()
    assert sound(path) == {"latest": newest + 1, "best": newest + 1, f"step_{newest + 1}": newest + 1}
    rows = (path / "train_episodes.jsonl").read_bytes()
    assert rows.count(b"\n") == rows.count(b'{"total_steps":') == ROWS_PER_STEP * (newest + 1)
