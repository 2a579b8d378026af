"""A tick in slices: what a window needs to draw while an agent learns."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ecs_rl.agents.config import AgentConfig, DQNConfig, PPOConfig
from ecs_rl.loading import load_scene
from ecs_rl.training.prepare import prepare
from ecs_rl.training.settings import TrainingSettings
from ecs_rl.training.training import Training
from ecs_rl.worlds import make_world

PPO = replace(PPOConfig(), rollout=16, minibatch=64)
DQN = replace(DQNConfig(), warm_up=64)


def training(agent: str, config: AgentConfig) -> Training:
    return prepare(
        load_scene("balance"), agent, config, TrainingSettings(arenas=8, steps=1200, eval_every=500, eval_episodes=3)
    )


@pytest.mark.parametrize(("agent", "config"), [("ppo", PPO), ("dqn", DQN)])
def test_slices_lead_to_the_same_agent_as_whole_ticks(agent: str, config: AgentConfig) -> None:
    whole, sliced = training(agent, config), training(agent, config)
    other = make_world(
        load_scene("balance"), arenas=2, policies={"policy": lambda seen, state: seen[:, 0].astype(int) * 0}
    )
    while not whole.done:
        whole.tick()
    slices = 0
    while not sliced.done:
        for _ in sliced.slices():
            slices += 1
            if slices % 50 == 0:
                other.tick()  # a stage that runs in between
    assert whole.session.agent.parameters_sha256() == sliced.session.agent.parameters_sha256()
    assert (whole.evaluation.last, whole.session.best_step) == (sliced.evaluation.last, sliced.session.best_step)
    assert whole.world.ticks == sliced.world.ticks
    assert other.terms == ("upright",)


def test_an_update_and_an_exam_stop_often_enough_to_draw() -> None:
    run = training("ppo", PPO)
    counts = []
    while not run.done:
        counts.append(sum(1 for _ in run.slices()))
    assert sorted(counts)[len(counts) // 2] == 0  # no update, no evaluation: over in a moment
    assert max(counts) > 50  # an evaluation: a slice for each tick of it


def test_time_in_slices_is_counted_by_stage() -> None:
    run = training("ppo", PPO)
    while not run.done:
        for _ in run.slices():
            pass
    assert all(seconds > 0 for seconds in run.world.seconds_in.values())
    assert sum(run.world.seconds_in.values()) < run.seconds
