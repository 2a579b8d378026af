"""A minute's tour of the window: eight signs, each at the place that it tells about; it begins by itself once."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING

from ecs_rl.user_files.known import state_folder
from ecs_rl.viewer.view_floating import TourView

if TYPE_CHECKING:
    from ecs_rl.viewer.live.window import Window

SECONDS = 7.5
"""For which each sign stays; F2 goes on before that."""
SIGNS: tuple[tuple[str, str], ...] = (
    ("stage", "The stage: one arena in real time, played by the newest policy. It fails at first; that is the point."),
    ("mind", "Sees: the numbers that the policy is given. Does: what it decides from them. There is nothing else."),
    ("mind", "Expects: the reward that it counts on from here. Earned: what the scene pays and fines, by name."),
    ("learning", "Learning: the return over steps. Drag along the curve, and the stage plays the policy of then."),
    ("stage", "Pull a body with the mouse, kick it with P, change gravity and wind with A: does it cope?"),
    ("stage", "H lets you drive, Y races the policy on the same seed, B shows it untrained and now."),
    ("stage", "Left goes back in time, Space stands still, I asks why it did that, X maps what it expects."),
    ("hints", "F1 shows every key. Rest the mouse on any word to learn what it means. That is all: enjoy it."),
)


class Tour:
    """Which sign stands, and since when; it is on while `tour` is among the window's panels."""

    def __init__(self, window: Window) -> None:
        self.window = window
        self.sign, self._since = 0, 0.0

    def next(self) -> None:
        """Begin the tour, or go on to its next sign."""
        window = self.window
        if "tour" not in window.open_panels:
            window.open_panels |= {"tour"}
            self.sign = -1
        self._go_on()

    def _go_on(self) -> None:
        self.sign, self._since = self.sign + 1, perf_counter()
        there = {"mind": self.window.layout.mind, "learning": self.window.layout.learning}
        while self.sign < len(SIGNS) and there.get(SIGNS[self.sign][0], self.window.layout.stage) is None:
            self.sign += 1  # a panel that is hidden is not told of
        if self.sign >= len(SIGNS):
            self.window.open_panels -= {"tour"}

    def view(self) -> TourView | None:
        """Return the sign that stands now, None while there is no tour."""
        if "tour" in self.window.open_panels and perf_counter() - self._since > SECONDS:
            self._go_on()
        if "tour" not in self.window.open_panels:
            return None
        place, text = SIGNS[self.sign]
        return TourView(place, text, self.sign + 1, len(SIGNS))


def begin_for_the_first_time(window: Window) -> None:
    """Begin the tour if nobody has seen it with this account; where that cannot be noted, it does not begin."""
    seen = noted_at()
    if seen.exists():
        return
    with suppress(OSError):
        seen.parent.mkdir(parents=True, exist_ok=True)
        seen.touch()
        window.tour.next()


def noted_at() -> Path:
    """Return the file that tells that the tour was seen."""
    return state_folder() / "toured"
