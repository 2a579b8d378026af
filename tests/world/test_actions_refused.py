"""What no arena can carry out stops with an ActionError, and the world goes on with the next good action."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from world_helpers import random_choice, random_world

from ecs_rl.components import Explosion
from ecs_rl.errors import ActionError
from ecs_rl.physics.physics import Physics

CHOICES: list[tuple[str, Any, str]] = [
    ("too few rows", np.zeros(3, int), "must choose"),
    ("too many rows", np.zeros(5, int), "must choose"),
    ("a column", np.zeros((4, 1), int), "must choose"),
    ("one number", np.int64(1), "must answer"),
    ("no dimension", np.array(1), "must choose"),
    ("floats", np.zeros(4), "must choose"),
    ("NaN", np.full(4, np.nan), "must choose"),
    ("truth values", np.zeros(4, bool), "must choose"),
    ("texts", np.array(list("abcd")), "must choose"),
    ("a list", [0, 1, 0, 1], "must answer with an array, not a list"),
    ("nothing", None, "must answer with an array, not a NoneType"),
    ("one too many", np.array([0, 1, 2, 0]), "chose 0..2 of 2"),
    ("a negative one", np.array([0, -1, 1, 0]), "chose -1..1 of 2"),
    ("a small type's negative one", np.array([0, -1, 1, 0], np.int8), "chose -1..1 of 2"),
    ("a huge one", np.array([0, 2**62, 1, 0]), "of 2"),
]
LEVERS: list[tuple[str, Any, str]] = [
    ("too few rows", np.zeros((3, 1), np.float32), "must set"),
    ("no column", np.zeros(4, np.float32), "must set"),
    ("two columns", np.zeros((4, 2), np.float32), "must set"),
    ("whole numbers", np.zeros((4, 1), int), "must set"),
    ("NaN", np.array([[0.0], [np.nan], [0.0], [0.0]], np.float32), "not a finite number"),
    ("infinity", np.array([[0.0], [np.inf], [0.0], [0.0]], np.float32), "not a finite number"),
    ("objects", np.full((4, 1), None), "must set"),
    ("a list", [[0.0]] * 4, "must answer with an array"),
]
ALL = [("balance", *row) for row in CHOICES] + [("swingup", *row) for row in LEVERS]


@pytest.mark.parametrize(("scene", "what", "action", "message"), ALL, ids=[f"{row[0]} {row[1]}" for row in ALL])
def test_an_action_that_no_arena_can_carry_out_is_refused(scene: str, what: str, action: Any, message: str) -> None:
    world = random_world(scene, 4)
    good = random_choice(world.specs["policy"], np.random.default_rng(0))
    world.tick()
    before = world.engine_as(Physics).state.copy()
    world.drive("policy", lambda seen, state: action)
    with pytest.raises(ActionError, match=f"policy 'policy' .*{message}"):
        world.tick()
    assert (world.engine_as(Physics).state == before).all()  # nothing of it has reached the physics
    world.drive("policy", good)
    for _ in range(5):
        world.tick()
    assert world.one(Explosion).count == 0


@pytest.mark.parametrize("kind", [np.int8, np.uint8, np.int32, np.int64, np.uint64])
def test_every_type_of_whole_number_chooses(kind: type) -> None:
    world = random_world("balance", 2)
    start = world.engine_as(Physics).state[3, 0].copy()
    world.drive("policy", lambda seen, state: np.array([0, 1], kind))
    world.tick()
    assert world.engine_as(Physics).state[3, 0, 0] < start[0]
    assert world.engine_as(Physics).state[3, 0, 1] > start[1]


def test_levers_beyond_their_ends_count_as_their_ends() -> None:
    beyond, ends = random_world("swingup", 2), random_world("swingup", 2)
    beyond.drive("policy", lambda seen, state: np.array([[7.0], [-1e30]], np.float32))
    ends.drive("policy", lambda seen, state: np.array([[1.0], [-1.0]], np.float32))
    for _ in range(10):
        beyond.tick()
        ends.tick()
    assert (beyond.engine_as(Physics).state == ends.engine_as(Physics).state).all()


def test_a_world_that_nobody_drives_says_so() -> None:
    from ecs_rl.errors import SceneError
    from ecs_rl.loading import load_scene
    from ecs_rl.worlds import make_world

    with pytest.raises(SceneError, match="nobody drives"):
        make_world(load_scene("balance"), arenas=2).tick()
