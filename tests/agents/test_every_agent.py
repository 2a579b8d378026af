"""What holds for every algorithm: exact resume, slices, greedy purity, own randomness, divergence."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
import torch
from agents_helpers import (
    CHOICES,
    KINDS,
    MOTORS,
    ROWS,
    SMALL_DQN,
    SMALL_PPO,
    SPECS,
    config_of,
    play,
    small_agent,
    some_experience,
    some_observation,
)

from ecs_rl.agents import ActMode, Agent, Experience, make_agent
from ecs_rl.agents.base import Restartable, State
from ecs_rl.agents.ppo import UNIT
from ecs_rl.agents.state import under
from ecs_rl.agents.team import Team
from ecs_rl.errors import CheckpointError, DivergedError


def same(a: State, b: State) -> bool:
    return a.keys() == b.keys() and all(
        torch.equal(a[n].nan_to_num(), b[n].nan_to_num()) and a[n].dtype == b[n].dtype for n in a
    )


@pytest.mark.parametrize("kind", KINDS)
def test_the_same_seed_and_calls_give_bitwise_the_same_agent_and_another_seed_another(kind: str) -> None:
    first, second, other = small_agent(kind, seed=3), small_agent(kind, seed=3), small_agent(kind, seed=4)
    torch.manual_seed(1)
    play(first, 23, np.random.default_rng(0))
    torch.manual_seed(2)
    np.random.seed(2)
    play(second, 23, np.random.default_rng(0))
    play(other, 23, np.random.default_rng(0))
    assert same(first.state(), second.state())
    assert first.parameters_sha256() != other.parameters_sha256()


@pytest.mark.parametrize("kind", KINDS)
def test_global_random_numbers_are_left_alone(kind: str) -> None:
    torch_before, numpy_before = torch.get_rng_state(), np.random.get_state(legacy=False)
    play(small_agent(kind), 23, np.random.default_rng(0))
    numpy_after = np.random.get_state(legacy=False)
    assert torch.equal(torch.get_rng_state(), torch_before)
    assert repr(numpy_after) == repr(numpy_before)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("ticks", [0, 1, 7, 20])
def test_a_saved_agent_continues_exactly_in_a_fresh_one(kind: str, ticks: int) -> None:
    original, copy = small_agent(kind, seed=1), small_agent(kind, seed=2)
    play(original, ticks, np.random.default_rng(0))
    saved = {name: tensor.clone() for name, tensor in original.state().items()}
    copy.load_state(saved)
    assert same(copy.state(), saved)
    assert dict(copy.metrics()) == dict(original.metrics())
    for agent in (original, copy):
        play(agent, 17, np.random.default_rng(9))
    assert same(original.state(), copy.state())
    assert original.parameters_sha256() == copy.parameters_sha256()


@pytest.mark.parametrize("kind", KINDS)
def test_an_agent_saved_between_act_and_observe_continues_exactly(kind: str) -> None:
    original, copy = small_agent(kind, seed=1), small_agent(kind, seed=2)
    data = np.random.default_rng(0)
    play(original, 8, data)
    observation = some_observation(data)
    action = original.act(observation, ActMode.EXPLORE)
    copy.load_state(original.state())
    e = some_experience(data, observation, action)
    for agent in (original, copy):
        agent.observe(e)
        play(agent, 9, np.random.default_rng(9))
    assert same(original.state(), copy.state())


@pytest.mark.parametrize("kind", KINDS)
def test_an_agent_saved_in_the_middle_of_an_update_continues_exactly(kind: str) -> None:
    original, copy = small_agent(kind, seed=1), small_agent(kind, seed=2)
    play(original, 9, np.random.default_rng(0))
    observation = some_observation(np.random.default_rng(1))
    action = original.act(observation, ActMode.EXPLORE)
    original.observe(some_experience(np.random.default_rng(2), observation, action, invalid=0.2))
    halfway = original.learn(0.3)
    next(halfway, None)
    copy.load_state(original.state())
    list(halfway)
    list(copy.learn(0.3))
    assert same(original.state(), copy.state())


@pytest.mark.parametrize("kind", KINDS)
def test_a_state_is_a_copy_that_later_learning_does_not_change(kind: str) -> None:
    agent = small_agent(kind)
    play(agent, 7, np.random.default_rng(0))
    saved = agent.state()
    kept = {name: tensor.clone() for name, tensor in saved.items()}
    play(agent, 20, np.random.default_rng(1))
    assert same(saved, kept)
    other = small_agent(kind, seed=5)
    other.load_state(saved)
    play(other, 20, np.random.default_rng(1))
    assert same(saved, kept)


@pytest.mark.parametrize("kind", KINDS)
def test_an_update_in_slices_with_looks_in_between_equals_a_whole_one(kind: str) -> None:
    whole, sliced = small_agent(kind), small_agent(kind)
    slices = 0
    for agent in (whole, sliced):
        data = np.random.default_rng(0)
        for _ in range(21):
            observation = some_observation(data)
            action = agent.act(observation, ActMode.EXPLORE)
            agent.observe(some_experience(data, observation, action))
            if agent is whole:
                list(agent.learn(0.5))
                continue
            for _ in agent.learn(0.5):
                agent.act(observation, ActMode.GREEDY)
                agent.metrics()
                slices += 1
    assert slices > 4
    assert same(whole.state(), sliced.state())


@pytest.mark.parametrize("kind", KINDS)
def test_an_update_that_is_dropped_halfway_goes_on_with_the_next_call(kind: str) -> None:
    whole, dropped = small_agent(kind), small_agent(kind)
    data = np.random.default_rng(0)
    play(whole, 9, np.random.default_rng(0))
    play(dropped, 9, data)
    for agent in (whole, dropped):
        observation = some_observation(np.random.default_rng(1))
        agent.observe(some_experience(np.random.default_rng(2), observation, agent.act(observation, ActMode.EXPLORE)))
    list(whole.learn(0.5))
    for _ in range(50):
        next(dropped.learn(0.5), None)
    assert same(whole.state(), dropped.state())


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("rows", [1, 3, ROWS, 50])
def test_greedy_acts_repeat_themselves_and_change_nothing(kind: str, rows: int) -> None:
    agent = small_agent(kind)
    play(agent, 13, np.random.default_rng(0))
    before, observation = agent.state(), some_observation(np.random.default_rng(1), rows)
    kept = observation.copy()
    first = agent.act(observation, ActMode.GREEDY).action
    assert (first == agent.act(observation, ActMode.GREEDY).action).all()
    assert same(agent.state(), before)
    assert (observation == kept).all()


@pytest.mark.parametrize("kind", KINDS)
def test_sampling_leaves_no_trace_but_in_its_own_random_stream(kind: str) -> None:
    agent, undisturbed = small_agent(kind), small_agent(kind)
    for one in (agent, undisturbed):
        play(one, 13, np.random.default_rng(0))
    observation = some_observation(np.random.default_rng(1), 40)
    first, second = (agent.act(observation, ActMode.SAMPLE).action for _ in range(2))
    assert (first != second).any()
    for one in (agent, undisturbed):
        play(one, 13, np.random.default_rng(2))
    a, b = agent.state(), undisturbed.state()
    assert not torch.equal(a.pop("random/sample"), b.pop("random/sample"))
    assert same(a, b)


@pytest.mark.parametrize("kind", KINDS)
def test_actions_have_the_shape_and_type_that_the_specification_says(kind: str) -> None:
    agent = small_agent(kind)
    for mode in (ActMode.EXPLORE, ActMode.SAMPLE, ActMode.GREEDY):
        action = agent.act(some_observation(np.random.default_rng(0)), mode).action
        assert action.shape == ((ROWS, agent.spec.actions.columns) if kind in SPECS else (ROWS,))
        assert action.dtype == (np.float32 if kind in SPECS else np.int64)
        assert agent.spec.actions.wrong(action, ROWS) is None


@pytest.mark.parametrize("kind", KINDS)
def test_what_the_world_does_with_an_action_or_an_observation_afterwards_does_not_reach_the_agent(kind: str) -> None:
    kept, touched = small_agent(kind), small_agent(kind)
    for agent in (kept, touched):
        data = np.random.default_rng(0)
        for _ in range(12):
            observation = some_observation(data)
            e = some_experience(data, observation.copy(), agent.act(observation, ActMode.EXPLORE))
            if agent is touched:
                observation[:] = 99
            agent.observe(e)
            if agent is touched:
                for array in (e.observation, e.next_observation, e.reward, e.action, *e.extras.values()):
                    array[:] = 1
            list(agent.learn(0.0))
    assert same(kept.state(), touched.state())


@pytest.mark.parametrize("kind", KINDS)
def test_invalid_rows_may_hold_anything_and_teach_nothing(kind: str) -> None:
    clean, wild = small_agent(kind), small_agent(kind)
    for agent in (clean, wild):
        data = np.random.default_rng(0)
        for _ in range(22):
            observation = some_observation(data)
            e = some_experience(data, observation, agent.act(observation, ActMode.EXPLORE), invalid=0.3)
            if agent is wild:
                assert e.valid is not None
                e.reward[~e.valid] = np.nan
                e.next_observation[~e.valid] = np.inf
            with np.errstate(all="ignore"):
                agent.observe(e)
                list(agent.learn(0.0))
    assert wild.is_finite()
    assert clean.parameters_sha256() == wild.parameters_sha256()


@pytest.mark.parametrize("kind", KINDS)
def test_a_rollout_of_only_invalid_rows_changes_no_parameter(kind: str) -> None:
    agent = small_agent(kind)
    before = agent.parameters_sha256()
    play(agent, 15, np.random.default_rng(0), invalid=1.0)
    assert agent.parameters_sha256() == before
    assert dict(agent.metrics()) == {}


@pytest.mark.parametrize(
    ("kind", "bad"),
    [*((k, b) for k in KINDS for b in (np.nan, np.inf)), *((k, 1e30) for k in KINDS[:3])],
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
    if kind.startswith("ppo"):
        assert agent.parameters_sha256() == good


@pytest.mark.parametrize("kind", KINDS)
def test_a_policy_alone_acts_like_the_agent_it_came_from(kind: str) -> None:
    agent, copy = small_agent(kind, seed=1), small_agent(kind, seed=2, rows=50)
    play(agent, 20, np.random.default_rng(0))
    copy.load_policy_state(agent.policy_state())
    observation = some_observation(np.random.default_rng(1), 50)
    assert (agent.act(observation, ActMode.GREEDY).action == copy.act(observation, ActMode.GREEDY).action).all()
    assert agent.parameters_sha256() == copy.parameters_sha256()


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
    for each in (agent, other):
        each.restart(earlier)
        assert same(each.policy_state(), earlier)
        moments = [tensor for name, tensor in each.state().items() if name.startswith("adam")]
        assert moments
        assert not any(bool(tensor.any()) for tensor in moments)
        play(each, 12, np.random.default_rng(2))
        assert not same(each.policy_state(), earlier)
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
    policy = {n: t for n, t in agent.policy_state().items() if n.startswith(("policy/", "value/", "q/")) and n != UNIT}
    digest = hashlib.sha256(b"".join(np.asarray(policy[name], dtype="<f4").tobytes() for name in sorted(policy)))
    assert agent.parameters_sha256() == digest.hexdigest()
    name = next(iter(policy))
    agent.load_policy_state({**agent.policy_state(), name: policy[name] + 1e-3})
    assert agent.parameters_sha256() != digest.hexdigest()


@pytest.mark.parametrize("kind", ["ppo", "dqn"])
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


@pytest.mark.parametrize("kind", KINDS)
def test_a_state_holds_only_plain_tensors_that_safetensors_can_store(kind: str) -> None:
    from safetensors.torch import load, save

    agent: Agent = small_agent(kind)
    play(agent, 8, np.random.default_rng(0))
    copy = small_agent(kind, seed=9)
    copy.load_state(load(save(agent.state())))
    assert same(agent.state(), copy.state())


def test_importing_the_agents_does_not_import_torch() -> None:
    code = "import sys, ecs_rl.agents, ecs_rl.agents.make; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_one_row_and_one_number_are_enough() -> None:
    for kind, spec in (("ppo", CHOICES), ("ppo", MOTORS), ("dqn", CHOICES)):
        config = SMALL_DQN if kind == "dqn" else SMALL_PPO
        agent = make_agent(kind, spec, config, seed=0, rows=1)
        random = np.random.default_rng(0)
        for _ in range(30):
            observation = some_observation(random, 1)
            told, flags = agent.act(observation, ActMode.EXPLORE), np.zeros(1, bool)
            ones = np.ones(1, np.float32)
            agent.observe(Experience(observation, told.action, ones, observation, flags, flags, extras=told.extras))
            list(agent.learn(0.0))
        assert agent.is_finite()
        assert agent.metrics()


@pytest.mark.parametrize("kind", KINDS)
def test_a_network_without_hidden_layers_learns_too(kind: str) -> None:
    agent = small_agent(kind, config=replace(config_of(kind), hidden=()))
    before = agent.parameters_sha256()
    play(agent, 20, np.random.default_rng(0))
    assert agent.is_finite()
    assert agent.parameters_sha256() != before


def test_the_number_of_threads_changes_no_bit() -> None:
    hashes = set()
    for threads in (1, 2, 2):
        agent = make_agent("ppo", CHOICES, replace(SMALL_PPO, minibatch=2048), seed=0, rows=2100, threads=threads)
        data = np.random.default_rng(0)
        for _ in range(10):
            observation = some_observation(data, 2100)
            agent.observe(some_experience(data, observation, agent.act(observation, ActMode.EXPLORE)))
            list(agent.learn(0.0))
        hashes.add(agent.parameters_sha256())
    assert len(hashes) == 1
