"""A world as arrays for a checkpoint, and brought back from them to the last bit, or found not to come back.

Saved are the columns now, the last snapshot with the actions since, and the snapshot before it with the actions between
the two: living through those again shows whether the columns are really all that the scene goes by.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ecs_rl.components import ActionLog, Clock, PolicyState, RewardWeights, Snapshots
from ecs_rl.ecs.context import Columns
from ecs_rl.errors import CheckpointError
from ecs_rl.scene.lessons import Since

if TYPE_CHECKING:
    from ecs_rl.world import World

Sections = dict[str, dict[str, NDArray[Any]]]
SETTLED = (Since, RewardWeights)
"""Components that are set from outside between two ticks, which no replay makes again."""


def save_world(world: World) -> Sections:
    """Return everything by section: `now`, `snapshot` and its `actions`, `earlier` and its `earlier_actions`."""
    if not world.engine.starts_midway:
        world.snapshot()
    log, snapshots = world.one(ActionLog), world.one(Snapshots)
    return {
        "now": world.save_columns(),
        "snapshot": snapshots.columns,
        "actions": _stacked(log.actions),
        "earlier": snapshots.earlier,
        "earlier_actions": _stacked(snapshots.earlier_actions),
    }


def restore_world(
    world: World,
    saved: Mapping[str, Mapping[str, NDArray[Any]]],
    *,
    exactly: bool = True,
    watch: Callable[[], None] = lambda: None,
) -> bool:
    """Bring a world back; with `exactly`, CheckpointError where the same actions do not lead to the same columns.

    Tells whether they do. Where not, a world that comes back by its episodes has begun new ones.

    `watch` is called before each tick that is lived through again, and may raise.
    """
    now = dict(saved["now"])
    # Lessons and weights are set from outside between two ticks: the replay takes them as they are now.
    settled = {each.key: now[each.key] for each in world.lasting() if each.kind in SETTLED and each.key in now}
    snapshot = dict(saved["snapshot"]) | settled
    if saved["earlier"]:
        world.restore(dict(saved["earlier"]) | settled, _listed(saved["earlier_actions"]), watch)
        _compare(world, snapshot, exactly)
    world.restore(snapshot, _listed(saved["actions"]), watch)
    inexact = _compare(world, now, exactly)
    world.load_columns(now)  # what no replay makes again: the state of a recurrent policy
    snapshots = world.one(Snapshots)
    for columns, part in ((snapshots.columns, "snapshot"), (snapshots.earlier, "earlier")):
        columns.update({key: saved[part][key] for key in settled.keys() & columns.keys() & saved[part].keys()})
    if inexact:
        if not world.engine.starts_midway:
            world.one(Clock).episode += 1
            world.start_over()
        world.snapshot()  # and the way to this one is not the way that was gone
        snapshots.earlier, snapshots.earlier_actions = {}, []
    return not inexact


def _compare(world: World, wanted: Columns, exactly: bool) -> bool:
    """Tell whether any column is not as it should be, to the last bit; refuse that where it must be exact."""
    odd = [
        place.key
        for place in world.lasting()
        if place.kind is not PolicyState
        and (place.key in wanted or not place.column.is_new)
        and place.array.tobytes() != np.asarray(wanted[place.key]).tobytes()
    ]
    if odd and exactly:
        reason = f"brought back by its own actions, {', '.join(odd[:3])} came out otherwise. {world.engine.why_lost}"
        raise CheckpointError(f"this run cannot be continued exactly: {reason}")
    return bool(odd)


def _stacked(actions: Sequence[tuple[NDArray[Any], ...]]) -> dict[str, NDArray[Any]]:
    """Return (ticks, rows, ...) actions by the policy's number; nothing if there was no tick."""
    return {str(i): np.stack(column) for i, column in enumerate(zip(*actions, strict=True))}


def _listed(actions: Mapping[str, NDArray[Any]]) -> list[NDArray[Any]]:
    return [actions[str(policy)] for policy in range(len(actions))]
