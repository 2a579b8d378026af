"""Quantiles of returns are those of the written formulas, and come to be those of the returns that were seen."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from agents_helpers import CHOICES, ROWS, SEVERAL, SMALL_DQN, play, same, some_observation
from torch import Tensor

from ecs_rl.agents import ActMode, Discrete, Experience, PolicySpec
from ecs_rl.agents.dqn import DQN
from ecs_rl.agents.networks import Parameters
from ecs_rl.agents.policy_heads import COSINES, FRACTIONS
from ecs_rl.agents.quantiles import QuantileMLP, cosines, quantile_huber

COUNT = 5
CONFIG = replace(SMALL_DQN, quantiles=COUNT, hidden=(8, 6), activation="tanh", max_grad_norm=0.5)


def quantiles_of(p: dict[str, Tensor], x: Tensor, t: Tensor, sizes: list[int], dueling: bool) -> Tensor:
    """Return (rows, count, options) quantiles at (rows, count) fractions, the obvious way."""
    last = len(p) // 2 - 2
    for i in range(last):
        x = torch.tanh(x @ p[f"q/{i}.weight"].T + p[f"q/{i}.bias"])
    c = torch.cos(math.pi * torch.arange(COSINES) * t[..., None])
    phi = torch.relu(c @ p["q/embedding.weight"].T + p["q/embedding.bias"])
    output = (x[:, None] * phi) @ p[f"q/{last}.weight"].T + p[f"q/{last}.bias"]
    if not dueling:
        return output
    advantages = torch.split(output[..., 1:], sizes, 2)
    return torch.cat([output[..., :1] + a - a.mean(2, keepdim=True) for a in advantages], 2)


def ready(spec: PolicySpec, **settings: Any) -> DQN:
    """Return an agent with a filled memory whose target network is not the one that learns."""
    agent = DQN(spec, replace(CONFIG, **settings), seed=0, rows=ROWS)
    data = np.random.default_rng(0)
    play(agent, 6, data, learn=False)
    agent._targets.flat.add_(torch.from_numpy(data.normal(size=len(agent._targets.flat)).astype(np.float32)), alpha=0.1)
    return agent


@pytest.mark.parametrize("dueling", [False, True], ids=["plain", "dueling"])
@pytest.mark.parametrize("spec", [CHOICES, SEVERAL], ids=["one choice", "several"])
@pytest.mark.parametrize(
    "more", [{}, {"n_step": 3}, {"priority": 0.7}, {"slow_policy": True}, {"hidden": ()}, {"double": False}], ids=str
)
def test_a_gradient_step_equals_autograd_and_torchs_adam_on_the_written_loss(
    dueling: bool, spec: PolicySpec, more: dict[str, Any]
) -> None:
    agent = ready(spec, dueling=dueling, **more)
    c, sizes = agent.config, [len(part.names) for part in spec.actions.parts]
    random = torch.Generator().set_state(agent.state()["random/train"])
    b = agent._memory.draw(c.batch, random, 0.4 + 0.6 * 0.25)
    b = b._replace(**{name: getattr(b, name).clone() for name in b._fields[:5]})
    t_next, t = (torch.rand(c.batch, COUNT, generator=random) for _ in range(2))
    online = {name: value.clone().requires_grad_() for name, value in agent._followed.value.items()}
    slow = {name: value.clone() for name, value in agent._targets.value.items()}
    fixed = ((torch.arange(FRACTIONS) + 0.5) / FRACTIONS).expand(c.batch, FRACTIONS)
    after = quantiles_of(slow, b.next_observation, t_next, sizes, dueling)
    judge = quantiles_of(online, b.next_observation, fixed, sizes, dueling) if c.double else after
    best = [part.argmax(1) for part in torch.split(judge.mean(1), sizes, 1)]
    at = torch.arange(c.batch)
    future = torch.stack([z[at, :, a] for z, a in zip(torch.split(after, sizes, 2), best, strict=True)]).mean(0)
    goal = (b.reward[:, None] + b.discount[:, None] * future).detach()
    z = torch.split(quantiles_of(online, b.observation, t, sizes, dueling), sizes, 2)
    taken = torch.stack([part[at, :, b.action[:, k].long()] for k, part in enumerate(z)], 2)
    d = goal[:, None, :, None] - taken[:, :, None, :]
    huber = torch.nn.functional.huber_loss(d, torch.zeros_like(d), reduction="none", delta=c.huber)
    weight = torch.ones(c.batch) if b.weight is None else torch.from_numpy(b.weight)
    share = (t[:, :, None, None] - (d.detach() < 0).float()).abs()
    loss = (weight[:, None, None, None] * share * huber).mean()
    loss.backward()  # type: ignore[no-untyped-call]
    torch.nn.utils.clip_grad_norm_(online.values(), 0.5)
    torch.optim.Adam(online.values(), lr=c.lr * (1 - 0.9 * 0.25)).step()

    agent.learn_once(0.25)
    for name, leaf in online.items():
        torch.testing.assert_close(agent._followed.grad[name], leaf.grad, rtol=1e-3, atol=2e-5, msg=name)
        assert leaf.grad is not None
        clear = leaf.grad.abs() > 1e-5  # Adam's first step has no size: only its sign counts
        torch.testing.assert_close(agent._followed.value[name][clear], leaf.detach()[clear], rtol=1e-4, atol=1e-6)
    assert float(agent.state()["newest"][0]) == pytest.approx(float(loss.detach()), rel=1e-4)
    assert float(agent.state()["newest"][1]) == pytest.approx(float(taken.detach().mean()), rel=1e-4, abs=1e-6)
    if b.weight is not None:
        error = (taken.detach().mean(1) - goal.mean(1)[:, None]).abs().mean(1)
        weights = agent.state()["memory/weights"].numpy()[b.rows]
        np.testing.assert_allclose(weights, (error.numpy() + 1e-3) ** 0.7, rtol=1e-3)


@pytest.mark.parametrize("weighted", [False, True])
def test_the_loss_and_its_gradient_equal_a_plain_loop(weighted: bool) -> None:
    random = np.random.default_rng(0)
    z = random.normal(0.0, 2.0, (4, 3, 2)).astype(np.float32)
    goal, t = random.normal(size=(4, 5)).astype(np.float32), random.random((4, 3)).astype(np.float32)
    weight = random.random(4).astype(np.float32) if weighted else None
    loss, grad = quantile_huber(z, goal, t, weight, 0.7)
    total, slopes = 0.0, np.zeros_like(z)
    for row, i, k in np.ndindex(*z.shape):
        for j in range(5):
            d = float(goal[row, j] - z[row, i, k])
            size = 0.5 * d * d if abs(d) <= 0.7 else 0.7 * (abs(d) - 0.35)
            share = abs(float(t[row, i]) - (d < 0)) * (1.0 if weight is None else float(weight[row])) / (4 * 3 * 5 * 2)
            total += share * size
            slopes[row, i, k] -= share * min(max(d, -0.7), 0.7)
    assert loss == pytest.approx(total, rel=1e-5)
    np.testing.assert_allclose(grad, slopes, rtol=1e-4, atol=1e-7)


@pytest.mark.parametrize("dueling", [False, True])
def test_it_acts_by_the_mean_over_fixed_fractions_and_shows_it(dueling: bool) -> None:
    agent, x = ready(SEVERAL, dueling=dueling), some_observation(np.random.default_rng(1), 9)
    fixed = ((torch.arange(FRACTIONS) + 0.5) / FRACTIONS).expand(9, FRACTIONS)
    z = quantiles_of(agent.policy_state(), torch.from_numpy(x), fixed, [3, 2], dueling)
    does = agent.introspect(x).does
    np.testing.assert_allclose(does, z.mean(1), rtol=1e-4, atol=1e-5)
    action = agent.act(x, ActMode.GREEDY).action
    assert (action == np.stack([does[:, :3].argmax(1), does[:, 3:].argmax(1)], 1)).all()


def test_random_returns_are_learned_with_their_quantiles() -> None:
    """One option pays 0 in 7 of 10 cases and 10 otherwise, the other one always 2: what may come, not only its mean."""
    spec = PolicySpec(("x",), Discrete(("risky", "safe")))
    config = replace(SMALL_DQN, quantiles=16, hidden=(32,), batch=64, memory=4000, lr=3e-3, lr_schedule="constant")
    agent, random = DQN(spec, config, seed=0, rows=500), np.random.default_rng(0)
    x, over = np.ones((500, 1), np.float32), np.ones(500, bool)
    for _ in range(8):
        action = random.integers(0, 2, 500)
        pays = np.where(random.random(500) < 0.3, 10.0, 0.0)
        agent.observe(Experience(x, action, np.where(action == 0, pays, 2.0).astype(np.float32), x, over, ~over))
    for _ in range(1_500):
        agent.learn_once(0.0)
    parameters = Parameters(DQN.shapes(spec, config))
    for name, value in agent.policy_state().items():
        parameters.value[name].copy_(value)
    network = QuantileMLP(parameters, "q", 2, config.activation)
    z = network.quantiles(torch.ones(1, 1), cosines(np.array([0.1, 0.5, 0.9], np.float32))).numpy()
    assert z[:, 0] == pytest.approx([0.0, 0.0, 10.0], abs=1.0)
    assert z[:, 1] == pytest.approx([2.0, 2.0, 2.0], abs=0.5)
    assert agent.introspect(x[:1]).does[0] == pytest.approx([3.0, 2.0], abs=0.7)


def test_a_run_goes_on_exactly_and_no_quantiles_are_a_plain_dqn() -> None:
    agent, other = (DQN(SEVERAL, CONFIG, seed=seed, rows=ROWS) for seed in (0, 1))
    play(agent, 12, np.random.default_rng(0))
    other.load_state(agent.state())
    for player in (agent, other):
        play(player, 12, np.random.default_rng(1))
    assert same(agent.state(), other.state())
    plain = DQN(SEVERAL, replace(CONFIG, quantiles=0), seed=0, rows=ROWS)
    assert not any("embedding" in name for name in plain.policy_state())
