"""What a screen lays over a painted frame, and whom it asks: the mouse, the focus of the keyboard, light and tips."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from time import perf_counter
from typing import Any

import pygame
from msgspec import structs

from ecs_rl.viewer.canvas import SMALL, Canvas, wrapped
from ecs_rl.viewer.draw import rounded
from ecs_rl.viewer.number_formats import NOTHING
from ecs_rl.viewer.objects import BodyId
from ecs_rl.viewer.palette import MAIN_LINE, PANEL, TEXT, mix
from ecs_rl.viewer.panel import CTRL, Command, Gesture, Hit, Panel
from ecs_rl.viewer.regions import Part, Region

LEFT, RIGHT = 1, 3
STEADY = 4
"""Pixels that a click may move; more is a drag."""
NOTCH = 1.15
"""How much larger one notch of the wheel shows everything."""
OF_MOUSE = (pygame.MOUSEBUTTONDOWN, pygame.MOUSEBUTTONUP, pygame.MOUSEMOTION, pygame.MOUSEWHEEL)
Pixel = tuple[float, float]
PAGE = 5
"""Rows of a page."""
STEPS = {pygame.K_UP: -1, pygame.K_DOWN: 1, pygame.K_PAGEUP: -PAGE, pygame.K_PAGEDOWN: PAGE, pygame.K_TAB: 1}
SLIDES = {pygame.K_LEFT: -1, pygame.K_RIGHT: 1}
SLIDES_WITH_CTRL = {pygame.K_DOWN: -1, pygame.K_UP: 1}
CLICKS = (pygame.K_RETURN, pygame.K_KP_ENTER, pygame.K_SPACE)
KEYS = tuple(
    Command(
        *("Window", key, f"{name} part", "through sliders and rows"),
        lambda _, app: app.say("nothing is open that Up and Down go through", "warn"),
        (code,),
        listed=False,
    )
    for key, name, code in (("Up", "previous", pygame.K_UP), ("Down", "next", pygame.K_DOWN))
)
"""Bring the focus to a part that is painted; the window gets these keys where there is none."""
LIGHT = 22
"""How strongly the part under the mouse is lit, of 255."""
ALIKE = {"really": "really came", "losses": "loss", "greedy or sampled": "greedy", "policies": "policy"}
STILL = 0.5
"""Seconds that the mouse must rest before words are explained; charts answer at once."""
WIDE, LINE, PAD = 300, 17, 9
"""The widest that a line may be, its height, and the space around the words."""
ASK = Command(
    *("Window", "?", "words", "what is this?"),
    lambda _, app: app.say("point at a word, a number or a curve: ? tells what it is", "warn"),
    characters="?",
)
"""Explains at once what the mouse rests on; the window gets this key where that is nothing."""


class Pointer:
    """Remembers which button is down, and what it holds."""

    def __init__(self) -> None:
        self.at: Pixel = (-1.0, -1.0)
        self._pressed: Pixel | None = None
        """The pixel where the left button went down, as long as the mouse has not moved away."""
        self._held: Region | None = None
        """The region that is dragged."""
        self._drags = self._pans = False
        self._pointed: Hit | None = None

    def gestures(self, event: pygame.event.Event, canvas: Canvas) -> Iterator[Gesture]:
        """Yield what an event of the mouse asks for, by the newest frame of this canvas."""
        self.at = getattr(event, "pos", self.at)
        if event.type in OF_MOUSE:
            self._pointed = None
        if event.type == pygame.MOUSEBUTTONDOWN:
            if event.button == LEFT:
                self._pressed = event.pos
            self._pans = self._pans or event.button == RIGHT
        elif event.type == pygame.MOUSEMOTION:
            yield from self._move(event, canvas)
        elif event.type == pygame.MOUSEBUTTONUP:
            if event.button == RIGHT:
                self._pans = False
            elif event.button == LEFT:
                if self._pressed is not None:
                    yield Gesture("click", hit_of(canvas.region_at(self._pressed), self._pressed, finds=True))
                yield from self._drop(canvas)
        elif event.type == pygame.MOUSEWHEEL and event.y:
            factor = NOTCH ** getattr(event, "precise_y", event.y)
            yield Gesture("zoom", hit_of(canvas.region_at(self.at), self.at), factor=factor)
        elif event.type == pygame.WINDOWFOCUSLOST:
            yield from self._drop(canvas)

    def point(self, canvas: Canvas) -> Iterator[Gesture]:
        """Yield what is under the mouse, unless that is the same as before; nothing while something is dragged."""
        hit = self.under(canvas)
        if hit is not None and hit != self._pointed:
            self._pointed = hit
            yield Gesture("point", hit)

    def under(self, canvas: Canvas) -> Hit | None:
        """Return what is under the mouse; None while something is dragged."""
        return None if self._drags or self._pans else hit_of(canvas.region_at(self.at), self.at)

    def region(self, canvas: Canvas) -> Region | None:
        """Return the region under the mouse; None while something is dragged."""
        return None if self._drags or self._pans else canvas.region_at(self.at)

    def _move(self, event: pygame.event.Event, canvas: Canvas) -> Iterator[Gesture]:
        if self._pans:
            yield Gesture("pan", hit_of(canvas.region_at(event.pos), event.pos), by=event.rel)
        if self._pressed is not None and math.dist(self._pressed, event.pos) > STEADY:
            self._held, self._drags = canvas.region_at(self._pressed), True
            yield Gesture("grab", hit_of(self._held, self._pressed, finds=True))
            self._pressed = None
        if self._drags:
            yield Gesture("drag", hit_of(self._now(canvas), event.pos))

    def _drop(self, canvas: Canvas) -> Iterator[Gesture]:
        if self._drags:
            yield Gesture("drop", hit_of(self._now(canvas), self.at))
        self._pressed, self._held, self._drags, self._pans = None, None, False, False

    def _now(self, canvas: Canvas) -> Region | None:
        """Return the region that is dragged, where the newest frame has it."""
        held = self._held
        if held is None:
            return None
        return next((region for region in canvas.regions() if region.name == held.name), held)


def hit_of(region: Region | None, pixel: Pixel, *, finds: bool = False) -> Hit:
    """Return what is hit; `finds` looks within the region too."""
    if region is None:
        return Hit("", at=pixel)
    rect, camera, index = region.rect, region.camera, region.index
    at = pixel[0] - rect.x, pixel[1] - rect.y
    share = at[0] / max(1, rect.w - 1), at[1] / max(1, rect.h - 1)
    metres = None if camera is None else camera.onto(region.focus).metres(at)
    target = region.find(metres or at) if finds and region.find is not None else None
    hit = Hit(region.panel, region.part, target if isinstance(target, int) else index, share, pixel, region.key)
    if camera is None:
        return hit
    away = at[0] - camera.middle[0], at[1] - camera.middle[1]
    body = (target.role, target.member) if isinstance(target, BodyId) else None
    return structs.replace(hit, metres=metres, body=body, aim=camera.aim, away=away)


class Focus:
    """Remembers which part has the focus."""

    def __init__(self) -> None:
        self.part: Part | None = None
        self._share: float | None = None
        """Where the keys have moved a slider to, which the newest frame may not show yet."""

    def gestures(self, event: pygame.event.Event, canvas: Canvas, pointed: Region | None) -> Sequence[Gesture] | None:
        """Return what a pressed key asks of the part with the focus; None if the key is not for a part.

        Up and Down give the focus to the part under the mouse, or to the first part of the topmost panel.
        """
        parts, ctrl = _parts(canvas), bool(event.mod & CTRL)
        self.look(canvas)
        if self.part is None and parts and event.key in (pygame.K_UP, pygame.K_DOWN):
            self._give(_first(parts, pointed))
            if not ctrl:
                return ()
        return None if self.part is None else self._answer(event, parts[self.part], parts)

    def _answer(self, event: pygame.event.Event, region: Region, parts: dict[Part, Region]) -> Sequence[Gesture] | None:
        ctrl = event.mod & CTRL
        slides = (SLIDES_WITH_CTRL if ctrl else SLIDES).get(event.key)
        if slides and region.takes == "moves":
            share = region.share if self._share is None else self._share
            self._share = min(max(share + slides * region.step, 0.0), 1.0)
            return [_click(region, self._share)]
        if ctrl:
            return None
        if event.key in CLICKS and region.takes == "clicks":
            return [_click(region)]
        if event.key == pygame.K_ESCAPE and not region.alone:
            self._give(None)
            return ()
        return self._choose(event, region, parts)

    def _choose(self, event: pygame.event.Event, region: Region, parts: dict[Part, Region]) -> Sequence[Gesture] | None:
        """Let a key move the focus: within the panel, with Tab through all of them, by a letter to a row."""
        by = STEPS.get(event.key)
        if by is not None:
            through_all = event.key == pygame.K_TAB
            back = through_all and event.mod & pygame.KMOD_SHIFT
            round_again = through_all or region.takes == "moves"
            self.step(parts, -by if back else by, through_all=through_all, round_again=round_again)
            return ()
        letter = event.unicode.lower()
        if region.alone and letter:
            begins = [index for index, name in enumerate(region.names) if name.lower().startswith(letter)]
            later = [index for index in begins if index > region.index]
            self._give((region.panel, region.part, (later or begins or [region.index])[0]))
            return ()
        return None

    def step(self, parts: dict[Part, Region], by: int, *, through_all: bool = False, round_again: bool = False) -> None:
        """Move the focus by so many parts, of its panel or of all."""
        assert self.part is not None
        line = [part for part in parts if through_all or part[0] == self.part[0]]
        there = line.index(self.part) + by
        self._give(line[there % len(line) if round_again else min(max(there, 0), len(line) - 1)])

    def take_mouse(self, event: pygame.event.Event, canvas: Canvas, pointed: Region | None) -> None:
        """Let the mouse choose in a list that is alone in its window."""
        self._share = None
        if pointed is not None and pointed.alone:
            if event.type == pygame.MOUSEMOTION:
                self._give(pointed.name)
            elif event.type == pygame.MOUSEWHEEL and self.part is not None:
                self.step(_parts(canvas), -event.y)

    def look(self, canvas: Canvas) -> None:
        """Leave a part that the newest frame does not have; a list that is alone in its window has the focus anyway."""
        regions = [*canvas.parts()]
        if self.part is None or not any(region.is_beside(self.part) for region in regions):
            self._give(next((region.name for region in regions if region.alone), None))

    def region(self, canvas: Canvas) -> Region | None:
        """Return the region with the focus in the newest frame."""
        return next((region for region in canvas.parts() if region.name == self.part), None)

    def _give(self, part: Part | None) -> None:
        self.part, self._share = part, None


def _parts(canvas: Canvas) -> dict[Part, Region]:
    """Return what can have the focus, from the lowest panel to the topmost; rows of a list without room too."""
    parts: dict[Part, Region] = {}
    for region in canvas.parts():
        if region.name not in parts:  # the first of its list
            parts |= {row.name: row for row in (replace(region, index=index) for index in range(len(region.names)))}
        parts[region.name] = region
    return parts


def _first(parts: dict[Part, Region], pointed: Region | None) -> Part:
    topmost = [part for part in parts if part[0] == next(reversed(parts))[0]]
    return pointed.name if pointed is not None and pointed.name in parts else topmost[0]


def _click(region: Region, share: float = 0.5) -> Gesture:
    rect = region.rect
    return Gesture("click", hit_of(region, (rect.x + share * (rect.w - 1), rect.centery)))


class TopLayer:
    """Lays pictures over a surface, and takes them away again without anything painted anew."""

    def __init__(self) -> None:
        self._covered: list[tuple[pygame.Rect, pygame.Surface]] = []
        """The pixels below, the topmost last."""

    def lay(self, surface: pygame.Surface, place: pygame.Rect, draw: Callable[[], object]) -> None:
        """Draw something that stays within a place."""
        place = place.clip(surface.get_rect())
        if place.w > 0 and place.h > 0:
            self._covered.append((place, surface.subsurface(place).copy()))
            draw()

    def lift(self, surface: pygame.Surface) -> None:
        """Take everything away from the surface that it was laid on."""
        while self._covered:
            place, pixels = self._covered.pop()
            surface.blit(pixels, place)

    def forget(self) -> None:
        """Leave everything where it is, on a surface that is gone."""
        self._covered.clear()


def light(surface: pygame.Surface, place: pygame.Rect, canvas: Canvas) -> None:
    """Light a place up."""
    rounded(surface, place, TEXT, radius=canvas.px(4), alpha=LIGHT)


def ring(surface: pygame.Surface, place: pygame.Rect, canvas: Canvas) -> None:
    """Draw a ring within a place."""
    pygame.draw.rect(surface, MAIN_LINE, place, canvas.px(1.5), border_radius=canvas.px(4))


class Words:
    """The words of some panels, with a sentence for each."""

    def __init__(self, panels: Iterable[Panel[Any] | type[Panel[Any]]]) -> None:
        known = {text: sentence for panel in panels for text, sentence in panel.words.items()}
        self.plain = {text: sentence for text, sentence in known.items() if not text.isupper()}
        self.states = {text: sentence for text, sentence in known.items() if text.isupper()}
        """Signs in capitals that say what the program does. A sign may go on, as `AT 1x`."""

    def explained(self, text: str) -> str:
        """Return the sentence for words on the screen, '' for words that need none: by all of them, or by their end."""
        state = max((sign for sign in self.states if text.startswith(sign)), key=len, default="")
        if state:
            return self.states[state]
        plain = re.sub(r"[^a-z/;, ]", " ", text.lower()).strip()
        plain = re.sub(r" +", " ", plain)
        for name in (plain, ALIKE.get(plain, "")):
            if name in self.plain:
                return self.plain[name]
        if text == NOTHING:
            return ""
        words = plain.split(" ")
        ends = (" ".join(words[i:]) for i in range(1, len(words)))
        starts = (" ".join(words[:i]) for i in range(len(words) - 1, 0, -1))
        return next((self.plain[part] for part in (*ends, *starts) if part in self.plain), "")


class Tips:
    """Remembers where the mouse rests, and since when."""

    def __init__(self, panels: Sequence[Panel[Any]]) -> None:
        self._panels, self._words = {panel.name: panel for panel in panels}, Words(panels)
        self._at: Pixel = (-1.0, -1.0)
        self._since = 0.0
        self._is_asked = False
        """Somebody wants to know without waiting."""

    def lines(self, pointer: Pointer, canvas: Canvas, views: Mapping[str, Any]) -> tuple[str, ...]:
        """Return what to say about what is under the mouse in the newest frame, which shows these views."""
        hit, now = pointer.under(canvas), perf_counter()
        if pointer.at != self._at:
            self._at, self._since, self._is_asked = pointer.at, now, False
        if hit is None:
            return ()
        panel, view = self._panels.get(hit.panel), views.get(hit.panel)
        lines = () if panel is None or view is None else panel.tip(view, hit)
        if lines or (now - self._since < STILL and not self._is_asked):
            return lines
        sentence = "" if panel is None or view is None else panel.explain(view, hit)
        sentence = sentence or self._words.explained(canvas.text_at(hit.at))
        return (sentence,) if sentence else ()

    def ask(self, pointer: Pointer, canvas: Canvas, views: Mapping[str, Any]) -> bool:
        """Explain what is under the mouse at once, as long as the mouse stays there; return whether there is a tip."""
        self.lines(pointer, canvas, views)
        self._is_asked = True
        self._is_asked = bool(self.lines(pointer, canvas, views))
        return self._is_asked


def lay_tip(top: TopLayer, surface: pygame.Surface, at: Pixel, lines: Sequence[str], canvas: Canvas) -> None:
    """Lay a tip beside a pixel, where it hides as little as possible of what it explains."""
    lines = [part for line in lines for part in wrapped(line, canvas.px(WIDE), SMALL + 0.5, canvas)]
    wide = max((canvas.width(line, SMALL + 0.5) for line in lines), default=0) + 2 * canvas.px(PAD)
    box = pygame.Rect(0, 0, wide, len(lines) * canvas.px(LINE) + canvas.px(PAD))
    box.topleft = round(at[0]) + canvas.px(14), round(at[1]) + canvas.px(16)
    w, h = surface.get_size()
    if box.bottom > h:
        box.bottom = round(at[1]) - canvas.px(8)
    box.clamp_ip(pygame.Rect(0, 0, w, h))
    top.lay(surface, box, partial(_draw, surface, box, lines, canvas))


def _draw(surface: pygame.Surface, box: pygame.Rect, lines: Sequence[str], canvas: Canvas) -> None:
    rounded(surface, box, PANEL, radius=canvas.px(6), edge=mix(PANEL, MAIN_LINE, 0.5), alpha=245)
    y = box.y + canvas.px(PAD) // 2 + canvas.px(LINE) // 2
    for line in lines:
        canvas.write(surface, line, (box.x + canvas.px(PAD), y), size=SMALL + 0.5, colour=TEXT)
        y += canvas.px(LINE)
