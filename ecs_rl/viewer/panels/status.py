"""The status line: scene, run and state to the left, progress in the middle, speed and best to the right."""

from __future__ import annotations

from dataclasses import dataclass

import pygame

from ecs_rl.viewer.canvas import LARGE, NORMAL, SMALL, Canvas, Face
from ecs_rl.viewer.draw import rounded
from ecs_rl.viewer.number_formats import count, duration, short, speed, steady
from ecs_rl.viewer.palette import DIM, FAINT, MAIN_LINE, PANEL, RAISED, RULE, TEXT, Colour, mix
from ecs_rl.viewer.stage import TONES
from ecs_rl.viewer.view import StatusView


@dataclass(frozen=True)
class Word:
    """A piece of the line; the smaller its rank, the longer it stays when there is no room."""

    text: str
    rank: int
    colour: Colour = TEXT
    face: Face = "words"
    gap: int = 5
    """Space before it."""


def paint_status(surface: pygame.Surface, status: StatusView, canvas: Canvas) -> None:
    """Paint the status line."""
    w, h = surface.get_size()
    surface.fill(PANEL)
    _progress(surface, status, canvas)
    middle, edge = (h - canvas.px(2)) / 2, canvas.px(14)
    left = _title(surface, status, canvas, (edge, middle))
    words = _words(status)
    while words and sum(_wide(word, canvas) for word in words) > w - left - edge - canvas.px(16):
        words = [word for word in words if word.rank != max(word.rank for word in words)]
    x = float(w - edge - sum(_wide(word, canvas) for word in words))
    for word in words:
        x += canvas.px(word.gap)
        x += canvas.write(surface, word.text, (x, middle), colour=word.colour, face=word.face).w


def _wide(word: Word, canvas: Canvas) -> int:
    return canvas.px(word.gap) + canvas.width(word.text, NORMAL, word.face)


def _title(surface: pygame.Surface, status: StatusView, canvas: Canvas, at: tuple[float, float]) -> int:
    """Draw scene, state and run; return where the rest may begin."""
    w = surface.get_width()
    x, y = at
    x += canvas.write(surface, status.scene, at, size=LARGE, width=w // 4).w + canvas.px(10)
    colour = TONES[status.tone] if status.tone != "plain" else MAIN_LINE
    state = status.state.upper()
    pill = pygame.Rect(round(x), 0, canvas.width(state, SMALL - 0.5) + canvas.px(16), canvas.px(18))
    pill.centery = round(y)
    rounded(surface, pill, mix(PANEL, colour, 0.22), radius=pill.h // 2)
    canvas.write(surface, state, pill.center, size=SMALL - 0.5, colour=mix(colour, TEXT, 0.35), anchor="middle")
    x = pill.right + canvas.px(10)
    if w > canvas.px(1080):
        x += canvas.write(surface, status.run, (x, y), size=SMALL, colour=FAINT, width=w // 6).w
    return round(x)


def _words(status: StatusView) -> list[Word]:
    number: Face = "numbers"
    total = f"/{count(status.steps_total)}" if status.steps_total else ""
    words = []
    if status.steps is not None:
        words += [Word(steady(status.steps) + total, 1, face=number, gap=0), Word("steps", 1, DIM)]
    if status.steps_per_second is not None:
        words += [Word(f"{steady(status.steps_per_second):>6}", 5, face=number, gap=18), Word("steps/s", 5, DIM)]
    if status.seconds_left is not None:
        words += [Word(duration(status.seconds_left), 4, face=number, gap=18), Word("left", 4, DIM)]
    if status.lessons:
        words += [Word("lesson", 3, DIM, gap=18), Word(status.lessons, 3)]
    if status.best is not None:
        at = f"at {count(status.best_at)}" if status.best_at is not None else ""
        words += [
            Word(f"best {status.counted}".rstrip(), 2, DIM, gap=18),
            Word(short(status.best), 2, face=number),
            Word(at, 6, DIM),
        ]
    words += [Word("stage speed", 3, DIM, gap=18), Word(speed(status.speed_asked), 3, face=number, gap=7)]
    reached = status.speed_reached
    if reached is not None and not 0.9 < reached / max(status.speed_asked, 1e-9) < 1.1:
        words.append(Word(f"(reaches {speed(reached)})".rjust(15), 5, DIM, number))
    hints = [hint for hint in status.hint.split(" · ") if hint]
    return [*words, *(Word(hint, 10 * i, MAIN_LINE, gap=16 if i else 20) for i, hint in enumerate(hints))]


def _progress(surface: pygame.Surface, status: StatusView, canvas: Canvas) -> None:
    w, h = surface.get_size()
    tall = canvas.px(2)
    surface.fill(RAISED if status.steps_total else RULE, (0, h - tall, w, tall))
    if status.steps_total and status.steps is not None:
        share = min(max(status.steps / status.steps_total, 0.0), 1.0)
        surface.fill(MAIN_LINE, (0, h - tall, round(w * share), tall))
