"""What `--check` notes without refusing it: sensors that are always equal, and rays that see through walls."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from time import perf_counter

import numpy as np

from ecs_rl.arrays import F32
from ecs_rl.console import tell
from ecs_rl.scene.arena import Arena
from ecs_rl.scene.rays import Rays
from ecs_rl.scene.roles import Role
from ecs_rl.scene.sensors import Sensor

MOST_COMPARED = 400
"""Numbers of a policy that are compared with each other; pictures have more."""
MUCH_MEMORY = 1.0
"""GB of a rollout."""
PATIENCE = 5.0
"""Seconds after which somebody who waits hears how far it is, and again."""


class Equals:
    """Finds numbers among (rows, numbers) that were equal in every row at every look."""

    def __init__(self, array: F32) -> None:
        self.array = array
        numbers = array.shape[1]
        self.groups = [list(range(numbers))] if 1 < numbers <= MOST_COMPARED else []
        """Numbers that have been equal so far."""

    def look(self) -> None:
        """Take the present numbers in."""
        split = list[list[int]]()
        for group in self.groups:
            columns = self.array[:, group]
            if (columns == columns[:, :1]).all():
                split.append(group)
                continue
            parts = dict[bytes, list[int]]()
            for number, column in zip(group, np.ascontiguousarray(columns.T), strict=True):
                parts.setdefault(column.tobytes(), []).append(number)
            split += [part for part in parts.values() if len(part) > 1]
        self.groups = split


def always_equal(groups: Sequence[Sequence[int]], sensors: Sequence[Sensor], names: Sequence[str]) -> list[str]:
    """Return a note for each group of numbers that rules of the scene's own gave; `sensors` has one for each number."""
    notes = []
    for group in groups:
        own = [names[number] for number in group if type(sensors[number]) is Sensor and sensors[number].column is None]
        if len(own) > 1:
            listed = f"{', '.join(map(repr, own[:-1]))} and {own[-1]!r}"
            cure = "a lambda in a loop sees the loop's last value, so write `lambda far=far: ...` there"
            notes.append(f"{listed} are the same number in every tick: {cure}")
    return notes


def seen_through(arena: Arena) -> list[str]:
    """Return a note for each role whose rays see something behind a wall that they do not look for."""
    ground = [arena.ground] if arena.walls or arena.terrains else []
    blocks = [*ground, *(role for role in arena.roles if role.solid and role.body and role.body.moves == "never")]
    notes = dict[Role, str]()
    for agent in arena.agents:
        for sensor in agent.sees:
            for roles in (sensor.hits or {}).values() if isinstance(sensor, Rays) else ():
                behind = [role for role in blocks if role not in roles]
                seen = [role for role in roles if role not in blocks]
                if behind and seen and isinstance(sensor, Rays):
                    note = f"the rays of '{sensor.role.name}' see '{seen[0].name}' through '{behind[0].name}'"
                    cure = "which does not hide it: name both in one group of hits, or compare two groups ray by ray"
                    notes.setdefault(sensor.role, f"{note}, {cure}")
    return list(notes.values())


def memory_of(seen: int, config: object) -> list[str]:
    """Return a note if an algorithm keeps gigabytes of what is seen; `seen` are the numbers of a tick."""
    ticks = getattr(config, "rollout", 0)
    gigabytes = 4e-9 * seen * ticks
    if gigabytes < MUCH_MEMORY:
        return []
    return [
        f"a rollout of {ticks:,} ticks with {seen:,} numbers each takes {gigabytes:,.1f} GB: fewer arenas take less"
    ]


class Waiting:
    """Tells somebody who waits how far a long work is."""

    def __init__(self, name: str) -> None:
        self.name, self.due = name, perf_counter() + PATIENCE
        self.what, self.began, self.first = "", 0.0, 0

    def at(self, what: str, done: int, of: int) -> None:
        """Say it if it is time."""
        now = perf_counter()
        if what != self.what:
            self.what, self.began, self.first = what, now, done
        if now < self.due:
            return
        self.due = now + PATIENCE
        minutes = (now - self.began) / max(1, done - self.first) * (of - done) / 60
        left = f", {minutes:,.0f} minutes to go" if minutes >= 1.0 else ""
        tell(f"train.py: {self.name}: {what}, tick {done:,} of {of:,}{left}", sys.stderr)
