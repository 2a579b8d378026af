"""Files of episodes: what they hold comes back, a damaged one is refused, and a kill leaves none half-written."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import msgspec
import numpy as np
import pytest
import torch

from ecs_rl.errors import CheckpointError
from ecs_rl.runs import Manifest, PolicyEntry, read_checkpoint, sealed_pieces
from ecs_rl.runs.checkpoint import read_sealed
from ecs_rl.runs.episode_file import HAND, Episode, EpisodeManifest, read_episode, write_episode
from ecs_rl.spaces import Composed, Continuous, Discrete, PolicySpec

CHOICE = PolicySpec(("x", "v"), Discrete(("left", "right")), "policy")
MIXED = PolicySpec(("x",), Composed((Discrete(("a", "b"), "gear"), Continuous(("gas",)))), "other")


def an_episode(ticks: int = 40) -> Episode:
    chance = np.random.default_rng(3)
    facts = EpisodeManifest(
        scene="lander",
        source_sha256="ab" * 32,
        policies=(PolicyEntry.of(CHOICE), PolicyEntry.of(MIXED)),
        seed=10_003,
        key=str(2**64 - 59),
        number=2,
        arena=3,
        arenas=8,
        together=(0, 3),
        ticks=ticks,
        rebuilt=(0, 17),
        digest="cd" * 32,
        who="step 12,000, greedy",
        total=-12.5,
        reasons=("crashed",),
        expected=3.0,
        came=-14.0,
    )
    actions = chance.integers(0, 2, (ticks, 1)), chance.random((ticks, 2, 2), np.float32)
    return Episode(facts, actions, chance.random((3, HAND)))


def test_an_episode_comes_back_as_it_was(tmp_path: Path) -> None:
    episode = an_episode()
    path = write_episode(episode, tmp_path, "one")
    assert path == tmp_path / "one.episode"
    back = read_episode(path)
    assert msgspec.structs.replace(back.facts, sha256=episode.facts.sha256) == episode.facts
    for ours, theirs in zip((*back.actions, back.hands), (*episode.actions, episode.hands), strict=True):
        assert (ours.dtype, ours.tobytes()) == (theirs.dtype, theirs.tobytes())
    assert back.surprise == -17.0
    assert path.stat().st_size < 6000


def test_the_same_episode_is_the_same_file(tmp_path: Path) -> None:
    one, other = (write_episode(an_episode(), tmp_path, name) for name in ("one", "other"))
    assert one.read_bytes() == other.read_bytes()


def test_any_damage_is_refused(tmp_path: Path) -> None:
    path = write_episode(an_episode(), tmp_path, "one")
    whole, chance = path.read_bytes(), np.random.default_rng(0)
    for at in (*chance.integers(0, len(whole), 120).tolist(), 0, 8, len(whole) - 1):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ (1 << int(chance.integers(8)))]) + whole[at + 1 :])
        with pytest.raises(CheckpointError, match=r"episode .* is damaged|cannot read episode"):
            read_episode(path)
    for length in (0, 5, 60, len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole[:length])
        with pytest.raises(CheckpointError, match="is damaged"):
            read_episode(path)
    path.write_bytes(whole)
    read_episode(path)


@pytest.mark.parametrize(
    "change",
    [{"ticks": 41}, {"arena": 8}, {"together": (3, 9)}, {"policies": (PolicyEntry.of(CHOICE),)}, {"key": str(2**64)}],
)
def test_parts_that_do_not_fit_together_are_refused_though_the_seal_is_whole(
    change: dict[str, object], tmp_path: Path
) -> None:
    episode = an_episode()
    wrong = Episode(msgspec.structs.replace(episode.facts, **change), episode.actions, episode.hands)
    with pytest.raises(CheckpointError, match="do not fit together"):
        read_episode(write_episode(wrong, tmp_path, "wrong"))


@pytest.mark.parametrize("part", ["actions/0", "hands"])
@pytest.mark.parametrize(
    "made", [lambda t: t.bfloat16(), lambda t: t.flatten()[0].clone()], ids=["brain floats", "one"]
)
def test_parts_of_another_type_or_shape_are_refused(
    part: str, made: Callable[[torch.Tensor], torch.Tensor], tmp_path: Path
) -> None:
    path = write_episode(an_episode(), tmp_path, "one")
    facts, tensors = read_sealed(path, EpisodeManifest)
    assert part in tensors
    path.write_bytes(b"".join(sealed_pieces(tensors | {part: made(tensors[part])}, facts)))
    with pytest.raises(CheckpointError, match="do not fit together"):
        read_episode(path)


def test_an_episode_is_no_checkpoint_and_a_checkpoint_no_episode(tmp_path: Path) -> None:
    path = write_episode(an_episode(), tmp_path, "one")
    with pytest.raises(CheckpointError, match=r"checkpoint .* is damaged"):
        read_checkpoint(path)
    checkpoint = tmp_path / "checkpoint.safetensors"
    manifest = Manifest(scene="lander", agent="ppo", step=3)
    checkpoint.write_bytes(b"".join(sealed_pieces({"policy/weight": torch.zeros(2)}, manifest)))
    assert read_checkpoint(checkpoint)[0].step == 3
    with pytest.raises(CheckpointError, match=r"episode .* is damaged"):
        read_episode(checkpoint)
    with pytest.raises(CheckpointError, match="No such file"):
        read_episode(tmp_path / "none.episode")


WRITES = """
import sys
from itertools import count
from pathlib import Path
sys.path.insert(0, sys.argv[2])
from test_episode_files import an_episode
from ecs_rl.runs.checkpoint import read_sealed
from ecs_rl.runs.episode_file import write_episode
for i in count():
    write_episode(an_episode(40 + i % 3), Path(sys.argv[1]), f"e{i % 5}")
    print(i, flush=True)
"""


def test_a_writer_that_is_killed_leaves_whole_files_only(tmp_path: Path) -> None:
    for _ in range(3):
        writer = subprocess.Popen(
            [sys.executable, "-c", WRITES, str(tmp_path), str(Path(__file__).parent)], stdout=subprocess.PIPE
        )
        assert writer.stdout is not None
        writer.stdout.readline()
        time.sleep(0.05)
        writer.kill()
        writer.wait()
        found = list(tmp_path.glob("*.episode"))
        assert found
        for path in found:
            assert read_episode(path).facts.ticks in (40, 41, 42)
