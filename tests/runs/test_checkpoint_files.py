"""A checkpoint loads as it was saved, or not at all; a crash leaves the old one or the new one."""

from __future__ import annotations

import errno
import json
import os
import threading
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.torch import load, save_file

from ecs_rl.errors import CheckpointError, CommandError, StorageError
from ecs_rl.files import Folder
from ecs_rl.runs import (
    EvalSettings,
    Manifest,
    PolicyEntry,
    TrainingRun,
    join_sections,
    read_checkpoint,
    read_manifest,
    sealed_pieces,
    section,
)
from ecs_rl.runs.checkpoint import split_sections
from ecs_rl.runs.layout import step_checkpoints
from ecs_rl.spaces import Continuous, Discrete, Members, Picture, PolicySpec

TENSORS = {
    "weight": torch.arange(12, dtype=torch.float32).reshape(3, 4).t(),
    "half": torch.tensor([1.5, -2.0], dtype=torch.bfloat16),
    "count": torch.tensor(7),
    "mask": torch.tensor([True, False, True]),
    "nothing": torch.zeros(0, 3),
}
SPECS = (
    PolicySpec(("x", "v"), Discrete(("left", "right")), "runner"),
    PolicySpec(
        tuple(f"y{i}" for i in range(20)), Continuous(("push",)), "chaser", 12, (Picture(1, 2, 2, 3), Members(13, 2, 3))
    ),
)
MANIFEST = Manifest(
    scene="scenes/tag.py",
    agent="ppo",
    step=5000,
    config={"note": 'a "sha256":"0" \\ and 💡', "ppo": {"lr": 3e-4}},
    policies=tuple(map(PolicyEntry.of, SPECS)),
    best_eval=12.5,
    best_step=4000,
    evaluation=EvalSettings(seed=10_000, episodes=20),
)
GOOD = b"".join(sealed_pieces(TENSORS, MANIFEST))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "step_5000.safetensors"


def refused(path: Path, data: bytes) -> str:
    path.write_bytes(data)
    with pytest.raises(CheckpointError) as caught:
        read_checkpoint(path)
    message = str(caught.value)
    assert str(path) in message
    assert "another checkpoint" in message
    return message


def test_tensors_and_manifest_come_back_as_they_were(path: Path) -> None:
    path.write_bytes(GOOD)
    manifest, tensors = read_checkpoint(path)
    assert set(tensors) == set(TENSORS)
    for name, tensor in TENSORS.items():
        assert tensors[name].dtype == tensor.dtype
        assert torch.equal(tensors[name], tensor)
    assert manifest.sha256 != MANIFEST.sha256
    assert msgspec.structs.replace(manifest, sha256=MANIFEST.sha256) == MANIFEST
    assert tuple(entry.spec() for entry in manifest.policies) == SPECS
    assert read_manifest(path) == manifest


def test_other_programs_can_read_the_tensors(path: Path) -> None:
    assert torch.equal(load(GOOD)["weight"], TENSORS["weight"])


def test_the_same_content_gives_the_same_bytes() -> None:
    assert all(b"".join(sealed_pieces(dict(reversed(TENSORS.items())), MANIFEST)) == GOOD for _ in range(5))


@settings(max_examples=300, deadline=None)
@given(place=st.integers(0, len(GOOD) * 8 - 1))
def test_any_flipped_bit_is_noticed(tmp_path_factory: pytest.TempPathFactory, place: int) -> None:
    damaged = bytearray(GOOD)
    damaged[place // 8] ^= 1 << place % 8
    refused(tmp_path_factory.getbasetemp() / "flipped.safetensors", bytes(damaged))


@pytest.mark.parametrize("length", [0, 1, 7, 8, 9, 100, len(GOOD) // 2, len(GOOD) - 1])
def test_a_file_cut_short_is_noticed(path: Path, length: int) -> None:
    message = refused(path, GOOD[:length])
    assert ("empty" in message) == (length == 0)


def test_bytes_after_the_end_are_noticed(path: Path) -> None:
    refused(path, GOOD + b"\0")


@pytest.mark.parametrize("size", [100_000_001, 2**40, 2**64 - 1])
def test_an_absurd_header_size_is_named(path: Path, size: int) -> None:
    assert f"header of {size} bytes" in refused(path, size.to_bytes(8, "little") + GOOD[8:])


def test_a_header_nested_too_deep_is_refused(path: Path) -> None:
    header = b'{"weight":' + b"[" * 100_000
    refused(path, len(header).to_bytes(8, "little") + header)


def test_another_schema_is_named(path: Path) -> None:
    newer = GOOD.replace(b'\\"schema\\":1', b'\\"schema\\":2', 1)
    assert "has schema 2" in refused(path, newer)


def test_a_changed_manifest_is_noticed_though_the_tensors_are_sound(path: Path) -> None:
    changed = GOOD.replace(b'\\"step\\":5000', b'\\"step\\":9000', 1)
    assert changed != GOOD
    assert "SHA-256" in refused(path, changed)


def test_tensors_swapped_under_a_sound_manifest_are_noticed(path: Path) -> None:
    text = json.loads(GOOD[8 : 8 + int.from_bytes(GOOD[:8], "little")])["__metadata__"]["manifest"]
    save_file({**load(GOOD), "weight": torch.ones(4, 3)}, path, {"manifest": text})
    assert "SHA-256" in refused(path, path.read_bytes())


def test_a_safetensors_file_of_someone_else_is_told_apart(path: Path) -> None:
    save_file({"a": torch.ones(1)}, path, {"format": "pt"})
    assert "not written by ecs_rl" in refused(path, path.read_bytes())


def test_a_missing_checkpoint_and_a_directory_are_named(path: Path) -> None:
    with pytest.raises(CheckpointError, match="No such file"):
        read_checkpoint(path)
    path.mkdir()
    with pytest.raises(CheckpointError, match="Is a directory"):
        read_checkpoint(path)


def test_sections_keep_names_apart() -> None:
    joined = join_sections({"policy": {"a/b": torch.ones(1)}, "agent": {"a/b": torch.zeros(1)}})
    assert section(joined, "policy")["a/b"] == 1
    assert section(joined, "agent")["a/b"] == 0
    assert section(joined, "a") == {}
    assert split_sections(joined) == {"policy": section(joined, "policy"), "agent": section(joined, "agent")}


def interrupt(*_: object, **__: object) -> None:
    raise KeyboardInterrupt


@pytest.mark.parametrize("moment", ["os.fsync", "os.replace"])
def test_a_crash_while_writing_leaves_the_old_checkpoint(
    path: Path, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    path.write_bytes(GOOD)
    other = sealed_pieces({"other": torch.ones(1)}, MANIFEST)
    with monkeypatch.context() as patch:
        patch.setattr(f"ecs_rl.files.{moment}", interrupt)
        with pytest.raises(KeyboardInterrupt):
            Folder(path.parent).write(path.name, *other)
    assert path.read_bytes() == GOOD
    Folder(path.parent).write(path.name, *other)
    assert set(read_checkpoint(path)[1]) == {"other"}


def test_latest_and_best_are_sound_at_every_instant(tmp_path: Path) -> None:
    run = TrainingRun.create("cart", runs_dir=tmp_path)
    save_at(run, 0)
    run.save_policy("best", TENSORS, MANIFEST)
    stop, problems, reads = threading.Event(), [], [0]

    def read() -> None:
        while not stop.is_set():
            for which in ("latest", "best"):
                try:
                    read_manifest(run.checkpoint_path(which))
                except CheckpointError as error:
                    problems.append(error)
            reads[0] += 1

    reader = threading.Thread(target=read)
    reader.start()
    for step in range(1, 60):
        save_at(run, step)
        run.save_policy("best", TENSORS, MANIFEST)
    stop.set()
    reader.join()
    assert reads[0] > 5
    assert problems == []


def save_at(run: TrainingRun, step: int) -> None:
    run.save_checkpoint(TENSORS, Manifest(scene="", agent="", step=step))


def test_pruning_goes_by_number_and_spares_best_and_latest(tmp_path: Path) -> None:
    run = TrainingRun.create("cart", runs_dir=tmp_path)
    for step in (5, 900, 1000, 10_000):
        save_at(run, step)
    run.save_policy("best", TENSORS, MANIFEST)
    folder = run.path / "checkpoints"
    (folder / "step_mine.safetensors").write_bytes(b"")
    run.prune_checkpoints(2)
    assert sorted(path.name for path in folder.iterdir()) == [
        "best.safetensors",
        "latest.safetensors",
        "step_1000.safetensors",
        "step_10000.safetensors",
        "step_mine.safetensors",
    ]
    run.prune_checkpoints(0)
    assert run.latest_checkpoint() == folder / "latest.safetensors"
    with pytest.raises(CommandError, match="0 or more"):
        run.prune_checkpoints(-1)


def test_without_latest_the_highest_step_is_the_latest(tmp_path: Path) -> None:
    run = TrainingRun.create("cart", runs_dir=tmp_path)
    assert run.latest_checkpoint() is None
    assert run.best_checkpoint() is None
    save_at(run, 900)
    save_at(run, 1000)
    run.checkpoint_path("latest").unlink()
    assert run.latest_checkpoint() == run.checkpoint_path(1000)


@pytest.mark.parametrize("which", [-1, "../x", "newest", "step_1/../.."])
def test_a_checkpoint_that_cannot_be_is_refused(tmp_path: Path, which: int) -> None:
    with pytest.raises(CommandError, match="use best, latest or a step"):
        TrainingRun.create("cart", runs_dir=tmp_path).checkpoint_path(which)


def test_latest_is_a_second_name_of_the_newest_step_and_stays_when_that_is_pruned(tmp_path: Path) -> None:
    run = TrainingRun.create("cart", runs_dir=tmp_path)
    for step in (1, 2):
        save_at(run, step)
        assert run.checkpoint_path("latest").samefile(run.checkpoint_path(step))
    run.prune_checkpoints(0)
    assert read_manifest(run.checkpoint_path("latest")).step == 2
    assert len(list((run.path / "checkpoints").iterdir())) == 1


def test_the_same_step_saved_again_leaves_nothing_beside(tmp_path: Path) -> None:
    run = TrainingRun.create("cart", runs_dir=tmp_path)
    save_at(run, 1)
    Folder(run.path / "checkpoints").link("step_1.safetensors", "latest.safetensors")
    save_at(run, 1)
    assert {path.name for path in (run.path / "checkpoints").iterdir()} == {"step_1.safetensors", "latest.safetensors"}


def no_hard_links(*_: object, **__: object) -> None:
    raise PermissionError(errno.EPERM, os.strerror(errno.EPERM))


def test_without_hard_links_latest_is_a_copy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "link", no_hard_links)
    run = TrainingRun.create("cart", runs_dir=tmp_path)
    for step in (1, 2):
        save_at(run, step)
        latest, newest = run.checkpoint_path("latest"), run.checkpoint_path(step)
        assert latest.read_bytes() == newest.read_bytes()
        assert not latest.samefile(newest)
    assert not list((run.path / "checkpoints").glob(".*"))


def test_a_killed_writers_second_name_of_a_checkpoint_does_not_cost_that_checkpoint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = TrainingRun.create("cart", runs_dir=tmp_path)
    save_at(run, 1)
    old = run.checkpoint_path(1)
    os.link(old, old.with_name(".latest.safetensors.tmp"))
    os.link(old, old.with_name(".step_2.safetensors.tmp"))
    monkeypatch.setattr(os, "link", no_hard_links)
    save_at(run, 2)
    assert [read_manifest(run.checkpoint_path(step)).step for step in (1, 2)] == [1, 2]
    assert not list((run.path / "checkpoints").glob(".*"))


def test_leftovers_of_a_killed_writer_go_when_the_run_is_resumed(tmp_path: Path) -> None:
    run = TrainingRun.create("cart", runs_dir=tmp_path)
    run.close()
    for place in (".metadata.json.tmp", "checkpoints/.step_3.safetensors.tmp", "checkpoints/.latest.safetensors.tmp"):
        (run.path / place).write_bytes(b"half")
    TrainingRun.resume(run.path).close()
    assert not list(run.path.rglob(".*.tmp"))


def test_steps_beyond_the_one_resumed_from_do_not_push_out_newer_saves(tmp_path: Path) -> None:
    run = TrainingRun.create("cart", runs_dir=tmp_path)
    for step in (10, 20, 30):
        save_at(run, step)
    run.close()
    run.checkpoint_path(30).write_bytes(b"damaged")
    run = TrainingRun.resume(run.path)
    save_at(run, 25)
    run.prune_checkpoints(2)
    assert sorted(step_checkpoints(run.path)) == [20, 25]


@pytest.mark.parametrize(
    ("call", "write"),
    [
        ("os.replace", lambda run: save_at(run, 1)),
        ("os.replace", lambda run: run.save_policy("best", TENSORS, MANIFEST)),
        ("os.unlink", lambda run: run.prune_checkpoints(0)),
    ],
)
def test_a_refused_write_or_deletion_names_its_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str, write: Callable[[TrainingRun], object]
) -> None:
    run = TrainingRun.create("cart", runs_dir=tmp_path)
    save_at(run, 7)

    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    with monkeypatch.context() as patch:
        patch.setattr(f"ecs_rl.files.{call}", refuse)
        with pytest.raises(StorageError, match=r"cannot write .*\.safetensors: Permission denied"):
            write(run)
    assert read_manifest(run.checkpoint_path("latest")).step == 7
