"""Mouse and keys work on top of a picture that follows something."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

import pytest
from live_windows import TINY, Live, down, moved, up, watching, wheel

from ecs_rl.viewer.objects import BodyId

SCENE = """
from ecs_rl.scene import *

SCENE = Scene(about="A ship flies on.", max_ticks=400, gravity=(0, 0), camera=Follow("ship", width=16), extent=500)


def build(arena):
    ship = arena.spawn("ship", Body(mass=1.0), Disc(0.5), Start(x=jitter(50.0), vx=10.0))
    rock = arena.spawn("rock", Body(mass=1.0), Disc(0.3), Start(x=200.0))
    arena.mark("finish", ((100, -5), (100, 5)))
    arena.agent(sees=[X(ship)], does=Choice(left=Push(ship, -0.1), right=Push(ship, 0.1)), earns={"x": X(ship)})
"""


@pytest.fixture
def live(tmp_path: Path) -> Iterator[Live]:
    (tmp_path / "ship.py").write_text(SCENE)
    with watching(tmp_path, str(tmp_path / "ship.py"), *TINY) as opened:
        opened.slices(40)
        yield opened


def test_a_zoomed_and_moved_picture_goes_on_following_until_home_is_pressed(live: Live) -> None:
    live.draw()
    at = live.pixel("ship")
    cursor = (at[0] + 80, at[1] + 40)
    point = live.metres(cursor, 0)
    live.answer(moved(cursor), wheel(3))
    assert live.metres(cursor, 0) == pytest.approx(point, abs=1e-9)
    live.answer(down(cursor, 3), moved((cursor[0] + 30, cursor[1]), (30, 0)), up((cursor[0] + 30, cursor[1]), 3))
    assert live.metres((cursor[0] + 30, cursor[1]), 0) == pytest.approx(point, abs=1e-9)
    live.draw()
    camera, before = live.window.stage.aim, live.pixel("ship")
    assert camera is not None
    for _ in range(100):
        live.show.tick()
    live.draw()
    assert live.window.stage.aim == camera
    assert live.stage.focus[0] > 15.0 + point[0] - 8.0
    assert math.dist(live.pixel("ship"), before) < 4.0 * camera.zoom, "what it lags behind at 10 m/s"
    live.hit("Home")
    assert live.window.stage.aim is None
    live.draw()
    assert live.camera().zoom == pytest.approx(live.layout.stage.w / 16)


def test_a_body_is_found_and_pulled_where_it_is_seen(live: Live) -> None:
    for _ in range(60):
        live.show.tick()
    live.draw()
    at = live.pixel("ship")
    find = live.stage_region().find
    assert find is not None
    assert find(live.metres(at)) == BodyId("ship")
    live.answer(down(at), moved((at[0] - 60, at[1] + 30), (-60, 30)))
    hand, ship = live.show.hand, live.show.world.arena.roles[0]
    assert hand.to == pytest.approx(live.metres((at[0] - 60, at[1] + 30), 0))
    assert math.dist(hand.at, (0.0, 0.0)) < 0.25, "a tick of its flight from its middle"
    live.draw()
    speed, focus = float(ship.vx[live.show.arena]), live.stage.focus
    for _ in range(5):
        live.show.tick()
    assert ship.vx[live.show.arena] < speed - 1.0
    live.draw()
    assert live.stage.focus == focus, "the point under the mouse stays"
    live.answer(up((at[0] - 60, at[1] + 30)))
    for _ in range(100):
        live.show.tick()
    live.draw()
    assert live.layout.stage.collidepoint(live.pixel("ship"))


def test_the_grid_of_the_training_follows_too_and_a_click_brings_its_arena_to_the_stage(live: Live) -> None:
    live.hit("G")
    live.draw()
    grid = live.window.views.get("grid")
    assert grid is not None
    assert grid.focus is not None
    assert (grid.focus == live.trains.world.arena.roles[0].position).all()
    live.hit("]", "Enter")
    live.draw()
    assert live.stage.focus == tuple(grid.focus[1].tolist())
