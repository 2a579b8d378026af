"""Our side of the comparison: an agent in a plain loop over the environments."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from reference_cases import Case, Stopwatch
from reference_envs import Evaluation, environments, in_bounds

from ecs_rl.agents import ActMode, Agent, Experience, make_agent
from ecs_rl.agents.make import AGENTS
from ecs_rl.spaces import Bools, Floats


def train(case: Case, seed: int) -> dict[str, Any]:
    """Train until solved or out of steps; return steps, seconds and the step at which it was solved."""
    envs = environments(case.environment, range(seed * 1_000, seed * 1_000 + case.envs))
    evaluation = Evaluation(case.environment)
    agent = make_agent(case.agent, envs.spec, AGENTS[case.agent].Config(**case.settings), seed=seed, rows=case.envs)

    clock, steps, due, solved, best = Stopwatch(), 0, case.eval_every, None, -np.inf
    seen, state = envs.reset(), None
    while steps < case.steps and solved is None:
        decision = agent.act(seen, ActMode.EXPLORE, state)
        step = envs.step(in_bounds(decision.action, envs.bounds))
        told = Experience(seen, decision.action, *step[:4], extras=decision.extras)
        agent.observe(told)
        for _ in agent.learn(steps / case.steps):
            pass
        seen, state = step.seen, forgotten(decision.state, step.terminated | step.truncated)
        steps += case.envs
        if steps >= due:
            due += case.eval_every
            with clock.paused():
                best = max(best, evaluation.mean_return(Greedy(agent, envs.bounds)))
            solved = steps if best >= case.solved else None
    return {"solved_step": solved, "steps": steps, "best": best, **clock.read()}


class Greedy:
    """An agent's best actions, and what it remembers from one to the next."""

    def __init__(self, agent: Agent, bounds: NDArray[np.float64]) -> None:
        self._agent, self._bounds = agent, bounds
        self._state: Floats | None = None

    def __call__(self, seen: Floats, begins: Bools) -> NDArray[Any]:
        """Return (rows, ...) actions; what was remembered is forgotten where an episode begins."""
        decision = self._agent.act(seen, ActMode.GREEDY, forgotten(self._state, begins))
        self._state = decision.state
        return in_bounds(decision.action, self._bounds)


def forgotten(state: Floats | None, begins: Bools) -> Floats | None:
    """Return what is remembered of each row, zeros where an episode begins."""
    return None if state is None else np.where(begins[:, None], np.float32(0), state)
