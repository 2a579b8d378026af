"""The debug run: after each stage, what really changed is compared with what the schedule declares."""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Sequence
from typing import TYPE_CHECKING

import esper
import numpy as np

from ecs_rl import components

if TYPE_CHECKING:
    from ecs_rl.schedule import Entry
    from ecs_rl.world import World


class Watchdog:
    """Runs a world's stages one by one and raises ScheduleError when one writes what it does not declare."""

    def __init__(self, world: World, entries: Sequence[Entry]) -> None:
        self.world, self.entries = world, entries

    def tick(self) -> None:
        """Run one tick under watch."""
        from ecs_rl.schedule import ScheduleError

        before = snapshot()
        for entry in self.entries:
            self.world.stages[entry.name].process()
            self.world.enter()  # the stage may have run another world
            after = snapshot()
            changed = {kind for kind in after if after[kind] != before.get(kind)}
            secret = sorted(kind.__name__ for kind in changed - set(entry.writes))
            if secret:
                raise ScheduleError(f"'{entry.name}' changes {', '.join(secret)} without saying so in the schedule")
            before = after


def snapshot() -> dict[type, str]:
    """Return a digest of every kind of component in the current esper context."""
    digests: dict[type, str] = {}
    for kind in (getattr(components, name) for name in components.__all__):
        digest = hashlib.sha256()
        for entity, component in sorted(esper.get_component(kind), key=lambda found: found[0]):
            digest.update(str(entity).encode())
            _add(digest, component)
        digests[kind] = digest.hexdigest()
    return digests


def _add(digest: hashlib._Hash, value: object) -> None:
    if dataclasses.is_dataclass(value):
        for field in dataclasses.fields(value):
            _add(digest, getattr(value, field.name))
    else:
        digest.update(value.tobytes() if isinstance(value, np.ndarray) else repr(value).encode())
