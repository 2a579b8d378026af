"""What holds for every policy with two critics and slow targets, whatever its losses are."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
import torch
from agents_helpers import MIXED, MOTORS, config_of
from twin_critics_helpers import ready

from ecs_rl.agents import Composed, Discrete, PolicySpec, make_agent
from ecs_rl.agents.iql import IQL
from ecs_rl.agents.sac import SAC
from ecs_rl.agents.td3 import TD3
from ecs_rl.agents.twin_critics import TwinCritics
from ecs_rl.errors import CheckpointError, CommandError
from ecs_rl.spaces import TRIGGER

KINDS = (SAC, TD3, IQL)


@pytest.mark.parametrize("kind", KINDS)
def test_a_saved_state_with_levers_that_are_no_numbers_is_refused(kind: type[TwinCritics]) -> None:
    agent = ready(kind)
    state = agent.state()
    first, columns = 2 * len(MOTORS.numbers), MOTORS.actions.columns
    state["memory/rows"][:, first : first + columns] = math.nan
    with pytest.raises(CheckpointError, match="remembers actions that are none"):
        agent.load_state(state)


@pytest.mark.parametrize("kind", KINDS)
def test_a_run_that_goes_on_from_a_policy_alone_has_it_as_its_targets(kind: type[TwinCritics]) -> None:
    spec = MOTORS if kind is TD3 else MIXED
    agent, copy = ready(kind, spec), kind(spec, config_of(kind.name), seed=5, rows=1)
    copy.load_policy_state(agent.policy_state())
    policy, state = agent.policy_state(), copy.state()
    targets = {name.removeprefix("target/") for name in state if name.startswith("target/")}
    assert targets == {name for name in policy if name.startswith("q/" if kind is not TD3 else ("q/", "policy/"))}
    assert all(torch.equal(state[f"target/{name}"], policy[name]) for name in targets)


@pytest.mark.parametrize("kind", [SAC, IQL])
def test_too_many_ways_to_choose_are_refused_in_one_sentence(kind: type[TwinCritics]) -> None:
    many = PolicySpec(("x",), Composed(tuple(Discrete(TRIGGER, f"key {i}") for i in range(9))))
    sentence = rf"^--agent {kind.name} looks at every way to choose, at most 256; key 0, .* in 512 ways: use ppo$"
    with pytest.raises(CommandError, match=sentence):
        make_agent(kind.name, many, config_of(kind.name), seed=0, rows=1)
    fewer = replace(many, actions=Composed(many.actions.parts[:8]))
    make_agent(kind.name, fewer, config_of(kind.name), seed=0, rows=1)
