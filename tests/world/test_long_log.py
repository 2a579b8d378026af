"""A log of actions that nobody saves must not grow for ever."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from ecs_rl.agents.config import PPOConfig
from ecs_rl.components import ActionLog
from ecs_rl.loading import load_scene
from ecs_rl.runs import TrainingRun
from ecs_rl.training.prepare import prepare
from ecs_rl.training.settings import TrainingSettings
from ecs_rl.training_stages import snapshot


def test_without_checkpoints_the_physics_is_made_anew_before_the_log_grows_long(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(snapshot, "LONGEST", 7)
    training = prepare(
        load_scene("balance"),
        "ppo",
        replace(PPOConfig(), rollout=16, minibatch=64),
        TrainingSettings(arenas=4, steps=200),
        run=TrainingRun.create("long", runs_dir=tmp_path),
    )
    log, lengths = training.world.one(ActionLog), []
    while not training.done:
        training.tick()
        lengths.append(len(log.actions))
    training.close()
    assert lengths[:8] == [1, 2, 3, 4, 5, 6, 0, 1]
    assert max(lengths) == 6
