from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from ecs_rl.agents.config import DQNConfig, PPOConfig
from ecs_rl.cli.command_settings import PlaySettings, TrainSettings, settings_as_dict
from ecs_rl.cli.flags import flags_of
from ecs_rl.cli.parse import Recipes, parse_play, parse_train
from ecs_rl.errors import CommandError, SceneError
from ecs_rl.loading import load_scene
from ecs_rl.many.job_runner import at_once
from ecs_rl.shipped import scene_names
from ecs_rl.values import fitted, hints_of, kind_of

HELP = """
import sys
from ecs_rl.cli.parse import parse_train
try:
    parse_train(sys.argv[1:], lambda scene: {"ppo": {"arenas": 7, "lr": 0.123}})
finally:
    print(sorted({"torch", "pymunk", "esper", "pygame", "rich"} & set(sys.modules)), file=sys.stderr)
"""
# Shorter than the buffer of a pipe, so that only the flush at the end fails.
HELP_OF_PLAY = """
import sys
from ecs_rl.cli.parse import parse_play
try:
    parse_play(sys.argv[1:])
finally:
    print([], file=sys.stderr)
"""


def recipes(scene: str) -> Recipes:
    return {}


def help_text(capsys: pytest.CaptureFixture[str], *argv: str) -> str:
    def load(scene: str) -> Recipes:
        if scene == "broken":
            raise SceneError("this scene does not load")
        return {"ppo": {"arenas": 7, "lr": 0.123}}

    with pytest.raises(SystemExit) as stop:
        parse_train(argv, load)
    assert stop.value.code == 0
    return " ".join(capsys.readouterr().out.replace("│", " ").split())


def test_the_flags_of_train_are_those_of_the_contract() -> None:
    contract = "agent steps seed arenas watch until-solved resume init-from name version runs checkpoint-every keep"
    contract += " eval-every eval-episodes config threads json check ppo.lr"
    assert {f"--{name}" for name in contract.split()} <= set(flags_of(TrainSettings).values())


def test_the_flags_of_play_are_those_of_the_contract() -> None:
    contract = (
        "checkpoint episodes seed stochastic headless speed record compare against scene network agent runs json list "
        "export human save-demo save-data minari pilot"
    )
    assert {f"--{name}" for name in contract.split()} | {"TARGET"} == set(flags_of(PlaySettings).values())


def test_every_flag_of_train_is_read_into_its_field() -> None:
    line = (
        "scenes/my-cart.py --agent dqn --steps 2M --seed 3 --arenas 8 --watch --until-solved --init-from x.safetensors"
        " --name n --version v2 --runs r --checkpoint-every 5k --keep 0 --eval-every 1_000 --eval-episodes 5"
        " --threads 1 --json --check --dqn.lr 1e-3 --dqn.no-double"
    )
    settings = parse_train(line.split(), recipes)
    tables: dict[str, Any] = {"dqn": DQNConfig(lr=1e-3, double=False)}
    changed = TrainSettings(
        scene="scenes/my-cart.py",
        agent="dqn",
        steps=2_000_000,
        schedule_steps=1_000_000,
        seed=3,
        arenas=8,
        watch=True,
        until_solved=True,
        init_from=Path("x.safetensors"),
        name="n",
        version="v2",
        runs=Path("r"),
        checkpoint_every=5_000,
        keep=0,
        eval_every=1_000,
        eval_episodes=5,
        threads=1,
        json=True,
        check=True,
        **tables,
    )
    assert settings == changed
    other = parse_train(["a", "--ppo.log-std", "-0.5", "--ppo.no-normalise-rewards"], recipes)
    assert vars(other)["ppo"] == PPOConfig(log_std=-0.5, normalise_rewards=False)


@pytest.mark.parametrize(
    ("line", "resume"),
    [
        ("a", None),
        ("a --resume", ""),
        ("a --resume --json", ""),
        ("a --resume runs/a/v1", "runs/a/v1"),
        ("a --resume=runs/a", "runs/a"),
        ("--resume runs/a --seed 1 a", "runs/a"),
    ],
)
def test_resume_takes_a_run_or_nothing(line: str, resume: str | None) -> None:
    settings = parse_train(line.split(), recipes)
    assert (settings.scene, settings.resume) == ("a", resume)


@pytest.mark.parametrize(
    ("scene", "name"),
    [
        ("cartpole", "cartpole"),
        ("path/to/my scene.py", "my_scene"),
        ("gym:CartPole-v1", "CartPole-v1"),
        ("gym:ALE/Pong-v5", "ALE_Pong-v5"),
        ("_hidden.py", "hidden"),
        ("ö.py", "run"),
        (f"{'x' * 80}.py", "x" * 64),
    ],
)
def test_a_run_is_named_after_its_scene_and_always_a_safe_folder(scene: str, name: str) -> None:
    assert parse_train([scene], recipes).name == name


def test_threads_are_resolved_to_at_most_two_of_the_cores_there_are(monkeypatch: pytest.MonkeyPatch) -> None:
    for cores, threads in ((1, 1), (2, 2), (8, 2)):
        monkeypatch.setattr(os, "sched_getaffinity", lambda _, cores=cores: set(range(cores)), raising=False)
        assert parse_train(["a"], recipes).threads == threads
    monkeypatch.delattr(os, "sched_getaffinity")
    monkeypatch.setattr(os, "cpu_count", lambda: 1)
    assert parse_train(["a"], recipes).threads == 1
    assert parse_train(["a", "--threads", "5"], recipes).threads == 5


@pytest.mark.parametrize(("cores", "seeds", "threads", "together"), [(1, 3, 1, 1), (8, 3, 2, 3), (8, 10, 1, 8)])
def test_several_seeds_share_the_cores(
    cores: int, seeds: int, threads: int, together: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(cores)), raising=False)
    settings = parse_train(["a", "--seeds", str(seeds)], recipes)
    assert (settings.threads, at_once(settings, seeds)) == (threads, together)
    assert at_once(parse_train(["a", "--seeds", str(seeds), "--threads", "9"], recipes), seeds) == 1


def test_play_reads_every_flag() -> None:
    line = "runs/x --checkpoint 98k --episodes 5 --seed 1 --stochastic --headless --speed 0.5 --record a.GIF --runs r"
    settings = parse_play([*line.split(), "--json", "--list", "--compare", "best", "latest", "10_000"])
    assert settings == PlaySettings(
        target="runs/x",
        checkpoint="98000",
        episodes=5,
        seed=1,
        stochastic=True,
        headless=True,
        speed=0.5,
        record=Path("a.GIF"),
        compare=("best", "latest", "10000"),
        runs=Path("r"),
        json=True,
        list=True,
    )
    assert parse_play([]) == PlaySettings()


@pytest.mark.parametrize("settings", [TrainSettings, PlaySettings])
def test_every_number_of_a_run_has_a_range(settings: type) -> None:
    numbers = {name: hint for name, hint in hints_of(settings).items() if kind_of(hint) in (int, float)}
    assert numbers
    for name, hint in numbers.items():
        for wrong in (-70, 2**63 if kind_of(hint) is int else float("inf"), float("nan")):
            with pytest.raises(CommandError, match=f"^{name}"):
                fitted(name, wrong, hint)


def test_the_settings_survive_json_and_hold_the_chosen_agents_table_only() -> None:
    settings = parse_train(["cartpole", "--agent", "dqn", "--dqn.hidden", "8", "--init-from", "x/y"], recipes)
    plain = settings_as_dict(settings)
    assert json.loads(json.dumps(plain)) == plain
    assert plain.keys() == {each.name for each in fields(settings)} - {"ppo", "sac", "td3", "iql", "network"}
    assert (plain["dqn"]["hidden"], plain["init_from"], plain["runs"], plain["resume"]) == ([8], "x/y", "runs", None)


def test_help_shows_every_flag_with_its_meaning_and_default(capsys: pytest.CaptureFixture[str]) -> None:
    shown = help_text(capsys, "--help")
    for flag in flags_of(TrainSettings).values():
        assert f" {flag}" in shown
    assert "SCENE The name of a scene" in shown
    assert "Copies of the scene that play at the same time. (default: 64)" in shown


def test_help_begins_with_the_scenes_and_what_they_are_about(capsys: pytest.CaptureFixture[str]) -> None:
    shown = help_text(capsys, "--help")
    before, after = shown.split("positional arguments")
    for name in scene_names():
        assert f" {name} {load_scene(name).about} " in before
    assert "FILE.py" in before
    assert "--ppo.lr" in after


def test_help_begins_with_the_flags_that_are_used_most(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        parse_train(["--help"], recipes)
    found = re.findall(r"^[│ ]+(--[a-z][\w-]*)", capsys.readouterr().out, re.MULTILINE)
    assert found[:5] == ["--watch", "--resume", "--until-solved", "--steps", "--seed"]


def test_help_offers_nothing_that_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    shown = help_text(capsys, "--help")
    assert not [ending for ending in " ," if f"gym:{ending}" in shown]


def test_help_of_play_names_what_can_be_played(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        parse_play(["--help"])
    shown = capsys.readouterr().out
    assert all(f"python play.py {name} " in shown for name in scene_names())
    assert shown.index("--list") < shown.index("--headless") < shown.index("--speed")


def test_help_with_a_scene_shows_that_scenes_defaults(capsys: pytest.CaptureFixture[str]) -> None:
    shown = help_text(capsys, "cartpole", "--help")
    assert "at the same time. (default: 7)" in shown
    assert "rate at the start. (default: 0.123)" in shown


@pytest.mark.parametrize("line", ["broken -h", "a --nonsense --help", "--help a --arenas 0", "a --seed --help"])
def test_help_helps_whatever_else_is_wrong(capsys: pytest.CaptureFixture[str], line: str) -> None:
    assert "--checkpoint-every" in help_text(capsys, *line.split())


def test_help_says_which_algorithm_learns_where_none_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert "of its file. (default: the one the scene names)" in help_text(capsys, "--help")
    assert "of its file. (default: ppo)" in help_text(capsys, "cartpole", "--help")


def test_help_imports_nothing_heavy() -> None:
    done = subprocess.run([sys.executable, "-c", HELP, "--help"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr.strip()) == (0, "[]")
    assert "--ppo.lr" in done.stdout


@pytest.mark.parametrize("script", [HELP, HELP_OF_PLAY])
def test_help_into_a_closed_pipe_ends_quietly(script: str) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run([sys.executable, "-c", script, "--help"], stdout=writer, stderr=subprocess.PIPE, check=False)
    os.close(writer)
    assert (done.returncode, done.stderr.strip()) == (0, b"[]")
