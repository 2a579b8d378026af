"""What the sensors write: alone, side by side, for one and for the members of a kind."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from world_helpers import random_world, scene_of, sights

from ecs_rl.errors import RuleError
from ecs_rl.scene import (
    Angle,
    Arena,
    Body,
    Disc,
    Feel,
    Feels,
    Heading,
    Levers,
    Push,
    Sensor,
    Spin,
    Start,
    Vx,
    Vy,
    X,
    Y,
    jitter,
)
from ecs_rl.world import World

N = 4


def seeing(see: Any, *, count: int | None = None, of: bool = False) -> World:
    """Return a world whose agent sees what `see` makes of two roles, the first of a kind where there is a count."""

    def build(arena: Arena) -> None:
        start = Start(x=jitter(3.0), y=jitter(3.0), angle=jitter(3.0), vx=jitter(1.0), vy=jitter(1.0), spin=jitter(1.0))
        one = arena.spawn("one", Body(solid=False), Disc(0.1), start, count=count)
        other = arena.spawn("other", Body(solid=False), Disc(0.1), start)
        does = Levers(p=Push(one if of else other, x=1.0))
        arena.agent(sees=see(one, other), does=does, earns={"x": 1.0}, of=one if of else None)

    return random_world(scene_of(build, gravity=(0.0, 0.0)), N)


def test_columns_that_stand_side_by_side_are_written_as_each_alone() -> None:
    made: list[Sensor] = []

    def see(one: Any, other: Any) -> list[Sensor]:
        kinds = enumerate((X, Y, Vx, Vy, Angle, Spin))
        columns = [kind(role, 0.1 * i + 0.3) for i, kind in kinds for role in (one, other)]
        made[:] = [*columns[:5], Heading(other), *columns[5:], Feel("own", lambda: one.x), Feel("too", lambda: one.y)]
        return made

    world = seeing(see)
    world.tick()
    seen, alone = sights(world)[1].value, np.zeros((N, 16), np.float32)
    first = 0
    for sensor in made:
        last = first + len(sensor.names)
        sensor.write(alone[:, first:last])
        first = last
    assert first == 16
    assert seen.tobytes() == alone.tobytes()


def test_a_rule_may_give_several_numbers() -> None:
    world = seeing(lambda one, other: [Feels(("east", "north"), lambda: one.position, 0.5), X(one)])
    world.tick()
    one = world.arena.roles[0]
    assert world.batches[0].spec.observations == ("east", "north", "one x")
    assert np.array_equal(sights(world)[1].value[:, :2], (0.5 * one.position).astype(np.float32))


@pytest.mark.parametrize(
    "rule",
    [lambda one: one.x, lambda one: np.zeros((N, 3)), lambda one: None, lambda one: 1.0, lambda one: [[1.0, 2.0]] * N],
    ids=["one number", "three", "none", "a number for all", "lists"],
)
def test_a_rule_that_gives_another_count_of_numbers_is_refused(rule: Any) -> None:
    with pytest.raises(RuleError, match=r"the sensor 'east' must give 2 numbers per arena, \(4, 2\), not"):
        seeing(lambda one, other: [Feels(("east", "north"), lambda: rule(one))])


def test_every_sensor_gives_the_members_of_a_kind_their_own_and_shares_what_is_one() -> None:
    def see(one: Any, other: Any) -> list[Sensor]:
        return [
            *(X(one, 0.5), Heading(one), Heading(other), Spin(other)),
            Feels(("east", "north"), lambda: one.velocity),
            Feels(("there", "up"), lambda: other.velocity),
        ]

    world = seeing(see, count=3, of=True)
    world.tick()
    one, other = world.arena.roles
    seen = sights(world)[1].value.reshape(3, N, -1).swapaxes(0, 1)
    shared = (other.heading[..., ::-1], other.spin[:, None], other.velocity)
    every = [np.broadcast_to(each[:, None], (N, 3, each.shape[-1])) for each in shared]
    wanted = [0.5 * one.x[..., None], one.heading[..., ::-1], every[0], every[1], one.velocity, every[2]]
    assert np.array_equal(seen, np.concatenate(wanted, axis=-1).astype(np.float32))
