"""An agent's state is declared once, by name; copying, checking and loading it follow from that.

A part of a state is a tensor or a random generator, written into where it is, an `Attribute`, or `Filled` rows.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

import torch
from torch import Tensor

from ecs_rl.agents.base import State
from ecs_rl.agents.config import AgentConfig
from ecs_rl.agents.make import Algorithm, algorithm_of
from ecs_rl.errors import CheckpointError
from ecs_rl.spaces import PolicySpec
from ecs_rl.user_files.file_errors import blaming

T = TypeVar("T")


@dataclass(frozen=True)
class Attribute:
    """A number, or a tensor of any length, that its owner replaces."""

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
                setattr(part.owner, part.name, saved.clone() if saved.ndim else saved.item())
            case torch.Generator():
                try:
                    part.set_state(saved)
                except RuntimeError as error:
                    message = f"the saved random numbers cannot go on: {error}; use another checkpoint"
                    raise CheckpointError(message) from error


def _now(part: Part) -> Tensor:
    """Return a part as a tensor, shared where that is possible."""
    match part:
        case torch.Generator():
            return part.get_state()
        case Filled():
            return part.rows[: part.owner.size]
        case Attribute():
            value = getattr(part.owner, part.name)
            return torch.as_tensor(value, dtype=torch.float64 if isinstance(value, float) else None)
    return part


def check_fits(given: State, expected: State, growing: Collection[str] = (), what: str = "agent") -> None:
    """Refuse a state whose names, shapes or types differ; tensors named in `growing` may differ in length."""
    problems = [f"{name} is missing" for name in sorted(expected.keys() - given.keys())]
    problems += [f"{name} is unknown" for name in sorted(given.keys() - expected.keys())]
    for name in sorted(expected.keys() & given.keys()):
        wanted, saved = expected[name], given[name]
        skip = 1 if name in growing else 0
        if wanted.ndim != saved.ndim or wanted.shape[skip:] != saved.shape[skip:]:
            problems.append(f"{name} has shape {tuple(saved.shape)}, this {what}'s has {tuple(wanted.shape)}")
        elif wanted.dtype != saved.dtype:
            problems.append(f"{name} holds {saved.dtype}, this {what}'s {wanted.dtype}")
    if problems:
        message = f"the saved {what} does not fit this one (other scene, arenas or settings?)"
        raise CheckpointError(f"{message}: {_some(problems)}")


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


def check_parameters(
    where: str, specs: Mapping[str, PolicySpec], name: str | Algorithm, config: AgentConfig, policy: State
) -> None:
    """Refuse the policies in a file whose parameters are not those of its settings, before any network is made."""
    algorithm = algorithm_of(name)
    for spec in specs.values() if hasattr(algorithm.kind, "shapes") else ():
        with blaming("--agent", algorithm.file):
            shapes = algorithm.kind.shapes(spec, config)
        check_shapes(where, policy, prefixed(spec.name, shapes) if len(specs) > 1 else shapes)  # as a team saves them


def _some(problems: list[str]) -> str:
    return "; ".join(problems[:6]) + (f"; and {len(problems) - 6} more" if len(problems) > 6 else "")
