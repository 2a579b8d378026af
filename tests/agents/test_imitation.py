"""An agent that imitates does as it was shown, expects what came of it, and goes on from there."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
import torch
from agents_helpers import CHOICES, KINDS, MIXED, ROWS, SMALL_PPO, config_of, play, same, small_agent
from agents_helpers import MOTORS as LEVERS

from ecs_rl.agents import ActMode, Discrete, PolicySpec, PPOConfig, make_agent, replay_learner
from ecs_rl.agents.base import Demonstration, Imitating, State
from ecs_rl.agents.dqn import DQN
from ecs_rl.agents.heads import SPREAD
from ecs_rl.agents.imitation import LEAST_LOG_STD, transitions
from ecs_rl.agents.ppo import PPO
from ecs_rl.agents.twin_critics import TwinCritics
from ecs_rl.errors import CheckpointError

TICKS = 120
CONFIG = replace(SMALL_PPO, lr=3e-3, hidden=(32,), gamma=0.9)


def right_action(spec: PolicySpec, seen: np.ndarray) -> np.ndarray:
    """Return what a good teacher does, a simple function of the first number that is seen."""
    up = seen[:, 0] > 0
    if not any(isinstance(part, Discrete) for part in spec.actions.parts):
        return np.where(up, 0.7, -0.4)[:, None].repeat(spec.actions.columns, 1).astype(np.float32)
    action = spec.actions.none(len(seen))
    action[up] = 1
    return action


def shown(spec: PolicySpec, episodes: int = 3, *, terminated: bool = True) -> list[Demonstration]:
    random = np.random.default_rng(3)
    demonstrations = []
    for seed in range(episodes):
        seen = random.normal(size=(TICKS, len(spec.observations))).astype(np.float32)
        action, reward = right_action(spec, seen), np.full(TICKS, 2.0, np.float32)
        demonstrations.append(Demonstration(seed, seen, action, reward, np.ones(TICKS, bool), terminated, 2.0 * TICKS))
    return demonstrations


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
    mixed = [replace(e, action=e.action.copy(), imitated=np.arange(TICKS) % 2 == 0) for e in episodes]
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
    assert all(isinstance(small_agent(kind), Imitating) for kind in ("ppo", "dqn", "sac", "td3", "iql"))
    assert not isinstance(object(), Imitating)


# --- learners of values -----------------------------------------------------------------------------------------------

VALUES = {"gamma": 0.9, "hidden": (32,), "memory": 800, "lr": 3e-3}
LEARNERS_OF_VALUES = [kind for kind in KINDS if not kind.startswith("ppo")]
Learner = DQN | TwinCritics


def learner(kind: str, seed: int = 0) -> Learner:
    agent = small_agent(kind, seed=seed, config=replace(config_of(kind), **VALUES))
    assert isinstance(agent, Learner)
    return agent


@pytest.mark.parametrize("kind", LEARNERS_OF_VALUES)
def test_learners_of_values_do_as_they_were_shown_and_remember_it_for_good(kind: str) -> None:
    agent = learner(kind)
    assert agent.imitate(shown(agent.spec)) > 0.9
    seen = np.random.default_rng(9).normal(size=(200, len(agent.spec.observations))).astype(np.float32)
    seen[:, 0] = np.sign(seen[:, 0]) * (0.4 + np.abs(seen[:, 0]))  # clear cases
    done = np.asarray(agent.act(seen, ActMode.GREEDY).action, np.float64)
    assert (np.abs(done - right_action(agent.spec, seen)) < 0.35).mean() > 0.9
    stored = agent._memory._table[: 3 * TICKS].clone()
    assert agent._memory.demonstrated == 3 * TICKS
    play(agent, 300, np.random.default_rng(8))
    assert agent._memory.size == 800
    assert torch.equal(agent._memory._table[: 3 * TICKS], stored)


@pytest.mark.parametrize("kind", LEARNERS_OF_VALUES)
def test_they_are_the_same_again_and_go_on_exactly_from_a_save(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replay_learner, "IMITATING", 100)
    first, second, other = learner(kind, 4), learner(kind, 4), learner(kind, 4)
    for agent in (first, second):
        agent.imitate(shown(agent.spec))
        play(agent, 40, np.random.default_rng(8))
    assert first.parameters_sha256() == second.parameters_sha256() != other.parameters_sha256()
    other.load_state(first.state())
    for agent in (first, other):
        play(agent, 40, np.random.default_rng(7))
    assert same(first.state(), other.state())


@pytest.mark.parametrize("kind", LEARNERS_OF_VALUES)
def test_a_save_from_before_they_could_imitate_is_gone_on_with(kind: str) -> None:
    first, other = learner(kind), learner(kind)
    play(first, 40, np.random.default_rng(8))
    other.load_state({name: tensor for name, tensor in first.state().items() if name != "shown"})
    assert same(first.state(), other.state())


@cache
def state_after_imitating(kind: str) -> State:
    """Return the state of a learner that has imitated, which no test changes."""
    agent = learner(kind)
    agent.imitate(shown(CHOICES))
    return agent.state()


@pytest.mark.parametrize("kind", ["dqn", "sac"])
@pytest.mark.parametrize("held", [(-1.0, 1.0), (1e9, 1.0), (2.5, 1.0), (np.nan, 1.0), (2.0, np.inf), (2.0, -1.0)])
def test_a_save_that_holds_on_to_what_cannot_be_is_refused(kind: str, held: tuple[float, float]) -> None:
    other = learner(kind)
    before = other.parameters_sha256()
    with pytest.raises(CheckpointError, match="what was shown"):
        other.load_state({**state_after_imitating(kind), "shown": torch.tensor(held, dtype=torch.float64)})
    assert other.parameters_sha256() == before


def test_what_a_policy_did_in_between_is_remembered_but_not_held_to() -> None:
    agent = learner("dqn")
    agent.imitate([replace(e, imitated=np.arange(TICKS) < 50) for e in shown(CHOICES)])
    assert (agent._memory.demonstrated, agent._memory.size) == (150, 3 * TICKS)


@pytest.mark.parametrize("steps", [1, 3])
def test_ticks_become_transitions_over_several_of_them(steps: int) -> None:
    seen = np.arange(5, dtype=np.float32)[:, None]
    reward, action = np.array([1, 2, 4, 8, 16], np.float32), np.array([0, 1, 0, 1, 1])
    whole = Demonstration(0, seen, action, reward, np.array([True, False, True, True, True]), True, 31.0)
    one_tick = {part: getattr(whole, part)[:1] for part in ("observation", "action", "reward", "imitated")}
    short = replace(whole, **one_tick, terminated=False)  # nobody knows what came of its only decision
    rows, imitated = transitions([whole, short, replace(whole, terminated=False)], steps, 0.5)
    assert imitated.tolist() == [*whole.imitated.tolist(), *whole.imitated[:4].tolist()]
    first = [[0, 1, 0, 1, 0.5], [1, 2, 1, 2, 0.5], [2, 3, 0, 4, 0.5], [3, 4, 1, 8, 0.5], [4, 4, 1, 16, 0]]
    if steps == 3:
        first = [[0, 3, 0, 3, 0.125], [1, 4, 1, 6, 0.125], [2, 4, 0, 12, 0], [3, 4, 1, 16, 0], [4, 4, 1, 16, 0]]
    assert rows[:5].tolist() == first
    cut = [[0, 1, 0, 1, 0.5], [1, 2, 1, 2, 0.5], [2, 3, 0, 4, 0.5], [3, 4, 1, 8, 0.5]]
    if steps == 3:
        cut = [[0, 3, 0, 3, 0.125], [1, 4, 1, 6, 0.125], [2, 4, 0, 8, 0.25], [3, 4, 1, 8, 0.5]]
    assert rows[5:].tolist() == cut
