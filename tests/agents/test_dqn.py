from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from agents_helpers import CHOICES, ROWS, SMALL_DQN, play, some_experience, some_observation

from ecs_rl.agents import ActMode, DQNConfig, Experience
from ecs_rl.agents.dqn import DQN, double_q_target, huber, linear_epsilon
from ecs_rl.agents.replay import Replay
from ecs_rl.agents.state import copies


def test_the_huber_loss_and_its_gradient_equal_a_plain_loop() -> None:
    error = torch.tensor([-3.0, -1.0, -0.4, 0.0, 0.3, 1.0, 2.5])
    loss, grad = huber(error)
    expected = [0.5 * e * e if abs(e) <= 1 else abs(e) - 0.5 for e in error.tolist()]
    assert float(loss) == pytest.approx(sum(expected) / 7)
    np.testing.assert_allclose(grad, [min(max(e, -1), 1) / 7 for e in error.tolist()], rtol=1e-6)


def test_double_q_targets_equal_a_plain_loop_and_only_termination_ends_the_future() -> None:
    random = torch.Generator().manual_seed(0)
    online, target = torch.randn(20, 3, generator=random), torch.randn(20, 3, generator=random)
    reward, terminated = torch.randn(20, generator=random), (torch.rand(20, generator=random) < 0.3).float()
    got = double_q_target(online, target, reward, terminated, 0.9)
    for i in range(20):
        best = max(range(3), key=lambda a, i=i: float(online[i, a]))  # type: ignore[misc]
        future = 0.0 if terminated[i] else 0.9 * float(target[i, best])
        assert float(got[i]) == pytest.approx(float(reward[i]) + future, abs=1e-5)


def test_epsilon_falls_in_a_straight_line_and_then_stays() -> None:
    config = DQNConfig(epsilon_start=0.9, epsilon_end=0.1, epsilon_steps=100)
    for seen in range(0, 301, 7):
        expected = 0.9 - 0.8 * seen / 100 if seen < 100 else 0.1
        assert linear_epsilon(seen, config) == pytest.approx(expected)


def transitions(first: int, count: int, valid: list[bool] | None = None) -> Experience:
    numbers = np.arange(first, first + count, dtype=np.float32)
    return Experience(
        observation=np.stack([numbers, numbers + 0.25], 1),
        action=np.arange(count) % 3,
        reward=numbers * 10,
        next_observation=np.stack([numbers + 0.5, numbers + 0.75], 1),
        terminated=numbers % 2 == 0,
        truncated=numbers % 2 == 1,
        valid=None if valid is None else np.array(valid),
    )


@pytest.mark.parametrize("batch", [1, 3, 7, 10, 23])
def test_the_ring_keeps_the_newest_transitions_whatever_the_batch(batch: int) -> None:
    memory, first = Replay(10, 2), 0
    for _ in range(9):
        assert memory.add(transitions(first, batch)) == batch
        first += batch
        stored = sorted(copies(memory.parts)["table"][:, 0].tolist())
        assert stored == list(range(max(0, first - 10), first))


def test_what_is_drawn_is_what_was_stored_row_by_row() -> None:
    memory = Replay(10, 2)
    memory.add(transitions(0, 4, [True, False, True, True]))
    memory.add(transitions(4, 9, None))
    x, following, action, reward, terminated = memory.draw(500, torch.Generator().manual_seed(0))
    number = x[:, 0]
    assert set(number.tolist()) == {2.0, 3.0, *map(float, range(4, 13))} - {2.0}
    assert torch.equal(x[:, 1], number + 0.25)
    assert torch.equal(following, torch.stack([number + 0.5, number + 0.75], 1))
    assert torch.equal(action, torch.where(number < 4, number, number - 4).long() % 3)
    assert torch.equal(reward, number * 10)
    assert torch.equal(terminated, (number % 2 == 0).float())


def test_a_gradient_step_equals_autograd_and_torchs_adam_on_the_written_loss() -> None:
    config = replace(SMALL_DQN, hidden=(8, 8), activation="tanh", max_grad_norm=0.5)
    agent = DQN(CHOICES, config, seed=0, rows=ROWS)
    play(agent, 6, np.random.default_rng(0), learn=False)
    agent._target_parameters.flat.add_(0.03)
    random = torch.Generator().set_state(agent._random.get_state())
    x, following, action, reward, terminated = agent._memory.draw(config.batch, random)
    leaves = {name: value.clone().requires_grad_() for name, value in agent._parameters.value.items()}
    targets = agent._target_parameters.value

    def net(p: dict[str, torch.Tensor], h: torch.Tensor) -> torch.Tensor:
        for i in range(3):
            h = h @ p[f"q/{i}.weight"].T + p[f"q/{i}.bias"]
            h = torch.tanh(h) if i < 2 else h
        return h

    best = net(leaves, following).argmax(1)
    value = net(targets, following)[torch.arange(config.batch), best]
    goal = (reward + config.gamma * (1 - terminated) * value).detach()
    q = net(leaves, x)[torch.arange(config.batch), action]
    loss = torch.nn.functional.smooth_l1_loss(q, goal)
    loss.backward()  # type: ignore[no-untyped-call]
    torch.nn.utils.clip_grad_norm_(leaves.values(), 0.5)
    torch.optim.Adam(leaves.values(), lr=config.lr).step()

    next(agent.learn(0.0))
    for name, leaf in leaves.items():
        torch.testing.assert_close(agent._parameters.value[name], leaf.detach(), rtol=1e-4, atol=2e-6, msg=name)
    assert agent.metrics()["loss/q"] == pytest.approx(float(loss.detach()), rel=1e-4)
    assert agent.metrics()["q_mean"] == pytest.approx(float(q.detach().mean()), rel=1e-4, abs=1e-6)


def test_gradient_steps_come_due_with_the_transitions_after_the_warm_up() -> None:
    agent = DQN(CHOICES, replace(SMALL_DQN, warm_up=15, learn_every=4), seed=0, rows=ROWS)
    steps, seen = 0, 0
    data = np.random.default_rng(0)
    for _ in range(20):
        play(agent, 1, data, invalid=0.0)
        seen += ROWS
        steps = max(0, seen - 15) // 4
        assert int(agent.state()["count/steps"]) == steps
    assert steps > 20


def test_the_target_network_is_copied_every_so_many_steps_only() -> None:
    agent = DQN(CHOICES, replace(SMALL_DQN, warm_up=6, learn_every=ROWS, target_every=3), seed=0, rows=ROWS)
    data, changed_at = np.random.default_rng(0), []
    play(agent, 1, data, invalid=0.0)
    for step in range(1, 10):
        before = agent._target_parameters.flat.clone()
        play(agent, 1, data, invalid=0.0)
        if not torch.equal(agent._target_parameters.flat, before):
            changed_at.append(step)
            assert torch.equal(agent._target_parameters.flat, agent._parameters.flat)
    assert changed_at == [3, 6, 9]


def test_exploring_is_random_at_first_and_nearly_greedy_at_last() -> None:
    config = replace(SMALL_DQN, epsilon_steps=600, epsilon_end=0.0)
    agent = DQN(CHOICES, config, seed=0, rows=600)
    data = np.random.default_rng(0)
    observation = some_observation(data, 600)
    decision = agent.act(observation, ActMode.EXPLORE)
    shares = np.bincount(decision.action, minlength=3) / 600
    np.testing.assert_allclose(shares, 1 / 3, atol=0.08)
    agent.observe(some_experience(data, observation, decision, invalid=0))
    assert agent.epsilon == 0.0
    greedy = agent.act(observation, ActMode.GREEDY).action
    assert (agent.act(observation, ActMode.EXPLORE).action == greedy).all()
