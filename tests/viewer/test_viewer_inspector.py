"""A click finds the body that is meant, and the inspector tells what its components hold."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from readme_scenes import BEACONS
from viewer_views import HULL, LEG, body

from ecs_rl.components import Pose
from ecs_rl.loading import load_scene
from ecs_rl.scene import Arena, Body, Box, Disc, Levers, Push, Scene, Start, Touching, X, between
from ecs_rl.viewer.gather import Reader
from ecs_rl.viewer.objects import BodyId
from ecs_rl.viewer.panels.inspector import inspect
from ecs_rl.viewer.panels.stage import pick
from ecs_rl.viewer.view import StageView
from ecs_rl.world import World
from ecs_rl.worlds import make_world

STAGE = StageView(
    objects=(
        body("hull", (0.0, 3.0), 0.0, outlines=(HULL,)),
        body("leg", (0.4, 2.9), math.pi / 2, outlines=(LEG,)),
        body("ball", (4.0, 1.0), 0.3, discs=(Disc(0.5, (0.0, 0.5)),)),
        body("lost", (math.nan, 0.0), 0.0, outlines=(HULL,)),
    )
)


def test_a_point_inside_a_body_finds_it() -> None:
    assert pick(STAGE, (-0.3, 3.1), 0.0) == BodyId("hull")
    assert pick(STAGE, (4.0 - 0.5 * math.sin(0.3), 1.0 + 0.5 * math.cos(0.3)), 0.0) == BodyId("ball")


def test_of_two_bodies_the_smaller_one_wins() -> None:
    assert pick(STAGE, (0.2, 2.9), 0.1) == BodyId("leg"), "it lies across, inside the hull"


def test_outside_the_nearest_within_reach_is_found() -> None:
    assert pick(STAGE, (0.0, 3.62), 0.2) == BodyId("hull")
    assert pick(STAGE, (0.0, 3.62), 0.05) is None
    assert pick(STAGE, (3.1, 1.2), 0.9) == BodyId("ball")
    assert pick(StageView(), (0.0, 0.0), 9.0) is None


def _scene(arena: Arena) -> None:
    wind = arena.random("wind", between(2.0, 2.0))
    body = arena.spawn("body", Body(mass=2.0), Box(1.0, 1.0), Start(x=1.5, y=0.5, angle=0.0))
    arena.spawn("ghost", Body(spins=False), Disc(0.5), Start(x=-3.0, y=4.0, vx=3.0, vy=4.0))
    arena.wall((-9, 0), (9, 0))
    arena.agent(
        sees=[X(body), Touching(body, arena.ground)],
        does=Levers(push=Push(body, 4.0)),
        earns={"wind": lambda: wind.value},
    )


@pytest.fixture
def world() -> Iterator[World]:
    scene = Scene("inspected", 50, dt=0.02, name="inspected", reference="inspected", build=_scene)
    made = make_world(scene, arenas=2, policies={"policy": lambda seen, state: np.ones((2, 1), np.float32)})
    for _ in range(5):
        made.tick()
    yield made
    made.close()


def test_every_component_of_a_role_is_told_with_its_unit(world: World) -> None:
    view = inspect(world, 1, BodyId("body"))
    rows = {name: (value, unit) for name, value, unit in view.rows}
    assert view.title == "body"
    assert rows["Pose position"][1] == "m"
    assert rows["Force force"] == (" 4.00   0.00", "N")
    assert rows["mass"] == ("2.00", "kg")
    assert rows["Touch"] == ("ground", "")
    assert rows["Clock tick"] == ("5", "")
    assert rows["number wind"] == (" 2.00", "")


def test_a_scene_s_own_components_and_numbers_are_told_as_its_systems_leave_them(tmp_path: Path) -> None:
    path = tmp_path / "beacons.py"
    path.write_text(BEACONS)
    world = make_world(load_scene(str(path)), arenas=3, policies={"policy": lambda seen, state: np.arange(3)})
    for _ in range(10):
        world.tick()
    told = [{name: value for name, value, _ in inspect(world, arena, BodyId("drone")).rows} for arena in range(3)]
    fuel = [1.2 - 10 * 0.0005, *[1.2 - 10 * (0.0005 + 0.004)] * 2]  # the first one falls, the others burn
    assert [float(rows["Tank fuel"]) for rows in told] == pytest.approx(fuel, abs=0.01)
    assert told[0]["Tank fuel"] != told[1]["Tank fuel"]
    for rows in told:
        assert float(rows["Tank leak"]) == pytest.approx(0.0005, abs=0.01)
        assert (float(rows["number beacon"]), float(rows["number reached"])) == (2.0, 0.0)
    world.close()


def test_rows_keep_their_places_whatever_happens(world: World) -> None:
    before = [(name, unit) for name, _, unit in inspect(world, 0, BodyId("body")).rows]
    for _ in range(10):
        world.tick()
    assert [(name, unit) for name, _, unit in inspect(world, 0, BodyId("body")).rows] == before


def test_a_body_that_never_spins_and_one_that_is_lost_are_told_too(world: World) -> None:
    rows = {name: value for name, value, _ in inspect(world, 0, BodyId("ghost")).rows}
    assert rows["inertia"] == "never spins"
    assert rows["Touch"] == "nothing"
    world.of("ghost", Pose).position[0] = math.nan
    world.of("ghost", Pose).angle[0] = math.nan
    rows = {name: value for name, value, _ in inspect(world, 0, BodyId("ghost")).rows}
    assert rows["Pose position"] == "-  -"


def test_a_body_is_found_where_its_picture_is(world: World) -> None:
    stage = Reader(world).stage(0)
    assert pick(stage, (stage.objects[0].position[0, 0], 0.9), 0.0) == BodyId("body")
