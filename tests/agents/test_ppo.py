from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from agents_helpers import CHOICES, MIXED, MOTORS, ROWS, SMALL_PPO, play, some_experience, some_observation

from ecs_rl.agents import actor_critic
from ecs_rl.agents.config import PPOConfig, Schedule
from ecs_rl.agents.on_policy import Minibatch
from ecs_rl.agents.ppo import PPO
from ecs_rl.spaces import ActMode, Decision, PolicySpec


def full_agent(config: PPOConfig = SMALL_PPO, *, continuous: bool = False, invalid: float = 0.0) -> PPO:
    agent = PPO(MOTORS if continuous else CHOICES, config, seed=0, rows=ROWS)
    play(agent, config.rollout, np.random.default_rng(0), invalid=invalid, learn=False)
    return agent


def minibatches(agent: PPO) -> int:
    return sum(1 for _ in agent.learn(0.0)) + 1


def test_learning_before_the_rollout_is_full_does_nothing() -> None:
    agent = PPO(CHOICES, SMALL_PPO, seed=0, rows=ROWS)
    play(agent, SMALL_PPO.rollout - 1, np.random.default_rng(0), learn=False)
    before = agent.parameters_sha256()
    assert list(agent.learn(0.0)) == []
    assert agent.parameters_sha256() == before


@pytest.mark.parametrize(("minibatch", "per_epoch"), [(8, 4), (30, 1), (29, 2), (1000, 1), (1, 30)])
def test_every_epoch_visits_every_row_once_in_parts_of_nearly_equal_size(minibatch: int, per_epoch: int) -> None:
    agent = full_agent(replace(SMALL_PPO, minibatch=minibatch))
    visited: list[int] = []
    sizes: list[int] = []
    original = agent._batch

    def spy(part: slice) -> Minibatch:
        rows = agent._order[part].tolist()
        visited.extend(rows)
        sizes.append(len(rows))
        return original(part)

    agent._batch = spy  # type: ignore[method-assign]
    assert minibatches(agent) == per_epoch * SMALL_PPO.epochs
    assert sorted(visited) == sorted([*range(30)] * SMALL_PPO.epochs)
    assert max(sizes) - min(sizes) <= 1
    assert max(sizes) <= minibatch


@pytest.mark.parametrize("threads", [1, 3])
def test_values_that_are_asked_for_a_whole_rollout_are_those_of_its_ticks(threads: int) -> None:
    rows = 512
    agent = PPO(CHOICES, replace(SMALL_PPO, rollout=6, normalise_rewards=False), seed=0, rows=rows, threads=threads)
    data, values_seen = np.random.default_rng(0), []
    for _ in range(6):
        observation = some_observation(data, rows)
        decision = agent.act(observation, ActMode.EXPLORE)
        values_seen.append(agent.introspect(observation).value)
        agent.observe(some_experience(data, observation, decision))
    agent._begin()
    assert np.array_equal(agent._rollout.arrays["value"], np.stack(values_seen))


@pytest.mark.parametrize("part_rows", [1024, 5])
@pytest.mark.parametrize("continuous", [False, True])
def test_one_gradient_step_equals_autograd_and_torchs_adam_on_the_written_loss(
    continuous: bool, part_rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(actor_critic, "PART_ROWS", part_rows)
    c = replace(SMALL_PPO, epochs=1, minibatch=1000, entropy=0.02, value_weight=0.7, max_grad_norm=0.3, lr_end=0.0)
    agent = full_agent(c, continuous=continuous, invalid=0.2)
    leaves = {name: value.clone().requires_grad_() for name, value in agent._parameters.value.items()}
    batch = {name: agent._rollout.flat(name) for name in agent._rollout.tensors}
    keep = batch["valid"].clone()
    list(agent.learn(0.25))
    x, action, old = batch["observation"][keep], batch["action"][keep], batch["log_prob"][keep]
    advantage, returns = batch["advantage"][keep], batch["returns"][keep]
    advantage = (advantage - advantage.mean()) / (advantage.std(correction=0) + 1e-8)

    def net(name: str) -> torch.Tensor:
        h = x
        for i in range(3):
            h = h @ leaves[f"{name}/{i}.weight"].T + leaves[f"{name}/{i}.bias"]
            h = torch.tanh(h) if i < 2 else h
        return h

    pi: torch.distributions.Distribution
    if continuous:
        normal = torch.distributions.Normal(net("policy"), leaves["policy/log_std"].exp())
        pi = torch.distributions.Independent(normal, 1)
    else:
        pi = torch.distributions.Categorical(logits=net("policy"))
    ratio = (pi.log_prob(action) - old).exp()  # type: ignore[no-untyped-call]
    policy_loss = -torch.minimum(ratio * advantage, ratio.clamp(0.8, 1.2) * advantage).mean()
    value_loss = (net("value").squeeze(1) - returns).square().mean()
    entropy = pi.entropy().mean()  # type: ignore[no-untyped-call]
    (policy_loss + 0.7 * value_loss - 0.02 * entropy).backward()
    torch.nn.utils.clip_grad_norm_(leaves.values(), 0.3)
    torch.optim.Adam(leaves.values(), lr=c.lr * 0.75, eps=1e-5).step()

    for name, leaf in leaves.items():
        torch.testing.assert_close(agent._parameters.value[name], leaf.detach(), rtol=1e-4, atol=2e-6, msg=name)
    metrics = agent.metrics()
    assert metrics["loss/policy"] == pytest.approx(float(policy_loss.detach()), abs=1e-5)
    assert metrics["loss/value"] == pytest.approx(float(value_loss.detach()), rel=1e-4)
    assert metrics["entropy"] == pytest.approx(float(entropy.detach()), rel=1e-4)
    assert metrics["lr"] == pytest.approx(c.lr * 0.75)
    explained = 1 - float(batch["advantage"][keep].var() / returns.var())
    assert metrics["explained_variance"] == pytest.approx(explained, abs=1e-4)
    assert metrics["kl"] == pytest.approx(0.0, abs=1e-5)


def test_metrics_are_empty_before_the_first_update_and_complete_after_it() -> None:
    agent = full_agent()
    assert agent.metrics() == {}
    minibatches(agent)
    assert list(agent.metrics()) == [
        "loss/policy",
        "loss/value",
        "entropy",
        "kl",
        "clip_fraction",
        "explained_variance",
        "lr",
    ]


def test_a_small_target_kl_stops_the_update_early_and_the_next_one_starts_afresh() -> None:
    agent = full_agent(replace(SMALL_PPO, epochs=20, lr=0.05, target_kl=0.01))
    assert 1 < minibatches(agent) < 80
    assert not agent._rollout.is_full
    play(agent, SMALL_PPO.rollout, np.random.default_rng(1))
    assert agent.is_finite()


def test_the_learning_rate_falls_by_its_schedule_or_stays() -> None:
    schedules: tuple[tuple[Schedule, float], ...] = (
        ("linear", 3e-4 * (1 - 0.6 * 0.8)),
        ("exponential", 3e-4 * 0.2**0.6),
        ("constant", 3e-4),
    )
    for schedule, expected in schedules:
        agent = full_agent(replace(SMALL_PPO, lr_schedule=schedule, lr_end=0.2))
        list(agent.learn(0.6))
        assert agent.metrics()["lr"] == pytest.approx(expected)


def test_observing_with_a_full_rollout_and_without_the_extras_of_a_decision_are_refused() -> None:
    agent = full_agent()
    data = np.random.default_rng(0)
    observation = some_observation(data)
    decision = agent.act(observation, ActMode.EXPLORE)
    with pytest.raises(RuntimeError, match="rollout is full"):
        agent.observe(some_experience(data, observation, decision))
    minibatches(agent)
    with pytest.raises(ValueError, match="pass the extras"):
        agent.observe(some_experience(data, observation, Decision(decision.action)))


def test_a_decision_changes_nothing_in_the_agent_but_its_random_stream() -> None:
    agent = full_agent()
    minibatches(agent)
    before = agent.state()
    agent.act(some_observation(np.random.default_rng(0)), ActMode.EXPLORE)
    after = agent.state()
    changed = {name for name in before if not torch.equal(before[name], after[name])}
    assert changed == {"random/train"}


def test_the_stored_log_probability_is_that_of_the_action_before_the_world_clips_it() -> None:
    agent = PPO(MOTORS, replace(SMALL_PPO, log_std=1.0), seed=0, rows=ROWS)
    observation = some_observation(np.random.default_rng(0))
    decision = agent.act(observation, ActMode.EXPLORE)
    action = decision.action
    assert np.abs(action).max() > 1.0
    agent.observe(some_experience(np.random.default_rng(1), observation, decision))
    stored = agent._rollout.tensors
    mean = agent._networks.policy(stored["observation"][0], torch.zeros(ROWS, 0))[0]
    expected = torch.distributions.Normal(mean, np.e).log_prob(torch.from_numpy(action)).sum(-1)  # type: ignore[no-untyped-call]
    torch.testing.assert_close(stored["log_prob"][0], expected)
    torch.testing.assert_close(stored["action"][0], torch.from_numpy(action))


@pytest.mark.parametrize("network", ["mlp", "gru"])
@pytest.mark.parametrize("spec", [CHOICES, MIXED])
def test_a_minibatch_in_parts_gives_the_same_step(network: str, spec: PolicySpec) -> None:
    """Gradients of parts add up to that of the whole, advantages scaled over all of it."""
    config = replace(SMALL_PPO, minibatch=20, network=network, state=4, entropy=0.01, value_clip=0.2)
    agents = [PPO(spec, replace(config, accumulate=parts), seed=0, rows=ROWS, threads=1) for parts in (1, 3, 1000)]
    for agent in agents:
        play(agent, SMALL_PPO.rollout * 2, np.random.default_rng(0), invalid=0.2)
    one, *others = (agent.policy_state() for agent in agents)
    for other in others:
        for name, tensor in one.items():
            torch.testing.assert_close(other[name], tensor, rtol=1e-4, atol=1e-6, msg=name)
    metrics = [agent.metrics() for agent in agents]
    for name, number in metrics[0].items():
        assert metrics[1][name] == pytest.approx(number, rel=1e-3, abs=1e-6), name
