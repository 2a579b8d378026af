"""An arena whose physics goes astray is cut, counted and started again, and nobody else notices."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from world_helpers import SHIPPED, SMALL_PPO, always, random_world, scene_of, sights, states

from ecs_rl.components import Clock, Done, EpisodeEnd, Explosion, Finished, Reward
from ecs_rl.errors import SceneError
from ecs_rl.loading import load_scene
from ecs_rl.physics.physics import Physics
from ecs_rl.scene import Arena, Body, Disc, Levers, Push, Spin, Twist, X
from ecs_rl.spaces import Experience
from ecs_rl.training.evaluator import play_episodes
from ecs_rl.training.prepare import prepare
from ecs_rl.training.settings import TrainingSettings
from ecs_rl.world import World
from ecs_rl.worlds import make_world

VICTIM = 2


def poison(world: World, arena: int = VICTIM, value: float = np.nan, field: int = 0, role: int = 0) -> None:
    world.engine_as(Physics).state[field, role, arena] = value
    world.engine_as(Physics).put(np.array([arena]))


BAD = [(np.nan, 0), (np.nan, 5), (np.inf, 3), (1e200, 0), (-1e200, 4)]


@pytest.mark.parametrize(("value", "field"), BAD)
@pytest.mark.parametrize("name", SHIPPED)
def test_an_explosion_is_cut_counted_and_starts_again_with_finite_numbers(name: str, value: float, field: int) -> None:
    world = random_world(name, 6)
    for _ in range(5):
        world.tick()
    episode = int(world.one(Clock).episode[VICTIM])
    poison(world, value=value, field=field)
    world.tick()
    explosion, ending = world.one(Explosion), world.one(EpisodeEnd)
    assert explosion.now.tolist() == [False, False, True, False, False, False]
    assert explosion.count == 1
    assert VICTIM in world.one(Finished).rows.tolist()
    assert not ending.terminated[VICTIM]
    assert not ending.truncated[VICTIM]
    assert world.one(Clock).episode[VICTIM] == episode + 1
    assert np.isfinite(states(world, 20)).all()
    assert explosion.count == 1  # the new episode is sound
    assert not explosion.now.any()


@pytest.mark.parametrize(("value", "field"), BAD)
@pytest.mark.parametrize("name", SHIPPED)
def test_other_arenas_do_not_notice_an_explosion(name: str, value: float, field: int) -> None:
    quiet, struck = random_world(name, 6), random_world(name, 6)
    states(quiet, 20), states(struck, 20)
    poison(struck, value=value, field=field)
    others = [arena for arena in range(6) if arena != VICTIM]
    assert (states(quiet, 40)[..., others] == states(struck, 40)[..., others]).all()


@pytest.mark.parametrize("name", SHIPPED)
def test_agents_only_ever_see_finite_numbers(name: str) -> None:
    world = random_world(name, 6)
    before, after = sights(world)
    reward = world.of(world.batches[0].entity, Reward)
    for tick in range(24):
        if tick % 4 == 3:
            value, field = BAD[tick // 4 % len(BAD)]
            poison(world, arena=tick % 6, value=value, field=field)
        world.tick()
        assert np.isfinite(before.value).all()
        assert np.isfinite(after.value).all()
        assert np.isfinite(reward.value).all()
    assert world.one(Explosion).count == 6


def test_contacts_that_went_astray_are_forgotten_too() -> None:
    def build(arena: Arena) -> None:
        disc = arena.spawn("disc", Body(), Disc(0.5))
        arena.wall((-20.0, -0.49), (20.0, -0.49))
        arena.agent(
            sees=[X(disc)], does=Levers(push=Push(disc, 1e308, 1e308), turn=Twist(disc, 1e308)), earns={"x": 1.0}
        )

    action = np.zeros((4, 2), np.float32)
    world = make_world(scene_of(build, max_ticks=1000), arenas=4, policies=always(action))
    states(world, 10)
    action[VICTIM] = 1.0
    world.tick()
    world.tick()
    assert world.one(Explosion).count >= 1
    action[VICTIM] = 0.0
    world.tick()
    count = world.one(Explosion).count
    moved = states(world, 10)
    assert world.one(Explosion).count == count
    assert np.isfinite(moved).all()
    assert moved[-1, 1, 0] == pytest.approx(0.03, abs=0.1)  # all four rest on their ground


def test_numbers_that_explode_by_thrust_are_cut_too() -> None:
    def build(arena: Arena) -> None:
        disc = arena.spawn("disc", Body(mass=0.001), Disc(0.1))
        arena.agent(sees=[X(disc), Spin(disc)], does=Levers(push=Push(disc, 1e9)), earns={"x": X(disc)})

    action = np.zeros((3, 1), np.float32)
    action[1] = 1.0
    world = make_world(scene_of(build), arenas=3, policies=always(action))
    for _ in range(5):
        world.tick()
    assert world.one(Explosion).count == 5
    assert world.one(Clock).tick.tolist() == [5, 0, 5]


def test_the_transition_of_an_explosion_is_marked_and_its_episode_is_not_told() -> None:
    training = prepare(
        load_scene("balance"), "ppo", SMALL_PPO, TrainingSettings(arenas=4, steps=400, eval_every=10_000)
    )
    kept: list[Any] = []
    agent = training.agents["policy"]
    honest = agent.observe

    def observe(experience: Experience) -> None:
        kept.append(None if experience.valid is None else experience.valid.copy())
        honest(experience)

    agent.observe = observe  # type: ignore[method-assign]
    world = training.world
    for tick in range(8):
        if tick == 4:
            poison(world)
            training.tick()
            finished = world.one(Finished)
            assert finished is None or VICTIM not in finished.arena.tolist()
            assert world.of(world.batches[0].entity, Done).valid.tolist() == [True, True, False, True]
        else:
            training.tick()
    assert [None if valid is None else valid.tolist() for valid in kept] == [
        *[None] * 4,
        [True, True, False, True],
        *[None] * 3,
    ]
    training.close()


def test_a_training_with_explosions_goes_on_and_stays_finite() -> None:
    training = prepare(
        load_scene("balance"), "ppo", SMALL_PPO, TrainingSettings(arenas=4, steps=400, eval_every=200, eval_episodes=2)
    )
    while not training.done:
        if training.world.ticks % 7 == 3:
            poison(training.world, arena=training.world.ticks % 4)
        training.tick()
    assert training.world.one(Explosion).count > 10
    assert training.agents["policy"].is_finite()
    assert training.session.agent.metrics()
    training.close()


def test_an_explosion_in_one_of_two_agents_arenas_marks_both_rows() -> None:
    from two_agents_scene import SAME_POLICY

    world = random_world(SAME_POLICY, 3)
    world.tick()
    poison(world, arena=1, role=1)
    world.tick()
    rows = world.of(world.batches[0].entity, Done)
    assert rows.valid.tolist() == [True, False, True, True, False, True]


def test_a_scene_that_always_explodes_is_refused_by_evaluation() -> None:
    def build(arena: Arena) -> None:
        disc = arena.spawn("disc", Body(mass=0.001), Disc(0.1))
        arena.agent(sees=[X(disc)], does=Levers(push=Push(disc, 1e9)), earns={"x": 1.0})

    with pytest.raises(SceneError, match="explodes in every episode"):
        play_episodes(scene_of(build, max_ticks=5), always(np.ones((2, 1), np.float32)), (1, 2))
