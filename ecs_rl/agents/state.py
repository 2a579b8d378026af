"""An agent's state is declared once, by name; copying, checking and loading it follow from that.

A part of a state is a tensor or a random generator, written into where it is, an `Attribute`, or `Filled` rows. The
algorithms share `Learner`, which does all of that for the parts that they name.
"""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ecs_rl.agents.base import State
from ecs_rl.agents.networks import Parameters, Shapes
from ecs_rl.errors import CheckpointError
from ecs_rl.spaces import PolicySpec

T = TypeVar("T")


@dataclass(frozen=True)
class Attribute:
    """A whole number, or a tensor of any length, that its owner replaces."""

    owner: object
    name: str


@dataclass(frozen=True)
class Filled:
    """The first `owner.size` rows of a tensor."""

    owner: Any
    rows: Tensor


Part = Tensor | torch.Generator | Attribute | Filled
Parts = Mapping[str, Part]


def prefixed(prefix: str, parts: Mapping[str, T]) -> dict[str, T]:
    """Return the same parts under `prefix/name`."""
    return {f"{prefix}/{name}": part for name, part in parts.items()}


def under(prefix: str, state: Mapping[str, T]) -> dict[str, T]:
    """Return the parts under `prefix/`, without the prefix: the inverse of `prefixed`."""
    start = f"{prefix}/"
    return {name.removeprefix(start): part for name, part in state.items() if name.startswith(start)}


def copies(parts: Parts) -> State:
    """Return the present state; copies."""
    return {name: _now(part).clone() for name, part in parts.items()}


def check_loadable(parts: Parts, state: State) -> None:
    """Refuse a state with other names, shapes or types."""
    growing = [name for name, part in parts.items() if isinstance(part, Attribute | Filled)]
    check_fits(state, {name: _now(part) for name, part in parts.items()}, growing)


def load(parts: Parts, state: State) -> None:
    """Take over a state that `check_loadable` has passed; CheckpointError where random numbers cannot go on."""
    for name, part in parts.items():
        saved = state[name]
        match part:
            case Tensor():
                part.copy_(saved)
            case Filled():
                part.rows[: len(saved)].copy_(saved)
                part.owner.size = len(saved)
            case Attribute():
                setattr(part.owner, part.name, saved.clone() if saved.ndim else int(saved))
            case torch.Generator():
                try:
                    part.set_state(saved)
                except RuntimeError as error:
                    told = f"the saved random numbers cannot go on: {error}; use another checkpoint"
                    raise CheckpointError(told) from error


def _now(part: Part) -> Tensor:
    """Return a part as a tensor, shared where that is possible."""
    match part:
        case torch.Generator():
            return part.get_state()
        case Filled():
            return part.rows[: part.owner.size]
        case Attribute():
            return torch.as_tensor(getattr(part.owner, part.name))
    return part


def check_fits(given: State, expected: State, growing: Collection[str] = (), what: str = "agent") -> None:
    """Refuse a state whose names, shapes or types differ; tensors named in `growing` may differ in length."""
    problems = [f"{name} is missing" for name in sorted(expected.keys() - given.keys())]
    problems += [f"{name} is unknown" for name in sorted(given.keys() - expected.keys())]
    for name in sorted(expected.keys() & given.keys()):
        ours, theirs = expected[name], given[name]
        skip = 1 if name in growing else 0
        if ours.ndim != theirs.ndim or ours.shape[skip:] != theirs.shape[skip:]:
            problems.append(f"{name} has shape {tuple(theirs.shape)}, this {what}'s has {tuple(ours.shape)}")
        elif ours.dtype != theirs.dtype:
            problems.append(f"{name} holds {theirs.dtype}, this {what}'s {ours.dtype}")
    if problems:
        told = f"the saved {what} does not fit this one (other scene, arenas or settings?)"
        raise CheckpointError(f"{told}: {_some(problems)}")


def check_finite(parameters: State) -> None:
    """Refuse a policy of numbers that are not finite: it would act, always alike, as if it were one."""
    bad = [name for name, tensor in parameters.items() if not bool(torch.isfinite(tensor).all())]
    if bad:
        raise CheckpointError(f"the saved policy is none: {_some([f'{name} is not finite' for name in bad])}")


def check_count(state: State, name: str, most: int = 2**62) -> None:
    """Refuse a count that is negative or more than `most`."""
    count = int(state[name])
    if not 0 <= count <= most:
        raise CheckpointError(f"the saved agent's {name} is {count}: it must lie between 0 and {most}")


def check_shapes(where: str, given: State, expected: Mapping[str, tuple[int, ...]]) -> None:
    """Refuse a policy in a file whose parameters differ in shape from those of a network that nobody has made yet."""
    problems = [
        f"{name} has shape {tuple(given[name].shape)}, its settings say {shape}"
        if name in given
        else f"{name} is missing"
        for name, shape in expected.items()
        if name not in given or given[name].shape != shape
    ]
    if problems:
        raise CheckpointError(f"{where} does not fit its own settings: {_some(problems)}; use another checkpoint")


def _some(problems: list[str]) -> str:
    return "; ".join(problems[:6]) + (f"; and {len(problems) - 6} more" if len(problems) > 6 else "")


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
        for name in sorted(self._parameters.buffers):
            digest.update(self._parameters.buffers[name].reshape(-1).view(torch.uint8).numpy().tobytes())
        return digest.hexdigest()

    def policy_state(self) -> State:
        """Return copies of all that acting needs."""
        return copies(self._policy_parts())

    def load_policy_state(self, state: State) -> None:
        """Take over a policy saved by `policy_state`."""
        parts = self._policy_parts()
        check_loadable(parts, state)
        free = {*self.MAY_BE_UNKNOWN, *self._parameters.buffers}  # a mask may well be infinite
        check_finite({name: tensor for name, tensor in state.items() if name not in free})
        load(parts, state)

    def restart(self, policy: State) -> None:
        """Go on learning from an earlier policy, with a new optimiser: the parts whose names begin with `adam`."""
        self.load_policy_state(policy)
        for name, part in self._learning_parts().items():
            if name.startswith("adam") and isinstance(part, Tensor):
                part.zero_()

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
