"""Our side of the comparison: an agent in a plain loop over the environments."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from reference_cases import Case, Stopwatch
from reference_envs import Evaluation, environments

from ecs_rl.agents import ActMode, Experience, make_agent
from ecs_rl.agents.base import Floats
from ecs_rl.agents.make import AGENTS


def train(case: Case, seed: int) -> dict[str, Any]:
    """Train until solved or out of steps; return steps, seconds and the step at which it was solved."""
    envs, evaluation = (
        environments(case.environment, range(seed * 1_000, seed * 1_000 + case.envs)),
        Evaluation(case.environment),
    )
    agent = make_agent(case.agent, envs.spec, AGENTS[case.agent].Config(**case.settings), seed=seed, rows=case.envs)

    def predict(seen: Floats) -> NDArray[Any]:
        return in_bounds(agent.act(seen, ActMode.GREEDY).action)

    def in_bounds(action: NDArray[Any]) -> NDArray[Any]:
        return action if action.dtype.kind == "i" else np.clip(action, -1.0, 1.0) * envs.bounds

    clock, steps, due, solved, best = Stopwatch(), 0, case.eval_every, None, -np.inf
    seen = envs.reset()
    while steps < case.steps and solved is None:
        decision = agent.act(seen, ActMode.EXPLORE)
        step = envs.step(in_bounds(decision.action))
        told = Experience(seen, decision.action, *step[:4], extras=decision.extras)
        agent.observe(told)
        for _ in agent.learn(steps / case.steps):
            pass
        seen, steps = step.seen, steps + case.envs
        if steps >= due:
            due += case.eval_every
            with clock.paused():
                best = max(best, evaluation.mean_return(predict))
            solved = steps if best >= case.solved else None
    return {"solved_step": solved, "steps": steps, "best": best, **clock.read()}
