"""The camera turns metres to pixels and back."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ecs_rl.viewer.camera import FARTHEST, NEAREST, Camera

METRES = st.floats(-1e3, 1e3)
CAMERAS = st.builds(
    Camera, st.tuples(METRES, METRES), st.floats(FARTHEST, NEAREST), st.tuples(st.floats(0, 4000), st.floats(0, 2200))
)


@given(CAMERAS, METRES, METRES)
def test_a_point_comes_back_from_its_pixel(camera: Camera, x: float, y: float) -> None:
    assert camera.metres(camera.pixel((x, y))) == pytest.approx((x, y), abs=1e-6)


@given(CAMERAS, METRES, METRES)
def test_many_points_go_where_each_one_goes(camera: Camera, x: float, y: float) -> None:
    assert camera.pixels(np.array(((x, y),)))[0].tolist() == pytest.approx(camera.pixel((x, y)))


def test_up_is_up() -> None:
    camera = Camera((0, 0), 10, (100, 100))
    assert camera.pixel((1, 2)) == (110, 80)


@given(CAMERAS, st.floats(0.1, 10), st.floats(0, 1000), st.floats(0, 1000))
def test_zooming_keeps_the_point_at_the_cursor(camera: Camera, factor: float, x: float, y: float) -> None:
    away = x - camera.middle[0], y - camera.middle[1]
    zoomed = camera.aimed(camera.aim.zoomed(factor, away))
    assert zoomed.metres((x, y)) == pytest.approx(camera.metres((x, y)), abs=1e-5)
    assert FARTHEST <= zoomed.zoom <= NEAREST


@given(CAMERAS, st.floats(-500, 500), st.floats(-500, 500))
def test_dragging_moves_the_picture_with_the_mouse(camera: Camera, dx: float, dy: float) -> None:
    before = camera.pixel((1.0, 2.0))
    after = camera.aimed(camera.aim.panned((dx, dy))).pixel((1.0, 2.0))
    assert after == pytest.approx((before[0] + dx, before[1] + dy), abs=1e-4)


def test_fitting_shows_all_corners_and_uses_the_room() -> None:
    camera = Camera.fit(((-2, -1), (4, 3)), (10, 20, 600, 300), margin=10)
    corners = camera.pixels(np.array(((-2.0, -1.0), (4.0, 3.0))))
    assert (corners[:, 0] >= 20).all()
    assert (corners[:, 0] <= 600).all()
    assert corners[0, 1] == pytest.approx(310)
    assert corners[1, 1] == pytest.approx(30)


def test_fitting_bounds_without_extent_works() -> None:
    assert Camera.fit(((1, 1), (1, 1)), (0, 0, 100, 100)).zoom == NEAREST
