"""Drag is exact and stable however long a tick is; tyres hold and slide; scenes without either pay nothing."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from physics_helpers import driven, role_of, scene_of

from ecs_rl.errors import SceneError
from ecs_rl.loading import load_scene
from ecs_rl.scene import Arena, Body, Box, Disc, Levers, Push, Role, Start, X
from ecs_rl.world import World

STILL = (0.0, 0.0)


def alone(body: Body, start: Start, *, arenas: int = 1, force: tuple[float, float] = STILL, **more: Any) -> World:
    """Return a world of one body that is pushed with this force, in weightlessness unless told otherwise."""

    def build(arena: Arena) -> None:
        box = arena.spawn("box", body, Box(1.0, 0.5), start)
        arena.agent(sees=[X(box)], does=Levers(p=Push(box, *force)), earns={"x": 1.0})

    scene = scene_of(build, **{"gravity": STILL, "extent": 1e4, **more})
    return driven(scene, arenas, np.ones((arenas, 1), np.float32))


def own_speeds(role: Role) -> tuple[float, float]:
    """Return how fast the role moves along and across its own axes."""
    cos, sin = role.heading[0]
    return float(cos * role.vx[0] + sin * role.vy[0]), float(cos * role.vy[0] - sin * role.vx[0])


@pytest.mark.parametrize("substeps", [1, 4])
@pytest.mark.parametrize("dt", [1 / 50, 1 / 4])
@pytest.mark.parametrize("drag", [0.05, 0.8, 6.0, 60.0])
def test_a_body_alone_keeps_its_speed_as_the_closed_form_says(drag: float, dt: float, substeps: int) -> None:
    world = alone(Body(mass=3.0, drag=drag, spin_drag=drag), Start(vx=8.0, vy=-6.0, spin=4.0), dt=dt, substeps=substeps)
    box = role_of(world, "box")
    for tick in range(1, 41):
        world.tick()
        kept = np.exp(-drag * dt * tick)
        assert (*box.velocity[0], box.spin[0]) == pytest.approx((8.0 * kept, -6.0 * kept, 4.0 * kept), 1e-9, 1e-12)


@pytest.mark.parametrize("dt", [1 / 50, 1.0])
def test_a_body_that_falls_and_is_pushed_comes_to_the_speed_at_which_drag_holds_it(dt: float) -> None:
    drag = 5.0
    world = alone(Body(mass=2.0, drag=drag), Start(), force=(3.0, 0.0), gravity=(0.0, -9.81), dt=dt)
    box = role_of(world, "box")
    for tick in range(1, 301):
        world.tick()
        reached = 1.0 - np.exp(-drag * dt * tick)
        assert box.velocity[0] == pytest.approx(np.array((1.5, -9.81)) / drag * reached)


@pytest.mark.parametrize("past", [2.1, 50.0, 1e6])
def test_drag_never_turns_a_speed_round_however_strong_it_is(past: float) -> None:
    body = Body(drag=(past * 50, past * 25), spin_drag=past * 50)
    world = alone(body, Start(vx=5.0, vy=3.0, spin=-2.0, angle=0.6))
    box = role_of(world, "box")
    last = np.array((*own_speeds(box), -box.spin[0]))
    for _ in range(20):
        world.tick()
        now = np.array((*own_speeds(box), -box.spin[0]))
        assert (np.abs(now) <= np.abs(last) + 1e-12).all()
        last = now
    assert last == pytest.approx(np.zeros(3), abs=1e-6)


def test_two_drags_are_along_and_across_the_bodys_own_axes() -> None:
    world = alone(Body(drag=(0.5, 4.0)), Start(vx=3.0, vy=2.0, angle=0.9))
    box = role_of(world, "box")
    along, across = own_speeds(box)
    for _ in range(50):
        world.tick()
    assert own_speeds(box) == pytest.approx((along * np.exp(-0.5), across * np.exp(-4.0)), 1e-9)
    assert box.spin[0] == 0.0


def test_a_tyre_slides_by_its_grip_until_it_holds_and_never_swings_back() -> None:
    world = alone(Body(mass=2.0, drag=(0.0, 40.0), grip=6.0), Start(vx=1.0, vy=3.0))
    box = role_of(world, "box")
    seen = []
    for _ in range(80):
        world.tick()
        seen.append(box.velocity[0].copy())
    across = np.array(seen)[:, 1]
    sliding = across > 0.2  # below, what it may lose in a tick is less than its grip takes
    assert np.diff(across[sliding]) == pytest.approx(np.full(sliding.sum() - 1, -6.0 / 2.0 / 50))
    assert (across >= 0.0).all()
    assert across[-1] == pytest.approx(0.0, abs=1e-9)
    assert np.array(seen)[:, 0] == pytest.approx(np.ones(80))


@pytest.mark.parametrize(("grip", "follows"), [(200.0, True), (2.0, False)])
def test_a_car_goes_where_it_points_while_its_tyres_hold(grip: float, follows: bool) -> None:
    world = alone(Body(drag=(0.0, 30.0), grip=grip), Start(vx=10.0, spin=1.5))
    box = role_of(world, "box")
    for _ in range(50):
        world.tick()
    slip = abs(np.arctan2(box.vy[0], box.vx[0]) - box.angle[0])
    assert bool(slip < 0.1) is follows
    assert follows or slip > 1.0


def test_drag_is_of_the_roles_that_have_it_and_of_no_others() -> None:
    def build(arena: Arena) -> None:
        free = arena.spawn("free", Body(), Disc(0.1), Start(vx=1.0))
        for i, body in enumerate((Body(drag=1.0), Body(mass=2.0, drag=(2.0, 3.0)), Body(mass=3.0, spin_drag=4.0)), 1):
            arena.spawn(f"slow {i}", body, Disc(0.1), Start(y=i, vx=1.0, spin=float(i == 3)))
        arena.agent(sees=[X(free)], does=Levers(p=Push(free)), earns={"x": 1.0})

    world = driven(scene_of(build, gravity=STILL), 3, np.zeros((3, 1), np.float32))
    for _ in range(50):
        world.tick()
    assert [role.vx[0] for role in world.arena.roles] == pytest.approx([1.0, np.exp(-1.0), np.exp(-2.0), 1.0])
    assert [role.spin[2] for role in world.arena.roles] == pytest.approx([0.0, 0.0, 0.0, np.exp(-4.0)])


def test_a_body_that_cannot_spin_has_drag_all_the_same() -> None:
    world = alone(Body(spins=False, drag=2.0, spin_drag=3.0), Start(vx=1.0))
    world.tick()
    assert role_of(world, "box").vx[0] == pytest.approx(np.exp(-0.04))
    assert role_of(world, "box").spin[0] == 0.0


def test_a_scene_without_drag_has_no_pass_for_it() -> None:
    world = driven(load_scene("balance"), 2, np.zeros(2, int))
    actuate: Any = world.stages["actuate"]
    assert actuate.drag is None
    actuate = alone(Body(drag=0.1), Start()).stages["actuate"]
    assert actuate.drag is not None


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"drag": -0.1}, "drag, one number or .along, across., must not be negative"),
        ({"drag": (1.0, float("nan"))}, "drag, one number or .along, across., must be a finite number"),
        ({"drag": (1.0, 2.0, 3.0)}, "drag, one number or .along, across., must be a finite number"),
        ({"drag": "much"}, "drag, one number or .along, across., must be a finite number"),
        ({"spin_drag": -1.0}, "spin_drag must not be negative"),
        ({"drag": (1.0, 2.0), "grip": 0.0}, "grip must be above zero"),
        ({"drag": 1.0, "grip": 3.0}, "grip limits drag across the body: say drag=.along, across."),
    ],
)
def test_drag_that_makes_no_sense_is_refused(more: dict[str, Any], message: str) -> None:
    with pytest.raises(SceneError, match=message):
        Body(**more)
