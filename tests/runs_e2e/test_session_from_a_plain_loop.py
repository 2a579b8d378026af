"""The library as in contract.md, in loops that know no world: a bandit that is learnt and a tiny cart."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from command_runs import metadata, rows

import ecs_rl
from ecs_rl.agents import (
    ActMode,
    Composed,
    Continuous,
    Discrete,
    DQNConfig,
    Experience,
    PolicySpec,
    PPOConfig,
    make_agent,
)
from ecs_rl.runs import TrainingRun, read_manifest
from ecs_rl.session import EpisodeStatus, Extra, Last, Length, Max, Mean, StatsTracker, TotalReward, TrainingSession


def test_a_bandit_is_learnt_in_ten_lines() -> None:
    config = DQNConfig(warm_up=50, learn_every=2, epsilon_steps=400, lr=5e-3, hidden=(16,), batch=32)
    agent = make_agent("dqn", PolicySpec(("hint",), Discrete(("left", "right"))), config, seed=0, rows=1)
    session = TrainingSession(agent).with_max_steps(800)
    random = np.random.default_rng(0)
    while not session.is_done:
        hint = random.choice([-1.0, 1.0], 1)
        action = session.act(hint, ActMode.EXPLORE)
        reward = float(action == (hint[0] > 0))
        session.observe(Experience(hint, action, reward, hint, True, False))  # type: ignore[arg-type]
        session.on_episode(reward, 1, "Terminated")
    assert session.total_steps == 800
    assert [int(session.act(np.array([hint]), ActMode.GREEDY)) for hint in (-1.0, 1.0)] == [0, 1]
    assert session.stats_summary()["mean_return"] > 0.85


def test_a_mixture_is_learnt_in_a_plain_loop() -> None:
    """Say on which side the hint lies, how far out, and whether it is far to the right."""
    space = Composed((Discrete(("left", "right"), "side"), Continuous(("how far",)), Discrete(("off", "on"), "far")))
    config = PPOConfig(rollout=64, minibatch=64, lr=5e-3, hidden=(16,), normalise_rewards=False)
    session = TrainingSession(make_agent("ppo", PolicySpec(("hint",), space), config, seed=0, rows=1))
    session.with_max_steps(9_000)
    random = np.random.default_rng(0)
    while not session.is_done:
        hint = random.uniform(-1.0, 1.0, 1)
        action = session.act(hint, ActMode.EXPLORE)
        assert (action.shape, action.dtype) == ((3,), np.dtype(np.float32))
        side, far = action[0] == (hint[0] > 0), action[2] == (hint[0] > 0.4)
        reward = float(side) + float(far) - (action[1] - hint[0]) ** 2
        session.observe(Experience(hint, action, reward, hint, True, False))  # type: ignore[arg-type]
        session.on_episode(reward, 1, "Terminated")
    hints = np.array([[-0.9], [-0.25], [0.25], [0.9]], np.float32)
    found = session.act(hints, ActMode.GREEDY)
    assert found[:, 0].tolist() == [0, 0, 1, 1]
    assert found[:, 1] == pytest.approx(hints[:, 0], abs=0.2)
    assert found[:, 2].tolist() == [0, 0, 0, 1]


class Cart:
    """Stay near the middle of a line by pushing left or right."""

    def __init__(self, seed: int) -> None:
        self.random = np.random.default_rng(seed)
        self.reset()

    def reset(self) -> None:
        self.x, self.v = self.random.uniform(-0.5, 0.5, 2)
        self.steps = 0

    @property
    def seen(self) -> np.ndarray:
        return np.array([self.x, self.v], np.float32)

    def step(self, action: int) -> tuple[float, bool, bool]:
        self.v += 0.1 if action else -0.1
        self.x += 0.1 * self.v
        self.steps += 1
        return 1.0 - abs(self.x), bool(abs(self.x) > 1), self.steps == 40


def drive(session: TrainingSession, cart: Cart) -> None:
    total, before = 0.0, cart.seen
    action = session.act(before, ActMode.EXPLORE)
    while True:
        reward, terminated, truncated = cart.step(int(action))
        truncated = truncated and not terminated
        total += reward
        session.observe(Experience(before, action, reward, cart.seen, terminated, truncated))  # type: ignore[arg-type]
        if terminated or truncated:
            status = EpisodeStatus.TERMINATED if terminated else EpisodeStatus.TRUNCATED
            session.on_episode(total, cart.steps, status, {"way": abs(cart.x)})
            cart.reset()
            return
        before = cart.seen
        action = session.act(before, ActMode.EXPLORE)


def evaluate(session: TrainingSession, seeds: range) -> None:
    for seed in seeds:
        cart, total, ended = Cart(seed), 0.0, False
        while not ended:
            reward, terminated, truncated = cart.step(int(session.act(cart.seen, ActMode.GREEDY)))
            total, ended = total + reward, terminated or truncated
        session.on_eval_episode(total, cart.steps, "Terminated" if terminated else "Truncated", seed=seed)


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> TrainingSession:
    spec = PolicySpec(("x", "v"), Discrete(("left", "right")))
    agent = make_agent("ppo", spec, PPOConfig(rollout=64, minibatch=32, epochs=4, hidden=(16,)), seed=3, rows=1)
    session = (
        TrainingSession(agent)
        .with_run(TrainingRun.create("cart", "v1", tmp_path_factory.mktemp("library")))
        .with_max_steps(1_500)
        .with_checkpoint_every(400)
        .with_keep_checkpoints(2)
        .with_stats(
            StatsTracker()
            .with_stat("mean return", TotalReward(), Mean())
            .with_stat("longest", Length(), Max())
            .with_stat("way", Extra("way"), Last())
        )
    )
    cart, next_exam = Cart(1), 500
    while not session.is_done:
        session.on_episode_start({"level": 1.0})
        drive(session, cart)
        if session.total_steps >= next_exam:
            next_exam += 500
            evaluate(session, range(3))
            session.maybe_save_best()
    session.close()
    return session


def run_of(session: TrainingSession) -> TrainingRun:
    assert session.run is not None
    return session.run


def test_the_session_counts_and_measures(session: TrainingSession) -> None:
    assert session.is_done
    assert 1_500 <= session.total_steps < 1_540
    assert session.steps_per_sec > 0
    summary = session.stats_summary()
    assert summary.keys() == {"mean return", "longest", "way"}
    assert 0 < summary["longest"] <= 40
    report = session.eval_report()
    assert report is not None
    assert (report.episodes, report.total_steps_at_eval) == (3, session.total_steps)
    assert report.min_return <= report.mean_return <= report.max_return


def test_the_run_has_the_logs_of_the_loop(session: TrainingSession) -> None:
    run = run_of(session)
    episodes = rows(run.path, "train_episodes")
    assert sum(row["length"] for row in episodes) == session.total_steps
    assert all(row["extras"].keys() == {"level", "way"} for row in episodes)
    assert {row["status"] for row in episodes} <= {"Terminated", "Truncated"}
    marks = [(row["seed"], row["total_steps_at_eval"]) for row in rows(run.path, "eval_episodes")]
    assert [seed for seed, _ in marks] == [0, 1, 2] * 3
    known = metadata(run.path)
    assert (known["status"], known["total_steps"], known["agent"]) == ("finished", session.total_steps, "ppo")
    assert known["total_episodes"] == len(episodes)


def test_the_run_has_the_checkpoints_of_the_milestones(session: TrainingSession) -> None:
    run = run_of(session)
    last = session.total_steps
    kept = {path.name for path in (run.path / "checkpoints").iterdir() if "milestone" not in path.name}
    assert kept == {"best.safetensors", "latest.safetensors", "step_1500.safetensors", f"step_{last}.safetensors"}
    latest, best = run.latest_checkpoint(), run.best_checkpoint()
    assert latest is not None
    assert best is not None
    assert read_manifest(latest).step == last
    assert read_manifest(best).best_eval == session.best_eval
    assert read_manifest(latest).policies[0].observations == ("x", "v")


def test_a_pilot_can_be_made_of_the_run_for_it_says_how_the_agent_was_made(session: TrainingSession) -> None:
    best = run_of(session).best_checkpoint()
    assert best is not None
    config = read_manifest(best).config["ppo"]
    assert (config["hidden"], config["rollout"], config["activation"]) == ([16], 64, "tanh")
    assert json.loads((run_of(session).path / "config.json").read_text()) == {"ppo": config}
    pilots = [ecs_rl.load(run_of(session).path, backend=backend) for backend in ("torch", "numpy")]
    seen = np.random.default_rng(0).normal(size=(50, 2)).astype(np.float32)
    assert np.array_equal(*(pilot.act(seen) for pilot in pilots))
    assert pilots[0].act({"x": 0.9, "v": 0.5}) in (0, 1)


def test_settings_that_a_run_has_already_stay_as_they_are(tmp_path: Path) -> None:
    run = TrainingRun.create("cart", runs_dir=tmp_path)
    run.write_config({"level": 3})
    agent = make_agent("dqn", PolicySpec(("x",), Discrete(("left", "right"))), DQNConfig(), seed=0, rows=1)
    TrainingSession(agent).with_run(run)
    assert (run.config["level"], run.config["dqn"]["activation"]) == (3, "relu")
    run.write_config({"dqn": {"lr": 1.0}})
    TrainingSession(agent).with_run(run).close()
    assert run.config == {"dqn": {"lr": 1.0}}


def test_a_network_of_ones_own_is_told_by_its_name(tmp_path: Path) -> None:
    def wide(inputs: int, outputs: int, spec: object) -> torch.nn.Module:
        return torch.nn.Linear(inputs, outputs)

    spec, config = PolicySpec(("x",), Discrete(("left", "right"))), PPOConfig(network=wide, rollout=2)  # type: ignore[arg-type]
    run = TrainingRun.create("cart", runs_dir=tmp_path)
    TrainingSession(make_agent("ppo", spec, config, seed=0, rows=1)).with_run(run).close()
    assert run.config["ppo"]["network"] == "wide"
