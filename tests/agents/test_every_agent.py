"""What holds for every algorithm that comes with the project: the contract, and what these promise beyond it."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from agents_helpers import (
    CHOICES,
    KINDS,
    ROWS,
    SMALL_DQN,
    SMALL_PPO,
    config_of,
    play,
    same,
    small_agent,
    some_experience,
    some_observation,
)

from ecs_rl.agents import ActMode, make_agent
from ecs_rl.agents.base import Restartable
from ecs_rl.agents.on_policy import UNIT
from ecs_rl.agents.state import under
from ecs_rl.agents.worker import Workers
from ecs_rl.errors import CheckpointError, DivergedError
from ecs_rl.testing import AgentContract
from ecs_rl.training.team import Team


class TestPPO(AgentContract):
    algorithm = "ppo"
    config = SMALL_PPO
    bootstraps = True


class TestDQN(AgentContract):
    algorithm = "dqn"
    config = SMALL_DQN
    bootstraps = True


class TestSAC(AgentContract):
    algorithm = "sac"
    config = config_of("sac")
    bootstraps = True


class TestTD3(AgentContract):
    algorithm = "td3"
    config = config_of("td3")


class TestIQL(AgentContract):
    algorithm = "iql"
    config = config_of("iql")
    bootstraps = True


class TestPPOThatRemembers(AgentContract):
    algorithm = "ppo"
    config = config_of("ppo gru")
    bootstraps = True


class TestDQNWithAllThereIs(AgentContract):
    algorithm = "dqn"
    config = config_of("dqn full")


class TestDQNOfQuantiles(AgentContract):
    algorithm = "dqn"
    config = config_of("dqn quantiles")


@pytest.mark.parametrize("kind", KINDS)
def test_sampled_actions_are_not_always_the_same(kind: str) -> None:
    agent, observation = small_agent(kind), some_observation(np.random.default_rng(1), 40)
    first, second = (agent.act(observation, ActMode.SAMPLE).action for _ in range(2))
    assert (first != second).any()


@pytest.mark.parametrize("kind", KINDS)
def test_a_rollout_of_only_invalid_rows_has_nothing_to_tell(kind: str) -> None:
    agent = small_agent(kind)
    play(agent, 15, np.random.default_rng(0), invalid=1.0)
    assert dict(agent.metrics()) == {}


@pytest.mark.parametrize(
    ("kind", "bad"),
    [*((k, b) for k in KINDS for b in (np.nan, np.inf)), *((k, 1e30) for k in KINDS if not k.startswith("dqn"))],
)
def test_divergence_is_reported_and_keeps_the_last_good_parameters(kind: str, bad: float) -> None:
    config = replace(SMALL_PPO, normalise_rewards=False) if kind.startswith("ppo") else None
    agent = small_agent(kind, config=config)
    play(agent, 10, np.random.default_rng(0))
    good = agent.parameters_sha256()
    data = np.random.default_rng(1)

    def go_on() -> None:
        for _ in range(10):
            observation = some_observation(data)
            e = some_experience(data, observation, agent.act(observation, ActMode.EXPLORE), invalid=0)
            e.reward[:] = bad
            agent.observe(e)
            for _ in agent.learn(0.0):
                assert agent.is_finite()

    with pytest.raises(DivergedError, match=r"parameters.* were kept"), np.errstate(all="ignore"):
        go_on()
    assert agent.is_finite()
    if kind.startswith("ppo"):  # the others learn from what was good until they draw what is not
        assert agent.parameters_sha256() == good


@pytest.mark.parametrize("kind", KINDS)
def test_an_agent_that_restarts_from_an_earlier_policy_has_it_and_a_new_optimiser_and_learns_on(kind: str) -> None:
    agent, other = small_agent(kind), small_agent(kind)
    assert isinstance(agent, Restartable)
    assert isinstance(other, Restartable)
    play(agent, 12, np.random.default_rng(0))
    earlier = agent.policy_state()
    play(agent, 8, np.random.default_rng(1))
    assert not same(agent.policy_state(), earlier)
    other.load_state(agent.state())
    for one in (agent, other):
        one.restart(earlier)
        assert same(one.policy_state(), earlier)
        moments = [tensor for name, tensor in one.state().items() if name.startswith("adam")]
        assert moments
        assert not any(bool(tensor.any()) for tensor in moments)
        play(one, 12, np.random.default_rng(2))
        assert not same(one.policy_state(), earlier)
    assert same(agent.state(), other.state())


def test_a_team_restarts_every_agent_from_its_part() -> None:
    specs = [replace(CHOICES, name=name) for name in ("cat", "mouse")]
    agents = [make_agent("ppo", spec, SMALL_PPO, seed=0, rows=ROWS) for spec in specs]
    team = Team(agents)
    earlier = team.policy_state()
    for agent in agents:
        play(agent, 7, np.random.default_rng(0))
    team.restart(earlier)
    assert same(team.policy_state(), earlier)
    assert not any(bool(tensor.any()) for name, tensor in team.state().items() if "/adam/" in name)


def test_what_an_agent_remembers_is_kept_where_any_policy_may_learn_from_it() -> None:
    ppo, dqn = small_agent("ppo"), small_agent("dqn")
    for agent in (ppo, dqn):
        play(agent, 13, np.random.default_rng(0))
    dropped = "rollout/reward"
    assert len(ppo.state()[dropped])
    memory = under("memory", dqn.state())
    assert memory
    for agent in (ppo, dqn):
        assert isinstance(agent, Restartable)
        agent.restart(agent.policy_state())
    assert len(ppo.state()[dropped]) == 0, "another policy has gathered it"
    assert same(under("memory", dqn.state()), memory)


@pytest.mark.parametrize("kind", KINDS)
def test_the_hash_is_over_little_endian_floats_in_the_order_of_the_names(kind: str) -> None:
    agent = small_agent(kind)
    networks = ("policy/", "value/", "q/", "temperature/")
    policy = {n: t for n, t in agent.policy_state().items() if n.startswith(networks) and n != UNIT}
    digest = hashlib.sha256(b"".join(np.asarray(policy[name], dtype="<f4").tobytes() for name in sorted(policy)))
    assert agent.parameters_sha256() == digest.hexdigest()
    name = next(iter(policy))
    agent.load_policy_state({**agent.policy_state(), name: policy[name] + 1e-3})
    assert agent.parameters_sha256() != digest.hexdigest()


@pytest.mark.parametrize("kind", ["ppo", "dqn", "sac", "td3", "iql"])
def test_one_bad_number_makes_an_agent_not_finite(kind: str) -> None:
    agent = small_agent(kind)
    assert agent.is_finite()
    state = agent.state()
    next(iter(state.values())).flatten()[0] = float("nan")
    agent.load_state(state)
    assert not agent.is_finite()


@pytest.mark.parametrize("kind", KINDS)
def test_a_policy_that_does_not_fit_is_refused_by_name_and_shape_and_nothing_is_changed(kind: str) -> None:
    agent = small_agent(kind)
    before, policy = agent.state(), agent.policy_state()
    name = next(iter(policy))
    wider = {**policy, name: torch.zeros(3, 99), "stranger": torch.zeros(1)}
    with pytest.raises(CheckpointError, match=rf"stranger is unknown; {name} has shape \(3, 99\)"):
        agent.load_policy_state(wider)
    del policy[name]
    with pytest.raises(CheckpointError, match=f"{name} is missing"):
        agent.load_policy_state(policy)
    with pytest.raises(CheckpointError, match=r"holds torch\.float64"):
        agent.load_policy_state({n: t.double() for n, t in agent.policy_state().items()})
    assert same(agent.state(), before)


@pytest.mark.parametrize("kind", ["ppo", "ppo continuous", "ppo mixed"])
def test_the_state_of_a_run_with_other_rows_is_refused(kind: str) -> None:
    state = small_agent(kind, rows=4).state()
    with pytest.raises(CheckpointError, match=r"has shape \(4"):
        small_agent(kind, rows=5).load_state(state)


@pytest.mark.parametrize("kind", KINDS)
def test_a_batch_of_the_wrong_shape_is_refused(kind: str) -> None:
    agent = small_agent(kind)
    for shape in ((3,), (ROWS, 2), (1, ROWS, 3)):
        with pytest.raises(ValueError, match="observations have shape"):
            agent.act(np.zeros(shape, np.float32), ActMode.GREEDY)
    with pytest.raises(ValueError, match="observations have shape"):
        agent.act(np.zeros((ROWS + 1, 3), np.float32), ActMode.EXPLORE)


def test_importing_the_agents_does_not_import_torch() -> None:
    code = "import sys, ecs_rl.agents, ecs_rl.agents.make; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize("kind", KINDS)
def test_a_network_without_hidden_layers_learns_too(kind: str) -> None:
    agent = small_agent(kind, config=replace(config_of(kind), hidden=()))
    before = agent.parameters_sha256()
    play(agent, 20, np.random.default_rng(0))
    assert agent.is_finite()
    assert agent.parameters_sha256() != before


@pytest.mark.parametrize("shared", [False, True])
def test_the_number_of_threads_changes_no_bit(shared: bool) -> None:
    hashes, config = set(), replace(SMALL_PPO, minibatch=4096, shared=shared)
    for threads in (1, 2, 5):
        agent = make_agent("ppo", CHOICES, config, seed=0, rows=4200, threads=threads)
        data = np.random.default_rng(0)
        for _ in range(10):
            observation = some_observation(data, 4200)
            agent.observe(some_experience(data, observation, agent.act(observation, ActMode.EXPLORE)))
            list(agent.learn(0.0))
        hashes.add(agent.parameters_sha256())
    assert len(hashes) == 1


@pytest.mark.parametrize(("rows", "jobs"), [(4095, 0), (4096, 2), (9000, 4)])
def test_for_many_rows_a_policy_is_asked_in_parts_that_threads_share(
    rows: int, jobs: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole, asked = Workers.all, list[int]()

    def spy(workers: Workers, jobs: Any, count: int) -> Any:
        asked.append(len(jobs))
        return whole(workers, jobs, count)

    agent = make_agent("ppo", CHOICES, SMALL_PPO, seed=0, rows=rows, threads=2)
    observation = some_observation(np.random.default_rng(0), rows)
    monkeypatch.setattr(Workers, "all", spy)
    decided = agent.act(observation, ActMode.GREEDY)
    assert sum(asked) == jobs
    some = np.arange(0, rows, 7)
    alone = agent.act(observation[some], ActMode.GREEDY)
    assert np.mean(decided.action[some] == alone.action) > 0.99, "in another place of a batch last bits may differ"
