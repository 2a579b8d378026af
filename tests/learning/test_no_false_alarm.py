"""The guard against a collapsed policy and the diagnosis keep still while recipes learn.

`python -m pytest -m slow tests/learning/test_no_false_alarm.py` trains every scene that comes along on five seeds.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from ecs_rl.cli.plan import plan_of
from ecs_rl.session.trend import IN_A_ROW
from ecs_rl.shipped import scene_names
from ecs_rl.tasks.assemble import assemble, recorded
from ecs_rl.training.training import Training

CASES = [("balance", "ppo", "200k"), ("balance", "dqn", "100k"), ("swingup", "ppo", "500k"), ("lander", "ppo", "1.5M")]


def ready(scene: str, agent: str, seed: int, steps: str) -> Training:
    words = [scene, "--agent", agent, "--seed", str(seed), "--steps", steps]
    return assemble(plan_of(words))[1]


def most_low(training: Training) -> int:
    """Train to the end and return how many low evaluations there were in a row at most."""
    most = 0
    while not training.done:
        training.tick()
        most = max(most, training.evaluation.trend.low)
    training.close()
    return most


@pytest.mark.parametrize(("scene", "agent", "steps"), [("balance", "ppo", "100k"), ("balance", "dqn", "40k")])
def test_a_recipe_that_learns_raises_no_alarm(scene: str, agent: str, steps: str) -> None:
    assert most_low(ready(scene, agent, 0, steps)) < IN_A_ROW


@pytest.mark.slow
@pytest.mark.parametrize(("scene", "agent", "steps"), [*CASES, ("lander", "dqn", "400k")])
def test_whole_runs_of_several_seeds_raise_no_alarm(
    scene: str, agent: str, steps: str, capsys: pytest.CaptureFixture[str]
) -> None:
    found = [most_low(ready(scene, agent, seed, steps)) for seed in range(3)]
    with capsys.disabled():
        print(f"\n{scene} {agent}: low evaluations in a row at most {found}, an alarm at {IN_A_ROW}")
    assert max(found) < IN_A_ROW


def findings(runs: Path, *words: str) -> set[str]:
    """Train to the end by a scene's own recipe and return what the diagnosis ever said."""
    plan, training = assemble(plan_of([*words, "--runs", str(runs)]))
    recorded(training, plan)
    found = set()
    while not training.done:
        training.tick()
        found.add(str(training.finding or ""))
    training.close()
    return found - {""}


def test_a_recipe_that_learns_is_diagnosed_nothing(tmp_path: Path) -> None:
    assert findings(tmp_path, "balance", "--steps", "60k") == set()


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("name", scene_names())
def test_whole_runs_of_every_scene_are_diagnosed_nothing(name: str, seed: int, tmp_path: Path) -> None:
    assert findings(tmp_path, name, "--seed", str(seed)) == set()
