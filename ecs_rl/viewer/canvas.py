"""The canvas that every drawing function takes: the screen's scale, text that is rendered once, kept pictures.

It also knows what it has painted where: texts, and the regions that a panel has declared as something to point at.
Below it stand the pieces that several panels share: text in lines, key caps, and the head of a panel with its key.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, NamedTuple, TypeVar, Unpack

import pygame

from ecs_rl.viewer import fonts
from ecs_rl.viewer.draw import rounded
from ecs_rl.viewer.fonts import Face
from ecs_rl.viewer.palette import DIM, FAINT, MAIN_LINE, PANEL, RAISED, RULE, SECOND_LINE, TEXT, Colour, mix
from ecs_rl.viewer.regions import FramePlaces, Marks, Part, Region, RegionFacts, scaled

SMALL, NORMAL, LARGE = 11.0, 12.5, 15.0
"""Sizes before the scale of the screen."""
FARTHEST = 100_000
"""Pixels; what stands further away than this is left out."""
LINE = 22
"""Height of a row in a list, before the scale of the screen."""
STRIP, RIBBON = 26, 30
"""Heights of the line of hints at the lower edge of the stage, and of the ribbon above it."""
Anchor = Literal["left", "middle", "right"]
WIDEST = str.maketrans("123456789", "000000000")
"""No digit is wider than a nought."""
STEP = 0.05
"""Of a slider: how far a key moves it."""
T = TypeVar("T")
Paint = Callable[[pygame.Surface, T, "Canvas"], object]


@dataclass(frozen=True)
class SliderView:
    """Something that is set by dragging."""

    name: str
    value: str
    """Its value as it is written."""
    share: float
    """Its place on the bar, 0 to 1, and its usual place."""
    usual: float
    changed: bool | None = None
    """Whether it has another value than usual; None: where its place is another one."""
    step: float = STEP
    """How far a key moves it."""


class ListRow(NamedTuple):
    """A row of a list: its name, what it is about, and a number at its right end."""

    text: str
    about: str = ""
    figure: str = ""


def part_of(surface: pygame.Surface, area: pygame.Rect) -> pygame.Surface | None:
    """Return the part of a surface that an area covers, whose origin is the area's corner; None if there is none."""
    seen = area.clip(surface.get_rect())
    return surface.subsurface(seen) if seen.w > 0 and seen.h > 0 else None


class Canvas(FramePlaces):
    """Draws for one window at one scale; another scale takes another canvas."""

    def __init__(self, scale: float = 1.0) -> None:
        super().__init__(scale)
        self.painted = 0
        """How many pictures had to be painted so far."""
        self.surface = pygame.Surface((1, 1))
        """What is painted on now: the window, or a kept picture."""
        self._kept: dict[str, tuple[object, pygame.Surface, Marks]] = {}
        self._layer: Marks | None = None
        """The marks of the kept picture that is being painted; None in the window."""
        self._window: dict[str, list[tuple[tuple[int, int], Marks]]] = {}
        """The marks of each panel, with the pixel of the window from which they count; the topmost panel last."""
        self._focus: Part | None = None
        """The part that the keyboard works in this frame."""
        self._scrolled: dict[tuple[str, str], int] = {}
        """The first row that a list without room for all shows."""
        self._seen: set[str] = set()
        """The panels of this frame."""
        self.panels: frozenset[str] = frozenset()
        """The names of the panels that this frame has."""

    def begin(self, surface: pygame.Surface, panels: frozenset[str] = frozenset(), focus: Part | None = None) -> None:
        """Begin a frame on this surface, which shows these panels, and a part of which has the focus."""
        self.surface, self.panels, self._focus = surface, panels, focus
        self.clear()
        self._seen.clear()

    @contextmanager
    def painting(self, panel: str) -> Iterator[None]:
        """Paint a panel of the window: what is marked within belongs to it, and its marks of before are forgotten."""
        self._window.pop(panel, None)
        self._window[panel] = []
        self._seen.add(panel)
        outer, self._panel = self._panel, panel
        try:
            yield
        finally:
            self._panel = outer

    def resting(self, panel: str) -> None:
        """Keep the marks of a panel whose pixels stay as they are in this frame."""
        self._window[panel] = self._window.pop(panel, [])
        self._seen.add(panel)

    def end(self) -> None:
        """End a frame: report which floating panels have a place, and forget the marks of panels that it lacks."""
        self.reports.add(self.floats())
        self._window = {panel: marks for panel, marks in self._window.items() if panel in self._seen}

    def hit(
        self,
        rect: pygame.Rect,
        part: str,
        index: int = 0,
        *,
        reach: pygame.Rect | None = None,
        **more: Unpack[RegionFacts],
    ) -> None:
        """Declare a rectangle of the surface as something to point at; a later one lies above an earlier one.

        `reach` is a larger rectangle of which each pixel counts as it; for the rest see `Region`.
        """
        region = Region(pygame.Rect(rect), pygame.Rect(reach or rect), self._panel, part, index, **more)
        if self._layer is not None:
            self._layer.regions.append(region)
        else:
            self._mark((0, 0), Marks(regions=[region]))

    def _mark(self, corner: tuple[int, int], marks: Marks) -> None:
        if self._panel:  # else nobody points at it, as in a film
            self._window[self._panel].append((corner, marks))

    def regions(self) -> Iterator[Region]:
        """Yield the regions of the newest frame in pixels of the window, the topmost first."""
        for placed in reversed(self._window.values()):
            for corner, marks in reversed(placed):
                for region in reversed(marks.regions):
                    yield region.moved(corner)

    def parts(self) -> Iterator[Region]:
        """Yield the regions that can have the focus, those of the lowest panel first; nothing is over them."""
        for panel, placed in self._window.items():
            for corner, marks in placed:
                for region in marks.regions:
                    moved = region.moved(corner) if region.takes else None
                    top = None if moved is None else self.region_at(moved.rect.center)
                    if moved is not None and top is not None and top.panel == panel:
                        yield moved

    def region_at(self, pixel: tuple[float, float]) -> Region | None:
        """Return the topmost region under a pixel of the window."""
        for panel in reversed(self._window):
            region = self._under(panel, pixel)
            if region is not None:
                return region
        return None

    def _under(self, panel: str, pixel: tuple[float, float]) -> Region | None:
        """Return the topmost region of a panel under a pixel of the window."""
        for corner, marks in reversed(self._window[panel]):
            at = pixel[0] - corner[0], pixel[1] - corner[1]
            for region in reversed(marks.regions):
                if region.reach.collidepoint(at):
                    return region.moved(corner)
        return None

    def text_at(self, pixel: tuple[float, float]) -> str:
        """Return the whole text under a pixel of the window as far as it stands in a kept picture, '' if none does.

        A region hides the texts of the panels below its own.
        """
        for panel in reversed(self._window):
            for corner, marks in reversed(self._window[panel]):
                at = pixel[0] - corner[0], pixel[1] - corner[1]
                for rect, text in marks.texts:
                    if text and rect.inflate(4, 4).collidepoint(at):
                        return text
            if self._under(panel, pixel) is not None:
                return ""
        return ""

    def texts(self) -> Iterator[tuple[pygame.Rect, str]]:
        """Yield the texts of kept pictures with their places in the newest frame, the topmost panel first."""
        for placed in reversed(self._window.values()):
            for corner, marks in reversed(placed):
                yield from ((rect.move(corner), text) for rect, text in marks.texts)

    def place_of(self, panel: str) -> pygame.Rect | None:
        """Return the rectangle around all regions of a panel that this frame has painted already, None without any."""
        regions = [region.rect for region in self.regions() if region.panel == panel and panel in self._seen]
        return regions[0].unionall(regions[1:]) if regions else None

    def kept(
        self, name: str, size: tuple[int, int], shows: object, paint: Callable[[pygame.Surface], object], clear: bool
    ) -> pygame.Surface:
        """Return a picture, painted anew only where `shows` or its size has changed. A clear one begins transparent."""
        before, picture, marks = self._kept.get(name, (None, None, Marks()))
        if picture is None or picture.get_size() != size:
            picture = pygame.Surface(size, pygame.SRCALPHA if clear else 0)
        elif before == shows:
            return picture
        if clear:
            picture.fill((0, 0, 0, 0))
        self.painted += 1
        outer, self._layer = (self.surface, self._layer), (marks := Marks())
        self.surface = picture
        try:
            paint(picture)
        finally:
            self.surface, self._layer = outer
        self._kept[name] = (shows, picture, marks)
        return picture

    def lay(
        self, surface: pygame.Surface, area: pygame.Rect, name: str, shows: T, paint: Paint[T], *, clear: bool = False
    ) -> None:
        """Lay a kept picture over an area, if it has one; `shows` is all that the picture depends on.

        It brings its texts and regions along.
        """
        if area.w > 0 and area.h > 0:
            surface.blit(self.kept(name, area.size, shows, lambda it: paint(it, shows, self), clear), area)
            marks = self._kept[name][2]
            if self._layer is not None:
                self._layer.add(marks.moved(area.topleft))
            else:
                self._mark(area.move(surface.get_abs_offset()).topleft, marks)

    # --- pieces -------------------------------------------------------------------------------------------------------

    def sliders(
        self, area: pygame.Rect, sliders: Sequence[SliderView], numbers: range, *, tall: int, value: int
    ) -> None:
        """Draw these ones of all sliders below each other, each between its name and its value.

        `tall` is the height of one, `value` the width of its value, pixels.
        """
        names = tuple(slider.name for slider in sliders)
        widest = max((self.width(name, SMALL + 0.5) for name in names), default=0)
        column = min(widest + self.px(16), round(area.w * 0.4))
        for place, number in enumerate(numbers):
            slider, bar = sliders[number], pygame.Rect(area.x + column, 0, area.w - column - value, self.px(4))
            bar.centery = area.y + place * tall + tall // 2
            changed = self.slider(bar, slider, number, names=names)
            at, colour = (area.x, bar.centery), TEXT if changed else DIM
            self.write(self.surface, slider.name, at, size=SMALL + 0.5, colour=colour, width=column - self.px(8))
            at = (area.right, bar.centery)
            self.write(self.surface, slider.value, at, size=SMALL + 0.5, face="numbers", anchor="right", colour=colour)

    def slider(self, bar: pygame.Rect, slider: SliderView, index: int = 0, *, names: tuple[str, ...] = ()) -> bool:
        """Draw a slider at its share of a bar, with a mark at its usual place, and declare it as `slider`.

        Return whether it is changed, which is what its colour shows. `names` are those of all sliders of a list.
        """
        surface, radius = self.surface, max(1, bar.h // 2)
        changed = abs(slider.share - slider.usual) > 1e-9 if slider.changed is None else slider.changed
        colour = SECOND_LINE if changed else MAIN_LINE
        mark, x = (bar.x + round(share * (bar.w - 1)) for share in (slider.usual, slider.share))
        rounded(surface, bar, RAISED, radius=radius)
        filled = pygame.Rect(min(mark, x), bar.y, max(1, abs(x - mark)), bar.h)
        rounded(surface, filled, mix(PANEL, colour, 0.75), radius=radius)
        surface.fill(FAINT, (mark, bar.centery - self.px(5), self.px(1), self.px(10)))
        pygame.draw.aacircle(surface, PANEL, (x, bar.centery), self.px(6.5))
        pygame.draw.aacircle(surface, colour, (x, bar.centery), self.px(5))
        reach = bar.inflate(self.px(14), self.px(18))
        self.hit(bar, "slider", index, reach=reach, takes="moves", share=slider.share, step=slider.step, names=names)
        return changed

    def rows(
        self,
        area: pygame.Rect,
        rows: Sequence[str | ListRow],
        chosen: int | None = None,
        *,
        tall: int | None = None,
        size: float = NORMAL,
        alone: bool = False,
    ) -> None:
        """Draw rows below each other, the chosen one bright on a bar, and declare each as a `row`.

        Where not all have room, the one with the focus is among those that do, and a bar at the right shows which they
        are. `alone`: the window shows nothing else.
        """
        tall, cells = tall or self.px(LINE), [ListRow(row) if isinstance(row, str) else row for row in rows]
        names, pad = tuple(row.text for row in cells), self.px(8)
        column = max((self.width(row.text, size) + 3 * pad for row in cells if row.about), default=0)
        visible = self.visible("row", len(cells), max(1, area.h // tall))
        if len(visible) < len(cells):
            top, bottom = (area.y + len(visible) * tall * row // len(cells) for row in (visible.start, visible.stop))
            self.surface.fill(FAINT, (area.right - self.px(2), top, self.px(2), bottom - top))
        for place, number in enumerate(visible):
            rect, row = pygame.Rect(area.x, area.y + place * tall, area.w, tall), cells[number]
            if number == chosen:
                self.surface.fill(mix(PANEL, MAIN_LINE, 0.16), rect)
            at, bright = (rect.x + pad, rect.centery), row.about or number == chosen
            figure_at = (rect.right - pad, rect.centery)
            figure = self.write(self.surface, row.figure, figure_at, face="numbers", colour=DIM, anchor="right")
            room = figure.left - pad - at[0]
            self.write(self.surface, row.text, at, size=size, colour=TEXT if bright else DIM, width=room)
            if row.about and room > column:
                self.write(self.surface, row.about, (at[0] + column, at[1]), colour=DIM, width=room - column)
            self.hit(rect, "row", number, takes="clicks", names=names, alone=alone)

    def focused(self, part: str) -> int | None:
        """Return which one of such parts of the panel that is painted has the focus, None if none has."""
        focus = self._focus
        return None if focus is None or focus[:2] != (self._panel, part) else focus[2]

    def visible(self, part: str, count: int, fitting: int) -> range:
        """Return which ones of such parts have room; they scroll as little as the focus needs to be among them."""
        first = self._scrolled.get((self._panel, part), 0)
        if (focus := self.focused(part)) is not None:
            first = min(max(first, focus - fitting + 1), focus)
        first = self._scrolled[self._panel, part] = max(0, min(first, count - fitting))
        return range(first, min(first + fitting, count))

    # --- text ---------------------------------------------------------------------------------------------------------

    def _pixels(self, size: float) -> int:
        return scaled(size, self.scale, 6)

    def picture(self, text: str, size: float, colour: Colour, face: Face) -> pygame.Surface:
        """Return a string as a picture with transparent ground; do not draw on it."""
        return fonts.picture(fonts.clean(text), self._pixels(size), colour, face)

    def write(
        self,
        surface: pygame.Surface,
        text: str,
        at: tuple[float, float],
        *,
        size: float = NORMAL,
        colour: Colour = TEXT,
        face: Face = "words",
        anchor: Anchor = "left",
        width: float | None = None,
    ) -> pygame.Rect:
        """Draw a line of text, its vertical middle at `at`, cut with an ellipsis to `width`; return where it stands."""
        whole = text
        if width is not None:
            text = self.cut(text, int(width), size, face)
        if not (abs(at[0]) < FARTHEST and abs(at[1]) < FARTHEST):  # also where it is not a number
            return pygame.Rect(0, 0, 0, 0)
        if not text:
            return pygame.Rect(round(at[0]), round(at[1]), 0, 0)
        picture = self.picture(text, size, colour, face)
        wide, high = picture.get_size()
        x = round(at[0]) - (0 if anchor == "left" else wide if anchor == "right" else wide // 2)
        rect = surface.blit(picture, (x, round(at[1]) - high // 2))
        if self._layer is not None:
            self._layer.texts.append((rect.move(surface.get_offset()), whole))
        return rect

    def width(self, text: str, size: float = NORMAL, face: Face = "words") -> int:
        """Return how many pixels a string takes."""
        return fonts.width(fonts.clean(text), self._pixels(size), face)

    def cut(self, text: str, width: int, size: float = NORMAL, face: Face = "words") -> str:
        """Return the string, or as much of its beginning as fits with an ellipsis, or nothing."""
        return fonts.cut(fonts.clean(text), width, self._pixels(size), face)

    def squeeze(self, text: str, width: int, size: float = NORMAL) -> str:
        """Return the string, or a beginning and an end that fit, as names of one kind differ at their ends."""
        text = fonts.clean(text)
        if self.width(text, size) <= width:
            return text
        shorter = (f"{text[: n // 3].rstrip()}…{text[n // 3 - n :].lstrip()}" for n in range(len(text) - 1, 2, -1))
        return next((each for each in shorter if self.width(each, size) <= width), "")


@lru_cache(maxsize=64)
def wrapped(text: str, room: int, size: float, canvas: Canvas) -> tuple[str, ...]:
    """Return a text in lines that take no more than so many pixels."""
    lines, line = list[str](), ""
    for word in text.split(" "):
        longer = f"{line} {word}".strip()
        if line and canvas.width(longer, size) > room:
            lines.append(line)
            longer = word
        line = longer
    return (*lines, line)


HEAD, ROW, PAD = 30, 18, 12
"""Heights of the head of a floating panel and of its rows, and the space beside them."""


def cap_width(key: str, canvas: Canvas, size: float = SMALL) -> int:
    """Return how many pixels a key cap takes."""
    least, room = (20, 10) if size >= SMALL else (16, 8)
    return max(canvas.px(least), canvas.width(key, size) + canvas.px(room))


def draw_cap(
    surface: pygame.Surface, key: str, left: float, middle: float, canvas: Canvas, *, small: bool = False
) -> int:
    """Draw a key cap, a small one fainter; return where it ends to the right."""
    size = SMALL - 1 if small else SMALL
    cap = pygame.Rect(round(left), 0, cap_width(key, canvas, size), canvas.px(15 if small else 18))
    cap.centery = round(middle)
    rounded(surface, cap, RAISED, radius=canvas.px(4), edge=mix(RULE, FAINT, 0.4), alpha=225)
    canvas.write(surface, key, cap.center, size=size, colour=DIM if small else TEXT, anchor="middle")
    return cap.right


def draw_head_key(surface: pygame.Surface, key: str, right: int, middle: int, canvas: Canvas) -> int:
    """Draw the key that hides a panel, ending at `right`, as a button; return where it begins."""
    left = right - cap_width(key, canvas, SMALL - 1)
    draw_cap(surface, key, left, middle, canvas, small=True)
    button = pygame.Rect(left, 0, right - left, canvas.px(20))
    button.centery = middle
    canvas.hit(button, "key", key=key)
    return left


def fill_card(surface: pygame.Surface, key: str, title: str, canvas: Canvas) -> int:
    """Fill a floating panel, draw its title and the key that closes it; return where its first row begins."""
    surface.fill(PANEL)
    pygame.draw.rect(surface, RULE, surface.get_rect(), canvas.px(1))
    canvas.hit(surface.get_rect(), "panel")
    at = (canvas.px(PAD), canvas.px(HEAD) / 2 + canvas.px(1))
    left = draw_head_key(surface, key, surface.get_width() - canvas.px(PAD), round(at[1]), canvas)
    canvas.write(surface, title, at, width=left - canvas.px(PAD) - canvas.px(8))
    return canvas.px(HEAD)
