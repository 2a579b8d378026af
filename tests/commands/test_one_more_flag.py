"""A field of a dataclass is a flag, a key of a file, a line of the help and a setting of the training."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from ecs_rl.cli.command_settings import TrainSettings, settings_as_dict
from ecs_rl.cli.parse import Recipes, parse_train
from ecs_rl.errors import CheckpointError, CommandError, EcsRlError, SceneError
from ecs_rl.values import Count


@dataclass(frozen=True)
class WithOneMore(TrainSettings):
    """All that is written for one more flag."""

    rest_every: Count = 30
    """Ticks between two rests of the learner."""


def no_recipes(scene: str) -> Recipes:
    return {}


def rest_every(*argv: str, recipe: Mapping[str, Any] | None = None, earlier: Mapping[str, Any] | None = None) -> int:
    """Return the setting that a command comes to."""
    settings = parse_train(
        ["balance", *argv], lambda scene: {"ppo": recipe or {}}, lambda _: earlier or {}, kind=WithOneMore
    )
    assert isinstance(settings, WithOneMore)
    return settings.rest_every


def file_with(folder: Path, value: object) -> str:
    path = folder / "mine.toml"
    path.write_text(f"rest_every = {value}")
    return str(path)


def test_its_default_is_that_of_the_field() -> None:
    assert rest_every() == 30


def test_a_recipe_counts_less_than_an_earlier_run_that_less_than_a_file_and_that_less_than_a_flag(
    tmp_path: Path,
) -> None:
    recipe, earlier, path = {"rest_every": "1k"}, {"rest_every": 2000}, file_with(tmp_path, 3000)
    assert rest_every(recipe=recipe) == 1000
    assert rest_every("--resume", recipe=recipe, earlier=earlier) == 2000
    assert rest_every("--resume", "--config", path, recipe=recipe, earlier=earlier) == 3000
    assert rest_every("--resume", "--config", path, "--rest-every", "4k", recipe=recipe, earlier=earlier) == 4000


def test_a_run_keeps_it() -> None:
    settings = parse_train(["balance", "--rest-every", "5"], no_recipes, kind=WithOneMore)
    assert settings_as_dict(settings)["rest_every"] == 5


def test_the_config_of_another_run_names_it_too(tmp_path: Path) -> None:
    path = tmp_path / "config.json"
    path.write_text(json.dumps({"agent": "dqn", "dqn": {"lr": 0.5}, "rest_every": 6}))
    settings = parse_train(["balance", "--config", str(path)], no_recipes, kind=WithOneMore)
    assert isinstance(settings, WithOneMore)
    assert (settings.rest_every, settings.dqn.lr) == (6, 0.5)


def test_the_help_has_a_line_for_it(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        parse_train(["--help"], no_recipes, kind=WithOneMore)
    said = " ".join(re.sub("[│\\n]", " ", capsys.readouterr().out).split())
    assert "--rest-every N Ticks between two rests of the learner. (default: 30)" in said


@pytest.mark.parametrize("value", ["0", "-5", "1.5"])
def test_a_value_that_does_not_fit_is_refused_wherever_it_stands(tmp_path: Path, value: str) -> None:
    refused: list[tuple[type[EcsRlError], str]] = []
    for argv, recipe, earlier in (
        (["--rest-every", value], {}, {}),
        (["--config", file_with(tmp_path, value)], {}, {}),
        ([], {"rest_every": float(value)}, {}),
        (["--resume"], {}, {"rest_every": float(value)}),
    ):
        with pytest.raises(EcsRlError) as caught:
            rest_every(*argv, recipe=recipe, earlier=earlier)
        refused.append((type(caught.value), str(caught.value)))
    assert [kind for kind, _ in refused] == [CommandError, CommandError, SceneError, CheckpointError]
    assert all("rest-every" in words or "rest_every" in words for _, words in refused)
