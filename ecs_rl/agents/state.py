"""What makes an agent's state exact: its own random streams, and a strict look at what is loaded."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ecs_rl.agents.base import PolicySpec, State
from ecs_rl.errors import CheckpointError


def random_streams(seed: int, count: int) -> list[torch.Generator]:
    """Return independent generators drawn from one seed; neighbouring seeds share no stream."""
    words = np.random.SeedSequence(seed).generate_state(count, np.uint64)
    return [torch.Generator().manual_seed(int(word)) for word in words]


def counter(value: int) -> Tensor:
    """Return a whole number as a tensor that can go into a state."""
    return torch.tensor(value, dtype=torch.int64)


def prefixed(prefix: str, state: Mapping[str, Tensor]) -> State:
    """Return the same tensors under `prefix/name`."""
    return {f"{prefix}/{name}": tensor for name, tensor in state.items()}


def under(prefix: str, state: Mapping[str, Tensor]) -> State:
    """Return the tensors under `prefix/`, without the prefix: the inverse of `prefixed`."""
    start = f"{prefix}/"
    return {name.removeprefix(start): tensor for name, tensor in state.items() if name.startswith(start)}


def check_fits(
    given: Mapping[str, Tensor], expected: Mapping[str, Tensor], growing: tuple[str, ...] = (), what: str = "agent"
) -> None:
    """Refuse a state whose names, shapes or types differ; names that start with `growing` may differ in length."""
    problems = [f"{name} is missing" for name in sorted(expected.keys() - given.keys())]
    problems += [f"{name} is unknown" for name in sorted(given.keys() - expected.keys())]
    for name in sorted(expected.keys() & given.keys()):
        ours, theirs = expected[name], given[name]
        skip = 1 if growing and name.startswith(growing) else 0
        if ours.ndim != theirs.ndim or ours.shape[skip:] != theirs.shape[skip:]:
            problems.append(f"{name} has shape {tuple(theirs.shape)}, this {what}'s has {tuple(ours.shape)}")
        elif ours.dtype != theirs.dtype:
            problems.append(f"{name} holds {theirs.dtype}, this {what}'s {ours.dtype}")
    if problems:
        told = f"the saved {what} does not fit this one (other scene, arenas or settings?)"
        raise CheckpointError(f"{told}: {_some(problems)}")


def check_finite(parameters: Mapping[str, Tensor]) -> None:
    """Refuse a policy of numbers that are not finite: it would act, always alike, as if it were one."""
    bad = [name for name, tensor in parameters.items() if not bool(torch.isfinite(tensor).all())]
    if bad:
        raise CheckpointError(f"the saved policy is none: {_some([f'{name} is not finite' for name in bad])}")


def check_shapes(where: str, given: Mapping[str, Tensor], expected: Mapping[str, tuple[int, ...]]) -> None:
    """Refuse a policy in a file whose parameters differ in shape from those of a network that nobody has made yet."""
    found = {name: tuple(given[name].shape) for name in expected if name in given}
    problems = [f"{name} is missing" for name in expected if name not in found]
    problems += [
        f"{name} has shape {shape}, its settings say {expected[name]}"
        for name, shape in found.items()
        if shape != expected[name]
    ]
    if problems:
        raise CheckpointError(f"{where} does not fit its own settings: {_some(problems)}; use another checkpoint")


def _some(problems: list[str]) -> str:
    return "; ".join(problems[:6]) + (f"; and {len(problems) - 6} more" if len(problems) > 6 else "")


def restore_random(generator: torch.Generator, state: Tensor) -> None:
    """Put a generator where it was; CheckpointError if these bytes are no generator's."""
    try:
        generator.set_state(state)
    except RuntimeError as error:
        raise CheckpointError(f"the saved random numbers cannot go on: {error}; use another checkpoint") from error


def whole_number(state: Mapping[str, Tensor], name: str, most: int = 2**62) -> int:
    """Return a counter of a state; CheckpointError if it is negative or more than `most`."""
    value = int(state[name])
    if not 0 <= value <= most:
        raise CheckpointError(f"the saved agent's {name} is {value}: it must lie between 0 and {most}")
    return value


def check_observation(observation: NDArray[Any], spec: PolicySpec, rows: int | None) -> None:
    """Refuse a batch of the wrong shape, which numpy would silently broadcast."""
    wanted = (len(observation) if rows is None else rows, len(spec.observations))
    if observation.shape != wanted:
        raise ValueError(f"{spec.name}: observations have shape {observation.shape}, this agent takes {wanted}")
