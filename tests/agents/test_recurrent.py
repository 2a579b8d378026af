"""Networks that remember, and PPO with them, against slow obvious versions."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from agents_helpers import CHOICES, MIXED, ROWS, SMALL_PPO, some_experience, some_observation
from torch import Tensor, nn

from ecs_rl.agents import ActMode, Agent, Experience, PolicySpec, PPOConfig, make_agent
from ecs_rl.agents.actor_critic import Seen
from ecs_rl.agents.config import Activation, OwnNetwork
from ecs_rl.agents.gru import GRU
from ecs_rl.agents.heads import Head
from ecs_rl.agents.modules import RecurrentModule
from ecs_rl.agents.networks import Parameters
from ecs_rl.agents.ppo import PPO
from ecs_rl.errors import CommandError

TICKS, BATCH, MEMORY = 11, 5, 6
SMALL_GRU = replace(SMALL_PPO, network="gru", state=MEMORY)


class Cell(nn.Module):
    """The slow obvious version: torch's own cell behind a perceptron, tick by tick."""

    state = MEMORY

    def __init__(self, inputs: int, outputs: int, activation: Activation = "tanh") -> None:
        super().__init__()
        act = nn.Tanh if activation == "tanh" else nn.ReLU
        self.first, self.second, self.act = nn.Linear(inputs, 7), nn.Linear(7, 8), act()
        self.cell, self.head = nn.GRUCell(8, MEMORY), nn.Linear(MEMORY, outputs)

    def forward(self, x: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        state = self.cell(self.act(self.second(self.act(self.first(x)))), state)
        return self.head(state), state


def by_hand_and_by_autograd(activation: Activation = "tanh") -> tuple[Parameters, GRU, Cell]:
    parameters = Parameters(GRU.shapes("net", (3, 7, 8), MEMORY, 2))
    gru = GRU(parameters, "net", 3, activation)
    gru.initialise(torch.Generator().manual_seed(0), 1.0)
    parameters.flat.add_(torch.linspace(-0.2, 0.2, len(parameters.flat)))
    cell, value = Cell(3, 2, activation), parameters.value
    with torch.no_grad():
        for i, layer in enumerate((cell.first, cell.second)):
            layer.weight.copy_(value[f"net/{i}.weight"])
            layer.bias.copy_(value[f"net/{i}.bias"])
        cell.cell.weight_ih.copy_(value["net/2.weight"])
        cell.cell.bias_ih.copy_(value["net/2.bias"])
        cell.cell.weight_hh.copy_(value["net/recurrent.weight"])
        cell.cell.bias_hh.zero_()[2 * MEMORY :] = value["net/recurrent.bias"]
        # torch blends the other way round: h' = (1 - z) n + z h, as here.
        cell.head.weight.copy_(value["net/head.weight"])
        cell.head.bias.copy_(value["net/head.bias"])
    return parameters, gru, cell


def sequences(seed: int = 1) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Return inputs, first state, where episodes begin, and a gradient by the outputs."""
    g = torch.Generator().manual_seed(seed)
    x, state = torch.randn(TICKS, BATCH, 3, generator=g), torch.randn(BATCH, MEMORY, generator=g)
    begins = torch.rand(TICKS, BATCH, generator=g) < 0.2
    return x, state, begins, torch.randn(TICKS, BATCH, 2, generator=g)


@pytest.mark.parametrize("activation", ["tanh", "relu"])
def test_the_gradient_of_sequences_with_resets_inside_equals_autograd_on_the_unrolled_loop(
    activation: Activation,
) -> None:
    parameters, gru, cell = by_hand_and_by_autograd(activation)
    x, first, begins, grad = sequences()
    told, state = [], first
    for t in range(TICKS):
        rows = [
            cell(x[t, r : r + 1], torch.zeros(1, MEMORY) if begins[t, r] else state[r : r + 1]) for r in range(BATCH)
        ]
        told.append(torch.cat([output for output, _ in rows]))
        state = torch.cat([after for _, after in rows])
    expected = torch.stack(told)
    expected.backward(grad)  # type: ignore[no-untyped-call]

    output = gru.forward(x, first, begins)
    gru.backward(grad)

    torch.testing.assert_close(output, expected.detach(), rtol=1e-5, atol=1e-5)
    pairs = {
        "0.weight": cell.first.weight,
        "0.bias": cell.first.bias,
        "1.weight": cell.second.weight,
        "1.bias": cell.second.bias,
        "2.weight": cell.cell.weight_ih,
        "2.bias": cell.cell.bias_ih,
        "recurrent.weight": cell.cell.weight_hh,
        "head.weight": cell.head.weight,
        "head.bias": cell.head.bias,
    }
    for name, theirs in pairs.items():
        torch.testing.assert_close(parameters.grad[f"net/{name}"], theirs.grad, rtol=1e-4, atol=1e-5, msg=name)
    theirs_bias = cell.cell.bias_hh.grad
    assert theirs_bias is not None
    torch.testing.assert_close(parameters.grad["net/recurrent.bias"], theirs_bias[2 * MEMORY :], rtol=1e-4, atol=1e-5)


def test_a_sequence_gives_what_its_ticks_give_one_by_one() -> None:
    _, gru, _ = by_hand_and_by_autograd()
    x, state, begins, _ = sequences()
    whole = gru.forward(x, state, begins)
    for t in range(TICKS):
        output, state = gru.step(x[t], torch.where(begins[t, :, None], torch.zeros(()), state))
        torch.testing.assert_close(output, whole[t], rtol=1e-5, atol=1e-6)


def test_a_module_that_remembers_is_unrolled_with_resets() -> None:
    parameters, gru, cell = by_hand_and_by_autograd()
    shapes = {f"net/{name}": tuple(p.shape) for name, p in cell.named_parameters()}
    theirs = Parameters(shapes)
    module = RecurrentModule(theirs, "net", lambda: Cell(3, 2), 2)
    for name, parameter in cell.named_parameters():
        theirs.value[f"net/{name}"].copy_(parameter.detach())
    x, state, begins, grad = sequences()
    with torch.inference_mode():
        torch.testing.assert_close(
            module.forward(x, state, begins), gru.forward(x, state, begins), rtol=1e-5, atol=1e-5
        )
        module.backward(grad)
        gru.backward(grad)
    torch.testing.assert_close(theirs.grad["net/head.weight"], parameters.grad["net/head.weight"], rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(
        theirs.grad["net/cell.weight_hh"], parameters.grad["net/recurrent.weight"], rtol=1e-4, atol=1e-5
    )


def test_its_layers_start_orthogonal_and_the_head_with_the_gain_of_each_output() -> None:
    parameters = Parameters(GRU.shapes("net", (3, 8), MEMORY, 2))
    GRU(parameters, "net", 2, "tanh").initialise(torch.Generator().manual_seed(0), torch.tensor([0.01, 1.0]))
    for gate in torch.split(parameters.value["net/recurrent.weight"], MEMORY):
        torch.testing.assert_close(gate.T @ gate, torch.eye(MEMORY), rtol=0, atol=1e-5)
    head = parameters.value["net/head.weight"]
    torch.testing.assert_close(head @ head.T, torch.diag(torch.tensor([1e-4, 1.0])), rtol=0, atol=1e-6)


# --- PPO --------------------------------------------------------------------------------------------------------------


def agent_of(config: PPOConfig = SMALL_GRU, seed: int = 0, spec: PolicySpec = CHOICES) -> Any:
    return make_agent("ppo", spec, config, seed=seed, rows=ROWS)


class Loop:
    """A loop that keeps the state as the world does."""

    def __init__(self, agent: Agent, seed: int = 0, invalid: float = 0.1) -> None:
        self.agent, self.data, self.invalid = agent, np.random.default_rng(seed), invalid
        self.state = np.zeros((ROWS, agent.spec.state), np.float32)
        self.seen: list[Experience] = []
        self.states: list[np.ndarray] = []

    def tick(self, *, learn: bool = True) -> None:
        observation = some_observation(self.data)
        self.states.append(self.state.copy())
        decision = self.agent.act(observation, ActMode.EXPLORE, self.state)
        assert decision.state is not None
        self.state[...] = decision.state
        told = some_experience(self.data, observation, decision, self.invalid)
        self.agent.observe(told)
        self.seen.append(told)
        over = told.terminated | told.truncated | (False if told.valid is None else ~told.valid)
        self.state[over] = 0.0
        if learn:
            for _ in self.agent.learn(0.3):
                pass


def outputs_of(agent: PPO, seen: Seen) -> tuple[Tensor, Tensor]:
    """Return what the policy and the value say while they learn."""
    told: dict[str, Tensor] = {}

    def policy_step(head: Head, rows: slice, output: Tensor) -> tuple[Tensor, Tensor]:
        told["policy"] = output
        return torch.zeros(()), torch.zeros_like(output)

    def value_step(rows: slice, value: Tensor) -> tuple[Tensor, Tensor]:
        told["value"] = value
        return torch.zeros(()), torch.zeros_like(value)

    agent._networks.learn(seen, policy_step, value_step)
    return told["policy"], told["value"]


@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("spec", [CHOICES, MIXED])
@pytest.mark.parametrize(("burn_in", "lr"), [(0, 3e-4), (3, 1e-12), (5, 1e-12)])
def test_before_the_first_step_replayed_sequences_give_the_log_probabilities_and_values_of_the_play(
    spec: PolicySpec, shared: bool, burn_in: int, lr: float
) -> None:
    """Where the weights stay as they are, it makes no difference how far back what is remembered is played again."""
    agent = agent_of(replace(SMALL_GRU, shared=shared, minibatch=1000, burn_in=burn_in, lr=lr), spec=spec)
    loop = Loop(agent)
    for _ in range(8):  # the second rollout sets out in the middle of episodes
        loop.tick()
    loop.tick(learn=False)
    loop.tick(learn=False)
    assert agent._rollout.is_full
    agent._begin()
    agent._order = agent._shuffle()
    with torch.inference_mode():
        batch = agent._batch(slice(0, ROWS))
        seen, action, log_prob, value = batch.seen, batch.action, batch.log_prob, batch.value
        output, told = outputs_of(agent, seen)
        again, _ = agent._head.forward(output, action)
    torch.testing.assert_close(again, log_prob, rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(told, value, rtol=1e-4, atol=1e-5)
    valid = agent._rollout.tensors["valid"].sum()
    assert len(seen) == len(log_prob) == int(valid) < 5 * ROWS
    assert len(seen.x) == 5 + burn_in


def test_what_is_remembered_as_a_rollout_begins_is_what_the_present_weights_make_of_the_ticks_before() -> None:
    agent, ticks = agent_of(replace(SMALL_GRU, lr=0.05, burn_in=4, normalise_observations=False)), 4
    loop = Loop(agent, invalid=0.0)
    for _ in range(9):
        loop.tick()
    loop.tick(learn=False)
    agent._begin()
    agent._order = agent._shuffle()
    seen = agent._batch(slice(0, ROWS)).seen
    state = torch.from_numpy(loop.states[5 - ticks][agent._order])
    for told in loop.seen[5 - ticks : 5]:
        state = agent._networks.both(torch.from_numpy(told.observation[agent._order]), state)[2]
        state[torch.from_numpy((told.terminated | told.truncated)[agent._order])] = 0.0
    expected = agent._networks.both(torch.from_numpy(loop.seen[5].observation[agent._order]), state)[0]
    output, _ = outputs_of(agent, seen)
    torch.testing.assert_close(output[:ROWS], expected, rtol=1e-4, atol=1e-5)
    stale = agent._networks.both(
        torch.from_numpy(loop.seen[5].observation[agent._order]), torch.from_numpy(loop.states[5][agent._order])
    )[0]
    assert float((stale - expected).abs().max()) > 1e-3, "the weights have moved"


def test_a_burn_in_is_at_most_a_rollout_long_and_forgotten_where_an_earlier_policy_is_taken_up() -> None:
    with pytest.raises(CommandError, match=r"ppo\.burn_in must be at most ppo\.rollout, 5, not 6"):
        replace(SMALL_GRU, burn_in=6)
    agent = agent_of(replace(SMALL_GRU, burn_in=3))
    loop = Loop(agent)
    for _ in range(7):
        loop.tick()
    assert agent._rollout.lead.size == 3
    agent.restart(agent.policy_state())
    assert agent._rollout.lead.size == 0


def test_a_rollout_bootstraps_from_what_was_remembered() -> None:
    agent = agent_of(replace(SMALL_GRU, normalise_observations=False))
    loop = Loop(agent, invalid=0.0)
    for _ in range(5):
        loop.tick(learn=False)
    rollout = agent._rollout
    cut = torch.from_numpy(np.stack([told.truncated for told in loop.seen]))
    assert bool(cut.any())
    for t, row in cut.nonzero().tolist():
        told = loop.seen[t]
        after = torch.from_numpy(told.extras["state_after"][row : row + 1])
        value = agent._networks.value(torch.from_numpy(told.next_observation[row : row + 1]), after)
        assert float(rollout.tensors["final_value"][t, row]) == pytest.approx(float(value), abs=1e-6)
    assert torch.equal(rollout.last_state, torch.from_numpy(loop.seen[-1].extras["state_after"]))
    assert np.array_equal(rollout.first_state.numpy(), loop.states[0])


@pytest.mark.parametrize(("network", "burn_in"), [("gru", 0), ("gru", 2), ("own", 0)])
@pytest.mark.parametrize("ticks", [3, 5, 8])
def test_an_agent_that_remembers_continues_exactly_in_the_middle_of_an_episode_or_an_update(
    network: str, burn_in: int, ticks: int
) -> None:
    name = OwnNetwork("own", lambda i, o, spec: Cell(i, o)) if network == "own" else network
    config = replace(SMALL_GRU, network=name, burn_in=burn_in)
    first, second = agent_of(config, seed=1), agent_of(config, seed=2)
    loop = Loop(first)
    for _ in range(ticks - 1):
        loop.tick()
    loop.tick(learn=False)
    next(first.learn(0.3), None)
    second.load_state(first.state())
    other = Loop(second, seed=5)
    other.state, loop.data = loop.state.copy(), np.random.default_rng(5)
    for each in (loop, other):
        for _ in first.learn(0.3) if each is loop else second.learn(0.3):
            pass
        for _ in range(12):
            each.tick()
    assert first.parameters_sha256() == second.parameters_sha256()
    states = first.state(), second.state()
    assert all(torch.equal(states[0][name].nan_to_num(), states[1][name].nan_to_num()) for name in states[0])


def test_what_it_remembers_is_an_argument_and_not_in_the_agent() -> None:
    agent = agent_of()
    seen = some_observation(np.random.default_rng(0))
    state = np.random.default_rng(1).normal(size=(ROWS, agent.spec.state)).astype(np.float32)
    kept = state.copy()
    first, second = (agent.act(seen, ActMode.GREEDY, state) for _ in range(2))
    assert first.state is not None
    assert second.state is not None
    assert np.array_equal(first.state, second.state)
    assert np.array_equal(state, kept)
    assert not np.array_equal(first.state, agent.act(seen, ActMode.GREEDY).state)
    explored = agent.act(seen, ActMode.EXPLORE, state)
    assert np.array_equal(explored.state, first.state)
    state[...] = 7.0  # the world writes the next one over it
    assert np.array_equal(explored.extras["state"], kept)


def test_a_state_of_another_width_is_refused() -> None:
    agent = agent_of()
    with pytest.raises(ValueError, match=r"the state has shape \(6, 3\), this agent remembers \(6, 12\)"):
        agent.act(some_observation(np.random.default_rng(0)), ActMode.GREEDY, np.zeros((ROWS, 3), np.float32))


def test_introspection_goes_by_what_is_remembered() -> None:
    agent = agent_of()
    seen = some_observation(np.random.default_rng(0))
    state = np.random.default_rng(1).normal(size=(ROWS, agent.spec.state)).astype(np.float32)
    with_it, without = agent.introspect(seen, state), agent.introspect(seen)
    assert not np.array_equal(with_it.value, without.value)
    greedy = agent.act(seen, ActMode.GREEDY, state).action
    assert (with_it.does.argmax(1) == greedy).all()


def test_rows_that_were_never_there_are_not_learned_from() -> None:
    agent = agent_of(replace(SMALL_GRU, minibatch=1))
    loop = Loop(agent, invalid=1.0)
    before = agent.parameters_sha256()
    for _ in range(5):
        loop.tick()
    assert agent.parameters_sha256() == before
    assert agent.metrics() == {}


# --- value clipping ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("clip", [0.0, 0.1, 0.5])
def test_the_value_objective_equals_that_of_autograd(clip: float) -> None:
    from ecs_rl.agents.ppo import value_objective

    g = torch.Generator().manual_seed(0)
    returns, before, value = (torch.randn(200, generator=g) for _ in range(3))
    value = (before + 0.3 * value).requires_grad_()
    held = before + (value - before).clamp(-clip, clip)
    squares = torch.maximum((value - returns) ** 2, (held - returns) ** 2) if clip else (value - returns) ** 2
    (0.5 * squares.mean()).backward()  # type: ignore[no-untyped-call]
    loss, grad = value_objective(returns, before, clip, 0.5, value.detach())
    torch.testing.assert_close(loss, squares.mean().detach())
    torch.testing.assert_close(grad, value.grad)
    if clip:
        assert 0 < int((grad == 0).sum()) < 200


def test_ppo_is_one_class_for_all() -> None:
    assert isinstance(agent_of(), PPO)
