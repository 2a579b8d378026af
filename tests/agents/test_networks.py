from __future__ import annotations

import pytest
import torch

from ecs_rl.agents.config import Activation
from ecs_rl.agents.networks import MLP, Adam, Parameters

SIZES = (4, 7, 5, 2)


def network(activation: Activation, seed: int = 0) -> tuple[Parameters, MLP]:
    parameters = Parameters(MLP.shapes("net", SIZES))
    mlp = MLP(parameters, "net", 3, activation)
    mlp.initialise(torch.Generator().manual_seed(seed), head_gain=1.0)
    parameters.flat.add_(torch.linspace(-0.1, 0.1, len(parameters.flat)))
    return parameters, mlp


def by_autograd(
    parameters: Parameters, activation: Activation, x: torch.Tensor
) -> tuple[torch.Tensor, dict[str, torch.Tensor]]:
    leaves = {name: value.clone().requires_grad_() for name, value in parameters.value.items()}
    for i in range(3):
        x = x @ leaves[f"net/{i}.weight"].T + leaves[f"net/{i}.bias"]
        if i < 2:
            x = torch.tanh(x) if activation == "tanh" else torch.relu(x)
    return x, leaves


@pytest.mark.parametrize("activation", ["tanh", "relu"])
@pytest.mark.parametrize("rows", [1, 3, 50])
def test_forward_and_backward_equal_those_of_autograd(activation: Activation, rows: int) -> None:
    parameters, mlp = network(activation)
    x = torch.randn(rows, 4, generator=torch.Generator().manual_seed(1))
    grad = torch.randn(rows, 2, generator=torch.Generator().manual_seed(2))
    expected, leaves = by_autograd(parameters, activation, x)
    (expected * grad).sum().backward()  # type: ignore[no-untyped-call]

    output = mlp.forward(x)
    mlp.backward(grad)

    torch.testing.assert_close(output, expected.detach(), rtol=1e-5, atol=1e-6)
    assert torch.equal(output, mlp(x))
    for name, leaf in leaves.items():
        torch.testing.assert_close(parameters.grad[name], leaf.grad, rtol=1e-4, atol=1e-5, msg=name)


def test_the_layers_start_orthogonal_with_the_usual_gains() -> None:
    parameters = Parameters(MLP.shapes("net", (6, 8, 3)))
    MLP(parameters, "net", 2, "tanh").initialise(torch.Generator().manual_seed(0), head_gain=0.01)
    hidden, head = parameters.value["net/0.weight"], parameters.value["net/1.weight"]
    torch.testing.assert_close(hidden.T @ hidden, 2.0 * torch.eye(6), rtol=0, atol=1e-5)
    torch.testing.assert_close(head @ head.T, 1e-4 * torch.eye(3), rtol=0, atol=1e-8)
    assert not parameters.value["net/0.bias"].any()


def test_adam_equals_torchs_own_optimiser() -> None:
    parameters, _ = network("tanh")
    adam = Adam(parameters, eps=1e-5)
    theirs = parameters.flat.clone().requires_grad_()
    optimiser = torch.optim.Adam([theirs], lr=1e-2, eps=1e-5)
    random = torch.Generator().manual_seed(3)
    for lr in (1e-2, 5e-3, 1e-3):
        parameters.flat_grad.copy_(torch.randn(len(parameters.flat_grad), generator=random))
        theirs.grad = parameters.flat_grad.clone()
        optimiser.param_groups[0]["lr"] = lr
        adam.step(lr)
        optimiser.step()
    torch.testing.assert_close(parameters.flat, theirs.detach(), rtol=1e-5, atol=1e-7)


def test_a_long_gradient_is_cut_to_the_norm_and_a_short_one_left_alone() -> None:
    parameters, _ = network("tanh")
    parameters.flat_grad.fill_(1.0)
    length = len(parameters.flat_grad) ** 0.5
    assert parameters.clip_gradient(0.5) == pytest.approx(length)
    assert float(parameters.flat_grad.norm()) == pytest.approx(0.5, rel=1e-5)
    before = parameters.flat_grad.clone()
    parameters.clip_gradient(0.6)
    assert torch.equal(parameters.flat_grad, before)
