"""A world that starts over is as good as new: nothing of what was before is left anywhere."""

from __future__ import annotations

import numpy as np
import pytest
from world_helpers import SHIPPED, random_policies, states

from ecs_rl.components import Clock
from ecs_rl.loading import load_scene
from ecs_rl.world import World
from ecs_rl.worlds import make_world

SEEDS = tuple(range(900, 920))
MADE_ANEW = ("Explosion/0/now", "Explosion/0/any")
"""What no stage reads before the coming tick has worked it out."""


def driven(world: World, seed: int) -> World:
    """Let a random policy that begins anew drive the world."""
    for policy, choose in random_policies(world.scene, seed).items():
        world.drive(policy, choose)
    return world


@pytest.mark.parametrize("name", SHIPPED)
def test_a_world_that_starts_over_plays_bit_for_bit_as_a_new_one(name: str) -> None:
    scene = load_scene(name)
    used, new = (make_world(scene, arenas=len(SEEDS), seeds=SEEDS) for _ in range(2))
    beginning = new.save_columns()
    states(driven(used, 1), 300)
    assert used.one(Clock).episode.any()
    used.one(Clock).episode[:] = 0
    used.start_over()
    again = used.save_columns()
    assert again.keys() == beginning.keys()
    for key, column in beginning.items():
        if key not in MADE_ANEW:
            assert np.array_equal(again[key], column), key
    for world in (used, new):
        driven(world, 2)
    assert (states(used, 300) == states(new, 300)).all()
    for key, column in new.save_columns().items():
        assert np.array_equal(used.save_columns()[key], column), key
    assert used.one(Clock).episode.any()


@pytest.mark.parametrize("name", SHIPPED)
def test_without_new_physics_the_past_would_show(name: str) -> None:
    scene = load_scene(name)
    used, new = (make_world(scene, arenas=len(SEEDS), seeds=SEEDS) for _ in range(2))
    states(driven(used, 1), 300)
    used.one(Clock).episode[:] = 0
    respawn = used.stages["respawn"]
    respawn.begin_all()  # type: ignore[attr-defined]
    for world in (used, new):
        driven(world, 2)
    assert (states(used, 5) != states(new, 5)).any()
