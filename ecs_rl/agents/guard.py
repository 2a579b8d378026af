"""Stands between a user's own algorithm and the project: a mistake in it is told by class, line and cure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np
from torch import Tensor

from ecs_rl.agents.base import Introspectable, PolicyOutput, State
from ecs_rl.agents.make import Algorithm
from ecs_rl.agents.state import check_fits
from ecs_rl.distributed.group import Group
from ecs_rl.errors import CheckpointError, CommandError, DivergedError, quoted
from ecs_rl.spaces import ActMode, Decision, Experience, Floats, PolicySpec
from ecs_rl.user_files.file_errors import blaming

HOW_TO_JOIN = (
    "it does not say how it learns in several processes: give it `join(self, group)`, and call `group.mean(gradient)` "
    "before each step, or leave --workers out"
)


class Guarded:
    """An agent of a user's own; what it returns is checked, and what it saves is copied."""

    def __init__(
        self,
        algorithm: Algorithm,
        spec: PolicySpec,
        config: Any,
        *,
        seed: int,
        rows: int,
        threads: int,
        group: Group | None = None,
    ) -> None:
        self.name, self.spec = algorithm.name, spec
        self.algorithm = algorithm
        self._where = f"--agent {algorithm.flag}"
        with blaming("--agent", algorithm.file):
            self.inner: Any = algorithm.kind(spec, config, seed=seed, rows=rows, threads=threads)
            if group is not None and group.size > 1:
                if not hasattr(self.inner, "join"):
                    raise CommandError(f"{self._where}: {HOW_TO_JOIN}")
                self.inner.join(group)
        if isinstance(self.inner, Introspectable):  # others must not look as if one could look into them
            self.discount, self.introspect = float(self.inner.discount), self._introspect

    def _call(self, method: str, *arguments: Any) -> Any:
        with self._blaming():
            return getattr(self.inner, method)(*arguments)

    @contextmanager
    def _blaming(self) -> Iterator[None]:
        """Name the line in which it broke; where its numbers had run away before, that is why."""
        try:
            with blaming("--agent", self.algorithm.file):
                yield
        except CommandError as error:
            try:
                ran_away = not self.inner.is_finite()
            except Exception:  # what is broken need not answer either
                raise error from None
            if ran_away:
                raise DivergedError(f"{self.name}: its parameters are not finite: {error}") from error
            raise

    def _refuse(self, method: str, problem: str) -> CommandError:
        return CommandError(f"{self._where}: {method} {problem}")

    def act(self, observation: Floats, mode: ActMode, state: Floats | None = None) -> Decision:
        """Return the decision for every row; refuses what is no action of this many rows."""
        decision, rows = self._call("act", observation, mode, state), len(observation)
        if not isinstance(decision, Decision) or not isinstance(decision.action, np.ndarray):
            given = decision.action if isinstance(decision, Decision) else decision
            what = f"{type(given).__name__}{' as its action' if given is not decision else ''}"
            raise self._refuse("act", f"must return a Decision with an array as its action, not {what}")
        wrong = self.spec.actions.wrong(decision.action, rows) if rows else None
        if wrong is not None and decision.action.dtype.kind == "f" and not np.isfinite(decision.action).all():
            raise DivergedError(f"{self.name} {wrong.what} {wrong.why} in row {wrong.row}: try smaller steps")
        if wrong is not None:
            raise self._refuse("act", f"{wrong.what} {wrong.why}".rstrip(", "))
        for name, extra in decision.extras.items():
            if np.shape(extra)[:1] != (rows,):
                raise self._refuse("act", f"must tell {rows} rows of the extra '{name}', not {np.shape(extra)}")
        if decision.state is not None and decision.state.shape != (rows, self.spec.state):
            wanted = (rows, self.spec.state)
            raise self._refuse("act", f"must return a state of shape {wanted}, not {decision.state.shape}")
        return decision

    def observe(self, experience: Experience) -> None:
        """Hand on complete transitions."""
        self._call("observe", experience)

    def learn(self, progress: float) -> Iterator[None]:
        """Update in the algorithm's own slices."""
        slices = self._call("learn", progress)
        if not isinstance(slices, Iterator):
            raise self._refuse("learn", "must be a generator: put a `yield` between its minibatches, or at its end")
        end = object()
        while True:
            with self._blaming():
                if next(slices, end) is end:
                    return
            yield

    def metrics(self) -> Mapping[str, float]:
        """Return the newest numbers of learning by name."""
        numbers = self._call("metrics")
        if not isinstance(numbers, Mapping) or not all(np.isscalar(number) for number in numbers.values()):
            raise self._refuse("metrics", f"must return a dict of numbers, not {quoted(numbers, 60)}")
        return {str(name): float(number) for name, number in numbers.items()}

    def is_finite(self) -> bool:
        """Tell whether every parameter is a finite number."""
        return bool(self._call("is_finite"))

    def _introspect(self, observation: Floats) -> PolicyOutput:
        return self._call("introspect", observation)  # type: ignore[no-any-return]

    # --- its state --------------------------------------------------------------------------------------------------

    def policy_state(self) -> State:
        """Return all that acting needs; copies."""
        return self._saved("policy_state")

    def state(self) -> State:
        """Return all that continuing exactly needs; copies."""
        return self._saved("state")

    def _saved(self, method: str) -> State:
        state = self._call(method)
        if not isinstance(state, dict) or not all(isinstance(tensor, Tensor) for tensor in state.values()):
            given = {f"'{n}'": t for n, t in state.items()} if isinstance(state, dict) else {"it": state}
            what = next(f"{n} is a {type(t).__name__}" for n, t in given.items() if not isinstance(t, Tensor))
            raise self._refuse(method, f"must return a dict of torch tensors by name: {what}")
        return {str(name): tensor.detach().clone().contiguous() for name, tensor in state.items()}

    def load_policy_state(self, state: State) -> None:
        """Take over a policy; refuses other names, shapes or types, and has then changed nothing."""
        check_fits(state, self.policy_state())
        self._load("load_policy_state", state)

    def load_state(self, state: State) -> None:
        """Continue exactly where `state` was taken; what is no part of the policy may have grown or shrunk."""
        now, policy = self.state(), self.policy_state()
        check_fits(state, now, [name for name in now if name not in policy and now[name].ndim])
        self._load("load_state", state)

    def _load(self, method: str, state: State) -> None:
        try:
            self._call(method, {name: tensor.clone() for name, tensor in state.items()})
        except CommandError as error:
            raise CheckpointError(f"the saved {self.name} does not fit this one: {error}") from error

    def parameters_sha256(self) -> str:
        """Return the SHA-256 of the policy's parameters in a fixed order."""
        return str(self._call("parameters_sha256"))
