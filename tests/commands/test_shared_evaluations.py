"""An evaluation that several processes share comes to the episodes of one, to the last bit."""

from __future__ import annotations

import numpy as np
import pytest

from ecs_rl.agents import make_agent
from ecs_rl.agents.base import Agent
from ecs_rl.agents.config import PPOConfig
from ecs_rl.distributed.group import Group
from ecs_rl.loading import load_scene
from ecs_rl.session import EpisodeRecord
from ecs_rl.spaces import ActMode
from ecs_rl.training.evaluator import Evaluator, play_episodes
from ecs_rl.training.scene_agents import deciding
from ecs_rl.training.together import Together
from ecs_rl.world import policy_specs

SEEDS = range(10_000, 10_007)


def agents_of(scene: str, **settings: object) -> dict[str, Agent]:
    specs = policy_specs(load_scene(scene).describe())
    config = PPOConfig(hidden=(24,), log_std=0.0, **settings)  # type: ignore[arg-type]
    agents = {name: make_agent("ppo", spec, config, seed=3, rows=4) for name, spec in specs.items()}
    for agent in agents.values():  # nearly the same action everywhere, else
        state = {name: tensor * 20 if "weight" in name else tensor for name, tensor in agent.policy_state().items()}
        agent.load_policy_state(state)
    return agents


class Deaf(Group):
    """One of several processes that hears nothing of the others."""

    def __init__(self, rank: int, size: int) -> None:
        self.rank, self.size = rank, size


def shares(scene: str, agents: dict[str, Agent], size: int) -> list[list[EpisodeRecord]]:
    return [share(Together(Deaf(rank, size), arenas=size), scene, agents) for rank in range(size)]


def share(together: Together, scene: str, agents: dict[str, Agent]) -> list[EpisodeRecord]:
    evaluator = Evaluator(load_scene(scene), together.greedy(agents))
    playing = together.evaluate(evaluator, SEEDS)
    try:
        while True:
            next(playing)
    except StopIteration as over:
        return list(over.value)
    finally:
        evaluator.close()


@pytest.mark.parametrize("size", [2, 3, 9])
@pytest.mark.parametrize("settings", [{}, {"network": "gru"}], ids=["mlp", "gru"])
def test_each_process_plays_its_share_to_the_bits_of_one_that_plays_all(size: int, settings: dict[str, object]) -> None:
    agents = agents_of("swingup", **settings)
    alone = play_episodes(load_scene("swingup"), deciding(agents, ActMode.GREEDY), SEEDS)
    assert np.std([record.total_reward for record in alone]) > 0
    told = shares("swingup", agents, size)
    assert [record for part in told for record in part] == alone
    assert max(map(len, told)) == -(-len(SEEDS) // size)


def test_where_things_collide_the_first_process_plays_all_and_the_others_wait() -> None:
    agents = agents_of("lander")
    alone = play_episodes(load_scene("lander"), deciding(agents, ActMode.GREEDY), SEEDS)
    assert shares("lander", agents, 2) == [alone, []]
