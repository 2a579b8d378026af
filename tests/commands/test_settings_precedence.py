from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
import tyro

from ecs_rl.cli.command_settings import TrainSettings, settings_as_dict
from ecs_rl.cli.parse import Recipes, parse_train
from ecs_rl.errors import CommandError, EcsRlError, SceneError
from ecs_rl.training.own_network import SceneRecipes
from ecs_rl.values import LARGEST

RECIPES = {
    "ppo": {"arenas": 32, "steps": "500k", "eval_every": 5000, "lr": 3e-3, "rollout": 32, "hidden": [32, 32]},
    "dqn": {"arenas": 8, "lr": 1e-3, "memory": "20k"},
}


def recipes(scene: str) -> Recipes:
    return RECIPES


def no_recipes(scene: str) -> Recipes:
    return {}


def toml(folder: Path, text: str) -> str:
    path = folder / "mine.toml"
    path.write_text(text, encoding="utf-8")
    return str(path)


def refusal(argv: list[str], recipe: Mapping[str, Mapping[str, Any]] = RECIPES) -> EcsRlError:
    with pytest.raises(EcsRlError) as caught:
        parse_train(argv, lambda scene: recipe)
    return caught.value


def test_the_command_line_is_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    passes: list[object] = []

    def counted(*args: Any, **named: Any) -> Any:
        passes.append(args)
        return cli(*args, **named)

    cli = tyro.cli
    monkeypatch.setattr(tyro, "cli", counted)
    path = toml(tmp_path, "arenas = 48\n")
    assert parse_train(["cartpole", "--resume", "--config", path], recipes, lambda _: {"seed": 3}).seed == 3
    assert len(passes) == 1


@pytest.mark.parametrize("lr", [3e-4, "3e-4", "0.0003"])
def test_numbers_are_read_alike_wherever_they_stand(lr: float | str, tmp_path: Path) -> None:
    path = toml(tmp_path, f"[ppo]\nlr = {lr!r}\nhidden = ['1k', 8.0]\n")
    for settings in (
        parse_train(["cartpole", "--config", path], recipes),
        parse_train(["cartpole"], lambda scene: {"ppo": {"lr": lr, "hidden": ["1k", 8]}}),
        parse_train(["cartpole", "--ppo.lr", str(lr), "--ppo.hidden", "1e3", "8"], recipes),
    ):
        assert (settings.ppo.lr, settings.ppo.hidden) == (3e-4, (1_000, 8))


def long_episodes(recipe: dict[str, Any] | None = None) -> Callable[[str], SceneRecipes]:
    found = SceneRecipes({} if recipe is None else {"ppo": recipe})
    found.max_ticks = 1_500
    return lambda scene: found


@pytest.mark.parametrize(
    ("line", "recipe", "every"),
    [
        ("a", None, 300_000),
        ("a --eval-episodes 5", None, 75_000),
        ("a --eval-episodes 1", None, 25_000),
        ("a --arenas 128", None, 600_000),
        ("a --eval-every 10k", None, 10_000),
        ("a --eval-episodes 40", None, 500_000),
        ("a --steps 10k", None, 300_000),
        ("a", {"eval_every": 7_000}, 7_000),
        ("a", {"eval_episodes": 10, "steps": "400k"}, 150_000),
        ("a", {"steps": "400k"}, 200_000),
    ],
)
def test_where_nobody_says_how_often_evaluations_are_a_small_share_of_the_steps(
    line: str, recipe: dict[str, Any] | None, every: int
) -> None:
    assert parse_train(line.split(), long_episodes(recipe)).eval_every == every


def test_a_resumed_run_keeps_its_evaluations() -> None:
    settings = parse_train(["a", "--resume"], long_episodes(), lambda _: {"eval_every": 25_000})
    assert settings.eval_every == 25_000


def test_evaluations_as_many_ticks_apart_are_never_further_than_a_count_goes() -> None:
    settings = parse_train(["a", "--arenas", "1000"], lambda scene: {"ppo": {"arenas": 1, "eval_every": LARGEST}})
    assert (settings.eval_every, settings.checkpoint_every) == (LARGEST, 50_000_000)


def test_without_a_recipe_the_built_in_defaults_count() -> None:
    settings = parse_train(["cartpole"], no_recipes)
    assert settings.arenas == TrainSettings().arenas
    assert settings.ppo == TrainSettings().ppo


def test_the_scenes_recipe_comes_before_the_built_in_defaults() -> None:
    settings = parse_train(["cartpole"], recipes)
    assert (settings.arenas, settings.steps, settings.eval_every) == (32, 500_000, 5_000)
    assert (settings.ppo.lr, settings.ppo.rollout, settings.ppo.hidden) == (3e-3, 32, (32, 32))
    assert settings.ppo.gamma == TrainSettings().ppo.gamma


def test_the_recipe_is_that_of_the_chosen_agent() -> None:
    settings = parse_train(["cartpole", "--agent", "dqn"], recipes)
    assert (settings.agent, settings.arenas, settings.dqn.lr, settings.dqn.memory) == ("dqn", 8, 1e-3, 20_000)
    assert settings.ppo == TrainSettings().ppo


def test_a_config_file_comes_before_the_recipe(tmp_path: Path) -> None:
    path = toml(tmp_path, 'arenas = 24\neval-every = "7k"\nuntil_solved = true\n[ppo]\nrollout = 5e1\ngamma = 1\n')
    settings = parse_train(["cartpole", "--config", path], recipes)
    assert (settings.arenas, settings.eval_every, settings.until_solved) == (24, 7_000, True)
    assert (settings.ppo.rollout, settings.ppo.gamma, settings.ppo.lr) == (50, 1.0, 3e-3)
    assert settings.steps == 500_000


def test_the_command_line_comes_before_the_config_file(tmp_path: Path) -> None:
    path = toml(tmp_path, "arenas = 48\nuntil_solved = true\n[ppo]\nlr = 0.5\nclip = 0.3\n")
    flags = ["--config", path, "--arenas", "16", "--no-until-solved", "--ppo.lr", "3e-4", "--ppo.hidden", "8", "1k"]
    settings = parse_train(["cartpole", *flags], recipes)
    assert (settings.arenas, settings.until_solved) == (16, False)
    assert (settings.ppo.lr, settings.ppo.clip, settings.ppo.hidden) == (3e-4, 0.3, (8, 1_000))


def test_a_flag_that_repeats_the_built_in_default_still_counts() -> None:
    built_in = str(TrainSettings().arenas)
    assert parse_train(["cartpole", "--arenas", built_in], recipes).arenas == TrainSettings().arenas


def test_the_config_file_may_name_scene_and_agent(tmp_path: Path) -> None:
    path = toml(tmp_path, 'scene = "lander"\nagent = "dqn"\n')
    asked: list[str] = []

    def remember(scene: str) -> Recipes:
        asked.append(scene)
        return recipes(scene)

    settings = parse_train(["--config", path], remember)
    assert (settings.scene, settings.agent, settings.name, settings.arenas) == ("lander", "dqn", "lander", 8)
    assert asked == ["lander"]


def test_the_command_line_comes_before_the_file_for_the_agent_too(tmp_path: Path) -> None:
    path = toml(tmp_path, 'agent = "dqn"\n')
    assert parse_train(["cartpole", "--agent", "ppo", "--config", path], recipes).agent == "ppo"


def test_a_resumed_run_brings_its_settings_between_recipe_and_config_file(tmp_path: Path) -> None:
    first = parse_train(["cartpole", "--agent", "dqn", "--arenas", "24", "--seed", "7", "--dqn.lr", "0.01"], recipes)
    asked: list[TrainSettings] = []

    def earlier(settings: TrainSettings) -> Mapping[str, Any]:
        asked.append(settings)
        return settings_as_dict(first)

    path = toml(tmp_path, "seed = 8\n[dqn]\nbatch = 16\n")
    again = parse_train(["cartpole", "--resume", "--config", path, "--steps", "2M", "--watch"], recipes, earlier)
    assert (again.agent, again.arenas, again.dqn.lr, again.dqn.memory) == ("dqn", 24, 0.01, 20_000)
    assert (again.seed, again.dqn.batch, again.steps, again.watch) == (8, 16, 2_000_000, True)
    assert (asked[0].name, asked[0].version, asked[0].resume) == ("cartpole", "v1", "")


def test_no_earlier_run_is_looked_for_without_resume() -> None:
    def earlier(settings: TrainSettings) -> Mapping[str, Any]:
        raise AssertionError("asked for an earlier run")

    assert parse_train(["cartpole"], recipes, earlier).resume is None


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("arenass = 3", ["unknown setting 'arenass'", "did you mean 'arenas'?"]),
        ("eval-evry = 3", ["unknown setting 'eval-evry'", "did you mean 'eval-every'?"]),
        ("[ppo]\nlrr = 3", ["unknown setting 'ppo.lrr'", "did you mean 'ppo.lr'?"]),
        ("[ppo]\nlearning_rate = 3", ["unknown setting 'ppo.learning_rate'", "did you mean 'ppo.lr'?"]),
        ("learning-rate = 3", ["unknown setting 'learning-rate'", "did you mean 'ppo.lr'?"]),
        ("num_envs = 3", ["unknown setting 'num_envs'", "did you mean 'arenas'?"]),
        ('config = "other.toml"', ["unknown setting 'config'"]),
        ("ppo = 3", ["'ppo' must be a table"]),
        ('arenas = "many"', ["arenas", "'many' is not a whole number"]),
        ("arenas = 1.5", ["arenas: '1.5' is not a whole number: it has a fraction"]),
        ("arenas = true", ["arenas must be a whole number from 1 to 100,000, not True"]),
        ("watch = 1", ["watch must be true or false, not 1"]),
        ("name = 1", ["name must be letters, digits, '.', '_' or '-', at most 64 and a letter or digit first, not 1"]),
        ("runs = 1", ["runs must be text, not 1"]),
        ('[ppo]\nlr = "fast"', ["ppo.lr: 'fast' is not a number"]),
        ('[ppo]\nhidden = [64, "x"]', ["ppo.hidden: 'x' is not a whole number"]),
        ('[ppo]\nactivation = "tan"', ["ppo.activation must be tanh or relu, not 'tan'"]),
        ("arenas = 0", ["arenas must be a whole number from 1 to 100,000, not 0"]),
        ("[ppo]\nlr = nan", ["ppo.lr must be a finite number greater than 0, not nan"]),
        ("[dqn]\nhidden = [0]", ["dqn.hidden must be a list of at most 16 whole numbers from 1 to 8,192"]),
        ('agent = "pp"', ["agent must be ppo or dqn or sac or td3 or iql, not 'pp'", "did you mean 'ppo'?"]),
        ("arenas = ", ["is not valid TOML"]),
    ],
)
def test_a_bad_config_file_is_refused_with_file_key_and_remedy(tmp_path: Path, text: str, words: list[str]) -> None:
    path = toml(tmp_path, text)
    error = refusal(["cartpole", "--config", path])
    assert isinstance(error, CommandError)
    for word in (path, *words):
        assert word in str(error)


def test_a_config_file_that_is_not_there_is_named() -> None:
    assert str(refusal(["a", "--config", "no.toml"])) == "--config no.toml: cannot be read: No such file or directory"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with names here")
def test_a_pipe_is_no_config_file_and_is_not_waited_for(tmp_path: Path) -> None:
    pipe = tmp_path / "mine.toml"
    os.mkfifo(pipe)
    assert str(refusal(["a", "--config", str(pipe)])) == f"--config {pipe}: cannot be read: Not a plain file"


def as_run_writes(folder: Path, *argv: str, **more: Any) -> str:
    """Write the `config.json` of a training with these flags, and return its path."""
    path = folder / "config.json"
    path.write_text(json.dumps(settings_as_dict(parse_train(argv, recipes)) | more))
    return str(path)


def test_the_config_of_a_run_is_a_config_file_that_repeats_the_run(tmp_path: Path) -> None:
    flags = [
        "--seed",
        "7",
        "--arenas",
        "24",
        "--steps",
        "3M",
        "--agent",
        "dqn",
        "--dqn.lr",
        "0.01",
        "--eval-every",
        "9k",
    ]
    path = as_run_writes(
        tmp_path, "balance", *flags, "--name", "theirs", "--runs", "theirs", "--json", "--minutes", "3"
    )
    for argv in (["--config", path], ["balance", "--config", path]):
        mine = parse_train(argv, recipes)
        assert mine.dqn == parse_train(["balance", *flags], recipes).dqn
        assert (mine.scene, mine.agent, mine.seed, mine.arenas, mine.steps) == ("balance", "dqn", 7, 24, 3_000_000)
        assert (mine.eval_every, mine.schedule_steps, mine.minutes) == (9_000, 1_000_000, 3.0)
        assert (mine.name, mine.runs, mine.json) == ("balance", Path("runs"), False), (
            "where and how is no setting of it"
        )
    assert parse_train(["--config", path, "--seed", "8"], recipes).seed == 8


def test_the_config_of_a_run_from_when_one_process_was_written_as_none_is_still_read(tmp_path: Path) -> None:
    path = as_run_writes(tmp_path, "balance", workers=0)
    assert parse_train(["--config", path], recipes).workers == 1
    assert parse_train(["balance", "--resume"], recipes, lambda _: json.loads(Path(path).read_text())).workers == 1


@pytest.mark.parametrize(
    ("more", "flag"),
    [
        ({"ppo": {"network": "/theirs/net.py:Make"}}, "--ppo.network /theirs/net.py:Make"),
        ({"agent": "cem", "agent_file": "/theirs/cem.py:CEM", "cem": {}}, "--agent /theirs/cem.py:CEM"),
        ({"against": "/theirs/rival.py:rush"}, "--against /theirs/rival.py:rush"),
        ({"recorder": "/theirs/rec.py:Rec"}, "--recorder /theirs/rec.py:Rec"),
    ],
)
def test_no_program_runs_because_the_config_of_a_run_names_it(tmp_path: Path, more: dict[str, Any], flag: str) -> None:
    path = as_run_writes(tmp_path, "balance", **more)
    assert f"add {flag.replace('--ppo.', '--')}" in str(refusal(["--config", path]))


def test_a_scene_file_that_the_config_of_a_run_names_is_not_run(tmp_path: Path) -> None:
    path = as_run_writes(tmp_path, "balance", scene=str(tmp_path / "evil.py"))
    assert "SCENE is missing" in str(refusal(["--config", path]))


def test_a_config_file_that_is_not_text_is_refused(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_bytes(b"\xff\xfe")
    assert "is not valid TOML" in str(refusal(["a", "--config", str(tmp_path / "mine.toml")]))


@pytest.mark.parametrize(
    ("recipe", "words"),
    [
        ({"ppo": {"lrr": 1}}, ["recipe for ppo", "unknown setting 'lrr'", "did you mean 'lr'?"]),
        ({"ppo": {"memory": 5}}, ["unknown setting 'memory'"]),
        ({"ppo": {"learning_rate": 5}}, ["unknown setting 'learning_rate'", "did you mean 'lr'?"]),
        ({"ppo": {"runs": "elsewhere"}}, ["unknown setting 'runs'"]),
        ({"ppo": {"arenas": "lots"}}, ["arenas", "'lots' is not a whole number"]),
        ({"ppo": {"lr": 0}}, ["ppo.lr must be a finite number greater than 0, not 0"]),
        (
            {"ppo": {"arenas": 10**5000}},
            ["arenas must be a whole number from 1 to 100,000, not a int too large to show"],
        ),
        ({"ppo": {"lr": 10**400}}, ["ppo.lr must be a finite number greater than 0, not 1000"]),
        ({"poo": {}}, ["unknown agent 'poo'", "did you mean 'ppo'?"]),
    ],
)
def test_a_bad_recipe_is_the_scenes_error(recipe: dict[str, dict[str, Any]], words: list[str]) -> None:
    error = refusal(["cartpole"], recipe)
    assert isinstance(error, SceneError)
    for word in ("scene 'cartpole'", *words):
        assert word in str(error)
