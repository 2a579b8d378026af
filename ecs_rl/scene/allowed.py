"""Which options an agent may choose now: rules of a scene that become numbers of the observation."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ecs_rl.errors import RuleError, SceneError, nearest
from ecs_rl.scene.checks import aligned, form, quote, ruling
from ecs_rl.scene.sensors import Sensor
from ecs_rl.spaces import Bools, Discrete, Floats, PolicySpec, spans

Rule = Callable[[], Any]
Allow = Rule | Mapping[str, Rule] | None
"""A rule that gives a truth for each option, one rule for some of the options by name, or none: all are allowed."""


class Allowed(Sensor):
    """1 for each option that may be chosen now, 0 for one that must not be; the mask of a policy."""

    source = "allowed="
    """What a message names as the origin of the mask."""

    def __init__(self, options: Sequence[str], outputs: Sequence[int], rule: Rule) -> None:
        """`options` are the names of the `outputs` of the action space about which the rule gives truths."""
        super().__init__(f"{options[0]} allowed", rule)
        self.names = tuple(f"{option} allowed" for option in options)
        self.outputs = tuple(outputs)

    def write(self, out: NDArray[np.float32]) -> None:
        """Fill (arenas, [count], options) with zeros and ones."""
        value = self.read()
        try:
            if value.dtype != bool:
                raise TypeError
            if len(self.names) == 1:
                out[..., 0] = aligned(value, out.shape[1]) if out.ndim == 3 else value
            elif value.shape[-1:] != out.shape[-1:]:
                raise TypeError
            else:
                out[...] = value[:, None] if value.ndim < out.ndim else value
        except (TypeError, ValueError, AttributeError):
            several = f", {len(self.names)}" if len(self.names) > 1 else ""
            wanted = f"true or false for each option, ({len(out)}{several})"
            raise RuleError(f"allowed= must give {wanted}, not {form(value)}", self) from None


def allow(kind: str, value: object, options: Sequence[str]) -> Allow:
    """Return what `allowed=` of a control says; SceneError for anything but a rule, or rules by options."""
    if value is None:
        return None
    if not isinstance(value, Mapping):
        return ruling(f"allowed= of a {kind}", value, "`lambda: tank.fuel > 0.0`")  # type: ignore[arg-type]
    for option in value:
        if option not in options:
            raise SceneError(
                f"allowed= of a {kind} names {quote(option)}, which is no option: {nearest(option, options)}"
            )
    return {name: ruling(f"allowed= of '{name}'", rule) for name, rule in value.items()}


def sensors_of(allowed: Allow, options: Mapping[str, int], prefix: str = "") -> list[Allowed]:
    """Return the sensors of a control's rules; `options` are its options with their outputs in the action space."""
    if allowed is None:
        return []
    if isinstance(allowed, Mapping):
        return [Allowed([prefix + name], [options[name]], rule) for name, rule in allowed.items()]
    return [Allowed([prefix + name for name in options], [*options.values()], allowed)]


class Permissions:
    """Which options the rows of a policy may choose, read from their observations."""

    def __init__(self, spec: PolicySpec) -> None:
        self._rules: list[tuple[int, int, list[tuple[int, int]]]] = []
        """Of each choice with a mask: its column of an action, its options, and the numbers that allow some of them."""
        for part, columns, outputs in spans(spec.actions):
            own = [(c, o - outputs.start) for c, o in spec.allowed if outputs.start <= o < outputs.stop]
            if own and isinstance(part, Discrete):
                self._rules.append((columns.start, len(part.names), own))
        self._is_lone = isinstance(spec.actions, Discrete)

    def __bool__(self) -> bool:
        return bool(self._rules)

    def masks(self, observation: Floats) -> Iterator[tuple[int, Bools]]:
        """Yield the column of each choice with (rows, options) truths: which may be chosen."""
        for column, options, numbers in self._rules:
            mask = np.ones((len(observation), options), bool)
            for number, option in numbers:
                mask[:, option] = observation[:, number] > 0.5
            yield column, mask

    def corrected(self, action: NDArray[Any], observation: Floats) -> NDArray[Any]:
        """Return the action with each forbidden option replaced by the next one that is allowed, if any is."""
        for column, mask in self.masks(observation):
            chosen = (action if self._is_lone else action[:, column]).astype(np.int64)
            wrong = np.flatnonzero(~mask[np.arange(len(chosen)), chosen])
            if not len(wrong):
                continue
            after = (chosen[wrong, None] + np.arange(mask.shape[1])) % mask.shape[1]
            step = np.take_along_axis(mask[wrong], after, axis=1).argmax(1)  # 0 where nothing is allowed
            action = action.copy()
            action[wrong if self._is_lone else (wrong, column)] = after[np.arange(len(wrong)), step]
        return action
