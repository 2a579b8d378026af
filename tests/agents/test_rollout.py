from __future__ import annotations

import numpy as np
import pytest
import torch
from agents_helpers import CHOICES, ROWS, SMALL_PPO, some_experience, some_observation
from hypothesis import given, settings
from hypothesis import strategies as st

from ecs_rl.agents import ActMode
from ecs_rl.agents.ppo import PPO
from ecs_rl.agents.rollout import advantages


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32 - 1), st.sampled_from([0.0, 0.5, 0.95, 1.0]))
def test_advantages_equal_a_plain_loop_with_ends_cuts_and_invalid_rows_side_by_side(seed: int, lam: float) -> None:
    random = np.random.default_rng(seed)
    shape, gamma = (12, 5), 0.9
    reward, value, following = (random.normal(size=shape).astype(np.float32) for _ in range(3))
    end = random.random(shape)
    terminated, truncated, valid = end < 0.15, end > 0.85, random.random(shape) > 0.15
    following[terminated] = 0.0
    got = advantages(reward, value, following, terminated | truncated, valid, gamma=gamma, lam=lam)
    for row in range(5):
        for start in range(12):
            expected, weight = 0.0, 1.0
            for t in range(start, 12):
                if not valid[t, row]:
                    break
                after = 0.0 if terminated[t, row] else float(following[t, row])
                expected += weight * (float(reward[t, row]) + gamma * after - float(value[t, row]))
                weight *= gamma * lam
                if terminated[t, row] or truncated[t, row]:
                    break
            assert float(got[start, row]) == pytest.approx(expected, abs=1e-4)


def test_a_rollout_bootstraps_running_rows_from_the_next_act_and_cut_rows_from_their_last_observation() -> None:
    """The whole path from act and observe to returns, against returns summed up one row at a time."""
    agent = PPO(CHOICES, SMALL_PPO, seed=0, rows=ROWS)
    c, data, ticks = SMALL_PPO, np.random.default_rng(5), []
    normaliser = agent._normaliser

    def value(observation: np.ndarray[tuple[int, int], np.dtype[np.float32]]) -> list[float]:
        x = np.empty_like(observation)
        normaliser.apply(observation, x)
        return agent._networks.value(torch.from_numpy(x), torch.zeros(len(x), 0)).tolist()

    observation = some_observation(data)
    for _ in range(c.rollout):
        here = value(observation)
        action = agent.act(observation, ActMode.EXPLORE)
        e = some_experience(data, observation, action, invalid=0.2)
        agent.observe(e)
        last = value(e.next_observation)
        ticks.append((here, last, e))
        observation = np.where((e.terminated | e.truncated)[:, None], some_observation(data), e.next_observation)
    rewards = agent._rollout.tensors["reward"].clone()
    next(agent.learn(0.0))

    for row in range(ROWS):
        for start in range(c.rollout):
            expected, weight = 0.0, 1.0
            for t in range(start, c.rollout):
                here, last, e = ticks[t]
                assert e.valid is not None
                if not e.valid[row]:
                    break
                following = last[row] if t == c.rollout - 1 or e.truncated[row] else ticks[t + 1][0][row]
                following = 0.0 if e.terminated[row] else following
                expected += weight * (float(rewards[t, row]) + c.gamma * following - here[row])
                weight *= c.gamma * c.gae_lambda
                if e.terminated[row] or e.truncated[row]:
                    break
            assert float(agent._rollout.tensors["advantage"][start, row]) == pytest.approx(expected, abs=1e-4)
            returns = expected + ticks[start][0][row]
            assert float(agent._rollout.tensors["returns"][start, row]) == pytest.approx(returns, abs=1e-4)
