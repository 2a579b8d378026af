"""What a policy sees and does as Gymnasium's spaces, and actions of those spaces as the world takes them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from ecs_rl.scene.allowed import Permissions
from ecs_rl.spaces import ActionSpace, Composed, Continuous, Discrete, Floats, PolicySpec


def observation_space(spec: PolicySpec) -> spaces.Space[Any]:
    """Return the space of one row's observation: any finite numbers, in the order of `spec.observations`."""
    most = float(np.finfo(np.float32).max)  # Gymnasium's own check warns of infinity
    return spaces.Box(-most, most, (len(spec.observations),), np.float32)


def action_space(actions: ActionSpace) -> spaces.Space[Any]:
    """Return the space of one row's action.

    One choice is Discrete, levers are a Box from -1 to 1, choices alone a MultiDiscrete; in a mixture of both each
    choice and each lever has its own name in a Dict.
    """
    if isinstance(actions, Discrete):
        return spaces.Discrete(len(actions.names))
    if isinstance(actions, Continuous):
        return _levers(actions.columns)
    if not actions.levers:
        return spaces.MultiDiscrete([len(part.names) for part in actions.parts])
    return spaces.Dict({name: _levers(1) if n is None else spaces.Discrete(n) for name, n in _columns(actions)})


def world_action(actions: ActionSpace, given: Any, rows: int) -> NDArray[Any]:
    """Return a batch of actions of `action_space` as the world takes it; ValueError tells of a wrong form."""
    if isinstance(actions, Discrete):
        return _shaped(given, (rows,), np.int64)
    if isinstance(actions, Composed) and actions.levers:
        names = [name for name, _ in _columns(actions)]
        if not isinstance(given, Mapping) or given.keys() != set(names):
            raise ValueError(f"an action names each of {names}, not {given!r:.80}")
        return np.stack([_shaped(given[name], (rows,), np.float32) for name in names], axis=1)
    return _shaped(given, (rows, actions.columns), np.float32)


def mask_info(spec: PolicySpec, observation: Floats) -> dict[str, Any]:
    """Return {"action_mask": mask} of (rows, numbers) in the form that `action_space(...).sample` takes, or nothing.

    Masks are int8, (rows, options), one row's without the first axis.
    """
    masks = {column: mask.astype(np.int8) for column, mask in Permissions(spec).masks(np.atleast_2d(observation))}
    if not masks:
        return {}
    rows = () if observation.ndim == 1 else (len(observation),)
    if isinstance(spec.actions, Discrete):
        return {"action_mask": masks[0].reshape(*rows, -1)}
    columns = [*enumerate(_columns(spec.actions))] if isinstance(spec.actions, Composed) else []
    listed = {
        name: None if options is None else masks.get(i, np.ones((*rows, options), np.int8)).reshape(*rows, -1)
        for i, (name, options) in columns
    }
    return {"action_mask": listed if spec.actions.levers else tuple(listed.values())}


def _levers(count: int) -> spaces.Box:
    return spaces.Box(-1.0, 1.0, (count,), np.float32)


def _columns(actions: Composed) -> list[tuple[str, int | None]]:
    """Return the name of each column of an action, with its number of choices, or None for a lever."""
    columns: list[tuple[str, int | None]] = []
    for part in actions.parts:
        if isinstance(part, Discrete):
            columns.append((part.name, len(part.names)))
        else:
            columns += [(name, None) for name in part.names]
    return columns


def _shaped(given: Any, shape: tuple[int, ...], kind: type) -> NDArray[Any]:
    array = np.asarray(given)
    if array.dtype.kind not in "iufb" or array.size != np.prod(shape):
        raise ValueError(f"an action must be {shape} numbers, not {array.shape} of {array.dtype}")
    return array.reshape(shape).astype(kind)
