"""Reward weights are a component: they change what learners earn, not what is counted, and travel with the columns."""

from __future__ import annotations

import numpy as np

from ecs_rl.components import Reward, RewardWeights, Terms
from ecs_rl.loading import load_scene
from ecs_rl.world import World
from ecs_rl.worlds import make_world


def lander() -> World:
    def coast(seen: object, state: object) -> np.ndarray:
        return np.zeros(4, int)

    return make_world(load_scene("lander"), arenas=4, seed=2, policies={"policy": coast})


def test_weights_change_what_is_earned_and_not_what_is_counted() -> None:
    plain, weighted = lander(), lander()
    weights = np.arange(len(plain.terms)) - 1.0
    weighted.one(RewardWeights).value[...] = weights
    for _ in range(30):
        plain.tick()
        weighted.tick()
        terms = plain.one(Terms).now
        assert np.array_equal(terms, weighted.one(Terms).now)
        assert np.array_equal(plain.one(Reward).value, terms.sum(axis=0).astype(np.float32))
        assert np.allclose(weighted.one(Reward).value, (weights[:, None] * terms).sum(axis=0), rtol=1e-6)
    plain.close()
    weighted.close()


def test_weights_are_saved_and_come_back_with_the_columns() -> None:
    one, other = lander(), lander()
    one.one(RewardWeights).value[1] = 0.25
    other.load_columns(one.save_columns())
    assert other.one(RewardWeights).value[1] == 0.25
    one.close()
    other.close()


def test_columns_of_an_older_version_without_weights_load() -> None:
    world = lander()
    columns = {key: array for key, array in world.save_columns().items() if "RewardWeights" not in key}
    world.load_columns(columns)
    assert (world.one(RewardWeights).value == 1.0).all()
    world.close()
