"""What the agents decided is a column: it starts anew, is saved and brought back, and goes along with an arena."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from mixed_controls import MIXED
from numpy.typing import NDArray
from world_helpers import random_world, scene_of, sights

from ecs_rl.components import Action, ActionLog, Finished, Snapshots, Terms
from ecs_rl.errors import ActionError, CheckpointError
from ecs_rl.loading import load_scene
from ecs_rl.physics.physics import Physics
from ecs_rl.scene import Arena, Body, Choice, Controls, Disc, Feel, Push, Trigger, X
from ecs_rl.scene.scene import Scene
from ecs_rl.tasks.check import random_chooser
from ecs_rl.training.snapshots import Sections, restore_world, save_world
from ecs_rl.world import World
from ecs_rl.worlds import make_world

KEY = "@policy/policy/Action/value"


@pytest.fixture
def mixed(tmp_path: Path) -> Scene:
    path = tmp_path / "mixed.py"
    path.write_text(MIXED)
    return load_scene(str(path))


def logged(scene: Scene, seed: int = 3) -> World:
    """Return a world that keeps what a resume needs, and acts as a function of seed and tick."""
    world = make_world(scene, arenas=5, seed=seed, resources=(ActionLog(), Snapshots()))
    world.drive("policy", random_chooser(world.specs["policy"], seed, lambda: world.ticks))
    return world


def action(world: World) -> NDArray[np.float32]:
    return world.of(world.batches[0].entity, Action).value


def played(world: World, ticks: int) -> list[bytes]:
    """Return all that lasts after each of so many ticks."""
    found = []
    for _ in range(ticks):
        world.tick()
        found.append(b"".join(array.tobytes() for array in world.save_columns().values()))
    return found


def saved_at(world: World, ticks: int) -> Sections:
    for tick in range(ticks + 1):
        if tick in (0, 11, 23):
            world.snapshot()
        if tick < ticks:
            world.tick()
    return save_world(world)


def test_it_starts_anew_with_every_episode_and_only_there(mixed: Scene) -> None:
    world = random_world(mixed, 4)
    world.drive("policy", lambda seen, state: np.tile(np.array([2.0, 0.5, 1.0], np.float32), (4, 1)))
    fired = world.specs["policy"].observations.index("fired")
    for tick in range(1, 90):
        if tick == 15:
            world.engine_as(Physics).state[0, 1, [0, 3]] = 9.5  # the buggies of two arenas are out
            world.rebuild()
        world.tick()
        ended = np.zeros(4, bool)
        ended[world.one(Finished).rows] = True
        assert (action(world) == np.where(ended[:, None], 0.0, [2.0, 0.5, 1.0])).all()
        before, after = sights(world)
        assert (before.value[:, fired] == ~ended).all(), "the first sight of an episode is of nothing decided"
        assert (after.value[:, fired] == 1.0).all()
    world.close()


@pytest.mark.parametrize("ticks", [0, 5, 23, 47])
def test_it_is_brought_back_to_the_last_bit_and_goes_on_alike(mixed: Scene, ticks: int) -> None:
    world, other = logged(mixed), logged(mixed)
    saved = saved_at(world, ticks)
    assert saved["now"][KEY].shape == (5, 3)
    restore_world(other, saved)
    other.ticks = world.ticks
    assert action(other).tobytes() == action(world).tobytes()
    for each in (world, other):
        each.snapshot()
    assert played(other, 60) == played(world, 60)


def test_a_save_from_before_it_was_a_column_is_brought_back_as_well(mixed: Scene) -> None:
    world, other = logged(mixed), logged(mixed)
    saved = saved_at(world, 47)
    old = {name: {key: a for key, a in part.items() if key != KEY} for name, part in saved.items()}
    assert [len(saved[name]) - len(old[name]) for name in ("now", "snapshot", "earlier")] == [1, 1, 1]
    restore_world(other, old)
    other.ticks = world.ticks
    for each in (world, other):
        each.snapshot()
    assert played(other, 60) == played(world, 60)


def test_no_other_column_may_be_missing(mixed: Scene) -> None:
    world, other = logged(mixed), logged(mixed)
    saved = saved_at(world, 20)
    for columns in (saved["now"], saved["snapshot"], saved["earlier"]):
        del columns["@policy/policy/Amount/value"]
    with pytest.raises(CheckpointError, match="it differs in @policy/policy/Amount/value"):
        restore_world(other, saved)


def test_an_arena_that_is_copied_takes_along_what_was_decided(mixed: Scene) -> None:
    source, target = logged(mixed, 1), logged(mixed, 2)
    played(source, 7), played(target, 9)
    assert (action(target)[4] != action(source)[2]).any()
    kept = action(target)[:4].copy()
    target.copy_arena(source, 2, 4)
    assert (action(target)[4] == action(source)[2]).all()
    assert (action(target)[:4] == kept).all()


def test_agents_that_share_a_policy_start_anew_together_in_their_own_arena() -> None:
    def add(arena: Arena, name: str) -> None:
        disc, fire = arena.spawn(name, Body(), Disc(0.1)), Trigger()
        arena.agent(
            name=name,
            sees=[X(disc), Feel(f"{name} fired", lambda: fire.on)],
            does=Controls(go=Choice(left=Push(disc, -1.0), right=Push(disc, 1.0)), fire=fire),
            earns={"fired": lambda: fire.on},
        )

    def build(arena: Arena) -> None:
        for name in ("one", "two"):
            add(arena, name)

    world = random_world(scene_of(build, max_ticks=3), 2)
    world.drive("policy", lambda seen, state: np.array([[1, 0], [0, 1], [1, 1], [1, 0]], np.float32))
    rows = []
    for _ in range(4):
        world.tick()
        rows.append(action(world).tolist())
        now = world.one(Terms).now.tolist()
        assert now == [[0.0, 1.0], [1.0, 0.0]]
    taken = [[1, 0], [0, 1], [1, 1], [1, 0]]
    assert rows == [taken, taken, [[0, 0]] * 4, taken]
    world.close()


def test_an_action_that_is_none_is_told_by_control_agent_arena_and_tick(mixed: Scene) -> None:
    world = random_world(mixed, 3)
    good = np.array([[0, 0.5, 1]] * 3, np.float32)
    world.drive("policy", lambda seen, state: good)
    for _ in range(4):
        world.tick()
    bad, state = good.copy(), world.engine_as(Physics).state.copy()
    bad[2, 0] = 3.0
    world.drive("policy", lambda seen, state: bad)
    told = (
        "policy 'policy' set 'steer' of 'agent' to 3, not one of 0 to 2 \\(left, straight, right\\), "
        "in arena 2 at tick 5 of its episode"
    )
    with pytest.raises(ActionError, match=told):
        world.tick()
    assert (world.engine_as(Physics).state == state).all()
    assert (action(world) == good).all()
    world.close()
