"""Messages: what the window says for a while, where no other panel stands."""

from __future__ import annotations

from dataclasses import dataclass
from time import perf_counter

import pygame

from ecs_rl.viewer.canvas import NORMAL, Canvas
from ecs_rl.viewer.draw import rounded
from ecs_rl.viewer.palette import RAISED, mix
from ecs_rl.viewer.panel import App, Panel
from ecs_rl.viewer.stage import TONES
from ecs_rl.viewer.view import Tone

FADES = 0.6
"""Seconds in which a message fades at its end."""
MOST = 4
"""Messages at a time."""
TALL, GAP, PAD = 28, 6, 14
"""Height of a message, the space to the next one, and beside its words."""


@dataclass(frozen=True)
class Toast:
    """A message that fades: `strength` falls from 1 to 0."""

    text: str
    tone: Tone = "plain"
    strength: float = 1.0


MessagesView = tuple[Toast, ...]
"""What is said now, the newest last."""


class Messages(Panel[MessagesView]):
    """Shows what was said last."""

    name = "messages"
    filmed = False

    def view(self, app: App) -> MessagesView | None:
        """Return how a person's episode came out, as long as that waits for a key, else what was said last."""
        now = perf_counter()
        app.messages = [message for message in app.messages if message.until > now]
        verdict = None if app.stage.playlist is None or app.stage.aside is not None else app.stage.playlist.verdict
        if verdict is not None:
            text, tone = verdict
            return (Toast(f"{text}  ·  any of your keys: the next one", tone),)
        latest = {(m.text.split(" ")[0], m.tone): m for m in app.messages}  # of several about a speed the newest
        toasts = tuple(Toast(m.text, m.tone, min(1.0, (m.until - now) / FADES)) for m in latest.values())
        return toasts or None

    def paint(self, canvas: Canvas, view: MessagesView, room: pygame.Rect) -> None:
        """Paint the messages, the newest on top, above in the sky: there is no landing pad.

        Where nothing is free they cover what stands there.
        """
        free, pad = canvas.free(room), canvas.px(PAD)
        free.h = canvas.rooms.get("clear", room).bottom - free.y
        newest = [(toast, canvas.cut(toast.text, free.w - 2 * pad, NORMAL)) for toast in view[: -MOST - 1 : -1]]
        widths = [canvas.width(text, NORMAL) + 2 * pad for _, text in newest]
        step = canvas.px(TALL) + canvas.px(GAP)
        size = max(widths), len(newest) * step - canvas.px(GAP)
        places = (canvas.place_in(free, "top left", size, least) for least in (None, canvas.px(TALL)))
        place = next((place for place in places if place is not None), pygame.Rect(free.topleft, size))
        canvas.take(place)
        for (toast, text), wide in zip(newest, widths, strict=True):
            if place.h >= canvas.px(TALL):
                _paint(canvas, pygame.Rect(place.x, place.y, wide, canvas.px(TALL)), toast, text)
            place = pygame.Rect(place.x, place.y + step, place.w, place.h - step)


def _paint(canvas: Canvas, rect: pygame.Rect, toast: Toast, text: str) -> None:
    strength, colour = min(max(toast.strength, 0.0), 1.0), TONES[toast.tone]
    alpha = round(16 * strength) * 15  # few different pictures
    rounded(canvas.surface, rect, RAISED, radius=canvas.px(7), edge=mix(RAISED, colour, 0.4), alpha=min(alpha, 240))
    picture = canvas.picture(text, NORMAL, colour, "words")
    picture.set_alpha(round(255 * strength))
    canvas.surface.blit(picture, picture.get_rect(center=rect.center))
    picture.set_alpha(255)
