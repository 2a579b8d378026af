"""What the algorithms share: random streams of their own, and all that follows from the state that each declares."""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray

from ecs_rl.agents.base import PolicySpec, State
from ecs_rl.agents.networks import Parameters, Shapes
from ecs_rl.agents.state import Parts, check_finite, check_loadable, copies, load


class Learner(ABC):
    """Parameters and a state by name; an algorithm adds how it acts and learns."""

    MAY_BE_UNKNOWN: ClassVar[tuple[str, ...]] = ()
    """Parts of a policy that are NaN where they are not known."""

    def __init__(self, spec: PolicySpec, shapes: Shapes, *, seed: int, rows: int, discount: float) -> None:
        self.spec, self.rows, self.discount = spec, rows, discount
        self._parameters = Parameters(shapes)
        # Independent streams: neighbouring seeds share none. Whoever watches draws from the last one.
        words = np.random.SeedSequence(seed).generate_state(3, np.uint64)
        self._first, self._random, self._sample_random = (torch.Generator().manual_seed(int(word)) for word in words)

    @abstractmethod
    def _policy_parts(self) -> Parts:
        """Return what acting needs, by the names that it has in files."""

    @abstractmethod
    def _learning_parts(self) -> Parts:
        """Return what continuing exactly needs besides."""

    @abstractmethod
    def _check(self, state: State) -> None:
        """Refuse a state that fits by its shapes and still cannot be; nothing has been loaded yet."""

    def _check_observation(self, observation: NDArray[Any], rows: int | None) -> None:
        """Refuse a batch of the wrong shape, which numpy would silently broadcast."""
        wanted = (len(observation) if rows is None else rows, len(self.spec.observations))
        if observation.shape != wanted:
            raise ValueError(
                f"{self.spec.name}: observations have shape {observation.shape}, this agent takes {wanted}"
            )

    def is_finite(self) -> bool:
        """Tell whether every parameter is a finite number."""
        return bool(torch.isfinite(self._parameters.flat).all())

    def parameters_sha256(self) -> str:
        """Return the SHA-256 over all parameters in the order of their names, as little-endian float32."""
        digest = hashlib.sha256()
        for name in sorted(self._parameters.value):
            digest.update(self._parameters.value[name].numpy().astype("<f4").tobytes())
        return digest.hexdigest()

    def policy_state(self) -> State:
        """Return copies of all that acting needs."""
        return copies(self._policy_parts())

    def load_policy_state(self, state: State) -> None:
        """Take over a policy saved by `policy_state`."""
        parts = self._policy_parts()
        check_loadable(parts, state)
        check_finite({name: tensor for name, tensor in state.items() if name not in self.MAY_BE_UNKNOWN})
        load(parts, state)

    def state(self) -> State:
        """Return copies of everything that continuing exactly needs."""
        return copies(self._parts())

    def load_state(self, state: State) -> None:
        """Continue exactly where `state` was taken."""
        check_loadable(self._parts(), state)
        self._check(state)
        load(self._parts(), state)

    def _parts(self) -> Parts:
        streams = {"random/train": self._random, "random/sample": self._sample_random}
        return {**self._policy_parts(), **self._learning_parts(), **streams}
