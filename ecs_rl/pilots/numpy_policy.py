"""A saved policy played by numpy alone."""

from __future__ import annotations

import numpy as np

from ecs_rl.errors import CheckpointError
from ecs_rl.pilots.ops import Array, NumpyOps, Ops, V
from ecs_rl.pilots.pilot_heads import Head, PilotMask
from ecs_rl.pilots.pilot_networks import Scaling, finite, network_of
from ecs_rl.pilots.source import MALFORMED, SavedPolicy


class NumpyPolicy:
    """Scaling, network and head of a saved policy; CheckpointError where they do not fit each other."""

    def __init__(self, saved: SavedPolicy, seed: int = 0) -> None:
        if bad := finite(saved.tensors):
            raise CheckpointError(f"the policy in {saved.path} is none: {bad[0]} is not finite; use another checkpoint")
        self._random, self._ops = np.random.default_rng(seed), NumpyOps()
        try:
            self._scaling, self._network, self._mask = Scaling(saved), network_of(saved), PilotMask(saved)
            self.state = self._network.state
            seen, nothing = (np.zeros((1, n), np.float32) for n in (len(saved.spec.observations), self.state))
            self.head = Head(saved, self.outputs(self._ops, seen, nothing)[0].shape[1])
        except MALFORMED as error:
            reason = f"{error} is missing" if isinstance(error, KeyError) else error
            where = f"{saved.path} does not fit its own settings"
            raise CheckpointError(f"{where}: {reason}; use another checkpoint") from error

    def outputs(self, ops: Ops[V], x: V, state: V) -> tuple[V, V]:
        """Return (rows, outputs) of the network, and what is remembered from here on."""
        scaled = self._scaling(ops, x)
        output, after = self._network(ops, scaled, state)
        return self._mask(ops, output, scaled), after

    def act(self, x: Array, state: Array, sample: bool) -> tuple[Array, Array]:
        """Return (rows,) or (rows, columns) actions, and what is remembered from here on."""
        output, state = self.outputs(self._ops, x, state)
        return self.head.sample(output, self._random) if sample else self.head.best(self._ops, output), state
