"""Panels that stand on the surface as they are to be are not drawn again, and no picture shows that."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pygame
import pytest
from live_windows import TINY, Live, watching

from ecs_rl.viewer import frame as frame_module
from ecs_rl.viewer.frame import Painter
from ecs_rl.viewer.view import View
from ecs_rl.viewer.view_floating import TipView


@pytest.fixture
def live(tmp_path: Path) -> Iterator[Live]:
    with watching(tmp_path / "runs", "balance", *TINY) as opened:
        opened.slices(40)
        opened.frames(2)
        yield opened


def whole(live: Live) -> bytes:
    """Return the pixels of a frame that a painter draws for the first time."""
    fresh = pygame.Surface(live.window.screen.size)
    Painter().draw(fresh, live.window.seen, live.window.layout, live.window.camera, live.window.views)
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


def test_a_tip_that_lay_over_a_panel_leaves_nothing_there(live: Live) -> None:
    painter, seen, layout = live.window.painter, live.window.seen, live.window.layout
    surface = live.window.screen.picture()
    assert layout.mind is not None
    painter.draw(surface, seen, layout)
    before = shown(live)
    painter.draw(surface, replace(seen, tip=TipView(layout.mind.center, ("a tip",))), layout)
    assert shown(live) != before
    painter.draw(surface, seen, layout)
    assert shown(live) == before


def test_only_what_has_changed_is_drawn(live: Live, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[str] = []
    for name in ("draw_mind", "draw_learning"):
        plain = getattr(frame_module, name)

        def counted(*args: object, name: str = name, plain: object = plain) -> object:
            drawn.append(name)
            return plain(*args)  # type: ignore[operator]

        monkeypatch.setattr(frame_module, name, counted)
    painter, seen, layout = live.window.painter, live.window.seen, live.window.layout
    surface = live.window.screen.picture()

    def draw(view: View) -> list[str]:
        drawn.clear()
        painter.draw(surface, view, layout)
        return list(drawn)

    draw(seen)
    assert draw(seen) == []
    assert seen.mind is not None
    assert draw(replace(seen, mind=replace(seen.mind))) == ["draw_mind"]
    painter.draw(pygame.Surface(surface.get_size()), seen, layout)
    assert draw(seen) == ["draw_mind", "draw_learning"]
