"""How often a mind is read: for each frame, but seldom beside a training that goes flat out."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from ecs_rl.viewer.mind import Mind
    from ecs_rl.viewer.panel import App

V = TypeVar("V")
READ_EVERY = 0.09
"""Seconds for which a reading stays while a training goes flat out."""


class SeldomRead(Generic[V]):
    """The newest reading of the mind on the stage; whoever owns it adds the seconds of each frame to its `age`."""

    def __init__(self, read: Callable[[Mind], V]) -> None:
        self._read = read
        self._reading: tuple[Mind, V] | None = None
        self.age = 0.0
        """Seconds since it was read."""

    def of(self, app: App) -> V:
        """Return the mind as it is in the picture; of a stage that moves beside a busy training, as it was just now."""
        mind, work = app.show.mind, app.run.background
        moves = work is not None and work.is_flat_out and not app.show.paused
        if self._reading is None or not moves or self.age >= READ_EVERY or self._reading[0] is not mind:
            self.age, self._reading = 0.0, (mind, self._read(mind))
        return self._reading[1]

    def forget(self) -> None:
        """Read anew next time: another agent is looked at."""
        self._reading = None
