"""A rule that compares can be read, gives the numbers that numpy gives, and lets sensors work inside it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from ecs_rl.components import Finished
from ecs_rl.scene import (
    Arena,
    Body,
    Choice,
    Disc,
    Lasting,
    Push,
    Scene,
    Sensor,
    Start,
    Touching,
    X,
    above,
    below,
    beyond,
)
from ecs_rl.worlds import make_world

NUMBERS = np.array([-3.0, -2.5, -1.0, 0.0, 1.0, 2.5, 3.0, np.nan, np.inf, -np.inf])


@pytest.mark.parametrize("kind", [np.float64, np.float32])
@pytest.mark.parametrize("limit", [2.5, 1, 0.1, -1.0])
def test_what_lies_past_a_limit_is_what_numpy_says(kind: type, limit: float) -> None:
    numbers: NDArray[Any] = NUMBERS.astype(kind)
    for rule, wanted in (
        (beyond(lambda: numbers, limit), np.abs(numbers) > limit),
        (below(lambda: numbers, limit), numbers < limit),
        (above(lambda: numbers, limit), numbers > limit),
    ):
        assert rule().dtype == bool
        assert np.array_equal(rule(), wanted)


def test_a_plain_number_and_a_list_are_compared_too() -> None:
    assert beyond(lambda: -3, 2.0)()
    assert not below(lambda: 3, 2.0)()
    assert above(lambda: [1, 3], 2.0)().tolist() == [False, True]


def test_a_comparison_tells_what_it_compares_and_with_which_limit() -> None:
    def rule() -> float:
        return 0.0

    made = beyond(rule, 2.4), below(rule, 1), above(rule, -1.0)
    assert [one.name for one in made] == ["beyond", "below", "above"]
    assert [(one.rule, one.limit) for one in made] == [(rule, 2.4), (rule, 1), (rule, -1.0)]
    assert beyond(rule, 2.4) != made[0], "two rules are never the same one"
    with pytest.raises(AttributeError):
        made[0].limit = 3.0  # type: ignore[misc]


def _falling(arena: Arena) -> None:
    disc = arena.spawn("disc", Body(), Disc(0.1), Start(x=0.0, vx=1.0))
    arena.agent(
        sees=[X(disc)],
        does=Choice(left=Push(disc, -1.0), coast=None),
        earns={"x": X(disc)},
        ends={"out": beyond(X(disc), 0.1), "long out": Lasting(above(X(disc), 0.05), ticks=3)},
    )


def test_a_sensor_inside_a_comparison_needs_no_word_of_its_own() -> None:
    scene = Scene(about="", max_ticks=50, gravity=(0.0, 0.0), build=_falling)
    known = scene.describe().used
    assert [rule.names if isinstance(rule, Sensor) else type(rule) for rule in known] == [("disc x",)] * 2 + [Lasting]
    world = make_world(scene, arenas=2, policies={"policy": lambda seen, state: np.ones(len(seen), int)})
    disc, reached = world.arena.roles[0], 0.0
    for _ in range(8):
        world.tick()
        reached = max(reached, float(disc.x.max()))
    world.close()
    assert 0.05 < reached < 0.13


def test_a_touch_is_known_to_its_arena_wherever_a_rule_looks_at_it() -> None:
    def build(arena: Arena) -> None:
        disc = arena.spawn("disc", Body(), Disc(0.1))
        arena.wall((-5.0, -1.0), (5.0, -1.0))
        does = Choice(left=Push(disc, -1.0), coast=None)
        arena.agent(sees=[X(disc)], does=does, earns={"x": 1.0}, ends={"hit": above(Touching(disc), 0.5)})

    nobody = {"policy": lambda seen, state: np.ones(len(seen), int)}
    world = make_world(Scene(about="", max_ticks=500, build=build), arenas=2, policies=nobody)
    while not len(world.one(Finished).arena):
        world.tick()
    assert 10 < world.ticks < 100
    world.close()
