"""Keys on the screen: key caps, and the strip that tells a first-time user the most important ones."""

from __future__ import annotations

import pygame

from ecs_rl.viewer.context import SMALL, DrawContext
from ecs_rl.viewer.draw import rounded
from ecs_rl.viewer.palette import DIM, FAINT, RAISED, RULE, TEXT, mix

STRIP = 26
"""Height of the strip of hints."""
Hints = tuple[tuple[str, str], ...]


def cap_width(key: str, kit: DrawContext, size: float = SMALL) -> int:
    """Return how many pixels a key cap takes."""
    least, room = (20, 10) if size >= SMALL else (16, 8)
    return max(kit.px(least), kit.text.width(key, size) + kit.px(room))


def draw_cap(
    surface: pygame.Surface, key: str, left: float, middle: float, kit: DrawContext, *, small: bool = False
) -> int:
    """Draw a key cap, a small one fainter; return where it ends to the right."""
    size = SMALL - 1 if small else SMALL
    cap = pygame.Rect(round(left), 0, cap_width(key, kit, size), kit.px(15 if small else 18))
    cap.centery = round(middle)
    rounded(surface, cap, RAISED, radius=kit.px(4), edge=mix(RULE, FAINT, 0.4), alpha=225)
    kit.text.draw(surface, key, cap.center, size=size, colour=DIM if small else TEXT, anchor="middle")
    return cap.right


def draw_head_key(surface: pygame.Surface, key: str, right: int, middle: int, kit: DrawContext) -> int:
    """Draw the key that hides a panel, ending at `right`; return where it begins."""
    left = right - cap_width(key, kit, SMALL - 1)
    draw_cap(surface, key, left, middle, kit, small=True)
    return left


def hints_width(hints: Hints, kit: DrawContext) -> int:
    """Return how many pixels some hints take side by side."""
    caps = sum(cap_width(key, kit, SMALL - 1) + kit.px(3) for keys, _ in hints for key in keys.split(" "))
    words = sum(kit.px(3) + kit.text.width(does, SMALL) + kit.px(14) for _, does in hints)
    return caps + words - (kit.px(14) if hints else 0)


def fitting_hints(hints: Hints, room: int, kit: DrawContext) -> Hints:
    """Return as many of the first hints as fit side by side."""
    while hints and hints_width(hints, kit) > room:
        hints = hints[:-1]
    return hints


def paint_hints(surface: pygame.Surface, hints: Hints, kit: DrawContext) -> None:
    """Paint as many hints as fit, ending at the right edge."""
    w, h = surface.get_size()
    shown = fitting_hints(hints, w, kit)
    x, y = float(w - hints_width(shown, kit)), h // 2
    for keys, does in shown:
        for key in keys.split(" "):
            x = draw_cap(surface, key, x, y, kit, small=True) + kit.px(3)
        x = kit.text.draw(surface, does, (x + kit.px(3), y), size=SMALL, colour=FAINT).right + kit.px(14)
