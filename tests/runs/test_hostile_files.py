"""Files made to harm are refused at once: no waiting, no code, and no more memory than the file deserves."""

from __future__ import annotations

import hashlib
import json
import os
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path
from time import process_time
from typing import Any

import pytest
import torch

from ecs_rl.errors import CheckpointError
from ecs_rl.runs import (
    Manifest,
    TrainingRun,
    find_run,
    list_runs,
    read_checkpoint,
    read_manifest,
    sealed_pieces,
    settings_of,
)
from ecs_rl.runs.manifest import UNSEALED

MB = 1_000_000


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "step_1.safetensors"


@pytest.fixture(autouse=True)
def quickly_and_in_little_memory() -> Iterator[None]:
    read = (read_checkpoint, torch)  # imported before the clock starts
    assert read
    tracemalloc.start()
    began = process_time()  # which others on the machine do not take
    yield
    seconds, (_, most) = process_time() - began, tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 120 * MB, f"took {most:,} bytes"
    assert seconds < 10, f"took {seconds:.1f} s"


def refused(path: Path, match: str) -> None:
    for read in (read_checkpoint, read_manifest):
        with pytest.raises(CheckpointError, match=match):
            read(path)


def sealed(tensors: Any, body: bytes = b"", manifest: str = "", before: str = "") -> bytes:
    """Return a checkpoint with a right seal around whatever its maker likes."""
    manifest = manifest or json.dumps({"scene": "", "agent": "", "step": 1})
    text = f'{{"schema":1,"sha256":"{UNSEALED}",{manifest[1:]}'
    inner = tensors if isinstance(tensors, str) else json.dumps(tensors)[1:]
    header = f'{{"__metadata__":{{"manifest":{json.dumps(text)}{before}}},{inner}'.encode()
    data = len(header).to_bytes(8, "little") + header + body
    return data.replace(UNSEALED.encode(), hashlib.sha256(data).hexdigest().encode(), 1)


def tensor(shape: list[int], begin: int, end: int, dtype: str = "F32", **more: Any) -> dict[str, Any]:
    return {"dtype": dtype, "shape": shape, "data_offsets": [begin, end], **more}


def test_the_forger_of_these_tests_can_make_a_sound_file(path: Path) -> None:
    path.write_bytes(sealed({"a": tensor([2], 0, 8)}, b"\0" * 8))
    manifest, tensors = read_checkpoint(path)
    assert manifest.step == 1
    assert torch.equal(tensors["a"], torch.zeros(2))


@pytest.mark.parametrize(
    "tensors",
    [
        {"a": tensor([2**60], 0, 8)},
        {"a": tensor([2**40], 0, 2**42)},
        {"a": tensor([2**32, 2**32], 0, 8)},
        {"a": tensor([2**63, 0], 0, 0)},
        {"a": tensor([-2], 0, 8)},
        {"a": tensor([1] * 10_000 + [2], 0, 8)},
        {"a": tensor([10**400], 0, 8)},
        {"a": tensor([2.0], 0, 8)},  # type: ignore[list-item]
        {"a": tensor([3], 0, 8)},
        {"a": tensor([1], 0, 4)},
        {"a": tensor([1], 4, 8)},
        {"a": tensor([2], 8, 0)},
        {"a": tensor([2], 0, 8), "b": tensor([2], 0, 8)},
        {"a": tensor([1], 0, 4), "b": tensor([2], 2, 10)},
        {"a": tensor([2], 0, 8), "b": tensor([1], 8, 12)},
        {"a": tensor([2], 0, 8, dtype="PICKLE")},
        {"a": tensor([2], 0, 8, dtype="C64")},
        {"a": tensor([2], 0, 8, code="__import__('os')")},
        {"a": {"dtype": "F32", "shape": [2]}},
        {"a": []},
        {},
    ],
    ids=str,
)
def test_tensors_that_are_not_where_or_what_they_say_are_refused(path: Path, tensors: dict[str, Any]) -> None:
    path.write_bytes(sealed(tensors, b"\0" * 8) if tensors else sealed("}", b"\0" * 8))
    refused(path, "header cannot be read|overlap|take .* bytes")


@pytest.mark.parametrize(
    "data",
    [
        sealed('"a":' + "[" * 100_000),
        sealed('"a":' + '{"a":' * 100_000),
        sealed({"a": tensor([2], 0, 8)}, b"\0" * 8, manifest='{"config":' + "[" * 100_000),
        sealed({"a": tensor([2], 0, 8)}, b"\0" * 8, manifest='{"scene":1,"agent":"","step":1}'),
        sealed({"a": tensor([2], 0, 8)}, b"\0" * 8, manifest='{"scene":"","agent":"","step":1' + "0" * 5000 + "}"),
        sealed({"a": tensor([2], 0, 8)}, b"\0" * 8, manifest='{"scene":"","agent":"","step":1,"policies":{}}'),
        sealed('"__metadata__":{"manifest":"{}"}}'),
        sealed('"a":' + json.dumps(tensor([2], 0, 8)) + ',"a":' + json.dumps(tensor([1], 0, 4)) + "}", b"\0" * 8),
        sealed({"a": tensor([2], 0, 8)}, b"\0" * 8, before=',"manifest":"{}"'),
        sealed("", b"\0" * 8),
        sealed("\xff", b"\0" * 8),
    ],
    ids=range(11),
)
def test_a_header_that_means_harm_is_refused(path: Path, data: bytes) -> None:
    path.write_bytes(data)
    refused(path, "is damaged")


def test_a_header_of_a_million_tensors_is_refused_in_little_memory(path: Path) -> None:
    many = ",".join(f'"{n}":{{}}' for n in range(1_000_000))
    path.write_bytes(sealed(many + "}"))
    refused(path, "header cannot be read")


@pytest.mark.parametrize("size", [1 << 40, (1 << 34) + 1])
def test_a_sparse_file_of_a_terabyte_is_refused_at_once(path: Path, size: int) -> None:
    path.write_bytes(sealed({"a": tensor([size // 4], 0, size)}))
    os.truncate(path, path.stat().st_size + size)
    refused(path, "are never read")


def test_a_sparse_file_with_a_wrong_seal_takes_no_memory(path: Path) -> None:
    path.write_bytes(sealed({"a": tensor([1 << 26], 0, 1 << 28)}))
    os.truncate(path, path.stat().st_size + (1 << 28))
    with pytest.raises(CheckpointError, match="SHA-256"):
        read_checkpoint(path)


@pytest.mark.parametrize("size", [16_000_001, 1 << 40, 1 << 63])
def test_a_header_that_is_too_long_is_refused_before_it_is_read(path: Path, size: int) -> None:
    path.write_bytes(size.to_bytes(8, "little"))
    os.truncate(path, 1 << 33)
    refused(path, f"header of {size} bytes")


@pytest.mark.parametrize("file", ["checkpoints/latest.safetensors", "metadata.json", "config.json"])
@pytest.mark.parametrize("kind", ["pipe", "folder", "device", "loop"])
def test_what_is_no_plain_file_is_refused_without_waiting(tmp_path: Path, file: str, kind: str) -> None:
    run = TrainingRun.create("cart", runs_dir=tmp_path)
    run.close()
    path = run.path / file
    path.unlink(missing_ok=True)
    make: dict[str, Callable[[Path], None]] = {
        "pipe": os.mkfifo,
        "folder": os.mkdir,
        "device": lambda where: where.symlink_to("/dev/zero"),
        "loop": lambda where: where.symlink_to(where),
    }
    make[kind](path)
    match = "Is a directory|Not a plain file|symbolic links"
    if "latest" in file:
        refused(path, match)
    elif "config" in file:
        with pytest.raises(CheckpointError, match=match):
            settings_of(run.path)
    else:
        with pytest.raises(CheckpointError, match=match):
            find_run("cart", tmp_path, needs_checkpoint=False)
        assert list_runs(tmp_path)[0].metadata is None


@pytest.mark.parametrize(
    "content",
    [
        b"[" * 3_000_000,
        b'{"a":' * 700_000,
        b'{"name":"' + b"x" * 5 * MB,
        b'{"seed":1' + b"0" * 5000 + b"}",
        b"\xff",
        b"",
    ],
    ids=range(6),
)
def test_metadata_and_settings_that_mean_harm_are_refused(tmp_path: Path, content: bytes) -> None:
    run = TrainingRun.create("cart", runs_dir=tmp_path)
    run.close()
    for name in ("metadata.json", "config.json"):
        (run.path / name).write_bytes(content)
    with pytest.raises(CheckpointError, match=r"config\.json"):
        settings_of(run.path)
    with pytest.raises(CheckpointError, match=r"metadata\.json"):
        TrainingRun.resume(run.path)
    assert list_runs(tmp_path)[0].problem


def test_a_terabyte_of_metadata_is_refused_at_once(tmp_path: Path) -> None:
    run = TrainingRun.create("cart", runs_dir=tmp_path)
    run.close()
    os.truncate(run.path / "metadata.json", 1 << 40)
    with pytest.raises(CheckpointError, match="are never read"):
        TrainingRun.resume(run.path)


def test_what_could_not_be_read_again_is_not_written(tmp_path: Path) -> None:
    run = TrainingRun.create("cart", runs_dir=tmp_path)
    with pytest.raises(CheckpointError, match=r"could not be read: .*header of"):
        run.save_checkpoint({}, Manifest(scene="", agent="", step=1, config={"a": "x" * 17 * MB}))
    with pytest.raises(CheckpointError, match="could not be read"):
        run.save_checkpoint({"a": torch.zeros(2, dtype=torch.complex64)}, Manifest(scene="", agent="", step=1))
    assert list((run.path / "checkpoints").iterdir()) == []


def test_loading_runs_no_code(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path.write_bytes(b"".join(sealed_pieces({"a": torch.zeros(3)}, Manifest(scene="", agent="", step=1))))
    for module, name in (("builtins", "exec"), ("builtins", "eval"), ("pickle", "loads"), ("pickle", "load")):
        monkeypatch.setattr(f"{module}.{name}", None)
    assert read_checkpoint(path)[0].step == 1
