"""How many gradient steps a second soft actor-critic takes, beside the same mathematics in plain torch and autograd.

Both take the very same steps, turn by turn, from the same memory; `python tests/bench/bench_sac.py`.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from copy import deepcopy
from itertools import pairwise
from time import perf_counter, process_time
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from ecs_rl.agents import ActMode, Continuous, Experience, PolicySpec, SACConfig
from ecs_rl.agents.replay_learner import ReplayLearner
from ecs_rl.agents.sac import SAC

OBSERVATIONS, LEVERS = 4, 1
SPEC = PolicySpec(tuple(f"x{i}" for i in range(OBSERVATIONS)), Continuous(tuple(f"u{i}" for i in range(LEVERS))))


def perceptron(*widths: int) -> nn.Sequential:
    """Return a plain network with ReLU between its layers."""
    layers = [layer for a, b in pairwise(widths) for layer in (nn.Linear(a, b), nn.ReLU())]
    return nn.Sequential(*layers[:-1])


class Plain:
    """Soft actor-critic for levers as it is written in textbooks."""

    def __init__(self, config: SACConfig) -> None:
        self.c = config
        self.policy = perceptron(OBSERVATIONS, *config.hidden, 2 * LEVERS)
        self.critics = [perceptron(OBSERVATIONS + LEVERS, *config.hidden, 1) for _ in range(2)]
        self.targets = deepcopy(self.critics)
        self.log_temperature = torch.zeros((), requires_grad=True)
        critics = [p for q in self.critics for p in q.parameters()]
        each: list[list[Tensor]] = [[*self.policy.parameters()], [*critics], [self.log_temperature]]
        self.adams = [torch.optim.Adam(parameters, lr=config.lr) for parameters in each]

    def drawn(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Return levers and the logarithm of their density."""
        mean, log_std = self.policy(x).chunk(2, 1)
        log_std = log_std.clamp(-10.0, 2.0)
        noise = torch.randn_like(mean)
        u = mean + log_std.exp() * noise
        slope = 2.0 * (np.log(2.0) - u - nn.functional.softplus(-2.0 * u))
        log_prob = (-0.5 * noise.square() - log_std - 0.5 * np.log(2.0 * np.pi) - slope).sum(1, keepdim=True)
        return torch.tanh(u), log_prob

    def step(self, x: Tensor, following: Tensor, action: Tensor, reward: Tensor, discount: Tensor) -> None:
        """Take one step of critics, policy and temperature."""
        heat = self.log_temperature.exp().detach()
        with torch.no_grad():
            then, log_prob = self.drawn(following)
            seen = torch.cat([following, then], 1)
            after = torch.minimum(*(q(seen) for q in self.targets)) - heat * log_prob
            goal = reward.unsqueeze(1) + discount.unsqueeze(1) * after
        seen = torch.cat([x, action], 1)
        loss = torch.stack([0.5 * (q(seen) - goal).square().mean() for q in self.critics]).sum()
        self.adams[1].zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        self.adams[1].step()
        would, log_prob = self.drawn(x)
        seen = torch.cat([x, would], 1)
        policy_loss = (heat * log_prob - torch.minimum(*(q(seen) for q in self.critics))).mean()
        self.adams[0].zero_grad()
        policy_loss.backward()  # type: ignore[no-untyped-call]
        self.adams[0].step()
        temperature_loss = -(self.log_temperature * (log_prob.detach() + self.c.lever_entropy * LEVERS)).mean()
        self.adams[2].zero_grad()
        temperature_loss.backward()  # type: ignore[no-untyped-call]
        self.adams[2].step()
        with torch.no_grad():
            for target, online in zip(self.targets, self.critics, strict=True):
                for slow, fast in zip(target.parameters(), online.parameters(), strict=True):
                    slow.lerp_(fast, self.c.target_share)


def filled(agent: ReplayLearner, rows: int = 100) -> None:
    """Fill the memory with random transitions."""
    random = np.random.default_rng(0)
    for _ in range(agent.config.memory // rows):
        x, after = random.normal(size=(2, rows, OBSERVATIONS)).astype(np.float32)
        decision = agent.act(x, ActMode.EXPLORE)
        over = random.random(rows) < 0.01
        reward = random.normal(size=rows).astype(np.float32)
        agent.observe(Experience(x, decision.action, reward, after, over, np.zeros(rows, bool)))


def rates(work: Callable[[], None], steps: int) -> tuple[float, float]:
    """Return steps a second of the clock and of the processor, which others on the machine do not slow as much."""
    clock, processor = perf_counter(), process_time()
    for _ in range(steps):
        work()
    return steps / (perf_counter() - clock), steps / (process_time() - processor)


def asked_for(about: str | None) -> argparse.Namespace:
    """Return what the command line says."""
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument("--batch", type=int, default=100)
    parser.add_argument("--hidden", type=int, nargs="+", default=[64, 64])
    parser.add_argument("--steps", type=int, default=500)
    parser.add_argument("--rounds", type=int, default=10)
    return parser.parse_args()


def settings_of(asked: argparse.Namespace) -> dict[str, Any]:
    """Return the settings of both sides."""
    hidden = tuple(asked.hidden)
    return {"batch": asked.batch, "hidden": hidden, "memory": 10_000, "warm_up": 0, "updates_per_step": 1_000}


def compare(agent: ReplayLearner, plain_step: Callable[..., None], asked: argparse.Namespace) -> None:
    """Print the rates of an agent and of its plain counterpart, and their ratio."""
    filled(agent)
    learning = agent.learn(0.0)
    measured: dict[str, list[tuple[float, float]]] = {"ours": [], "torch autograd": []}

    def replayed() -> list[Tensor]:
        # What our own steps have drawn is of inference mode, and autograd cannot remember it: a copy it can.
        return [part.clone() for part in agent._memory.draw(asked.batch, agent._random)[:5]]

    for _ in range(asked.rounds):
        measured["ours"].append(rates(lambda: next(learning), asked.steps))
        measured["torch autograd"].append(rates(lambda: plain_step(*replayed()), asked.steps // 5))
    name = agent.name.upper()
    print(f"{name}, {OBSERVATIONS} observations, {LEVERS} lever, {asked.hidden} ReLU, batch {asked.batch}, one thread")
    best = {side: tuple(max(rate) for rate in zip(*both, strict=True)) for side, both in measured.items()}
    for side, (clock, processor) in best.items():
        print(f"  {side:15} {clock:8,.0f} updates/s, {processor:8,.0f} a second of processor (best of {asked.rounds})")
    print(f"  {'ratio':15} {best['ours'][1] / best['torch autograd'][1]:8.1f}")


def main() -> None:
    """Print both rates and their ratio."""
    asked = asked_for(__doc__)
    config = SACConfig(**settings_of(asked))
    compare(SAC(SPEC, config, seed=0, rows=100), Plain(config).step, asked)


if __name__ == "__main__":
    main()
