"""A long training needs no more memory, files, threads or time per tick at its end than near its beginning.

20 million steps: `python -m pytest -m slow tests/survival/test_soak.py -s` (some minutes on two cores).
The second quarter of each training is compared with the last one; the first is warm-up, and episodes are short there.
"""

from __future__ import annotations

import gc
import json
import os
import statistics
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from time import perf_counter

import esper
import numpy as np
import pymunk
import pytest
from c_memory import KNOWN, allocated
from survival_runs import FORKS

from ecs_rl.agents.config import PPOConfig
from ecs_rl.components import ActionLog, Snapshots
from ecs_rl.loading import load_scene
from ecs_rl.physics.physics import Physics
from ecs_rl.runs import TrainingRun
from ecs_rl.training.evaluator import play_episodes
from ecs_rl.training.prepare import prepare
from ecs_rl.training.settings import TrainingSettings
from ecs_rl.worlds import make_world

pytestmark = pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="asks Linux for its memory")
MEMORY, MORE_MEMORY = 1.05, 8e6
"""By how much memory may grow: a share, and bytes on top."""
SLOWER = 1.25
"""How much longer a tick may take; the machine has other things to do as well."""


LOST, BLOCKS_LOST = 3_000_000, 3_000
"""How many bytes of C's and how many blocks of Python's may be gone after 30 saves and 30 evaluations."""
LOST_BY_ANCHORS = 300_000
"""How many bytes may be gone after 400 anchors: noise is 0.1 million at most, one buffer never freed a whole one."""
glibc_only = pytest.mark.skipif(not KNOWN, reason="asks glibc for its memory")


@dataclass(frozen=True)
class Sample:
    """What the process was like after some ticks."""

    steps: int
    bytes: int
    files: int
    threads: int
    worlds: int
    asked_of_c: int
    """Bytes, after a collection: resident memory is a matter of the allocator's moods for the first minutes."""
    python_blocks: int
    tick: float
    """Seconds per tick since the last sample, with all saving, logging and evaluating in it."""


def soak(folder: str, steps: int, arenas: int, every: int, ticks: int) -> None:
    """Train balance in this process and write a sample every so many ticks."""
    config = PPOConfig(rollout=32, minibatch=8 * arenas, epochs=4, lr=1e-3)
    training = prepare(
        load_scene("balance"),
        "ppo",
        config,
        TrainingSettings(
            arenas=arenas, steps=steps, threads=2, eval_every=every, eval_episodes=8, checkpoint_every=every
        ),
        run=TrainingRun.create("soak", runs_dir=folder, scene="balance", agent="ppo"),
    )
    samples, began = [], perf_counter()
    while not training.done:
        training.tick()
        if training.world.ticks % ticks == 0:
            now = perf_counter()
            samples.append(asdict(sample(training.session.total_steps, (now - began) / ticks)))
            began = perf_counter()
    training.close()
    Path(folder, "samples.json").write_text(json.dumps(samples))


def sample(steps: int, tick: float) -> Sample:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    files = len(os.listdir("/proc/self/fd"))
    worlds = len(esper.list_worlds())
    resident, threads = pages * os.sysconf("SC_PAGE_SIZE"), threading.active_count()
    return Sample(steps, resident, files, threads, worlds, allocated(), sys.getallocatedblocks(), tick)


def soaked(folder: Path, steps: int, arenas: int, every: int, ticks: int) -> tuple[list[Sample], list[Sample]]:
    """Train in a process of its own; return the samples of the second and of the last quarter."""
    process = FORKS.Process(target=soak, args=(str(folder), steps, arenas, every, ticks))
    process.start()
    process.join()
    assert process.exitcode == 0
    samples = [Sample(**each) for each in json.loads((folder / "samples.json").read_text())]
    quarter = len(samples) // 4
    assert quarter >= 8
    second, last = samples[quarter : 2 * quarter], samples[-quarter:]
    for name in ("bytes", "asked_of_c", "python_blocks", "files", "threads", "worlds", "tick"):
        print(f"\n{name:13} {median(second, name):14,.6g} -> {median(last, name):14,.6g}", end="")
    return second, last


def median(samples: list[Sample], name: str) -> float:
    return float(statistics.median(getattr(each, name) for each in samples))


def least(samples: list[Sample], name: str) -> int:
    return min(int(getattr(each, name)) for each in samples)


def assert_flat(second: list[Sample], last: list[Sample]) -> None:
    for name in ("files", "threads", "worlds"):
        assert max(getattr(each, name) for each in last) <= max(getattr(each, name) for each in second), name


@pytest.mark.slow
def test_300_000_steps_with_60_saves_and_evaluations_leave_nothing_behind(tmp_path: Path) -> None:
    second, last = soaked(tmp_path, 300_000, arenas=64, every=5_000, ticks=128)
    assert_flat(second, last)
    assert least(last, "asked_of_c") < least(second, "asked_of_c") + LOST
    assert least(last, "python_blocks") < least(second, "python_blocks") + BLOCKS_LOST
    assert 1 < second[0].threads < 6


@pytest.mark.slow
def test_20_million_steps_stay_as_they_were_after_warming_up(tmp_path: Path) -> None:
    second, last = soaked(tmp_path, 20_000_000, arenas=1024, every=100_000, ticks=128)
    assert_flat(second, last)
    assert median(last, "bytes") < MEMORY * median(second, "bytes") + MORE_MEMORY
    assert median(last, "tick") < SLOWER * median(second, "tick")


def lost(*told: str) -> int:
    """Return what anchors lose in a process of its own: what other tests left behind comes and goes by megabytes."""
    asked = [sys.executable, "c_memory.py", *told]
    done = subprocess.run(asked, cwd=Path(__file__).parent, capture_output=True, text=True, check=True)
    return int(done.stdout)


@glibc_only
@pytest.mark.parametrize("scene", ["balance", "lander"])
def test_anchors_and_respawns_give_all_their_memory_back(scene: str) -> None:
    assert lost(scene) < LOST_BY_ANCHORS


@glibc_only
@pytest.mark.parametrize("scene", ["balance", "lander"])
def test_buffers_that_are_never_freed_would_be_seen(scene: str) -> None:
    assert lost(scene, "leak") > 3 * LOST_BY_ANCHORS


@pytest.fixture
def _only_new_objects_count() -> Iterator[None]:
    gc.freeze()
    yield
    gc.unfreeze()


def count(kind: type) -> int:
    """Return how many objects of a kind were made since the test began and are still there."""
    gc.collect()
    return sum(issubclass(type(each), kind) for each in gc.get_objects())


@pytest.mark.usefixtures("_only_new_objects_count")
@pytest.mark.parametrize("scene", ["balance", "lander"])
def test_anchors_and_evaluations_leave_no_spaces_and_no_worlds_behind(scene: str) -> None:
    found = load_scene(scene)
    choose = {"policy": lambda seen, state: np.zeros(len(seen), np.int64)}
    worlds = len(esper.list_worlds())
    assert (count(pymunk.Space), count(pymunk.Body)) == (0, 0)
    world = make_world(found, arenas=200, policies=choose, resources=(ActionLog(), Snapshots()))
    own, own_bodies = count(pymunk.Space), count(pymunk.Body)
    assert own == len(world.engine_as(Physics).shards)
    for _ in range(4):
        world.snapshot()
        world.tick()
        play_episodes(found, choose, [1, 2])
    assert (count(pymunk.Space), count(pymunk.Body)) == (own, own_bodies)
    world.close()
    del world
    assert (count(pymunk.Space), count(pymunk.Body)) == (0, 0)
    assert len(esper.list_worlds()) == worlds
