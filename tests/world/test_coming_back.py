"""Worlds with things that come and go are brought back by their own actions, to the last bit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from world_helpers import random_world, scene_of

from ecs_rl.components import ActionLog, Here, Snapshots
from ecs_rl.scene import Arena, Body, Choice, Disc, Levers, Pose, Push, Start, X, beyond
from ecs_rl.training.snapshots import restore_world, save_world

N = 4


def waiting(arena: Arena) -> None:
    """Three that are not there, whose start has a speed to the left."""
    arena.spawn("rock", Body(), Disc(0.3), Start(x=(3.0, 5.0, 7.0), vx=-1.0), count=3, here=False)


def driven(arena: Arena) -> None:
    """Three whose speed a system sets whether they are there or not; it says who is, too."""
    cars = arena.spawn("car", Body(moves="scripted"), Disc(0.3), Start(x=(3.0, 5.0, 7.0)), count=3)

    @arena.system(writes=(Pose, Here))
    def drive() -> None:
        cars.here[:, 1] = arena.placing.clock.tick % 10 > 5
        cars.vx = 0.5


def thrown_out(arena: Arena) -> None:
    """Agents that end one after the other."""
    balls = arena.spawn("ball", Body(), Disc(0.3), Start(x=(3.0, 5.0, 7.0), y=2.0), count=3)
    does = Levers(x=Push(balls, x=20.0))
    arena.agent(
        of=balls,
        name="balls",
        policy="balls",
        sees=[X(balls)],
        does=does,
        earns={"x": 1.0},
        ends={"far": beyond(X(balls), 8.0)},
    )


@pytest.mark.parametrize("add", [waiting, driven, thrown_out])
def test_a_world_whose_members_are_out_comes_back_from_its_snapshots(add: Callable[[Arena], None]) -> None:
    def build(arena: Arena) -> None:
        ship = arena.spawn("ship", Body(), Disc(0.5), Start(y=5.0))
        add(arena)
        does = Choice(stay=None, push=Push(ship, x=1.0))
        arena.agent(sees=[X(ship)], does=does, earns={"x": 0.0}, ends={"far": beyond(X(ship), 9.0)})

    def world() -> Any:
        return random_world(scene_of(build, max_ticks=17), N, resources=(ActionLog(is_on=True), Snapshots()))

    ran = world()
    for tick in range(60):
        ran.tick()
        if tick in (20, 37):
            ran.snapshot()
    saved, back = save_world(ran), world()
    restore_world(back, saved)  # refused where anything comes out otherwise
    assert all((saved["now"][key] == column).all() for key, column in back.save_columns().items())
