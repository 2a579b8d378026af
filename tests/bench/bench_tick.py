"""What a whole tick costs against the physics alone: `python tests/bench/bench_tick.py [SCENE ...]`.

The full schedule without learning (random actions, forces, senses, rewards, resets, recording, statistics) against
`Space.step` on the same Spaces, taken in turns from the same states, so that both see the same crashes and contacts.
Then the cost of an arena-step for more and more arenas. No number is absolute: all ratios are of one run.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ecs_rl.agents.base import Agent, State
from ecs_rl.loading import load_scene
from ecs_rl.physics.physics import Physics
from ecs_rl.physics.shard import Shard
from ecs_rl.schedule import PLAYING
from ecs_rl.session import TrainingSession
from ecs_rl.spaces import ActMode, Decision, Discrete, Experience, Floats, PolicySpec
from ecs_rl.training_stages.resources import Session
from ecs_rl.world import policy_specs
from ecs_rl.worlds import make_world

TICKS, BARE, ROLLOUT = 40, 10, 32


class Recorder:
    """An agent that knows nothing and learns nothing, but keeps every transition as a learner would."""

    name = "recorder"

    def __init__(self, spec: PolicySpec, rows: int) -> None:
        self.spec = spec
        self.seen = 0
        random, options = np.random.default_rng(0), len(spec.actions.names)
        choices = random.integers(0, options, (ROLLOUT, rows)), random.uniform(-1, 1, (ROLLOUT, rows, options))
        self._drawn = choices[0] if isinstance(spec.actions, Discrete) else choices[1].astype(np.float32)
        numbers = len(spec.observations)
        self.kept = [np.zeros((ROLLOUT, rows, numbers), np.float32), np.zeros((ROLLOUT, rows), np.float32)]
        self.ends = np.zeros((ROLLOUT, 2, rows), bool)
        self.actions: list[NDArray[Any]] = [np.zeros(0)] * ROLLOUT

    def act(self, observation: Floats, mode: ActMode, state: Floats | None = None) -> Decision:
        """Choose at random, of what was drawn before: to draw is no part of a tick."""
        return Decision(self._drawn[self.seen % ROLLOUT])

    def observe(self, experience: Experience) -> None:
        """Copy the transition."""
        t = self.seen % ROLLOUT
        self.kept[0][t], self.kept[1][t] = experience.observation, experience.reward
        self.ends[t, 0], self.ends[t, 1] = experience.terminated, experience.truncated
        self.actions[t] = experience.action.copy()
        self.seen += 1

    def learn(self, progress: float) -> Iterator[None]:
        """Learn nothing."""
        return iter(())

    def metrics(self) -> Mapping[str, float]:
        """Return nothing."""
        return {}

    def is_finite(self) -> bool:
        """Return true: there is nothing that could fail."""
        return True

    def policy_state(self) -> State:
        """Return nothing."""
        return {}

    load_policy_state = load_state = lambda self, state: None
    state = policy_state

    def parameters_sha256(self) -> str:
        """Return nothing."""
        return ""


@dataclass
class Measured:
    """Seconds per tick and per bare physics tick."""

    tick: float
    bare: float
    split: dict[str, float]


def step_alone(shards: list[Shard]) -> None:
    """Let the Spaces step and nothing else: what the whole tick is measured against."""
    for shard in shards:
        for _ in range(shard.substeps):
            shard.space.step(shard.dt)


CALM = {"balance": 8, "swingup": 40, "lander": 40}
"""Ticks from the beginning of all episodes in which none of them ends."""
WARM_UP = 3
"""The first of them, which are not timed: Spaces that were just made have yet to find their memory (a millisecond)."""


def measure(scene_name: str, arenas: int, threads: int, rounds: int, *, calm: bool = False) -> Measured:
    """Tick and step in turns and return the median round of each; `calm` measures ticks in which no episode ends."""
    ticks_in_round = CALM[scene_name] - WARM_UP if calm else TICKS
    scene = load_scene(scene_name)
    specs = policy_specs(scene.describe())
    agent: Agent = Recorder(next(iter(specs.values())), arenas)
    session = Session(TrainingSession(agent))
    world = make_world(
        scene,
        arenas=arenas,
        threads=threads,
        policies=dict.fromkeys(specs, lambda seen, state: agent.act(seen, ActMode.EXPLORE)),
        stages=(*PLAYING, "record", "tally"),
        resources=(session,),
    )
    for _ in range(100):  # until episodes end at all sorts of times
        world.tick()
    for stage in world.stages.values():
        stage.seconds = 0.0
    ticks, bares = [], []
    for _ in range(rounds):
        if calm:
            world.start_over()
            for _ in range(WARM_UP):
                world.tick()
        began = perf_counter()
        for _ in range(ticks_in_round):
            world.tick()
        ticks.append((perf_counter() - began) / ticks_in_round)
        before = world.engine_as(Physics).state.copy()
        began = perf_counter()
        for _ in range(BARE):
            world.engine_as(Physics).on_threads(step_alone)
        bares.append((perf_counter() - began) / BARE)
        world.engine_as(Physics).state[...] = before
        world.engine_as(Physics).put(np.arange(arenas))
    split = {name: seconds / (rounds * ticks_in_round) for name, seconds in world.seconds_in.items()}
    world.close()
    return Measured(float(np.median(ticks)), float(np.median(bares)), split)


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("scenes", nargs="*", default=["balance", "swingup", "lander"])
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=12)
    parser.add_argument("--arenas", type=int, nargs="+", default=[64, 256, 1024, 4096])
    asked = parser.parse_args()
    for scene in asked.scenes:
        print(f"\n{scene}, {asked.threads} thread(s)")
        print("  arenas   tick us   physics us   ratio   us per 1000 arena-steps   M arena-steps/s")
        costs = []
        for arenas in asked.arenas:
            found = measure(scene, arenas, asked.threads, asked.rounds)
            costs.append(found.tick / arenas)
            print(
                f"  {arenas:6} {found.tick * 1e6:9.0f} {found.bare * 1e6:12.0f} {found.bare / found.tick:7.2f}"
                f" {found.tick / arenas * 1e9:25.0f} {arenas / found.tick / 1e6:17.2f}"
            )
            if arenas == 1024:
                split = "  ".join(f"{name} {seconds * 1e6:.0f}" for name, seconds in found.split.items())
                print(f"           us per tick: {split}")
        if scene in CALM:
            calm = measure(scene, 64, asked.threads, 10 * asked.rounds, calm=True)
            told = f"{calm.tick * 1e6:.0f} us, physics {calm.bare * 1e6:.0f} us, ratio {calm.bare / calm.tick:.2f}"
            print(f"  64 arenas, while no episode ends: {told}")
        print(f"  cost at {asked.arenas[-1]} arenas / best cost: {costs[-1] / min(costs):.2f}")


if __name__ == "__main__":
    main()
