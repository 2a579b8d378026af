"""How many gradient steps a second TD3 takes, beside the same mathematics in plain torch and autograd.

Both take the very same steps, turn by turn, from the same memory; `python tests/bench/bench_td3.py`.
"""

from __future__ import annotations

from copy import deepcopy

import torch
from bench_sac import LEVERS, OBSERVATIONS, SPEC, asked_for, compare, perceptron, settings_of
from torch import Tensor, nn

from ecs_rl.agents import TD3Config
from ecs_rl.agents.td3 import TD3


class Plain:
    """TD3 as it is written in textbooks."""

    def __init__(self, config: TD3Config) -> None:
        self.c, self.steps = config, 0
        self.policy = nn.Sequential(perceptron(OBSERVATIONS, *config.hidden, LEVERS), nn.Tanh())
        self.critics = nn.ModuleList(perceptron(OBSERVATIONS + LEVERS, *config.hidden, 1) for _ in range(2))
        self.target_policy, self.targets = deepcopy(self.policy), deepcopy(self.critics)
        self.adam = torch.optim.Adam(self.critics.parameters(), lr=config.lr)
        self.policy_adam = torch.optim.Adam(self.policy.parameters(), lr=config.lr)

    def step(self, x: Tensor, following: Tensor, action: Tensor, reward: Tensor, discount: Tensor) -> None:
        """Take one step of the critics, and every other time of policy and targets."""
        c = self.c
        with torch.no_grad():
            noise = (torch.randn_like(action) * c.target_noise).clamp(-c.noise_limit, c.noise_limit)
            then = (self.target_policy(following) + noise).clamp(-1.0, 1.0)
            seen = torch.cat([following, then], 1)
            goal = reward.unsqueeze(1) + discount.unsqueeze(1) * torch.minimum(*(q(seen) for q in self.targets))
        seen = torch.cat([x, action], 1)
        loss = torch.stack([0.5 * (q(seen) - goal).square().mean() for q in self.critics]).sum()
        self.adam.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        self.adam.step()
        self.steps += 1
        if self.steps % c.policy_every:
            return
        policy_loss = -self.critics[0](torch.cat([x, self.policy(x)], 1)).mean()
        self.policy_adam.zero_grad()
        policy_loss.backward()
        self.policy_adam.step()
        with torch.no_grad():
            for target, online in ((self.targets, self.critics), (self.target_policy, self.policy)):
                for slow, fast in zip(target.parameters(), online.parameters(), strict=True):
                    slow.lerp_(fast, c.target_share)


def main() -> None:
    """Print both rates and their ratio."""
    asked = asked_for(__doc__)
    config = TD3Config(**settings_of(asked))
    compare(TD3(SPEC, config, seed=0, rows=100), Plain(config).step, asked)


if __name__ == "__main__":
    main()
