"""Games are learned: clearly better than playing at random, in the same episodes; the maze in a test of its own."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from games import game

from ecs_rl.cli.plan import plan_of
from ecs_rl.loading import load_scene
from ecs_rl.tasks.assemble import assemble
from ecs_rl.tasks.check import random_chooser
from ecs_rl.training.evaluator import SEED, play_episodes
from ecs_rl.world import policy_specs

EPISODES = 20
QUICK = {
    "shooter": (0.6, "--steps 150k --arenas 32"),
    "forager": (4.0, "--steps 150k"),
    "soccer": (1.5, "--steps 150k"),
    "flappy": (1.4, "--steps 100k"),
    "walker": (1.9, "--steps 150k"),
    "tag": (50.0, "--steps 60k"),
    "cards": (1.2, "--steps 40k"),
}
"""By how much the score of a small training must beat random play, about half of what it does with seeds 0 and 1."""
WHOLE = {
    "shooter": 2.0,
    "forager": 6.0,
    "soccer": 2.0,
    "flappy": 2.3,
    "walker": 6.0,
    "tag": 80.0,
    "cards": 1.8,
    "maze": 0.8,
}
"""The same of a whole training by the game's own recipe, for the mean of five seeds."""


def at_random(name: str) -> float:
    """Return the mean score of random play in the episodes of an evaluation."""
    scene = load_scene(game(name))
    tick = iter(range(10_000))
    specs = policy_specs(scene.describe())
    choosers = {policy: random_chooser(spec, i, tick.__next__) for i, (policy, spec) in enumerate(specs.items())}
    played = play_episodes(scene, choosers, range(SEED, SEED + EPISODES))
    return float(np.mean([episode.extras[f"score/{scene.score}"] for episode in played]))


def learned(name: str, seed: int, *more: str) -> float:
    """Train with the game's own recipe; return the mean score of its best evaluation."""
    _, training = assemble(plan_of([game(name), "--seed", str(seed), "--eval-episodes", str(EPISODES), *more]))
    while not training.done:
        training.tick()
    training.close()
    assert training.session.best_eval is not None
    return training.session.best_eval


LONGER = ("shooter", "soccer", "walker")
"""Of these, those that take more than five seconds."""


@pytest.mark.parametrize("name", [pytest.param(n, marks=[pytest.mark.slow] * (n in LONGER)) for n in QUICK])
def test_a_game_is_learned_in_small(name: str, tmp_path: Path) -> None:
    margin, flags = QUICK[name]
    assert learned(name, 0, *flags.split(), "--runs", str(tmp_path)) > at_random(name) + margin


@pytest.mark.slow
@pytest.mark.parametrize("name", WHOLE)
def test_a_game_is_learned_by_its_recipe(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    scores = np.array([learned(name, seed, "--runs", str(tmp_path)) for seed in range(5)])
    chance = at_random(name)
    with capsys.disabled():
        print(f"\n{name}: {scores.mean():.2f} +- {scores.std():.2f} {scores.round(2).tolist()}, at random {chance:.2f}")
    assert scores.mean() > chance + WHOLE[name]
    assert scores.min() > chance
