"""The table beside RL Zoo's: the last policy is evaluated, after the steps that were asked for; rows are complete."""

from __future__ import annotations

import sys
from typing import Any

import pytest
import zoo_table

from ecs_rl.agents.make import AGENTS

TRIAL: dict[str, Any] = {"return": 480.0, "steps": 100, "processor": 2.0}


def test_the_last_policy_is_evaluated_after_as_many_steps_as_asked_for() -> None:
    pytest.importorskip("gymnasium")
    trial = zoo_table.trial("ppo:CartPole-v1", 3, 512, episodes=2)
    assert trial["steps"] == 512
    assert 2.0 <= trial["return"] <= 500.0
    assert trial["processor"] > 0.0
    assert zoo_table.trial("ppo:CartPole-v1", 3, 512, episodes=2)["return"] == trial["return"]


def test_a_row_has_mean_and_deviation_over_the_seeds_beside_the_other_numbers() -> None:
    trials = [TRIAL, TRIAL | {"return": 500.0, "processor": 4.0}]
    row = zoo_table.row("ppo:CartPole-v1", trials)
    assert row == "| `ppo:CartPole-v1` | 100,000 | 2 | 490.0 ± 10.0 | 500.0 ± 0.0 | 3.0 |"
    assert row.count("|") == zoo_table.HEADER.splitlines()[0].count("|")
    assert "(LunarLander-v2)" in zoo_table.row("ppo:LunarLander-v3", trials)


def test_every_row_names_an_algorithm() -> None:
    assert {pair.partition(":")[0] for pair in zoo_table.ZOO} <= set(AGENTS)


def test_an_environment_that_cannot_be_made_is_said_and_the_others_go_on(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("gymnasium")
    monkeypatch.setattr(zoo_table, "ZOO", {"ppo:NoSuchThing-v0": zoo_table.Row(64, 0.0, 0.0)})
    monkeypatch.setattr(sys, "argv", ["zoo_table.py", "--seeds", "1"])
    zoo_table.main()
    assert "ppo:NoSuchThing-v0 was not run: 'gym:NoSuchThing-v0' cannot be made" in capsys.readouterr().out
