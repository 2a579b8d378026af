"""`play.py --save-data FILE` records what plays, and `train.py SCENE --offline FILE` learns from it without acting."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ecs_rl.commands.play import main as play
from ecs_rl.commands.train import main as train
from ecs_rl.loading import load_scene
from ecs_rl.runs import read_checkpoint
from ecs_rl.runs.demonstrations import Demonstrations, read_demonstrations, save_demonstrations
from ecs_rl.shipped import pilot_file
from ecs_rl.spaces import ActMode
from ecs_rl.training.playback import Player

SMALL = ("--agent", "iql", "--arenas", "16", "--eval-episodes", "4", "--eval-every", "400", "--iql.batch", "32")


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return data of the pilot of balance, three episodes."""
    path = tmp_path_factory.mktemp("data") / "balance.data"
    assert play(["balance", "--pilot", "--headless", "--episodes", "3", "--save-data", str(path)]) == 0
    return path


def last(capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(capsys.readouterr().out.splitlines()[-1])
    return found


def checkpoint(run: str) -> Path:
    return Path(run) / "checkpoints" / "latest.safetensors"


@pytest.mark.parametrize("scene", ["lander", "swingup"])
def test_data_is_what_the_policy_saw_did_and_earned(
    scene: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, pilot = tmp_path / "a.data", pilot_file(scene)
    assert pilot is not None
    line = [scene, "--pilot", "--headless", "--episodes", "4", "--seed", "50", "--json", "--save-data", str(path)]
    assert play(line) == 0
    returns = last(capsys)["returns"]
    found, player = read_demonstrations(path), Player.load(pilot)
    (agent,) = player.agents.values()
    records = player.play(4, 50, ActMode.GREEDY)
    assert [episode.seed for episode in found.episodes] == [50, 51, 52, 53]
    for episode, record, total in zip(found.episodes, records, returns, strict=True):
        assert (len(episode), episode.terminated) == (record.length, record.status == "Terminated")
        assert float(episode.reward.sum()) == pytest.approx(total, rel=1e-4)
        assert episode.result == record.result(player.scene.score)
        assert episode.imitated.all()
        decided = agent.spec.actions.clipped(agent.act(episode.observation, ActMode.GREEDY).action)
        np.testing.assert_allclose(decided, episode.action, atol=1e-5)
        for name, earned in episode.terms.items():
            assert float(earned.sum()) == pytest.approx(record.extras[name], rel=1e-3, abs=1e-3)
        assert set(episode.terms) == set(load_scene(scene).describe().agents[0].earns)


def test_the_same_command_gives_the_same_bytes_and_a_second_one_adds_to_the_file(tmp_path: Path) -> None:
    line = ["balance", "--pilot", "--headless", "--episodes", "2", "--stochastic", "--save-data"]
    one, two = tmp_path / "one.data", tmp_path / "two.data"
    for path in (one, two):
        assert play([*line, str(path)]) == 0
    assert one.read_bytes() == two.read_bytes()
    assert play([*line, str(two), "--seed", "7"]) == 0
    assert [episode.seed for episode in read_demonstrations(two).episodes] == [10_000, 10_001, 7, 8]


def test_only_the_side_that_is_asked_for_is_recorded_against_an_opponent(tmp_path: Path) -> None:
    path = tmp_path / "sumo.data"
    assert play(["sumo", "--headless", "--episodes", "3", "--against", "random", "--save-data", str(path)]) == 0
    found, first = read_demonstrations(path), load_scene("sumo").describe().agents[0]
    assert found.spec.name == first.policy
    assert len({episode.seed for episode in found.episodes}) == 3


@pytest.mark.parametrize(("scene", "sides"), [("balance", 1), ("swingup", 1), ("sumo", 2)])
def test_random_play_is_recorded_and_learned_from(
    scene: str, sides: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "random.data"
    line = [scene, "--checkpoint", "random", "--headless", "--episodes", "12", "--seed", "3", "--json"]
    assert play([*line, "--save-data", str(path)]) == 0
    report, recorded = last(capsys), read_demonstrations(path)
    assert (report["run"], report["checkpoint"], report["episodes"]) == (None, "random", 12)
    assert play(line) == 0
    assert last(capsys)["returns"] == report["returns"]
    assert [episode.seed for episode in recorded.episodes] == list(range(3, 15))
    assert all(set(e.terms) == set(load_scene(scene).describe().agents[0].earns) for e in recorded.episodes)
    if sides == 1:
        totals = [float(episode.reward.sum()) for episode in recorded.episodes]
        assert totals == pytest.approx(report["returns"], rel=1e-4)
    whole = np.concatenate([episode.action for episode in recorded.episodes]).astype(np.float64)
    first = whole.reshape(len(whole), -1)[:, 0]  # a choice of two, or a lever
    least, middle, most = (0.0, 0.5, 1.0) if scene == "balance" else (-1.0, 0.0, 1.0)
    assert abs(first.mean() - middle) < 4 * first.std() / np.sqrt(len(first))
    assert first.min() == pytest.approx(least, abs=0.05)
    assert first.max() == pytest.approx(most, abs=0.05)
    there = ("--offline", str(path), "--steps", "64", "--runs", str(tmp_path / "runs"), "--json")
    assert train([scene, *SMALL, *there]) == 0


def test_a_run_learns_from_data_without_acting_and_resumes_exactly(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    line = ("balance", *SMALL, "--offline", str(data), "--runs", str(tmp_path / "runs"), "--json")
    schedule = ("--schedule-steps", "1200", "--checkpoint-every", "400")
    assert train([*line, *schedule, "--steps", "1200", "--name", "whole"]) == 0
    whole = last(capsys)
    assert (whole["steps"], whole["episodes"], whole["seconds_in"]["simulate"]) == (1200, 0, 0.0)
    assert train([*line, *schedule, "--steps", "600", "--name", "half"]) == 0
    half = last(capsys)
    assert half["steps"] == 608
    there = ("--runs", str(tmp_path / "runs"), "--json")
    assert train(["balance", "--name", "half", "--resume", half["run"], "--steps", "1200", *there]) == 0
    assert last(capsys)["params_sha256"] == whole["params_sha256"]
    rows = [json.loads(row) for row in (Path(whole["run"]) / "eval_episodes.jsonl").read_text().splitlines()]
    assert sorted({row["total_steps_at_eval"] for row in rows}) == [400, 800, 1200]
    assert play([whole["run"], "--headless", "--episodes", "2", "--json"]) == 0
    assert last(capsys)["episodes"] == 2


def test_a_run_from_data_goes_on_by_acting(data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    there = ("--runs", str(tmp_path), "--json")
    assert train(["balance", *SMALL, "--offline", str(data), "--steps", "320", *there]) == 0
    best = str(checkpoint(last(capsys)["run"]))
    assert train(["balance", *SMALL, "--init-from", best, "--steps", "320", "--iql.warm-up", "64", *there]) == 0
    assert last(capsys)["seconds_in"]["simulate"] > 0.0


@pytest.mark.parametrize("agent", ["iql", "dqn", "sac"])
def test_recorded_data_stays_in_the_memory_of_a_run_that_acts(
    agent: str, data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    small = ("--arenas", "16", "--eval-episodes", "2", f"--{agent}.warm-up", "64", f"--{agent}.memory", "4000")
    there = ("--runs", str(tmp_path), "--schedule-steps", "4800", "--json")
    line = ["balance", "--agent", agent, *small, "--remember", str(data), *there]
    assert train([*line, "--steps", "4800", "--name", "whole"]) == 0
    whole = last(capsys)
    assert whole["seconds_in"]["simulate"] > 0.0
    assert json.loads((Path(whole["run"]) / "config.json").read_text())["remember"] == str(data)
    rows = read_checkpoint(checkpoint(whole["run"]))[1]["agent/memory/rows"]
    assert len(rows) == 4000  # more than that was seen: what it did itself has been overwritten
    recorded = np.concatenate(
        [e.observation[: len(e) - (not e.terminated)] for e in read_demonstrations(data).episodes]
    )
    np.testing.assert_array_equal(rows[: len(recorded), : recorded.shape[1]].numpy(), recorded)
    assert train([*line, "--steps", "2400", "--name", "half"]) == 0
    half = last(capsys)["run"]
    again = ["balance", "--name", "half", "--resume", half, "--steps", "4800", "--runs", str(tmp_path), "--json"]
    assert train(again) == 0
    assert last(capsys)["params_sha256"] == whole["params_sha256"]
    assert json.loads((Path(half) / "config.json").read_text())["remember"] == str(data)


@pytest.mark.parametrize(("agent", "scene"), [("dqn", "balance"), ("sac", "balance"), ("td3", "swingup")])
def test_other_learners_from_a_memory_learn_from_data_too(
    agent: str, scene: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = str(tmp_path / "random.data")
    assert play([scene, "--checkpoint", "random", "--headless", "--episodes", "3", "--save-data", data]) == 0
    there = ("--runs", str(tmp_path), "--json", "--arenas", "16", "--eval-episodes", "2", "--schedule-steps", "160")
    line = [scene, "--agent", agent, "--offline", data, *there]
    assert train([*line, "--steps", "160", "--name", "whole"]) == 0
    whole = last(capsys)
    assert (whole["steps"], whole["episodes"]) == (160, 0)
    assert json.loads((Path(whole["run"]) / "config.json").read_text())["offline"] == data
    assert train([*line, "--steps", "80", "--name", "half"]) == 0
    half = last(capsys)
    assert half["params_sha256"] != whole["params_sha256"]
    again = ("--name", "half", "--resume", half["run"], "--steps", "160", "--runs", str(tmp_path), "--json")
    assert train([scene, *again]) == 0
    assert last(capsys)["params_sha256"] == whole["params_sha256"]


def test_data_that_cannot_be_used_is_refused_in_one_message_and_leaves_no_run(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    damaged, empty, runs = tmp_path / "damaged.data", tmp_path / "empty.data", tmp_path / "runs"
    whole = data.read_bytes()
    damaged.write_bytes(whole[:-200] + bytes(200))
    stored = read_demonstrations(data)
    save_demonstrations(empty, Demonstrations(stored.scene, stored.scene_sha256, stored.spec))
    other = tmp_path / "other.data"
    save_demonstrations(other, replace(stored, spec=replace(stored.spec, name="fox")))
    one_tick, first = tmp_path / "one tick.data", stored.episodes[0]
    parts = {part: getattr(first, part)[:1].copy() for part in ("observation", "action", "reward", "imitated")}
    cut = replace(first, **parts, terms={}, terminated=False)
    save_demonstrations(one_tick, replace(stored, episodes=(cut,)))
    cases: list[tuple[tuple[str, ...], int, str]] = [
        (("lander", "--agent", "iql", "--offline", str(data)), 3, "does not fit the scene 'lander'"),
        (("balance", "--agent", "iql", "--offline", str(damaged)), 3, "take a copy of it"),
        (("balance", "--agent", "iql", "--offline", str(empty)), 3, "holds no decision"),
        (("balance", "--agent", "iql", "--offline", str(one_tick)), 3, "holds no decision whose result is known"),
        (("balance", "--agent", "iql", "--offline", str(other)), 3, "the policy 'fox'"),
        (("balance", "--agent", "iql", "--offline", str(tmp_path / "none")), 3, "--offline: there is no data"),
        (("balance", "--agent", "ppo", "--offline", str(data)), 2, "take --agent iql"),
        (("balance", "--agent", "iql", "--offline", str(data), "--workers", "2"), 2, "leave --workers out"),
        (("balance", "--agent", "iql", "--offline", str(data), "--iql.memory", "100"), 2, "add --iql.memory"),
        (("balance", "--agent", "iql", "--remember", str(data), "--iql.memory", "2000"), 2, "its memory holds 1,000"),
        (("balance", "--agent", "ppo", "--remember", str(data)), 2, "leave --remember out"),
        (("balance", "--agent", "iql", "--remember", str(data), "--workers", "2"), 2, "leave --workers out"),
        (("balance", "--agent", "iql", "--remember", str(data), "--offline", str(data)), 2, "leave one of them out"),
        (("balance", "--agent", "iql", "--remember", str(tmp_path / "none")), 3, "--remember: there is no data"),
        (("lander", "--agent", "iql", "--remember", str(data)), 3, "does not fit the scene 'lander'"),
    ]
    for line, code, words in cases:
        assert train([*line, "--runs", str(runs)]) == code, line
        err = capsys.readouterr().err
        assert words in err
        assert len(err.strip().splitlines()) == 1
        assert not runs.exists() or not list(runs.rglob("config.json"))


def test_a_run_keeps_its_data(data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    there = ("--runs", str(tmp_path), "--json")
    assert train(["balance", *SMALL, "--offline", str(data), "--steps", "160", *there]) == 0
    run = last(capsys)["run"]
    assert train(["balance", "--resume", run, "--offline", "other.data", *there]) == 2
    assert "--offline is other.data, and" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (("--compare", "pilot"), "leave --compare out"),
        (("--human", "--save-demo", "a.demo"), "leave one of them out"),
        (("--human", "--minari", "a/b-v0"), "leave --human out"),
        (("--checkpoint", "random"), "add --headless"),
        (("--checkpoint", "random", "--headless", "--against", "random"), "leave --against"),
        (("--checkpoint", "random", "--headless", "--scene", "runs"), "name the scene"),
    ],
)
def test_what_cannot_be_recorded_is_refused(
    more: tuple[str, ...], words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert play(["balance", *more, "--save-data", str(tmp_path / "a.data")]) == 2
    assert words in capsys.readouterr().err
    assert not (tmp_path / "a.data").exists()


def test_data_of_another_scene_is_not_added_to_and_nothing_is_lost(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, before = tmp_path / "a.data", data.read_bytes()
    path.write_bytes(before)
    assert play(["lander", "--pilot", "--headless", "--episodes", "1", "--save-data", str(path)]) == 3
    assert "does not fit the scene 'lander'" in capsys.readouterr().err
    assert path.read_bytes() == before
