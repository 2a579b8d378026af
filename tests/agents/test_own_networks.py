"""What holds for every network behind the protocol, and what is refused of a module of a user's own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import torch
from agents_helpers import CHOICES, MIXED, ROWS, SMALL_PPO, play, some_observation
from torch import Tensor, nn

from ecs_rl.agents import ActMode, PolicySpec, PPOConfig, make_agent
from ecs_rl.agents.actor_critic import build, shapes_of
from ecs_rl.agents.config import OwnNetwork
from ecs_rl.agents.modules import ModuleNetwork
from ecs_rl.agents.networks import Network, Parameters
from ecs_rl.errors import CommandError, DivergedError


class Perceptron(nn.Module):
    def __init__(self, inputs: int, outputs: int, hidden: Sequence[int] = (8, 8), activation: Any = nn.Tanh) -> None:
        super().__init__()
        layers: list[nn.Module] = []
        for before, after in pairwise((inputs, *hidden)):
            layers += [nn.Linear(before, after), activation()]
        self.body, self.head = nn.Sequential(*layers), nn.Linear(hidden[-1], outputs)
        self.register_buffer("scale", torch.rand(()) + 0.5)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.body(x)) * self.scale  # type: ignore[no-any-return]


def perceptron(inputs: int, outputs: int, spec: PolicySpec) -> nn.Module:
    return Perceptron(inputs, outputs)


def with_module(make: Callable[[int, int, PolicySpec], Any]) -> PPOConfig:
    return replace(SMALL_PPO, network=OwnNetwork(make.__name__, make))


def built(config: PPOConfig, inputs: int = 3, outputs: int = 2) -> tuple[Parameters, Network]:
    parameters = Parameters(shapes_of("net", (inputs, outputs), CHOICES, config))
    network: Any = build(parameters, "net", (inputs, outputs), CHOICES, config)
    network.initialise(torch.Generator().manual_seed(0), 1.0)
    return parameters, network


def test_a_module_computes_and_learns_in_the_flat_vector() -> None:
    parameters, network = built(with_module(perceptron))
    x = torch.randn(7, 3, generator=torch.Generator().manual_seed(1))
    grad = torch.randn(7, 2, generator=torch.Generator().manual_seed(2))
    theirs = Perceptron(3, 2)
    with torch.no_grad():
        for name, value in {**parameters.value, **parameters.buffers}.items():
            theirs.state_dict()[name.removeprefix("net/")].copy_(value)
    expected = theirs(x)
    expected.backward(grad)
    with torch.inference_mode():
        output = network.forward(x * 1.0)
        network.backward(grad * 1.0)
    torch.testing.assert_close(output, expected.detach())
    for name, parameter in theirs.named_parameters():
        torch.testing.assert_close(parameters.grad[f"net/{name}"], parameter.grad, msg=name)
    assert len(parameters.flat) == sum(p.numel() for p in theirs.parameters())
    with torch.inference_mode():
        parameters.flat.mul_(0.5)
    assert not torch.equal(network(x), output)


def test_a_second_backward_adds_nothing_of_the_first() -> None:
    parameters, network = built(with_module(perceptron))
    for _ in range(2):
        network.forward(torch.ones(4, 3))
        network.backward(torch.ones(4, 2))
    twice = parameters.flat_grad.clone()
    parameters.flat_grad.zero_()
    network.forward(torch.ones(4, 3))
    network.backward(torch.ones(4, 2))
    assert torch.equal(parameters.flat_grad, twice)


@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("spec", [CHOICES, MIXED])
def test_the_same_perceptron_by_autograd_learns_what_the_one_by_hand_learns(spec: PolicySpec, shared: bool) -> None:
    def plain(inputs: int, outputs: int, spec: PolicySpec) -> nn.Module:
        module = Perceptron(inputs, outputs)
        del module.scale
        module.scale = 1.0  # type: ignore[assignment]
        return module

    config = replace(SMALL_PPO, shared=shared)
    by_hand: Any = make_agent("ppo", spec, config, seed=0, rows=ROWS)
    by_autograd: Any = make_agent("ppo", spec, replace(config, network=OwnNetwork("plain", plain)), seed=0, rows=ROWS)
    assert by_hand._parameters.flat.shape == by_autograd._parameters.flat.shape
    by_autograd._parameters.flat.copy_(by_hand._parameters.flat)
    by_autograd._random.set_state(by_hand._random.get_state())
    for agent in (by_hand, by_autograd):
        play(agent, 20, np.random.default_rng(0))
    torch.testing.assert_close(by_hand._parameters.flat, by_autograd._parameters.flat, rtol=1e-3, atol=1e-5)


def test_a_modules_buffers_are_saved_with_its_policy_and_count_in_its_hash() -> None:
    agents = [make_agent("ppo", CHOICES, with_module(perceptron), seed=seed, rows=ROWS) for seed in (0, 1)]
    saved = agents[0].policy_state()
    assert "policy/scale" in saved
    assert agents[0].parameters_sha256() != agents[1].parameters_sha256()
    agents[1].load_policy_state(saved)
    seen = some_observation(np.random.default_rng(0))
    assert agents[0].parameters_sha256() == agents[1].parameters_sha256()
    assert (agents[0].act(seen, ActMode.GREEDY).action == agents[1].act(seen, ActMode.GREEDY).action).all()
    saved["policy/scale"] += 1.0
    agents[1].load_policy_state(saved)
    assert agents[0].parameters_sha256() != agents[1].parameters_sha256()


def test_a_head_starts_with_the_gain_that_the_algorithm_wants() -> None:
    agent = make_agent("ppo", CHOICES, with_module(perceptron), seed=0, rows=ROWS)
    head = agent.policy_state()["policy/head.weight"]
    torch.testing.assert_close(head @ head.T, 1e-4 * torch.eye(3), rtol=0, atol=1e-8)


class Odd(nn.Module):
    """Wrong in the way that it is message."""

    def __init__(self, inputs: int, outputs: int, wrong: str) -> None:
        super().__init__()
        self.wrong, self.outputs = wrong, outputs
        self.linear = nn.Linear(inputs + (wrong == "inputs"), outputs + (wrong == "outputs"))
        self.register_buffer("seen", torch.zeros(()))
        if wrong in ("dropout", "batch"):
            self.extra = nn.Dropout(0.5) if wrong == "dropout" else nn.BatchNorm1d(outputs)
        if wrong == "double":
            self.linear = self.linear.double()
        if wrong == "lazy":
            self.linear = nn.LazyLinear(outputs)
        if wrong == "state":
            self.state = 4

    def forward(self, x: Tensor, state: Tensor | None = None) -> Any:
        if self.wrong == "raises":
            raise KeyError("colour")
        if self.wrong == "buffer":
            self.get_buffer("seen").add_(1)
        if self.wrong == "tuple":
            return self.linear(x), x
        return self.linear(x) / (0.0 if self.wrong == "nan" else 1.0)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ("inputs", r"fails on \(3, 3\) of inputs: mat1 and mat2 shapes cannot be multiplied"),
        ("outputs", r"it must return \(3, 3\) of float32, not \(3, 4\) of torch.float32"),
        ("dropout", "its Dropout 'extra' computes otherwise while it learns than while it acts: leave it out"),
        ("batch", "its BatchNorm1d 'extra' computes otherwise .*: use LayerNorm or GroupNorm"),
        ("double", "its parameter 'linear.weight' is torch.float64: parameters must be float32"),
        ("lazy", "its parameter 'linear.weight' is not there yet"),
        ("raises", r"fails on \(3, 3\) of inputs: 'colour' \(.*test_own_networks.py, line \d+\)"),
        ("buffer", "changes its buffer 'seen'"),
        ("tuple", "it must return a tensor .*, not tuple"),
        ("nan", "it returned a number that is not finite in row 0"),
        ("state", r"it has a state, and must return \(output, state\), not Tensor"),
    ],
)
def test_a_module_that_is_no_network_is_refused_in_one_sentence(wrong: str, message: str) -> None:
    def odd(inputs: int, outputs: int, spec: PolicySpec) -> nn.Module:
        return Odd(inputs, outputs, wrong)

    with pytest.raises(CommandError, match=f"^the network 'odd': {message}"):
        make_agent("ppo", CHOICES, with_module(odd), seed=0, rows=ROWS)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda inputs, outputs, spec: "x", "must return a torch.nn.Module, not str"),
        (lambda inputs, outputs: nn.Linear(3, 3), "makes no network of 3 inputs and 3 outputs: .* takes 2 positional"),
        (lambda inputs, outputs, spec: nn.Identity(), "has no parameters: there is nothing to learn"),
    ],
)
def test_what_makes_no_module_is_refused(make: Any, message: str) -> None:
    with pytest.raises(CommandError, match=message):
        make_agent("ppo", CHOICES, with_module(make), seed=0, rows=ROWS)


def test_a_module_that_runs_into_nan_while_it_acts_has_diverged() -> None:
    class Root(Perceptron):
        def forward(self, x: Tensor) -> Tensor:
            return super().forward(x) + (x[:, :1] > 5.0) / (x[:, :1] <= 5.0).float() * 0.0

    config = replace(with_module(lambda inputs, outputs, spec: Root(inputs, outputs)), normalise_observations=False)
    agent = make_agent("ppo", CHOICES, config, seed=0, rows=ROWS)
    seen = np.zeros((ROWS, 3), np.float32)
    agent.act(seen, ActMode.GREEDY)
    seen[2, 0] = 9.0
    with pytest.raises(DivergedError, match="the network Root returned a number that is not finite in row 2"):
        agent.act(seen, ActMode.GREEDY)


def test_a_network_that_was_not_loaded_is_told() -> None:
    with pytest.raises(CommandError, match=r"'mine.py:Net' was not loaded: name its file with --network"):
        make_agent("ppo", CHOICES, replace(SMALL_PPO, network="mine.py:Net"), seed=0, rows=ROWS)


def test_an_unknown_network_is_told_with_those_there_are() -> None:
    with pytest.raises(CommandError, match=r"ppo.network must be mlp, gru, conv, attention or FILE.py:NAME, not 'mpl'"):
        PPOConfig(network="mpl")


def test_tied_parameters_stay_tied() -> None:
    class Tied(nn.Module):
        def __init__(self, inputs: int, outputs: int) -> None:
            super().__init__()
            self.one, self.head = nn.Linear(inputs, inputs), nn.Linear(inputs, outputs)
            self.other = self.one

        def forward(self, x: Tensor) -> Tensor:
            return self.head(self.other(torch.tanh(self.one(x))))  # type: ignore[no-any-return]

    parameters, network = built(with_module(lambda inputs, outputs, spec: Tied(inputs, outputs)))
    assert isinstance(network, ModuleNetwork)
    assert {name.split(".")[0] for name in parameters.value} == {"net/one", "net/head"}
    before = network(torch.ones(2, 3))
    parameters.value["net/one.weight"].mul_(2.0)
    assert not torch.equal(network(torch.ones(2, 3)), before)
