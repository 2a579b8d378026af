"""What all learners share: parameters, random streams, normalised observations, and a state saved by name.

`OnPolicy` and `ReplayLearner` build on it, and the algorithms on those. A learner moves its parameters in four lines:
it writes their gradient, takes the mean over all processes (`_group.mean`), calls `_check_step`, and then lets its
optimiser take the step.
"""

from __future__ import annotations

import hashlib
import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ecs_rl.agents.base import State
from ecs_rl.agents.networks import Parameters, Shapes
from ecs_rl.agents.normalise import Normaliser, SharedMoments, put_together
from ecs_rl.agents.state import Attribute, Part, Parts, check_finite, check_loadable, copies, load, prefixed
from ecs_rl.distributed.group import ALONE, Group
from ecs_rl.errors import DivergedError
from ecs_rl.spaces import ActMode, Decision, Floats, PolicySpec
from ecs_rl.spaces import Layout as ObservationLayout


class Learner(ABC):
    """An agent without its way of learning: subclasses say how it acts, gathers and learns."""

    name: str
    Config: ClassVar[type[Any]]
    HEAD: ClassVar[str]
    """How a pilot makes actions of the network's outputs: a name of `policy_heads.py`."""
    METRICS: ClassVar[tuple[str, ...]]
    """The names of the numbers in `_newest`."""
    MAY_BE_UNKNOWN: ClassVar[tuple[str, ...]] = ()
    """Parts of a policy that are NaN where they are not known."""
    OWN: ClassVar[tuple[str, ...]] = ("random/", "own/")
    """How the parts of a state begin that each process has for itself."""
    config: Any
    """An instance of `Config`. It may be replaced between two ticks: every update reads it anew."""

    def __init__(
        self,
        spec: PolicySpec,
        config: Any,
        *,
        seed: int,
        rows: int,
        threads: int = 1,
        group: Group = ALONE,
    ) -> None:
        """`rows` are those of this process in a `group`."""
        self.spec, self.config = replace(spec, head=self.HEAD), config
        self._group, self._ticks = group, 0
        self.rows, self.discount = rows, config.gamma
        self._policy_width, self._width = len(spec.observations), len(spec.numbers)
        """Numbers that the policy sees, and numbers that a critic sees, which are the policy's and more."""
        self._parameters = Parameters(self.shapes(spec, config))
        self._learns = self._parameters  # what the optimiser moves
        self._sound = self._learns.flat.clone()
        # Independent streams: neighbouring seeds share none. Whoever watches draws from the last one.
        words = np.random.SeedSequence(seed).generate_state(3, np.uint64)
        self._first, self._random, self._sample_random = (torch.Generator().manual_seed(int(word)) for word in words)
        if group.size > 1:  # all begin with the same parameters, and each process explores in its own way
            for stream in (self._random, self._sample_random):
                stream.manual_seed(int(torch.randint(2**62, (group.size,), generator=stream)[group.rank]))
        plain = [column for column, _ in spec.allowed]
        self._normaliser = Normaliser(self._width, config.normalise_observations, self._scaled_together(), plain, group)
        self._newest = torch.empty(0, dtype=torch.float64)  # the METRICS of the newest update
        self._build(threads)

    # --- what a subclass says ---------------------------------------------------------------------------------------

    @staticmethod
    @abstractmethod
    def shapes(spec: PolicySpec, config: Any) -> Shapes:
        """Return the shape of every parameter of the policy; nothing is made."""

    @abstractmethod
    def _build(self, threads: int) -> None:
        """Make what the learner has besides: networks with their first values, memory, optimiser."""

    def _scaled_together(self) -> ObservationLayout:
        """Return which observations share their statistics."""
        return ()

    @abstractmethod
    def _policy_parts(self) -> Parts:
        """Return what acting needs, by the names that it has in files."""

    @abstractmethod
    def _learning_parts(self) -> Parts:
        """Return what continuing exactly needs besides."""

    @abstractmethod
    def _check(self, state: State) -> None:
        """Raise CheckpointError for a state that fits by its shapes and still cannot be; nothing is loaded yet."""

    @abstractmethod
    def act(self, observation: Floats, mode: ActMode, state: Floats | None = None) -> Decision:
        """Return the decision for every row; nothing but the random streams changes."""

    def _statistics(self) -> dict[str, SharedMoments]:
        """Return the running statistics that processes put together, by their names in a state."""
        return {"normaliser": self._normaliser.moments}

    def _refresh(self) -> None:
        """Go by the statistics as they are now."""
        self._normaliser.refresh()

    def _end_tick(self) -> None:
        """Let all processes put their statistics together, each time these have grown by about a tenth."""
        if self._group.size == 1:
            return
        self._ticks += 1
        if self._ticks % (1 << max(0, self._ticks.bit_length() - 4)) == 0:
            put_together(self._group, [*self._statistics().values()])
            self._refresh()

    # --- one step ---------------------------------------------------------------------------------------------------

    def _check_step(self, gradient: float, **losses: float) -> None:
        """Raise DivergedError unless the gradient's norm and the losses are finite; undo the steps that ruined them."""
        if math.isfinite(gradient) and all(map(math.isfinite, losses.values())):
            return
        self._learns.flat.copy_(self._sound)  # a ruinous step leaves finite parameters: only the next one shows it
        numbers = ", ".join(f"{name.replace('_', ' ')} {loss:g}" for name, loss in losses.items())
        raise DivergedError(
            f"{self.name.upper()} diverged: {numbers}, gradient {gradient:g}; the newest sound parameters were kept. "
            f"Try a lower {self.name}.lr, or look for huge rewards and observations"
        )

    # --- what others ask --------------------------------------------------------------------------------------------

    def inputs(self, observation: Floats) -> Tensor:
        """Return (rows, numbers) what the networks are given; what a critic sees is 0 if the observations lack it."""
        rows, seen = observation.shape
        x = torch.empty(rows, self._width)
        if seen < self._width:
            x[:, seen:] = 0.0
        self._normaliser.apply(observation, out=x.numpy()[:, :seen])
        return x

    def metrics(self) -> Mapping[str, float]:
        """Return the numbers of the newest update, empty before the first."""
        return dict(zip(self.METRICS, self._newest.tolist(), strict=False))

    def is_finite(self) -> bool:
        """Return whether every parameter is a finite number."""
        return bool(torch.isfinite(self._parameters.flat).all())

    def parameters_sha256(self) -> str:
        """Return the SHA-256 over all parameters in the order of their names, as little-endian float32."""
        digest = hashlib.sha256()
        for name in sorted(self._parameters.value):
            digest.update(self._parameters.value[name].numpy().astype("<f4").tobytes())
        for name in sorted(self._parameters.buffers):
            digest.update(self._parameters.buffers[name].reshape(-1).view(torch.uint8).numpy().tobytes())
        return digest.hexdigest()

    def _check_observation(self, observation: NDArray[Any], rows: int | None) -> None:
        """Raise ValueError for a batch of the wrong shape, which numpy would silently broadcast.

        With `rows` it must have all numbers; without, what a critic sees may be left out.
        """
        wanted = (len(observation) if rows is None else rows, self._width)
        if observation.shape != wanted and (
            rows is not None or observation.shape != (len(observation), self._policy_width)
        ):
            raise ValueError(
                f"{self.spec.name}: observations have shape {observation.shape}, this agent takes {wanted}"
            )

    # --- the state --------------------------------------------------------------------------------------------------

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
        self._normaliser.refresh()

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
        self._normaliser.refresh()

    def share_out(self, states: Sequence[State], rank: int, size: int) -> None:
        """Go on as process `rank` of `size` where another number of processes stopped, with what all have in common."""
        common = {name: tensor for name, tensor in states[0].items() if not name.startswith(self.OWN)}
        own = {name: tensor for name, tensor in self.state().items() if name.startswith(self.OWN)}
        self.load_state(own | common)

    def _parts(self) -> Parts:
        streams = {"random/train": self._random, "random/sample": self._sample_random}
        own = dict[str, Part]()  # what this process has seen and the others do not know yet
        if self._group.size > 1:
            own["own/ticks"] = Attribute(self, "_ticks")
            for name, moments in self._statistics().items():
                own |= prefixed(f"own/{name}", moments.own.parts)
        return {**self._policy_parts(), **self._learning_parts(), **streams, **own}
