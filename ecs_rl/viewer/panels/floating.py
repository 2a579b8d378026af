"""What floats over the stage: mode chips, profiler, inspector and messages."""

from __future__ import annotations

import math
from dataclasses import dataclass

import pygame

from ecs_rl.viewer.context import NORMAL, SMALL, DrawContext
from ecs_rl.viewer.draw import bar, rounded
from ecs_rl.viewer.number_formats import NOTHING
from ecs_rl.viewer.palette import (
    BAD,
    DIM,
    FAINT,
    GOOD,
    MAIN_LINE,
    PANEL,
    RAISED,
    RULE,
    TEXT,
    WARN,
    Colour,
    mix,
    role_colour,
)
from ecs_rl.viewer.panels.keys import cap_width, draw_head_key
from ecs_rl.viewer.stage import TONES
from ecs_rl.viewer.view import Modes, Toast
from ecs_rl.viewer.view_floating import InspectorView, ProfileRow, ProfileView

HEAD, ROW, PAD = 30, 18, 12
PROFILE, INSPECTOR = 310, 290
"""Widths."""


@dataclass(frozen=True)
class Chip:
    """A mode that is on, and the key that leaves it."""

    name: str
    key: str
    colour: Colour
    dot: bool = False
    """A red dot stands before it."""

    def width(self, kit: DrawContext, *, keyed: bool) -> int:
        """Return how many pixels it takes."""
        key = cap_width(self.key, kit, SMALL - 1) + kit.px(2) if keyed else 0
        return kit.width(self.name, SMALL - 0.5) + key + kit.px(18) + (kit.px(11) if self.dot else 0)


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


def _shown(modes: Modes, room: int, kit: DrawContext) -> tuple[list[Chip], bool]:
    """Return the chips that fit, and whether their keys do too: first the keys go, then the last chips."""
    chips = _chips(modes)
    for keyed in (True, False):
        if _width(chips, keyed, kit) <= room * (0.75 if keyed else 1.0):
            return chips, keyed
    while chips and _width(chips, False, kit) > room:
        chips = chips[:-1]
    return chips, False


def _width(chips: list[Chip], keyed: bool, kit: DrawContext) -> int:
    return kit.px(12) + sum(chip.width(kit, keyed=keyed) + kit.px(6) for chip in chips)


def modes_width(modes: Modes, room: int, kit: DrawContext) -> int:
    """Return how many of so many pixels the chips take."""
    return _width(*_shown(modes, room, kit), kit)


def draw_modes(
    surface: pygame.Surface, area: pygame.Rect, modes: Modes, kit: DrawContext, middle: int | None = None
) -> None:
    """Draw a chip for everything that is not as usual, to the right, at the top unless told at which height."""
    row = pygame.Rect(area.x, 0, area.w, kit.px(22))
    row.centery = area.y + kit.px(19) if middle is None else middle
    kit.lay(surface, row, "modes", modes, _paint_modes, clear=True)


def chip_at(area: pygame.Rect, modes: Modes, pixel: tuple[float, float], kit: DrawContext) -> str:
    """Return the key of the chip under a pixel, '' if there is none; the row is that of `draw_modes`."""
    row = pygame.Rect(area.x, 0, area.w, kit.px(22))
    row.centery = area.y + kit.px(19)
    chips, keyed = _shown(modes, row.w, kit)
    left = row.right - _width(chips, keyed, kit) + kit.px(6)
    for chip in chips if row.collidepoint(pixel) else ():
        wide = chip.width(kit, keyed=keyed)
        if left <= pixel[0] < left + wide:
            return chip.key
        left += wide + kit.px(6)
    return ""


def _paint_modes(surface: pygame.Surface, modes: Modes, kit: DrawContext) -> None:
    chips, keyed = _shown(modes, surface.get_width(), kit)
    left, y = surface.get_width() - _width(chips, keyed, kit) + kit.px(6), surface.get_height() // 2
    for chip in chips:
        rect = pygame.Rect(left, 0, chip.width(kit, keyed=keyed), kit.px(20))
        rect.centery = y
        tint = mix(PANEL, chip.colour, 0.16)
        rounded(surface, rect, tint, radius=rect.h // 2, edge=mix(PANEL, chip.colour, 0.45), alpha=230)
        x = rect.x + kit.px(9)
        if chip.dot:
            pygame.draw.aacircle(surface, BAD, (x + kit.px(2), rect.centery), kit.px(3.5))
            x += kit.px(11)
        colour = mix(chip.colour, TEXT, 0.3)
        kit.write(surface, chip.name, (x, y), size=SMALL - 0.5, colour=colour)
        if keyed:
            draw_head_key(surface, chip.key, rect.right - kit.px(4), y, kit)
        left = rect.right + kit.px(6)


def draw_toasts(surface: pygame.Surface, area: pygame.Rect, toasts: tuple[Toast, ...], kit: DrawContext) -> None:
    """Draw messages below the caption to the left, the newest (last) on top: there is the sky and no landing pad."""
    y = area.y + kit.px(52)
    for toast in reversed(toasts[-4:]):
        text = kit.cut(toast.text, area.w - kit.px(60), NORMAL)
        rect = pygame.Rect(0, 0, kit.width(text, NORMAL) + kit.px(28), kit.px(28))
        rect.midleft = (area.x + kit.px(12), y)
        strength = min(max(toast.strength, 0.0), 1.0)
        colour = TONES[toast.tone]
        alpha = round(16 * strength) * 15  # few different pictures
        rounded(surface, rect, RAISED, radius=kit.px(7), edge=mix(RAISED, colour, 0.4), alpha=min(alpha, 240))
        picture = kit.picture(text, NORMAL, colour, "words")
        picture.set_alpha(round(255 * strength))
        surface.blit(picture, picture.get_rect(center=rect.center))
        picture.set_alpha(255)
        y += kit.px(34)


def _head(surface: pygame.Surface, key: str, title: str, kit: DrawContext) -> int:
    """Fill a floating panel, draw its title and the key that closes it; return where its first row begins."""
    surface.fill(PANEL)
    pygame.draw.rect(surface, RULE, surface.get_rect(), kit.px(1))
    at = (kit.px(PAD), kit.px(HEAD) / 2 + kit.px(1))
    left = draw_head_key(surface, key, surface.get_width() - kit.px(PAD), round(at[1]), kit)
    kit.write(surface, title, at, width=left - kit.px(PAD) - kit.px(8))
    return kit.px(HEAD)


def draw_profile(surface: pygame.Surface, area: pygame.Rect, profile: ProfileView, kit: DrawContext) -> None:
    """Draw the profiler into the upper left corner of the stage."""
    rows = max(1, min(len(profile.rows), (area.h - kit.px(HEAD + ROW + 10 + 53 + 118)) // kit.px(ROW)))
    tall = kit.px(HEAD + ROW + 10) + rows * kit.px(ROW) + (kit.px(53) if profile.frame else 0)
    size = min(kit.px(PROFILE), area.w - kit.px(24)), min(tall, area.h - kit.px(50))
    rect = pygame.Rect((area.x + kit.px(12), area.y + kit.px(38)), size)
    if rect.w > kit.px(120) and rect.h > kit.px(60):
        kit.lay(surface, rect, "profile", (profile, rows), _paint_profile)


def _paint_profile(surface: pygame.Surface, shows: tuple[ProfileView, int], kit: DrawContext) -> None:
    profile, rows = shows
    y = _head(surface, "F3", "Milliseconds per frame, by stage", kit)
    right, digits = surface.get_width() - kit.px(PAD), kit.px(58)
    columns = (right - digits - kit.px(70), right - kit.px(70))
    middle = y + kit.px(ROW) // 2 - kit.px(3)
    for x, name in zip((*columns, right), ("now", "mean", "share"), strict=True):
        kit.write(surface, name, (x, middle), size=SMALL - 0.5, colour=FAINT, anchor="right")
    y += kit.px(ROW) - kit.px(3)
    for row in _largest(profile.rows, rows):
        middle = y + kit.px(ROW) // 2
        name_room = columns[0] - digits - kit.px(PAD)
        kit.write(surface, row.name, (kit.px(PAD), middle), size=SMALL + 0.5, colour=DIM, width=name_room)
        for x, value in zip(columns, (row.now, row.mean), strict=True):
            text = f"{value:.2f}" if math.isfinite(value) else NOTHING
            kit.write(surface, text, (x, middle), size=SMALL + 0.5, face="numbers", anchor="right")
        track = pygame.Rect(columns[1] + kit.px(14), 0, right - columns[1] - kit.px(14), kit.px(6))
        track.centery = middle
        surface.fill(RAISED, track)
        bar(surface, track, 0.0, row.share, MAIN_LINE)
        y += kit.px(ROW)
    if profile.frame:
        _paint_frame(surface, y + kit.px(6), profile, kit)


def _largest(rows: tuple[ProfileRow, ...], most: int) -> tuple[ProfileRow, ...]:
    """Return the rows, or the most expensive ones and the sum of the others."""
    if len(rows) <= most:
        return rows
    kept = sorted(rows, key=lambda row: -row.mean)
    rest = kept[most - 1 :]
    sums = (sum(getattr(row, part) for row in rest) for part in ("now", "mean", "share"))
    return (*kept[: most - 1], ProfileRow(f"{len(rest)} others", *sums))


def _paint_frame(surface: pygame.Surface, y: int, profile: ProfileView, kit: DrawContext) -> None:
    w = surface.get_width()
    track = pygame.Rect(kit.px(PAD), y + kit.px(20), w - 2 * kit.px(PAD), kit.px(9))
    spent = sum(ms for _, ms in profile.frame if ms > 0)
    most = max(spent, profile.budget, 1e-9)
    told = f"frame {spent:.1f} of {profile.budget:.1f} ms"
    kit.write(surface, told, (kit.px(PAD), y + kit.px(9)), size=SMALL, colour=WARN if spent > most * 1.001 else DIM)
    surface.fill(RAISED, track)
    start, x = 0.0, kit.px(PAD)
    for i, (name, ms) in enumerate(profile.frame):
        colour = role_colour(i)
        if ms > 0:
            bar(surface, track, start / most, (start + ms) / most, colour)
            start += ms
        if ms < 0.05:
            continue
        label = f"{name} {ms:.1f}"
        if x + kit.width(label, SMALL - 0.5) > w - kit.px(PAD):
            continue
        x += kit.write(surface, label, (x, y + kit.px(43)), size=SMALL - 0.5, colour=colour).w + kit.px(10)
    line = track.x + round(track.w * profile.budget / most)
    surface.fill(TEXT, (min(line, track.right - 1), track.y - kit.px(2), kit.px(1), track.h + kit.px(4)))


def both_fit(area: pygame.Rect, kit: DrawContext) -> bool:
    """Tell whether the stage is wide enough for profiler and inspector side by side."""
    return area.w >= kit.px(PROFILE + INSPECTOR + 36)


def draw_inspector(surface: pygame.Surface, area: pygame.Rect, inspector: InspectorView, kit: DrawContext) -> None:
    """Draw an entity's components into the upper right corner of the stage."""
    rows = min(len(inspector.rows), max(0, (area.h - kit.px(HEAD + 126)) // kit.px(ROW)))
    size = min(kit.px(INSPECTOR), area.w - kit.px(24)), kit.px(HEAD + 8) + rows * kit.px(ROW)
    rect = pygame.Rect((area.right - size[0] - kit.px(12), area.y + kit.px(38)), size)
    if rect.w > kit.px(120) and rect.h > kit.px(30):
        kit.lay(surface, rect, "inspector", inspector, _paint_inspector)


def _paint_inspector(surface: pygame.Surface, inspector: InspectorView, kit: DrawContext) -> None:
    w, h = surface.get_size()
    y, unit = _head(surface, "Esc", inspector.title, kit), kit.px(53)
    right = w - kit.px(PAD) - unit
    room = right - kit.px(PAD) - round(w * 0.42)
    for name, value, of in inspector.rows:
        middle = y + kit.px(ROW) // 2
        if middle + kit.px(ROW) // 2 > h:
            return
        kit.write(surface, name, (kit.px(PAD), middle), size=SMALL + 0.5, colour=DIM, width=w * 0.42)
        kit.write(surface, value, (right, middle), size=SMALL + 0.5, face="numbers", anchor="right", width=room)
        kit.write(surface, of, (right + kit.px(6), middle), size=SMALL, colour=FAINT, width=unit - kit.px(6))
        y += kit.px(ROW)
