"""Environments that show pictures: each form becomes the same rows, and large ones are made small."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import gymnasium
import numpy as np
import odd_environments
import pytest

from ecs_rl.agents import DQNConfig, make_agent
from ecs_rl.components import ActionLog, NextObservation, Observation, Snapshots
from ecs_rl.environments.gym_engine import GymEngine
from ecs_rl.environments.pixels import Pixels
from ecs_rl.environments.wrappers import SeesPixels, means
from ecs_rl.errors import CommandError, SceneError
from ecs_rl.loading import load_scene
from ecs_rl.spaces import Picture
from ecs_rl.training.snapshots import restore_world, save_world
from ecs_rl.world import World, policy_specs
from ecs_rl.worlds import make_world

ODD = "gym:odd_environments:"


def opened(name: str, arenas: int = 2, seeds: Sequence[int] | None = None) -> World:
    """Return a world in which the first option is always chosen."""
    policies = {"policy": lambda seen, state: np.zeros(len(seen), np.int64)}
    kept = (ActionLog(), Snapshots())
    return make_world(load_scene(name), arenas=arenas, policies=policies, resources=kept, seeds=seeds)


def spec_of(name: str) -> Any:
    (spec,) = policy_specs(load_scene(name).describe()).values()
    return spec


def test_a_picture_is_seen_layer_by_layer_from_the_top_row_down_between_0_and_1() -> None:
    spec = spec_of(ODD + "Catches-v0")
    assert spec.layout == (Picture(0, 3, 8, 8),)
    world = opened(ODD + "Catches-v0", 1, seeds=[3])
    engine = world.engine_as(GymEngine)
    seen = world.each(Observation)[0][0].value[0]
    env: Any = engine.envs[0].unwrapped
    lit = {spec.observations[i]: seen[i].item() for i in np.flatnonzero(seen)}
    assert lit == {f"0 {env.fruit},0": 1.0, f"1 {env.x},7": 1.0}
    world.close()


def test_colours_may_stand_first_or_last() -> None:
    rows = []
    for name in ("Catches-v0", "CatchesFirst-v0"):
        world = opened(ODD + name, 2, seeds=[3, 4])
        world.tick()
        rows.append(world.each(NextObservation)[0][0].value.copy())
        world.close()
    assert np.array_equal(*rows)
    assert spec_of(ODD + "CatchesGrey-v0").layout == (Picture(0, 1, 8, 8),)


@pytest.mark.parametrize(
    ("shape", "seen"),
    [
        ((30, 40), Picture(0, 1, 30, 40)),
        ((30, 40, 3), Picture(0, 3, 30, 40)),
        ((3, 30, 40), Picture(0, 3, 30, 40)),
        ((3, 3, 3), Picture(0, 3, 3, 3)),
        ((2, 30, 40, 3), Picture(0, 6, 30, 40)),
        ((2, 3, 30, 40), Picture(0, 6, 30, 40)),
        ((210, 40, 1), Picture(0, 1, 84, 40)),
        ((210, 160, 3), Picture(0, 3, 84, 84)),
    ],
)
def test_height_width_and_layers_are_told_by_the_shape(shape: tuple[int, ...], seen: Picture) -> None:
    assert Pixels(shape).seen == seen
    assert len(set(Pixels(shape).names)) == seen.size
    picture = np.random.default_rng(0).integers(0, 256, shape).astype(np.uint8)
    assert Pixels(shape).layered(picture).shape == (seen.layers, *Pixels(shape).sides)


def test_a_large_picture_is_made_small_by_means_that_leave_nothing_out() -> None:
    shares = means(np.eye(210, dtype=np.float32)[None], 84, 1)[0]
    np.testing.assert_allclose(shares.sum(axis=1), 1.0, rtol=1e-5)
    np.testing.assert_allclose(shares.sum(axis=0), 84 / 210, rtol=1e-4)
    np.testing.assert_allclose(shares[1, :6], [0, 0, 0.2, 0.4, 0.4, 0], atol=1e-6)
    np.testing.assert_allclose(means(shares[None], 7, 2)[0], shares.reshape(84, 7, 30).mean(axis=2), atol=1e-6)
    wide = odd_environments.Wide()
    row, _ = SeesPixels(wide, Pixels((130, 200, 3))).reset(seed=1)
    assert row.shape == (3 * 84 * 84,)
    assert row.mean() == pytest.approx(wide.seen().mean() / 255, rel=1e-4)


def test_several_frames_are_seen_at_once_the_oldest_first_and_an_episode_begins_with_the_same_one() -> None:
    env, plain = (SeesPixels(odd_environments.Catches(), Pixels((8, 8, 3), frames)) for frames in (3, 1))
    rows = [plain.reset(seed=2)[0], *(plain.step(2)[0] for _ in range(3))]
    assert np.array_equal(env.reset(seed=2)[0], np.concatenate([rows[0]] * 3))
    for _ in range(3):
        row = env.step(2)[0]
    assert np.array_equal(row, np.concatenate(rows[1:]))
    assert np.array_equal(env.reset(seed=2)[0], np.concatenate([rows[0]] * 3))
    assert Pixels((8, 8, 3), 3).seen == Picture(0, 9, 8, 8)


@pytest.mark.parametrize("name", [ODD + "Catches-v0", ODD + "Wide-v0"])
def test_a_world_of_pictures_comes_back_to_the_last_bit(name: str) -> None:
    first, again = opened(name), opened(name)
    for _ in range(11):
        first.tick()
    assert restore_world(again, save_world(first))
    for world in (first, again):
        for _ in range(11):
            world.tick()
    for key, column in first.save_columns().items():
        assert column.tobytes() == again.save_columns()[key].tobytes(), key
    first.close()
    again.close()


def test_a_picture_that_changes_its_shape_is_told_by_arena_and_tick() -> None:
    world = opened(ODD + "Shrinks-v0")
    for _ in range(4):
        world.tick()
    told = r"shows \(7, 8, 3\) of uint8 in arena 0 at tick 5 of its episode, not \(8, 8, 3\) of uint8 as its observ"
    with pytest.raises(SceneError, match=told):
        world.tick()
    world.close()


def test_a_replay_memory_of_pictures_that_no_machine_holds_is_refused_with_what_fits() -> None:
    told = (
        r"50,000 transitions of 21,168 numbers takes 8 GB: at most 50,\d+ fit|takes \d+ GB: at most [\d,]+ fit into 8"
    )
    with pytest.raises(CommandError, match=told):
        make_agent("dqn", spec_of(ODD + "Wide-v0"), DQNConfig(memory=100_000), seed=0, rows=1)


def test_the_games_of_atari_are_seen_in_grey_and_four_frames_at_once() -> None:
    pytest.importorskip("ale_py")
    world, again = opened("gym:ALE/Pong-v5"), opened("gym:ALE/Pong-v5")
    assert spec_of("gym:ALE/Pong-v5").layout == (Picture(0, 4, 84, 84),)
    for _ in range(30):
        world.tick()
    seen = world.each(Observation)[0][0].value
    assert (seen.min(), seen.max()) > (0.0, 0.4)
    assert not np.array_equal(seen[:, : 84 * 84], seen[:, -84 * 84 :])
    assert restore_world(again, save_world(world))
    for each in (world, again):
        each.tick()
    assert np.array_equal(*(each.each(NextObservation)[0][0].value for each in (world, again)))
    world.close()
    again.close()


def test_without_the_emulator_it_is_said_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "ale_py", None)
    with pytest.raises(CommandError, match=r"needs Atari's emulator, .*: python -m pip install 'ecs-rl\[atari\]'"):
        load_scene("gym:ALE/Never-v5")
    assert "ALE/Never-v5" not in gymnasium.registry
