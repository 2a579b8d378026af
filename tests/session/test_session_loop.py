"""A plain loop trains through the session: counting, shapes, statistics, log."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import msgspec
import numpy as np
import pytest
from two_armed import ArmValues, rows

from ecs_rl.agents.base import Agent
from ecs_rl.errors import CommandError
from ecs_rl.runs import TrainingRun, read_checkpoint, section
from ecs_rl.session import EpisodeRecord, EpisodeStatus, Extra, Mean, StatsTracker, TrainingSession
from ecs_rl.spaces import ActMode, Decision, Experience, Floats
from ecs_rl.training.team import Team


def play_bandit(session: TrainingSession, seed: int = 0) -> None:
    random, observation = np.random.default_rng(seed), np.zeros(1, np.float32)
    while not session.is_done:
        arm = session.act(observation)
        reward = float(random.random() < (0.2, 0.8)[arm])
        session.observe(Experience(observation, arm, reward, observation, True, False))  # type: ignore[arg-type]
        session.on_episode(reward, 1, "Terminated", {"right": float(arm)})


def lines(path: Path) -> list[dict[str, Any]]:
    return [msgspec.json.decode(line) for line in path.read_bytes().splitlines()]


def test_a_ten_line_loop_learns_a_bandit_and_leaves_a_whole_run(tmp_path: Path) -> None:
    run = TrainingRun.create("bandit", runs_dir=tmp_path, scene="bandit")
    session = TrainingSession(ArmValues()).with_run(run).with_max_steps(600).with_checkpoint_every(100)
    play_bandit(session)
    session.close()
    assert session.act(np.zeros(1, np.float32), ActMode.GREEDY) == 1
    assert [path.name for path in sorted((run.path / "checkpoints").glob("[!m]*"))] == [
        "latest.safetensors",
        "step_400.safetensors",
        "step_500.safetensors",
        "step_600.safetensors",
    ]
    episodes = lines(run.path / "train_episodes.jsonl")
    assert len(episodes) == 600
    assert set(episodes[0]) == {"total_steps", "total_reward", "length", "status", "extras"}
    assert [row["total_steps"] for row in episodes] == list(range(1, 601))
    assert run.metadata.status == "finished"
    assert (run.metadata.total_steps, run.metadata.total_episodes, run.metadata.agent) == (600, 600, "arm-values")


def test_the_saved_policy_plays_like_the_trained_one(tmp_path: Path) -> None:
    session = TrainingSession(ArmValues()).with_run(TrainingRun.create("bandit", runs_dir=tmp_path)).with_max_steps(50)
    play_bandit(session)
    session.close()
    manifest, tensors = read_checkpoint(session.run.latest_checkpoint())  # type: ignore[union-attr, arg-type]
    again = ArmValues()
    again.load_policy_state(section(tensors, "policy"))
    assert again.parameters_sha256() == session.agent.parameters_sha256()
    assert [entry.spec() for entry in manifest.policies] == [ArmValues.spec]


def test_a_single_transition_reaches_the_agent_as_one_row() -> None:
    agent = ArmValues()
    agent.learn = lambda progress: iter(())  # type: ignore[method-assign]  # keeps the batches
    session = TrainingSession(agent)
    session.observe(Experience(np.zeros(3), np.int64(1), 0.5, np.ones(3), False, True, True))  # type: ignore[arg-type]
    batch = agent.batches[0]
    assert batch.observation.shape == batch.next_observation.shape == (1, 3)
    assert batch.action.shape == batch.reward.shape == batch.terminated.shape == batch.truncated.shape == (1,)
    assert batch.valid is not None
    assert batch.valid.shape == (1,)
    assert batch.reward.dtype == np.float32
    assert batch.truncated.dtype == np.bool_
    assert batch.truncated[0]
    assert session.total_steps == 1


def test_a_single_continuous_action_keeps_its_own_dimension() -> None:
    agent = ArmValues()
    agent.act = lambda *told: Decision(np.tile([0.5, -0.5], (len(told[0]), 1)))  # type: ignore[method-assign]
    session = TrainingSession(agent)
    assert session.act([0.0, 1.0]).tolist() == [0.5, -0.5]
    assert session.act(np.zeros((3, 2))).shape == (3, 2)
    session.observe(Experience(np.zeros(2), np.array([0.5, -0.5]), 1.0, np.zeros(2), True, False))  # type: ignore[arg-type]
    assert session.total_steps == 1


def test_a_batch_reaches_the_agent_untouched_and_counts_its_rows() -> None:
    agent = ArmValues()
    session, batch = TrainingSession(agent), rows(64)
    session.record(batch)
    assert agent.batches[0] is batch
    assert session.total_steps == 64
    session.record(batch, steps=10)
    assert session.total_steps == 74


class Pair(ArmValues):
    """Stands for several policies in one world: takes and gives tuples."""

    seen: Any = None

    def act(self, observation: Any, mode: ActMode, state: Any = None) -> Any:
        return tuple(super(Pair, self).act(part, mode) for part in observation)

    def observe(self, experience: Any) -> None:
        self.seen = experience


def test_an_agent_of_several_policies_gets_its_tuples_as_they_are() -> None:
    agent = Pair()
    session = TrainingSession(agent)
    assert [len(part) for part in session.act((np.zeros((2, 1)), np.zeros((5, 1))))] == [2, 5]
    pair = (rows(2), rows(5))
    session.record(pair, steps=4)
    assert agent.seen is pair
    assert session.total_steps == 4
    with pytest.raises(ValueError, match="pass steps="):
        session.observe(pair)


def test_learning_is_told_how_far_the_run_is() -> None:
    agent = ArmValues()
    session = TrainingSession(agent).with_max_steps(100)
    for _ in range(3):
        session.observe(rows(40))
    assert agent.progress == [0.4, 0.8, 1.0]
    assert session.is_done


def test_without_max_steps_the_session_is_never_done() -> None:
    session = TrainingSession(ArmValues())
    session.observe(rows(1000))
    assert not session.is_done
    assert session.progress == 0.0


def test_learn_can_be_stopped_between_slices() -> None:
    agent = ArmValues()
    session = TrainingSession(agent)
    session.record(rows(1))
    session.record(rows(1))
    slices = session.learn()
    next(slices)
    assert float(agent.pulls.sum()) == 1
    assert len(list(slices)) == 1
    assert float(agent.pulls.sum()) == 2


@pytest.mark.parametrize("status", ["terminated", "", None, True, "Ended"])
def test_a_status_that_is_neither_of_the_two_is_refused(status: Any) -> None:
    session = TrainingSession(ArmValues())
    with pytest.raises(ValueError, match="'Terminated' or 'Truncated'"):
        session.on_episode(1.0, 1, status)
    assert session.total_episodes == 0


def test_statuses_may_be_strings_or_the_enum(tmp_path: Path) -> None:
    run = TrainingRun.create("bandit", runs_dir=tmp_path)
    session = TrainingSession(ArmValues()).with_run(run)
    session.on_episode(1.0, 1, EpisodeStatus.TRUNCATED)
    session.on_episode(1.0, 1, "Terminated")
    session.close()
    assert [row["status"] for row in lines(run.path / "train_episodes.jsonl")] == ["Truncated", "Terminated"]


class Curious(ArmValues):
    """An agent with something to say about each episode."""

    def episode_extras(self) -> dict[str, float]:
        return {"epsilon": 0.3, "shared": 2.0}


def test_the_agents_extras_win_over_the_environments_and_those_over_the_starts(tmp_path: Path) -> None:
    run = TrainingRun.create("bandit", runs_dir=tmp_path)
    session = TrainingSession(Curious()).with_run(run)
    session.on_episode_start({"level": 1.0, "wind": 5.0})
    session.on_episode(1.0, 1, "Terminated", {"shared": 1.0, "wind": 6.0})
    session.on_episode(1.0, 1, "Terminated")
    session.close()
    first, second = lines(run.path / "train_episodes.jsonl")
    assert first["extras"] == {"level": 1.0, "wind": 6.0, "shared": 2.0, "epsilon": 0.3}
    assert second["extras"] == {"shared": 2.0, "epsilon": 0.3}


def test_many_episodes_at_once_are_logged_and_counted_like_single_ones(tmp_path: Path) -> None:
    texts = []
    for bulk in (False, True):
        run = TrainingRun.create("bandit", runs_dir=tmp_path)
        session = TrainingSession(ArmValues()).with_run(run)
        if bulk:
            session.take([EpisodeRecord(1.0, 3, "Terminated", {"a": 1.0}), EpisodeRecord(2.0, 4, "Truncated")])
        else:
            session.on_episode(1.0, 3, "Terminated", {"a": 1.0})
            session.on_episode(2.0, 4, "Truncated")
        session.close()
        texts.append(((run.path / "train_episodes.jsonl").read_text(), session.stats_summary(), session.total_episodes))
    assert texts[0] == texts[1]
    assert texts[0][2] == 2


def test_own_statistics_replace_the_default_ones() -> None:
    session = TrainingSession(ArmValues()).with_stats(StatsTracker().with_stat("right", Extra("right"), Mean()))
    session.on_episode(1.0, 1, "Terminated", {"right": 1.0})
    session.on_episode(0.0, 1, "Terminated", {"right": 0.0})
    assert session.stats_summary() == {"right": 0.5}


def test_steps_per_second_are_counted_between_the_first_act_and_the_last_record(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock: Iterator[float] = iter([100.0, 102.0, 104.0])
    monkeypatch.setattr("ecs_rl.session.session.time.perf_counter", lambda: next(clock))
    session = TrainingSession(ArmValues())
    assert session.steps_per_sec == 0.0
    session.act(np.zeros(1))
    session.record(rows(50))
    session.record(rows(50))
    assert session.steps_per_sec == 25.0


@pytest.mark.parametrize("builder", ["with_max_steps", "with_checkpoint_every"])
def test_numbers_below_one_are_refused(builder: str) -> None:
    with pytest.raises(CommandError, match="use 1 or more"):
        getattr(TrainingSession(ArmValues()), builder)(0)


def test_fewer_than_no_checkpoints_cannot_be_kept() -> None:
    with pytest.raises(CommandError, match="use 0 or more"):
        TrainingSession(ArmValues()).with_keep_checkpoints(-1)


def test_importing_the_session_loads_neither_torch_nor_an_ecs() -> None:
    code = "import sys, ecs_rl.session, ecs_rl.runs; print({'torch', 'esper', 'pymunk', 'pygame'} & set(sys.modules))"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "set()"


class Counts(ArmValues):
    """Remembers for each row how often it has decided since its episode began, and chooses by that."""

    spec = replace(ArmValues.spec, state=1)

    def act(self, observation: Floats, mode: ActMode, state: Floats | None = None) -> Decision:
        before = np.zeros((len(observation), 1), np.float32) if state is None else state
        return Decision(before[:, 0].astype(np.int64), before + 1.0)


def test_a_plain_loop_remembers_for_the_agent_until_an_episode_ends() -> None:
    session = TrainingSession(Counts())
    seen = np.zeros((3, 1), np.float32)
    assert [session.act(seen).tolist() for _ in range(3)] == [[0, 0, 0], [1, 1, 1], [2, 2, 2]]
    over, valid = np.array([True, False, False]), np.array([True, True, False])
    none = np.zeros(3, bool)
    session.observe(Experience(seen, np.zeros(3, int), np.zeros(3, np.float32), seen, over, none, valid))
    assert session.act(seen).tolist() == [0, 3, 0]
    assert [int(session.act(np.zeros(1), ActMode.GREEDY)) for _ in range(2)] == [0, 1]
    session.on_eval_episode(1.0, 2, "Terminated")
    assert int(session.act(np.zeros(1), ActMode.GREEDY)) == 0
    assert session.act(seen).tolist() == [1, 4, 1]
    assert session.act(seen, ActMode.GREEDY).tolist() == [0, 0, 0]


def test_a_team_in_a_plain_loop_remembers_by_policy() -> None:
    class Other(Counts):
        spec = replace(Counts.spec, name="other")

    session = TrainingSession(cast(Agent, Team([Counts(), Other()])))
    parts = np.zeros((2, 1), np.float32), np.zeros((1, 1), np.float32)
    told = [session.act(parts) for _ in range(2)]
    assert [[each.tolist() for each in one] for one in told] == [[[0, 0], [0]], [[1, 1], [1]]]
