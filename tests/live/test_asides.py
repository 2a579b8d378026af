"""What takes the place of the stage comes one at a time, show by show, and goes as a whole."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from live_commands import train
from live_windows import TINY, seeing, watching

from ecs_rl.agents.base import Agent
from ecs_rl.errors import SceneError
from ecs_rl.scene.scene import Scene
from ecs_rl.viewer.live import live_stage
from ecs_rl.viewer.live.live_stage import BeforeAfter, Race
from ecs_rl.viewer.live_episode import LiveEpisode


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return train("balance", *TINY, "--json", "--runs", tmp_path_factory.mktemp("runs")).run


@pytest.mark.parametrize(("first", "kind"), [("B", BeforeAfter), ("Y", Race)])
def test_other_keys_wait_while_shows_are_being_opened(first: str, kind: type[live_stage.Aside], run: Path) -> None:
    with seeing(run) as live:
        live.hit(first)
        live.window.advance(0.0, 0.0)
        live.hit("B", "W", "Y")
        live.open_aside()
        assert isinstance(live.window.stage.aside, kind)
        assert len(live.window.stage.shows) == 2


def test_shows_that_are_being_opened_come_no_more_once_the_grid_is_there(tmp_path: Path) -> None:
    with watching(tmp_path) as live:
        live.slices(40)
        live.hit("B")
        live.window.advance(0.0, 0.0)
        live.hit("G")
        live.open_aside()
        assert live.window.stage.grid is not None
        assert live.window.stage.aside is None
        assert live.window.stage.shows == [live.show]


def test_a_show_that_cannot_be_opened_closes_the_others_and_is_said(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened, closed = list[LiveEpisode](), list[LiveEpisode]()

    def opens_one(scene: Scene, agents: Mapping[str, Agent], **more: Any) -> LiveEpisode:
        if opened:
            raise SceneError("there is no room for a second one")
        opened.append(LiveEpisode(scene, agents, **more))
        return opened[0]

    close = LiveEpisode.close

    def noted(show: LiveEpisode) -> None:
        closed.append(show)
        close(show)

    monkeypatch.setattr(LiveEpisode, "close", noted)
    monkeypatch.setattr(live_stage, "LiveEpisode", opens_one)
    with seeing(run) as live:
        live.hit("B")
        live.open_aside()
        assert "there is no room for a second one" in live.said()
        assert closed == opened
        assert live.window.stage.shows == [live.show]
        live.hit("B")
        assert live.window.stage.coming is not None, "it can be asked for again"
