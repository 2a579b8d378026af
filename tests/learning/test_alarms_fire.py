"""Each alarm of the diagnosis goes off in a training that deserves it, and tells what to do."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from alarm_scenes import AWAY, DEATH_PAYS, HUGE, ONE_TERM, OUT_OF_REACH, RARE, TOO_SURE
from score_scenes import DUEL

from ecs_rl.commands import train as train_command
from ecs_rl.shipped import scene_files

PPO = ("--arenas", "32", "--ppo.rollout", "32", "--ppo.minibatch", "256", "--ppo.epochs", "4", "--ppo.hidden", "16")
SURE = ("--ppo.lr", "0.05", "--ppo.epochs", "10")
DESERVED = {
    "a death that pays": (DEATH_PAYS, "120k", ("--ppo.lr", "3e-3")),
    "a term that drowns the others": (ONE_TERM, "60k", ()),
    "a value far off": (HUGE, "60k", ("--ppo.lr", "1e-4", "--ppo.no-normalise-rewards")),
    "nothing learned": (OUT_OF_REACH, "120k", ()),
    "updates that go too far": (scene_files()["lander"].read_text(), "80k", ("--ppo.lr", "0.3")),
    "entropy collapsed": (TOO_SURE, "80k", SURE),
    "a return that cannot be compared": (DUEL, "60k", ()),
    "a return that is not the score": (AWAY, "120k", ()),
    "greedy play that falls behind": (RARE, "160k", ("--ppo.entropy", "0.01")),
}


@pytest.mark.parametrize("name", DESERVED)
def test_a_training_that_deserves_an_alarm_raises_it(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text, steps, more = DESERVED[name]
    scene = tmp_path / "wrong.py"
    scene.write_text(text)
    command = [str(scene), "--steps", steps, *PPO, *more, "--runs", str(tmp_path / "runs"), "--json"]
    assert train_command.main([*command, "--eval-every", "20k", "--eval-episodes", "4"]) == 0
    told = capsys.readouterr()
    (said,) = [line for line in told.err.splitlines() if f" {name}: " in line and line.startswith("train.py: at step")]
    assert f"(ecs_rl/agents/README.md#{name.replace(' ', '-')})" in said
    assert json.loads(told.out.splitlines()[-1])["finding"] == name
