"""How many gradient steps a second IQL takes, beside the same mathematics in plain torch and autograd.

Both take the very same steps, turn by turn, from the same memory; `python tests/bench/bench_iql.py`.
"""

from __future__ import annotations

from copy import deepcopy

import torch
from bench_sac import LEVERS, OBSERVATIONS, SPEC, asked_for, compare, perceptron, settings_of
from torch import Tensor, nn

from ecs_rl.agents import IQLConfig
from ecs_rl.agents.iql import IQL, LARGEST, SMALLEST


class Plain:
    """IQL as it is written in textbooks."""

    def __init__(self, config: IQLConfig) -> None:
        self.c, self.square = config, 0.0
        self.policy = perceptron(OBSERVATIONS, *config.hidden, LEVERS)
        self.log_std = nn.Parameter(torch.full((LEVERS,), config.log_std))
        self.value = perceptron(OBSERVATIONS, *config.hidden, 1)
        self.critics = nn.ModuleList(perceptron(OBSERVATIONS + LEVERS, *config.hidden, 1) for _ in range(2))
        self.targets = deepcopy(self.critics)
        parts = [[*self.policy.parameters(), self.log_std], self.value.parameters(), self.critics.parameters()]
        self.adams = [torch.optim.Adam(part, lr=config.lr) for part in parts]

    def step(self, x: Tensor, following: Tensor, action: Tensor, reward: Tensor, discount: Tensor) -> None:
        """Take one step of policy, value and critics, and let the targets follow."""
        c, seen = self.c, torch.cat([x, action], 1)
        with torch.no_grad():
            judged = torch.minimum(*(q(seen) for q in self.targets))[:, 0]
            goal = reward + discount * self.value(following)[:, 0]
        u = judged - self.value(x)[:, 0]
        value_loss = (torch.where(u < 0, 1.0 - c.expectile, c.expectile) * u.square()).mean()
        critics_loss = torch.stack([0.5 * (q(seen)[:, 0] - goal).square().mean() for q in self.critics]).sum()
        advantage = u.detach()
        square = float(advantage.square().mean())
        self.square += (square - self.square) * (0.005 if self.square else 1.0)
        weight = (c.beta * advantage / self.square**0.5).exp().clamp(max=100.0)
        does = torch.distributions.Normal(self.policy(x), self.log_std.exp(), validate_args=False)
        policy_loss = -(weight * does.log_prob(action).sum(1)).mean()  # type: ignore[no-untyped-call]
        for adam, loss in zip(self.adams, (policy_loss, value_loss, critics_loss), strict=True):
            adam.zero_grad()
            loss.backward()
            adam.step()
        with torch.no_grad():
            self.log_std.clamp_(SMALLEST, LARGEST)
            for slow, fast in zip(self.targets.parameters(), self.critics.parameters(), strict=True):
                slow.lerp_(fast, c.target_share)


def main() -> None:
    """Print both rates and their ratio."""
    asked = asked_for(__doc__)
    config = IQLConfig(**settings_of(asked), normalise_observations=False)
    compare(IQL(SPEC, config, seed=0, rows=100), Plain(config).step, asked)


if __name__ == "__main__":
    main()
