"""Scenes as Gymnasium environments: what the library checks itself, and what it cannot know."""

from __future__ import annotations

import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from games import game
from gymnasium import spaces
from gymnasium.utils.env_checker import check_env

from ecs_rl.adapters.gym import SceneEnv, SceneVectorEnv, environment_id
from ecs_rl.adapters.gym_spaces import action_space, world_action
from ecs_rl.errors import SceneError
from ecs_rl.loading import load_scene
from ecs_rl.shipped import scene_names
from ecs_rl.spaces import Composed, Continuous, Discrete
from ecs_rl.training.evaluator import play_episodes
from ecs_rl.world import policy_specs

GAMES = Path(__file__).parents[1] / "scenes"
MIXTURE = Composed(
    (Discrete(("left", "ahead", "right"), "steer"), Continuous(("gas", "brake")), Discrete(("off", "on"), "fire"))
)


def of_one_agent(scene: str) -> bool:
    agents = load_scene(scene).describe().agents
    return len(agents) == 1 and agents[0].count is None


SCENES = sorted(filter(of_one_agent, [*scene_names(), *map(str, GAMES.glob("*.py"))]))


@pytest.mark.parametrize("scene", SCENES)
def test_the_library_finds_nothing_to_complain_of(scene: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    own: dict[str, Any] = {"scene": scene} if scene.endswith(".py") else {}
    name = "ecs_rl/Scene-v0" if own else environment_id(scene)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        env: Any = gymnasium.make(name, render_mode="rgb_array", **own)
        check_env(env.unwrapped)
    env.reset(seed=0)
    picture: Any = env.render()
    assert picture.std() > 5
    env.close()


def play(env: gymnasium.Env[Any, Any], ticks: int, seed: int) -> list[Any]:
    env.action_space.seed(1)
    told: list[Any] = [env.reset(seed=seed)[0]]
    for _ in range(ticks):
        seen, reward, terminated, truncated, _ = env.step(env.action_space.sample())
        told += [seen, reward]
        if terminated or truncated:
            told.append(env.reset()[0])
    return told


def test_a_seed_names_every_episode_that_follows_and_none_that_came_before() -> None:
    env = gymnasium.make("ecs_rl/Lander-v0")
    first = play(env, 300, seed=7)
    again = play(env, 300, seed=7)
    other = play(gymnasium.make("ecs_rl/Lander-v0"), 300, seed=8)
    assert all(np.array_equal(a, b) for a, b in zip(first, again, strict=True))
    assert not np.array_equal(first[0], other[0])


def test_without_a_seed_every_environment_is_another_one() -> None:
    seen = [gymnasium.make("ecs_rl/Lander-v0").reset()[0] for _ in range(2)]
    assert not np.array_equal(*seen)


def test_an_episode_is_that_of_an_evaluation_with_the_same_seed() -> None:
    env = SceneEnv("balance")
    scene = env._stepper.world.scene
    (name,) = policy_specs(scene.describe())
    (record,) = play_episodes(scene, {name: lambda seen, state: np.ones(len(seen), np.int64)}, [5])
    env.reset(seed=5)
    total, ended = 0.0, False
    while not ended:
        _, reward, terminated, truncated, info = env.step(1)
        total, ended = total + reward, terminated or truncated
    assert total == pytest.approx(record.total_reward)
    assert info == {"ended_by": ["fell"]}


def test_time_that_is_up_truncates_and_ends_nothing() -> None:
    env = SceneEnv("swingup")
    env.reset(seed=0)
    steps, ended = 0, False
    while not ended:
        _, _, terminated, truncated, info = env.step(np.zeros(1, np.float32))
        steps, ended = steps + 1, terminated or truncated
    assert (terminated, truncated, info) == (False, True, {"ended_by": []})
    assert steps == env._stepper.world.scene.max_ticks


def test_the_first_arena_of_many_goes_the_way_that_it_goes_alone() -> None:
    alone, many = SceneEnv("lander"), SceneVectorEnv("lander", num_envs=5)
    (seen, _), (all_seen, _) = alone.reset(seed=11), many.reset(seed=11)
    random = np.random.default_rng(0)
    for _ in range(1_000):
        assert np.array_equal(seen, all_seen[0])
        actions = random.integers(0, 4, 5)
        seen, reward, terminated, truncated, _ = alone.step(actions[0])
        all_seen, rewards, ends, cuts, infos = many.step(actions)
        assert (reward, terminated, truncated) == (rewards[0], ends[0], cuts[0])
        if terminated or truncated:
            break
    assert infos["_final_obs"][0]
    assert np.array_equal(seen, infos["final_obs"][0])
    assert np.array_equal(alone.reset()[0], all_seen[0])


def test_make_vec_makes_one_world_and_resets_the_arenas_of_a_mask_alone() -> None:
    envs = gymnasium.make_vec("ecs_rl/Lander-v0", num_envs=4)
    assert isinstance(envs.unwrapped, SceneVectorEnv)
    envs.reset(seed=0)
    before = envs.step(np.zeros(4, np.int64))[0]
    after, _ = envs.reset(options={"reset_mask": np.array([True, False, False, True])})
    assert [np.array_equal(a, b) for a, b in zip(before, after, strict=True)] == [False, True, True, False]


def test_every_mixture_of_controls_has_a_space_with_its_names() -> None:
    space = action_space(MIXTURE)
    assert isinstance(space, spaces.Dict)
    assert {name: type(each).__name__ for name, each in space.items()} == {
        "steer": "Discrete",
        "gas": "Box",
        "brake": "Box",
        "fire": "Discrete",
    }
    space.seed(0)
    action = world_action(MIXTURE, space.sample(), 1)
    assert MIXTURE.wrong(action, 1) is None
    several = Composed((Discrete(("a", "b"), "one"), Discrete(("c", "d", "e"), "two")))
    assert action_space(several) == spaces.MultiDiscrete([2, 3])
    assert MIXTURE.wrong(world_action(several, np.array([[1, 2]]), 1), 1) is not None
    assert np.array_equal(world_action(several, np.array([1, 2]), 1), np.array([[1, 2]], np.float32))


def test_a_vector_of_a_mixture_takes_samples_of_its_own_space() -> None:
    envs = SceneVectorEnv(str(GAMES / "shooter.py"), num_envs=3)
    envs.reset(seed=0)
    for _ in range(20):
        seen, *_ = envs.step(envs.action_space.sample())
    assert seen.shape == (3, envs.single_observation_space.shape[0])  # type: ignore[index]


def test_mistakes_are_told_with_what_to_do() -> None:
    with pytest.raises(SceneError, match=r"several agents.*parallel_env"):
        SceneEnv(str(GAMES / "soccer.py"))
    with pytest.raises(ValueError, match="'ansi' is not there: rgb_array or human"):
        SceneEnv("balance", render_mode="ansi")
    with pytest.raises(ValueError, match=r"an action must be \(1,\) numbers"):
        SceneEnv("balance").step([1, 0])
    with pytest.raises(ValueError, match=r"names each of \['steer', 'gas', 'brake', 'fire'\]"):
        world_action(MIXTURE, {"steer": 1}, 1)


def test_a_window_shows_an_environment_that_wants_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    env = SceneEnv("balance", render_mode="human")
    env.reset(seed=0)
    env.step(0)
    picture = env._stepper.picture
    assert picture is not None
    assert picture.display is not None
    env.close()
    assert picture.display is None


def test_the_package_needs_neither_library_without_the_adapters() -> None:
    hidden = "import sys; sys.modules['gymnasium'] = sys.modules['pettingzoo'] = None"
    code = f"{hidden}; import ecs_rl.commands.train, ecs_rl.cli.plan, ecs_rl.schedule"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_mask_of_options_comes_in_the_infos() -> None:
    env = SceneEnv(game("cards"))
    env.action_space.seed(0)
    _, info = env.reset(seed=0)
    hand, ended = np.ones(9, np.int8), False
    while not ended:
        assert (info["action_mask"] == hand).all()
        card = env.action_space.sample(mask=info["action_mask"])
        _, _, ended, _, info = env.step(card)
        hand[card] = 0
    env.close()


def test_a_vector_of_environments_has_a_mask_for_each() -> None:
    envs = SceneVectorEnv(game("cards"), num_envs=3)
    _, infos = envs.reset(seed=0)
    assert infos["action_mask"].shape == (3, 9)
    _, _, _, _, infos = envs.step(np.array([0, 4, 8]))
    assert [np.flatnonzero(mask == 0).tolist() for mask in infos["action_mask"]] == [[0], [4], [8]]
    envs.close()
