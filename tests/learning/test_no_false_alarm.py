"""The guard against a collapsed policy keeps still while recipes learn, and notices one that is really lost."""

from __future__ import annotations

import pytest

from ecs_rl.commands.parse import parse_train
from ecs_rl.commands.train import prepared, recipes_of
from ecs_rl.session.trend import IN_A_ROW
from ecs_rl.training.prepare import Training

CASES = [("balance", "ppo", "200k"), ("balance", "dqn", "100k"), ("swingup", "ppo", "500k"), ("lander", "ppo", "1.5M")]


def ready(scene: str, agent: str, seed: int, steps: str) -> Training:
    words = [scene, "--agent", agent, "--seed", str(seed), "--steps", steps]
    return prepared(parse_train(words, recipes_of))


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
