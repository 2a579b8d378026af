"""Why an agent does what it does: by how much each number that it sees pulls on one of its outputs.

A pull is gradient times input (Shrikumar et al. 2017): the network's input, which is the observation shifted and scaled
by the normaliser where there is one, times the output's derivative by it. Nothing in the agent changes: the output is
worked out anew by operations that autograd follows, apart from what learning keeps for its own gradients.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

import numpy as np
import torch
from torch import Tensor

from ecs_rl.spaces import ActionSpace, Continuous, Floats, spans


@runtime_checkable
class Traceable(Protocol):
    """An agent whose outputs can be followed back to what it saw; not every agent's can."""

    def inputs(self, observation: Floats) -> Tensor:
        """Return (rows, numbers) what the network is given for observations."""

    def traced(self, x: Tensor, state: Tensor) -> Tensor:
        """Return (rows, actions) of such inputs and of what is remembered, by operations that autograd follows.

        They stand in the order of the spec: each option's log-probability, or its value, and each lever's mean.
        """


def pulls(agent: object, observation: Floats, outputs: Sequence[int], state: Floats) -> Floats | None:
    """Return (outputs, numbers) each number's pull on these outputs, for one row; None where an agent cannot tell.

    `observation` is (1, numbers), `state` (1, numbers) what was remembered.
    """
    if not isinstance(agent, Traceable):
        return None
    with torch.inference_mode(False), torch.enable_grad():
        x = agent.inputs(observation).clone().requires_grad_()
        followed = agent.traced(x, torch.tensor(state, dtype=torch.float32))
        slopes = [torch.autograd.grad(followed[0, output], x, retain_graph=True)[0][0] for output in outputs]
        pulled = [slope * x.detach()[0] for slope in slopes]
    return np.stack([each.numpy() for each in pulled]) if pulled else np.zeros((0, x.shape[1]), np.float32)


def log_probabilities(output: Tensor, space: ActionSpace) -> Tensor:
    """Return the outputs of a policy with each choice's turned into log-probabilities; levers stay as they are."""
    parts = [
        output[:, outputs] if isinstance(part, Continuous) else torch.log_softmax(output[:, outputs], 1)
        for part, _, outputs in spans(space)
    ]
    return torch.cat(parts, 1)
