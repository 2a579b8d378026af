"""IQL and AWAC do what their formulas say: held against autograd, torch's Adam, and a plain way to write them down."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from agents_helpers import (
    CHOICES,
    KINDS,
    MIXED,
    MOTORS,
    ROWS,
    SEVERAL,
    SMALL_IQL,
    same,
    small_agent,
    some_experience,
    some_observation,
)
from torch import Tensor
from twin_critics_helpers import perceptron, ready

from ecs_rl.agents import ActMode, Continuous, Discrete, PolicySpec
from ecs_rl.agents.base import Demonstration, LearnsOffline, output_of
from ecs_rl.agents.heads import SPREAD
from ecs_rl.agents.iql import IQL, LARGEST, SMALLEST
from ecs_rl.agents.replay import Batch
from ecs_rl.errors import CommandError
from ecs_rl.spaces import spans

PARAMETERS = ("policy/", "q/", "value/")
ALLOWED = PolicySpec(("x", "y", "stay allowed"), CHOICES.actions, allowed=((2, 1),), critic_sees=("hidden",))
SPECS = {"choice": CHOICES, "levers": MOTORS, "several": SEVERAL, "mixed": MIXED, "masked": ALLOWED}


class Slow:
    """The same algorithm written down plainly, by autograd."""

    def __init__(self, agent: IQL) -> None:
        self.c, self.spec = agent.config, agent.spec
        state = agent.state()
        self.p = {n: t.requires_grad_() for n, t in state.items() if n.startswith(PARAMETERS)}
        self.target = {n.removeprefix("target/"): t for n, t in state.items() if n.startswith("target/")}
        self.square = float(state["advantage/square"])
        self.choices = [(c.start, o) for part, c, o in spans(self.spec.actions) if isinstance(part, Discrete)]
        self.levers = [(c, o) for part, c, o in spans(self.spec.actions) if isinstance(part, Continuous)]

    def net(self, p: dict[str, Tensor], name: str, x: Tensor, critic: int | None = None) -> Tensor:
        return perceptron(p, self.c, name, x, critic)

    def value(self, x: Tensor) -> Tensor:
        return self.net(self.p, "value", x)[:, 0]

    def critics(self, p: dict[str, Tensor], x: Tensor, action: Tensor) -> Tensor:
        """Return (critics, rows) values of actions."""
        combination = torch.zeros(len(x), dtype=torch.int64)
        for column, outputs in self.choices:
            combination = combination * (outputs.stop - outputs.start) + action[:, column].long()
        x = torch.cat([x, *(action[:, columns] for columns, _ in self.levers)], 1)
        return torch.stack([self.net(p, "q", x, i).gather(1, combination[:, None])[:, 0] for i in range(2)])

    def distributions(self, x: Tensor) -> list[tuple[slice, torch.distributions.Distribution]]:
        output = self.net(self.p, "policy", x[:, : len(self.spec.observations)])
        lower = torch.zeros_like(output)
        for column, option in self.spec.allowed:
            lower[:, option] = (x[:, column] - 1.0) * 1e9
        output, lever = output + lower, 0
        heads: list[tuple[slice, torch.distributions.Distribution]] = []
        for part, columns, outputs in spans(self.spec.actions):
            if isinstance(part, Discrete):
                heads.append((columns, torch.distributions.Categorical(logits=output[:, outputs])))
            else:
                spread = self.p[SPREAD][lever : lever + part.levers].exp().expand(len(x), -1)
                heads.append((columns, torch.distributions.Normal(output[:, outputs], spread)))
                lever += part.levers
        return heads

    def log_prob(self, x: Tensor, action: Tensor) -> Tensor:
        parts = [
            d.log_prob(action[:, c.start] if isinstance(d, torch.distributions.Categorical) else action[:, c])
            for c, d in self.distributions(x)
        ]
        return torch.stack([part if part.ndim == 1 else part.sum(1) for part in parts]).sum(0)

    def losses(self, batch: Batch, drawn: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return L_v, L_q and L_pi; `drawn` is what the policy would do."""
        c, x, action = self.c, batch.observation, batch.action
        u = self.critics(self.target, x, action).min(0).values - self.value(x)
        if c.value == "policy":
            value = 0.5 * (self.critics(self.target, x, drawn).min(0).values - self.value(x)).square().mean()
        else:
            value = (torch.where(u < 0, 1.0 - c.expectile, c.expectile) * u.square()).mean()
        goal = batch.reward + batch.discount * self.value(batch.next_observation).detach()
        critics = 0.5 * (self.critics(self.p, x, action) - goal).square().mean(1).sum()
        advantage = u.detach()
        square = float(advantage.double().square().mean())
        self.square += (square - self.square) * (0.005 if self.square else 1.0)
        weight = (c.beta * advantage / self.square**0.5).exp().clamp(max=100.0)
        return value, critics, -(weight * self.log_prob(x, action)).mean()


def drawn(agent: IQL) -> tuple[Batch, Tensor]:
    """Return what the next gradient step draws: transitions, and for AWAC what the policy would do."""
    state, other = agent.state(), IQL(agent.spec, agent.config, seed=1, rows=ROWS)
    other.load_state(state)
    batch = other._memory.draw(agent.config.batch, other._random)
    would = other.act(batch.observation.numpy().repeat(1, axis=0), ActMode.GREEDY).action
    if agent.config.value == "policy":
        other.rows = len(batch.observation)
        would = other.act(batch.observation.numpy(), ActMode.EXPLORE).action
    return batch, torch.from_numpy(would.reshape(len(batch.observation), -1).astype(np.float32))


@pytest.mark.parametrize("value", ["expectile", "policy"])
@pytest.mark.parametrize(("hidden", "activation"), [((8, 8), "relu"), ((5,), "tanh"), ((), "relu")])
@pytest.mark.parametrize("name", SPECS)
def test_gradient_steps_equal_autograd_and_torchs_adam_on_the_written_losses(
    name: str, hidden: tuple[int, ...], activation: Any, value: Any
) -> None:
    agent = ready(IQL, SPECS[name], hidden=hidden, activation=activation, value=value, expectile=0.8, beta=2.0)
    slow, c = Slow(agent), agent.config
    leaves = list(slow.p.values())
    adam = torch.optim.Adam(leaves, lr=c.lr)
    for step in range(4):
        batch, would = drawn(agent)
        losses = slow.losses(batch, would)
        adam.zero_grad()
        torch.stack(losses).sum().backward(inputs=leaves)  # type: ignore[no-untyped-call]
        agent.learn_once(0.0)
        adam.step()
        now = agent.state()
        for parameter, leaf in slow.p.items():
            close = (now[parameter] - leaf.detach()).abs() < 2e-5
            assert close.float().mean() > 0.97, (step, parameter)  # Adam's first step has no size: only its sign counts
        for parameter, target in slow.target.items():
            target.lerp_(now[parameter], c.target_share)
            torch.testing.assert_close(now[f"target/{parameter}"], target, rtol=1e-4, atol=1e-5)
        measured = [agent.metrics()[f"loss/{each}"] for each in ("value", "q", "policy")]
        assert measured == pytest.approx([float(loss.detach()) for loss in losses], rel=2e-3, abs=1e-5)


def bandit(better: float, worse: float, **settings: Any) -> IQL:
    """Return an agent that has studied two actions in one state, of which the better one was taken a quarter as often.

    Each of them ends the episode, so that its reward is all that there is.
    """
    config = replace(SMALL_IQL, memory=200, batch=64, lr=3e-3, hidden=(16,), normalise_observations=False, **settings)
    agent = IQL(PolicySpec(("x",), Discrete(("a", "b"))), config, seed=0, rows=1)
    action = np.arange(100) % 4 // 3  # three times a, then b
    reward = np.where(action == 1, better, worse).astype(np.float32)
    zeros = np.zeros((1, 1), np.float32)
    ones = np.ones(1, bool)
    episodes = [
        Demonstration(i, zeros, action[i : i + 1], reward[i : i + 1], ones, terminated=True, result=0.0)
        for i in range(100)
    ]
    agent.remember(episodes)
    agent.study(2_000)
    for _ in agent.learn(0.0):
        pass
    return agent


@pytest.mark.parametrize("scale", [0.1, 5.0])
def test_the_better_action_wins_though_it_is_rare_and_the_unit_of_the_reward_does_not_matter(scale: float) -> None:
    seen = np.zeros((1, 1), np.float32)
    iql, clone = (bandit(2.0 * scale, scale, beta=beta, target_share=0.05) for beta in (3.0, 0.0))
    assert iql.introspect(seen).does[0, 1] > 0.8
    assert clone.introspect(seen).does[0, 1] == pytest.approx(0.25, abs=0.08), "a beta of 0 imitates all alike"


def test_the_value_is_that_of_the_better_actions_with_a_large_expectile_and_of_the_policys_own_for_awac() -> None:
    seen = np.zeros((1, 1), np.float32)
    settings: dict[str, dict[str, Any]] = {
        "best": {"expectile": 0.97},
        "mean": {"expectile": 0.5},
        "policy": {"value": "policy"},
    }
    means = {
        name: float(bandit(2.0, 1.0, target_share=0.05, beta=0.0, **more).introspect(seen).value[0])
        for name, more in settings.items()
    }
    assert means["best"] > 1.8
    assert means["mean"] == pytest.approx(1.25, abs=0.1)
    assert means["policy"] == pytest.approx(1.25, abs=0.1), "which imitates, so it is the data's"


def test_spreads_stay_within_their_bounds_however_alike_the_data_is() -> None:
    agent = ready(IQL, lr=0.3)
    for _ in range(60):
        agent.learn_once(0.0)
        spread = agent.state()[SPREAD]
        assert bool(((spread >= SMALLEST) & (spread <= LARGEST)).all())


def test_what_it_draws_lies_within_the_levers() -> None:
    agent = ready(IQL, log_std=0.5)
    levers = agent.act(some_observation(np.random.default_rng(1), 500), ActMode.SAMPLE).action
    assert np.abs(levers).max() == 1.0


@pytest.mark.parametrize("kind", ["iql continuous", "dqn", "sac", "td3"])
def test_what_it_sees_later_does_not_change_what_it_learned_from_data(kind: str) -> None:
    spec, settings = KINDS[kind]
    rng, ticks, elsewhere = np.random.default_rng(0), 30, np.float32(100.0)
    ones, levers = np.ones(ticks, bool), spec.actions.random(rng, ticks)
    recorded, reward = some_observation(rng, ticks), rng.random(ticks, np.float32)
    settings = replace(settings, normalise_observations=True, warm_up=1_000)
    learned, going_on = (small_agent(kind, seed=seed, config=settings) for seed in (0, 1))
    assert isinstance(learned, LearnsOffline)
    learned.remember([Demonstration(0, recorded, levers, reward, ones, terminated=True, result=0.0)])
    learned.study(50)
    list(learned.learn(0.0))
    going_on.load_policy_state(learned.policy_state())
    for _ in range(20):
        seen = some_observation(rng, ROWS) + elsewhere
        going_on.observe(some_experience(rng, seen, going_on.act(seen, ActMode.EXPLORE)))
    before, after = (output_of(agent, recorded) for agent in (learned, going_on))
    assert before is not None
    assert after is not None
    np.testing.assert_allclose(after.does, before.does, atol=1e-5)


def test_data_that_does_not_fit_into_the_memory_is_refused_with_the_setting_and_nothing_is_stored() -> None:
    agent = IQL(CHOICES, replace(SMALL_IQL, memory=10), seed=0, rows=ROWS)
    before = agent.state()
    rows = np.zeros((11, 3), np.float32)
    one = Demonstration(0, rows, np.zeros(11, np.int64), rows[:, 0], np.ones(11, bool), terminated=True, result=0.0)
    with pytest.raises(CommandError, match=r"11 transitions.*holds 10.*--iql\.memory 11"):
        agent.remember([one])
    assert same(agent.state(), before)
