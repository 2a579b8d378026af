"""`--network`: the shipped ones, and modules of a user's own: trained, resumed, played, and trusted as scenes are."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from command_runs import BALANCE, TINY, Told, play, train

from ecs_rl.runs import read_manifest

NET = '''
"""A network of a user's own."""

from torch import nn


class Small(nn.Module):
    def __init__(self, inputs, outputs, spec):
        super().__init__()
        self.body, self.head = nn.Linear(inputs, 8), nn.Linear(8, outputs)

    def forward(self, x):
        return self.head(self.body(x).tanh())


class Remembers(nn.Module):
    state = 5

    def __init__(self, inputs, outputs, spec):
        super().__init__()
        self.cell, self.head = nn.GRUCell(inputs, 5), nn.Linear(5, outputs)

    def forward(self, x, state):
        state = self.cell(x, state)
        return self.head(state), state


NUMBER = 3
'''
ONE = ("--headless", "--json", "--episodes", 2)


@pytest.fixture
def net(tmp_path: Path) -> Path:
    path = tmp_path / "my nets.py"
    path.write_text(NET)
    return path


def trained(tmp_path: Path, *args: object, steps: int = 1500, scene: object = "balance") -> Told:
    told = train(scene, *TINY, "--steps", steps, "--json", "--runs", tmp_path / "runs", *args)
    assert told.code == 0, told.err
    return told


@pytest.mark.parametrize("name", ["Small", "Remembers"])
def test_a_module_of_a_file_is_trained_resumed_and_played_to_the_bit(tmp_path: Path, net: Path, name: str) -> None:
    network = ("--network", f"{net}:{name}", "--schedule-steps", 3000, "--checkpoint-every", 700)
    whole = trained(tmp_path, *network, "--name", "whole", steps=3000)
    half = trained(tmp_path, *network, "--name", "half")
    manifest = read_manifest(half.run / "checkpoints" / "latest.safetensors")
    assert manifest.config["ppo"]["network"] == f"{net}:{name}"
    assert len(manifest.config["network_sha256"]) == 64
    resumed = trained(tmp_path, "--resume", half.run, steps=3000)
    assert resumed.sha == whole.sha
    best = json.loads((whole.run / "metadata.json").read_text())["best_eval"]
    told = play(whole.run, "--headless", "--json", "--episodes", 3)
    assert told.code == 0, told.err
    assert told.json["mean_return"] == best


@pytest.mark.parametrize("name", ["mlp", "gru"])
def test_a_shipped_network_is_named_by_either_flag(tmp_path: Path, name: str) -> None:
    one, other = (trained(tmp_path, flag, name) for flag in ("--network", "--ppo.network"))
    assert one.sha == other.sha
    if name == "mlp":
        assert one.sha == trained(tmp_path).sha
    assert read_manifest(one.run / "checkpoints" / "latest.safetensors").config["ppo"]["network"] == name
    assert "network" not in json.loads((one.run / "config.json").read_text())


def test_what_remembers_is_resumed_in_the_middle_of_episodes_to_the_bit(tmp_path: Path) -> None:
    gru = ("--network", "gru", "--ppo.state", 8, "--schedule-steps", 3000, "--checkpoint-every", 700)
    whole = trained(tmp_path, *gru, "--name", "whole", steps=3000)
    half = trained(tmp_path, *gru, "--name", "half", steps=1208)
    resumed = trained(tmp_path, "--resume", half.run, steps=3000)
    assert resumed.sha == whole.sha


def test_a_recipe_may_hold_the_function_itself(tmp_path: Path) -> None:
    scene = tmp_path / "own.py"
    text = BALANCE.read_text().replace("SCENE = Scene(", NET.split('"""', 2)[2] + "\n\nSCENE = Scene(", 1)
    scene.write_text(text.replace('"ppo": {', '"ppo": {"network": Small, ', 1))
    told = trained(tmp_path, scene=scene)
    manifest = read_manifest(told.run / "checkpoints" / "latest.safetensors")
    assert manifest.config["ppo"]["network"] == "scene:Small"
    played = play(told.run, *ONE)
    assert played.code == 0, played.err
    assert trained(tmp_path, "--resume", told.run, scene=scene, steps=2000).code == 0
    scene.write_text(text)
    refused = play(told.run, *ONE, "--scene", scene)
    assert refused.code == 2
    assert "no recipe of" in refused.err
    assert "names the network 'Small'" in refused.err


def test_a_file_that_changed_is_run_only_if_it_is_named(tmp_path: Path, net: Path) -> None:
    told = trained(tmp_path, "--network", f"{net}:Small")
    net.write_text(NET + "\nprint('sprung')\n")
    refused = play(told.run, *ONE)
    assert refused.code == 3
    assert f"{net} has changed since: if you trust it, add --network {net}:Small\n" in refused.err
    assert "sprung" not in refused.out
    assert train("balance", "--resume", told.run, "--steps", 2000, "--runs", tmp_path / "runs").code == 3
    assert play(told.run, *ONE, "--network", f"{net}:Small").code == 0
    named = train("balance", "--resume", told.run, "--steps", 2000, "--network", f"{net}:Small")
    assert named.code == 0, named.err
    net.unlink()
    gone = play(told.run, *ONE)
    assert gone.code == 3
    assert "there is no such file: name it with --network FILE.py:Small" in gone.err


def test_a_moved_file_goes_on_if_it_is_named(tmp_path: Path, net: Path) -> None:
    told = trained(tmp_path, "--network", f"{net}:Small")
    moved = net.rename(tmp_path / "moved.py")
    resumed = train("balance", "--resume", told.run, "--steps", 2000, "--network", f"{moved}:Small", "--json")
    assert resumed.code == 0, resumed.err
    assert play(told.run, *ONE).code == 0


@pytest.mark.parametrize(
    ("args", "told"),
    [
        (("--network", "mpl"), "--network must be mlp, gru, conv, attention or FILE.py:NAME, not 'mpl'"),
        (("--network", "{net}:Smal"), "there is no 'Smal' in that file; did you mean 'Small'?"),
        (("--network", "{net}:NUMBER"), "must be a function (inputs, outputs, spec) that returns a module, not a int"),
        (("--network", "nowhere.py:Net"), "there is no file nowhere.py"),
        (("--network", "conv"), "the network conv is for pictures, and 'policy' sees none: give it a Grid to see"),
        (("--network", "attention"), "for sets, and 'policy' sees none: give it Nearest to see"),
        (("--network", "gru", "--agent", "dqn"), "--network gru: dqn learns with a perceptron: leave it out"),
    ],
)
def test_a_network_that_cannot_be_is_refused_in_one_line(
    tmp_path: Path, net: Path, args: tuple[str, ...], told: str
) -> None:
    given = [arg.replace("{net}", str(net)) for arg in args]
    refused = train("balance", "--runs", tmp_path / "runs", *given)
    assert refused.code == 2
    assert told in refused.err
    assert len(refused.err.splitlines()) == 1
    assert not (tmp_path / "runs").exists()


def test_a_run_keeps_its_network(tmp_path: Path) -> None:
    told = trained(tmp_path, "--network", "gru")
    refused = train("balance", "--resume", told.run, "--network", "mlp", "--steps", 3000)
    assert refused.code == 2
    assert "--ppo.network is mlp" in refused.err
