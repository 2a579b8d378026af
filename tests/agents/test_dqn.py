from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from agents_helpers import CHOICES, ROWS, SEVERAL, SMALL_DQN, play, some_experience, some_observation

from ecs_rl.agents import ActMode, DQNConfig, PolicySpec
from ecs_rl.agents.action_values import ActionValues, huber, q_target
from ecs_rl.agents.config import Schedule
from ecs_rl.agents.dqn import DQN
from ecs_rl.agents.networks import MLP
from ecs_rl.errors import CheckpointError


def test_the_huber_loss_and_its_gradient_equal_a_plain_loop() -> None:
    errors = [-3.0, -1.0, -0.4, 0.0, 0.3, 1.0, 2.5]
    loss, grad = huber(np.array(errors, np.float32)[:, None])
    expected = [0.5 * e * e if abs(e) <= 1 else abs(e) - 0.5 for e in errors]
    assert loss == pytest.approx(sum(expected) / 7)
    np.testing.assert_allclose(grad[:, 0], [min(max(e, -1), 1) / 7 for e in errors], rtol=1e-6)


@pytest.mark.parametrize("choices", [1, 3])
@pytest.mark.parametrize("threshold", [0.3, 1.0, 4.0])
def test_the_huber_loss_with_weights_and_several_choices_equals_autograd(choices: int, threshold: float) -> None:
    random = np.random.default_rng(0)
    offsets = random.normal(size=(40, choices), scale=2.0).astype(np.float32)
    weight = random.random(40).astype(np.float32)
    error = torch.tensor(offsets, requires_grad=True)
    losses = torch.nn.functional.huber_loss(error, torch.zeros_like(error), reduction="none", delta=threshold)
    expected = (losses * torch.from_numpy(weight)[:, None]).mean()
    expected.backward()  # type: ignore[no-untyped-call]
    loss, grad = huber(offsets, weight, threshold)
    assert loss == pytest.approx(float(expected.detach()), rel=1e-5)
    assert error.grad is not None
    np.testing.assert_allclose(grad, error.grad.numpy(), rtol=1e-5, atol=1e-8)


@pytest.mark.parametrize("choices", [1, 2])
def test_targets_equal_a_plain_loop_and_only_termination_ends_the_future(choices: int) -> None:
    random = np.random.default_rng(0)
    value = random.normal(size=(20, choices)).astype(np.float32)
    reward = random.normal(size=20).astype(np.float32)
    discount = np.where(random.random(20) < 0.3, 0.0, 0.9).astype(np.float32)
    got = q_target(value, reward, discount)
    for i in range(20):
        future = sum(float(value[i, k]) for k in range(choices)) / choices
        assert float(got[i]) == pytest.approx(float(reward[i]) + float(discount[i]) * future, abs=1e-5)


def test_epsilon_falls_in_a_straight_line_and_then_stays() -> None:
    config = DQNConfig(epsilon_start=0.9, epsilon_end=0.1, epsilon_steps=100)
    for seen in range(0, 301, 7):
        expected = 0.9 - 0.8 * seen / 100 if seen < 100 else 0.1
        assert config.epsilon(seen) == pytest.approx(expected)


def network(p: dict[str, torch.Tensor], h: torch.Tensor, act: Callable[[torch.Tensor], torch.Tensor]) -> torch.Tensor:
    layers = len(p) // 2
    for i in range(layers):
        h = h @ p[f"q/{i}.weight"].T + p[f"q/{i}.bias"]
        h = act(h) if i < layers - 1 else h
    return h


def dueling_values(output: torch.Tensor, sizes: list[int]) -> torch.Tensor:
    """Return the values of every option, the obvious way."""
    advantages = torch.split(output[:, 1:], sizes, 1)
    return torch.cat([output[:, :1] + a - a.mean(1, keepdim=True) for a in advantages], 1)


@pytest.mark.parametrize("dueling", [False, True], ids=["plain", "dueling"])
@pytest.mark.parametrize("spec", [CHOICES, SEVERAL], ids=["one choice", "several"])
@pytest.mark.parametrize("more", [{}, {"n_step": 3}, {"priority": 0.7}, {"slow_policy": True}])
def test_a_gradient_step_equals_autograd_and_torchs_adam_on_the_written_loss(
    dueling: bool, spec: PolicySpec, more: dict[str, Any]
) -> None:
    config = replace(SMALL_DQN, hidden=(8, 8), activation="tanh", max_grad_norm=0.5, dueling=dueling, **more)
    agent = DQN(spec, config, seed=0, rows=ROWS)
    data = np.random.default_rng(0)
    play(agent, 6, data, learn=False)
    agent._memory.learned(np.arange(agent._memory.size), np.arange(1, agent._memory.size + 1, dtype=np.float32))
    agent._targets.flat.add_(torch.from_numpy(data.normal(size=len(agent._targets.flat)) * 0.1))
    random = torch.Generator().set_state(agent._random.get_state())
    b = agent._memory.draw(config.batch, random, 0.4 + 0.6 * 0.25)
    b = b._replace(**{name: getattr(b, name).clone() for name in b._fields[:5]})
    leaves = {name: value.clone().requires_grad_() for name, value in agent._followed.value.items()}
    sizes = [len(part.names) for part in spec.actions.parts]

    def values(p: dict[str, torch.Tensor], x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        output = network(p, x, torch.tanh)
        return tuple(torch.split(dueling_values(output, sizes) if dueling else output, sizes, 1))

    at = torch.arange(config.batch)
    online, slow = values(leaves, b.next_observation), values(agent._targets.value, b.next_observation)
    future = torch.stack([s[at, o.argmax(1)] for o, s in zip(online, slow, strict=True)]).mean(0)
    goal = (b.reward + b.discount * future).detach()
    q = torch.stack([v[at, b.action[:, k].long()] for k, v in enumerate(values(leaves, b.observation))], 1)
    losses = torch.nn.functional.smooth_l1_loss(q, goal[:, None].expand_as(q), reduction="none")
    weight = torch.ones(config.batch) if b.weight is None else torch.from_numpy(b.weight)
    loss = (losses * weight[:, None]).mean()
    loss.backward()  # type: ignore[no-untyped-call]
    torch.nn.utils.clip_grad_norm_(leaves.values(), 0.5)
    lr = config.lr * (1 - 0.9 * 0.25)
    torch.optim.Adam(leaves.values(), lr=lr).step()

    next(agent.learn(0.25))
    for name, leaf in leaves.items():
        torch.testing.assert_close(agent._followed.value[name], leaf.detach(), rtol=1e-4, atol=2e-6, msg=name)
    assert agent.metrics()["loss/q"] == pytest.approx(float(loss.detach()), rel=1e-4)
    assert agent.metrics()["q_mean"] == pytest.approx(float(q.detach().mean()), rel=1e-4, abs=1e-6)
    assert agent.metrics()["lr"] == pytest.approx(lr)
    if more.get("priority"):
        error = (q.detach() - goal[:, None]).abs().mean(1).numpy()
        noted = dict(zip(b.rows.tolist(), ((error + 1e-3) ** 0.7).tolist(), strict=True))
        assert agent._memory._tree is not None
        for row, weight_now in noted.items():
            assert agent._memory._tree.weights[row] == pytest.approx(weight_now, rel=1e-4)


@pytest.mark.parametrize("dueling", [False, True])
def test_the_value_of_an_option_does_not_depend_on_the_other_choices_and_the_best_of_each_is_taken(
    dueling: bool,
) -> None:
    values = ActionValues(SEVERAL.actions, dueling=dueling)
    output = torch.randn(30, values.outputs, generator=torch.Generator().manual_seed(0))
    of = values.of(output)
    expected = dueling_values(output, [3, 2]) if dueling else output
    np.testing.assert_allclose(of, expected, atol=1e-6)
    best = values.best(of)
    for row in range(30):
        assert best[row].tolist() == [int(of[row, :3].argmax()), int(of[row, 3:].argmax())]
    assert values.columns(best)[:, 1].min() >= 3


@pytest.mark.parametrize(
    ("schedule", "left"), [("linear", (1, 0.6, 0.2)), ("exponential", (1, 0.2**0.5, 0.2)), ("constant", (1, 1, 1))]
)
def test_the_learning_rate_falls_by_its_schedule_or_stays(schedule: Schedule, left: tuple[float, ...]) -> None:
    agent = DQN(CHOICES, replace(SMALL_DQN, lr=1e-3, lr_end=0.2, lr_schedule=schedule), seed=0, rows=ROWS)
    data = np.random.default_rng(0)
    play(agent, 3, data)
    for progress, share in zip((0.0, 0.5, 1.0, 1.7), (*left, left[-1]), strict=True):
        play(agent, 1, data, learn=False, invalid=0)
        list(agent.learn(progress))
        assert agent.metrics()["lr"] == pytest.approx(1e-3 * share)


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


@pytest.mark.parametrize("rate", [1.0, 0.25])
def test_the_target_network_follows_every_so_many_steps_only_by_its_rate(rate: float) -> None:
    config = replace(SMALL_DQN, warm_up=6, learn_every=ROWS, target_every=3, target_rate=rate)
    agent = DQN(CHOICES, config, seed=0, rows=ROWS)
    data, changed_at = np.random.default_rng(0), []
    play(agent, 1, data, invalid=0.0)
    for step in range(1, 12):
        target, online = agent._targets.flat.clone(), agent._followed.flat.clone()
        play(agent, 1, data, invalid=0.0)
        if not torch.equal(agent._targets.flat, target):
            changed_at.append(step)
            torch.testing.assert_close(agent._targets.flat, target + rate * (online - target))
    assert changed_at == [4, 7, 10], "with the parameters of three steps, once the fourth has shown that they are sound"


@pytest.mark.parametrize("dueling", [False, True])
def test_even_first_weights_are_drawn_as_torch_draws_those_of_a_linear_layer(dueling: bool) -> None:
    config = replace(SMALL_DQN, first_weights="uniform", hidden=(256, 64), dueling=dueling)
    state = DQN(CHOICES, config, seed=0, rows=ROWS).policy_state()
    for name, weight in state.items():
        if name.endswith("weight"):
            bound = 1 / weight.shape[1] ** 0.5
            drawn = torch.cat([weight.flatten(), state[name.replace("weight", "bias")].flatten()])
            assert 0.9 * bound < float(drawn.abs().max()) <= bound
            assert float(drawn.std()) == pytest.approx(bound / 3**0.5, rel=0.25)
    other = DQN(CHOICES, replace(config, first_weights="orthogonal"), seed=0, rows=ROWS).policy_state()
    assert not any(bias.any() for name, bias in other.items() if name.endswith("bias"))


@pytest.mark.parametrize("double", [False, True])
def test_what_comes_next_is_judged_by_the_target_network_or_by_both(
    double: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = replace(SMALL_DQN, double=double, target_every=1000, warm_up=0, lr=0.05)
    agent = DQN(CHOICES, config, seed=0, rows=ROWS)
    draw, following, judged = agent._memory.draw, list[torch.Tensor](), list[bool]()

    def drawn(*args: Any) -> Any:
        batch = draw(*args)
        following.append(batch.next_observation)
        return batch

    def judge(value: Any, reward: Any, discount: Any) -> Any:
        online, slow = (net(following[-1]).numpy() for net in (agent._q, agent._target_q))
        best = (online if double else slow).argmax(1)
        judged.append(np.array_equal(value.ravel(), slow[np.arange(len(slow)), best]))
        return q_target(value, reward, discount)

    monkeypatch.setattr(agent._memory, "draw", drawn)
    monkeypatch.setattr("ecs_rl.agents.action_values.q_target", judge)
    play(agent, 40, np.random.default_rng(0), invalid=0.0)
    assert len(judged) > 10
    assert all(judged)


def test_a_slow_policy_plays_by_the_target_network_and_explores_by_the_one_that_learns() -> None:
    config = replace(SMALL_DQN, slow_policy=True, target_every=1, target_rate=0.1, lr=0.05, epsilon_end=0.0, warm_up=0)
    agent = DQN(CHOICES, replace(config, epsilon_steps=1), seed=0, rows=ROWS)
    plain = DQN(CHOICES, SMALL_DQN, seed=1, rows=ROWS)
    data, ways = np.random.default_rng(0), set[bytes]()
    play(agent, 12, data, invalid=0.0)
    policy, rows = agent.policy_state(), [some_observation(data) for _ in range(100)]
    for network, mode in ((agent._followed, ActMode.EXPLORE), (agent._targets, ActMode.GREEDY)):
        plain.load_policy_state({name: tensor.clone() for name, tensor in network.value.items()})
        did = [agent.act(seen, mode).action for seen in rows]
        np.testing.assert_array_equal(did, [plain.act(seen, ActMode.GREEDY).action for seen in rows])
        ways.add(np.array(did).tobytes())
    assert len(ways) == 2, "the two differ"
    assert all(torch.equal(policy[name], tensor) for name, tensor in agent._targets.value.items())
    assert agent.parameters_sha256() == plain.parameters_sha256(), "whoever loads the policy has the same"
    np.testing.assert_array_equal(agent.introspect(rows[0]).does, plain.introspect(rows[0]).does)
    agent._followed.flat[0] = float("nan")
    assert not agent.is_finite()
    agent.load_policy_state(policy)
    assert torch.equal(agent._followed.flat, agent._targets.flat)


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


def test_several_choices_are_explored_apart_from_each_other() -> None:
    agent = DQN(SEVERAL, replace(SMALL_DQN, epsilon_start=0.5, epsilon_end=0.5), seed=0, rows=4000)
    observation = np.tile(some_observation(np.random.default_rng(0), 1), (4000, 1))
    greedy = agent.act(observation, ActMode.GREEDY).action
    differs = agent.act(observation, ActMode.EXPLORE).action != greedy
    np.testing.assert_allclose(differs.mean(axis=0), [0.5 * 2 / 3, 0.5 / 2], atol=0.03)
    assert differs.all(axis=1).mean() == pytest.approx(differs[:, 0].mean() * differs[:, 1].mean(), abs=0.02)


def test_a_checkpoint_from_before_returns_over_several_ticks_is_refused_in_a_sentence() -> None:
    agent = DQN(CHOICES, SMALL_DQN, seed=0, rows=ROWS)
    state = {name: tensor for name, tensor in agent.state().items() if not name.startswith("waiting/")}
    state["memory/table"] = state.pop("memory/rows")
    with pytest.raises(CheckpointError, match=r"older version.*play it, or start a new run.* with --init-from"):
        agent.load_state(state)


@pytest.mark.parametrize("spec", [CHOICES, SEVERAL], ids=["one choice", "several"])
@pytest.mark.parametrize("where", ["memory/rows", "waiting/table"])
def test_remembered_actions_that_are_no_options_are_refused(spec: PolicySpec, where: str) -> None:
    agent = DQN(spec, replace(SMALL_DQN, n_step=3), seed=0, rows=ROWS)
    play(agent, 8, np.random.default_rng(0), invalid=0.0)
    for bad in (-1.0, 3.0, 0.5, float("nan")):
        state = agent.state()
        state[where][..., 6] = bad
        with pytest.raises(CheckpointError, match="remembers actions that are none of"):
            agent.load_state(state)


def test_the_rows_of_an_experience_are_those_of_the_agent() -> None:
    agent = DQN(CHOICES, replace(SMALL_DQN, n_step=2), seed=0, rows=4)
    data = np.random.default_rng(0)
    observation = some_observation(data, 5)
    with pytest.raises(ValueError, match=r"shape \(5, 3\), this agent takes \(4, 3\)"):
        agent.observe(some_experience(data, observation, agent.act(observation, ActMode.GREEDY)))


def test_what_is_replayed_is_normalised_by_all_that_was_seen_so_far() -> None:
    agent = DQN(CHOICES, replace(SMALL_DQN, normalise_observations=True), seed=0, rows=ROWS)
    plain = DQN(CHOICES, SMALL_DQN, seed=0, rows=ROWS)
    data, seen = np.random.default_rng(0), []
    for _ in range(5):
        observation = some_observation(data)
        e = some_experience(data, observation, agent.act(observation, ActMode.EXPLORE), invalid=0.3)
        assert e.valid is not None
        agent.observe(e)
        seen.append(observation[e.valid])
    rows = np.concatenate(seen)
    mean, deviation = rows.mean(axis=0), rows.std(axis=0)
    agent.load_policy_state({**agent.policy_state(), **plain.policy_state()})
    x = some_observation(data, 50)
    expected = plain.introspect(((x - mean) / deviation).astype(np.float32)).does
    np.testing.assert_allclose(agent.introspect(x).does, expected, rtol=1e-4, atol=1e-5)
    drawn: list[torch.Tensor] = []
    agent._q.forward = lambda x: drawn.append(x.clone()) or MLP.forward(agent._q, x)  # type: ignore[method-assign,func-returns-value]
    b = agent._memory.draw(agent.config.batch, torch.Generator().set_state(agent._random.get_state()))
    raw = b.observation.numpy().copy()
    next(agent.learn(0.0))
    np.testing.assert_allclose(drawn[0], (raw - mean) / deviation, rtol=1e-3, atol=1e-4)
