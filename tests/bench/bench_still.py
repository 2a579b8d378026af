"""What tiles cost that never move: `python tests/bench/bench_still.py [--rounds 30]`.

Four worlds have the same 99 boxes of 1 m: not at all, `solid=False`, as the four walls of each, and as one solid role
that never moves. A ball flies about among them. Their ticks are timed in turns, so that a busy machine slows all alike.
The target: solid boxes cost no more than twice what walls cost.
"""

from __future__ import annotations

import argparse
import statistics
from itertools import pairwise
from time import perf_counter

import numpy as np

from ecs_rl.scene import Arena, Body, Box, Disc, Levers, Push, Scene, Start, Vx, Vy, X, Y, jitter
from ecs_rl.world import World
from ecs_rl.worlds import make_world

COLUMNS, LINES, APART = 11, 9, 2.2
"""Boxes to the right and up, and metres from one to the next: the ball passes between."""
ARENAS, TICKS, TARGET = 64, 50, 2.0
PLACES = [((i - COLUMNS // 2) * APART, (j - LINES // 2) * APART) for i in range(COLUMNS) for j in range(LINES)]
KINDS = ("none", "soft", "walls", "never")


def scene(kind: str) -> Scene:
    """Return the scene with the boxes of a kind."""

    def build(arena: Arena) -> None:
        start = Start(x=1.1, y=1.1, vx=jitter(3.0), vy=jitter(3.0))
        ball = arena.spawn("ball", Body(elasticity=0.9), Disc(0.3), start)
        if kind == "walls":
            for x, y in PLACES:
                corners = [(x - 0.5, y - 0.5), (x + 0.5, y - 0.5), (x + 0.5, y + 0.5), (x - 0.5, y + 0.5)]
                for one, other in pairwise([*corners, corners[0]]):
                    arena.wall(one, other)
        elif kind != "none":
            xs, ys = (tuple(map(float, each)) for each in zip(*PLACES, strict=True))
            body = Body(solid=kind == "never", moves="never")
            arena.spawn("tile", body, Box(1.0, 1.0), Start(x=xs, y=ys), count=len(PLACES))
        arena.agent(
            sees=[X(ball), Y(ball), Vx(ball), Vy(ball)],
            does=Levers(right=Push(ball, x=8.0), up=Push(ball, y=8.0)),
            earns={"x": X(ball)},
        )

    return Scene(about="A ball among boxes.", max_ticks=500, gravity=(0.0, 0.0), build=build, name="tiles")


def world_of(kind: str) -> World:
    """Return a world whose policy pushes at random, the same way in every kind."""
    rng = np.random.default_rng(1)
    choose = {"policy": lambda seen, state: rng.uniform(-1.0, 1.0, (len(seen), 2)).astype(np.float32)}
    return make_world(scene(kind), arenas=ARENAS, policies=choose)


def main() -> None:
    """Print steps per second of each kind, and what the tiles of each add to a tick."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=30)
    rounds = parser.parse_args().rounds
    worlds = {kind: world_of(kind) for kind in KINDS}
    seconds: dict[str, list[float]] = {kind: [] for kind in KINDS}
    for _ in range(rounds):
        for kind, world in worlds.items():
            began = perf_counter()
            for _ in range(TICKS):
                world.tick()
            seconds[kind].append((perf_counter() - began) / TICKS)
    tick = {kind: statistics.median(each) for kind, each in seconds.items()}
    for kind, each in tick.items():
        print(f"{kind:6} {ARENAS / each:10,.0f} steps/s {1e6 * each:9,.0f} us a tick")
    times = tick["never"] / tick["walls"]
    print(f"a tick with solid tiles takes {times:.2f} times one with walls (target: at most {TARGET})")


if __name__ == "__main__":
    main()
