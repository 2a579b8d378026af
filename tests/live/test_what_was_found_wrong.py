"""What was found wrong when every key was tried stays mended: each panel tells of the moment in the picture."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import pygame
import pytest
from live_commands import train
from live_windows import TINY, Live, moved, seeing, watching

from ecs_rl.agents.base import output_of
from ecs_rl.components import Observation
from ecs_rl.errors import DivergedError
from ecs_rl.viewer.controls import filming
from ecs_rl.viewer.frame import Painter
from ecs_rl.viewer.live.watch import PATIENCE
from ecs_rl.viewer.live_episode import Speedometer
from ecs_rl.viewer.objects import BodyId
from ecs_rl.viewer.played_episodes import tone_of
from ecs_rl.viewer.regions import Part


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return train("balance", *TINY, "--json", "--runs", tmp_path_factory.mktemp("runs")).run


def to_the_end(live: Live) -> None:
    for _ in range(2000):
        live.window.advance(1 / 60, 1.0)
        if live.show.resting:
            return
    raise AssertionError("this episode never ends")


def seen_by(live: Live) -> list[float]:
    mind = live.window.views["mind"]
    return [each.value for each in mind.sees]


def inspected(live: Live) -> dict[str, str]:
    inspector = live.window.views["inspector"]
    return {name: value for name, value, _ in inspector.rows}


# --- one moment -------------------------------------------------------------------------------------------------------


def test_the_inspector_tells_of_the_ending_as_long_as_its_picture_stands(run: Path) -> None:
    with seeing(run) as live:
        to_the_end(live)
        live.window.stage.selected = BodyId("pole")
        live.draw()
        stage = live.stage
        assert stage is not None
        (pole,) = [objects for objects in stage.objects if objects.look.name == "pole"]
        before = live.state()
        told = inspected(live)["Pose angle"]
        assert float(told) == pytest.approx(float(pole.angle[0]), abs=0.006)
        assert abs(float(told)) > 0.15, "it fell: the next episode begins upright"
        after = live.state()
        assert before.keys() == after.keys()
        assert all(before[name].tobytes() == after[name].tobytes() for name in before), "looking changes nothing"


def test_an_arena_that_comes_from_the_grid_while_all_is_paused_is_the_one_that_the_mind_sees(tmp_path: Path) -> None:
    with watching(tmp_path) as live:
        live.window.advance(0.3, 1.0)
        live.slices(60)
        live.hit("Space", "G")
        assert live.window.stage.grid is not None
        live.window.stage.grid.selected = 5
        live.hit("Enter")
        live.draw()
        world = live.show.world
        seen = world.of(world.batches[0].entity, Observation).value[live.show.arena].copy()
        assert seen_by(live) == pytest.approx(seen.tolist())
        mind = live.window.views["mind"]
        assert mind.does
        assert not any(option.chosen for option in mind.does), "nothing was done yet"
        agent, ribbon = live.show.mind.agent, live.window.views["ribbon"]
        assert agent is not None
        told = output_of(agent, seen[None], np.zeros((1, 0), np.float32))
        assert told is not None
        assert mind.expected.tolist() == pytest.approx(told.value.tolist()), "what it expects here, and nothing else"
        assert len(ribbon.earned) == 1
        live.hit("Right")
        live.draw()
        mind = live.window.views["mind"]
        assert sum(option.chosen for option in mind.does) == 1
        assert len(mind.expected) == 1


# --- numbers ----------------------------------------------------------------------------------------------------------


def test_what_was_reached_of_another_speed_is_forgotten() -> None:
    found = Speedometer()
    for _ in range(60):
        found.note(1 / 16, 1 / 60, 1 / 60 / 16)
    assert found.reached == pytest.approx(1 / 16)
    assert found.note(1.0, 1 / 60, 1 / 60) == 1.0


def test_before_the_first_episodes_have_ended_the_chart_says_when_its_numbers_come(tmp_path: Path) -> None:
    with watching(tmp_path) as live:
        learning = live.window.views["learning"].curves
        assert learning.waiting == "numbers come once the first episodes end"


# --- what stands in the picture ---------------------------------------------------------------------------------------


def test_messages_stand_to_the_upper_left_and_name_only_the_end_of_a_path(run: Path, tmp_path: Path) -> None:
    with seeing(run) as live:
        live.window.run.folder = tmp_path / ("long " * 8) / "folder"
        live.hit("Ctrl+P")
        assert "picture written: pictures/window_" in live.said()
        assert "folder" not in live.said()
        bare = pygame.surfarray.array3d(live.window.screen.picture()).astype(int)
        live.window.draw()
        shown = pygame.surfarray.array3d(live.window.screen.picture()).astype(int)
        stage = live.layout.stage
        changed = np.argwhere((bare != shown).any(axis=2) & True)
        middle = stage.y + stage.h // 2
        inside = changed[(changed[:, 0] < stage.right) & (changed[:, 1] >= stage.y) & (changed[:, 1] < stage.bottom)]
        assert len(inside)
        assert inside[:, 1].max() < middle


def test_a_film_shows_neither_the_sign_of_recording_nor_messages_nor_keys(
    run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn: list[Mapping[str, Any]] = []

    class Spy(Painter):
        def draw(self, surface: pygame.Surface, views: Mapping[str, Any], focus: Part | None = None) -> None:
            drawn.append(views)
            super().draw(surface, views, focus)

    monkeypatch.setattr(filming, "Painter", Spy)
    with seeing(run) as live:
        live.hit("F1", "F3", "V")
        live.frames(1)
        assert "RECORDING" in live.chips
        assert "messages" in live.window.views
        live.frames(3)
        live.hit("V")
    assert drawn
    for views in drawn:
        assert views.keys() == {"status", "mind", "learning", "stage", "profile", "ribbon"}


# --- words ------------------------------------------------------------------------------------------------------------


def test_an_ending_that_the_scene_calls_a_success_has_the_colour_of_success(run: Path) -> None:
    with seeing(run) as live:
        world = live.show.world
        assert tone_of(world, 0, -1.0, ("arrived",)) == "good"
        assert tone_of(world, 0, -1.0, ("fell",)) == "bad"
        assert tone_of(world, 0, 1e9, ("ran off",)) == "good"


def test_chips_and_hints_are_the_buttons_that_they_look_like(run: Path) -> None:
    with seeing(run) as live:
        window = live.window

        def press(key: str) -> None:
            at = next(each.rect.center for each in (*live.regions("hints"), *live.regions("chips")) if each.key == key)
            for event in (pygame.MOUSEBUTTONDOWN, pygame.MOUSEBUTTONUP):
                live.answer(pygame.event.Event(event, pos=at, button=1))
            live.draw()

        press("Space")
        assert live.show.paused
        press("Space")
        assert not live.show.paused
        press("D")
        assert live.show.sampled
        press("F1")
        assert "help" in window.open_panels
        live.answer(moved((5, 100)))


def test_play_says_that_its_episodes_begin_again(run: Path) -> None:
    with seeing(run, "--episodes", "2") as live:
        live.hit("Backspace", "Backspace")
        live.window.advance(1 / 60, 1.0)
        assert "all 2 episodes have been played: they begin again" in live.said()
        live.draw()
        stage = live.stage
        assert stage is not None
        assert "episode 1 of 2, again" in stage.caption


# --- a training that breaks -------------------------------------------------------------------------------------------


def test_a_training_that_diverges_says_so_in_its_window_before_it_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with watching(tmp_path) as live:

        def breaks(until: float) -> None:
            raise DivergedError("policy loss nan: try a lower ppo.lr")

        monkeypatch.setattr(live.background, "run", breaks)
        live.frames(3)
        assert isinstance(live.loop.broken, DivergedError)
        assert "training diverged: policy loss nan" in live.said()
        assert live.window.messages[-1].until > perf_counter() + PATIENCE / 2
        live.hit("Space")
        assert live.show.paused, "the window is there still"
