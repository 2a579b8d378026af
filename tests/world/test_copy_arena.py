"""An arena of one world goes on in another world of the same scene: `copy_arena`.

Where the physics remembers nothing (no joints, no contacts) both go on bit for bit alike, and so do jointed bodies if
the source's physics is made anew in the same moment. Otherwise joints begin without the pushes that held them, which
makes less than a micrometre, and it fades; where things collide, arenas also stand in different places of their Space,
so the last bits differ always.
"""

from __future__ import annotations

import numpy as np
import pytest
from world_helpers import SHIPPED, random_choice, random_world, role_of, scene_of, states

from ecs_rl.arrays import F64
from ecs_rl.components import Chance, Clock, Ground, Observation, Reward, Terms, Touch
from ecs_rl.loading import load_scene
from ecs_rl.physics.physics import Physics
from ecs_rl.scene import Arena, Body, Choice, Disc, Push, Start, X, Y, jitter
from ecs_rl.scene.rules import Grown
from ecs_rl.scene.scene import Scene
from ecs_rl.world import DecideAction, World

ONE, OTHER = 3, 1
"""The arena that is copied, of five, and the one that it takes the place of, of four."""
JOINTED = ("balance", "swingup")
CHAOTIC = ("walker",)
"""Where the trace that joints and contacts keep of what was before soon makes a difference that can be seen."""


def falling(arena: Arena) -> None:
    disc = arena.spawn("disc", Body(), Disc(0.1), Start(x=jitter(1.0), vx=jitter(1.0)))
    arena.agent(
        sees=[X(disc), Y(disc)],
        does=Choice(left=Push(disc, -5.0), right=Push(disc, 5.0)),
        earns={"x": X(disc)},
    )


def copied(scene: Scene, ticks: int, *, anchored: bool = False) -> tuple[World, World]:
    """Return a world and another one, into which an arena of the first was copied while both were on their way."""
    source, target = random_world(scene, 5, seed=1), random_world(scene, 4, seed=7)
    states(source, ticks)
    states(target, 33)
    target.copy_arena(source, ONE, OTHER)
    target.rebuild()
    if anchored:
        source.rebuild()
    for world in (source, target):
        drive_alike(world)
    return source, target


def drive_alike(world: World) -> None:
    """Let every arena do the same from here on, at random."""
    for name in world.specs:
        world.drive(name, the_same_for_all(world, name))


def the_same_for_all(world: World, name: str) -> DecideAction:
    choose = random_choice(world.specs[name], np.random.default_rng(5))
    return lambda seen, state: np.repeat(np.asarray(choose(seen[:1], state)), len(seen), axis=0)


def apart(source: World, target: World, ticks: int) -> tuple[F64, F64]:
    """Return by how much the two arenas differ after each tick, in their bodies and in what they earn."""
    moved, earned = [], []
    for _ in range(ticks):
        source.tick()
        target.tick()
        moved.append(
            np.abs(source.engine_as(Physics).state[:, :, ONE] - target.engine_as(Physics).state[:, :, OTHER]).max()
        )
        rewards = [world.of(world.batches[0].entity, Reward).value for world in (source, target)]
        earned.append(abs(float(rewards[0][ONE]) - float(rewards[1][OTHER])))
    return np.array(moved), np.array(earned)


@pytest.mark.parametrize("ticks", [0, 20, 150])
@pytest.mark.parametrize("name", SHIPPED)
def test_a_copied_arena_stands_where_the_other_one_stands(name: str, ticks: int) -> None:
    source, target = copied(load_scene(name), ticks)
    assert (target.engine_as(Physics).state[:, :, OTHER] == source.engine_as(Physics).state[:, :, ONE]).all()
    seen, shown = (world.of(world.batches[0].entity, Observation).value for world in (source, target))
    assert (shown[OTHER] == seen[ONE]).all()
    for kind, field in ((Clock, "tick"), (Clock, "episode"), (Chance, "key"), (Chance, "uniform"), (Touch, "pairs")):
        assert np.array_equal(getattr(target.one(kind), field)[OTHER], getattr(source.one(kind), field)[ONE]), field
    assert (target.one(Ground).segments[OTHER] == source.one(Ground).segments[ONE]).all()
    for (mine,), (theirs,) in zip(target.each(Grown), source.each(Grown), strict=True):
        assert (mine.last[OTHER], mine.by[OTHER]) == (theirs.last[ONE], theirs.by[ONE])
    assert (target.one(Terms).total[:, OTHER] == source.one(Terms).total[:, ONE]).all()


@pytest.mark.parametrize("ticks", [20, 60, 150])
@pytest.mark.parametrize("name", [name for name in SHIPPED if name not in CHAOTIC])
def test_both_go_on_nearly_alike_also_into_the_next_episodes(name: str, ticks: int) -> None:
    source, target = copied(load_scene(name), ticks)
    moved, earned = apart(source, target, 60)
    assert moved.max() < 1e-5
    assert earned.max() < 1e-5
    assert target.one(Clock).episode[OTHER] == source.one(Clock).episode[ONE]
    assert target.one(Clock).tick[OTHER] == source.one(Clock).tick[ONE]


@pytest.mark.parametrize("name", JOINTED)
def test_jointed_bodies_go_on_bit_for_bit_if_both_physics_are_made_anew(name: str) -> None:
    source, target = copied(load_scene(name), 60, anchored=True)
    moved, earned = apart(source, target, 60)
    assert moved.max() == earned.max() == 0.0


@pytest.mark.parametrize("name", CHAOTIC)
def test_the_chaotic_go_on_nearly_alike_if_both_physics_are_made_anew(name: str) -> None:
    source, target = copied(load_scene(name), 60, anchored=True)
    moved, earned = apart(source, target, 30)
    assert moved.max() < 1e-6
    assert earned.max() < 1e-6


def test_bodies_without_joints_and_contacts_go_on_bit_for_bit() -> None:
    source, target = copied(scene_of(falling, max_ticks=40), 20)
    for world in (source, target):
        assert not world.one(Touch).pairs.any()
    assert not target.engine_as(Physics).arena.joints
    before = role_of(target, "disc").x[OTHER].copy()
    moved, earned = apart(source, target, 60)
    assert role_of(target, "disc").x[OTHER] != before
    assert moved.max() == earned.max() == 0.0


@pytest.mark.parametrize("name", SHIPPED)
def test_the_other_arenas_of_the_target_are_not_disturbed(name: str) -> None:
    scene = load_scene(name)
    source, target, control = (random_world(scene, 4, seed) for seed in (1, 7, 7))
    for world in (source, target, control):
        states(world, 33)
    target.copy_arena(source, ONE, OTHER)
    others = [row for row in range(4) if row != OTHER]
    for world in (target, control):
        world.rebuild()
        drive_alike(world)
    for seen, expected in zip(states(target, 60), states(control, 60), strict=True):
        assert (seen[:, :, others] == expected[:, :, others]).all()
    for kind, field in ((Clock, "tick"), (Clock, "episode"), (Chance, "key")):
        assert (getattr(target.one(kind), field)[others] == getattr(control.one(kind), field)[others]).all()
