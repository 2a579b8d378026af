"""The scrubber: the last half minute of the stage as a bar above its lower edge, while the stage rests or is back."""

from __future__ import annotations

import pygame

from ecs_rl.viewer.canvas import SMALL, Canvas
from ecs_rl.viewer.celebration import RIBBON
from ecs_rl.viewer.draw import rounded
from ecs_rl.viewer.palette import DIM, FAINT, MAIN_LINE, NIGHT, PANEL, RAISED, TEXT, mix
from ecs_rl.viewer.panels.keys import STRIP
from ecs_rl.viewer.stage import TONES
from ecs_rl.viewer.view_floating import RewindView

TALL, BAR = 26, 6
"""Heights of the place that takes the mouse, and of the bar in it."""
WORDS = 52
"""Pixels beside the bar for how long ago it is."""


def scrubber_place(stage: pygame.Rect, canvas: Canvas) -> pygame.Rect | None:
    """Return where the scrubber is on a stage; None where there is no room."""
    if stage.h <= canvas.px(160) or stage.w <= canvas.px(240):
        return None
    place = pygame.Rect(stage.x + canvas.px(14), 0, stage.w - canvas.px(28), canvas.px(TALL))
    place.bottom = stage.bottom - canvas.px(STRIP + 4 + RIBBON)
    return place


def scrubber_bar(place: pygame.Rect, canvas: Canvas) -> pygame.Rect:
    """Return where the bar is."""
    bar = pygame.Rect(place.x, 0, place.w - canvas.px(WORDS), canvas.px(BAR))
    bar.centery = place.centery
    return bar


def ago_at(place: pygame.Rect, rewind: RewindView, x: float, canvas: Canvas) -> float:
    """Return how many seconds ago the moment was that is under a pixel."""
    bar = scrubber_bar(place, canvas)
    return rewind.seconds * min(max((bar.right - x) / max(1, bar.w), 0.0), 1.0)


def draw_scrubber(surface: pygame.Surface, stage: pygame.Rect, rewind: RewindView, canvas: Canvas) -> None:
    """Draw the bar, where episodes ended on it, and the moment that is to be seen."""
    place = scrubber_place(stage, canvas)
    if place is None:
        return
    bar = scrubber_bar(place, canvas)
    radius = bar.h // 2
    rounded(surface, bar.inflate(canvas.px(2), canvas.px(2)), NIGHT, radius=radius + 1, alpha=200)
    rounded(surface, bar, RAISED, radius=radius, alpha=235)
    seconds = max(rewind.seconds, 1e-9)
    x = round(bar.right - (rewind.ago or 0.0) / seconds * bar.w)
    done = pygame.Rect(bar.x, bar.y, x - bar.x, bar.h)
    rounded(surface, done, mix(PANEL, MAIN_LINE, 0.75), radius=radius)
    for ago, tone in rewind.ends:
        at = round(bar.right - ago / seconds * bar.w)
        colour = DIM if tone == "plain" else TONES[tone]
        surface.fill(colour, (at - canvas.px(1), bar.y - canvas.px(4), canvas.px(2), bar.h + canvas.px(8)))
    pygame.draw.aacircle(surface, NIGHT, (x, bar.centery), canvas.px(8))
    pygame.draw.aacircle(surface, TEXT, (x, bar.centery), canvas.px(6))
    told = "now" if rewind.ago is None else f"-{rewind.ago:.1f} s"
    colour = FAINT if rewind.ago is None else TEXT
    words = pygame.Rect(bar.right + canvas.px(10), 0, canvas.px(WORDS - 10), canvas.px(16))
    words.centery = bar.centery
    rounded(surface, words, NIGHT, radius=canvas.px(4), alpha=170)
    at_words = (words.right - canvas.px(4), words.centery)
    canvas.write(surface, told, at_words, size=SMALL, colour=colour, face="numbers", anchor="right")
