"""An agent that imitates does as it was shown, expects what came of it, and goes on from there."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from agents_helpers import CHOICES, MIXED, ROWS, SMALL_DQN, SMALL_PPO, play, same
from agents_helpers import MOTORS as LEVERS

from ecs_rl.agents import ActMode, PolicySpec, PPOConfig, make_agent
from ecs_rl.agents.base import Demonstration, Imitating
from ecs_rl.agents.imitation import LEAST_LOG_STD
from ecs_rl.agents.ppo import PPO, SPREAD

TICKS = 120
CONFIG = replace(SMALL_PPO, lr=3e-3, hidden=(32,), gamma=0.9)


def right_action(spec: PolicySpec, seen: np.ndarray) -> np.ndarray:
    """Return what a good teacher does, a simple function of the first number that is seen."""
    up = seen[:, 0] > 0
    if spec is LEVERS:
        return np.where(up, 0.7, -0.4)[:, None].repeat(spec.actions.columns, 1).astype(np.float32)
    action = spec.actions.none(len(seen))
    action[up] = 1
    return action


def shown(spec: PolicySpec, episodes: int = 3, *, terminated: bool = True) -> list[Demonstration]:
    random = np.random.default_rng(3)
    told = []
    for seed in range(episodes):
        seen = random.normal(size=(TICKS, len(spec.observations))).astype(np.float32)
        action, reward = right_action(spec, seen), np.full(TICKS, 2.0, np.float32)
        told.append(Demonstration(seed, seen, action, reward, np.ones(TICKS, bool), terminated, 2.0 * TICKS))
    return told


def made(spec: PolicySpec, config: PPOConfig = CONFIG, seed: int = 0) -> PPO:
    agent = make_agent("ppo", spec, config, seed=seed, rows=ROWS)
    assert isinstance(agent, PPO)
    return agent


@pytest.mark.parametrize("spec", [CHOICES, LEVERS, MIXED], ids=["choices", "levers", "mixed"])
def test_it_does_as_it_was_shown_also_where_it_was_shown_nothing(spec: PolicySpec) -> None:
    agent = made(spec)
    assert agent.imitate(shown(spec)) > 0.9
    seen = np.random.default_rng(9).normal(size=(200, len(spec.observations))).astype(np.float32)
    seen[:, 0] = np.sign(seen[:, 0]) * (0.4 + np.abs(seen[:, 0]))  # clear cases
    done = np.asarray(agent.act(seen, ActMode.GREEDY).action, np.float64)
    assert (np.abs(done - right_action(spec, seen)) < 0.35).mean() > 0.9


def test_a_network_with_a_memory_learns_from_whole_episodes() -> None:
    spec = CHOICES
    agent = made(spec, replace(CONFIG, network="gru", state=8))
    episodes = [replace(e, action=np.arange(TICKS) % 2) for e in shown(spec)]  # only who counts can do that
    assert agent.imitate(episodes) > 0.9


def test_it_expects_what_came_of_it_and_nothing_of_what_nobody_knows() -> None:
    config = replace(CONFIG, gamma=0.95)
    known, unknown = made(CHOICES, config), made(CHOICES, config)
    known.imitate(shown(CHOICES))
    unknown.imitate([replace(e, reward=np.zeros(TICKS, np.float32), terminated=False) for e in shown(CHOICES)])
    seen = np.random.default_rng(5).normal(size=(9, 3)).astype(np.float32)
    value = known.introspect(seen).value
    assert np.allclose(value, 2.0 / (1 - 0.95), rtol=0.3)  # 2 a tick for ever is 40; at the end it is less
    assert np.abs(unknown.introspect(seen).value).max() < 1.0


def test_only_what_a_person_did_is_imitated() -> None:
    agent, episodes = made(CHOICES), shown(CHOICES)
    mixed = [replace(e, action=e.action.copy(), shown=np.arange(TICKS) % 2 == 0) for e in episodes]
    for e in mixed:
        e.action[1::2] = 1 - e.action[1::2]  # what a bad policy did in between
    assert agent.imitate(mixed) > 0.9


def test_levers_keep_a_spread_to_learn_on_with() -> None:
    agent = made(LEVERS)
    agent.imitate(shown(LEVERS))
    assert float(agent._parameters.value[SPREAD].min()) >= LEAST_LOG_STD - 1e-6


def test_the_same_demonstration_and_seed_give_the_same_agent_which_learns_on_like_any_other() -> None:
    first, second = made(CHOICES, seed=4), made(CHOICES, seed=4)
    for agent in (first, second):
        agent.imitate(shown(CHOICES))
        play(agent, 2 * CONFIG.rollout, np.random.default_rng(8))
    assert first.parameters_sha256() == second.parameters_sha256() != made(CHOICES, seed=4).parameters_sha256()
    assert same(first.state(), second.state())
    other = made(CHOICES, seed=4)
    other.load_state(first.state())
    assert same(other.state(), first.state())


def test_an_algorithm_that_cannot_imitate_says_so_by_its_kind() -> None:
    assert isinstance(made(CHOICES), Imitating)
    assert not isinstance(make_agent("dqn", CHOICES, SMALL_DQN, seed=0, rows=ROWS), Imitating)
