"""A critic that sees more than the policy: it learns from it, and what acts never depends on it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from agents_helpers import ROWS, SMALL_DQN, SMALL_IQL, SMALL_PPO, SMALL_SAC, SMALL_TD3, same

from ecs_rl.agents import ActMode, Agent, Continuous, Discrete, Experience, PolicySpec, make_agent
from ecs_rl.agents.base import output_of
from ecs_rl.errors import CommandError
from ecs_rl.spaces import Floats

LEVERS = PolicySpec(("x", "y"), Continuous(("push",)), critic_sees=("hidden", "goal"))
CHOICE = replace(LEVERS, actions=Discrete(("a", "b", "c")))
AGENTS: dict[str, tuple[str, PolicySpec, Any]] = {
    "ppo": ("ppo", LEVERS, SMALL_PPO),
    "ppo choice": ("ppo", CHOICE, replace(SMALL_PPO, normalise_observations=False)),
    "ppo gru": ("ppo", LEVERS, replace(SMALL_PPO, network="gru", state=4)),
    "sac": ("sac", LEVERS, SMALL_SAC),
    "td3": ("td3", LEVERS, SMALL_TD3),
    "sac choice": ("sac", CHOICE, replace(SMALL_SAC, normalise_observations=True)),
    "iql": ("iql", LEVERS, SMALL_IQL),
    "iql choice": ("iql", CHOICE, replace(SMALL_IQL, value="policy", normalise_observations=False)),
}


def played(name: str, ticks: int = 40) -> Agent:
    """Return an agent that earns what only its critic sees."""
    algorithm, spec, config = AGENTS[name]
    agent, data = make_agent(algorithm, spec, config, seed=1, rows=ROWS), np.random.default_rng(0)
    x = data.normal(size=(ROWS, 4)).astype(np.float32)
    state = np.zeros((ROWS, agent.spec.state), np.float32) if agent.spec.state else None
    for tick in range(ticks):
        decision, following = agent.act(x, ActMode.EXPLORE, state), data.normal(size=(ROWS, 4)).astype(np.float32)
        ends = data.random(ROWS) < 0.1
        agent.observe(Experience(x, decision.action, x[:, 2], following, ends, ends & False, extras=decision.extras))
        list(agent.learn(tick / ticks))
        x, state = following, decision.state
    return agent


def state_of(agent: Agent, rows: int) -> Floats | None:
    return np.zeros((rows, agent.spec.state), np.float32) if agent.spec.state else None


@pytest.mark.parametrize("name", AGENTS)
def test_what_it_does_depends_on_what_the_policy_sees_alone(name: str) -> None:
    agent, x = played(name), np.random.default_rng(4).normal(size=(40, 4)).astype(np.float32)
    other = x.copy()
    other[:, 2:] = 7.0
    one, two = (output_of(agent, seen, state_of(agent, 40)) for seen in (x, other))
    assert one is not None
    assert two is not None
    np.testing.assert_array_equal(one.does, two.does)
    assert not np.allclose(one.value, two.value)
    greedy = [agent.act(seen, ActMode.GREEDY, state_of(agent, 40)).action for seen in (x, other, x[:, :2])]
    np.testing.assert_array_equal(greedy[0], greedy[1])
    np.testing.assert_array_equal(greedy[0], greedy[2])


@pytest.mark.parametrize("name", AGENTS)
def test_without_what_the_critic_sees_no_value_is_known(name: str) -> None:
    agent, x = played(name), np.random.default_rng(4).normal(size=(5, 2)).astype(np.float32)
    output = output_of(agent, x, state_of(agent, 5))
    assert output is not None
    assert np.isnan(output.value).all()
    assert np.isfinite(output.does).all()


@pytest.mark.parametrize("name", AGENTS)
def test_it_goes_on_exactly_from_its_state(name: str) -> None:
    agent, (algorithm, spec, config) = played(name), AGENTS[name]
    other = make_agent(algorithm, spec, config, seed=9, rows=ROWS)
    other.load_state(agent.state())
    assert same(agent.state(), other.state())


@pytest.mark.parametrize("name", AGENTS)
def test_exploring_and_learning_need_all_numbers(name: str) -> None:
    agent = played(name, 0)
    with pytest.raises(ValueError, match=r"observations have shape \(6, 2\), this agent takes \(6, 4\)"):
        agent.act(np.zeros((ROWS, 2), np.float32), ActMode.EXPLORE)


def test_the_critic_explains_what_the_policy_cannot_see() -> None:
    config = replace(SMALL_PPO, rollout=32, epochs=8, minibatch=64, lr=3e-3, gamma=0.0, normalise_rewards=False)
    explained = {}
    for name, spec in (("sees", LEVERS), ("blind", replace(LEVERS, critic_sees=()))):
        agent, data = make_agent("ppo", spec, config, seed=0, rows=ROWS), np.random.default_rng(0)
        width, nothing = len(spec.numbers), np.zeros(ROWS, bool)
        for _ in range(40 * 32):
            x = data.normal(size=(ROWS, 4)).astype(np.float32)
            decision = agent.act(x[:, :width], ActMode.EXPLORE)
            reward, extras = x[:, 2] * 3.0, decision.extras
            agent.observe(
                Experience(x[:, :width], decision.action, reward, x[:, :width], nothing, nothing, extras=extras)
            )
            list(agent.learn(0.0))
        explained[name] = agent.metrics()["explained_variance"]
    assert explained["sees"] > 0.9
    assert explained["blind"] < 0.1


def test_who_has_no_critic_of_its_own_refuses() -> None:
    with pytest.raises(CommandError, match="dqn has no critic that could see more: leave critic_sees out"):
        make_agent("dqn", CHOICE, SMALL_DQN, seed=0, rows=1)
    with pytest.raises(CommandError, match="one network cannot be a critic that sees more than the policy"):
        make_agent("ppo", CHOICE, replace(SMALL_PPO, shared=True), seed=0, rows=1)
