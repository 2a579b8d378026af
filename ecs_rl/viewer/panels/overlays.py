"""What floats over the stage: mode chips, profiler, inspector, help and messages."""

from __future__ import annotations

import math

import pygame

from ecs_rl.viewer.draw import bar, rounded
from ecs_rl.viewer.kit import Kit
from ecs_rl.viewer.numbers import NOTHING
from ecs_rl.viewer.palette import (
    BAD,
    BLUE,
    DIM,
    FAINT,
    GOOD,
    MAIN_LINE,
    NIGHT,
    ORANGE,
    PANEL,
    PURPLE,
    RAISED,
    RULE,
    SKY,
    TEXT,
    VERMILION,
    WARN,
    YELLOW,
    Colour,
    mix,
)
from ecs_rl.viewer.stage import TONES
from ecs_rl.viewer.text import LARGE, NORMAL, SMALL
from ecs_rl.viewer.view import HelpGroup, InspectorView, Modes, ProfileRow, ProfileView, Toast

PARTS: tuple[Colour, ...] = (SKY, ORANGE, PURPLE, GOOD, YELLOW, VERMILION, BLUE)
HEAD, ROW, PAD = 30, 18, 12
PROFILE, INSPECTOR = 310, 290
"""Widths."""


def _chips(modes: Modes) -> list[tuple[str, Colour]]:
    chips: list[tuple[str, Colour]] = [("sampled" if modes.sampled else "greedy", DIM)]
    chips += [("turbo", WARN)] if modes.turbo else []
    chips += [("training paused", WARN)] if modes.training_paused else []
    chips += [("paused", WARN)] if modes.paused else []
    chips += [("recording", BAD)] if modes.recording else []
    return chips


def _chip_width(name: str, kit: Kit) -> int:
    return kit.text.width(name, SMALL) + kit.px(16) + (kit.px(11) if name == "recording" else 0)


def modes_width(modes: Modes, kit: Kit) -> int:
    """Return how many pixels the chips take."""
    return kit.px(12) + sum(_chip_width(name, kit) + kit.px(6) for name, _ in _chips(modes))


def draw_modes(surface: pygame.Surface, area: pygame.Rect, modes: Modes, kit: Kit) -> None:
    """Draw a chip for everything that is not as usual, from the right."""
    right, y = area.right - kit.px(12), area.y + kit.px(19)
    for name, colour in _chips(modes):
        dot = kit.px(11) if name == "recording" else 0
        rect = pygame.Rect(0, 0, _chip_width(name, kit), kit.px(20))
        if right - rect.w < area.x + kit.px(4):
            return
        rect.midright = (right, y)
        rounded(surface, rect, mix(PANEL, colour, 0.16), radius=rect.h // 2, edge=mix(PANEL, colour, 0.45), alpha=230)
        at = (rect.centerx + dot // 2, rect.centery)
        kit.text.draw(surface, name, at, size=SMALL, colour=mix(colour, TEXT, 0.3), anchor="middle")
        if dot:
            pygame.draw.aacircle(surface, BAD, (rect.x + kit.px(11), rect.centery), kit.px(3.5))
        right = rect.x - kit.px(6)


def draw_toasts(surface: pygame.Surface, area: pygame.Rect, toasts: tuple[Toast, ...], kit: Kit) -> None:
    """Draw messages over the lower edge of the stage, the newest (last) lowest."""
    y = area.bottom - kit.px(30)
    for toast in reversed(toasts[-4:]):
        text = kit.text.cut(toast.text, area.w - kit.px(60), NORMAL)
        rect = pygame.Rect(0, 0, kit.text.width(text, NORMAL) + kit.px(28), kit.px(28))
        rect.center = (area.centerx, y)
        strength = min(max(toast.strength, 0.0), 1.0)
        colour = TONES[toast.tone]
        alpha = round(16 * strength) * 15  # few different pictures
        rounded(surface, rect, RAISED, radius=kit.px(7), edge=mix(RAISED, colour, 0.4), alpha=min(alpha, 240))
        picture = kit.text.picture(text, NORMAL, colour, "words")
        picture.set_alpha(round(255 * strength))
        surface.blit(picture, picture.get_rect(center=rect.center))
        picture.set_alpha(255)
        y -= kit.px(34)


def _floating(
    surface: pygame.Surface, name: str, size: tuple[int, int], title: str, kit: Kit
) -> tuple[pygame.Surface, int]:
    """Fill a floating panel and draw its title; return it and where its first row begins."""
    surface.fill(PANEL)
    pygame.draw.rect(surface, RULE, surface.get_rect(), kit.px(1))
    at = (kit.px(PAD), kit.px(HEAD) / 2 + kit.px(1))
    kit.text.draw(surface, title, at, size=NORMAL, width=size[0] - 2 * kit.px(PAD) - kit.px(30))
    kit.text.draw(
        surface, name, (size[0] - kit.px(PAD), at[1]), size=SMALL, colour=FAINT, anchor="right"
    )  # the key that closes it
    return surface, kit.px(HEAD)


def draw_profile(surface: pygame.Surface, area: pygame.Rect, profile: ProfileView, kit: Kit) -> pygame.Rect:
    """Draw the profiler into the upper left corner of the stage; return what it covers."""
    rows = max(1, min(len(profile.rows), (area.h - kit.px(HEAD + ROW + 10 + 62 + 118)) // kit.px(ROW)))
    tall = kit.px(HEAD + ROW + 10) + rows * kit.px(ROW) + (kit.px(62) if profile.frame else 0)
    size = min(kit.px(PROFILE), area.w - kit.px(24)), min(tall, area.h - kit.px(50))
    rect = pygame.Rect((area.x + kit.px(12), area.y + kit.px(38)), size)
    if rect.w > kit.px(120) and rect.h > kit.px(60):
        layer = kit.layers.get("profile", size, profile, lambda picture: _paint_profile(picture, profile, rows, kit))
        surface.blit(layer, rect)
    return rect


def _paint_profile(surface: pygame.Surface, profile: ProfileView, rows: int, kit: Kit) -> None:
    w, _ = surface.get_size()
    _, y = _floating(surface, "F3", surface.get_size(), "Milliseconds per stage", kit)
    right, digits = w - kit.px(PAD), kit.px(58)
    columns = (right - digits - kit.px(70), right - kit.px(70))
    middle = y + kit.px(ROW) // 2 - kit.px(3)
    for x, name in zip((*columns, right), ("now", "mean", "share"), strict=True):
        kit.text.draw(surface, name, (x, middle), size=SMALL - 0.5, colour=FAINT, anchor="right")
    y += kit.px(ROW) - kit.px(3)
    for row in _largest(profile.rows, rows):
        middle = y + kit.px(ROW) // 2
        name_room = columns[0] - digits - kit.px(PAD)
        kit.text.draw(surface, row.name, (kit.px(PAD), middle), size=SMALL + 0.5, colour=DIM, width=name_room)
        for x, value in zip(columns, (row.now, row.mean), strict=True):
            text = f"{value:.2f}" if math.isfinite(value) else NOTHING
            kit.text.draw(surface, text, (x, middle), size=SMALL + 0.5, face="numbers", anchor="right")
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
    told = f"{len(rest)} others"
    last = ProfileRow(told, *(sum(part) for part in zip(*((r.now, r.mean, r.share) for r in rest), strict=True)))
    return (*kept[: most - 1], last)


def _paint_frame(surface: pygame.Surface, y: int, profile: ProfileView, kit: Kit) -> None:
    w = surface.get_width()
    track = pygame.Rect(kit.px(PAD), y + kit.px(20), w - 2 * kit.px(PAD), kit.px(9))
    spent = sum(ms for _, ms in profile.frame if ms > 0)
    most = max(spent, profile.budget, 1e-9)
    told = f"frame {spent:.1f} of {profile.budget:.1f} ms"
    kit.text.draw(surface, told, (kit.px(PAD), y + kit.px(9)), size=SMALL, colour=WARN if spent > most * 1.001 else DIM)
    surface.fill(RAISED, track)
    start, x = 0.0, kit.px(PAD)
    for i, (name, ms) in enumerate(profile.frame):
        colour = PARTS[i % len(PARTS)]
        if ms > 0:
            bar(surface, track, start / most, (start + ms) / most, colour)
            start += ms
        label = f"{name} {ms:.1f}"
        if x + kit.text.width(label, SMALL - 0.5) > w - kit.px(PAD):
            continue
        x += kit.text.draw(surface, label, (x, y + kit.px(43)), size=SMALL - 0.5, colour=colour).w + kit.px(10)
    line = track.x + round(track.w * profile.budget / most)
    surface.fill(TEXT, (min(line, track.right - 1), track.y - kit.px(2), kit.px(1), track.h + kit.px(4)))


def both_fit(area: pygame.Rect, kit: Kit) -> bool:
    """Tell whether the stage is wide enough for profiler and inspector side by side."""
    return area.w >= kit.px(PROFILE + INSPECTOR + 36)


def draw_inspector(surface: pygame.Surface, area: pygame.Rect, inspector: InspectorView, kit: Kit) -> pygame.Rect:
    """Draw an entity's components into the upper right corner of the stage; return what it covers."""
    rows = min(len(inspector.rows), max(0, (area.h - kit.px(HEAD + 126)) // kit.px(ROW)))
    size = min(kit.px(INSPECTOR), area.w - kit.px(24)), kit.px(HEAD + 8) + rows * kit.px(ROW)
    rect = pygame.Rect((area.right - size[0] - kit.px(12), area.y + kit.px(38)), size)
    if rect.w > kit.px(120) and rect.h > kit.px(30):
        layer = kit.layers.get("inspector", size, inspector, lambda picture: _paint_inspector(picture, inspector, kit))
        surface.blit(layer, rect)
    return rect


def _paint_inspector(surface: pygame.Surface, inspector: InspectorView, kit: Kit) -> None:
    w, h = surface.get_size()
    _, y = _floating(surface, "Esc", (w, h), inspector.title, kit)
    unit = kit.px(46)
    for name, value, of in inspector.rows:
        middle = y + kit.px(ROW) // 2
        if middle + kit.px(ROW) // 2 > h:
            return
        kit.text.draw(surface, name, (kit.px(PAD), middle), size=SMALL + 0.5, colour=DIM, width=w * 0.42)
        right = w - kit.px(PAD) - unit
        room = right - kit.px(PAD) - round(w * 0.42)
        kit.text.draw(surface, value, (right, middle), size=SMALL + 0.5, face="numbers", anchor="right", width=room)
        kit.text.draw(surface, of, (right + kit.px(6), middle), size=SMALL, colour=FAINT, width=unit - kit.px(6))
        y += kit.px(ROW)


def draw_help(surface: pygame.Surface, groups: tuple[HelpGroup, ...], kit: Kit) -> None:
    """Darken the whole window and show every key."""
    w, h = surface.get_size()
    columns = _help_columns(groups, (w, h), kit)
    wide = kit.px(300)
    tall = max((sum(_help_height(group, kit) for group in column) for column in columns), default=0)
    card = pygame.Rect(0, 0, len(columns) * wide + kit.px(32), tall + kit.px(66))
    card.center = (w // 2, h // 2)
    card.clamp_ip(surface.get_rect()) if card.w <= w and card.h <= h else None
    shade = kit.layers.get("shade", (w, h), "shade", _paint_shade)
    shade.set_alpha(170)
    surface.blit(shade, (0, 0))
    layer = kit.layers.get("help", card.size, (groups, card.size), lambda picture: _paint_help(picture, columns, kit))
    surface.blit(layer, card)


def _paint_shade(surface: pygame.Surface) -> None:
    surface.fill(NIGHT)


def _help_height(group: HelpGroup, kit: Kit) -> int:
    return kit.px(32) + len(group.keys) * kit.px(24)


def _help_columns(groups: tuple[HelpGroup, ...], size: tuple[int, int], kit: Kit) -> list[list[HelpGroup]]:
    """Share the groups out, in order, over as few columns as fit the height."""
    most = max(1, (size[0] - kit.px(40)) // kit.px(300))
    for count in range(1, most + 1):
        room = max(size[1] - kit.px(90), -(-sum(_help_height(group, kit) for group in groups) // count))
        columns = _filled(groups, room if count == most else size[1] - kit.px(90), kit)
        if len(columns) <= count:
            total = sum(_help_height(group, kit) for group in groups)
            even = range(-(-total // len(columns)), room + kit.px(400), kit.px(12))  # no column longer than needed
            return next((c for c in (_filled(groups, r, kit) for r in even) if len(c) <= len(columns)), columns)
    return _filled(groups, 10**9, kit)


def _filled(groups: tuple[HelpGroup, ...], room: int, kit: Kit) -> list[list[HelpGroup]]:
    columns: list[list[HelpGroup]] = [[]]
    used = 0
    for group in groups:
        if columns[-1] and used + _help_height(group, kit) > room:
            columns.append([])
            used = 0
        columns[-1].append(group)
        used += _help_height(group, kit)
    return columns


def _paint_help(surface: pygame.Surface, columns: list[list[HelpGroup]], kit: Kit) -> None:
    w, _ = surface.get_size()
    surface.fill(PANEL)
    pygame.draw.rect(surface, RULE, surface.get_rect(), kit.px(1))
    kit.text.draw(surface, "Keys and mouse", (kit.px(24), kit.px(28)), size=LARGE + 1)
    told = "F1 or Esc closes this"
    kit.text.draw(surface, told, (w - kit.px(24), kit.px(28)), size=SMALL, colour=FAINT, anchor="right")
    for i, column in enumerate(columns):
        x, y = kit.px(24) + i * kit.px(300), kit.px(50)
        for group in column:
            at = (x, y + kit.px(18))
            kit.text.draw(surface, group.title.upper(), at, size=SMALL, colour=mix(MAIN_LINE, DIM, 0.3))
            y += kit.px(32)
            for keys, does in group.keys:
                _paint_key(surface, (x, y + kit.px(12)), keys, does, kit)
                y += kit.px(24)


def _paint_key(surface: pygame.Surface, at: tuple[int, int], keys: str, does: str, kit: Kit) -> None:
    x, y = at
    for key in keys.split(" "):
        cap = pygame.Rect(0, 0, max(kit.px(20), kit.text.width(key, SMALL) + kit.px(10)), kit.px(18))
        cap.midleft = (x, y)
        rounded(surface, cap, RAISED, radius=kit.px(4), edge=mix(RULE, FAINT, 0.4))
        kit.text.draw(surface, key, cap.center, size=SMALL, anchor="middle")
        x = cap.right + kit.px(4)
    left = max(x + kit.px(6), at[0] + kit.px(96))
    room = at[0] + kit.px(284) - left
    kit.text.draw(surface, does, (left, y), size=NORMAL - 0.5, colour=DIM, width=room)
