"""Same seed, same result: in one process, in another, and whatever else was going on."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from same_seed_runs import all_runs, learned, moved
from world_helpers import SHIPPED, SMALL_DQN, SMALL_PPO, random_world, states

from ecs_rl.agents.config import AgentConfig
from ecs_rl.loading import load_scene
from ecs_rl.physics.physics import Physics
from ecs_rl.spaces import ActMode
from ecs_rl.training.evaluator import SEED, play_episodes
from ecs_rl.training.prepare import prepare
from ecs_rl.training.scene_agents import deciding, make_agents
from ecs_rl.training.settings import TrainingSettings

HERE = Path(__file__).parent
AGENTS = [("ppo", SMALL_PPO), ("dqn", SMALL_DQN)]


@pytest.mark.parametrize("name", SHIPPED)
def test_two_worlds_with_the_same_seed_and_actions_move_bit_for_bit_alike(name: str) -> None:
    one, other = random_world(name, 8, seed=5), random_world(name, 8, seed=5)
    assert (states(one, 300) == states(other, 300)).all()


@pytest.mark.parametrize("name", SHIPPED)
def test_another_seed_moves_otherwise(name: str) -> None:
    one, other = random_world(name, 4, seed=5), random_world(name, 4, seed=6)
    assert (one.engine_as(Physics).state != other.engine_as(Physics).state).any(axis=(0, 1)).all()


def test_another_process_with_another_hash_seed_comes_to_the_same() -> None:
    started = [
        subprocess.Popen(
            [sys.executable, str(HERE / "same_seed_runs.py")],
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(HERE.parents[1])},
            stdout=subprocess.PIPE,
            text=True,
        )
        for seed in ("1",)
    ]
    mine = "".join(f"{name}: {digest}\n" for name, digest in all_runs().items())
    for process in started:
        told, _ = process.communicate(timeout=120)
        assert process.returncode == 0
        assert told == mine


@pytest.mark.parametrize(("agent", "config"), AGENTS)
def test_evaluation_does_not_disturb_training(agent: str, config: AgentConfig) -> None:
    scene = load_scene("balance")
    never, often, seldom = (learned(scene, agent, config, eval_every=every) for every in (10_000_000, 8, 200))
    assert never == often == seldom
    assert never != learned(scene, agent, config, seed=2)


def test_another_world_in_between_does_not_disturb_training() -> None:
    scene = load_scene("balance")
    alone = learned(scene, "ppo", SMALL_PPO)
    training = prepare(
        scene, "ppo", SMALL_PPO, TrainingSettings(arenas=8, steps=800, seed=1, eval_every=100, eval_episodes=2)
    )
    guest = random_world("lander", 4)
    while not training.done:
        training.tick()
        guest.tick()
    assert training.session.agent.parameters_sha256() == alone


@pytest.mark.parametrize("name", SHIPPED)
def test_the_same_seeds_play_the_same_episodes_whatever_was_played_before(name: str) -> None:
    scene = load_scene(name)
    policies = deciding(make_agents(scene, "ppo", SMALL_PPO, arenas=1, seed=4), ActMode.GREEDY)
    seeds = tuple(range(SEED, SEED + 6))
    first = play_episodes(scene, policies, seeds)
    assert play_episodes(scene, policies, seeds) == first
    for other in SHIPPED:
        moved(other, ticks=5)
    world = random_world(name, 3, seed=SEED)
    world.tick()
    assert play_episodes(load_scene(name), policies, seeds) == first


def test_episodes_come_back_in_the_order_of_their_seeds() -> None:
    scene = load_scene("balance")
    policies = deciding(make_agents(scene, "ppo", SMALL_PPO, arenas=1, seed=4), ActMode.GREEDY)
    forth = play_episodes(scene, policies, (1, 2, 3, 4, 5, 6))
    assert play_episodes(scene, policies, (6, 5, 4, 3, 2, 1)) == forth[::-1]
    assert len({record.length for record in forth}) > 1


def test_evaluation_returns_are_sums_of_rewards() -> None:
    scene = load_scene("balance")
    records = play_episodes(scene, {"policy": lambda seen, state: np.zeros(len(seen), int)}, (1, 2, 3))
    assert [record.total_reward for record in records] == [float(record.length) for record in records]
    assert all(record.status == "Terminated" for record in records)
