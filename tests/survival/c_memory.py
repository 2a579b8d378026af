"""What C's memory of a process holds, and how much of it many anchors and respawns lose.

Run on its own it prints the bytes lost: a process without other tests and without torch, whose memory comes and goes
by tens of megabytes.
"""

from __future__ import annotations

import ctypes
import gc
import sys

import numpy as np
from pymunk.batch import Buffer

from ecs_rl.components import ActionLog, Snapshots
from ecs_rl.loading import load_scene
from ecs_rl.physics import shard
from ecs_rl.physics.physics import Physics
from ecs_rl.worlds import make_world

KNOWN = hasattr(ctypes.CDLL(None), "mallinfo2")
"""Whether the C library can tell: glibc 2.33 and later."""
ROUNDS, ARENAS = 200, 16
M_MMAP_THRESHOLD, LARGE = -3, 64 * 1024
"""Larger blocks are kept apart, and not counted: a few of megabytes come and go, and buffers are small."""


class Mallinfo(ctypes.Structure):
    """What the C library's allocator tells of itself, see mallinfo(3)."""

    _fields_ = [(name, ctypes.c_size_t) for name in ("arena", "ordblks", "smblks", "hblks", "hblkhd", "usmblks")]
    _fields_ += [(name, ctypes.c_size_t) for name in ("fsmblks", "uordblks", "fordblks", "keepcost")]


def allocated(*, large: bool = True) -> int:
    """Return the bytes that C has asked for and not given back, 0 where only an older library can tell."""
    gc.collect()
    if not KNOWN:
        return 0
    library = ctypes.CDLL(None)
    library.mallinfo2.restype = Mallinfo
    told = library.mallinfo2()
    return int(told.uordblks + (told.hblkhd if large else 0))


def lost_by_anchors(scene: str) -> int:
    """Return the bytes of C memory that many anchors, restarts, ticks and moved arenas have not given back."""
    choose = {"policy": lambda seen, state: np.zeros(len(seen), np.int64)}
    world = make_world(load_scene(scene), arenas=ARENAS, policies=choose, resources=(ActionLog(), Snapshots()))

    def go_round() -> None:
        world.start_over()  # every round is the same: no more contacts in one than in another
        world.tick()
        world.snapshot()
        world.tick()
        world.engine_as(Physics).put(np.arange(4))

    def fewest() -> int:
        found = []
        for _ in range(10):
            go_round()
            found.append(allocated(large=False))
        return min(found)  # now and then a Space waits for the next collection

    ctypes.CDLL(None).mallopt(M_MMAP_THRESHOLD, LARGE)
    fewest()
    first = fewest()
    for _ in range(ROUNDS):
        go_round()
    last = fewest()
    world.close()
    return last - first


def main(scene: str, leak: str = "") -> None:
    """Print what is lost, with a leak put in on purpose if told."""
    if leak:
        setattr(shard, "OutBuffer", Buffer)  # noqa: B010  pymunk's own, which never frees what it holds
    sys.stdout.write(f"{lost_by_anchors(scene)}\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
