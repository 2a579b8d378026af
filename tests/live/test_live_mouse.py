"""The mouse through real events, and the picture in windows of any size."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pygame
import pytest
from live_windows import TINY, Live, down, moved, same, seeing, up, watching, wheel
from readme_scenes import BEACONS

from ecs_rl.viewer.canvas import Canvas
from ecs_rl.viewer.objects import BodyId
from ecs_rl.viewer.top_layer import NOTCH, STEADY, Pointer

SIZES = [(640, 400), (300, 200), (1920, 1080), (2560, 1440), (1281, 723)]


@pytest.fixture
def live(tmp_path: Path) -> Iterator[Live]:
    with watching(tmp_path) as opened:
        opened.slices(40)
        yield opened


def place(live: Live, role: str) -> tuple[float, float]:
    (found,) = [each for each in live.show.world.arena.roles if each.name == role]
    x, y = found.position[live.show.arena].tolist()
    return x, y


# --- hands ------------------------------------------------------------------------------------------------------------


def test_a_dragged_body_follows_the_mouse_and_is_let_go(live: Live) -> None:
    at = live.pixel("cart")
    to = at[0] + 60, at[1]
    training = live.trains.world.save_columns()
    live.answer(down(at), moved(to, (60, 0)))
    hand = live.show.hand
    assert hand.role is not None
    assert live.show.world.arena.roles[hand.role].name == "cart"
    metres = 60 / live.camera().zoom
    held = live.metres(at, 0)
    assert (hand.to[0] - held[0], hand.to[1] - held[1]) == pytest.approx((metres, 0.0), abs=1e-9)
    before = place(live, "cart")[0]
    follows: list[float] = []
    live.show.tick()
    live.draw()
    assert live.stage.grip is not None, "the spring is drawn"
    while not live.show.resting and len(follows) < 20:
        live.show.tick()
        follows.append(
            next(float(each.position[0, 0]) for each in live.show.stage().objects if each.look.name == "cart")
        )
    assert max(follows) > before + 0.15
    live.answer(up(to))
    assert hand.role is None
    assert live.window.stage.selected is None, "a drag never selects"
    assert live.show.touched or live.show.outcome is not None
    assert same(live.trains.world.save_columns(), training)


def test_a_click_selects_and_never_grabs(live: Live) -> None:
    at = live.pixel("pole")
    live.answer(down(at), moved((at[0] + STEADY - 1, at[1])), up((at[0] + STEADY - 1, at[1])))
    assert live.window.stage.selected == BodyId("pole")
    assert not live.show.touched
    live.draw()
    inspector = live.window.views["inspector"]
    assert inspector.title == "pole"
    assert live.stage.selected == BodyId("pole")
    assert any(name == "Motion spin" for name, _, _ in inspector.rows)
    live.answer(down((60, 120)), up((60, 120)))
    assert live.window.stage.selected is None, "a click beside everything selects nothing"


def test_a_click_on_a_panel_leaves_what_is_selected(live: Live) -> None:
    live.window.stage.selected = BodyId("pole")
    live.answer(down((1200, 400)), up((1200, 400)))
    assert live.window.stage.selected == BodyId("pole")
    live.answer(down((1200, 400)), moved((700, 400)), up((700, 400)))
    assert live.show.hand.role is None, "what began on a panel takes hold of nothing"


def test_a_drag_beside_every_body_moves_nothing(live: Live) -> None:
    live.answer(down((60, 120)), moved((160, 120)), up((160, 120)))
    assert live.show.hand.role is None
    assert not live.show.touched


def test_a_window_that_loses_the_keyboard_lets_go(live: Live) -> None:
    at = live.pixel("cart")
    live.answer(down(at), moved((at[0] + 30, at[1])))
    assert live.show.hand.role is not None
    live.answer(pygame.event.Event(pygame.WINDOWFOCUSLOST))
    assert live.show.hand.role is None
    live.answer(moved((at[0] + 60, at[1])), up((at[0] + 60, at[1])))
    assert live.show.hand.role is None
    assert live.window.stage.selected is None


def test_an_episode_that_ends_takes_the_body_out_of_the_hand(live: Live) -> None:
    at = live.pixel("cart")
    live.answer(down(at), moved((at[0] + 30, at[1])))
    while not live.show.resting:
        live.answer(moved((at[0] + 600, at[1])))
        live.show.tick()
    assert live.show.hand.role is None
    live.answer(moved((at[0] - 600, at[1])), up((at[0] - 600, at[1])))
    live.draw()
    assert live.stage.ending.endswith("with your help")
    live.show.tick()
    assert not live.show.touched


# --- the camera -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("notches", [1, 5, -3])
def test_the_wheel_zooms_and_the_point_at_the_cursor_stays(live: Live, notches: int) -> None:
    cursor = (300, 240)
    before, zoom = live.metres(cursor, 0), live.camera().zoom
    live.answer(moved(cursor), wheel(notches))
    live.draw()
    assert live.metres(cursor, 0) == pytest.approx(before, abs=1e-9)
    assert live.camera().zoom == pytest.approx(zoom * NOTCH**notches)
    live.hit("Home")
    live.draw()
    assert live.camera().zoom == pytest.approx(zoom)


def test_the_wheel_over_a_panel_leaves_the_stage(live: Live) -> None:
    live.answer(moved((1200, 300)), wheel(2))
    assert live.window.stage.aim is None


def test_a_right_drag_moves_the_picture_with_the_mouse(live: Live) -> None:
    before = live.pixel("cart")
    live.answer(down((300, 200), 3), moved((340, 170), (40, -30)))
    live.draw()
    assert live.pixel("cart") == (before[0] + 40, before[1] - 30)
    live.answer(up((340, 170), 3), moved((400, 170), (60, 0)))
    live.draw()
    assert live.pixel("cart") == (before[0] + 40, before[1] - 30), "the button is up"
    assert live.window.stage.selected is None
    assert live.show.hand.role is None


def test_what_was_zoomed_can_be_picked_where_it_is_drawn(live: Live) -> None:
    live.answer(moved(live.pixel("pole")), wheel(6))
    live.draw()
    at = live.pixel("pole")
    live.answer(down(at), up(at))
    assert live.window.stage.selected == BodyId("pole")


# --- the grid ---------------------------------------------------------------------------------------------------------


def cells_of(live: Live) -> dict[int, tuple[int, int]]:
    """Return a pixel of each arena of the grid."""
    (region,) = live.regions("grid")
    assert region.find is not None
    spots = [(x, y) for y in range(0, region.rect.h, 10) for x in range(0, region.rect.w, 10)]
    found = {region.find(at): (at[0] + region.rect.x, at[1] + region.rect.y) for at in spots}
    return {arena: at for arena, at in found.items() if isinstance(arena, int)}


def test_a_click_in_the_grid_brings_that_training_arena_to_the_stage(live: Live) -> None:
    live.hit("G")
    live.draw()
    window = live.window
    at = cells_of(live)[1]
    theirs = live.trains.world.save_columns()
    live.answer(down(at), up(at))
    assert window.stage.grid is None
    assert "training arena 1" in live.show.caption
    ours = live.state()
    assert ours["cart/Pose/position"][0].tobytes() == theirs["cart/Pose/position"][1].tobytes()
    live.draw()
    live.show.tick()
    assert same(live.trains.world.save_columns(), theirs)


def test_a_click_in_the_grid_brings_the_scene_s_own_components_along_and_the_inspector_shows_them(
    tmp_path: Path,
) -> None:
    scene = tmp_path / "beacons.py"
    scene.write_text(BEACONS)
    with watching(tmp_path, str(scene), *TINY) as live:
        live.slices(3000)
        assert live.trains.world.ticks > 20
        for each in live.trains.world.stored:
            if each.entity.startswith("@number"):
                each.array[...] = np.linspace(1.0, 1.7, len(each.array))  # no beacon is reached so soon
        live.hit("G")
        live.draw()
        theirs = live.trains.world.save_columns()
        fuel = theirs["drone/Tank/fuel"]
        arena = int(np.argmin(fuel))
        assert fuel[arena] < 1.15
        at = cells_of(live)[arena]
        live.answer(down(at), up(at))
        assert f"training arena {arena}" in live.show.caption
        ours, stage = live.state(), live.show.arena
        own = [key for key in theirs if key.startswith(("drone/Tank", "@number", "@memory"))]
        assert len(own) >= 6
        for key in own:
            assert ours[key][stage].tobytes() == theirs[key][arena].tobytes(), key
        live.draw()
        body = live.pixel("drone")
        live.answer(down(body), up(body))
        live.draw()
        rows = {name: value for name, value, _ in live.window.views["inspector"].rows}
        assert float(rows["Tank fuel"]) == pytest.approx(float(fuel[arena]), abs=0.01)
        assert {"Tank leak", "number beacon", "number reached"} <= rows.keys()
        live.show.tick()
        assert live.state()["drone/Tank/fuel"][stage] < fuel[arena]
        assert same(live.trains.world.save_columns(), theirs)


def test_in_the_grid_nothing_is_grabbed_and_nothing_zooms(live: Live) -> None:
    live.hit("G")
    live.draw()
    live.answer(down((300, 200)), moved((360, 200), (60, 0)), up((360, 200)), wheel(2))
    live.answer(down((300, 200), 3), moved((360, 200), (60, 0)), up((360, 200), 3))
    assert live.show.hand.role is None
    assert not live.show.touched
    assert live.window.stage.aim is None
    assert live.window.stage.grid is not None


# --- several panes ----------------------------------------------------------------------------------------------------


def test_with_several_shows_the_mouse_takes_the_body_of_the_pane_it_is_in(tmp_path: Path) -> None:
    with watching(tmp_path) as trained:
        while not trained.trains.done:
            trained.slices(20)
        trained.finish_what_was_asked()
        run = trained.trains.session.run
    assert run is not None
    with seeing(run.path, "--compare", "1000", "3000") as live:
        at = live.pixel("cart", show=1)
        live.answer(down(at), moved((at[0] + 20, at[1])))
        assert [show.hand.role for show in live.window.stage.shows] == [None, 0]
        live.answer(up((at[0] + 20, at[1])))
        assert [show.touched for show in live.window.stage.shows] == [False, True]
        assert [show.hand.role for show in live.window.stage.shows] == [None, None]
        point = live.metres(at, 1)
        live.answer(moved(at), wheel(3))
        live.draw()
        assert live.metres(at, 1) == pytest.approx(point, abs=1e-9)
        live.hit("P", "[", "D", "R", ",")
        assert "nothing else to choose" in live.said()
        live.frames(3)


# --- any size ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", SIZES, ids=lambda size: "x".join(map(str, size)))
def test_a_window_of_any_size_is_drawn_and_pixels_are_still_metres(live: Live, size: tuple[int, int]) -> None:
    live.hit("F1", "F3")
    for event in (pygame.WINDOWSIZECHANGED, pygame.WINDOWRESIZED):
        pygame.display.set_mode(size, pygame.RESIZABLE)
        live.answer(pygame.event.Event(event, x=size[0], y=size[1], window=None))
    assert live.window.stale
    live.frames(2)
    assert live.window.screen.size == size
    live.hit("F1", "F3", "G")
    live.frames(2)
    live.hit("G")
    live.frames(2)
    for point in ((0.0, 0.0), (1.3, 0.4), (-2.0, 1.0)):
        x, y = live.camera().pixel(point)
        corner = live.stage_region().rect
        found = live.metres((x + corner.x, y + corner.y), 0)
        assert found == pytest.approx(point, abs=1e-9)
    area = live.layout.stage
    assert area.collidepoint(live.pixel("cart"))


def test_a_zoomed_picture_stays_in_the_middle_when_the_window_changes_its_size(live: Live) -> None:
    live.answer(moved(live.pixel("cart")), wheel(4))
    live.draw()
    aim, camera = live.window.stage.aim, live.camera()
    assert aim is not None
    pygame.display.set_mode((900, 700), pygame.RESIZABLE)
    live.answer(pygame.event.Event(pygame.WINDOWRESIZED, x=900, y=700, window=None))
    live.draw()
    assert live.window.stage.aim == aim
    assert math.dist(live.camera().middle, camera.middle) > 10


# --- the mouse alone --------------------------------------------------------------------------------------------------


def gestures(pointer: Pointer, *events: pygame.event.Event) -> list[tuple[object, ...]]:
    """Return kind, pixel, zoom factor and move of each gesture, over a window without panels."""
    found = (gesture for event in events for gesture in pointer.gestures(event, Canvas()))
    return [(each.kind, each.hit.at, each.factor, each.by) for each in found]


def at(kind: str, pixel: tuple[int, int], factor: float = 1.0, by: tuple[int, int] = (0, 0)) -> tuple[object, ...]:
    return kind, pixel, factor, by


def test_a_press_that_hardly_moves_is_a_click_and_one_that_moves_is_a_drag() -> None:
    still = gestures(Pointer(), down((10, 10)), moved((10 + STEADY, 10)), up((14, 10)))
    assert still == [at("click", (10, 10))]
    far = (11 + STEADY, 10)
    dragged = gestures(Pointer(), down((10, 10)), moved(far), moved((40, 10)), up((40, 10)))
    assert dragged == [at("grab", (10, 10)), at("drag", far), at("drag", (40, 10)), at("drop", (40, 10))]


def test_both_buttons_do_their_own_thing() -> None:
    pointer = Pointer()
    both = (down((10, 10), 3), down((10, 10)), moved((30, 10), (20, 0)), up((30, 10), 3), moved((50, 10), (20, 0)))
    pan = at("pan", (30, 10), by=(20, 0))
    assert gestures(pointer, *both) == [pan, at("grab", (10, 10)), at("drag", (30, 10)), at("drag", (50, 10))]
    assert gestures(pointer, up((50, 10))) == [at("drop", (50, 10))]
    assert gestures(pointer, moved((60, 10)), up((60, 10)), down((1, 1), 2), up((1, 1), 2)) == []


def test_the_wheel_zooms_where_the_mouse_was_last() -> None:
    pointer = Pointer()
    assert gestures(pointer, moved((33, 44)), wheel(1), wheel(0)) == [at("zoom", (33, 44), NOTCH)]
    assert gestures(pointer, wheel(-2)) == [at("zoom", (33, 44), NOTCH**-2)]
