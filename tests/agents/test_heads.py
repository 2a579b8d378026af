from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from ecs_rl.agents.heads import SPREAD, Categorical, Gaussian, head_of
from ecs_rl.agents.networks import Parameters
from ecs_rl.agents.ppo import clipped_objective
from ecs_rl.spaces import TRIGGER, Composed, Continuous, Discrete, Part, spans


def random(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def test_log_probabilities_and_entropy_of_choices_equal_a_plain_loop() -> None:
    logits = torch.randn(20, 4, generator=random(1)) * 3
    action = torch.randint(4, (20,), generator=random(2))
    log_prob, entropy = Categorical().forward(logits, action)
    expected, entropies = [], []
    for row, a in zip(logits.tolist(), action.tolist(), strict=True):
        p = [math.exp(x) / sum(math.exp(y) for y in row) for x in row]
        expected.append(math.log(p[a]))
        entropies.append(-sum(q * math.log(q) for q in p))
    np.testing.assert_allclose(log_prob, expected, rtol=1e-4, atol=1e-5)
    assert math.isclose(float(entropy), sum(entropies) / 20, rel_tol=1e-5)


def test_log_probabilities_and_entropy_of_continuous_actions_equal_a_plain_loop() -> None:
    mean, action = torch.randn(20, 3, generator=random(1)), torch.randn(20, 3, generator=random(2)) * 2
    log_std = torch.tensor([-1.0, 0.0, 0.5])
    log_prob, entropy = Gaussian(log_std, torch.zeros(3)).forward(mean, action)
    for row in range(20):
        expected = 0.0
        for m, a, s in zip(mean[row].tolist(), action[row].tolist(), log_std.exp().tolist(), strict=True):
            expected += math.log(math.exp(-0.5 * ((a - m) / s) ** 2) / (s * math.sqrt(2 * math.pi)))
        assert math.isclose(float(log_prob[row]), expected, rel_tol=1e-4, abs_tol=1e-4)
    by_hand = sum(0.5 * math.log(2 * math.pi * math.e * math.exp(2 * s)) for s in log_std.tolist())
    assert math.isclose(float(entropy), by_hand, rel_tol=1e-5)


def test_choices_are_drawn_as_often_as_they_are_probable() -> None:
    logits = torch.tensor([[0.0, 1.0, -1.0]]).repeat(30_000, 1)
    action, log_prob = Categorical().sample(logits, random())
    shares = torch.bincount(action, minlength=3) / len(action)
    torch.testing.assert_close(shares, torch.softmax(logits[0], -1), rtol=0, atol=0.01)
    torch.testing.assert_close(log_prob, torch.log_softmax(logits, -1).gather(1, action[:, None])[:, 0])


def test_continuous_actions_are_drawn_around_the_mean_and_never_clipped() -> None:
    head = Gaussian(torch.tensor([0.5, -2.0]), torch.zeros(2))
    mean = torch.tensor([[2.0, -1.0]]).repeat(30_000, 1)
    action, log_prob = head.sample(mean, random())
    torch.testing.assert_close(action.mean(0), mean[0], rtol=0, atol=0.03)
    torch.testing.assert_close(action.std(0), torch.tensor([0.5, -2.0]).exp(), rtol=0.02, atol=0)
    assert float(action.max()) > 1.0
    torch.testing.assert_close(log_prob, head.forward(mean, action)[0], rtol=1e-4, atol=1e-4)


def test_the_clipped_loss_and_its_gradient_equal_a_plain_loop() -> None:
    ratio = torch.cat([torch.rand(40, generator=random(1)) * 2, torch.tensor([1.0, 0.8, 1.2])])
    advantage = torch.randn(43, generator=random(2))
    loss, grad = clipped_objective(ratio, advantage, 0.2)
    total, gradients = 0.0, []
    for r, a in zip(ratio.tolist(), advantage.tolist(), strict=True):
        clipped = min(max(r, 0.8), 1.2)
        total += min(r * a, clipped * a)
        gradients.append(-r * a / 43 if r * a <= clipped * a + 1e-7 else 0.0)
    assert math.isclose(float(loss), -total / 43, rel_tol=1e-5)
    np.testing.assert_allclose(grad, gradients, rtol=1e-4, atol=1e-7)


def test_the_gradient_of_the_whole_discrete_loss_equals_autograd() -> None:
    logits = torch.randn(30, 4, generator=random(1)).requires_grad_()
    action, old = torch.randint(4, (30,), generator=random(2)), torch.full((30,), -1.4)
    advantage = torch.randn(30, generator=random(3))
    distribution = torch.distributions.Categorical(logits=logits)
    ratio = (distribution.log_prob(action) - old).exp()  # type: ignore[no-untyped-call]
    surrogate = torch.minimum(ratio * advantage, ratio.clamp(0.8, 1.2) * advantage).mean()
    (-surrogate - 0.3 * distribution.entropy().mean()).backward()  # type: ignore[no-untyped-call]

    head = Categorical()
    log_prob, _ = head.forward(logits.detach(), action)
    grad = head.backward(clipped_objective((log_prob - old).exp(), advantage, 0.2)[1], -0.3)
    torch.testing.assert_close(grad, logits.grad, rtol=1e-4, atol=1e-6)


def test_the_gradient_of_the_whole_continuous_loss_equals_autograd() -> None:
    mean = torch.randn(30, 2, generator=random(1)).requires_grad_()
    log_std = torch.tensor([-0.4, 0.3], requires_grad=True)
    action, old = torch.randn(30, 2, generator=random(2)), torch.full((30,), -3.0)
    advantage = torch.randn(30, generator=random(3))
    distribution = torch.distributions.Normal(mean, log_std.exp())
    ratio = (distribution.log_prob(action).sum(-1) - old).exp()  # type: ignore[no-untyped-call]
    surrogate = torch.minimum(ratio * advantage, ratio.clamp(0.8, 1.2) * advantage).mean()
    (-surrogate - 0.3 * distribution.entropy().sum(-1).mean()).backward()  # type: ignore[no-untyped-call]

    log_std_grad = torch.zeros(2)
    head = Gaussian(log_std.detach(), log_std_grad)
    log_prob, _ = head.forward(mean.detach(), action)
    grad = head.backward(clipped_objective((log_prob - old).exp(), advantage, 0.2)[1], -0.3)
    torch.testing.assert_close(grad, mean.grad, rtol=1e-4, atol=1e-6)
    torch.testing.assert_close(log_std_grad, log_std.grad, rtol=1e-4, atol=1e-6)


STEER, GAS, FIRE = Discrete(("left", "stay", "right"), "steer"), Continuous(("gas", "brake")), Discrete(TRIGGER, "fire")
MIXTURES = [(STEER, GAS, FIRE), (GAS, STEER), (FIRE, Continuous(("aim",)), STEER, GAS), (FIRE, STEER), (GAS,)]


def drawn(space: Composed, rows: int) -> torch.Tensor:
    """Return random actions of a space; what is set to a lever may lie outside -1 to 1."""
    action = torch.from_numpy(space.random(np.random.default_rng(5), rows))
    return torch.where(action == action.round(), action, action * 2)


def spreads(log_std: torch.Tensor) -> Parameters:
    """Return parameters that hold these spreads, and a gradient that is not theirs."""
    parameters = Parameters({SPREAD: tuple(log_std.shape)} if len(log_std) else {}, log_std)
    parameters.flat_grad.fill_(99.0)
    return parameters


@pytest.mark.parametrize("parts", MIXTURES)
def test_log_probabilities_and_entropy_of_a_mixture_equal_a_plain_loop_over_its_parts(parts: tuple[Part, ...]) -> None:
    space = Composed(parts)
    output, action = torch.randn(20, len(space.names), generator=random(1)) * 2, drawn(space, 20)
    log_std = torch.linspace(-1.0, 0.5, space.levers)
    log_prob, entropy = head_of(space, spreads(log_std)).forward(output, action)
    entropies = []
    for row in range(20):
        outputs, columns, stds = (iter(t.tolist()) for t in (output[row], action[row], log_std.exp()))
        expected = row_entropy = 0.0
        for part in parts:
            if isinstance(part, Discrete):
                weights = [math.exp(next(outputs)) for _ in part.names]
                p = [weight / sum(weights) for weight in weights]
                expected += math.log(p[int(next(columns))])
                row_entropy -= sum(q * math.log(q) for q in p)
            else:
                for _ in part.names:
                    mean, a, std = next(outputs), next(columns), next(stds)
                    expected += -0.5 * ((a - mean) / std) ** 2 - math.log(std * math.sqrt(2 * math.pi))
                    row_entropy += 0.5 * math.log(2 * math.pi * math.e * std**2)
        entropies.append(row_entropy)
        assert math.isclose(float(log_prob[row]), expected, rel_tol=1e-4, abs_tol=1e-4)
    assert math.isclose(float(entropy), sum(entropies) / 20, rel_tol=1e-5)


@pytest.mark.parametrize("parts", MIXTURES)
def test_the_gradient_of_the_whole_loss_of_a_mixture_equals_autograd(parts: tuple[Part, ...]) -> None:
    space = Composed(parts)
    output = torch.randn(30, len(space.names), generator=random(1)).requires_grad_()
    log_std = torch.linspace(-0.4, 0.3, space.levers).requires_grad_()
    action, advantage = drawn(space, 30), torch.randn(30, generator=random(3))
    log_prob, entropy, lever = torch.zeros(30), torch.zeros(30), 0
    for part, columns, outputs in spans(space):
        pi: torch.distributions.Distribution
        if isinstance(part, Discrete):
            pi, taken = torch.distributions.Categorical(logits=output[:, outputs]), action[:, columns.start]
        else:
            std = log_std[lever : lever + part.levers].exp()
            pi = torch.distributions.Independent(torch.distributions.Normal(output[:, outputs], std), 1)
            taken, lever = action[:, columns], lever + part.levers
        log_prob = log_prob + pi.log_prob(taken)  # type: ignore[no-untyped-call]
        entropy = entropy + pi.entropy()  # type: ignore[no-untyped-call]
    old = log_prob.detach() + 0.2 * torch.randn(30, generator=random(4))
    ratio = (log_prob - old).exp()
    surrogate = torch.minimum(ratio * advantage, ratio.clamp(0.8, 1.2) * advantage).mean()
    (-surrogate - 0.3 * entropy.mean()).backward()  # type: ignore[no-untyped-call]

    parameters = spreads(log_std.detach())
    head = head_of(space, parameters)
    own_log_prob, _ = head.forward(output.detach(), action)
    grad = head.backward(clipped_objective((own_log_prob - old).exp(), advantage, 0.2)[1], -0.3)
    torch.testing.assert_close(grad, output.grad, rtol=1e-4, atol=1e-6)
    if space.levers:
        torch.testing.assert_close(parameters.grad[SPREAD], log_std.grad, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("parts", MIXTURES)
def test_what_is_drawn_of_a_mixture_is_an_action_with_the_log_probability_that_it_is_told(
    parts: tuple[Part, ...],
) -> None:
    space = Composed(parts)
    head = head_of(space, spreads(torch.linspace(-1.0, 0.5, space.levers)))
    output = torch.randn(50, len(space.names), generator=random(1))
    action, log_prob = head.sample(output, random(2))
    assert space.wrong(action.numpy(), 50) is None
    assert space.wrong(head.best(output).numpy(), 50) is None
    torch.testing.assert_close(log_prob, head.forward(output, action)[0], rtol=1e-4, atol=1e-4)
    assert (head.forward(output, head.best(output))[0] >= log_prob - 1e-4).all(), "the best is the most probable"
