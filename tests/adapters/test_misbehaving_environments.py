"""A Gymnasium environment that breaks the rules is told in one sentence, and never ends the command in its own way."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces
from odd_environments import Line

from ecs_rl.commands.train import main
from ecs_rl.environments.environment import MOST_TICKS, NO_LIMIT
from ecs_rl.environments.environment_scene import load_environment

NUMBERS = count()


class Unsaid(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no words")


class Unsayable(spaces.Space[Any]):
    def __repr__(self) -> str:
        raise RuntimeError("no words")


def register(kind: type[gymnasium.Env[Any, Any]], **more: Any) -> str:
    """Register an environment under a name of its own, and return that."""
    name = f"Misbehaves{next(NUMBERS)}-v0"
    gymnasium.register(name, entry_point=partial(kind), **more)  # of a class Gymnasium looks at more
    return f"gym:{name}"


def with_method(name: str, raised: BaseException) -> type[Line]:
    def fails(*_: object, **__: object) -> Any:
        raise raised

    return type("Fails", (Line,), {name: fails})


def with_spaces(**chosen: Any) -> type[Line]:
    return type("Other", (Line,), chosen)


@pytest.fixture
def told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    """Return the sentence with which a training in an environment ends, by 2."""

    def asked(environment: str) -> str:
        steps = ("--steps", "200", "--arenas", "2", "--eval-every", "100", "--eval-episodes", "2")
        assert main([environment, *steps, "--runs", str(tmp_path)]) == 2
        (line,) = [line for line in capsys.readouterr().err.splitlines() if line]
        assert line.startswith(f"train.py: '{environment}' ")
        return line.removeprefix(f"train.py: '{environment}' ")

    return asked


RAISED: list[tuple[BaseException, str]] = [
    (SystemExit(7), "SystemExit: 7"),
    (KeyboardInterrupt(), "KeyboardInterrupt"),
    (GeneratorExit(), "GeneratorExit"),
    (StopIteration(), "StopIteration"),
    (Unsaid(), "Unsaid"),
]


@pytest.mark.parametrize("method", ["__init__", "reset", "step"])
@pytest.mark.parametrize(("raised", "named"), RAISED, ids=[named for _, named in RAISED])
def test_whatever_it_raises_is_told(method: str, raised: BaseException, named: str, told: Callable[..., str]) -> None:
    what = "cannot be made: " if method == "__init__" else f"failed in {method}() in arena 0 at tick 1 of its episode: "
    assert told(register(with_method(method, raised))) == what + named


@pytest.mark.parametrize("space", ["observation_space", "action_space"])
def test_one_without_a_space_is_refused(space: str, told: Callable[..., str]) -> None:
    wanted = f"has no {space}: set it to one of gymnasium.spaces"
    assert told(register(with_spaces(**{space: None}))) == wanted


def test_spaces_that_cannot_be_asked_are_refused(told: Callable[..., str]) -> None:
    assert told(register(with_spaces(action_space=Unsayable()))).startswith("does a Unsayable: it must be a Box")
    assert told(register(with_spaces(observation_space=Unsayable()))).startswith("failed in observation_space: ")
    broken = with_spaces(observation_space=property(lambda self: 1 / 0))
    assert told(register(broken)) == "failed in observation_space: ZeroDivisionError: division by zero"


def test_one_that_cannot_be_closed_is_refused_before_it_trains(told: Callable[..., str], tmp_path: Path) -> None:
    assert told(register(with_method("close", OSError("stuck")))) == "failed in close(): OSError: stuck"
    assert not list(tmp_path.iterdir())


def test_one_that_fails_to_close_after_its_work_is_told_of_and_the_run_is_whole(tmp_path: Path) -> None:
    class Late(Line):
        def close(self) -> None:
            if hasattr(self, "tick"):
                raise OSError("stuck")

    steps = ("--steps", "200", "--arenas", "2", "--eval-every", "100", "--eval-episodes", "2")
    with pytest.warns(UserWarning, match=r"failed in close\(\): OSError: stuck"):
        assert main([register(Late), *steps, "--runs", str(tmp_path)]) == 0


def test_one_that_closes_itself_is_told_by_its_own_words(told: Callable[..., str]) -> None:
    class Closes(Line):
        def step(self, action: Any) -> Any:
            if self.tick == 5:
                raise RuntimeError("I am closed")
            return super().step(action)

    assert told(register(Closes)) == "failed in step() in arena 0 at tick 6 of its episode: RuntimeError: I am closed"


@pytest.mark.parametrize("threshold", ["high", [1.0], True])
def test_a_threshold_that_is_no_number_is_refused(threshold: Any, told: Callable[..., str]) -> None:
    assert f"registered with reward_threshold={threshold!r}, which is no number" in told(
        register(Line, reward_threshold=threshold)
    )


@pytest.mark.parametrize("threshold", [np.inf, -np.inf, np.nan, None])
def test_a_threshold_without_bound_is_none(threshold: Any) -> None:
    assert load_environment(register(Line, reward_threshold=threshold)).solved_at is None


@pytest.mark.parametrize("limit", ["100", 2.5, float("inf"), 0, -3])
def test_a_limit_that_gymnasium_refuses_is_told_in_its_words(limit: Any, told: Callable[..., str]) -> None:
    assert told(register(Line, max_episode_steps=limit)).startswith("cannot be made: ")


@pytest.mark.parametrize(("limit", "ticks"), [(None, NO_LIMIT), (70, 70), (10**12, MOST_TICKS)])
def test_an_episode_is_never_longer_than_can_be_remembered(limit: int | None, ticks: int) -> None:
    assert load_environment(register(Line, max_episode_steps=limit)).max_ticks == ticks


def test_one_whose_metadata_is_none_has_usual_pictures() -> None:
    assert load_environment(register(with_spaces(metadata=None))).dt == pytest.approx(1 / 30)


def test_a_module_is_found_in_the_current_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "found_here.py").write_text(
        "import gymnasium\nfrom odd_environments import Line\n"
        "gymnasium.register('FoundHere-v0', entry_point=lambda **more: Line(**more))\n"
    )
    monkeypatch.chdir(tmp_path)
    assert load_environment("gym:found_here:FoundHere-v0").reference == "gym:found_here:FoundHere-v0"
