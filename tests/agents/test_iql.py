"""IQL and AWAC do what their formulas say: held against autograd, torch's Adam, and a plain way to write them down."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from agents_helpers import CHOICES, MIXED, MOTORS, ROWS, SEVERAL, SMALL_IQL, play, same, some_observation
from torch import Tensor

from ecs_rl.agents import ActMode, Composed, Continuous, Discrete, Experience, PolicySpec, make_agent
from ecs_rl.agents.base import Demonstration
from ecs_rl.agents.heads import SPREAD
from ecs_rl.agents.iql import IQL, LARGEST, SMALLEST
from ecs_rl.agents.replay import Batch
from ecs_rl.errors import CheckpointError, CommandError
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

    def net(self, p: dict[str, Tensor], name: str, h: Tensor, one: int | None = None) -> Tensor:
        last = len(self.c.hidden)
        for i in range(last + 1):
            w, b = p[f"{name}/{i}.weight"], p[f"{name}/{i}.bias"]
            w, b = (w, b) if one is None else (w[one], b[one])
            h = h @ w.T + b
            if i < last:
                h = torch.tanh(h) if self.c.activation == "tanh" else torch.relu(h)
        return h

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


def ready(spec: PolicySpec = MOTORS, **settings: Any) -> IQL:
    """Return an agent with a filled memory whose networks and targets are no longer those of the start."""
    config = replace(SMALL_IQL, normalise_observations=False, **settings)
    agent, data = IQL(spec, config, seed=0, rows=ROWS), np.random.default_rng(0)
    for _ in range(6):
        x, following = (data.normal(size=(ROWS, len(spec.numbers))).astype(np.float32) for _ in range(2))
        for column, _ in spec.allowed:
            x[:, column], following[:, column] = data.random(ROWS) < 0.5, 1.0
        action, ends = agent.act(x, ActMode.EXPLORE).action, data.random(ROWS) < 0.2
        agent.observe(Experience(x, action, x[:, 0], following, ends, np.zeros(ROWS, bool)))
    random, state = torch.Generator().manual_seed(7), agent.state()
    for name in state:
        if name.startswith((*PARAMETERS, "target/")):
            state[name] += 0.3 * torch.randn(state[name].shape, generator=random)
    agent.load_state({**state, "count/due": torch.zeros_like(state["count/due"])})
    return agent


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
    agent = ready(SPECS[name], hidden=hidden, activation=activation, value=value, expectile=0.8, beta=2.0)
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
        for each, leaf in slow.p.items():
            close = (now[each] - leaf.detach()).abs() < 2e-5
            assert close.float().mean() > 0.97, (step, each)  # Adam's first step has no size: only its sign counts
        for each, target in slow.target.items():
            target.lerp_(now[each], c.target_share)
            torch.testing.assert_close(now[f"target/{each}"], target, rtol=1e-4, atol=1e-5)
        told = [agent.metrics()[f"loss/{each}"] for each in ("value", "q", "policy")]
        assert told == pytest.approx([float(loss.detach()) for loss in losses], rel=2e-3, abs=1e-5)


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
        name: float(bandit(2.0, 1.0, target_share=0.05, beta=0.0, **each).introspect(seen).value[0])
        for name, each in settings.items()
    }
    assert means["best"] > 1.8
    assert means["mean"] == pytest.approx(1.25, abs=0.1)
    assert means["policy"] == pytest.approx(1.25, abs=0.1), "which imitates, so it is the data's"


def test_spreads_stay_within_their_bounds_however_alike_the_data_is() -> None:
    agent = ready(lr=0.3)
    for _ in range(60):
        agent.learn_once(0.0)
        spread = agent.state()[SPREAD]
        assert bool(((spread >= SMALLEST) & (spread <= LARGEST)).all())


def test_what_it_draws_lies_within_the_levers() -> None:
    agent = ready(log_std=0.5)
    levers = agent.act(some_observation(np.random.default_rng(1), 500), ActMode.SAMPLE).action
    assert np.abs(levers).max() == 1.0


def test_ways_to_choose_that_are_too_many_are_refused_in_one_sentence() -> None:
    wide = PolicySpec(("x",), Composed(tuple(Discrete(tuple("abcdefgh"), f"part {i}") for i in range(3))))
    with pytest.raises(CommandError, match=r"^--agent iql looks at every way to choose, at most 256; .*: use ppo$"):
        make_agent("iql", wide, SMALL_IQL, seed=0, rows=1)


def test_data_that_does_not_fit_into_the_memory_is_refused_with_the_setting_and_nothing_is_stored() -> None:
    agent = IQL(CHOICES, replace(SMALL_IQL, memory=10), seed=0, rows=ROWS)
    before = agent.state()
    rows = np.zeros((11, 3), np.float32)
    one = Demonstration(0, rows, np.zeros(11, np.int64), rows[:, 0], np.ones(11, bool), terminated=True, result=0.0)
    with pytest.raises(CommandError, match=r"11 transitions.*holds 10.*--iql\.memory 11"):
        agent.remember([one])
    assert same(agent.state(), before)


def test_a_state_with_levers_that_are_no_numbers_is_refused() -> None:
    agent = ready()
    state = agent.state()
    with pytest.raises(CheckpointError):
        agent.load_state({**state, "memory/rows": state["memory/rows"] * float("nan")})


def test_a_run_that_goes_on_from_a_policy_alone_has_it_as_its_targets() -> None:
    agent, copy = ready(), IQL(MOTORS, SMALL_IQL, seed=5, rows=1)
    play(agent, 12, np.random.default_rng(3))
    copy.load_policy_state(agent.policy_state())
    state = copy.state()
    for name, value in agent.policy_state().items():
        if name.startswith("q/"):
            assert torch.equal(state[f"target/{name}"], value)
