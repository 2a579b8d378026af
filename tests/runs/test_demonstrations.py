"""What somebody showed comes back bit for bit, or is refused."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from ecs_rl.agents.base import Demonstration
from ecs_rl.errors import CheckpointError
from ecs_rl.runs import Manifest, sealed_pieces
from ecs_rl.runs.checkpoint import read_sealed
from ecs_rl.runs.demonstrations import Demonstrations, read_demonstrations, save_demonstrations
from ecs_rl.spaces import PolicySpec
from ecs_rl.testing.transitions import CHOICES, LEVERS, MIXED

FIELDS = ("observation", "action", "reward", "imitated")


def some(spec: PolicySpec = CHOICES, lengths: tuple[int, ...] = (7, 3)) -> Demonstrations:
    """Return episodes of these lengths, of random numbers."""
    random = np.random.default_rng(1)
    episodes = [
        Demonstration(
            seed=seed,
            observation=random.normal(size=(ticks, len(spec.observations))).astype(np.float32),
            action=spec.actions.random(random, ticks),
            reward=random.normal(size=ticks).astype(np.float32),
            imitated=random.random(ticks) < 0.7,
            terminated=bool(seed % 2),
            result=float(random.normal()),
        )
        for seed, ticks in enumerate(lengths)
    ]
    return Demonstrations("lander", "a" * 64, spec, tuple(episodes))


@pytest.mark.parametrize("spec", [CHOICES, LEVERS, MIXED], ids=["choices", "levers", "mixed"])
def test_what_was_shown_comes_back_bit_for_bit(spec: PolicySpec, tmp_path: Path) -> None:
    wanted = some(spec)
    save_demonstrations(tmp_path / "mine.demo", wanted)
    found = read_demonstrations(tmp_path / "mine.demo")
    assert replace(found, episodes=()) == replace(wanted, episodes=())
    for ours, theirs in zip(wanted.episodes, found.episodes, strict=True):
        assert (ours.seed, ours.terminated, ours.result) == (theirs.seed, theirs.terminated, theirs.result)
        for name in FIELDS:
            assert getattr(ours, name).dtype == getattr(theirs, name).dtype
            np.testing.assert_array_equal(getattr(ours, name), getattr(theirs, name))


def test_any_damage_is_refused_with_a_way_out(tmp_path: Path) -> None:
    path = tmp_path / "mine.demo"
    save_demonstrations(path, some())
    whole = path.read_bytes()
    for at in range(0, len(whole), 97):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
        with pytest.raises(CheckpointError, match=r"demonstration .*mine\.demo"):
            read_demonstrations(path)
    for size in (0, 7, len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole[:size])
        with pytest.raises(CheckpointError, match="play anew with --save-demo"):
            read_demonstrations(path)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"reward": np.zeros(6, np.float32)}, "parts of other lengths"),
        ({"reward": np.zeros(7)}, "parts of another type"),
        ({"observation": np.full((7, 3), np.nan, np.float32)}, "not finite"),
        ({"action": np.full(7, 99)}, "99 of"),
    ],
)
def test_a_sealed_file_whose_parts_do_not_fit_together_is_refused(
    change: dict[str, Any], told: str, tmp_path: Path
) -> None:
    shown = some()
    broken = replace(shown, episodes=(replace(shown.episodes[0], **change), shown.episodes[1]))
    save_demonstrations(tmp_path / "mine.demo", broken)
    with pytest.raises(CheckpointError, match=told):
        read_demonstrations(tmp_path / "mine.demo")


SAVING = """
import sys
from pathlib import Path
sys.path[:0] = sys.argv[2:]
from test_demonstrations import some
from ecs_rl.runs.demonstrations import save_demonstrations
number = 0
while True:
    number = number % 40 + 1
    save_demonstrations(Path(sys.argv[1]), some(lengths=(number,) * number))
    if number == 1:
        print("saving", flush=True)
"""


def test_kill_9_while_it_is_written_leaves_a_whole_one(tmp_path: Path) -> None:
    path, folders = tmp_path / "mine.demo", [str(Path(__file__).parent)]
    for wait in (0.0, 0.02, 0.05, 0.09):
        writer = subprocess.Popen([sys.executable, "-c", SAVING, str(path), *folders], stdout=subprocess.PIPE)
        assert writer.stdout is not None
        assert writer.stdout.readline()
        time.sleep(wait)
        os.kill(writer.pid, signal.SIGKILL)
        writer.wait()
        writer.stdout.close()
        found = read_demonstrations(path)
        assert {len(episode) for episode in found.episodes} == {len(found.episodes)}


@pytest.mark.parametrize("part", ["observation", "action", "reward", "shown"])
@pytest.mark.parametrize(
    "made", [lambda t: t.bfloat16(), lambda t: t.flatten()[0].clone()], ids=["brain floats", "one"]
)
def test_parts_of_another_type_or_shape_are_refused(
    part: str, made: Callable[[torch.Tensor], torch.Tensor], tmp_path: Path
) -> None:
    path = tmp_path / "mine.demo"
    save_demonstrations(path, some())
    manifest, tensors = read_sealed(path, Manifest)
    name = f"00000/{part}"
    path.write_bytes(b"".join(sealed_pieces(tensors | {name: made(tensors[name])}, manifest)))
    with pytest.raises(CheckpointError, match="does not fit together"):
        read_demonstrations(path)
