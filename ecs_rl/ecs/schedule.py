"""What a stage of the tick declares, and the check that nothing is read before it is written."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ecs_rl.errors import EcsRlError

if TYPE_CHECKING:
    from collections.abc import Callable

    from ecs_rl.ecs.stage import Stage


class ScheduleError(EcsRlError):
    """A schedule in which something is read before it is written, or written otherwise than it says."""


@dataclass(frozen=True)
class Entry:
    """One stage of the tick."""

    name: str
    processor: Callable[[Any], Stage]
    about: str
    reads: tuple[type, ...] = ()
    """Components that an earlier stage of this tick wrote."""
    keeps: tuple[type, ...] = ()
    """Components read as the last tick left them: a stage at or after this one writes them."""
    writes: tuple[type, ...] = ()
    plays: bool = False
    """Part of the game itself: it runs in every world, and again when a world is brought back by its actions."""
    after: str = ""
    """The stage after which a system of the scene's own was placed."""


def check(schedule: Sequence[Entry], outside: Collection[type]) -> None:
    """Refuse a schedule that reads something before it is written in the tick, or keeps what nobody writes again.

    `outside` are the components that are set between the ticks.
    """
    written: set[type] = set(outside)
    for i, entry in enumerate(schedule):
        for component in entry.reads:
            if component not in written:
                raise ScheduleError(f"'{entry.name}' reads {component.__name__} before any stage has written it")
        later = {component for other in schedule[i:] for component in other.writes} | set(outside)
        for component in entry.keeps:
            if component not in later:
                raise ScheduleError(f"'{entry.name}' keeps {component.__name__} of the last tick: none writes it after")
            if component in written - set(outside):
                raise ScheduleError(f"'{entry.name}' wants {component.__name__} of the last tick, it is overwritten")
        written |= set(entry.writes)


def tick_table(schedule: Sequence[Entry]) -> str:
    """Return a schedule as a table in Markdown."""
    rows = ["| stage | reads | writes | what it does |", "|---|---|---|---|"]
    for entry in schedule:
        reads = ", ".join([c.__name__ for c in entry.reads] + [f"*{c.__name__}*" for c in entry.keeps])
        rows.append(f"| {entry.name} | {reads} | {', '.join(c.__name__ for c in entry.writes)} | {entry.about} |")
    return "\n".join(rows)
