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

CASES = [("balance", "ppo", "200k"), ("balance", "dqn", "100k"), ("swingup", "ppo", "500k"), ("lander", "ppo", "1.5M")]


def alarms(runs: Path, *words: str) -> tuple[set[str], int]:
    """Train to the end; return what the diagnosis ever said, and the most low evaluations in a row."""
    plan, training = assemble(plan_of([*words, "--runs", str(runs)]))
    recorded(training, plan)
    findings, most = set(), 0
    while not training.done:
        training.tick()
        findings.add(str(training.finding or ""))
        most = max(most, training.evaluation.trend.low)
    training.close()
    return findings - {""}, most


@pytest.mark.parametrize(("agent", "steps"), [("ppo", "100k"), pytest.param("dqn", "40k", marks=pytest.mark.slow)])
def test_a_recipe_that_learns_raises_no_alarm(agent: str, steps: str, tmp_path: Path) -> None:
    findings, most = alarms(tmp_path, "balance", "--agent", agent, "--steps", steps)
    assert findings == set()
    assert most < IN_A_ROW


@pytest.mark.slow
@pytest.mark.parametrize(("scene", "agent", "steps"), [*CASES, ("lander", "dqn", "400k")])
def test_whole_runs_of_several_seeds_raise_no_alarm(
    scene: str, agent: str, steps: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = (scene, "--agent", agent, "--steps", steps, "--seed")
    found = [alarms(tmp_path, *words, str(seed))[1] for seed in range(3)]
    with capsys.disabled():
        print(f"\n{scene} {agent}: low evaluations in a row at most {found}, an alarm at {IN_A_ROW}")
    assert max(found) < IN_A_ROW


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("name", scene_names())
def test_whole_runs_of_every_scene_are_diagnosed_nothing(name: str, seed: int, tmp_path: Path) -> None:
    assert alarms(tmp_path, name, "--seed", str(seed))[0] == set()
