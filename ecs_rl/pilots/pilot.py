"""A pilot: a trained policy that acts in anybody's loop, on one observation or on a batch."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike

from ecs_rl.errors import CommandError, ObservationError, nearest, quoted
from ecs_rl.pilots.numpy_policy import NumpyPolicy
from ecs_rl.pilots.ops import Array
from ecs_rl.pilots.source import SavedPolicy, checkpoint_at, named, saved_policies
from ecs_rl.spaces import Discrete, PolicySpec

BACKENDS = ("torch", "numpy")
MOST_NAMES = 6


class PilotPolicy(Protocol):
    """What decides for a batch: the same in every backend."""

    state: int
    """Numbers that it remembers for each row."""

    def act(self, x: Array, state: Array, sample: bool) -> tuple[Array, Array]:
        """Return (rows,) or (rows, columns) actions for (rows, numbers), and what is remembered from here on."""


class Pilot:
    """A policy with the names of what it sees and does; its normaliser and its memory are inside."""

    def __init__(self, saved: SavedPolicy, policy: PilotPolicy) -> None:
        self.path, self.scene, self.step = saved.path, saved.scene, saved.step
        self.spec: PolicySpec = saved.spec
        self._policy, self._lone = policy, isinstance(saved.spec.actions, Discrete)
        self._names, self._many = self.observations, len(self.observations)
        self._state = self._nothing = np.zeros((0, policy.state), np.float32)

    @property
    def observations(self) -> tuple[str, ...]:
        """The name of each number that it sees, in order."""
        return self.spec.observations

    @property
    def actions(self) -> tuple[str, ...]:
        """The names of what it does: the options of a lone choice, otherwise one for each number of an action."""
        return self.spec.actions.names if self._lone else tuple(self.spec.actions.about)

    @property
    def options(self) -> dict[str, tuple[str, ...]]:
        """The options of each choice by its name, in order: an action is the number of one."""
        parts = self.spec.actions.parts
        return {part.name or "choice": part.names for part in parts if isinstance(part, Discrete)}

    def act(self, observation: Mapping[str, Any] | ArrayLike, *, sample: bool = False) -> Any:
        """Return what to do, the best as far as it knows, or one drawn as in training with `sample`.

        An observation is a number for each name or (numbers,); a batch is (rows,) for each name or (rows, numbers). Of
        a lone choice the action is the number of an option, an int, or (rows,) for a batch. Otherwise it is a number
        for each of `actions`, (columns,) or (rows, columns): a lever's lies between -1 and 1, a choice's is that of
        its option. A policy that remembers goes on from its last call, row by row: see `reset`.
        """
        x = self._seen(observation)
        single = x.ndim == 1
        if single:
            x = x[None]
        if self._policy.state:
            self._remember(len(x))
        action, self._state = self._policy.act(x, self._state, sample)
        if not single:
            return action
        return int(action[0]) if self._lone else action[0]

    def reset(self, ended: ArrayLike | None = None) -> None:
        """Forget what was seen: an episode begins, in all rows or in those for which `ended` is true."""
        if ended is None:
            self._state = self._nothing
            return
        where = np.asarray(ended)
        if not len(self._state):  # nothing is remembered, whatever was shown
            return
        if where.shape != (len(self._state),) or where.dtype != bool:
            wanted = f"{len(self._state)} truths, one for each row"
            raise ObservationError(f"reset takes {wanted}, not {where.shape} of {where.dtype}")
        self._state = np.where(where[:, None], np.float32(0.0), self._state)

    def _remember(self, rows: int) -> None:
        if not len(self._state):
            self._state = np.zeros((rows, self._policy.state), np.float32)
        elif len(self._state) != rows:
            message = f"this pilot remembers {len(self._state)} rows and was shown {rows}"
            raise ObservationError(f"{message}: call reset() before other episodes, or load one pilot for each")

    def _seen(self, observation: Any) -> Array:
        """Return finite float32 numbers, (numbers,) or (rows, numbers); ObservationError where it is none."""
        by_name = isinstance(observation, Mapping)
        try:
            with np.errstate(over="ignore"):  # what is too large is told below
                if by_name:
                    x = np.array([observation[name] for name in self._names], np.float32)
                    x = x.T if x.ndim == 2 else x
                else:
                    x = np.asarray(observation, np.float32)
        except KeyError:
            raise self._misnamed(observation) from None
        except (TypeError, ValueError, OverflowError) as error:
            raise ObservationError(f"an observation is numbers by name, or an array of them: {error}") from None
        if by_name and len(observation) != self._many:
            raise self._misnamed(observation)
        if x.ndim not in (1, 2) or x.shape[-1] != self._many:
            wanted = f"({self._many},) numbers, or (rows, {self._many})"
            raise ObservationError(f"this pilot sees {wanted} ({_some(self._names)}), not {x.shape}")
        if not np.isfinite(x).all():
            flat = x.reshape(-1)
            row, number = divmod(int(np.flatnonzero(~np.isfinite(flat))[0]), self._many)
            at = f" of row {row}" if x.ndim == 2 else ""
            message = f"'{self._names[number]}'{at} is {flat[row * self._many + number]:g}"
            raise ObservationError(f"{message}, which is no finite number of 32 bits")
        return x

    def _misnamed(self, observation: Mapping[str, Any]) -> ObservationError:
        unknown = [name for name in observation if name not in self._names]
        missing = [name for name in self._names if name not in observation]
        problems = [f"{_some(missing)} {'is' if len(missing) == 1 else 'are'} missing"] if missing else []
        problems += [f"{quoted(unknown[0], 60)} is unknown: {nearest(str(unknown[0]), self._names)}"] if unknown else []
        return ObservationError(f"this pilot sees {self._many} numbers: {'; '.join(problems)}")

    def __repr__(self) -> str:
        return f"<pilot {self.spec.name!r} of {self.path}, {self._many} numbers to {_some(self.actions)}>"


def load(
    source: str | Path,
    backend: str = "torch",
    *,
    policy: str = "",
    checkpoint: str | int = "best",
    runs: str | Path = "runs",
    seed: int = 0,
) -> Pilot:
    """Return the pilot of a run, of a checkpoint file, or of a scene that comes with one; see `ecs_rl.load`."""
    if backend not in BACKENDS:
        raise CommandError(f"backend={quoted(backend, 60)} must be {' or '.join(BACKENDS)}")
    saved = named(saved_policies(checkpoint_at(source, str(checkpoint), runs)), policy)
    if backend == "numpy":
        return Pilot(saved, NumpyPolicy(saved, seed))
    from ecs_rl.pilots.torch_policy import TorchPolicy

    return Pilot(saved, TorchPolicy(saved, seed))


def _some(names: tuple[str, ...] | list[str]) -> str:
    more = len(names) - MOST_NAMES
    return ", ".join(f"'{name}'" for name in names[:MOST_NAMES]) + (f" and {more} more" if more > 0 else "")
