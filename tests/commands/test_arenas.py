"""What follows from `--arenas` alone: PPO's law of arenas, and what the command says of it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from ecs_rl.agents.config import DQNConfig, PPOConfig, SACConfig
from ecs_rl.cli.command_settings import TrainSettings, settings_as_dict
from ecs_rl.cli.parse import difference_from_recipe, parse_train
from ecs_rl.commands.train import main
from ecs_rl.errors import CommandError

RECIPE = {"arenas": 64, "steps": "500k", "lr": 2e-3, "rollout": 64, "minibatch": 512, "gamma": 0.99, "gae_lambda": 0.98}
RECIPES: Mapping[str, Mapping[str, Any]] = {"ppo": RECIPE, "sac": {"arenas": 8, "steps": "100k"}}
USUAL = (64, 512, 2e-3, 500_000)


def settings_of(line: str) -> TrainSettings:
    return parse_train(["a", *line.split()], lambda scene: RECIPES)


def learning(line: str) -> tuple[int, int, float, int]:
    """Return the rollout, the minibatch, the learning rate and the steps of a command."""
    settings = settings_of(line)
    assert settings.schedule_steps == settings.steps or "--steps" in line
    return settings.ppo.rollout, settings.ppo.minibatch, settings.ppo.lr, settings.steps


@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        ("", USUAL),
        ("--arenas 64", USUAL),
        ("--arenas 1", USUAL),
        ("--arenas 16", USUAL),
        # The horizon is 34 ticks: 1 / (1 - 0.99 * 0.98). From 128 arenas on a batch grows.
        ("--arenas 100", (41, 512, 2e-3, 625_000)),
        ("--arenas 128", (34, 528, 2.03e-3, 707_107)),
        ("--arenas 256", (34, 746, 2.41e-3, 1_062_500)),
        ("--arenas 1024", (34, 1493, 3.41e-3, 4_250_000)),
        # What is given counts more, and the rest follows from it.
        ("--arenas 1024 --ppo.rollout 4", (4, 512, 2e-3, 2_000_000)),
        ("--arenas 1024 --ppo.rollout 16", (16, 1024, 2.83e-3, 2_000_000)),
        ("--arenas 1024 --ppo.rollout 1", (1, 512, 2e-3, 2_000_000)),
        ("--arenas 1024 --ppo.minibatch 100 --ppo.lr 0.5 --steps 9", (34, 100, 0.5, 9)),
        ("--arenas 1024 --ppo.gae-lambda 0.9 --ppo.gamma 0.9", (6, 627, 2.21e-3, 2_000_000)),
        # No horizon is longer than the recipe's own rollout.
        ("--arenas 1024 --ppo.gae-lambda 1 --ppo.gamma 1", (64, 2048, 4e-3, 8_000_000)),
        ("--arenas 1024 --ppo.burn-in 40", (40, 1619, 3.56e-3, 5_000_000)),
    ],
)
def test_more_arenas_shorten_the_rollout_to_the_horizon_and_the_batch_grows_from_there(line: str, wanted: Any) -> None:
    assert learning(line) == pytest.approx(wanted, rel=1e-3)


def test_a_batch_is_never_smaller_than_the_recipe_s() -> None:
    batches = [arenas * learning(f"--arenas {arenas}")[0] for arenas in range(64, 1025, 8)]
    assert min(batches) == batches[0] == 64 * 64
    assert batches[-1] == 1024 * 34


def test_a_file_counts_more_than_the_law_and_says_how_many_arenas_there_are(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text("arenas = 1024\nsteps = 7\n[ppo]\nlr = 0.25\n")
    settings = settings_of(f"--config {path}")
    assert (settings.ppo.rollout, settings.ppo.minibatch, settings.ppo.lr, settings.steps) == (34, 1493, 0.25, 7)
    assert settings.schedule_steps == 4_250_000


def test_what_a_run_has_is_kept_when_it_is_resumed_and_when_its_config_is_read(tmp_path: Path) -> None:
    first = settings_of("--arenas 1024")
    config = settings_as_dict(first)
    again = parse_train(["a", "--resume"], lambda scene: RECIPES, lambda _: config)
    assert (again.arenas, again.steps, again.ppo) == (1024, first.steps, first.ppo)
    once_more = parse_train(["a", "--resume", "--arenas", "1024"], lambda scene: RECIPES, lambda _: config)
    assert (once_more.steps, once_more.ppo) == (first.steps, first.ppo)
    path = tmp_path / "config.json"
    path.write_text(json.dumps(config))
    assert settings_of(f"--config {path}").ppo == first.ppo


def test_the_help_shows_what_the_law_gives(capsys: pytest.CaptureFixture[str]) -> None:
    for line, rollout in (("a", 64), ("a --arenas 1024", 34)):
        with pytest.raises(SystemExit):
            parse_train([*line.split(), "--help"], lambda scene: RECIPES)
        assert f"(default: {rollout})" in capsys.readouterr().out.partition("--ppo.rollout")[2][:300]


def test_what_learns_from_single_transitions_has_no_law() -> None:
    for config in (SACConfig(), DQNConfig()):
        assert config.for_arenas(16.0, {}) == ({}, 1.0)
    settings = settings_of("--agent sac --arenas 1024")
    assert (settings.sac, settings.steps) == (SACConfig(), 100_000)


def test_without_a_recipe_the_defaults_are_for_the_usual_arenas() -> None:
    settings = parse_train(["a", "--arenas", "128"], lambda scene: {})
    wanted, growth = PPOConfig().for_arenas(2.0, {})
    assert (settings.ppo.rollout, growth) == (wanted["rollout"], 2**0.5) == (64, 2**0.5)


def test_a_law_gives_only_settings_that_can_be_used() -> None:
    for arenas in (65, 100_000):
        assert learning(f"--arenas {arenas}")[0] >= 1
    with pytest.raises(CommandError, match=r"ppo.burn_in must be at most ppo.rollout, 8, not 9"):
        settings_of("--arenas 1024 --ppo.rollout 8 --ppo.burn-in 9")


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("", ""),
        ("--arenas 16", ""),
        ("--agent sac --arenas 1024", ""),
        (
            "--arenas 1024",
            "1,024 arenas instead of 64: rollout 34 instead of 64, minibatch 1,493 instead of 512, "
            "lr 0.00341 instead of 0.002, steps 4,250,000 instead of 500,000",
        ),
        ("--arenas 1024 --ppo.lr 0.1 --steps 9", "1,024 arenas instead of 64: rollout 34 instead of 64, minibatch"),
        ("--arenas 100 --ppo.rollout 64", "100 arenas instead of 64: minibatch 640 instead of 512, lr"),
    ],
)
def test_the_words_name_what_the_law_has_changed(line: str, words: str) -> None:
    said = difference_from_recipe(settings_of(line), RECIPES)
    assert said.startswith(words)
    assert bool(said) == bool(words)
    for name, flag in (("lr ", "--ppo.lr"), ("steps ", "--steps")):
        assert flag not in line or name not in said


def test_a_training_says_at_its_start_what_more_arenas_change(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    runs = ("--runs", str(tmp_path), "--threads", "1", "--eval-episodes", "1")
    for more, count in ((("--arenas", "64"), 1), (("--resume", "--steps", "400"), 0), (("--steps", "64"), 0)):
        assert main(["balance", "--steps", "128", *more, *runs]) == 0
        said = [line for line in capsys.readouterr().err.splitlines() if "instead of 32: rollout 17" in line]
        assert len(said) == count
    (config,) = [path for path in tmp_path.rglob("config.json") if json.loads(path.read_text())["arenas"] == 64]
    assert json.loads(config.read_text())["ppo"]["rollout"] == 17
