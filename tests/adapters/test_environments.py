"""Gymnasium environments as worlds: stepped as a plain loop would, brought back, and refused where they go wrong."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np
import odd_environments
import pytest
from numpy.typing import NDArray

from ecs_rl.components import (
    ActionLog,
    Chance,
    Clock,
    Done,
    Finished,
    NextObservation,
    Observation,
    Reward,
    Snapshots,
    Terms,
)
from ecs_rl.environments.environment import fps_of
from ecs_rl.environments.environment_scene import load_environment
from ecs_rl.environments.gym_engine import GymEngine, Taken, seeds_of
from ecs_rl.errors import CheckpointError, CommandError, SceneError
from ecs_rl.loading import load_scene
from ecs_rl.spaces import Composed, Continuous, Discrete
from ecs_rl.training.snapshots import restore_world, save_world
from ecs_rl.world import World, policy_specs
from ecs_rl.worlds import make_world

ODD = "gym:odd_environments:"


def acting(reference: str, seed: int = 0) -> Callable[[Any, Any], NDArray[Any]]:
    """Return a policy whose actions follow from what it sees alone."""
    (spec,) = policy_specs(load_scene(reference).describe()).values()

    def act(seen: NDArray[np.float32], state: object) -> NDArray[Any]:
        rows = [spec.actions.random(np.random.default_rng(np.abs(row).view(np.uint32) + seed), 1) for row in seen]
        return np.concatenate(rows)

    return act


def opened(reference: str, arenas: int = 3, **more: Any) -> World:
    scene = load_scene(reference)
    kept = (ActionLog(), Snapshots())
    return make_world(scene, arenas=arenas, policies={"policy": acting(reference)}, resources=kept, **more)


def plain(reference: str, seeds: list[int], ticks: int) -> list[Any]:
    """Return what a plain loop over one environment sees, gets and ends; the episodes have these seeds."""
    environment = gymnasium.make(reference.removeprefix("gym:"))
    act, told, waiting = acting(reference), list[Any](), list(seeds)
    seen, _ = environment.reset(seed=waiting.pop(0))
    for _ in range(ticks):
        action = act(np.asarray(seen, np.float32)[None], None)[0]
        after, reward, terminated, truncated, _ = environment.step(action)
        told.append((np.asarray(after, np.float32).tolist(), float(np.float32(reward)), terminated, truncated))
        seen = after
        if terminated or truncated:
            seen, _ = environment.reset(seed=waiting.pop(0))
    environment.close()
    return told


def test_every_arena_goes_as_a_plain_loop_over_one_environment_with_its_seeds() -> None:
    world = opened("gym:CartPole-v1")
    (seen, reward, done) = world.each(NextObservation, Reward, Done)[0]
    key, ticks, told = world.one(Chance).key.copy(), 120, list[Any]()
    for _ in range(ticks):
        world.tick()
        rows = zip(seen.value.tolist(), reward.value.tolist(), done.terminated, done.truncated, strict=True)
        told.append([(a, b, bool(c), bool(d)) for a, b, c, d in rows])
    for arena in range(3):
        seeds = [int(seeds_of(key[arena : arena + 1], np.array([e]))[0]) for e in range(ticks)]
        assert [row[arena] for row in told] == plain("gym:CartPole-v1", seeds, ticks)
    assert world.one(Clock).episode.min() > 0
    world.close()


def test_the_first_episode_of_a_named_seed_is_reset_with_that_seed_and_no_other_is() -> None:
    world = opened("gym:CartPole-v1", 2, seeds=(7, 10_000))
    for arena, seed in enumerate((7, 10_000)):
        env = gymnasium.make("CartPole-v1")
        assert world.each(Observation)[0][0].value[arena].tolist() == env.reset(seed=seed)[0].tolist()
    keys = np.array([7, 7], np.uint64)
    assert seeds_of(keys, np.array([0, 1]))[0] == 7
    assert seeds_of(keys, np.array([0, 1]))[1] != 7
    world.close()


@pytest.mark.parametrize(
    ("name", "actions", "numbers"),
    [
        ("Line-v0", Continuous(("lever 0",)), ("0", "1")),
        ("FromOne-v0", Discrete(("1", "2", "3")), ("0", "1")),
        ("Mixed-v0", (3, 2), ("place 0", "place 1", "side is 0", "side is 1")),
        ("Switches-v0", (2, 2), tuple(f"is {i}" for i in range(5))),
    ],
)
def test_spaces_become_a_row_of_numbers_and_actions_of_a_policy(name: str, actions: Any, numbers: Any) -> None:
    (spec,) = policy_specs(load_scene(ODD + name).describe()).values()
    assert spec.observations == numbers
    if isinstance(actions, tuple):
        assert isinstance(spec.actions, Composed)
        assert tuple(len(part.names) for part in spec.actions.parts) == actions
    else:
        assert spec.actions == actions
    world = opened(ODD + name)
    for _ in range(60):  # every action is asserted to be one of the space
        world.tick()
    assert world.each(Observation)[0][0].value.shape == (3, len(numbers))
    world.close()


def test_a_box_has_its_bounds_at_minus_one_and_one_and_nothing_goes_beyond() -> None:
    scene = load_scene(ODD + "Line-v0")
    setting = iter([-1.0, 0.0, 1.0, -7.0, 7.0])
    world = make_world(
        scene, arenas=1, policies={"policy": lambda seen, state: np.array([[next(setting)]], np.float32)}
    )
    engine = world.engine_as(GymEngine)
    for _ in range(5):
        world.tick()
    assert [given.tolist() for given in engine.envs[0].unwrapped.given] == [[2.0], [4.0], [6.0], [2.0], [6.0]]
    world.close()


def test_what_is_seen_of_a_dict_is_what_the_library_flattens() -> None:
    world = opened(ODD + "Mixed-v0", 1)
    engine = world.engine_as(GymEngine)
    for _ in range(5):
        world.tick()
    env: Any = engine.envs[0].unwrapped
    wanted = gymnasium.spaces.flatten(env.observation_space, env.seen())
    assert world.each(Observation)[0][0].value[0].tolist() == np.asarray(wanted, np.float32).tolist()
    world.close()


def test_episodes_end_by_time_and_by_the_environment_and_the_two_are_told_apart() -> None:
    world, lengths = opened(ODD + "Line-v0", 8), list[int]()
    finished = world.one(Finished)
    for _ in range(200):
        world.tick()
        for length, terminated in zip(finished.length.tolist(), finished.terminated.tolist(), strict=True):
            lengths.append(length)
            assert terminated == (length < 40)
    assert 40 in lengths
    world.close()


def test_an_environment_without_a_limit_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    assert load_scene(ODD + "Endless-v0").max_ticks == 10_000
    from ecs_rl.environments import environment

    environment.environment_of.cache_clear()
    monkeypatch.setattr(environment, "NO_LIMIT", 25)
    world = opened(ODD + "Endless-v0")
    for _ in range(25):
        world.tick()
    finished = world.one(Finished)
    assert finished.length.tolist() == [25, 25, 25]
    assert not finished.terminated.any()
    world.close()
    environment.environment_of.cache_clear()


def test_in_an_evaluation_an_arena_rests_once_its_episode_is_over() -> None:
    world = opened("gym:CartPole-v1", 4, seeds=(1, 2, 3, 4))
    finished, ended = world.one(Finished), list[int]()
    for _ in range(200):
        world.tick()
        ended += finished.arena.tolist()
    assert sorted(ended) == [0, 1, 2, 3]
    engine = world.engine_as(GymEngine)
    world.start_over()
    assert not engine.is_resting.any()
    assert world.one(Clock).tick.tolist() == [0, 0, 0, 0]
    world.close()


@pytest.mark.parametrize("name", ["CartPole-v1", "Pendulum-v1", "LunarLander-v3", "odd_environments:Mixed-v0"])
def test_a_world_comes_back_to_the_last_bit_by_its_seeds_and_actions(name: str) -> None:
    if name == "LunarLander-v3":
        pytest.importorskip("Box2D")
    first, again = opened(f"gym:{name}"), opened(f"gym:{name}", seed=5)
    for _ in range(130):
        first.tick()
    saved = save_world(first)
    assert restore_world(again, saved)
    for world in (first, again):
        for _ in range(130):
            world.tick()
    assert first.save_columns().keys() == again.save_columns().keys()
    for key, column in first.save_columns().items():
        assert column.tobytes() == again.save_columns()[key].tobytes(), key
    first.close()
    again.close()


def test_one_that_does_not_come_back_is_told_and_begins_anew_only_if_asked() -> None:
    first, again = opened(ODD + "Forgetful-v0"), opened(ODD + "Forgetful-v0")
    for _ in range(10):
        first.tick()
    saved = save_world(first)
    with pytest.raises(CheckpointError, match=r"The environment keeps something .* --inexact"):
        restore_world(again, saved)
    assert not restore_world(again, saved, exactly=False)
    assert again.one(Clock).tick.tolist() == [0, 0, 0]
    assert again.one(Clock).episode.tolist() == (first.one(Clock).episode + 1).tolist()
    assert again.one(Terms).total.tolist() == [[0.0, 0.0, 0.0]]
    assert not again.one(Taken).value.any()
    again.tick()
    first.close()
    again.close()


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("Raises-v0", r"failed in step\(\) in arena 0 at tick 30 of its episode: RuntimeError: the bearing broke"),
        ("Pays-v0", r"gave a reward of nan in arena 0 at tick 30 of its episode, not a finite number: mend"),
        ("Blind-v0", r"gave an observation \('0'\) of nan in arena 0 at tick 30 .*, not a finite number: mend"),
        ("Grows-v0", r"shows \(3,\) of float32 in arena 0 at tick 30 of its episode, not \(2,\) numbers as"),
    ],
)
def test_an_environment_that_goes_wrong_is_told_by_arena_and_tick(name: str, words: str) -> None:
    still = np.zeros((2, 1), np.float32)
    world = make_world(load_scene(ODD + name), arenas=2, policies={"policy": lambda seen, state: still})
    for _ in range(29):
        world.tick()
    with pytest.raises(SceneError, match=words):
        world.tick()
    world.close()


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("CartPol-v1", "'gym:CartPol-v1' cannot be made: .* Did you mean: `CartPole`"),
        ("no_such_module:Line-v0", "cannot be made: .*no_such_module"),
        ("odd_environments:Looks-v0", "sees Dict.*21,170 numbers: 1 to 10,000 can be .* must be the only thing"),
        ("odd_environments:Stacked-v0", "12 layers of 84 x 84: 84,672 numbers of at most 28,224; show fewer"),
        ("odd_environments:Says-v0", r"sees Sequence\(.*, of which no row of numbers can be made: it must be a Box"),
        ("odd_environments:Unbounded-v0", "does Box.*: a Box needs finite bounds: wrap"),
        ("odd_environments:Nested-v0", "does Dict.*: it must be a Box, Discrete, MultiDiscrete or MultiBinary"),
    ],
)
def test_what_cannot_be_trained_is_refused_by_what_it_is(name: str, words: str) -> None:
    with pytest.raises(CommandError, match=words):
        load_environment(f"gym:{name}")


def test_without_the_library_it_is_said_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "gymnasium", None)
    with pytest.raises(CommandError, match=r"needs Gymnasium, which is not installed: python -m pip install"):
        load_environment("gym:Never-v7")


def test_on_a_stage_only_the_arena_that_is_watched_is_played() -> None:
    from ecs_rl.components import UserInput
    from ecs_rl.schedule import ON_STAGE

    hand = UserInput(arena=1)
    scene = load_scene(ODD + "Line-v0")
    policies = {"policy": acting(ODD + "Line-v0")}
    world = make_world(scene, arenas=3, seeds=(1, 2, 3), policies=policies, stages=ON_STAGE, resources=(hand,))
    world.tick()
    assert world.one(Clock).tick.tolist() == [0, 1, 0]
    engine = world.engine_as(GymEngine)
    assert [env is not None for env in engine.envs] == [False, True, False]
    assert engine.picture(1).shape == (40, 60, 3)
    world.close()


@pytest.mark.parametrize("rate", ["fast", float("inf"), float("nan"), -5, 0, None, (), 1e300])
def test_a_rate_of_pictures_that_is_no_number_is_thirty(rate: object) -> None:
    assert fps_of({"render_fps": rate}) == 30.0
    assert (fps_of({"render_fps": 12}), fps_of({"render_fps": "24"}), fps_of({})) == (12.0, 24.0, 30.0)
    assert load_scene(ODD + "NoRate-v0").dt == 1 / 30


def test_an_empty_picture_is_refused_by_its_shape() -> None:
    world = make_world(load_scene(ODD + "EmptyPicture-v0"), arenas=1, policies={"policy": acting(ODD + "Line-v0")})
    world.enter()
    with pytest.raises(SceneError, match=r"draws \(0, 60, 3\) of uint8, not .*: play it --headless"):
        world.engine_as(GymEngine).picture(0)
    world.close()


def test_the_odd_ones_are_registered_once() -> None:
    assert odd_environments.Line.metadata["render_fps"] == 20
    assert load_scene(ODD + "Line-v0").dt == 1 / 20
    assert load_scene(ODD + "Line-v0").solved_at == 20.0
