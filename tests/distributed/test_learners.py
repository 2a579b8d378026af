"""Learners in several processes: one policy, and the steps that one process takes on what all have gathered."""

from __future__ import annotations

from dataclasses import replace
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
import torch
from agents_helpers import KINDS, ROWS, same, some_experience, some_observation
from groups import in_group

from ecs_rl.agents import Agent, make_agent
from ecs_rl.agents.base import State
from ecs_rl.agents.normalise import SharedMoments, put_together
from ecs_rl.agents.replay import Batch
from ecs_rl.distributed.group import ALONE, Group
from ecs_rl.spaces import ActMode, Experience
from ecs_rl.testing.transitions import PROGRESS

SIZE = 2
LEARNERS = ("ppo", "ppo mixed", "ppo gru", "dqn", "dqn full", "sac mixed", "td3", "iql mixed")
FINE = 3e-6
"""What parameters may differ by after some steps: rounding, and a hundredth of a step."""


def agent_of(kind: str, group: Group, rows: int, **settings: Any) -> Any:
    spec, config = KINDS[kind]
    algorithm = kind.split(maxsplit=1)[0]
    return make_agent(algorithm, spec, replace(config, **settings), seed=3, rows=rows, group=group)


def part_of(experience: Experience, own: slice) -> Experience:
    """Return some rows of an experience."""
    arrays = {name: getattr(experience, name)[own] for name in ("observation", "action", "reward", "next_observation")}
    ended = {name: getattr(experience, name)[own] for name in ("terminated", "truncated")}
    valid = None if experience.valid is None else experience.valid[own]
    return Experience(**arrays, **ended, valid=valid, extras={k: v[own] for k, v in experience.extras.items()})


def learned(agent: Agent) -> None:
    for _ in agent.learn(PROGRESS):
        pass


# --- the same parameters everywhere -----------------------------------------------------------------------------------


def random_play(group: Group, kind: str, empty: int) -> list[str]:
    """Let each process see data of its own, some of it invalid; all that the process `empty` sees is."""
    digests = []
    for _ in range(2):
        agent, data = agent_of(kind, group, ROWS), np.random.default_rng(group.rank)
        digests.append(agent.parameters_sha256())
        for _ in range(50):
            observation = some_observation(data)
            decision = agent.act(observation, ActMode.EXPLORE)
            agent.observe(some_experience(data, observation, decision, 1.1 if group.rank == empty else 0.3))
            learned(agent)
        assert agent.is_finite()
        digests.append(agent.parameters_sha256())
    return digests


@pytest.mark.parametrize("empty", [-1, 1], ids=["invalid rows", "a process without any"])
@pytest.mark.parametrize("kind", LEARNERS)
def test_all_processes_have_the_same_parameters_after_many_ticks(kind: str, empty: int) -> None:
    first, *others = in_group(SIZE, random_play, kind, empty)
    assert others == [first]
    begin, end, *again = first
    assert begin != end
    assert again == [begin, end], "the same bits once more"


# --- what one process learns from all of it ---------------------------------------------------------------------------


def on_policy_both_ways(group: Group, kind: str, settings: dict[str, Any], invalid: float) -> tuple[State, State]:
    """Return what this process has learned, and what one that gathers everything learns by itself."""
    rows = ROWS * group.size
    whole = agent_of(kind, ALONE, rows, **settings)
    own, mine = agent_of(kind, group, ROWS, **settings), np.arange(rows).reshape(group.size, ROWS)[group.rank]
    assert whole.parameters_sha256() == own.parameters_sha256()
    data, state = np.random.default_rng(0), None
    for _ in range(whole.config.rollout):
        observation = some_observation(data, rows)
        decision = whole.act(observation, ActMode.EXPLORE, state)
        state = decision.state
        experience = some_experience(data, observation, decision, invalid)
        whole.observe(experience)
        own.observe(part_of(experience, slice(mine[0], mine[-1] + 1)))
    learned(whole)
    learned(own)
    return own.policy_state(), whole.policy_state()


@pytest.mark.parametrize("invalid", [0.0, 0.3])
@pytest.mark.parametrize(
    ("kind", "settings"),
    [
        ("ppo", {}),
        ("ppo", {"accumulate": 3}),
        ("ppo", {"normalise_advantages": False}),
        ("ppo mixed", {}),
        ("ppo gru", {}),
    ],
)
def test_an_update_of_two_processes_is_that_of_one_on_all_transitions(
    kind: str, settings: dict[str, Any], invalid: float
) -> None:
    plain = {"normalise_observations": False, "normalise_rewards": False}  # else known a tick later than in one process
    many = {"minibatch": 10_000, "lr": 3e-4, **plain, **settings}
    for own, whole in in_group(SIZE, on_policy_both_ways, kind, many, invalid):
        assert own.keys() == whole.keys()
        for name, tensor in own.items():
            assert torch.allclose(tensor, whole[name], rtol=1e-5, atol=FINE), name


def replayed_both_ways(group: Group, kind: str) -> tuple[State, State]:
    """Return what this process and one that has the whole batch learn from some batches."""
    settings = {"normalise_observations": False, "batch": 8 * group.size, "lr": 3e-4}
    whole, own = agent_of(kind, ALONE, ROWS, **settings), agent_of(kind, group, ROWS, **settings)
    before = whole.parameters_sha256()
    data, first = np.random.default_rng(0), group.rank * 8
    seen = some_observation(data)
    own.observe(some_experience(data, seen, own.act(seen, ActMode.EXPLORE), 0.0))  # else it has nothing to say
    with patch("torch.randn", lambda shape, generator: torch.zeros(shape)):  # each process has dice of its own
        for _ in range(5):
            batch = some_batch(data, whole, 8 * group.size)
            whole.descend(batch, PROGRESS)
            parts: list[Any] = [part if part is None else part[first : first + 8] for part in batch]
            own.descend(Batch(*parts), PROGRESS)
    assert whole.parameters_sha256() != before
    return own.policy_state(), whole.policy_state()


def some_batch(data: np.random.Generator, agent: Any, rows: int) -> Batch:
    """Return transitions as a replay memory draws them."""
    observation, following = (torch.from_numpy(some_observation(data, rows)) for _ in range(2))
    decision = agent.act(observation.numpy(), ActMode.SAMPLE)
    action = torch.from_numpy(np.asarray(decision.action, np.float32).reshape(rows, -1))
    reward = torch.from_numpy(data.normal(size=rows).astype(np.float32))
    discount = torch.from_numpy(np.where(data.random(rows) < 0.2, 0.0, 0.99).astype(np.float32))
    return Batch(observation, following, action, reward, discount, np.arange(rows), np.ones(rows, np.float32))


@pytest.mark.parametrize("kind", ["dqn", "sac", "sac continuous", "sac mixed", "td3"])
def test_steps_of_two_processes_are_those_of_one_on_the_joined_batch(kind: str) -> None:
    for own, whole in in_group(SIZE, replayed_both_ways, kind):
        for name, tensor in own.items():
            assert torch.allclose(tensor, whole[name], rtol=1e-5, atol=FINE), name


# --- statistics -------------------------------------------------------------------------------------------------------


def rows_of(rank: int, round_: int) -> np.ndarray[Any, np.dtype[np.float32]]:
    rows = 0 if rank == 1 and round_ == 0 else 5 + 7 * rank + round_
    return np.random.default_rng(10 * rank + round_).normal(3.0, 2.0, (rows, 4)).astype(np.float32)


def moments_together(group: Group) -> list[list[list[float]]]:
    several = [SharedMoments(4, group), SharedMoments(1, group)]
    seen = list[list[list[float]]]()
    for round_ in range(3):
        rows = rows_of(group.rank, round_)
        if len(rows):
            several[0].own.update(rows)
            several[1].own.update(rows[:, :1] * 100)
        assert [float(each.count) for each in several] == ([0.0, 0.0] if not seen else seen[-1][2])
        put_together(group, several)
        seen.append([several[0].mean.tolist(), several[1].deviation.tolist(), [float(each.count) for each in several]])
    return seen


def test_statistics_put_together_are_those_of_all_rows() -> None:
    first, *others = in_group(3, moments_together)
    assert others == [first, first]
    for round_, (mean, deviation, counts) in enumerate(first):
        rows = np.concatenate([rows_of(rank, i) for rank in range(3) for i in range(round_ + 1)]).astype(np.float64)
        np.testing.assert_allclose(mean, rows.mean(0), rtol=1e-9)
        np.testing.assert_allclose(deviation, 100 * rows[:, :1].std(0), rtol=1e-4)
        assert counts == [len(rows), len(rows)]


# --- another number of processes --------------------------------------------------------------------------------------


def remembers(kind: str) -> dict[str, int]:
    """Return the settings of a memory that is soon full."""
    return {} if kind.startswith("ppo") else {"memory": 40}


def states_of(group: Group, kind: str) -> State:
    agent, data = agent_of(kind, group, ROWS, **remembers(kind)), np.random.default_rng(group.rank)
    for tick in range(30):
        observation = some_observation(data)
        observation[:, 0] = tick  # so that one sees how old a transition is
        decision = agent.act(observation, ActMode.EXPLORE)
        agent.observe(some_experience(data, observation, decision, 0.0))
        learned(agent)
    state: State = agent.state()
    return state


def shared_out(group: Group, kind: str, states: list[State]) -> State:
    agent = agent_of(kind, group, ROWS, **remembers(kind))
    agent.share_out(states, group.rank, group.size)
    state: State = agent.state()
    data = np.random.default_rng(0)
    for _ in range(20):  # and it goes on
        observation = some_observation(data)
        agent.observe(some_experience(data, observation, agent.act(observation, ActMode.EXPLORE)))
        learned(agent)
    return state


@pytest.mark.parametrize(("saved", "loaded"), [(2, 1), (1, 2), (2, 3), (3, 2)])
@pytest.mark.parametrize("kind", ["ppo", "dqn", "dqn full", "sac"])
def test_another_number_of_processes_goes_on_with_the_policy_and_all_that_was_remembered(
    kind: str, saved: int, loaded: int
) -> None:
    before = in_group(saved, states_of, kind)
    after = in_group(loaded, shared_out, kind, before)
    agent = agent_of(kind, ALONE, ROWS)
    common = [*agent.policy_state(), *(name for name in before[0] if name.startswith("adam/"))]
    for state in after:
        assert same({name: state[name] for name in common}, {name: before[0][name] for name in common})
    if "memory/rows" not in before[0]:
        return
    rows = [state["memory/rows"] for state in after]
    remembered = {tuple(row) for state in before for row in state["memory/rows"].tolist()}
    got = [tuple(row) for part in rows for row in part.tolist()]
    assert set(got) <= remembered
    assert len(set(got)) >= len(remembered) - loaded * saved
    late = KINDS[kind][1].n_step - 1 if kind == "dqn full" else 0  # ticks until a transition is stored
    for state in after:  # from the oldest on
        ages = state["memory/rows"][:, 0].roll(-int(state["memory/next"]) % len(state["memory/rows"]))
        assert bool((ages.diff() >= -late).all()) or saved > 1
