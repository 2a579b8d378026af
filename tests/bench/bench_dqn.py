"""How fast a gradient step of DQN is: `python tests/bench/bench_dqn.py [--batch 128] [--hidden 64 64] [--rounds 15]`.

Each variant against the same maths in plain torch: `torch.nn` modules, autograd, `clip_grad_norm_` and
`torch.optim.Adam`, drawing from tensors of the same memory. By turns in one process on one thread; processor time is
what is measured, and the fastest round of each counts, since others may use the machine meanwhile.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from itertools import pairwise
from time import process_time
from typing import Any

import numpy as np
import torch
from torch import nn

from ecs_rl.agents import ActMode, Discrete, DQNConfig, Experience, PolicySpec
from ecs_rl.agents.dqn import DQN

ROWS, NUMBERS, STEPS = 64, 8, 200
SPEC = PolicySpec(tuple(f"x{i}" for i in range(NUMBERS)), Discrete(("coast", "left", "main", "right")))
VARIANTS: dict[str, dict[str, Any]] = {
    "plain": {},
    "dueling": {"dueling": True},
    "slow targets": {"target_every": 1, "target_rate": 0.005},
    "n-step 3": {"n_step": 3},
    "prioritised": {"priority": 0.6},
    "8 quantiles": {"quantiles": 8},
}


def filled(config: DQNConfig) -> DQN:
    """Return an agent whose memory is full of random transitions."""
    agent, random = DQN(SPEC, config, seed=0, rows=ROWS), np.random.default_rng(0)
    for _ in range(config.memory // ROWS + config.n_step):
        before, after = random.normal(size=(2, ROWS, NUMBERS)).astype(np.float32)
        reward, ends = random.normal(size=ROWS).astype(np.float32), random.random(ROWS) < 0.02
        action = agent.act(before, ActMode.EXPLORE).action
        agent.observe(Experience(before, action, reward, after, ends, ends & False))
    return agent


def ours(agent: DQN) -> Callable[[], None]:
    """Return one gradient step of the agent."""
    return partial(agent.learn_once, 0.5)


def plain_torch(agent: DQN) -> Callable[[], None]:
    """Return one gradient step as a tutorial writes it, without anything that a setting adds."""
    c, random = agent.config, torch.Generator().manual_seed(0)
    widths = (NUMBERS, *c.hidden)

    def network() -> nn.Sequential:
        hidden = [layer for a, b in pairwise(widths) for layer in (nn.Linear(a, b), nn.ReLU())]
        return nn.Sequential(*hidden, nn.Linear(widths[-1], len(SPEC.actions.names)))

    online, target = network(), network()
    adam = torch.optim.Adam(online.parameters(), lr=c.lr)
    rows = agent._memory._table
    n = NUMBERS
    seen, after = rows[:, :n].contiguous(), rows[:, n : 2 * n].contiguous()
    action, reward, discount = rows[:, 2 * n].long(), rows[:, -2].contiguous(), rows[:, -1].contiguous()

    def step() -> None:
        at = torch.randint(len(rows), (c.batch,), generator=random)
        with torch.no_grad():
            best = online(after[at]).argmax(1, keepdim=True)
            goal = reward[at] + discount[at] * target(after[at]).gather(1, best).squeeze(1)
        q = online(seen[at]).gather(1, action[at].unsqueeze(1)).squeeze(1)
        loss = nn.functional.smooth_l1_loss(q, goal)
        adam.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        nn.utils.clip_grad_norm_(online.parameters(), c.max_grad_norm)
        adam.step()
        loss.item()

    return step


def seconds(step: Callable[[], None]) -> float:
    """Return the processor time of a step, the mean of some."""
    began = process_time()
    for _ in range(STEPS):
        step()
    return (process_time() - began) / STEPS


def main() -> None:
    """Print gradient steps a second, and how many times those of plain torch they are."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batch", type=int, default=128)
    parser.add_argument("--hidden", type=int, nargs="*", default=[64, 64])
    parser.add_argument("--rounds", type=int, default=15)
    asked = parser.parse_args()
    torch.set_num_threads(1)
    config = DQNConfig(batch=asked.batch, hidden=tuple(asked.hidden), memory=50_000, n_step=1)
    plain = replace(config, dueling=False, priority=0.0, target_every=100, target_rate=1.0)
    agents = {name: filled(replace(plain, **more)) for name, more in VARIANTS.items()}
    steps = {name: ours(agent) for name, agent in agents.items()} | {"plain torch": plain_torch(agents["plain"])}
    fastest = dict.fromkeys(steps, float("inf"))
    for _ in range(asked.rounds):
        for name, step in steps.items():
            fastest[name] = min(fastest[name], seconds(step))
    print(f"DQN, batch {asked.batch}, hidden {asked.hidden}, {NUMBERS} numbers seen, 4 options, one thread")
    for name, took in fastest.items():
        ratio = fastest["plain torch"] / took
        print(f"  {name:13} {1 / took:8,.0f} gradient steps/s   {took * 1e6:5.0f} us   {ratio:5.2f}x")


if __name__ == "__main__":
    main()
