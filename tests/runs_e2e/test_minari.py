"""Data sets of Minari, read and written through a stand-in that has its documented interface."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

from ecs_rl.adapters.minari_data import read_minari
from ecs_rl.agents import Continuous, Discrete, PolicySpec
from ecs_rl.commands.play import main as play
from ecs_rl.commands.train import main as train
from ecs_rl.errors import CheckpointError
from ecs_rl.runs.demonstrations import read_demonstrations


@dataclass
class EpisodeBuffer:
    """As `minari.data_collector.EpisodeBuffer`."""

    id: int | None = None
    seed: int | None = None
    observations: Any = None
    actions: Any = None
    rewards: list[float] = field(default_factory=list)
    terminations: list[bool] = field(default_factory=list)
    truncations: list[bool] = field(default_factory=list)


@pytest.fixture
def sets(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Put the stand-in in the package's place; return its data sets by name."""
    there: dict[str, Any] = {}
    minari, collector = ModuleType("minari"), ModuleType("minari.data_collector")

    def load_dataset(name: str) -> Any:
        if name not in there:
            raise FileNotFoundError(name)
        return there[name]

    def create(name: str, buffer: list[EpisodeBuffer], *, action_space: Any, observation_space: Any) -> None:
        if name in there:
            raise ValueError(f"A Minari dataset with ID {name} already exists")
        assert observation_space.contains(buffer[0].observations[0])
        there[name] = SimpleNamespace(action_space=action_space, iterate_episodes=lambda: iter(buffer))

    vars(minari).update(load_dataset=load_dataset, create_dataset_from_buffers=create, data_collector=collector)
    vars(collector).update(EpisodeBuffer=EpisodeBuffer)
    monkeypatch.setitem(sys.modules, "minari", minari)
    monkeypatch.setitem(sys.modules, "minari.data_collector", collector)
    return there


@pytest.mark.parametrize("scene", ["lander", "swingup"])
def test_what_is_written_is_read_again_and_learned_from(
    scene: str, sets: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "a.data"
    line = [scene, "--pilot", "--headless", "--episodes", "2", "--save-data", str(path), "--minari", f"{scene}/a-v0"]
    assert play(line) == 0
    stored = read_demonstrations(path)
    read = read_minari(f"{scene}/a-v0", stored.spec)
    for one, other in zip(stored.episodes, read, strict=True):
        np.testing.assert_array_equal(one.observation, other.observation)
        np.testing.assert_allclose(one.action, other.action, atol=1e-6)
        np.testing.assert_array_equal(one.reward, other.reward)
        assert one.terminated == other.terminated
    line = [scene, "--agent", "iql", "--minari", f"{scene}/a-v0", "--steps", "64", "--arenas", "16"]
    assert train([*line, "--eval-episodes", "2", "--runs", str(tmp_path / "runs"), "--json"]) == 0
    found = capsys.readouterr()
    assert "learns from 2 episodes" in found.err
    assert json.loads(found.out.splitlines()[-1])["steps"] == 64


def test_levers_are_scaled_from_the_bounds_of_the_data_set(sets: dict[str, Any]) -> None:
    space = SimpleNamespace(low=np.array([0.0], np.float32), high=np.array([4.0], np.float32))
    actions = np.array([[0.0], [1.0], [4.0]], np.float32)
    one = EpisodeBuffer(0, 0, np.zeros((4, 2), np.float32), actions, [1.0, 2.0, 3.0], [False] * 3, [False, False, True])
    sets["a"] = SimpleNamespace(action_space=space, iterate_episodes=lambda: iter([one]))
    (episode,) = read_minari("a", PolicySpec(("x", "y"), Continuous(("push",))))
    assert episode.action[:, 0].tolist() == [-1.0, -0.5, 1.0]
    assert (episode.result, episode.terminated, len(episode.observation)) == (6.0, False, 3)


def test_data_of_another_scene_is_refused(sets: dict[str, Any]) -> None:
    one = EpisodeBuffer(0, 0, np.zeros((2, 2), np.float32), np.array([3]), [1.0], [True], [False])
    sets["a"] = SimpleNamespace(action_space=object(), iterate_episodes=lambda: iter([one]))
    with pytest.raises(CheckpointError, match="it does not do what the scene does"):
        read_minari("a", PolicySpec(("x", "y"), Discrete(("a", "b"))))
    with pytest.raises(CheckpointError, match=r"it sees \(2,\) numbers, and the scene 3"):
        read_minari("a", PolicySpec(("x", "y", "z"), Discrete(("a", "b"))))


def test_a_name_that_is_not_there_or_taken_and_a_missing_package_are_one_message(
    sets: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    runs, path = ("--runs", str(tmp_path / "runs")), str(tmp_path / "a.data")
    save = ["lander", "--pilot", "--headless", "--episodes", "1", "--save-data", path, "--minari", "a-v0"]
    learn = ["lander", "--agent", "iql", "--minari", "b-v0", *runs]
    assert play(save) == 0
    cases = [(train, learn, 3, "minari download b-v0"), (play, save, 2, "already exists")]
    cases += [(train, [*learn, "--offline", path], 2, "exclude each other")]
    cases += [(play, ["lander", "--pilot", "--headless", "--minari", "a"], 2, "add --save-data FILE")]
    for command, line, code, words in cases:
        capsys.readouterr()
        assert command(line) == code
        assert words in capsys.readouterr().err
    monkeypatch.setitem(sys.modules, "minari.data_collector", None)
    assert train(learn) == 2
    assert "pip install 'ecs-rl[minari]'" in capsys.readouterr().err
    assert not (tmp_path / "runs").exists()
