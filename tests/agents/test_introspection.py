"""A look into an agent's mind shows what it will do and what it expects, and leaves everything as it was."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import cast

import numpy as np
import pytest
import torch
from agents_helpers import KINDS, ROWS, SMALL_DQN, SMALL_PPO, play, small_agent, some_experience, some_observation
from numpy.typing import NDArray

from ecs_rl.agents.base import Agent, Introspectable, PolicyOutput, State, output_of
from ecs_rl.agents.config import Activation
from ecs_rl.agents.on_policy import UNIT
from ecs_rl.errors import CheckpointError
from ecs_rl.spaces import ActMode
from ecs_rl.training.team import join

PPOS = tuple(KINDS)[:3]


def look(agent: Agent, observation: NDArray[np.float32]) -> PolicyOutput:
    seen = output_of(agent, observation)
    assert seen is not None
    return seen


def played(kind: str, ticks: int = 23, **more: object) -> Agent:
    agent = small_agent(kind, **more)  # type: ignore[arg-type]
    play(agent, ticks, np.random.default_rng(0))
    return agent


def same_bits(a: State, b: State) -> bool:
    return a.keys() == b.keys() and all(a[n].numpy().tobytes() == b[n].numpy().tobytes() for n in a)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("rows", [1, 2, ROWS, 50])
def test_what_it_does_is_what_it_then_does(kind: str, rows: int) -> None:
    agent, observation = played(kind), some_observation(np.random.default_rng(1), rows)
    seen, greedy = look(agent, observation), agent.act(observation, ActMode.GREEDY).action
    kinds = dict.fromkeys(("ppo", "ppo gru", "sac", "iql"), "probabilities")
    kinds |= dict.fromkeys(("ppo continuous", "sac continuous", "td3", "iql continuous"), "levers")
    kinds |= {f"{name} mixed": "mixture" for name in ("ppo", "sac", "iql")} | {"iql policy": "mixture"}
    assert seen.kind == kinds.get(kind, "values")
    assert seen.does.shape == (rows, len(agent.spec.actions.names))
    assert seen.value.shape == (rows,)
    assert [seen.does.dtype, seen.value.dtype] == [np.dtype(np.float32), np.dtype(np.float64)]
    if seen.kind == "levers":
        assert (np.clip(seen.does, -1.0, 1.0) == greedy).all()
    elif seen.kind == "mixture":
        steer, fire = seen.does[:, :3].argmax(axis=1), seen.does[:, 4:].argmax(axis=1)
        levers = seen.does[:, 3] if kind.startswith("ppo") else np.clip(seen.does[:, 3], -1.0, 1.0)
        assert (np.stack((steer, levers, fire), axis=1) == greedy).all()
        assert seen.spread is not None
        is_lever = np.isfinite(np.atleast_2d(seen.spread))
        assert (is_lever == [False, False, False, True, False, False]).all()
    elif greedy.ndim == 2:
        steer, fire = seen.does[:, :3].argmax(axis=1), seen.does[:, 3:].argmax(axis=1)
        assert (np.stack((steer, fire), axis=1) == greedy).all()
        assert seen.spread is None
    else:
        assert (seen.does.argmax(axis=1) == greedy).all()
        assert seen.spread is None


@pytest.mark.parametrize("kind", ["ppo", "sac", "iql"])
def test_probabilities_sum_to_one_and_are_those_of_the_sampled_choices(kind: str) -> None:
    agent, observation = played(kind, 60), some_observation(np.random.default_rng(1), 1)
    does = look(agent, observation).does
    assert does.sum(axis=1) == pytest.approx(1.0, abs=1e-6)
    drawn = agent.act(np.repeat(observation, 40_000, axis=0), ActMode.SAMPLE).action
    assert np.bincount(drawn, minlength=3) / len(drawn) == pytest.approx(does[0], abs=0.01)


@pytest.mark.parametrize("kind", ["ppo continuous", "sac continuous", "td3"])
def test_the_spread_is_that_of_the_sampled_levers(kind: str) -> None:
    agent, observation = played(kind, 60), some_observation(np.random.default_rng(1), 1)
    seen = look(agent, observation)
    drawn = agent.act(np.repeat(observation, 40_000, axis=0), ActMode.SAMPLE).action
    assert seen.spread is not None
    assert drawn.std(axis=0) == pytest.approx(np.atleast_2d(seen.spread)[0], rel=0.02)
    middle = np.median(drawn, axis=0) if kind.startswith("sac") else drawn.mean(axis=0)  # squashed, they are lopsided
    assert middle == pytest.approx(seen.does[0], abs=0.02)


@pytest.mark.parametrize("kind", ["ppo mixed", "sac mixed"])
def test_probabilities_and_spreads_of_a_mixture_are_those_of_what_is_sampled(kind: str) -> None:
    agent, observation = played(kind, 60), some_observation(np.random.default_rng(1), 1)
    seen = look(agent, observation)
    drawn = agent.act(np.repeat(observation, 40_000, axis=0), ActMode.SAMPLE).action
    shares = [np.bincount(drawn[:, column].astype(int)) / len(drawn) for column in (0, 2)]
    assert seen.does[0, :3] == pytest.approx(shares[0], abs=0.01)
    assert seen.does[0, 4:] == pytest.approx(shares[1], abs=0.01)
    assert seen.spread is not None
    assert drawn[:, 1].std() == pytest.approx(np.atleast_2d(seen.spread)[0, 3], rel=0.02)
    middle = np.median(drawn[:, 1]) if kind.startswith("sac") else drawn[:, 1].mean()
    assert middle == pytest.approx(seen.does[0, 3], abs=0.02)
    assert abs(np.corrcoef(drawn.T) - np.eye(3)).max() < 0.02, "drawn apart from each other"


def test_a_row_is_worth_its_best_choice_to_dqn() -> None:
    seen = look(played("dqn"), some_observation(np.random.default_rng(1), 9))
    assert (seen.value == seen.does.max(axis=1)).all()


@pytest.mark.parametrize("kind", ["dqn several", "dqn full", "dqn quantiles"])
def test_a_row_is_worth_the_mean_of_the_best_of_each_of_several_choices(kind: str) -> None:
    seen = look(played(kind), some_observation(np.random.default_rng(1), 9))
    best = seen.does[:, :3].max(axis=1).astype(float), seen.does[:, 3:].max(axis=1).astype(float)
    np.testing.assert_allclose(seen.value, (best[0] + best[1]) / 2, rtol=1e-6)


def network(state: State, name: str, x: NDArray[np.float64], squash: str) -> NDArray[np.float64]:
    """Return a network's output, worked out from its saved parameters the slow and obvious way."""
    layers = sum(key.startswith(f"{name}/") and key.endswith(".weight") for key in state)
    for i in range(layers):
        x = x @ state[f"{name}/{i}.weight"].numpy().T.astype(float) + state[f"{name}/{i}.bias"].numpy()
        if i < layers - 1:
            x = np.tanh(x) if squash == "tanh" else np.maximum(x, 0.0)
    return x


@pytest.mark.parametrize("squash", ["tanh", "relu"])
@pytest.mark.parametrize("scaled", [True, False])
@pytest.mark.parametrize("kind", PPOS)
def test_worth_is_the_value_in_the_reward_s_own_units(kind: str, scaled: bool, squash: Activation) -> None:
    config = replace(SMALL_PPO, normalise_rewards=scaled, activation=squash, gamma=0.9)
    agent, data = small_agent(kind, config=config), np.random.default_rng(0)
    returns, every = np.zeros(ROWS), []
    for _ in range(23):
        observation = some_observation(data)
        experience = some_experience(data, observation, agent.act(observation, ActMode.EXPLORE), invalid=0.0)
        experience.reward *= 40.0
        agent.observe(experience)
        list(agent.learn(0.3))
        returns = 0.9 * returns + experience.reward
        every.append(returns.copy())
        returns[experience.terminated | experience.truncated] = 0.0
    state, observation = agent.state(), some_observation(data, 7)
    deviation = math.sqrt(float(np.var(every)) + 1e-8)
    assert deviation > 20.0
    count, squares = float(state["normaliser/count"]), state["normaliser/squares"].numpy()
    x = (observation - state["normaliser/mean"].numpy()) / np.sqrt(squares / count + 1e-8)
    value = network(state, "value", np.clip(x, -10, 10), squash)[:, 0]
    assert look(agent, observation).value == pytest.approx(value * (deviation if scaled else 1.0), rel=1e-4, abs=1e-4)


@pytest.mark.parametrize("squash", ["tanh", "relu"])
def test_a_value_is_what_the_network_of_dqn_gives(squash: Activation) -> None:
    agent = played("dqn", config=replace(SMALL_DQN, activation=squash))
    observation = some_observation(np.random.default_rng(1), 7)
    values = network(agent.state(), "q", observation.astype(float), squash)
    assert look(agent, observation).does == pytest.approx(values, rel=1e-4, abs=1e-5)


@pytest.mark.parametrize("kind", KINDS)
def test_a_look_changes_nothing_wherever_the_agent_stands(kind: str) -> None:
    looked_at, left_alone, looks = small_agent(kind), small_agent(kind), np.random.default_rng(5)

    def pry(agent: Agent) -> None:
        if agent is not looked_at:
            return
        before, torch_before = agent.state(), torch.get_rng_state()
        for rows in (1, ROWS, 20):
            observation = some_observation(looks, rows)
            copied = observation.copy()
            seen = look(agent, observation)
            assert (observation == copied).all()
            seen.does[:] = 99.0
            seen.value[:] = 99.0
            if seen.spread is not None:
                seen.spread[:] = 99.0
        assert same_bits(agent.state(), before)
        assert torch.equal(torch.get_rng_state(), torch_before)

    slices = 0
    for agent in (looked_at, left_alone):
        data = np.random.default_rng(0)
        for _ in range(23):
            observation = some_observation(data)
            action = agent.act(observation, ActMode.EXPLORE)
            pry(agent)
            agent.observe(some_experience(data, observation, action))
            pry(agent)
            for _ in agent.learn(0.3):
                pry(agent)
                slices += 1
    assert slices > 4
    assert same_bits(looked_at.state(), left_alone.state())


@pytest.mark.parametrize("kind", PPOS)
def test_a_policy_alone_knows_its_worth_as_well(kind: str) -> None:
    agent, observation = played(kind), some_observation(np.random.default_rng(1), 9)
    copy, copy_of_copy = small_agent(kind, seed=9, rows=1), small_agent(kind, seed=10, rows=3)
    copy.load_policy_state(agent.policy_state())
    copy_of_copy.load_policy_state(copy.policy_state())
    value = look(agent, observation).value
    assert np.isfinite(value).all()
    assert (look(copy, observation).value == value).all()
    assert (look(copy_of_copy, observation).value == value).all()
    assert same_bits(copy.policy_state(), agent.policy_state())


@pytest.mark.parametrize("kind", KINDS)
def test_an_agent_that_goes_on_knows_its_worth_as_before(kind: str) -> None:
    agent, copy = played(kind), small_agent(kind, seed=9)
    observation = some_observation(np.random.default_rng(1), 9)
    copy.load_state(agent.state())
    assert (look(copy, observation).value == look(agent, observation).value).all()
    for one in (agent, copy):
        play(one, 9, np.random.default_rng(4))
    assert (look(copy, observation).value == look(agent, observation).value).all()


@pytest.mark.parametrize("kind", PPOS)
def test_an_older_policy_plays_as_ever_but_does_not_know_its_worth(kind: str) -> None:
    agent, copy = played(kind), small_agent(kind, seed=9)
    observation = some_observation(np.random.default_rng(1), 9)
    old = {name: tensor for name, tensor in agent.policy_state().items() if name != UNIT}
    assert len(old) == len(agent.policy_state()) - 1
    copy.load_policy_state(old)
    assert (copy.act(observation, ActMode.GREEDY).action == agent.act(observation, ActMode.GREEDY).action).all()
    assert (look(copy, observation).does == look(agent, observation).does).all()
    assert np.isnan(look(copy, observation).value).all()
    again = small_agent(kind, seed=10)
    again.load_policy_state(copy.policy_state())
    assert np.isnan(look(again, observation).value).all(), "saving makes it no wiser"
    play(copy, 6, np.random.default_rng(2))
    assert np.isfinite(look(copy, observation).value).all(), "once it learns on, it does"


@pytest.mark.parametrize("kind", PPOS)
def test_an_older_run_goes_on_exactly_and_knows_its_worth(kind: str) -> None:
    agent, copy = played(kind), small_agent(kind, seed=9)
    observation = some_observation(np.random.default_rng(1), 9)
    copy.load_state({name: tensor for name, tensor in agent.state().items() if name != UNIT})
    assert (look(copy, observation).value == look(agent, observation).value).all()
    assert same_bits(copy.state(), agent.state())


@pytest.mark.parametrize("kind", PPOS)
def test_a_unit_under_its_earlier_name_is_understood(kind: str) -> None:
    agent, copy = played(kind), small_agent(kind, seed=9)
    observation = some_observation(np.random.default_rng(1), 9)
    copy.load_policy_state({n.replace(UNIT, "worth/unit"): t for n, t in agent.policy_state().items()})
    assert (look(copy, observation).value == look(agent, observation).value).all()


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf, 0.0, -1.0])
def test_a_unit_that_is_none_is_not_believed(bad: float) -> None:
    agent = played("ppo")
    agent.load_policy_state({**agent.policy_state(), UNIT: torch.tensor(bad, dtype=torch.float64)})
    assert np.isnan(look(agent, some_observation(np.random.default_rng(1))).value).all()


def test_a_unit_of_another_form_is_refused() -> None:
    agent = played("ppo")
    for bad in (torch.ones(2, dtype=torch.float64), torch.tensor(1.0), torch.tensor(1)):
        for load, state in ((agent.load_policy_state, agent.policy_state()), (agent.load_state, agent.state())):
            with pytest.raises(CheckpointError, match=UNIT):
                load({**state, UNIT: bad})


@pytest.mark.parametrize("kind", KINDS)
def test_an_agent_that_has_seen_nothing_yet_can_be_asked_too(kind: str) -> None:
    seen = look(small_agent(kind), some_observation(np.random.default_rng(1), 1))
    assert np.isfinite(seen.does).all()
    assert np.isfinite(seen.value).all()


@pytest.mark.parametrize("kind", KINDS)
def test_a_look_at_rows_of_the_wrong_shape_is_refused(kind: str) -> None:
    with pytest.raises(ValueError, match="observations have shape"):
        output_of(small_agent(kind), np.zeros((ROWS, 2), np.float32))


def test_the_discount_is_the_one_it_learns_with() -> None:
    for kind, config in (("ppo", replace(SMALL_PPO, gamma=0.9)), ("dqn", replace(SMALL_DQN, gamma=0.9))):
        agent = small_agent(kind, config=config)
        assert isinstance(agent, Introspectable)
        assert agent.discount == 0.9


def test_an_agent_that_lets_nobody_look_is_left_alone() -> None:
    class Closed:
        name = "closed"

    observation = np.zeros((1, 3), np.float32)
    assert output_of(cast(Agent, Closed()), observation) is None
    assert output_of(join([small_agent("ppo"), small_agent("dqn")]), observation) is None
