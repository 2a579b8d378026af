from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from agents_helpers import CHOICES, MIXED, MOTORS, ROWS, SEVERAL, SMALL_SAC, play, some_experience, some_observation
from numpy.typing import NDArray
from torch import Tensor
from twin_critics_helpers import perceptron, ready

from ecs_rl.agents import (
    ActMode,
    Continuous,
    Discrete,
    Experience,
    PolicySpec,
    SACConfig,
)
from ecs_rl.agents.replay import Batch
from ecs_rl.agents.sac import SAC, TEMPERATURE
from ecs_rl.agents.squashed import LARGEST, SMALLEST, Layout, Squashed
from ecs_rl.agents.twin_critics import CRITICS
from ecs_rl.errors import CheckpointError
from ecs_rl.spaces import spans

SPECS = {"levers": MOTORS, "choice": CHOICES, "mixed": MIXED, "several choices": SEVERAL}


class Slow:
    """The same algorithm written down plainly: torch's distributions, autograd, every combination by itself."""

    def __init__(self, agent: SAC) -> None:
        self.agent, self.c = agent, agent.config
        self.p = {name: value.clone().requires_grad_() for name, value in agent._parameters.value.items()}
        self.target = {name: value.clone() for name, value in agent._targets.value.items()}

    def net(self, p: dict[str, Tensor], name: str, x: Tensor, critic: int | None = None) -> Tensor:
        return perceptron(p, self.c, name, x, critic)

    def drawn(self, x: Tensor, noise: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Return levers and their log-probability, and each combination's probability and its logarithm."""
        space, out = self.agent.spec.actions, self.net(self.p, "policy", x)
        k = space.levers
        base = torch.distributions.Normal(out[:, :k], out[:, k : 2 * k].clamp(float(SMALLEST), float(LARGEST)).exp())
        squashed = torch.distributions.TransformedDistribution(base, torch.distributions.TanhTransform(cache_size=1))
        levers = torch.tanh(base.mean + base.stddev * noise)
        u = base.mean + base.stddev * noise
        tanh = squashed.transforms[0]
        log_prob = (base.log_prob(u) - tanh.log_abs_det_jacobian(u, levers)).sum(1)  # type: ignore[no-untyped-call]
        log_p, first = torch.zeros(len(x), 1), 2 * k
        for part, _, _ in spans(space):
            if isinstance(part, Discrete):
                own = torch.log_softmax(out[:, first : first + len(part.names)], 1)
                log_p = (log_p.unsqueeze(2) + own.unsqueeze(1)).flatten(1)
                first += len(part.names)
        return levers, log_prob, log_p.exp(), log_p

    def losses(self, batch: Batch, noise: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Return the losses of critics, policy and temperatures, and the goals."""
        x, following, action, reward, discount, *_ = batch
        space, b = self.agent.spec.actions, len(x)
        heat = self.p[TEMPERATURE].exp().detach()
        lever_columns = [i for part, cols, _ in spans(space) if part.levers for i in range(cols.start, cols.stop)]
        combination = torch.zeros(b, dtype=torch.int64)
        for part, cols, _ in spans(space):
            if isinstance(part, Discrete):
                combination = combination * len(part.names) + action[:, cols.start].long()
        with torch.no_grad():
            levers, log_prob, p, log_p = self.drawn(following, noise[b:])
            q = torch.stack([self.net(self.target, "q", torch.cat([following, levers], 1), i) for i in range(CRITICS)])
            soft = q.min(0).values - heat[1] * log_p - heat[0] * log_prob.unsqueeze(1)
            goal = reward + discount * (p * soft).sum(1)
        seen = torch.cat([x, action[:, lever_columns]], 1)
        taken = [self.net(self.p, "q", seen, i)[torch.arange(b), combination] for i in range(CRITICS)]
        critics = torch.stack([0.5 * (q - goal).square().mean() for q in taken]).sum()
        levers, log_prob, p, log_p = self.drawn(x, noise[:b])
        frozen = {name: value.detach() for name, value in self.p.items()}
        q = torch.stack([self.net(frozen, "q", torch.cat([x, levers], 1), i) for i in range(CRITICS)])
        soft = q.min(0).values - heat[1] * log_p - heat[0] * log_prob.unsqueeze(1)
        policy = -(p * soft).sum(1).mean()
        entropy = torch.stack([-log_prob.mean(), -(p * log_p).sum(1).mean()]).detach()
        config = self.agent.config
        target = torch.from_numpy(self.agent._freedom * (config.lever_entropy, config.choice_entropy)).float()
        return critics, policy, (self.p[TEMPERATURE] * (entropy - target)).sum(), goal


@pytest.mark.parametrize("activation", ["relu", "tanh"])
@pytest.mark.parametrize("hidden", [(8, 8), (5,), ()])
@pytest.mark.parametrize("name", SPECS)
def test_a_gradient_step_equals_autograd_and_torchs_adam_on_the_written_losses(
    name: str, hidden: tuple[int, ...], activation: str
) -> None:
    agent = ready(SAC, SPECS[name], hidden=hidden, activation=activation)
    c, slow = agent.config, Slow(agent)
    random = torch.Generator().set_state(agent._random.get_state())
    batch = agent._memory.draw(c.batch, random)
    noise = torch.randn(2 * c.batch, agent.spec.actions.levers, generator=random)
    critics, policy, temperatures, _ = slow.losses(batch, noise)
    (critics + policy + temperatures).backward()  # type: ignore[no-untyped-call]

    agent.learn_once(0.0)
    for parameter, leaf in slow.p.items():
        grad = torch.zeros_like(leaf) if leaf.grad is None else leaf.grad
        torch.testing.assert_close(agent._parameters.grad[parameter], grad, rtol=2e-4, atol=2e-5, msg=parameter)
    torch.optim.Adam(slow.p.values(), lr=c.lr).step()
    for parameter, leaf in slow.p.items():
        close = (agent._parameters.value[parameter] - leaf.detach()).abs() < 1e-5
        assert close.float().mean() > 0.98, parameter  # Adam's first step has no size: only its sign counts
    assert agent.metrics()["loss/q"] == pytest.approx(float(critics.detach()), rel=1e-4)
    assert agent.metrics()["loss/policy"] == pytest.approx(float(policy.detach()), rel=1e-4, abs=1e-5)
    for parameter, before in slow.target.items():
        now = agent._parameters.value[parameter]
        expected = before + c.target_share * (now - before)
        torch.testing.assert_close(agent._targets.value[parameter], expected)


def test_only_termination_ends_the_future_and_a_cut_episode_goes_on_in_the_goal() -> None:
    agent, rows = SAC(MOTORS, replace(SMALL_SAC, gamma=0.9), seed=0, rows=3), np.random.default_rng(0)
    observation = some_observation(rows, 3)
    e = some_experience(rows, observation, agent.act(observation, ActMode.EXPLORE), invalid=0.0)
    e.terminated, e.truncated = np.array([True, False, False]), np.array([False, True, False])
    agent.observe(e)
    drawn = agent._memory.draw(60, torch.Generator().manual_seed(0))
    discounts = dict(zip(drawn.reward.tolist(), drawn.discount.tolist(), strict=True))
    assert [discounts[reward] for reward in e.reward.tolist()] == pytest.approx([0.0, 0.9, 0.9])


def test_the_memory_keeps_what_terminated_and_not_what_was_cut_and_nothing_that_is_invalid() -> None:
    for spec in SPECS.values():
        agent = SAC(spec, SMALL_SAC, seed=0, rows=ROWS)
        data = np.random.default_rng(0)
        x = some_observation(data)
        e = some_experience(data, x, agent.act(x, ActMode.EXPLORE))
        e.terminated[:] = [True, False, False, False, False, True]
        e.truncated[:] = [False, True, True, False, False, False]
        e.valid = np.array([True, True, True, True, False, False])
        agent.observe(e)
        table = agent.state()["memory/rows"].numpy()
        assert (table[:, :3] == x[:4]).all()
        assert (table[:, 6:-2] == e.action.reshape(ROWS, -1)[:4]).all()
        assert table[:, -1].tolist() == pytest.approx([0.0, 0.99, 0.99, 0.99])
        assert int(agent.state()["count/seen"]) == 4


@pytest.mark.parametrize("u", [-30.0, -8.0, -2.0, 0.0, 0.5, 8.0, 30.0])
@pytest.mark.parametrize("log_std", [-12.0, -5.0, 0.0, 1.9, 3.0])
def test_squashed_levers_and_their_gradients_are_right_however_far_they_are_squashed(u: float, log_std: float) -> None:
    """Held against the same in 64 bits by autograd, where 1 - tanh(u)^2 is written so that it cannot cancel."""
    noise = np.array([[-1.3, 0.4]], np.float32)
    width = math.exp(min(max(log_std, float(SMALLEST)), float(LARGEST)))
    mean = (u - width * noise).astype(np.float32)
    got = Squashed(mean, np.full((1, 2), log_std, np.float32), noise)
    m, s = (torch.tensor(each, dtype=torch.float64, requires_grad=True) for each in (mean, [[log_std] * 2]))
    bounded = s.clamp(float(SMALLEST), float(LARGEST))
    far = m + bounded.exp() * torch.from_numpy(noise)
    log_slope = 2.0 * (math.log(2.0) - far - torch.nn.functional.softplus(-2.0 * far))
    by_lever = -0.5 * torch.from_numpy(noise).square() - bounded - 0.5 * math.log(2.0 * math.pi) - log_slope
    assert got.log_prob[0] == pytest.approx(float(by_lever.detach().sum()), rel=1e-5, abs=1e-5)
    np.testing.assert_allclose(got.action, torch.tanh(far).detach(), rtol=1e-6, atol=1e-6)

    by_action = np.array([[0.7, -2.0]], np.float32)
    loss = 0.3 * by_lever.sum() + (torch.from_numpy(by_action) * torch.tanh(far)).sum()
    loss.backward()  # type: ignore[no-untyped-call]
    for ours, leaf in zip(got.backward(by_action, 0.3, 1), (m, s), strict=True):
        assert leaf.grad is not None
        torch.testing.assert_close(torch.from_numpy(ours).double(), leaf.grad, rtol=1e-4, atol=1e-5)


def test_the_density_of_squashed_levers_adds_up_to_one() -> None:
    noise = np.linspace(-6.0, 6.0, 20_001, dtype=np.float32)[:, None]
    drawn = Squashed(np.full_like(noise, 0.4), np.full_like(noise, -0.3), noise)
    levers = drawn.action[:, 0].astype(np.float64)
    assert np.trapezoid(np.exp(drawn.log_prob), levers) == pytest.approx(1.0, abs=1e-3)


@pytest.mark.parametrize("name", SPECS)
def test_actions_become_levers_and_combinations_and_back(name: str) -> None:
    space = SPECS[name].actions
    layout = Layout(space)
    assert layout.combined == {"levers": 1, "choice": 3, "mixed": 6, "several choices": 6}[name]
    action = space.random(np.random.default_rng(0), 200)
    columns = action.reshape(200, -1).astype(np.float32)
    combination = layout.combination_of(columns)
    again = layout.action(layout.levers_of(columns), combination)
    assert (again == action).all()
    assert again.dtype == action.dtype
    assert set(combination.tolist()) == set(range(layout.combined))
    assert layout.can_be(columns)
    if layout.options:
        assert not layout.can_be(columns - 1.0)
        assert not layout.can_be(columns + 0.5)


def test_gradient_steps_come_due_at_the_stated_ratio_after_the_warm_up() -> None:
    for ratio in (0.25, 1.0, 1.5):
        agent = SAC(CHOICES, replace(SMALL_SAC, warm_up=15, updates_per_step=ratio), seed=0, rows=ROWS)
        data, seen = np.random.default_rng(0), 0
        for _ in range(12):
            play(agent, 1, data, invalid=0.0)
            seen += ROWS
            assert int(agent.state()["count/steps"]) == int(ratio * max(0, seen - 15))


def test_the_temperature_rises_where_the_entropy_is_below_its_target_and_falls_above() -> None:
    for entropy, sign in ((0.65, 1), (-15.0, -1)):
        agent = ready(SAC, MOTORS, lever_entropy=entropy)
        before = agent._parameters.value[TEMPERATURE].clone()
        agent.learn_once(0.0)
        moved = agent._parameters.value[TEMPERATURE] - before
        assert float(moved[0]) * sign > 0
        assert float(moved[1]) == 0.0, "there are no choices"


def test_a_target_entropy_that_changes_while_it_learns_counts_from_the_next_step_on() -> None:
    agent = ready(SAC, MOTORS, lever_entropy=-15.0)
    agent.config = replace(agent.config, lever_entropy=0.65)
    before = agent._parameters.value[TEMPERATURE].clone()
    agent.learn_once(0.0)
    assert float(agent._parameters.value[TEMPERATURE][0]) > float(before[0])


def test_a_temperature_that_is_not_learned_stays() -> None:
    agent = ready(SAC, MIXED, learn_temperature=False, temperature=0.2)
    before = agent._parameters.value[TEMPERATURE].clone()
    agent.learn_once(0.0)
    assert torch.equal(agent._parameters.value[TEMPERATURE], before)


def test_a_value_is_the_lesser_critics_of_the_greedy_action() -> None:
    for spec in SPECS.values():
        agent = ready(SAC, spec)
        slow, layout = Slow(agent), Layout(spec.actions)
        x = some_observation(np.random.default_rng(1), 7)
        action = agent.act(x, ActMode.GREEDY).action.reshape(7, -1).astype(np.float32)
        seen = torch.from_numpy(np.concatenate([x, layout.levers_of(action)], 1))
        q = torch.stack([slow.net(slow.p, "q", seen, i) for i in range(CRITICS)]).detach().min(0).values
        expected = q[torch.arange(7), torch.from_numpy(layout.combination_of(action))]
        assert agent.introspect(x).value == pytest.approx(expected.numpy(), rel=1e-4, abs=1e-4)


@pytest.mark.parametrize(
    ("part", "change"),
    [
        ("count/due", lambda t: t - 5.0),
        ("count/due", lambda t: t * math.nan),
        ("count/seen", lambda t: t - 10**6),
        ("memory/next", lambda t: t + 10**6),
        ("memory/rows", lambda t: t - 50.0),
        ("memory/rows", lambda t: t[:0]),
    ],
)
def test_a_saved_state_that_cannot_be_is_refused(part: str, change: Callable[[Tensor], Tensor]) -> None:
    agent = ready(SAC, CHOICES)
    state = agent.state()
    with pytest.raises(CheckpointError):
        agent.load_state({**state, part: change(state[part])})


class Pendulum:
    """The dynamics, rewards and 200 ticks of Gymnasium's Pendulum-v1, of several at once."""

    spec = PolicySpec(("cos", "sin", "speed"), Continuous(("torque",)))

    def __init__(self, seed: int, rows: int) -> None:
        self.random, self.rows = np.random.default_rng(seed), rows
        self.start()

    def start(self) -> None:
        self.angle, self.speed = self.random.uniform((-np.pi, -1.0), (np.pi, 1.0), (self.rows, 2)).T
        self.age = 0

    @property
    def observation(self) -> NDArray[np.float32]:
        return np.stack([np.cos(self.angle), np.sin(self.angle), self.speed], 1).astype(np.float32)

    def step(self, action: NDArray[Any]) -> Experience:
        before, torque = self.observation, 2.0 * np.clip(action[:, 0], -1.0, 1.0)
        off = (self.angle + np.pi) % (2 * np.pi) - np.pi
        reward = -(off**2 + 0.1 * self.speed**2 + 0.001 * torque**2)
        self.speed = np.clip(self.speed + (15.0 * np.sin(self.angle) + 3.0 * torque) * 0.05, -8.0, 8.0)
        self.angle = self.angle + self.speed * 0.05
        self.age += 1
        over = np.full(self.rows, self.age == 200)
        e = Experience(before, action, reward.astype(np.float32), self.observation, np.zeros_like(over), over)
        if over.any():
            self.start()
        return e


def test_the_pendulum_stands_after_5000_steps() -> None:
    world, trial = Pendulum(0, 1), Pendulum(99, 30)
    agent = SAC(Pendulum.spec, SACConfig(), seed=0, rows=1)
    for _ in range(5_000):
        agent.observe(world.step(agent.act(world.observation, ActMode.EXPLORE).action))
        list(agent.learn(0.0))
    earned = np.zeros(30)
    for _ in range(200):
        earned += trial.step(agent.act(trial.observation, ActMode.GREEDY).action).reward
    assert earned.mean() > -200.0
