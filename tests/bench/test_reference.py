"""The comparison with Stable-Baselines3 is of like with like: settings, networks, and memories that end alike."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

pytest.importorskip("sb3_contrib", reason="needs the extra bench")
pytest.importorskip("gymnasium", reason="needs the extra bench")

import reference_ours
import reference_sb3
from reference_cases import CASES, Case
from reference_envs import Evaluation, environments, in_bounds
from reference_settings import MODELS, per_tick

from ecs_rl.agents import ActMode, make_agent
from ecs_rl.agents.make import AGENTS
from ecs_rl.spaces import Bools, Floats


def model_of(name: str, **settings: Any) -> Any:
    case = replace(CASES[name], settings=CASES[name].settings | settings)
    envs = reference_sb3.Together(environments(case.environment, range(case.envs)), case.envs)
    return MODELS[case.agent](case, envs, 0)


def parameters(module: Any) -> int:
    return sum(parameter.numel() for parameter in module.parameters())


@pytest.mark.parametrize("side", [reference_ours, reference_sb3])
@pytest.mark.parametrize("name", ["ppo:CartPoleNoVel-v1", "dqn:CartPole-v1", "sac:Pendulum-v1"])
def test_every_algorithm_trains_on_both_sides(name: str, side: Any) -> None:
    short = {"ppo": {}, "dqn": {"warm_up": 100}, "sac": {"warm_up": 100}}[CASES[name].agent]
    case = replace(CASES[name], steps=280, eval_every=200, solved=np.inf, settings=CASES[name].settings | short)
    told = side.train(case, seed=0)
    assert told["steps"] >= case.steps
    assert told["solved_step"] is None
    assert np.isfinite(told["best"])
    assert told["processor"] > 0.0


@pytest.mark.parametrize(
    "name", ["ppo:CartPole-v1", "ppo:Pendulum-v1", "dqn:CartPole-v1", "dqn:Acrobot-v1", "sac:Pendulum-v1"]
)
def test_both_sides_learn_as_many_parameters(name: str) -> None:
    case, model = CASES[name], model_of(name)
    algorithm, spec = AGENTS[case.agent], environments(case.environment, range(1)).spec
    shapes = algorithm.kind.shapes(spec, algorithm.Config(**case.settings))
    count = sum(math.prod(shape) for name, shape in shapes.items() if not name.startswith("temperature"))
    kinds = {"ppo": ["policy"], "dqn": ["q_net"], "sac": ["actor", "critic"]}[case.agent]
    assert count == sum(parameters(getattr(model, kind)) for kind in kinds)


def test_the_memory_of_the_other_side_has_as_many_numbers_and_no_perceptron() -> None:
    policy = model_of("ppo:CartPoleNoVel-v1").policy
    assert policy.lstm_actor.hidden_size == policy.lstm_critic.hidden_size == 64
    assert policy.lstm_actor.input_size == 2
    assert parameters(policy.mlp_extractor) == 0


def test_the_target_network_follows_after_as_many_gradient_steps() -> None:
    model = model_of("dqn:CartPole-v1", learn_every=4, target_every=50, target_rate=0.5)
    assert (model.train_freq.frequency, model.gradient_steps) == (4, 1)
    assert (model.target_update_interval, model.tau) == (200, 0.5)


def test_a_lever_of_1_is_the_same_on_both_sides() -> None:
    envs = environments("Pendulum-v1", range(2))
    other = reference_sb3.Together(environments("Pendulum-v1", range(2)), 2)
    np.testing.assert_array_equal(envs.reset(), other.reset())
    assert (other.action_space.low, other.action_space.high) == (-1.0, 1.0)
    action = np.array([[0.5], [1.7]], np.float32)
    step = envs.step(in_bounds(action, envs.bounds))
    seen, reward, *_ = other.step(np.clip(action, -1.0, 1.0))
    np.testing.assert_array_equal(seen, step.seen)
    np.testing.assert_array_equal(reward, step.reward)


@pytest.mark.parametrize(
    ("updates", "ticks", "steps"), [(1.0, 1, 1), (0.5, 2, 1), (8.0, 1, 8), (0.25, 4, 1), (1.5, 1, None)]
)
def test_gradient_steps_come_as_often_on_both_sides(updates: float, ticks: int, steps: int | None) -> None:
    if steps is None:
        with pytest.raises(ValueError, match=r"1\.5 gradient steps a tick"):
            per_tick(updates)
    else:
        assert per_tick(updates) == (ticks, steps)


@pytest.mark.parametrize(
    ("name", "setting"),
    [
        ("ppo:CartPole-v1", {"lr_schedule": "linear"}),
        ("ppo:CartPoleNoVel-v1", {"hidden": (64,)}),
        ("dqn:CartPole-v1", {"dueling": True}),
        ("sac:Pendulum-v1", {"normalise_observations": True}),
    ],
)
def test_a_setting_that_the_other_side_has_not_is_refused(name: str, setting: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=f"Stable-Baselines3 has no {next(iter(setting))}="):
        model_of(name, **setting)


def test_velocities_are_not_seen_where_they_are_masked() -> None:
    masked, whole = (environments(name, range(3)) for name in ("CartPoleNoVel-v1", "CartPole-v1"))
    seen, all_seen = masked.reset(), whole.reset()
    np.testing.assert_array_equal(seen, all_seen[:, [0, 2]])
    action = np.array([0, 1, 1])
    step, whole_step = masked.step(action), whole.step(action)
    np.testing.assert_array_equal(step.following, whole_step.following[:, [0, 2]])
    assert masked.spec.observations == ("0", "2")


def test_an_evaluation_tells_where_episodes_begin() -> None:
    told: list[Bools] = []

    def always_left(seen: Floats, begins: Bools) -> Any:
        told.append(begins.copy())
        return np.zeros(len(seen), np.int64)

    lengths = Evaluation("CartPole-v1").mean_return(always_left)
    assert told[0].all()
    assert not told[1].any()
    first_ends = np.array(told[1:]).argmax(axis=0) + 1
    ended = np.array(told[1:]).any(axis=0)  # the longest episode ends the evaluation, and begins no other
    np.testing.assert_allclose(np.where(ended, first_ends, len(told)).mean(), lengths)


def test_what_our_side_remembers_ends_with_its_episode() -> None:
    case = CASES["ppo:CartPoleNoVel-v1"]
    envs = environments(case.environment, range(4))
    agent = make_agent("ppo", envs.spec, AGENTS["ppo"].Config(**case.settings), seed=0, rows=4)
    state = agent.act(envs.reset(), ActMode.EXPLORE).state
    assert state is not None
    assert state.any(axis=1).all()
    kept = reference_ours.forgotten(state, np.array([True, False, False, True]))
    assert kept is not None
    assert kept.any(axis=1).tolist() == [False, True, True, False]
    np.testing.assert_array_equal(kept[1:3], state[1:3])


def test_every_case_has_settings_that_its_algorithm_takes() -> None:
    for name, case in CASES.items():
        assert isinstance(case, Case)
        AGENTS[case.agent].Config(**case.settings)
        assert name == f"{case.agent}:{case.environment}"
