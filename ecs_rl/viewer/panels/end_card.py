"""The end card: how the training ended, and what can be done with it now."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pygame

from ecs_rl.viewer.canvas import HEAD, NORMAL, PAD, SMALL, Canvas, draw_cap, fill_card
from ecs_rl.viewer.number_formats import duration, result
from ecs_rl.viewer.palette import DIM, TEXT
from ecs_rl.viewer.panel import App, Panel

if TYPE_CHECKING:
    from ecs_rl.training.training import Training

WIDTH, LINE, ROW, CAPS = 300, 20, 26, 62
"""Widths of the card and of the column of keys, heights of a line and of a row."""
OFFERS = (
    ("E", "see the learning again, in 20 seconds"),
    ("B", "untrained and now, side by side"),
    ("Y", "race it on the same seed"),
    ("C", "make a card to share"),
    ("Ctrl+N", "train again, with another seed"),
)
"""Keys, and what they do now; the last one not after a training of several processes."""


@dataclass(frozen=True)
class EndView:
    """What the card says."""

    title: str
    facts: tuple[str, ...]
    offers: tuple[tuple[str, str], ...] = OFFERS


class EndCard(Panel[EndView]):
    """Opens once a training is over and nothing else is to be seen of its end."""

    name = "end card"
    filmed = False

    def __init__(self) -> None:
        self._was_open = False

    def look(self, app: App, seconds: float) -> None:
        """Open the card, once."""
        work = app.run.background
        if self._was_open or work is None or not work.is_saved or work.training.stop:
            return
        if "joy" not in app.open_panels and not _is_elsewhere(app):
            self._was_open = True
            app.open_panels |= {self.name}
            app.modes.note(app)

    def view(self, app: App) -> EndView | None:
        """Return how the training ended, None while the card is closed or the stage shows something else."""
        work = app.run.background
        return None if work is None or not self.is_on(app) else _ended(work.training)

    def is_on(self, app: App) -> bool:
        """Return whether Esc closes it: it is open, and to be seen."""
        return self.name in app.open_panels and not _is_elsewhere(app)

    def paint(self, canvas: Canvas, view: EndView, room: pygame.Rect) -> None:
        """Paint the card in the upper left corner of the stage."""
        tall = canvas.px(HEAD + LINE * len(view.facts) + ROW * len(view.offers) + PAD)
        place = canvas.place_in(canvas.free(room), "top left", (canvas.px(WIDTH), tall), canvas.px(HEAD + LINE))
        if place is not None:
            canvas.lay(canvas.surface, place, self.name, view, _paint)


def _is_elsewhere(app: App) -> bool:
    """Return whether the stage shows anything but the newest policy."""
    stage, checkpoints = app.stage, app.run.checkpoints
    is_aside = stage.grid is not None or stage.aside is not None or stage.coming is not None
    return is_aside or checkpoints is None or checkpoints.step != checkpoints.first


def _ended(training: Training) -> EndView:
    evaluation, session = training.evaluation, training.session
    taken = duration(training.seconds) if training.seconds >= 60 else f"{training.seconds:.1f} s"
    title = f"Trained for {taken}"
    if evaluation.solved_second is not None:
        title = f"Solved after {evaluation.solved_second:.1f} s of training"
    facts = [f"{session.total_steps:,} steps, {session.total_episodes:,} episodes, {taken} in all"]
    if session.best_eval is not None and session.best_step is not None:
        facts.insert(0, f"best {result(session.best_eval)} at step {session.best_step:,}")
    return EndView(title, tuple(facts), OFFERS if training.together is None else OFFERS[:-1])


def _paint(surface: pygame.Surface, view: EndView, canvas: Canvas) -> None:
    y, pad, w = fill_card(surface, "Esc", view.title, canvas), canvas.px(PAD), surface.get_width()
    for fact in view.facts:
        at = (pad, y + canvas.px(LINE) // 2)
        canvas.write(surface, fact, at, size=SMALL + 0.5, colour=DIM, width=w - 2 * pad)
        y += canvas.px(LINE)
    for number, (key, what) in enumerate(view.offers):
        row = pygame.Rect(pad // 2, y, w - pad, canvas.px(ROW))
        if row.bottom > surface.get_height():
            return
        draw_cap(surface, key, pad, row.centery, canvas)
        at = (pad + canvas.px(CAPS), row.centery)
        canvas.write(surface, what, at, size=NORMAL, colour=TEXT, width=w - at[0] - pad)
        canvas.hit(row, "key", number, key=key)
        y = row.bottom
