"""The panels of the HUD: status line, mind, learning, and what floats over the stage."""

from ecs_rl.viewer.panels.help import draw_help
from ecs_rl.viewer.panels.hints import STRIP, draw_hints, hints_width
from ecs_rl.viewer.panels.learning import draw_learning
from ecs_rl.viewer.panels.mind import draw_mind
from ecs_rl.viewer.panels.overlays import (
    both_fit,
    draw_inspector,
    draw_modes,
    draw_profile,
    draw_toasts,
    modes_width,
)
from ecs_rl.viewer.panels.status import draw_status

__all__ = [
    "STRIP",
    "both_fit",
    "draw_help",
    "draw_hints",
    "draw_inspector",
    "draw_learning",
    "draw_mind",
    "draw_modes",
    "draw_profile",
    "draw_status",
    "draw_toasts",
    "hints_width",
    "modes_width",
]
