"""What games cost: `python tests/bench/bench_games.py [--rounds 9]`. Every number is a ratio of one run.

1. A tick of the forager (a bug, 40 coins and 3 hazards that are not solid, walls) against a tick of balance, 1,024
   arenas each, random actions, without learning. Asked: at most 5.
2. Placing one percent of all coins anew and taking one percent away in every tick, against the whole tick. Asked: 0.10.
   Beside it the same with all that a system costs that moves bodies: here also to say who, and the look for numbers
   that are not finite.
3. Training the shooter (ship, 5 rocks, 4 shots, health, a gun that cools down) with 256 arenas, against the same game
   forced on single solid bodies, with joints that never hold so that they pass through each other; both are
   shown by stage. Asked: 2.5.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from time import process_time

import numpy as np
from numpy.typing import NDArray

from ecs_rl.agents.config import PPOConfig
from ecs_rl.ecs.entries import Stage
from ecs_rl.loading import load_scene
from ecs_rl.scene import (
    Arena,
    Body,
    Closing,
    Disc,
    Feel,
    Levers,
    Motion,
    Polygon,
    Pose,
    Push,
    Role,
    Scene,
    Spin,
    Start,
    Thrust,
    Toward,
    TurnLimit,
    Twist,
    jitter,
)
from ecs_rl.schedule import TRAINING
from ecs_rl.session import TrainingSession
from ecs_rl.spaces import ActMode
from ecs_rl.training.scene_agents import deciding, make_agents
from ecs_rl.training_stages.resources import Session
from ecs_rl.world import World
from ecs_rl.worlds import make_world

HERE = Path(__file__).parents[1]
sys.path.insert(0, str(HERE / "world"))

from world_helpers import random_policies, random_world  # noqa: E402

SCENES = HERE / "scenes"
ARENAS, TICKS = 1024, 20
SIZE, SHIP = 8.0, Polygon(((0.5, 0.0), (-0.4, 0.3), (-0.4, -0.3)))
"""As in the shooter."""
Hits = NDArray[np.bool_]


def seconds(world: World, ticks: int) -> float:
    """Return processor seconds of one tick."""
    began = process_time()
    for _ in range(ticks):
        world.tick()
    return (process_time() - began) / ticks


def by_turns(worlds: dict[str, World], rounds: int, ticks: int = TICKS) -> dict[str, float]:
    """Return the median seconds of a tick of each world, timed by turns."""
    for world in worlds.values():
        seconds(world, ticks)
    found: dict[str, list[float]] = {name: [] for name in worlds}
    for _ in range(rounds):
        for name, world in worlds.items():
            found[name].append(seconds(world, ticks))
    return {name: statistics.median(times) for name, times in found.items()}


def metered(stage: Stage) -> list[float]:
    """Let a stage note the processor seconds of each of its runs."""
    run, spent = stage.run, list[float]()

    def timed() -> None:
        began = process_time()
        run()
        spent.append(process_time() - began)

    stage.run = timed  # type: ignore[method-assign]
    return spent


def churning(scene: Scene, spent: list[float]) -> Scene:
    """Return the forager in which a system places one percent of the coins anew and takes one percent away.

    The processor seconds of both are added to `spent`.
    """

    def build(arena: Arena) -> None:
        scene.build(arena)
        coins = next(role for role in arena.roles if role.name == "coin")
        luck = arena.dice(of=coins)

        @arena.system(writes=(Pose,))
        def churn() -> None:
            go, come = luck() < 0.01, luck() > 0.99
            began = process_time()
            coins.leave(go)
            coins.place(come)
            spent.append(process_time() - began)

    return replace(scene, build=build)


def forced(arena: Arena) -> None:
    """Describe the shooter without kinds: ten solid bodies, and limits that never hold between any two of them."""
    ship = arena.spawn("ship", Body(drag=0.8, spin_drag=4.0), SHIP, Start())
    rocks = [
        arena.spawn(f"rock {i}", Body(), Disc(0.8), Start(x=x, y=jitter(SIZE), vx=jitter(1.5), vy=jitter(1.5)))
        for i, x in enumerate((-SIZE, SIZE, -SIZE, SIZE, 0.0))
    ]
    shots = [arena.spawn(f"shot {i}", Body(), Disc(0.15), Start(x=2 * SIZE, y=float(i))) for i in range(4)]
    for one, other in combinations([ship, *rocks, *shots], 2):
        arena.join(TurnLimit(one, other, -1e6, 1e6))
    heat, broken = arena.number("heat"), arena.number("broken")
    healths = [arena.number(f"health {i}", start=2.0) for i in range(5)]
    fire = Push(ship, 0.0)

    def hits() -> Hits:
        """Return (shots, rocks, arenas): which touch."""
        return np.array([[touch(shot, rock, 0.95) for rock in rocks] for shot in shots])

    def crash() -> Hits:
        return np.asarray(np.logical_or.reduce([touch(ship, rock, 1.2) for rock in rocks]))

    @arena.system(writes=(Pose, Motion, heat, broken, *healths))
    def shoot() -> None:
        """Do what the game does, body by body."""
        heat.value = np.maximum(heat.value - 0.08, 0.0)
        struck = hits()
        for i, (rock, health) in enumerate(zip(rocks, healths, strict=True)):
            health.value -= struck[:, i].any(axis=0)
            dead = health.value <= 0.0
            broken.value += dead
            rock.position[dead], health.value[dead] = (SIZE, 0.0), 2.0
        for role in (ship, *rocks):
            role.position[...] = (role.position + SIZE) % (2 * SIZE) - SIZE
        ready = (fire.amount > 0.0) & (heat.value <= 0.0)
        for i, shot in enumerate(shots):
            gone = struck[i].any(axis=0) | (np.abs(shot.position) > SIZE).any(axis=1)
            shot.position[gone], shot.velocity[gone] = (2 * SIZE, float(i)), (0.0, 0.0)
            fires = ready & (shot.x > SIZE)
            shot.position[fires], shot.velocity[fires] = ship.position[fires], 12.0 * ship.heading[fires]
            ready &= ~fires
            heat.value[fires] = 1.0

    arena.score("broken", lambda: broken.value)
    arena.agent(
        sees=[
            *(Spin(ship), Feel("heat", lambda: heat.value)),
            *(sensor for rock in rocks[:3] for sensor in (Toward(ship, rock), Closing(ship, rock))),
        ],
        does=Levers(turn=Twist(ship, 3.0), gas=Thrust(ship, x=8.0), fire=fire),
        earns={"hit": lambda: hits().any(axis=(0, 1)), "crash": lambda: -5.0 * crash()},
        ends={"crash": crash},
    )


def touch(one: Role, other: Role, reach: float) -> Hits:
    """Return (arenas,): whether two discs touch."""
    off = one.position - other.position
    return np.asarray((off * off).sum(axis=1) < reach * reach)


def stages(world: World) -> str:
    """Return the microseconds of each stage of a tick."""
    return "  ".join(f"{name} {1e6 * taken / world.ticks:.0f}" for name, taken in world.seconds_in.items())


def training(scene: Scene, arenas: int) -> World:
    """Return a world in which PPO learns, 4 epochs of minibatches of 2,048."""
    config = PPOConfig(rollout=32, minibatch=2048, epochs=4)
    agents = make_agents(scene, "ppo", config, arenas=arenas, seed=0)
    agent = next(iter(agents.values()))
    session = Session(TrainingSession(agent).with_max_steps(10**9))
    names = [name for name in TRAINING if name not in ("evaluate", "snapshot", "write")]
    return make_world(
        scene, arenas=arenas, policies=deciding(agents, ActMode.EXPLORE), stages=names, resources=(session,)
    )


def main() -> None:
    """Print all three."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=9)
    rounds = parser.parse_args().rounds

    forager = load_scene(str(SCENES / "forager.py"))
    moved = list[float]()
    churn = churning(forager, moved)
    still = make_world(forager, arenas=ARENAS, policies=random_policies(forager))
    busy = make_world(churn, arenas=ARENAS, policies=random_policies(churn))
    spent = metered(busy.stages["churn"])
    took = by_turns({"forager": still, "churning": busy, "balance": random_world("balance", ARENAS)}, rounds)
    shares = [statistics.median(each) / took["churning"] for each in (moved, spent)]
    ratio = took["forager"] / took["balance"]
    print(f"forager, {ARENAS:,} arenas: {1e6 * took['forager']:.0f} us a tick, {ratio:.2f} of balance's")
    print(f"  {stages(still)}")
    print(
        f"one percent placed and one taken away in each tick: {shares[0]:.3f} of the tick,"
        f" {shares[1]:.3f} with all that such a system costs"
    )

    shooter = load_scene(str(SCENES / "shooter.py"))
    old = Scene(about="The shooter without kinds.", max_ticks=500, gravity=(0.0, 0.0), build=forced)
    worlds = {"shooter": training(shooter, 256), "forced": training(old, 256)}
    took = by_turns(worlds, rounds, ticks=32)  # one rollout and its update
    told = {name: 256 / each for name, each in took.items()}
    print(
        f"shooter, 256 arenas: {told['shooter']:,.0f} steps/s of training, forced on single bodies"
        f" {told['forced']:,.0f}: {told['shooter'] / told['forced']:.1f} times"
    )
    for name, world in worlds.items():
        print(f"  {name}: {stages(world)}")


if __name__ == "__main__":
    main()
