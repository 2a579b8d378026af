"""A saved policy played by the very algorithm that learned it."""

from __future__ import annotations

import msgspec
import torch

from ecs_rl.agents.base import Agent, State
from ecs_rl.agents.make import AGENTS, make_agent
from ecs_rl.agents.state import check_parameters
from ecs_rl.errors import CheckpointError, CommandError
from ecs_rl.pilots.ops import Array
from ecs_rl.pilots.source import SavedPolicy
from ecs_rl.spaces import ActMode


class TorchPolicy:
    """The agent of a saved policy, as `play.py` makes it; torch's settings stay as they are."""

    def __init__(self, saved: SavedPolicy, seed: int = 0) -> None:
        if saved.agent not in AGENTS:
            cure = "play it with backend='numpy'"
            raise CheckpointError(f"{saved.path} was made by '{saved.agent}', which this version does not know: {cure}")
        threads = torch.get_num_threads()
        try:
            config = msgspec.convert(saved.config, AGENTS[saved.agent].Config)
            config = config.after(saved.step)
            policy = {name: torch.from_numpy(tensor) for name, tensor in saved.tensors.items()}
            check_parameters(str(saved.path), {saved.spec.name: saved.spec}, saved.agent, config, policy)
            self.agent = make_agent(saved.agent, saved.spec, config, seed=seed, rows=1)
            _load(self.agent, policy, saved)
        except (msgspec.ValidationError, CommandError) as error:
            raise CheckpointError(f"{saved.path}: its settings of {saved.agent} cannot be used: {error}") from None
        finally:
            torch.set_num_threads(threads)
        self.state = self.agent.spec.state

    def act(self, x: Array, state: Array, sample: bool) -> tuple[Array, Array]:
        """Return (rows,) or (rows, columns) actions, and what is remembered from here on."""
        mode = ActMode.SAMPLE if sample else ActMode.GREEDY
        decision = self.agent.act(x, mode, state if self.state else None)
        return self.agent.spec.actions.clipped(decision.action), state if decision.state is None else decision.state


def _load(agent: Agent, policy: State, saved: SavedPolicy) -> None:
    """Let an agent take over a policy; CheckpointError with its file where it cannot."""
    try:
        agent.load_policy_state(policy)
    except CheckpointError as error:
        raise CheckpointError(f"{saved.path} does not fit its own settings: {error}") from None
