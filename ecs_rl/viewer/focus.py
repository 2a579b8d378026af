"""Focus: the slider or the row of a list that the keyboard works, by the same gestures as the mouse."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pygame

from ecs_rl.viewer.canvas import Canvas
from ecs_rl.viewer.panel import CTRL, Command, Gesture
from ecs_rl.viewer.pointer import hit_of
from ecs_rl.viewer.regions import Part, Region

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
