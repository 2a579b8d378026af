"""What Esc leaves, one thing at a time; it never quits."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ecs_rl.viewer.live.human import leave_hands

if TYPE_CHECKING:
    from ecs_rl.viewer.live.window import Window


def leave_mode(window: Window) -> None:
    """Leave what lies over everything first, then what changes the picture."""
    ground = [panel for panel in window.panels.values() if panel.place == "ground"]
    if any(panel.leave(window) for panel in reversed(window.panels.values()) if panel not in ground):
        pass
    elif window.hands is not None and not window.hands.counts:
        leave_hands(window)
    elif window.aside is not None:
        window.leave_aside()
    elif any(panel.leave(window) for panel in reversed(ground[1:])):
        pass
    elif window.turbo:
        window.turbo = False
    elif window.screen.is_full:
        window.screen.toggle_full_screen()
    elif ground:
        ground[0].leave(window)
