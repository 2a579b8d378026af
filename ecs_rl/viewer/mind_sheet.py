"""The agent's mind: what it sees, what it does, what it expects and what it earned."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import pygame

from ecs_rl.arrays import F64
from ecs_rl.viewer import palette
from ecs_rl.viewer.canvas import NORMAL, SMALL, Canvas, draw_head_key
from ecs_rl.viewer.draw import bar, rounded
from ecs_rl.viewer.number_formats import fixed, short
from ecs_rl.viewer.number_pictures import ROWS as PICTURE
from ecs_rl.viewer.number_pictures import draw_members, draw_seen_picture, folded, label_of, pictures_shown, rows_of
from ecs_rl.viewer.plots import Axes, decimate, reach, runs, tick_text
from ecs_rl.viewer.view import MindView, Option, Seen, WhyView

TALL = 74
"""Height of a plot that has room for words."""
FOR, AGAINST = palette.GREEN, palette.VERMILION
"""The colours of a pull."""
EDGE = 14
HEAD, ROW, PLOT, GAP = 26, 19, TALL, 10
"""Heights: a section's head, a row, the plot, the space after a section."""
KEY = "Tab"
"""Hides and shows the panel."""
KINDS = {"probabilities": "probability", "values": "value", "levers": "lever", "mixture": "probability or lever"}


@dataclass(frozen=True)
class Plan:
    """How high rows are and how many of each section are shown, so that all of it fits."""

    row: int
    sees: int
    does: int
    plot: int
    earned: int
    rows: tuple[tuple[int, ...], ...] = ()
    """The numbers of each row of what is seen; several where members of a kind share one."""


def plan(height: int, sees: int, does: int, earned: int, canvas: Canvas) -> Plan:
    """Return the plan for a panel: lower rows first, then a lower plot, then fewer rows, the longest section first.

    The plot goes last: no other section says what cannot be seen on the stage.
    """
    heads = 4 * canvas.px(HEAD) + 3 * canvas.px(GAP) + canvas.px(6)
    counts = {"sees": sees, "does": does, "earned": earned}

    def needs(row: int, plot: int) -> int:
        return heads + plot + (sum(counts.values()) + 1) * row

    for row in (ROW, ROW - 1, ROW - 2, ROW - 3):
        for plot in (PLOT, PLOT * 2 // 3):
            spare = height - needs(canvas.px(row), canvas.px(plot))
            if spare >= 0:
                tall = canvas.px(plot) + min(spare, canvas.px(50)) if row == ROW else canvas.px(plot)
                return Plan(canvas.px(row), sees, does, tall, earned)
    row, plot = canvas.px(ROW - 3), canvas.px(PLOT // 2)
    while needs(row, plot) > height and max(counts.values()) > 1:
        longest = max(counts, key=lambda name: counts[name] / (3 if name == "does" else 1))
        counts[longest] -= 1
    return Plan(row, counts["sees"], counts["does"], plot if needs(row, plot) <= height else 0, counts["earned"])


def paint_mind(surface: pygame.Surface, shows: tuple[MindView, Plan], canvas: Canvas) -> None:
    """Paint a mind; names and tracks are kept, and so are bars and numbers while it is the same mind."""
    mind, sizes = shows
    barred = (*(_label(mind, row) for row in sizes.rows), *(option.name for option in mind.does))
    seen, earned = len(mind.sees) + mind.sees_more, tuple(term.name for term in mind.earned)
    pictures = tuple((picture.name, picture.first, picture.values.shape) for picture in mind.pictures)
    names = (barred, seen, earned, mind.kind, mind.who, sizes, _asked(mind), pictures)
    sheet = partial(_Sheet, sizes=sizes, canvas=canvas, names=barred)
    canvas.lay(surface, surface.get_rect(), "mind", names, lambda plain, _, __: sheet(plain).names(mind))
    sheet(surface).numbers(mind)


def plan_for(area: pygame.Rect, mind: MindView, canvas: Canvas) -> Plan:
    """Return the plan for a mind in a room; members of a kind share rows where there is no room for a row each."""
    numbers, pictures = tuple(rows_of(mind)), PICTURE * len(mind.pictures) if mind.why is None else 0
    names = tuple(seen.name for seen in mind.sees)

    def planned(rows: tuple[tuple[int, ...], ...]) -> Plan:
        sizes = plan(area.h, len(rows) + pictures, len(mind.does), len(mind.earned), canvas)
        return replace(sizes, rows=rows)

    sizes = planned(tuple((number,) for number in numbers))
    fits = sizes.sees == len(sizes.rows) + pictures
    return sizes if fits or mind.why is not None else planned(folded(names, numbers))


def _label(mind: MindView, row: tuple[int, ...]) -> str:
    return label_of([mind.sees[number].name for number in row])


def range_of(seen: Seen) -> tuple[float, float]:
    """Return the range of a bar: nothing stands in the middle, where it stays as the range grows."""
    low, high = seen.low, seen.high
    return (min(low, -high), max(high, -low)) if low < 0 < high else (low, high)


class _Sheet:
    """The panel's columns and where its sections begin."""

    def __init__(self, surface: pygame.Surface, sizes: Plan, canvas: Canvas, names: tuple[str, ...]) -> None:
        self.surface, self.sizes, self.canvas = surface, sizes, canvas
        w = surface.get_width()
        self.left, self.right = canvas.px(EDGE), w - canvas.px(EDGE)
        inner = self.right - self.left
        digits = canvas.width("-0.00", NORMAL, "numbers")
        room = inner - digits
        longest = max((canvas.width(name, NORMAL - 0.5) for name in names), default=0) + canvas.px(2)
        self.name_width = min(max(longest, round(room * 0.4)), round(room * 0.6) - canvas.px(8))
        self.term_width = inner - 2 * (canvas.width("-000.0", NORMAL - 0.5, "numbers") + canvas.px(10))
        start = self.left + self.name_width + canvas.px(8)
        self.track = (start, self.right - digits - canvas.px(8) - start)
        head, gap = canvas.px(HEAD), canvas.px(GAP)
        self.sees_at = canvas.px(3) + head
        self.does_at = self.sees_at + sizes.sees * sizes.row + gap + head
        self.plot_at = self.does_at + sizes.does * sizes.row + gap + head
        self.earned_at = self.plot_at + sizes.plot + gap + head

    def rail(self, top: int, number: int, tall: int) -> pygame.Rect:
        """Return the track of a bar."""
        rect = pygame.Rect(self.track[0], 0, max(4, self.track[1]), self.canvas.px(tall))
        rect.centery = top + number * self.sizes.row + self.sizes.row // 2
        return rect

    # --- what stays -------------------------------------------------------------------------------------------------

    def names(self, mind: MindView) -> None:
        """Paint heads, names and tracks."""
        self.surface.fill(palette.PANEL)
        self.surface.fill(palette.NIGHT, (0, 0, self.canvas.px(1), self.surface.get_height()))
        s = self.sizes
        self._head(f"{mind.who} sees".strip(), self.sees_at, _asked(mind) or self._unseen(mind), KEY)
        self._rows(self.sees_at, {row[0]: _label(mind, row) for row in self._listed(mind)}, 5, "name")
        self._head("Does", self.does_at, _rest(len(mind.does), s.does) or KINDS[mind.kind])
        self._rows(self.does_at, {i: option.name for i, option in enumerate(mind.does[: s.does])}, 9, "option")
        self._head("Expects", self.plot_at, "")
        if s.plot:
            paint_ground(self.surface, self._plot_area(), self.canvas)
        self._head("Earned", self.earned_at, _rest(len(mind.earned), s.earned) or "tick    episode")
        self._rows(self.earned_at, {i: term.name for i, term in enumerate(mind.earned[: s.earned])}, 0)
        y = self.earned_at + s.earned * s.row
        self.surface.fill(palette.RULE, (self.left, y + self.canvas.px(1), self.right - self.left, 1))
        self._text("total", (self.left, y + s.row // 2 + self.canvas.px(2)), palette.TEXT)

    def _listed(self, mind: MindView) -> tuple[tuple[int, ...], ...]:
        """Return the numbers of each row for which there is room beside the pictures."""
        return self.sizes.rows[: self.sizes.sees - PICTURE * pictures_shown(mind, self.sizes.sees)]

    def _unseen(self, mind: MindView) -> str:
        """Return how many numbers there is no room for."""
        within = sum(picture.values.size for picture in mind.pictures[: pictures_shown(mind, self.sizes.sees)])
        return _rest(len(mind.sees) + mind.sees_more, sum(map(len, self._listed(mind))) + within)

    def _head(self, title: str, below: int, note: str, key: str = "") -> None:
        y = below - self.canvas.px(HEAD) // 2
        colour, right = palette.mix(palette.MAIN_LINE, palette.DIM, 0.3), self.right
        rect = self.canvas.write(self.surface, title.upper(), (self.left, y), size=SMALL, colour=colour)
        if key:
            right = draw_head_key(self.surface, key, right, y, self.canvas) - self.canvas.px(8)
        room = right - rect.right - self.canvas.px(10)
        self.canvas.write(
            self.surface, note, (right, y), size=SMALL - 0.5, colour=palette.FAINT, anchor="right", width=room
        )

    def _rows(self, top: int, names: Mapping[int, str], tall: int, part: str = "") -> None:
        """Paint names and tracks by their numbers; each row is a `part`, in which the track of a name is a `bar`."""
        for i, (number, name) in enumerate(names.items()):
            place = pygame.Rect(0, top + i * self.sizes.row, self.surface.get_width(), self.sizes.row)
            text = self.canvas.squeeze(name, self.name_width if tall else self.term_width, NORMAL - 0.5)
            self._text(text, (self.left, place.centery), palette.DIM)
            if part:
                self.canvas.hit(place, part, number)
            if tall:
                rail, left = self.rail(top, i, tall), self.track[0] - self.canvas.px(6)
                rounded(self.surface, rail, palette.RAISED, radius=self.canvas.px(2))
                if part == "name":
                    self.canvas.hit(rail, "bar", number, reach=place.clip(left, place.y, place.w, place.h))

    def _text(self, text: str, at: tuple[float, float], colour: palette.Colour) -> None:
        self.canvas.write(self.surface, text, at, size=NORMAL - 0.5, colour=colour)

    def _number(self, text: str, x: int, y: int, colour: palette.Colour = palette.TEXT) -> None:
        at, size = (x, y), NORMAL - 0.5
        self.canvas.write(self.surface, text, at, size=size, colour=colour, face="numbers", anchor="right")

    # --- what moves -------------------------------------------------------------------------------------------------

    def numbers(self, mind: MindView) -> None:
        """Draw bars and numbers."""
        rows = self._listed(mind)
        for i, row in enumerate(rows):
            if len(row) > 1:
                self._members(i, [mind.sees[number].value for number in row])
            elif mind.why is None:
                self._seen(i, mind.sees[row[0]])
            else:
                self._pulled(i, row[0], mind.sees[row[0]], mind.why)
        below = self.sees_at + len(rows) * self.sizes.row
        for i, picture in enumerate(mind.pictures[: pictures_shown(mind, self.sizes.sees)]):
            tall = PICTURE * self.sizes.row
            place = pygame.Rect(self.left, below + i * tall, self.right - self.left, tall)
            self.surface.fill(palette.PANEL, place)
            draw_seen_picture(self.surface, place, picture, self.canvas)
        if mind.why is not None and 0 <= mind.why.row < self.sizes.does:
            rail = self.rail(self.does_at, mind.why.row, 13).inflate(self.canvas.px(4), 0)
            pygame.draw.rect(self.surface, FOR, rail, self.canvas.px(1), border_radius=self.canvas.px(3))
        for i, option in enumerate(mind.why.did[: self.sizes.does] if mind.why is not None else ()):
            self._was(i, option, mind)
        shares = _shares(mind)
        for i, option in enumerate(mind.does[: self.sizes.does]):
            self._option(i, option, shares[i], mind.kind)
        self._legend(mind)
        if self.sizes.plot:
            draw_expectations(self.surface, self._plot_area(), mind, self.canvas)
        y = self.earned_at + self.sizes.row // 2
        for i, term in enumerate(mind.earned[: self.sizes.earned]):
            self._pair(term.now, term.total, y + i * self.sizes.row, palette.DIM if term.now == 0 else palette.TEXT)
        now = sum(term.now for term in mind.earned if math.isfinite(term.now))
        total = sum(term.total for term in mind.earned if math.isfinite(term.total))
        self._pair(now, total, y + self.sizes.earned * self.sizes.row + self.canvas.px(2), palette.TEXT)

    def _seen(self, number: int, seen: Seen) -> None:
        rect = self.rail(self.sees_at, number, 5)
        low, high = range_of(seen)
        width = high - low
        if width > 0 and math.isfinite(width):
            zero, here = -low / width, (seen.value - low) / width
            bar(self.surface, rect, zero, here, palette.MAIN_LINE)
            if 0 < zero < 1:
                x = rect.x + round(zero * rect.w)
                over = self.canvas.px(2)
                self.surface.fill(palette.FAINT, (x, rect.y - over, self.canvas.px(1), rect.h + 2 * over))
        self._number(fixed(seen.value), self.right, rect.centery)

    def _members(self, row: int, values: list[float]) -> None:
        """Draw the numbers of all members of a kind in one row, and the largest of them."""
        rail = self.rail(self.sees_at, row, self.sizes.row - 3)
        most = max(map(abs, filter(math.isfinite, values)), default=0.0) or 1.0
        draw_members(self.surface, rail, [value / most for value in values], self.canvas)
        self._number(f"\u00b1{short(most)}", self.right, rail.centery, palette.DIM)

    def _pulled(self, row: int, number: int, seen: Seen, why: WhyView) -> None:
        """Draw a number's pull in place of its bar, and its value as a knob that the mouse can turn."""
        rect, (low, high) = self.rail(self.sees_at, row, 7), range_of(seen)
        most = max(map(abs, why.pulls), default=0.0) if why.pulls is not None else 0.0
        pull = why.pulls[number] if why.pulls is not None and number < len(why.pulls) else 0.0
        value = (seen.value - low) / (high - low) if high > low else math.nan
        _draw_pull(self.surface, rect, pull / most if most > 0 else 0.0, value, self.canvas)
        if number in why.turned:
            self._number(fixed(seen.value), self.right, rect.centery, palette.SECOND_LINE)
        else:
            whole = sum(map(abs, why.pulls or ()))
            text, colour = _pull_in_words(pull, whole) if why.pulls is not None else (fixed(seen.value), palette.TEXT)
            self._number(text, self.right, rect.centery, colour)

    def _was(self, number: int, option: Option, mind: MindView) -> None:
        """Mark what an option was before somebody turned what is seen."""
        rect = self.rail(self.does_at, number, 9)
        value = option.value
        share = (value + 1.0) / 2.0 if mind.kind == "levers" or option.taken is not None else value
        if mind.kind == "values":
            share = _shares(replace(mind, does=mind.why.did if mind.why is not None else ()))[number][1]
        if math.isfinite(share):
            x = rect.x + round(min(max(share, 0.0), 1.0) * rect.w)
            self.surface.fill(
                palette.TEXT, (x, rect.y - self.canvas.px(2), self.canvas.px(1), rect.h + 2 * self.canvas.px(2))
            )

    def _option(self, number: int, option: Option, share: tuple[float, float], kind: str) -> None:
        rect = self.rail(self.does_at, number, 9)
        is_lever = kind == "levers" or option.taken is not None
        colour = (
            palette.SECOND_LINE if option.chosen or is_lever else palette.mix(palette.PANEL, palette.MAIN_LINE, 0.62)
        )
        if is_lever:
            self._lever(rect, option)
        else:
            bar(self.surface, rect, *share, colour)
        if option.chosen:
            tip, size, y = rect.left - self.canvas.px(3), self.canvas.px(3.5), rect.centery
            pygame.draw.polygon(
                self.surface, palette.SECOND_LINE, [(tip, y), (tip - size, y - size), (tip - size, y + size)]
            )
        value = option.value if option.taken is None else option.taken
        self._number(fixed(value), self.right, rect.centery, palette.TEXT if option.chosen or is_lever else palette.DIM)

    def _lever(self, rect: pygame.Rect, option: Option) -> None:
        def share(value: float) -> float:
            return min(max((value + 1.0) / 2.0, 0.0), 1.0)

        if option.spread is not None and math.isfinite(option.spread):
            low, high = share(option.value - option.spread), share(option.value + option.spread)
            bar(self.surface, rect, low, high, palette.mix(palette.RAISED, palette.MAIN_LINE, 0.35))
        self.surface.fill(palette.FAINT, (rect.centerx, rect.y, self.canvas.px(1), rect.h))
        if math.isfinite(option.value):
            x = rect.x + round(share(option.value) * rect.w)
            self.surface.fill(palette.MAIN_LINE, (x - self.canvas.px(1), rect.y, self.canvas.px(2), rect.h))
        if option.taken is not None and math.isfinite(option.taken):
            x = rect.x + round(share(option.taken) * rect.w)
            pygame.draw.aacircle(self.surface, palette.SECOND_LINE, (x, rect.centery), self.canvas.px(5))

    def _plot_area(self) -> pygame.Rect:
        return pygame.Rect(self.left, self.plot_at, self.right - self.left, self.sizes.plot)

    def _legend(self, mind: MindView) -> None:
        """Draw what the newest tick expects, in a place that does not move, and the names of the two lines."""
        canvas, y = self.canvas, self.plot_at - self.canvas.px(HEAD) // 2
        good = mind.expected[np.isfinite(mind.expected)]
        newest = fixed(float(good[-1]), 1).strip() if len(good) else ""
        if mind.why is not None and mind.why.value is not None and math.isfinite(mind.why.value):
            newest = fixed(mind.why.value, 1).strip()
        turned = mind.why is not None and mind.why.value is not None
        colour = palette.SECOND_LINE if turned else palette.MAIN_LINE
        canvas.write(self.surface, newest, (self.right, y), size=SMALL, face="numbers", colour=colour, anchor="right")
        x = self.right - canvas.width("-000.0", SMALL, "numbers") - canvas.px(6)
        came = ("really came",) if np.isfinite(mind.came).any() else ("really came: not known yet", "really came")
        for names, colour in ((("expected",), palette.MAIN_LINE), ((*came, "came"), palette.SECOND_LINE)):
            room = x - self.left - canvas.px(58)
            name = next((name for name in names if canvas.width(name, SMALL - 0.5) <= room), "")
            rect = canvas.write(self.surface, name, (x, y), size=SMALL - 0.5, colour=colour, anchor="right")
            x = rect.left - canvas.px(12)

    def _pair(self, now: float, total: float, y: int, colour: palette.Colour) -> None:
        room = self.canvas.width("-000.0", NORMAL - 0.5, "numbers") + self.canvas.px(10)
        self._number(fixed(now), self.right - room, y, colour)
        self._number(fixed(total, 1), self.right, y, palette.TEXT)


def _asked(mind: MindView) -> str:
    """Return what the bars of what is seen show, if somebody asks why."""
    if mind.why is None:
        return ""
    return f"pull: not told by {mind.who or 'this agent'}" if mind.why.pulls is None else f"pull on {mind.why.of}"


def _rest(there: int, listed: int) -> str:
    return f"and {there - listed} more" if there > listed else ""


def _shares(mind: MindView) -> list[tuple[float, float]]:
    """Return where each option's bar begins and ends: from zero, or between the least and the largest value."""
    values = [option.value for option in mind.does]
    if mind.kind != "values":
        return [(0.0, value) for value in values]
    good = [value for value in values if math.isfinite(value)]
    low, high = (min(good), max(good)) if good else (0.0, 1.0)
    width = (high - low) or 1.0
    return [(0.0, 0.06 + 0.94 * (value - low) / width) for value in values]


def _draw_pull(surface: pygame.Surface, rail: pygame.Rect, share: float, value: float, canvas: Canvas) -> None:
    """Draw a pull, -1 to 1 of the largest, as a bar from the middle, and a knob at the value's share of its range."""
    colour = FOR if share >= 0 else AGAINST
    if math.isfinite(share) and abs(share) > 0.004:
        bar(surface, rail, 0.5, 0.5 + share / 2, colour)
    surface.fill(palette.FAINT, (rail.centerx, rail.y - canvas.px(2), canvas.px(1), rail.h + 2 * canvas.px(2)))
    if math.isfinite(value):
        x = rail.x + round(min(max(value, 0.0), 1.0) * rail.w)
        pygame.draw.aacircle(surface, palette.PANEL, (x, rail.centery), canvas.px(5))
        pygame.draw.aacircle(surface, palette.TEXT, (x, rail.centery), canvas.px(3.5))


def _pull_in_words(pull: float, whole: float) -> tuple[str, palette.Colour]:
    """Return a pull as its share of all pulls together, and its colour."""
    share = 100.0 * pull / whole if whole > 0 else 0.0
    if not math.isfinite(share) or abs(share) < 0.5:
        return "0%", palette.DIM
    return f"{share:+.0f}%", FOR if share > 0 else AGAINST


def paint_ground(surface: pygame.Surface, area: pygame.Rect, canvas: Canvas) -> None:
    """Paint the plot's ground, and what its numbers are where there is room for words."""
    rounded(surface, area, palette.NIGHT, radius=canvas.px(4))
    if area.h >= canvas.px(TALL):
        at = (area.left + canvas.px(7), area.bottom - canvas.px(9))
        text, colour = "reward to come; later counts less", palette.mix(palette.NIGHT, palette.FAINT, 0.8)
        canvas.write(surface, text, at, size=SMALL - 1.5, colour=colour, width=area.w - canvas.px(14))


def steady_range(series: Sequence[F64]) -> tuple[float, float]:
    """Return round numbers around all finite ones, no nearer to each other than a tenth of the largest.

    So what hardly moves looks as if it hardly moved, and the numbers stay while the curve does not leave them.
    """
    low, high = reach(series, spare=0.0)
    wide = max(high - low, 0.1 * max(abs(low), abs(high))) / 4
    if not math.isfinite(wide):
        return 0.0, 1.0
    power = 10.0 ** math.floor(math.log10(wide))
    step = next(power * times for times in (1, 2, 5, 10) if power * times >= wide)
    return math.floor(low / step) * step, math.ceil(high / step) * step


def draw_expectations(surface: pygame.Surface, area: pygame.Rect, mind: MindView, canvas: Canvas) -> None:
    """Draw the two lines, which are cut where another episode began, and the numbers at both ends of their axis."""
    words, edge = canvas.px(14) if area.h >= canvas.px(TALL) else 0, canvas.px(6)
    low, high = steady_range((mind.expected, mind.came))
    texts = [tick_text(value, high - low) for value in (high, low)]
    left = edge + max(canvas.width(text, SMALL - 2, "numbers") for text in texts) + canvas.px(4)
    area = pygame.Rect(area.x + left, area.y + edge, area.w - left - edge, area.h - 2 * edge - words)
    length = max(len(mind.expected), len(mind.came), 2)
    axes = Axes(area, (0.0, length - 1.0), (low, high))
    for text, y in zip(texts, (area.top + canvas.px(2), area.bottom - canvas.px(2)), strict=True):
        at, colour = (area.left - canvas.px(4), y), palette.FAINT
        canvas.write(surface, text, at, size=SMALL - 2, colour=colour, face="numbers", anchor="right")
    if axes.y[0] < 0 < axes.y[1]:
        zero = round(axes.y_at(0.0))
        surface.fill(palette.RULE, (area.left, zero, area.w, 1))
    begins = [i for i in mind.begins if 0 < i < length]
    for i in begins:
        x = round(axes.x_at(i - 0.5))
        surface.fill(palette.mix(palette.RULE, palette.FAINT, 0.3), (x, area.top, 1, area.h))
    for values, colour in ((mind.came, palette.SECOND_LINE), (mind.expected, palette.MAIN_LINE)):
        first = length - len(values)
        cuts = [i - first for i in begins if i > first]
        ticks = np.insert(np.arange(first, length, dtype=np.float64), cuts, np.nan)
        for part in runs(*decimate(ticks, np.insert(values, cuts, np.nan), area.w // 2)):
            if len(part[0]) > 1:
                pygame.draw.aalines(surface, colour, False, axes.at(*part).tolist())
