"""A choice, a lever and a trigger are learned at once: with any of them left alone, the scene is not solved."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from mixed_controls import MIXED

from ecs_rl.cli.plan import plan_of
from ecs_rl.loading import load_scene
from ecs_rl.tasks.assemble import assemble
from ecs_rl.tasks.check import random_chooser
from ecs_rl.training.evaluator import play_episodes
from ecs_rl.world import policy_specs


@pytest.fixture
def scene(tmp_path: Path) -> str:
    path = tmp_path / "mixed.py"
    path.write_text(MIXED)
    return str(path)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_ppo_solves_a_scene_with_a_choice_a_lever_and_a_trigger(scene: str, seed: int) -> None:
    training = assemble(plan_of([scene, "--seed", str(seed), "--until-solved"]))[1]
    while not training.done:
        training.tick()
    training.close()
    assert training.solved
    assert training.session.total_steps <= 40_000


def test_playing_at_random_is_far_from_solving_it(scene: str) -> None:
    found = load_scene(scene)
    tick = iter(range(10_000))
    spec = policy_specs(found.describe())["policy"]
    played = play_episodes(found, {"policy": random_chooser(spec, 0, lambda: next(tick))}, range(50))
    assert np.mean([episode.total_reward for episode in played]) < 18
