"""Settings that may change while it trains: a slider for each, in the upper right corner of the stage."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pygame

from ecs_rl.training.live_settings import WEIGHT
from ecs_rl.viewer.canvas import HEAD, PAD, SMALL, Canvas, SliderView, fill_card
from ecs_rl.viewer.palette import FAINT
from ecs_rl.viewer.panel import App, Command, Gesture, Hit, Panel

if TYPE_CHECKING:
    from ecs_rl.training.live_settings import LiveSettings

WIDTH, ROW, FOOT, VALUE = 330, 24, 24, 66
"""Width of the panel; heights of a row and of the line below the rows; width of a value."""
SNAPS = 0.015
"""Share of a slider within which it snaps to what the setting was as the training began."""
FOOTER = "drag, or Up Down to choose, Left Right to change"


SettingsView = tuple[SliderView, ...]
"""All settings that may change."""


class Settings(Panel[SettingsView]):
    """Asks the training for changes: a slider when it is dropped or a key moves it."""

    name = "settings"

    def __init__(self) -> None:
        self.held: int | None = None
        """The row whose slider is dragged."""
        self._asked: dict[str, float] = {}
        """The value that a slider shows although the training does not use it yet, by name."""

    def view(self, app: App) -> SettingsView | None:
        """Return the sliders, None while they are closed."""
        live = _live(app)
        if live is None or self.name not in app.open_panels:
            return None
        return tuple(self._row(live, name) for name in live.names)

    def _row(self, live: LiveSettings, name: str) -> SliderView:
        asked = self._asked.get(name)
        if asked is not None and self.held is None and live.now(name) == asked:
            del self._asked[name]
        value, slider = live.now(name) if asked is None else asked, live.slider(name)
        text = f"x{value:.3g}" if name.startswith(WEIGHT) else f"{value:.3g}"
        first = live.first[name]
        changed = name in live.changed and live.changed[name] != first
        title = name.removeprefix(WEIGHT) + (" reward" if name.startswith(WEIGHT) else "")
        title = title.replace("_", " ")
        return SliderView(title, text, slider.share(value), slider.share(first), changed, slider.notch)

    # --- painting ---------------------------------------------------------------------------------------------------

    def paint(self, canvas: Canvas, view: SettingsView, room: pygame.Rect) -> None:
        """Paint the panel; where not all rows have room, the one with the focus is among those that do."""
        row, besides = canvas.px(ROW), canvas.px(HEAD + FOOT)
        placed = canvas.place_rows(room, "top right", WIDTH, len(view), row=row, besides=besides)
        if placed is not None:
            visible = canvas.visible("slider", len(view), placed[1])
            canvas.lay(canvas.surface, placed[0], self.name, (view, visible), _paint)

    # --- keys -------------------------------------------------------------------------------------------------------

    def toggle(self, app: App) -> None:
        """Show the sliders, or hide them."""
        live = _live(app)
        if self.name in app.open_panels:
            self.leave(app)
        elif live is None:
            app.say("training is over", "warn")
        elif not live.names:
            app.say("nothing of this training may change while it goes on", "warn")
        else:
            app.open_panels |= {self.name}

    def _ask(self, app: App, name: str, value: float) -> None:
        self._asked[name] = value
        assert app.run.background is not None
        app.run.background.change(name, value, app.say)

    keys = (Command("Training", "S", "settings", "sliders: Up Down, Left Right", toggle, (pygame.K_s,), trains=True),)

    # --- mouse ------------------------------------------------------------------------------------------------------

    def act(self, app: App, hit: Hit, gesture: Gesture) -> None:
        """Move the slider under the mouse; the training uses its value once it is dropped."""
        live = _live(app)
        if hit.part != "slider" or live is None or hit.index >= len(live.names):
            return
        if gesture.kind in ("click", "grab", "drag"):
            self.held = hit.index
            name, share = live.names[hit.index], hit.along
            slider, first = live.slider(name), live.first[name]
            self._asked[name] = first if abs(share - slider.share(first)) < SNAPS else slider.value(share)
        if gesture.kind in ("click", "drop"):
            self.held, name = None, live.names[hit.index]
            if self._asked.get(name, live.now(name)) != live.now(name):
                self._ask(app, name, self._asked[name])


def _live(app: App) -> LiveSettings | None:
    """Return the settings of the training behind the window, None without one."""
    work = app.run.background
    return None if work is None or work.is_saved else work.training.live


def _paint(surface: pygame.Surface, shows: tuple[SettingsView, range], canvas: Canvas) -> None:
    view, numbers = shows
    y, pad, tall = fill_card(surface, "S", "Settings, while it trains", canvas), canvas.px(PAD), canvas.px(ROW)
    area = pygame.Rect(pad, y, surface.get_width() - 2 * pad, len(numbers) * tall)
    canvas.sliders(area, view, numbers, tall=tall, value=canvas.px(VALUE))
    at = (pad, area.bottom + canvas.px(FOOT) // 2 - canvas.px(1))
    canvas.write(surface, FOOTER, at, size=SMALL - 0.5, colour=FAINT, width=area.w)
