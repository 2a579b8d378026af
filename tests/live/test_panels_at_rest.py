"""Panels that stand on the surface as they are to be are not drawn again, and no picture shows that."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pygame
import pytest
from live_windows import TINY, Live, watching

from ecs_rl.viewer.frame import Painter
from ecs_rl.viewer.panels.learning import Learning
from ecs_rl.viewer.panels.mind_panel import MindPanel
from ecs_rl.viewer.panels.status import Status


@pytest.fixture
def live(tmp_path: Path) -> Iterator[Live]:
    with watching(tmp_path / "runs", "balance", *TINY) as opened:
        opened.slices(40)
        opened.frames(2)
        yield opened


def whole(live: Live) -> bytes:
    """Return the pixels of a frame that a painter draws for the first time."""
    fresh = pygame.Surface(live.window.screen.size)
    Painter().draw(fresh, live.window.views)
    return pygame.image.tobytes(fresh, "RGB")


def shown(live: Live) -> bytes:
    return pygame.image.tobytes(live.window.screen.picture(), "RGB")


def test_each_frame_is_the_one_that_is_drawn_from_nothing(live: Live) -> None:
    keys = ("Tab", "Tab", "M", "M", "F1", "F1", "F3", "G", "G", "F2", "Esc", "Space", "B", "B")
    for key in ("", *keys):
        if key:
            live.hit(key)
        for _ in range(3):
            live.window.advance(1 / 60, 1.0)
            live.slices(2)
            live.draw()
            assert shown(live) == whole(live), key


def test_only_what_has_changed_is_drawn(live: Live, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[str] = []
    for kind in (Status, MindPanel, Learning):

        def counted(panel: Any, *more: Any, plain: Any = kind.paint) -> None:
            drawn.append(panel.name)
            plain(panel, *more)

        monkeypatch.setattr(kind, "paint", counted)
    painter, views = live.painter, live.window.views
    surface = live.window.screen.picture()

    def draw(surface: pygame.Surface, **changed: object) -> list[str]:
        drawn.clear()
        painter.draw(surface, views | changed)
        return list(drawn)

    draw(surface)
    assert draw(surface) == []
    assert draw(surface, mind=replace(views["mind"])) == ["mind"]
    assert draw(pygame.Surface(surface.get_size())) == ["status", "mind", "learning"]
