"""What a pilot is asked and told: names, arrays, batches, memory, and one clear message for what cannot be."""

from __future__ import annotations

import hashlib
import json
import re
import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from pilot_files import CHOICE, KINDS, PPO, checkpoint, observations, wild_agent, write

import ecs_rl
from ecs_rl import shipped
from ecs_rl.agents import ActMode, Decision, make_agent
from ecs_rl.commands.train import main as train
from ecs_rl.errors import CheckpointError, CommandError, EcsRlError, ObservationError
from ecs_rl.pilots.pilot import Pilot
from ecs_rl.runs import TrainingRun
from ecs_rl.session import TrainingSession
from ecs_rl.testing.transitions import some_experience

BACKENDS = ("torch", "numpy")


@pytest.fixture(params=BACKENDS)
def backend(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def pilot_of(folder: Path, kind: str, backend: str) -> Pilot:
    return ecs_rl.load(checkpoint(folder / "a.safetensors", kind)[0], backend=backend)


def test_numbers_by_name_in_any_order_an_array_and_a_row_of_a_batch_are_the_same(tmp_path: Path, backend: str) -> None:
    pilot = pilot_of(tmp_path, "ppo levers", backend)
    seen = observations(pilot.spec, 30)
    by_name = {name: float(number) for name, number in zip("zyx", seen[3][::-1], strict=True)}
    one, batch = pilot.act(by_name), pilot.act(seen)
    assert one.shape == (2,)
    assert batch.shape == (30, 2)
    np.testing.assert_allclose(one, batch[3], atol=1e-5)
    np.testing.assert_allclose(pilot.act(seen[3].tolist()), one)
    np.testing.assert_allclose(pilot.act({name: seen[:, i] for i, name in enumerate("xyz")}), batch, atol=1e-5)
    assert np.abs(batch).max() == 1.0, "what is further out is cut off there"
    assert pilot.act(seen[:0]).shape == (0, 2)


def test_it_tells_what_it_sees_and_does_and_where_it_comes_from(tmp_path: Path, backend: str) -> None:
    choice, mixture = pilot_of(tmp_path, "ppo choice", backend), pilot_of(tmp_path, "ppo mixture", backend)
    assert choice.observations == ("x", "y", "z")
    assert choice.actions == ("left", "stay", "right")
    assert choice.options == {"choice": ("left", "stay", "right")}
    assert isinstance(choice.act([0, 0, 0]), int)
    assert mixture.actions == ("gas", "steer", "brake", "lift")
    assert mixture.options == {"steer": ("left", "stay", "right")}
    assert mixture.act([0, 0, 0]).shape == (4,)
    assert (mixture.scene, mixture.step) == ("nowhere.py", 5_000)


@pytest.mark.parametrize(
    ("seen", "told"),
    [
        ({"x": 0.0, "z": 0.0}, "this pilot sees 3 numbers: 'y' is missing"),
        ({"x": 0.0, "z": 0.0, "Y": 1.0}, "'y' is missing; 'Y' is unknown: there is: x, y, z"),
        ({"x": 0.0, "y": 0.0, "z": 0.0, "zz": 1.0}, "'zz' is unknown: did you mean 'z'?"),
        ({"x": 0.0, "y": float("nan"), "z": 0.0}, "'y' is nan, which is no finite number"),
        ({"x": 0.0, "y": "fast", "z": 0.0}, "could not convert string to float"),
        ({"x": 0.0, "y": None, "z": 0.0}, "'y' is nan"),
        ([0.0, 1e39, 0.0], "'y' is inf, which is no finite number of 32 bits"),
        (np.array([[0, 0, 0], [0, 0, -np.inf]]), "'z' of row 1 is -inf"),
        ([0.0, 0.0], "sees (3,) numbers, or (rows, 3) ('x', 'y', 'z'), not (2,)"),
        (np.zeros((3, 2)), "not (3, 2)"),
        (np.zeros((1, 1, 3)), "not (1, 1, 3)"),
        (0.0, "not ()"),
        ([[0.0, 0.0, 0.0], [0.0]], "an observation is numbers by name"),
    ],
)
def test_what_is_no_observation_is_told(seen: Any, told: str, tmp_path: Path) -> None:
    pilot = pilot_of(tmp_path, "ppo choice", "numpy")
    with pytest.raises(ObservationError) as caught:
        pilot.act(seen)
    assert told in str(caught.value)
    assert isinstance(caught.value, ValueError)


def test_huge_numbers_are_finite_all_the_same_and_nobody_warns(tmp_path: Path, backend: str) -> None:
    pilot = pilot_of(tmp_path, "ppo choice", backend)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert pilot.act([3e38, -3e38, 0]) in (0, 1, 2)


def test_it_remembers_from_call_to_call_and_forgets_where_it_is_told_to(tmp_path: Path, backend: str) -> None:
    path, agent = checkpoint(tmp_path / "a.safetensors", "gru shared")
    pilot, seen = ecs_rl.load(path, backend=backend), observations(agent.spec, 5)
    state = np.zeros((5, agent.spec.state), np.float32)
    for tick in range(6):
        if tick == 3:
            pilot.reset([True, False, False, True, False])
            state[[0, 3]] = 0.0
        decision = agent.act(seen, ActMode.GREEDY, state)
        np.testing.assert_allclose(pilot.act(seen)[:, 0], np.clip(decision.action[:, 0], -1, 1), atol=2e-5)
        assert decision.state is not None
        state = decision.state
    with pytest.raises(ObservationError, match=r"remembers 5 rows and was shown 1: call reset\(\)"):
        pilot.act(seen[0])
    with pytest.raises(ObservationError, match="reset takes 5 truths"):
        pilot.reset([True])
    pilot.reset()
    first = pilot.act(seen[0])
    assert not np.array_equal(first, pilot.act(seen[0])), "the second time it remembers the first"
    pilot.reset()
    assert np.array_equal(first, pilot.act(seen[0]))


def test_of_several_policies_one_is_chosen_by_name(tmp_path: Path, backend: str) -> None:
    agents = [wild_agent("ppo choice", seed, name) for seed, name in enumerate(("red", "blue"))]
    path = write(tmp_path / "two.safetensors", agents, {"ppo": {"hidden": [16, 12]}})
    seen = observations(CHOICE, 50)
    for agent in agents:
        found = ecs_rl.load(path, backend=backend, policy=agent.spec.name)
        assert np.array_equal(found.act(seen), agent.act(seen, ActMode.GREEDY).action)
    with pytest.raises(CommandError, match=r"several policies: choose one with policy=NAME \(there is: red, blue\)"):
        ecs_rl.load(path, backend=backend)
    with pytest.raises(CommandError, match="has no policy 'bleu': did you mean 'blue'"):
        ecs_rl.load(path, backend=backend, policy="bleu")


def test_of_a_run_without_an_evaluation_the_latest_policy_is_taken_with_a_word(tmp_path: Path, backend: str) -> None:
    run = TrainingRun.create("loop", runs_dir=tmp_path)
    agent = make_agent("ppo", CHOICE, PPO, seed=0, rows=1)
    session = TrainingSession(agent).with_run(run)
    seen = observations(CHOICE, 1)
    session.observe(some_experience(np.random.default_rng(0), seen, Decision(session.act(seen)), invalid=0.0))
    session.close()
    wanted = agent.act(seen, ActMode.GREEDY).action
    for source in (run.path, tmp_path / "loop"):
        with pytest.warns(
            UserWarning, match=r"has no best policy, as nothing was evaluated: this is its latest"
        ) as told:
            pilot = ecs_rl.load(source, backend=backend)
        assert [Path(each.filename).name for each in told] == ["test_pilot_calls.py"]
        assert (pilot.path.name, pilot.act(seen).tolist()) == ("latest.safetensors", wanted.tolist())
    with pytest.raises(CheckpointError, match="has no checkpoint 'best_red': name one of 1, latest"):
        ecs_rl.load(run.path, backend=backend, checkpoint="best_red")


def test_a_run_is_named_as_everywhere_else_and_its_scene_may_be_gone(tmp_path: Path, backend: str) -> None:
    runs = tmp_path / "runs"
    small = "--steps 3k --arenas 8 --eval-every 1k --eval-episodes 2 --ppo.rollout 16 --ppo.hidden 16"
    assert train(["balance", *small.split(), "--runs", str(runs)]) == 0
    (run,) = (runs / "balance" / "v1").iterdir()
    seen = np.random.default_rng(0).normal(size=(50, 4)).astype(np.float32)
    files = [run / "checkpoints" / "best.safetensors", run, runs / "balance", runs / "balance" / "v1"]
    found = [ecs_rl.load(each, backend=backend).act(seen).tolist() for each in files]
    found.append(ecs_rl.load("balance", backend=backend, runs=runs).act(seen).tolist())
    assert all(each == found[0] for each in found)
    assert ecs_rl.load("balance", backend=backend, runs=runs, checkpoint="latest").step == 3_000
    with pytest.raises(EcsRlError, match="has no checkpoint '7': name one of"):
        ecs_rl.load(run, backend=backend, checkpoint=7)
    with pytest.raises(CommandError, match=r"there is no run 'balanse'.*did you mean 'balance'"):
        ecs_rl.load("balanse", backend=backend, runs=runs)
    with pytest.raises(CommandError, match="there is no checkpoint file"):
        ecs_rl.load(tmp_path / "b.safetensors", backend=backend)


def test_a_scene_that_ships_a_pilot_is_loaded_by_its_name_where_no_run_has_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, backend: str
) -> None:
    (tmp_path / "pilots").mkdir()
    checkpoint(tmp_path / "pilots" / "balance.safetensors", "ppo choice")
    monkeypatch.setattr(shipped, "PILOTS", tmp_path / "pilots")
    monkeypatch.chdir(tmp_path)
    assert ecs_rl.load("balance", backend=backend).path == tmp_path / "pilots" / "balance.safetensors"


def changed(path: Path, kind: str, config: dict[str, Any] | None, **parts: torch.Tensor) -> Path:
    agent = wild_agent(kind)
    state = agent.policy_state() | {name.replace("__", "/"): part for name, part in parts.items()}
    agent.policy_state = lambda: state  # type: ignore[method-assign]
    return write(path, [agent], {} if config is None else config)


def refused(path: Path, backend: str) -> str:
    with pytest.raises(CheckpointError) as caught:
        ecs_rl.load(path, backend=backend)
    return str(caught.value)


def test_a_checkpoint_of_an_unknown_network_or_algorithm_is_refused(tmp_path: Path, backend: str) -> None:
    a = tmp_path / "a.safetensors"
    own = "a.safetensors has the network 'mine.py:Residual', and a pilot knows mlp, gru, conv, attention"
    assert own in refused(changed(a, "ppo choice", {"ppo": {"network": "mine.py:Residual"}}), backend)
    assert "does not say how its network was made" in refused(changed(a, "dqn", None), backend)
    agent = wild_agent("ppo choice")
    agent.name = "cem"
    if backend == "torch":
        assert "was made by 'cem', which this version does not know" in refused(write(a, [agent], {"cem": {}}), backend)
    agent.spec = replace(agent.spec, head="")
    assert "was made by 'cem', which a pilot does not know" in refused(write(a, [agent], {"cem": {}}), backend)


def test_a_checkpoint_that_does_not_fit_itself_is_refused(tmp_path: Path, backend: str) -> None:
    a, config = tmp_path / "a.safetensors", {"ppo": {"hidden": [16, 12]}}
    wrong = {"policy__2.weight": torch.zeros(4, 12), "policy__2.bias": torch.zeros(4)}
    assert "does not fit its own settings" in refused(changed(a, "ppo choice", config, **wrong), backend)
    assert "does not fit" in refused(
        changed(a, "ppo choice", config, **{"policy__1.weight": torch.zeros(12, 9)}), backend
    )
    bad = torch.full((16, 3), float("nan"))
    assert "policy/0.weight is not finite" in refused(
        changed(a, "ppo choice", config, **{"policy__0.weight": bad}), backend
    )


def test_a_damaged_file_is_refused(tmp_path: Path, backend: str) -> None:
    path, _ = checkpoint(tmp_path / "a.safetensors", "ppo choice")
    whole = path.read_bytes()
    for damaged in (b"", whole[:5], whole[:200], whole[:-1], whole[:-1] + b"\x07", b"{}" * 500, b"\xff" * 64):
        path.write_bytes(damaged)
        assert "is damaged: " in refused(path, backend)
    path.unlink()
    path.mkdir()
    with pytest.raises(EcsRlError, match="no checkpoint file"):
        ecs_rl.load(path, backend=backend)


def test_another_backend_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="backend='jax' must be torch or numpy"):
        pilot_of(tmp_path, "dqn", "jax")


@pytest.mark.parametrize("kind", ["ppo choice", "dqn", *(kind for kind in KINDS if kind == "sac 0")])
def test_torch_keeps_the_threads_of_the_program_around_it(kind: str, tmp_path: Path) -> None:
    path, _ = checkpoint(tmp_path / "a.safetensors", kind)
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        ecs_rl.load(path).act([0, 0, 0])
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)


def resealed(path: Path, change: Callable[[dict[str, Any], dict[str, Any]], object]) -> Path:
    """Change the head of a checkpoint and what it says of itself, and seal it as if it had been written so."""
    whole = path.read_bytes()
    size = 8 + int.from_bytes(whole[:8], "little")
    head = json.loads(whole[8:size])
    manifest = json.loads(head["__metadata__"]["manifest"])
    change(head, manifest)
    manifest["sha256"] = "0" * 64
    head["__metadata__"] = {"manifest": json.dumps(manifest, separators=(",", ":"))}
    text = json.dumps(head, separators=(",", ":")).encode()
    unsealed = len(text).to_bytes(8, "little") + text + whole[size:]
    path.write_bytes(unsealed.replace(b"0" * 64, hashlib.sha256(unsealed).hexdigest().encode(), 1))
    return path


WEIGHT = "policy/policy/0.weight"


@pytest.mark.parametrize(
    "change",
    [
        lambda head, manifest: manifest.update(schema=2),
        lambda head, manifest: manifest.update(policies=["policy"]),
        lambda head, manifest: manifest.update(policies=[]),
        lambda head, manifest: manifest.update(config=[1]),
        lambda head, manifest: manifest.update(config={"ppo": None}),
        lambda head, manifest: manifest.update(step="many"),
        lambda head, manifest: manifest.pop("agent"),
        lambda head, manifest: manifest["policies"][0].pop("actions"),
        lambda head, manifest: manifest["policies"][0].update(observations=["x"]),
        lambda head, manifest: manifest["policies"][0].update(actions=["left"]),
        lambda head, manifest: manifest["config"]["ppo"].update(network="conv"),
        lambda head, manifest: manifest["config"]["ppo"].update(network="gru"),
        lambda head, manifest: manifest["config"]["ppo"].update(shared=True),
        lambda head, manifest: head.pop(WEIGHT),
        lambda head, manifest: head.pop("policy/normaliser/mean"),
        lambda head, manifest: head[WEIGHT].update(dtype="F16"),
        lambda head, manifest: head[WEIGHT].update(shape=[-1, 3]),
        lambda head, manifest: head[WEIGHT].update(shape=[1 << 40, 1 << 40]),
        lambda head, manifest: head[WEIGHT].update(data_offsets=[-8, 0]),
        lambda head, manifest: head.update({WEIGHT: 3}),
    ],
)
def test_what_was_sealed_by_somebody_else_is_refused_too(
    change: Callable[[dict[str, Any], dict[str, Any]], object], tmp_path: Path, backend: str
) -> None:
    path, _ = checkpoint(tmp_path / "a.safetensors", "ppo choice")
    ecs_rl.load(resealed(path, lambda head, manifest: None), backend=backend)
    told = refused(resealed(path, change), backend)
    assert str(path) in told
    assert re.search("damaged|does not fit|does not say|cannot be used", told)
