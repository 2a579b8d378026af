"""A card to share shows how earlier policies fared on the seed of the stage, and changes nothing that is on it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pygame
import pytest
from live_commands import train
from live_windows import TINY, Live, same, seeing, watching

from ecs_rl.viewer.controls.cards import COLOURS, SIZE, Cards, paint_card
from ecs_rl.viewer.controls.cards import Path as Way


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return train("balance", *TINY, "--json", "--runs", tmp_path_factory.mktemp("runs")).run


def made(live: Live, monkeypatch: pytest.MonkeyPatch) -> list[Way]:
    """Make a card; return the paths on it."""
    found: list[Way] = []

    def spy(surface: pygame.Surface, stage: object, paths: list[Way], *more: object, **words: object) -> None:
        found.extend(paths)
        paint_card(surface, stage, paths, *more, **words)  # type: ignore[arg-type]

    monkeypatch.setattr("ecs_rl.viewer.controls.cards.paint_card", spy)
    live.hit("C")
    for _ in range(20_000):
        live.control(Cards).advance(live.window, 0.0)
        if "card written" in live.said():
            return found
    raise AssertionError("this card is never done")


def test_it_shows_the_start_five_and_twenty_percent_and_the_policy_on_the_stage(
    run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with seeing(run) as live:
        before = live.state()
        paths = made(live, monkeypatch)
        assert same(before, live.state())
        assert paths[0].label == "at the start"
        assert paths[-1].label == live.show.label
        assert 2 <= len(paths) <= 4
        assert all("% of the way, step " in path.label for path in paths[1:-1])
        for path in paths:
            assert len(path.points) == round(path.total), "balance pays 1 a tick"
            assert np.isfinite(path.points).all()
        (file,) = (run / "pictures").glob("card_*.png")
        card = pygame.image.load(file)
        assert card.get_size() == SIZE
        pixels = pygame.surfarray.array3d(card).reshape(-1, 3)
        for colour in COLOURS[len(COLOURS) - len(paths) :]:
            assert (np.abs(pixels.astype(int) - colour).sum(axis=1) < 12).sum() > 60, colour


def test_two_stages_and_a_second_card_at_once_are_refused(run: Path) -> None:
    with seeing(run, "--compare", "1000", "3000") as live:
        live.hit("C")
        assert "of one stage" in live.said()
    with seeing(run) as live:
        live.hit("C", "C")
        assert live.said().endswith("a card is being made")
        assert live.window.messages[-1].tone == "warn"


def test_a_card_can_be_made_while_it_learns_and_changes_no_bit(tmp_path: Path) -> None:
    shas = []
    for makes in (False, True):
        with watching(tmp_path / str(makes)) as live:
            live.slices(300)
            if makes:
                live.hit("C")
            for _ in range(400):
                live.control(Cards).advance(live.window, 0.0)
                live.slices(3)
            while live.background.busy:
                live.slices(200)
            assert ("card written" in live.said()) == makes
            shas.append(live.trains.session.agent.parameters_sha256())
    assert shas[0] == shas[1]
