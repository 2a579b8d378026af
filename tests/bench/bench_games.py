"""What games cost: `python tests/bench/bench_games.py [--rounds 9]`. Every number is a ratio of one run.

1. A tick of the forager (a bug, 40 coins and 3 hazards that are not solid, walls) against a tick of balance, 1,024
   arenas each, random actions, without learning. Asked: at most 5.
2. Placing one percent of all coins anew and taking one percent away in every tick, against the whole tick. Asked: 0.10.
3. Training the shooter (ship, 5 rocks, 4 shots, health, a gun that cools down) with 256 arenas, against the same game
   forced on single solid bodies, with do-nothing joints so that they pass through each other. Asked: 2.5.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from dataclasses import replace
from pathlib import Path
from time import process_time

import numpy as np

from ecs_rl.agents.config import PPOConfig
from ecs_rl.components import Session
from ecs_rl.scene import Arena, Body, Disc, Feel, Levers, Pose, Push, Scene, Spring, Start, Vx, Vy, X, Y, jitter
from ecs_rl.scene.loader import load_scene
from ecs_rl.schedule import TRAINING
from ecs_rl.session import TrainingSession
from ecs_rl.training.prepare import make_agents
from ecs_rl.world import World

HERE = Path(__file__).parents[1]
sys.path.insert(0, str(HERE / "world"))

from world_helpers import random_policies, random_world  # noqa: E402

SCENES = HERE / "scenes"
ARENAS, TICKS = 1024, 20


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


def churning(scene: Scene) -> Scene:
    """Return the forager in which a system places one percent of the coins anew and takes one percent away."""

    def build(arena: Arena) -> None:
        scene.build(arena)
        coins = next(role for role in arena.roles if role.name == "coin")
        luck = arena.dice(of=coins)

        @arena.system(writes=(Pose,))
        def churn() -> None:
            coins.leave(luck() < 0.01)
            coins.place(luck() > 0.99)

    return replace(scene, build=build)


def forced(arena: Arena) -> None:
    """Describe the shooter without kinds: ten solid bodies, each joined to each by a spring that pulls at nothing."""
    ship = arena.spawn("ship", Body(), Disc(0.4), Start())
    rocks = [
        arena.spawn(f"rock {i}", Body(mass=3.0), Disc(0.8), Start(x=4.0 * i - 8.0, y=jitter(7.0), vx=jitter(1.5)))
        for i in range(5)
    ]
    shots = [arena.spawn(f"shot {i}", Body(mass=0.1), Disc(0.15), Start(x=9.0, y=i - 2.0)) for i in range(4)]
    everyone = [ship, *rocks, *shots]
    for i, one in enumerate(everyone):
        for other in everyone[i + 1 :]:
            arena.join(Spring(one, other, rest=1.0, stiffness=0.0, damping=0.0))
    heat = arena.number("heat")
    healths = [arena.number(f"health {i}", start=2.0) for i in range(5)]

    def hit(shot: int, rock: int) -> np.ndarray:
        x, y = shots[shot].x - rocks[rock].x, shots[shot].y - rocks[rock].y
        return np.asarray(x * x + y * y < 0.95**2)

    @arena.system(writes=(Pose, heat, *healths))
    def shoot() -> None:
        heat.value -= 1.0
        for rock, health in enumerate(healths):
            struck = np.logical_or.reduce([hit(shot, rock) for shot in range(4)])
            health.value -= struck
            dead = health.value <= 0
            rocks[rock].position[dead] = (8.0, 0.0)
            health.value[dead] = 2.0
            rocks[rock].position[...] = (rocks[rock].position + 8.0) % 16.0 - 8.0
        ready = heat.value <= 0
        for shot in shots:
            fires = ready & (np.abs(shot.position).max(axis=1) > 8.0)
            shot.position[fires], shot.velocity[fires] = ship.position[fires], (12.0, 0.0)
            ready &= ~fires
            heat.value[fires] = 12.0

    def struck() -> np.ndarray:
        return np.asarray(np.logical_or.reduce([hit(shot, rock) for shot in range(4) for rock in range(5)]))

    def crashed() -> np.ndarray:
        return np.asarray(np.logical_or.reduce([np.hypot(rock.x - ship.x, rock.y - ship.y) < 1.2 for rock in rocks]))

    sees = [Vx(ship, 0.2), Vy(ship, 0.2), Feel("heat", lambda: heat.value)]
    sees += [sensor for rock in rocks[:3] for sensor in (X(rock, 0.1), Y(rock, 0.1), Vx(rock), Vy(rock))]
    arena.agent(
        sees=sees,
        does=Levers(x=Push(ship, x=8.0), y=Push(ship, y=8.0)),
        earns={"hit": lambda: 1.0 * struck(), "crash": lambda: -5.0 * crashed()},
        ends={"crash": crashed},
    )


def training(scene: Scene, arenas: int) -> World:
    """Return a world in which PPO learns, 4 epochs of minibatches of 2,048."""
    config = PPOConfig(rollout=32, minibatch=2048, epochs=4)
    agents = make_agents(scene, "ppo", config, arenas=arenas, seed=0)
    agent = next(iter(agents.values()))
    from ecs_rl.agents.base import ActMode
    from ecs_rl.training.prepare import deciding

    session = Session(TrainingSession(agent).with_max_steps(10**9))
    stages = [name for name in TRAINING if name not in ("evaluate", "snapshot", "write")]
    return World(scene, arenas=arenas, policies=deciding(agents, ActMode.EXPLORE), stages=stages, session=session)


def main() -> None:
    """Print all three."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=9)
    rounds = parser.parse_args().rounds

    forager = load_scene(str(SCENES / "forager.py"))
    churn = churning(forager)
    still = World(forager, arenas=ARENAS, policies=random_policies(forager))
    busy = World(churn, arenas=ARENAS, policies=random_policies(churn))
    took = by_turns({"forager": still, "churning": busy, "balance": random_world("balance", ARENAS)}, rounds)
    share = busy.seconds_in["churn"] / sum(busy.seconds_in.values())
    ratio = took["forager"] / took["balance"]
    print(f"forager, {ARENAS:,} arenas: {1e6 * took['forager']:.0f} us a tick, {ratio:.2f} of balance's")
    print("  " + "  ".join(f"{name} {1e6 * s / still.ticks:.0f}" for name, s in still.seconds_in.items()))
    print(f"one percent placed and one taken away in each tick: {share:.3f} of the tick")

    shooter = load_scene(str(SCENES / "shooter.py"))
    old = Scene(about="", max_ticks=500, gravity=(0.0, 0.0), build=forced, extent=60.0)
    worlds = {"shooter": training(shooter, 256), "forced": training(old, 256)}
    took = by_turns(worlds, rounds, ticks=32)  # one rollout and its update
    told = {name: 256 / each for name, each in took.items()}
    ratio = told["shooter"] / told["forced"]
    print(
        f"shooter, 256 arenas: {told['shooter']:,.0f} steps/s trained, forced {told['forced']:,.0f}: {ratio:.1f} times"
    )
    world = worlds["shooter"]
    print("  " + "  ".join(f"{name} {1e6 * s / world.ticks:.0f}" for name, s in world.seconds_in.items()))


if __name__ == "__main__":
    main()
