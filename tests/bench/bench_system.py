"""What a system of a scene costs beside its own numpy line: `python tests/bench/bench_system.py [--rounds 301]`.

Each system below is one line. It is timed as the tick runs it, columns opened and shut and its numbers looked over, in
turns with the same line on a plain array of the same numbers. The target: at most 5 us a tick more than the line.
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter

import numpy as np

from ecs_rl.scene import Arena, Body, Disc, Feel, Levers, Pose, Push, Scene, Start, component
from ecs_rl.worlds import make_world

ARENAS = (64, 1024)
CALLS = 100
"""Calls of each in a round: so few that a busy machine leaves most rounds in one piece."""
TARGET = 5.0
"""Microseconds."""


@component
class Gun:
    """What the systems change."""

    heat: float = 1.0


def cool(gun: Gun) -> None:
    """Let every gun cool down."""
    gun.heat *= 0.999


def build(arena: Arena) -> None:
    """Describe a disc with a gun, and the systems that are timed."""
    disc = arena.spawn("disc", Body(), Disc(0.1), Start(), Gun())
    score = arena.number("score", start=1.0)
    arena.system(cool)

    @arena.system(writes=(Gun,))
    def cool_by_handle() -> None:
        disc[Gun].heat *= 0.999

    @arena.system(writes=(score,))
    def count() -> None:
        score.value *= 0.999

    @arena.system(writes=(Pose,))
    def slide() -> None:
        disc.x *= 0.999

    arena.agent(
        sees=[Feel("heat", lambda: disc[Gun].heat)],
        does=Levers(push=Push(disc, 1.0)),
        earns={"heat": lambda: score.value},
    )


SYSTEMS = {
    "cool": "a function of a component",
    "cool_by_handle": "a closure over a role",
    "count": "a number of the arena",
    "slide": "a closure that may move bodies (at rest)",
}


@dataclass(frozen=True)
class Cost:
    """Microseconds a tick, medians over the rounds."""

    system: float
    line: float
    more: float
    """The median difference of the two within a round."""


def seconds(run: Callable[[], None]) -> float:
    """Return how long a call takes."""
    began = perf_counter()
    for _ in range(CALLS):
        run()
    return (perf_counter() - began) / CALLS


def measure(arenas: int, rounds: int) -> dict[str, Cost]:
    """Time each system and its line in turns."""
    scene = Scene(about="A bench.", max_ticks=100, gravity=(0.0, 0.0), name="bench", build=build)
    world = make_world(scene, arenas=arenas, policies={})
    alone = np.ones(arenas)

    def line() -> None:
        nonlocal alone
        alone *= 0.999

    costs = {}
    for name in SYSTEMS:
        run = world.stages[name].process
        pairs = [(seconds(run) * 1e6, seconds(line) * 1e6) for _ in range(rounds + 1)][1:]
        costs[name] = Cost(
            *(statistics.median(each) for each in (*zip(*pairs, strict=True), [a - b for a, b in pairs]))
        )
    world.close()
    return costs


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=301)
    asked = parser.parse_args()
    print(f"us a tick, medians of {asked.rounds} rounds\n  arenas  {'system':42}  as a system    its line  difference")
    for arenas in ARENAS:
        for name, cost in measure(arenas, asked.rounds).items():
            over = "" if cost.more <= TARGET else f"  over {TARGET:g}"
            print(f"  {arenas:6}  {SYSTEMS[name]:42}  {cost.system:11.2f}  {cost.line:10.2f}  {cost.more:10.2f}{over}")


if __name__ == "__main__":
    main()
