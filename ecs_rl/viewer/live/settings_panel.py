"""The hand on what may change while it trains: which slider is held or chosen, and what was asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ecs_rl.training.live_settings import WEIGHT
from ecs_rl.viewer.panels.settings import row_at, settings_place, share_at
from ecs_rl.viewer.view_floating import SettingRow, SettingsView

if TYPE_CHECKING:
    from ecs_rl.training.live_settings import LiveSettings
    from ecs_rl.viewer.live.window import Window

PANEL = "settings"
SNAPS = 0.015
"""Share of a slider within which it snaps to what the setting was as the training began."""


class SettingsPanel:
    """Asks the training behind a window for changes: a slider when it is let go, a key at once."""

    def __init__(self, window: Window) -> None:
        self.window = window
        self.chosen = 0
        self.held: int | None = None
        """The row whose slider the mouse holds."""
        self._asked: dict[str, float] = {}
        """What a slider shows although the training does not go by it yet, by name."""

    @property
    def _live(self) -> LiveSettings | None:
        work = self.window.background
        return None if work is None or work.is_saved else work.training.live

    @property
    def is_open(self) -> bool:
        """Whether it is shown."""
        return PANEL in self.window.panels and self._live is not None

    def view(self) -> SettingsView | None:
        """Return what is shown, None while it is closed."""
        live = self._live
        if live is None or not self.is_open:
            return None
        return SettingsView(tuple(self._row(live, name) for name in live.names), self.chosen)

    def _row(self, live: LiveSettings, name: str) -> SettingRow:
        asked = self._asked.get(name)
        if asked is not None and self.held is None and live.now(name) == asked:
            del self._asked[name]
        value, reach = live.now(name) if asked is None else asked, live.reach(name)
        told = f"x{value:.3g}" if name.startswith(WEIGHT) else f"{value:.3g}"
        first = live.first[name]
        changed = name in live.changed and live.changed[name] != first
        shown = name.removeprefix(WEIGHT) + (" reward" if name.startswith(WEIGHT) else "")
        return SettingRow(shown.replace("_", " "), told, reach.share(value), reach.share(first), changed)

    # --- keys -------------------------------------------------------------------------------------------------------

    def toggle(self) -> None:
        """Show the sliders, or hide them."""
        if PANEL in self.window.panels:
            self.window.panels -= {PANEL}
        else:
            self._open()

    def _open(self) -> None:
        live = self._live
        if live is None:
            self.window.say("training is over", "warn")
        elif not live.names:
            self.window.say("nothing of this training may change while it goes on", "warn")
        else:
            self.window.panels |= {PANEL}

    def choose(self, by: int) -> None:
        """Choose the next row, or the one before; the first time only show them."""
        live = self._live
        if live is not None and self.is_open:
            self.chosen = (self.chosen + by) % len(live.names)
        else:
            self._open()

    def nudge(self, by: int) -> None:
        """Raise or lower what is chosen by a notch."""
        live = self._live
        if live is None or not self.is_open:
            self._open()
            return
        name = live.names[self.chosen]
        reach = live.reach(name)
        self._ask(name, reach.value(reach.share(self._asked.get(name, live.now(name))) + by * reach.notch))

    def _ask(self, name: str, value: float) -> None:
        self._asked[name] = value
        assert self.window.background is not None
        self.window.background.change(name, value, self.window.say)

    # --- mouse ------------------------------------------------------------------------------------------------------

    def grab(self, pixel: tuple[float, float]) -> bool:
        """Take hold of the slider under a pixel; tell whether the panel is there at all."""
        seen = self.window.seen.settings
        place = None if seen is None else settings_place(self.window.layout.stage, seen, self.window.painter.canvas)
        if seen is None or place is None or not place.collidepoint(pixel):
            return False
        self.held = row_at(place, seen, pixel, self.window.painter.canvas)
        if self.held is not None:
            self.chosen = self.held
            self.drag(pixel)
        return True

    def click(self, pixel: tuple[float, float]) -> bool:
        """Set the slider under a pixel; tell whether the panel is there at all."""
        took = self.grab(pixel)
        self.let_go()
        return took

    def drag(self, pixel: tuple[float, float]) -> None:
        """Move the slider that is held; the training goes by it once it is let go."""
        seen, live = self.window.seen.settings, self._live
        place = None if seen is None else settings_place(self.window.layout.stage, seen, self.window.painter.canvas)
        if place is None or live is None or self.held is None:
            return
        name = live.names[self.held]
        reach, share = live.reach(name), share_at(place, pixel[0], self.window.painter.canvas)
        first = live.first[name]
        self._asked[name] = first if abs(share - reach.share(first)) < SNAPS else reach.value(share)

    def let_go(self) -> None:
        """Ask for what the slider shows."""
        live, held, self.held = self._live, self.held, None
        if live is not None and held is not None:
            name = live.names[held]
            if name in self._asked and self._asked[name] != live.now(name):
                self._ask(name, self._asked[name])
