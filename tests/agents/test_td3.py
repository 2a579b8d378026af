"""TD3 does what its formula says: held against autograd, torch's Adam, and a plain way to write the algorithm down."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from agents_helpers import CHOICES, MIXED, MOTORS, ROWS, SEVERAL, SMALL_TD3, play, some_observation
from torch import Tensor
from twin_critics_helpers import perceptron, ready

from ecs_rl.agents import ActMode, Composed, Continuous, PolicySpec, make_agent
from ecs_rl.agents.base import Demonstration
from ecs_rl.agents.replay import Batch
from ecs_rl.agents.td3 import TD3
from ecs_rl.agents.twin_critics import CRITICS
from ecs_rl.errors import CommandError

TWO_PARTS = PolicySpec(("x", "y", "z"), Composed((Continuous(("turn", "push")), Continuous(("lift",)))))


class Slow:
    """The same algorithm written down plainly, by autograd."""

    def __init__(self, agent: TD3) -> None:
        self.c = agent.config
        state = agent.state()
        self.p = {n: t.requires_grad_() for n, t in state.items() if n.startswith(("policy/", "q/"))}
        self.target = {n.removeprefix("target/"): t for n, t in state.items() if n.startswith("target/")}

    def net(self, p: dict[str, Tensor], name: str, x: Tensor, critic: int | None = None) -> Tensor:
        return perceptron(p, self.c, name, x, critic)

    def critic(self, p: dict[str, Tensor], i: int, x: Tensor, levers: Tensor) -> Tensor:
        return self.net(p, "q", torch.cat([x, levers], 1), i).squeeze(1)

    def goal(self, batch: Batch, noise: Tensor) -> Tensor:
        then = torch.tanh(self.net(self.target, "policy", batch.next_observation))
        then = (then + (self.c.target_noise * noise).clamp(-self.c.noise_limit, self.c.noise_limit)).clamp(-1.0, 1.0)
        q = [self.critic(self.target, i, batch.next_observation, then) for i in range(CRITICS)]
        return batch.reward + batch.discount * torch.minimum(*q)

    def losses(self, batch: Batch, noise: Tensor) -> tuple[Tensor, Tensor]:
        """Return L of the critics and J of the policy, whose gradients touch only their own parameters."""
        goal = self.goal(batch, noise).detach()
        taken = [self.critic(self.p, i, batch.observation, batch.action) for i in range(CRITICS)]
        critics = torch.stack([0.5 * (q - goal).square().mean() for q in taken]).sum()
        frozen = {name: value.detach() for name, value in self.p.items()}
        levers = torch.tanh(self.net(self.p, "policy", batch.observation))
        return critics, -self.critic(frozen, 0, batch.observation, levers).mean()


def one_step(agent: TD3) -> None:
    """Take one gradient step, as `learn` does."""
    agent.learn_once(0.0)


def drawn(agent: TD3) -> tuple[Batch, Tensor]:
    """Return what the next gradient step draws: transitions, and the noise of the target policy's levers."""
    state, other = agent.state(), TD3(agent.spec, agent.config, seed=1, rows=ROWS)
    other.load_state(state)
    random = torch.Generator().set_state(state["random/train"])
    batch = other._memory.draw(agent.config.batch, random)
    return batch, torch.randn(agent.config.batch, agent.spec.actions.levers, generator=random)


@pytest.mark.parametrize("activation", ["relu", "tanh"])
@pytest.mark.parametrize("hidden", [(8, 8), (5,), ()])
@pytest.mark.parametrize("spec", [MOTORS, TWO_PARTS], ids=["levers", "two parts"])
def test_gradient_steps_equal_autograd_and_torchs_adam_on_the_written_losses(
    spec: PolicySpec, hidden: tuple[int, ...], activation: str
) -> None:
    agent = ready(TD3, spec, hidden=hidden, activation=activation, target_noise=0.4)
    slow, c = Slow(agent), agent.config
    policy = [value for name, value in slow.p.items() if name.startswith("policy/")]
    critics = [value for name, value in slow.p.items() if name.startswith("q/")]
    adams = [torch.optim.Adam(parameters, lr=c.lr) for parameters in (critics, policy)]
    for step in range(1, 5):
        batch, noise = drawn(agent)
        losses = slow.losses(batch, noise)
        one_step(agent)
        for adam, loss in zip(adams, losses, strict=True):
            adam.zero_grad()
            loss.backward(inputs=critics if loss is losses[0] else policy)  # type: ignore[no-untyped-call]
        for adam in adams if step % c.policy_every == 0 else adams[:1]:
            adam.step()
        now = agent.state()
        for name, leaf in slow.p.items():
            close = (now[name] - leaf.detach()).abs() < 2e-5
            assert close.float().mean() > 0.98, (step, name)  # Adam's first step has no size: only its sign counts
        assert agent.metrics()["loss/q"] == pytest.approx(float(losses[0].detach()), rel=1e-3)
        if step % c.policy_every == 0:
            assert agent.metrics()["loss/policy"] == pytest.approx(float(losses[1].detach()), rel=1e-3, abs=1e-5)
            for name, target in slow.target.items():
                target.lerp_(now[name], c.target_share)
        for name, target in slow.target.items():
            torch.testing.assert_close(now[f"target/{name}"], target, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("every", [1, 2, 3])
def test_policy_and_targets_move_only_in_every_so_manieth_step_and_the_critics_in_all(every: int) -> None:
    agent = ready(TD3, policy_every=every)
    moved: dict[str, list[bool]] = {"policy/": [], "q/": [], "target/": [], "adam2/": []}
    for _ in range(6):
        before = agent.state()
        one_step(agent)
        after = agent.state()
        for start, steps in moved.items():
            steps.append(any(not torch.equal(before[n], after[n]) for n in before if n.startswith(start)))
    rhythm = [step % every == 0 for step in range(1, 7)]
    assert moved == {"policy/": rhythm, "q/": [True] * 6, "target/": rhythm, "adam2/": rhythm}


def test_noise_of_the_target_policy_is_cut_off_at_its_limit_and_its_levers_at_one() -> None:
    """With a linear critic that values the lever itself, the goal is the lever that was looked at."""
    spec = PolicySpec(MOTORS.observations, Continuous(("push",)))
    for policy, limit, least, most in ((0.0, 0.3, -0.3, 0.3), (10.0, 0.3, 0.7, 1.0), (0.0, 2.0, -1.0, 1.0)):
        config = replace(SMALL_TD3, hidden=(), target_noise=1.0, noise_limit=limit, batch=400, lr=1e-9)
        agent = TD3(spec, config, seed=0, rows=ROWS)
        values = {name: torch.zeros_like(part) for name, part in agent.policy_state().items()}
        values["q/0.weight"][:, 0, -1] = 1.0
        values["policy/0.bias"][:] = policy
        agent.load_policy_state(values)
        play(agent, 40, np.random.default_rng(0), learn=False)
        batch, noise = drawn(agent)
        goal = Slow(agent).goal(batch, noise)
        levers = ((goal - batch.reward) / batch.discount)[batch.discount > 0]
        assert float(levers.min()) == pytest.approx(least, abs=2e-5)
        assert float(levers.max()) == pytest.approx(most, abs=2e-5)
        one_step(agent)
        expected = float((batch.action[:, 0] - goal).square().mean())
        assert agent.metrics()["loss/q"] == pytest.approx(expected, rel=1e-4)


def test_exploring_sets_levers_at_random_while_it_warms_up_and_near_the_best_after_that() -> None:
    agent = TD3(MOTORS, replace(SMALL_TD3, warm_up=2 * ROWS, noise=0.05), seed=0, rows=ROWS)
    data = np.random.default_rng(0)
    observation = some_observation(data)
    distances = []
    for _ in range(3):
        best = agent.act(observation, ActMode.GREEDY).action
        distances.append([np.abs(agent.act(observation, ActMode.EXPLORE).action - best).mean() for _ in range(50)])
        play(agent, 1, data, learn=False, invalid=0.0)
    assert [np.mean(each) > 0.3 for each in distances] == [True, True, False]
    assert np.mean(distances[2]) == pytest.approx(0.05 * math.sqrt(2.0 / math.pi), rel=0.15)


@pytest.mark.parametrize("noise", [0.0, 0.3, 2.0])
def test_what_is_drawn_lies_within_the_levers_and_has_the_noise_that_was_set(noise: float) -> None:
    agent = TD3(MOTORS, replace(SMALL_TD3, warm_up=0), seed=0, rows=ROWS)
    agent.config = replace(agent.config, noise=noise)  # as a slider does
    seen = np.repeat(some_observation(np.random.default_rng(1), 1), 20_000, axis=0)
    levers = agent.act(seen, ActMode.SAMPLE).action
    assert np.abs(levers).max() <= 1.0
    if noise < 1.0:
        assert levers.std(0) == pytest.approx(noise, rel=0.03, abs=1e-5)
        spread = agent.introspect(seen[:1]).spread
        assert spread is not None
        assert spread.tolist() == pytest.approx([noise] * MOTORS.actions.levers)


def test_a_value_is_the_lesser_critics_of_the_best_levers() -> None:
    agent = ready(TD3)
    slow, x = Slow(agent), some_observation(np.random.default_rng(1), 7)
    levers = torch.from_numpy(agent.act(x, ActMode.GREEDY).action)
    q = torch.stack([slow.critic(slow.p, i, torch.from_numpy(x), levers) for i in range(CRITICS)])
    assert agent.introspect(x).value == pytest.approx(q.min(0).values.detach().numpy(), rel=1e-4, abs=1e-5)


@pytest.mark.parametrize(
    ("spec", "choices"),
    [
        (CHOICES, "left or stay or right is a choice"),
        (MIXED, "steer, fire are choices"),
        (SEVERAL, "steer, fire are choices"),
    ],
    ids=["a choice", "mixed", "several"],
)
def test_choices_are_refused_in_one_sentence_that_names_who_can(spec: PolicySpec, choices: str) -> None:
    with pytest.raises(CommandError, match=rf"^--agent td3 can only set levers, but {choices}: use sac or ppo$"):
        make_agent("td3", spec, SMALL_TD3, seed=0, rows=1)


def test_it_finds_the_best_lever_in_recorded_random_play() -> None:
    rng, ticks = np.random.default_rng(0), 400
    config = replace(SMALL_TD3, memory=ticks, batch=64, lr=3e-3, hidden=(32,), policy_every=2)
    agent = TD3(PolicySpec(("wanted",), Continuous(("lever",))), config, seed=0, rows=1)
    wanted, lever = rng.uniform(-0.7, 0.7, (2, ticks, 1)).astype(np.float32)
    reward, ones = -np.square(lever - wanted)[:, 0], np.ones(1, bool)  # each decision ends its episode
    agent.remember(
        [
            Demonstration(t, wanted[t : t + 1], lever[t : t + 1], reward[t : t + 1], ones, terminated=True, result=0.0)
            for t in range(ticks)
        ]
    )
    before = agent.policy_state()
    agent.study(3_000)
    for _ in agent.learn(0.0):
        pass
    there = np.linspace(-0.6, 0.6, 7, dtype=np.float32)[:, None]
    np.testing.assert_allclose(agent.act(there, ActMode.GREEDY).action, there, atol=0.15)
    agent.load_policy_state(before)
    assert np.abs(agent.act(there, ActMode.GREEDY).action - there).max() > 0.3
