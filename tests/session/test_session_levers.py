"""Levers in a plain loop: `act` returns what the pilot would do, and the agent learns from what it drew."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
from numpy.typing import NDArray

import ecs_rl
from ecs_rl.agents import Continuous, PolicySpec, PPOConfig, SACConfig, TD3Config, make_agent
from ecs_rl.agents.base import Agent
from ecs_rl.runs import TrainingRun
from ecs_rl.session import TrainingSession
from ecs_rl.session.decisions import Decisions
from ecs_rl.spaces import ActMode, Decision, Experience, Floats
from ecs_rl.testing.transitions import LEVERS, MIXED, same, some_experience, some_observation
from ecs_rl.training.team import Team

ROWS = 4
CONFIGS: dict[str, Any] = {
    "ppo": PPOConfig(rollout=5, epochs=2, minibatch=8, hidden=(8,), log_std=1.0),
    "sac": SACConfig(batch=8, warm_up=12, memory=40, updates_per_step=0.25, hidden=(8,)),
    "td3": TD3Config(batch=8, warm_up=12, memory=40, updates_per_step=0.25, hidden=(8,)),
}
SPACES = {"levers": LEVERS, "mixed": MIXED}


class Draws:
    """An algorithm of a user's own that draws far beyond -1 and 1, reuses its array, and keeps what it observes."""

    name = "draws"

    def __init__(self, spec: PolicySpec) -> None:
        self.spec, self.random = spec, np.random.default_rng(0)
        self.drawn: list[NDArray[Any]] = []
        self.observed: list[Experience] = []
        self.array = spec.actions.none(ROWS)

    def act(self, observation: Floats, mode: ActMode, state: Floats | None = None) -> Decision:
        self.array[...] = self.spec.actions.random(self.random, ROWS)
        self.array[:, 1] *= 10.0
        if mode is ActMode.EXPLORE:
            self.drawn.append(self.array.copy())
        return Decision(self.array, extras={"tick": np.full(ROWS, len(self.drawn))})

    def observe(self, experience: Experience) -> None:
        self.observed.append(experience)

    def learn(self, progress: float) -> Iterator[None]:
        return iter(())


def agent_of(algorithm: str, spec: PolicySpec, rows: int = ROWS) -> Agent:
    if algorithm == "own":
        return cast(Agent, Draws(spec))
    return make_agent(algorithm, spec, CONFIGS[algorithm], seed=3, rows=rows)


@pytest.mark.parametrize(
    ("algorithm", "space"), [*((a, s) for a in ("ppo", "sac", "own") for s in SPACES), ("td3", "levers")]
)
def test_levers_lie_within_their_range_in_every_mode(algorithm: str, space: str) -> None:
    spec, random = SPACES[space], np.random.default_rng(0)
    session, direct = (TrainingSession(agent_of(algorithm, spec)), agent_of(algorithm, spec))
    beyond = False
    for mode in (*[ActMode.EXPLORE] * 4, ActMode.GREEDY, ActMode.SAMPLE):
        seen = some_observation(random, ROWS)
        wanted, action = direct.act(seen, mode).action.copy(), session.act(seen, mode)
        beyond |= bool((np.abs(spec.actions.clipped(wanted) - wanted) > 0.1).any())
        assert np.array_equal(action, spec.actions.clipped(wanted))
        assert spec.actions.wrong(action, ROWS) is None
        assert np.abs(action[:, 1]).max() <= 1.0
    assert beyond == (algorithm in ("ppo", "own")), "the levers of SAC and TD3 never leave their range"


@pytest.mark.parametrize(("algorithm", "space"), [*((a, s) for a in ("ppo", "sac") for s in SPACES), ("td3", "levers")])
def test_an_agent_learns_the_same_from_a_loop_as_from_its_own_decisions(algorithm: str, space: str) -> None:
    spec, data = SPACES[space], np.random.default_rng(1)
    session, direct = TrainingSession(agent_of(algorithm, spec)), agent_of(algorithm, spec)
    for _ in range(13):
        seen = some_observation(data, ROWS)
        action, decision = session.act(seen), direct.act(seen, ActMode.EXPLORE)
        told = some_experience(data, seen, decision)
        session.act(seen, ActMode.GREEDY)  # examines the agent in between
        session.observe(replace(told, action=action.astype(np.float64), extras={}))
        direct.observe(told)
        for _ in direct.learn(0.0):
            pass
    assert same(session.agent.state(), direct.state())


def test_the_draw_of_a_users_algorithm_comes_back_to_it() -> None:
    agent = Draws(LEVERS)
    session, data = TrainingSession(cast(Agent, agent)), np.random.default_rng(2)
    for _ in range(3):
        seen = some_observation(data, ROWS)
        told = some_experience(data, seen, Decision(session.act(seen)))
        session.act(seen, ActMode.GREEDY)  # which overwrites the agent's array
        session.observe(told)
    assert [each.action.tolist() for each in agent.observed] == [each.tolist() for each in agent.drawn]


def test_the_draw_is_found_where_the_loop_acts_before_it_observes() -> None:
    agent = Draws(MIXED)
    session, data = TrainingSession(cast(Agent, agent)), np.random.default_rng(3)
    before = some_observation(data, ROWS)
    action = session.act(before)
    for _ in range(4):
        after = some_observation(data, ROWS)
        following = session.act(after)
        session.observe(some_experience(data, before, Decision(action)))
        before, action = after, following
    assert [each.action.tolist() for each in agent.observed] == [each.tolist() for each in agent.drawn[:-1]]
    assert [each.extras["tick"][0] for each in agent.observed] == [1, 2, 3, 4]


def test_rows_that_did_something_else_are_learned_from_as_they_are_reported() -> None:
    agent = Draws(LEVERS)
    session, seen = TrainingSession(cast(Agent, agent)), some_observation(np.random.default_rng(4), ROWS)
    action = session.act(seen)
    action[1] = 0.25  # a person took over
    session.observe(some_experience(np.random.default_rng(4), seen, Decision(action)))
    assert agent.observed[0].action.tolist() == [
        [0.25, 0.25] if row == 1 else draw for row, draw in enumerate(agent.drawn[0].tolist())
    ]


def test_a_team_and_a_single_row_are_clipped_too() -> None:
    team = Team([cast(Agent, Draws(replace(LEVERS, name=name))) for name in ("one", "other")])
    session, data = TrainingSession(cast(Agent, team)), np.random.default_rng(5)
    seen = some_observation(data, ROWS), some_observation(data, ROWS)
    actions = session.act(seen)
    assert [np.abs(action).max() for action in actions] == [1.0, 1.0]

    single = TrainingSession(agent_of("ppo", PolicySpec(("x",), Continuous(("gas",))), rows=1))
    draws = [single.act(np.zeros(1, np.float32)) for _ in range(20)]
    assert {draw.shape for draw in draws} == {(1,)}
    assert max(abs(draw[0]) for draw in draws) == 1.0


def test_each_policy_of_a_team_gets_its_own_draw_back() -> None:
    decisions, data = Decisions(), np.random.default_rng(7)
    seen = [some_observation(data, ROWS) for _ in range(2)]
    raw = [Decision(data.normal(0.0, 5.0, (ROWS, 2)), extras={"policy": name}) for name in ("one", "other")]
    clipped = [LEVERS.actions.clipped(decision.action) for decision in raw]
    decisions.add(seen, raw, clipped)
    told = (some_experience(data, x, Decision(action)) for x, action in zip(seen, clipped, strict=True))
    for experience, decision in zip(decisions.completed(tuple(told)), raw, strict=True):
        assert np.array_equal(experience.action, decision.action)
        assert experience.extras == decision.extras


@pytest.mark.parametrize("backend", ["torch", "numpy"])
@pytest.mark.parametrize("space", SPACES)
def test_a_trained_policy_acts_in_its_loop_as_its_pilot_acts(space: str, backend: str, tmp_path: Path) -> None:
    agent, data = agent_of("ppo", SPACES[space]), np.random.default_rng(6)
    large = {name: 200.0 if name.endswith("weight") else 1.0 for name in agent.policy_state()}
    agent.load_policy_state({name: tensor * large[name] for name, tensor in agent.policy_state().items()})
    session = TrainingSession(agent).with_run(TrainingRun.create("levers", runs_dir=tmp_path)).with_max_steps(1)
    session.observe(some_experience(data, seen := some_observation(data, ROWS), Decision(session.act(seen))))
    session.close()
    seen = some_observation(data, 50)
    action = session.act(seen, ActMode.GREEDY)
    pilot = ecs_rl.load(tmp_path / "levers", checkpoint="latest", backend=backend)
    np.testing.assert_allclose(action, pilot.act(seen), atol=2e-5)
    assert np.abs(agent.act(seen, ActMode.GREEDY).action[:, 1]).max() > 1.5, "this policy goes beyond its range"
