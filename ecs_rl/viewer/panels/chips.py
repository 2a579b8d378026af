"""Chips: a sign for each mode that is not as usual, with the key that leaves it; a click does what the key does."""

from __future__ import annotations

import pygame

from ecs_rl.viewer.canvas import SMALL, Canvas, cap_width, draw_head_key
from ecs_rl.viewer.draw import rounded
from ecs_rl.viewer.palette import BAD, PANEL, TEXT, mix
from ecs_rl.viewer.panel import App, Chip, Panel

WORDS = {
    "policy": "What was learned: a function from what is seen to what is done.",
    "best actions": "Greedy: the policy does what it thinks best, as in evaluations; D draws its actions at random.",
    "sampled actions": "Actions are drawn at random with the policy's own probabilities, as in training.",
    "greedy": "The policy does what it thinks best every time, without trying anything.",
    "you drive": "Your keys decide in place of the policy; this episode does not count for it.",
    "race": "You and the policy play the same seed side by side.",
    "before and after": "The untrained policy and the present one on the same seed.",
    "paused": "The stage stands still; the training does not.",
    "turbo": "Four pictures a second, so that the training has nearly all of the machine.",
    "recording": "A film of the window is being written; it shows neither this sign nor messages.",
}
"""Who plays, and which modes are on."""
HEIGHT, GAP, EDGE = 22, 6, 12
ROOMY = 0.75
"""Share of the room that chips with their keys may take; without keys they may take all of it."""


ChipsView = tuple[Chip, ...]
"""The chips, the most surprising one first."""


class Chips(Panel[ChipsView]):
    """Shows what the modes and panels say of themselves."""

    name, place = "chips", "ground"
    filmed = False
    words = WORDS

    def view(self, app: App) -> ChipsView | None:
        """Return the chips of all modes that are on."""
        chips = (chip for panel in app.panels.values() for chip in panel.chips(app))
        return tuple(sorted(chips, key=lambda chip: chip.rank))

    def arrange(self, canvas: Canvas, view: ChipsView, room: pygame.Rect) -> None:
        """Take the right end of the room for chips; hints in the same line get what is left."""
        row, hints = canvas.rooms["chips"], canvas.rooms["hints"]
        chips, keyed = _fitting(view, row.w, canvas, ROOMY)
        place = pygame.Rect(0, 0, _width(chips, keyed, canvas), canvas.px(HEIGHT))
        place.midright = row.right, row.centery
        if row.colliderect(hints):
            hints.w = min(hints.w, place.x - hints.x)
        canvas.rooms["chips"] = place

    def paint(self, canvas: Canvas, view: ChipsView, room: pygame.Rect) -> None:
        """Paint as many chips as fit: first their keys go, then the last chips."""
        place = canvas.rooms["chips"]
        canvas.lay(canvas.surface, place, self.name, view, _paint, clear=True)


def _chip_width(chip: Chip, canvas: Canvas, *, keyed: bool) -> int:
    key = cap_width(chip.key, canvas, SMALL - 1) + canvas.px(2) if keyed else 0
    return canvas.width(chip.text, SMALL - 0.5) + key + canvas.px(18) + (canvas.px(11) if chip.dot else 0)


def _width(chips: tuple[Chip, ...], keyed: bool, canvas: Canvas) -> int:
    return canvas.px(EDGE) + sum(_chip_width(chip, canvas, keyed=keyed) + canvas.px(GAP) for chip in chips)


def _fitting(chips: tuple[Chip, ...], room: int, canvas: Canvas, share: float) -> tuple[tuple[Chip, ...], bool]:
    """Return the chips that fit, and whether their keys do too, which may take this share of the room."""
    if _width(chips, True, canvas) <= room * share:
        return chips, True
    while chips and _width(chips, False, canvas) > room:
        chips = chips[:-1]
    return chips, False


def _paint(surface: pygame.Surface, view: ChipsView, canvas: Canvas) -> None:
    wide, y = surface.get_width(), surface.get_height() // 2
    chips, keyed = _fitting(view, wide, canvas, 1.0)
    left = wide - _width(chips, keyed, canvas) + canvas.px(GAP)
    for number, chip in enumerate(chips):
        rect = pygame.Rect(left, 0, _chip_width(chip, canvas, keyed=keyed), canvas.px(20))
        rect.centery = y
        tint = mix(PANEL, chip.colour, 0.16)
        rounded(surface, rect, tint, radius=rect.h // 2, edge=mix(PANEL, chip.colour, 0.45), alpha=230)
        x = rect.x + canvas.px(9)
        if chip.dot:
            pygame.draw.aacircle(surface, BAD, (x + canvas.px(2), rect.centery), canvas.px(3.5))
            x += canvas.px(11)
        canvas.write(surface, chip.text, (x, y), size=SMALL - 0.5, colour=mix(chip.colour, TEXT, 0.3))
        if keyed:
            draw_head_key(surface, chip.key, rect.right - canvas.px(4), y, canvas)
        canvas.hit(rect, "chip", number, key=chip.key)
        left = rect.right + canvas.px(GAP)
