"""What rays cost against the obvious formula, and with walls out of reach: `python tests/bench/bench_rays.py`.

Nine rays in each of 256 arenas, among 96 walls within reach, then with 400 far ones. Both ways are timed as the stage
`sense` of a world whose viewers drive about, in turns: each tick moves the viewers, and episodes end now and then.
What the formula costs depends on its memory: it takes so much that the system may have to find it anew in every tick.
Then, in 1,024 arenas, the nearest three of 40 coins, and grids of 11 x 11 cells that show the coins, or eleven walls.
"""

from __future__ import annotations

import argparse
from functools import partial

import numpy as np

from ecs_rl.arrays import F64
from ecs_rl.components import NextObservation
from ecs_rl.scene import Arena, Body, Disc, Feels, Grid, Levers, Nearest, Push, Rays, Scene, Start, jitter
from ecs_rl.world import World
from ecs_rl.worlds import make_world

ARENAS, NEAR, FAR, REACH = 256, 96, 400, 5.0
MANY = 1024
ANGLES = np.linspace(-1.5, 1.5, 9)


def hit_segments(start: F64, way: F64, segments: F64) -> F64:
    """Return (arenas, rays): the share of the way to the nearest segment, 1 if none is hit."""
    ax, ay = (segments[:, None, :, 0, i] - start[:, None, None, i] for i in (0, 1))
    ex, ey = (segments[:, None, :, 1, i] - segments[:, None, :, 0, i] for i in (0, 1))
    dx, dy = way[:, :, None, 0], way[:, :, None, 1]
    cross = dx * ey - dy * ex
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        along = (ax * ey - ay * ex) / cross
        across = (ax * dy - ay * dx) / cross
    # A ray along a segment divides by zero; the comparisons are false for what comes of that.
    hit = (along >= 0) & (along <= 1) & (across >= 0) & (across <= 1)
    return np.asarray(np.where(hit, along, 1.0).min(axis=2))


def hit_disc(start: F64, way: F64, centre: F64, radius: float) -> F64:
    """Return (arenas, rays): the share of the way to the disc, 0 from within, 1 if it is not hit."""
    toward = start - centre
    a = (way * way).sum(axis=-1)
    b = (way * toward[:, None]).sum(axis=-1)
    c = ((toward * toward).sum(axis=-1) - radius**2)[:, None]
    under = b * b - a * c
    share = (-b - np.sqrt(np.maximum(under, 0.0))) / a
    hit = (under >= 0) & (share >= 0) & (share <= 1)
    return np.asarray(np.where(c < 0, 0.0, np.where(hit, share, 1.0)))


def walls(count: int, nearest: float, furthest: float) -> F64:
    """Return (count, 2, 2) of walls about a metre long, their middles in a ring around the origin."""
    rng = np.random.default_rng(count)
    turn, away = rng.uniform(-np.pi, np.pi, count), rng.uniform(nearest, furthest, count)
    middle = np.stack((away * np.cos(turn), away * np.sin(turn)), axis=-1)
    half = rng.normal(scale=0.35, size=(count, 2))
    return np.stack((middle - half, middle + half), axis=1)


def build(arena: Arena, *, formula: bool, far: bool) -> None:
    """Describe a viewer that drives about among walls."""
    start = Start(x=jitter(0.3), y=jitter(0.3), angle=jitter(3.0), vx=jitter(2.0), vy=jitter(2.0))
    eye = arena.spawn("eye", Body(), Disc(0.05), start)
    standing = np.concatenate((walls(NEAR, 0.5, REACH), walls(FAR, 3.0 * REACH, 9.0 * REACH)[: FAR * far]))
    for (ax, ay), (bx, by) in standing.tolist():
        arena.wall((ax, ay), (bx, by))
    segments = np.broadcast_to(standing, (ARENAS, *standing.shape)).copy()

    def nearness() -> F64:
        turn = eye.angle[:, None] + ANGLES
        return 1.0 - hit_segments(eye.position, REACH * np.stack((np.cos(turn), np.sin(turn)), axis=-1), segments)

    names = [f"ray {i}" for i in range(len(ANGLES))]
    sees = Feels(names, nearness) if formula else Rays(eye, ANGLES.tolist(), REACH, hits=arena.ground)
    arena.agent(sees=[sees], does=Levers(push=Push(eye, 1.0)), earns={"alive": 1.0})


def world_of(*, formula: bool, far: bool) -> World:
    """Return a world whose viewers look in the one way or the other."""
    scene = Scene("A bench.", 50, gravity=(0.0, 0.0), name="bench", build=partial(build, formula=formula, far=far))
    still = np.zeros((ARENAS, 1), np.float32)
    return make_world(scene, arenas=ARENAS, policies={"policy": lambda seen, state: still})


def milliseconds(world: World, ticks: int) -> float:
    """Return what seeing costs in a tick."""
    sense = world.stages["sense"]
    sense.seconds = 0.0
    for _ in range(ticks):
        world.tick()
    return sense.seconds / ticks * 1e3


def forage(arena: Arena, *, walls_too: bool, grid: bool) -> None:
    """Describe a forager among coins and, with some walls, on a ground of eleven pieces."""
    anywhere = Start(x=jitter(6.0), y=jitter(6.0), angle=jitter(3.0), vx=jitter(2.0), vy=jitter(2.0))
    player = arena.spawn("player", Body(solid=False), Disc(0.2), anywhere)
    coins = arena.spawn("coin", Body(solid=False), Disc(0.1), anywhere, count=40)
    for (ax, ay), (bx, by) in walls(11, 0.5, 6.0).tolist():
        arena.wall((ax, ay), (bx, by))
    layers = {"wall": arena.ground} if walls_too else {"coin": coins}
    sees = Grid(player, layers=layers) if grid else Nearest(player, coins, 3)
    arena.agent(sees=[sees], does=Levers(push=Push(player, 1.0)), earns={"alive": 1.0})


def others(rounds: int) -> None:
    """Print what the other sensors of many things cost."""
    still = np.zeros((MANY, 1), np.float32)
    for told, grid, walls_too in (("nearest", False, False), ("grid of coins", True, False), ("of walls", True, True)):
        made = partial(forage, grid=grid, walls_too=walls_too)
        scene = Scene("A bench.", 50, gravity=(0.0, 0.0), name="bench", build=made)
        world = make_world(scene, arenas=MANY, policies={"policy": lambda seen, state: still})
        cost = np.median([milliseconds(world, 50) for _ in range(rounds)])
        print(f"  {told:20} {cost:8.2f} ms a tick, {MANY} arenas")
        world.close()


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=9)
    asked = parser.parse_args()
    worlds, costs = [], []
    for far in (False, True):
        both = [world_of(formula=formula, far=far) for formula in (True, False)]
        costs += np.median([[milliseconds(world, 50) for world in both] for _ in range(asked.rounds)], axis=0).tolist()
        worlds += both
    seen = [world.of(world.batches[0].entity, NextObservation).value for world in worlds]
    print(f"{len(ANGLES)} rays, {ARENAS} arenas, ms a tick, medians of {asked.rounds} rounds of 50 ticks")
    print("                       formula  sensor")
    for told, (slow, fast) in zip((f"{NEAR} walls", f"and {FAR} far off"), np.reshape(costs, (2, 2)), strict=True):
        print(f"  {told:20} {slow:8.2f} {fast:7.2f}   {slow / fast:.1f} times faster")
    print(f"  the sensor with far walls against without: {costs[3] / costs[1]:.2f}")
    print(f"  largest difference: {max(np.abs(seen[0] - seen[1]).max(), np.abs(seen[2] - seen[3]).max()):.1e}")
    others(asked.rounds)


if __name__ == "__main__":
    main()
