"""Options that an observation forbids are never chosen, and nothing is learned about them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from agents_helpers import ROWS, SMALL_DQN, SMALL_IQL, SMALL_PPO, SMALL_SAC, same

from ecs_rl.agents import ActMode, Agent, Composed, Continuous, Discrete, Experience, PolicySpec, make_agent
from ecs_rl.agents.base import Demonstration, output_of
from ecs_rl.agents.masks import Mask
from ecs_rl.spaces import TRIGGER, Floats

LONE = PolicySpec(
    ("x", "y", "a allowed", "b allowed", "c allowed"), Discrete(("a", "b", "c")), allowed=((2, 0), (3, 1), (4, 2))
)
MIXED = PolicySpec(
    ("x", "fire allowed", "y", "c allowed"),
    Composed((Continuous(("gas",)), Discrete(("a", "b", "c"), "pick"), Discrete(TRIGGER, "fire"))),
    allowed=((1, 5), (3, 3)),
)
CHOICES = replace(MIXED, actions=Composed(MIXED.actions.parts[1:]), allowed=((1, 4), (3, 2)))
AGENTS: dict[str, tuple[str, PolicySpec, Any]] = {
    "ppo": ("ppo", LONE, SMALL_PPO),
    "ppo mixed": ("ppo", MIXED, SMALL_PPO),
    "ppo shared": ("ppo", MIXED, replace(SMALL_PPO, shared=True, normalise_observations=False)),
    "ppo gru": ("ppo", LONE, replace(SMALL_PPO, network="gru", state=4)),
    "dqn": ("dqn", LONE, SMALL_DQN),
    "dqn several": ("dqn", CHOICES, replace(SMALL_DQN, dueling=True, n_step=3, normalise_observations=True)),
    "sac": ("sac", LONE, SMALL_SAC),
    "sac mixed": ("sac", MIXED, replace(SMALL_SAC, normalise_observations=True)),
    "iql": ("iql", LONE, SMALL_IQL),
    "iql mixed": ("iql", MIXED, replace(SMALL_IQL, value="policy", normalise_observations=False)),
}


def observations(spec: PolicySpec, data: np.random.Generator, rows: int = ROWS) -> Floats:
    """Return random observations in which every choice has an option that is allowed."""
    x = data.normal(size=(rows, len(spec.observations))).astype(np.float32)
    columns = [column for column, _ in spec.allowed]
    x[:, columns] = data.random((rows, len(columns))) < 0.4
    if spec is LONE:
        x[np.arange(rows), data.choice(columns, rows)] = 1.0
    return x


def forbidden(spec: PolicySpec, x: Floats, action: np.ndarray) -> int:
    """Return in how many rows an option is chosen that must not be."""
    if spec is LONE:
        return int((x[np.arange(len(x)), 2 + action.astype(int)] < 0.5).sum())
    pick, fire = action[:, -2], action[:, -1]
    return int(((pick == 2) & (x[:, 3] < 0.5)).sum() + ((fire == 1) & (x[:, 1] < 0.5)).sum())


def played(name: str, ticks: int = 40) -> tuple[Agent, PolicySpec]:
    """Return an agent that has learned for some ticks, of which every decision was an allowed one."""
    algorithm, spec, config = AGENTS[name]
    agent, data = make_agent(algorithm, spec, config, seed=1, rows=ROWS), np.random.default_rng(0)
    x = observations(spec, data)
    state = np.zeros((ROWS, agent.spec.state), np.float32) if agent.spec.state else None
    for tick in range(ticks):
        decision = agent.act(x, ActMode.EXPLORE, state)
        assert not forbidden(spec, x, decision.action)
        following, ends = observations(spec, data), data.random(ROWS) < 0.1
        reward = data.normal(size=ROWS).astype(np.float32)
        agent.observe(Experience(x, decision.action, reward, following, ends, ends & False, extras=decision.extras))
        list(agent.learn(tick / ticks))
        x, state = following, decision.state
    return agent, spec


@pytest.mark.parametrize("name", AGENTS)
def test_no_mode_chooses_a_forbidden_option_and_learning_stays_finite(name: str) -> None:
    agent, spec = played(name)
    assert agent.is_finite()
    assert all(np.isfinite(number) for number in agent.metrics().values())
    x = observations(spec, np.random.default_rng(5), 400)
    state = np.zeros((400, agent.spec.state), np.float32) if agent.spec.state else None
    for mode in (ActMode.GREEDY, ActMode.SAMPLE):
        assert not forbidden(spec, x, agent.act(x, mode, state).action)


@pytest.mark.parametrize("name", AGENTS)
def test_a_look_into_it_shows_no_chance_or_value_of_a_forbidden_option(name: str) -> None:
    agent, spec = played(name)
    x = observations(spec, np.random.default_rng(5), 50)
    state = np.zeros((50, agent.spec.state), np.float32) if agent.spec.state else None
    output = output_of(agent, x, state)
    assert output is not None
    assert np.isfinite(output.value).all()
    for column, place in spec.allowed:
        outputs_of_forbidden = output.does[x[:, column] < 0.5, place]
        assert np.isnan(outputs_of_forbidden).all() if output.kind == "values" else (outputs_of_forbidden == 0.0).all()
        assert np.isfinite(output.does[x[:, column] > 0.5, place]).all()


@pytest.mark.parametrize("name", AGENTS)
def test_a_learner_with_a_mask_goes_on_exactly_from_its_state(name: str) -> None:
    agent, spec = played(name)
    algorithm, _, config = AGENTS[name]
    other = make_agent(algorithm, spec, config, seed=9, rows=ROWS)
    other.load_state(agent.state())
    assert same(agent.state(), other.state())


@pytest.mark.parametrize("name", ["dqn", "ppo", "sac", "iql"])
def test_random_and_first_decisions_are_spread_over_what_is_allowed(name: str) -> None:
    algorithm, _, config = AGENTS[name]
    if algorithm == "dqn":
        config = replace(config, epsilon_steps=10**9)
    agent = make_agent(algorithm, LONE, config, seed=0, rows=3000)
    x = np.zeros((3000, 5), np.float32)
    x[:, [2, 4]] = 1.0
    action = agent.act(x, ActMode.EXPLORE).action
    assert set(action.tolist()) == {0, 2}
    assert 0.4 < float((action == 0).mean()) < 0.6


def test_the_entropy_counts_allowed_options_alone() -> None:
    agent = make_agent("ppo", LONE, replace(SMALL_PPO, lr=1e-12), seed=0, rows=ROWS)
    x = np.zeros((ROWS, 5), np.float32)
    x[:, [2, 4]] = 1.0
    nothing = np.zeros(ROWS, bool)
    for _ in range(SMALL_PPO.rollout):
        decision = agent.act(x, ActMode.EXPLORE)
        np.testing.assert_allclose(decision.extras["log_prob"], np.log(0.5), atol=0.02)
        agent.observe(
            Experience(x, decision.action, np.ones(ROWS, np.float32), x, nothing, nothing, extras=decision.extras)
        )
        list(agent.learn(0.0))
    assert agent.metrics()["entropy"] == pytest.approx(np.log(2.0), abs=0.01)


def test_the_gradient_of_masked_scores_is_that_of_autograd() -> None:
    mask, g = Mask(LONE), torch.Generator().manual_seed(0)
    x = torch.from_numpy(observations(LONE, np.random.default_rng(2), 20))
    output = torch.randn(20, 3, generator=g).requires_grad_()
    log_p = torch.log_softmax(mask(output, x), 1)
    allowed = x[:, 2:] > 0.5
    expected = torch.log_softmax(output.masked_fill(~allowed, float("-inf")), 1)
    torch.testing.assert_close(log_p[allowed], expected[allowed])
    (grad,) = torch.autograd.grad(log_p[allowed].sum(), output)
    assert (grad[~allowed] == 0).all()


@pytest.mark.parametrize("name", ["ppo", "dqn", "sac"])
def test_imitation_respects_the_mask(name: str) -> None:
    algorithm, _, config = AGENTS[name]
    agent, data = make_agent(algorithm, LONE, config, seed=0, rows=ROWS), np.random.default_rng(3)
    x = observations(LONE, data, 30)
    action = x[:, 2:].argmax(1)
    episode = Demonstration(0, x, action, np.ones(30, np.float32), np.ones(30, bool), True, 30.0)
    assert agent.imitate([episode]) > 0.6  # type: ignore[attr-defined]
    assert not forbidden(LONE, x, agent.act(x, ActMode.GREEDY).action)


def test_a_row_in_which_nothing_is_allowed_stays_finite() -> None:
    agent = make_agent("ppo", LONE, SMALL_PPO, seed=0, rows=ROWS)
    decision = agent.act(np.zeros((ROWS, 5), np.float32), ActMode.EXPLORE)
    assert np.isfinite(decision.extras["log_prob"]).all()


@pytest.mark.parametrize("allowed", [((9, 0),), ((2, 3),), ((-1, 0),)])
def test_a_mask_that_does_not_fit_is_refused(allowed: tuple[tuple[int, int], ...]) -> None:
    with pytest.raises(ValueError, match="cannot allow the output"):
        replace(LONE, allowed=allowed)
    with pytest.raises(ValueError, match="cannot allow the output 0"):
        replace(MIXED, allowed=((1, 0),))  # a lever
