"""What floats over the stage: mode chips, profiler, inspector and messages."""

from __future__ import annotations

from dataclasses import dataclass

import pygame

from ecs_rl.viewer.canvas import NORMAL, SMALL, Canvas
from ecs_rl.viewer.draw import rounded
from ecs_rl.viewer.key_caps import cap_width, draw_head_key
from ecs_rl.viewer.palette import (
    BAD,
    DIM,
    GOOD,
    MAIN_LINE,
    PANEL,
    RAISED,
    TEXT,
    WARN,
    Colour,
    mix,
)
from ecs_rl.viewer.stage import TONES
from ecs_rl.viewer.view import Modes, Toast


@dataclass(frozen=True)
class Chip:
    """A mode that is on, and the key that leaves it."""

    name: str
    key: str
    colour: Colour
    dot: bool = False
    """A red dot stands before it."""

    def width(self, canvas: Canvas, *, keyed: bool) -> int:
        """Return how many pixels it takes."""
        key = cap_width(self.key, canvas, SMALL - 1) + canvas.px(2) if keyed else 0
        return canvas.width(self.name, SMALL - 0.5) + key + canvas.px(18) + (canvas.px(11) if self.dot else 0)


def _chips(modes: Modes) -> list[Chip]:
    """Return a chip for everything that is not as usual, the most surprising one first."""
    chips = (
        (modes.paused, Chip("PAUSED", "Space", WARN)),
        (modes.ago is not None, Chip(f"{modes.ago or 0.0:.1f} S AGO", "Esc", MAIN_LINE)),
        (modes.asks, Chip("WHY?", "I", MAIN_LINE)),
        (modes.maps, Chip("VALUE MAP", "X", MAIN_LINE)),
        (bool(modes.aside[0]), Chip(*modes.aside, MAIN_LINE)),
        (bool(modes.hands), Chip("YOU DRIVE", modes.hands, GOOD)),
        (modes.training_paused, Chip("TRAINING PAUSED", "T", WARN)),
        (bool(modes.pace) and not modes.training_paused, Chip(modes.pace, "O", MAIN_LINE)),
        (modes.recording, Chip("RECORDING", "V", BAD, dot=True)),
        (modes.turbo, Chip("TURBO", "U", WARN)),
        (modes.sampled is not None, Chip("SAMPLED ACTIONS" if modes.sampled else "BEST ACTIONS", "D", DIM)),
    )
    return [chip for is_on, chip in chips if is_on]


def _shown(modes: Modes, room: int, canvas: Canvas) -> tuple[list[Chip], bool]:
    """Return the chips that fit, and whether their keys do too: first the keys go, then the last chips."""
    chips = _chips(modes)
    for keyed in (True, False):
        if _width(chips, keyed, canvas) <= room * (0.75 if keyed else 1.0):
            return chips, keyed
    while chips and _width(chips, False, canvas) > room:
        chips = chips[:-1]
    return chips, False


def _width(chips: list[Chip], keyed: bool, canvas: Canvas) -> int:
    return canvas.px(12) + sum(chip.width(canvas, keyed=keyed) + canvas.px(6) for chip in chips)


def modes_width(modes: Modes, room: int, canvas: Canvas) -> int:
    """Return how many of so many pixels the chips take."""
    return _width(*_shown(modes, room, canvas), canvas)


def draw_modes(
    surface: pygame.Surface, area: pygame.Rect, modes: Modes, canvas: Canvas, middle: int | None = None
) -> None:
    """Draw a chip for everything that is not as usual, to the right, at the top unless told at which height."""
    row = pygame.Rect(area.x, 0, area.w, canvas.px(22))
    row.centery = area.y + canvas.px(19) if middle is None else middle
    canvas.lay(surface, row, "modes", modes, _paint_modes, clear=True)


def chip_at(area: pygame.Rect, modes: Modes, pixel: tuple[float, float], canvas: Canvas) -> str:
    """Return the key of the chip under a pixel, '' if there is none; the row is that of `draw_modes`."""
    row = pygame.Rect(area.x, 0, area.w, canvas.px(22))
    row.centery = area.y + canvas.px(19)
    chips, keyed = _shown(modes, row.w, canvas)
    left = row.right - _width(chips, keyed, canvas) + canvas.px(6)
    for chip in chips if row.collidepoint(pixel) else ():
        wide = chip.width(canvas, keyed=keyed)
        if left <= pixel[0] < left + wide:
            return chip.key
        left += wide + canvas.px(6)
    return ""


def _paint_modes(surface: pygame.Surface, modes: Modes, canvas: Canvas) -> None:
    chips, keyed = _shown(modes, surface.get_width(), canvas)
    left, y = surface.get_width() - _width(chips, keyed, canvas) + canvas.px(6), surface.get_height() // 2
    for chip in chips:
        rect = pygame.Rect(left, 0, chip.width(canvas, keyed=keyed), canvas.px(20))
        rect.centery = y
        tint = mix(PANEL, chip.colour, 0.16)
        rounded(surface, rect, tint, radius=rect.h // 2, edge=mix(PANEL, chip.colour, 0.45), alpha=230)
        x = rect.x + canvas.px(9)
        if chip.dot:
            pygame.draw.aacircle(surface, BAD, (x + canvas.px(2), rect.centery), canvas.px(3.5))
            x += canvas.px(11)
        colour = mix(chip.colour, TEXT, 0.3)
        canvas.write(surface, chip.name, (x, y), size=SMALL - 0.5, colour=colour)
        if keyed:
            draw_head_key(surface, chip.key, rect.right - canvas.px(4), y, canvas)
        left = rect.right + canvas.px(6)


def draw_toasts(surface: pygame.Surface, area: pygame.Rect, toasts: tuple[Toast, ...], canvas: Canvas) -> None:
    """Draw messages below the caption to the left, the newest (last) on top: there is the sky and no landing pad."""
    y = area.y + canvas.px(52)
    for toast in reversed(toasts[-4:]):
        text = canvas.cut(toast.text, area.w - canvas.px(60), NORMAL)
        rect = pygame.Rect(0, 0, canvas.width(text, NORMAL) + canvas.px(28), canvas.px(28))
        rect.midleft = (area.x + canvas.px(12), y)
        strength = min(max(toast.strength, 0.0), 1.0)
        colour = TONES[toast.tone]
        alpha = round(16 * strength) * 15  # few different pictures
        rounded(surface, rect, RAISED, radius=canvas.px(7), edge=mix(RAISED, colour, 0.4), alpha=min(alpha, 240))
        picture = canvas.picture(text, NORMAL, colour, "words")
        picture.set_alpha(round(255 * strength))
        surface.blit(picture, picture.get_rect(center=rect.center))
        picture.set_alpha(255)
        y += canvas.px(34)
