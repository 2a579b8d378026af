"""`play.py RUN --export pilot.onnx`: what the file decides is what the agent decides, and it says what it is."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pilot_files import KINDS, LEVERS, MIXED, PPO, checkpoint, observations, wild_agent, write

from ecs_rl.agents import ActMode, make_agent
from ecs_rl.commands.play import main as play

onnx = pytest.importorskip("onnx", reason="needs the extra onnx")
runtime = pytest.importorskip("onnxruntime", reason="needs the extra onnx")

SEEN = 1_000


def exported(path: Path) -> Any:
    """Export a checkpoint, and return a session that runs the file."""
    out = path.with_suffix(".onnx")
    assert play([str(path), "--export", str(out)]) == 0
    options = runtime.SessionOptions()
    options.log_severity_level = 3
    return runtime.InferenceSession(str(out), options, providers=["CPUExecutionProvider"])


@pytest.mark.parametrize("kind", KINDS)
def test_the_file_does_what_the_agent_does_on_a_thousand_observations(kind: str, tmp_path: Path) -> None:
    path, agent = checkpoint(tmp_path / "a.safetensors", kind)
    session, seen = exported(path), observations(agent.spec, SEEN)
    state = np.random.default_rng(0).uniform(-1, 1, (SEEN, agent.spec.state)).astype(np.float32)
    shown = {"observation": seen}
    if agent.spec.state:
        remembers = session.get_inputs()[1].shape[1]
        shown["state"] = state[:, :remembers]
    told = dict(zip([each.name for each in session.get_outputs()], session.run(None, shown), strict=True))
    decision = agent.act(seen, ActMode.GREEDY, state if agent.spec.state else None)
    for part, column in columns_of(agent):
        one, other = (each if each.ndim == 1 else each[:, column] for each in (told["action"], decision.action))
        np.testing.assert_allclose(one, np.clip(other, -1, 1) if part == "lever" else other, atol=2e-5)
    assert told["action"].dtype == decision.action.dtype
    if decision.state is not None:
        np.testing.assert_allclose(told["next_state"], decision.state[:, :remembers], atol=2e-5)


def columns_of(agent: Any) -> list[tuple[str, int]]:
    kinds = ["lever" if "-1 to 1" in what else "choice" for what in agent.spec.actions.about.values()]
    return list(zip(kinds, range(len(kinds)), strict=True))


def test_the_metadata_says_what_is_seen_and_done(tmp_path: Path) -> None:
    path, agent = checkpoint(tmp_path / "a.safetensors", "ppo mixture")
    session = exported(path)
    about = session.get_modelmeta().custom_metadata_map
    assert json.loads(about["observation"]) == list(agent.spec.observations)
    assert json.loads(about["action"]) == ["gas", "steer", "brake", "lift"]
    assert json.loads(about["options"]) == {"steer": ["left", "stay", "right"]}
    assert (about["scene"], about["agent"], about["step"]) == ("nowhere.py", "ppo", "5000")
    assert [(each.name, each.shape) for each in session.get_inputs()] == [("observation", ["rows", 3])]
    assert [(each.name, each.shape) for each in session.get_outputs()] == [("action", ["rows", 4])]


def test_several_policies_stand_in_one_file_by_their_names(tmp_path: Path) -> None:
    agents = [wild_agent("ppo levers", seed, name) for seed, name in enumerate(("red", "blue"))]
    path = write(tmp_path / "two.safetensors", agents, {"ppo": {"hidden": [16, 12], "activation": "relu"}})
    session, seen = exported(path), observations(agents[0].spec, 20)
    assert [each.name for each in session.get_inputs()] == ["red/observation", "blue/observation"]
    told = session.run(["red/action", "blue/action"], {"red/observation": seen, "blue/observation": -seen})
    for agent, rows, action in zip(agents, (seen, -seen), told, strict=True):
        wanted = np.clip(agent.act(rows, ActMode.GREEDY).action, -1, 1)
        np.testing.assert_allclose(action, wanted, atol=2e-5)
    assert json.loads(session.get_modelmeta().custom_metadata_map["blue/observation"]) == ["x", "y", "z"]


def test_each_policy_takes_as_many_rows_and_numbers_as_it_has(tmp_path: Path) -> None:
    spec = replace(LEVERS, observations=("x", "y", "z", "near", "far"), name="fish")
    config = replace(PPO, hidden=(16, 12))
    fish = make_agent("ppo", spec, config, seed=0, rows=1)
    shark = make_agent("ppo", replace(MIXED, name="shark"), config, seed=1, rows=1)
    session = exported(write(tmp_path / "two.safetensors", [fish, shark], {"ppo": asdict(config)}))
    rows = {"fish": observations(fish.spec, 12), "shark": observations(shark.spec, 8)}
    told = session.run(["fish/action", "shark/action"], {f"{name}/observation": seen for name, seen in rows.items()})
    for agent, action in zip((fish, shark), told, strict=True):
        wanted = agent.spec.actions.clipped(agent.act(rows[agent.spec.name], ActMode.GREEDY).action)
        np.testing.assert_allclose(action, wanted, atol=2e-5)


@pytest.mark.parametrize(("bytes_", "code"), [(255, 0), (256, 4)])
def test_a_name_may_be_as_long_as_the_file_system_takes(
    bytes_: int, code: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, _ = checkpoint(tmp_path / "a.safetensors", "dqn")
    out = tmp_path / f"{'n' * (bytes_ - len('.onnx'))}.onnx"
    assert play([str(path), "--export", str(out)]) == code
    assert [each.name for each in tmp_path.glob("*.onnx")] == ([out.name] if code == 0 else [])
    assert [each.name for each in tmp_path.iterdir() if each.suffix == ".tmp"] == []
    assert ("File name too long; choose a shorter name" in capsys.readouterr().err) == (code == 4)


def test_what_was_written_is_told_in_words_or_as_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, _ = checkpoint(tmp_path / "a.safetensors", "dqn")
    out = tmp_path / "b.onnx"
    assert play([str(path), "--export", str(out)]) == 0
    assert capsys.readouterr().out == f"written: {out}: 3 numbers to left, stay, right\n"
    assert play([str(path), "--export", str(out), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told == {"checkpoint": str(path), "step": 5_000, "export": str(out), "policies": ["policy"]}


@pytest.mark.parametrize(
    ("more", "code", "told"),
    [
        (["--export", "pilot.txt"], 2, "--export must be a path that ends in .onnx"),
        (["--export", "a.onnx", "--record", "a.gif"], 2, "--export plays nothing: leave out --record"),
        (["--export", "a.onnx", "--compare", "best"], 2, "--export plays nothing: leave out --compare"),
        (["--export", "nowhere/a.onnx"], 4, "cannot write nowhere/a.onnx: No such file or directory"),
    ],
)
def test_what_cannot_be_exported_is_told(
    more: list[str], code: int, told: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, _ = checkpoint(tmp_path / "a.safetensors", "dqn")
    assert play([str(path), *more]) == code
    assert told in capsys.readouterr().err


def test_a_module_of_ones_own_is_refused_in_a_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write(tmp_path / "a.safetensors", [wild_agent("ppo choice")], {"ppo": {"network": "mine.py:Residual"}})
    assert play([str(path), "--export", str(tmp_path / "a.onnx")]) == 3
    assert "has the network 'mine.py:Residual', and a pilot knows mlp, gru, conv" in capsys.readouterr().err
    assert not list(tmp_path.glob("*onnx*"))


def test_without_the_extra_it_says_how_to_get_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path, _ = checkpoint(tmp_path / "a.safetensors", "dqn")
    monkeypatch.setitem(sys.modules, "onnx", None)
    for module in ("ecs_rl.pilots.onnx_file", "ecs_rl.tasks.export"):
        monkeypatch.delitem(sys.modules, module, raising=False)
    assert play([str(path), "--export", str(tmp_path / "a.onnx")]) == 2
    assert "ONNX files need the package onnx: python -m pip install 'ecs-rl[onnx]'" in capsys.readouterr().err
