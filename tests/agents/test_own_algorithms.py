"""An algorithm of a user's own stands where the shipped ones do: its settings are read, its mind is looked into."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pages import example

from ecs_rl.agents import ActMode, Composed, Decision, make_agent
from ecs_rl.agents.base import Introspectable, output_of
from ecs_rl.agents.own import load_algorithm
from ecs_rl.cli.parse import parse_train
from ecs_rl.errors import CheckpointError, CommandError
from ecs_rl.testing.transitions import CHOICES, MIXED, ROWS, play, same, some_observation

CEM = example("algorithm")
SETTINGS = """
        batch: int = 64
        rate: Annotated[float, Meta(gt=0, le=1)] = 0.5
        kind: Literal["full", "diagonal"] = "diagonal"
        widths: tuple[int, ...] = (8, 8)
        label: str = "plain"
        centred: bool = True
"""
LOOKED_INTO = """
    discount = 0.5

    def introspect(self, observation):
        x = observation[:, 0].astype("f8")
        return PolicyOutput("values", np.zeros((len(x), 3), "f4"), None, x)
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "cem.py"
    path.write_text(CEM)
    return path


def with_settings(file: Path) -> str:
    head = "from __future__ import annotations\nfrom typing import Annotated, Literal\nfrom msgspec import Meta\n"
    old = '\n        batch: int = 64\n        """Episodes between two updates."""\n'
    assert CEM.count(old) == 1
    file.write_text(head + CEM.replace(old, SETTINGS))
    return f"{file}:CEM"


def recipes(scene: str) -> dict[str, Any]:
    return {"cem": {"rate": 0.25, "arenas": 4}}


def test_every_kind_of_setting_is_read_from_the_command_line(file: Path) -> None:
    line = "a --cem.kind full --cem.widths 4 1k --cem.label x --cem.no-centred --cem.batch 2k --agent"
    settings = parse_train([*line.split(), with_settings(file)], recipes)
    c = settings.cem
    assert (c.kind, c.widths, c.label, c.centred, c.batch) == ("full", (4, 1000), "x", False, 2000)
    assert (settings.agent, settings.arenas, c.rate) == ("cem", 4, 0.25)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("--cem.rate 2", "--cem.rate must be a finite number greater than 0 and of at most 1, not 2.0"),
        ("--cem.kind ful", "--cem.kind must be full or diagonal, not 'ful': did you mean 'full'?"),
        ("--cem.widths 3 x", "--cem.widths: 'x' is not a whole number"),
        ("--cem.bach 3", "unknown flag '--cem.bach': did you mean '--cem.batch'?"),
    ],
)
def test_a_setting_that_does_not_fit_is_refused_as_those_of_the_shipped_ones_are(
    line: str, words: str, file: Path
) -> None:
    with pytest.raises(CommandError) as refused:
        parse_train(["a", "--agent", with_settings(file), *line.split()], recipes)
    assert words in str(refused.value)


def test_settings_that_the_class_itself_refuses_are_told(file: Path) -> None:
    text = CEM.replace(
        'updates."""\n', 'updates."""\n\n        def __post_init__(self):\n            assert self.batch > 9\n'
    )
    file.write_text(
        text.replace("assert self.batch > 9", "if self.batch < 9:\n                raise ValueError('too few')")
    )
    with pytest.raises(CommandError, match="too few"):
        parse_train(["a", "--agent", f"{file}:CEM", "--cem.batch", "3"], recipes)


def test_its_mind_is_looked_into_where_it_lets_one_and_nowhere_else(file: Path) -> None:
    plain = load_algorithm(f"{file}:CEM")
    agent = make_agent(plain, CHOICES, plain.Config(), seed=0, rows=ROWS)
    assert not isinstance(agent, Introspectable)
    file.write_text(
        CEM.replace("import torch\n", "import numpy as np\nimport torch\nfrom ecs_rl.agents.base import PolicyOutput\n")
        + LOOKED_INTO
    )
    open_one = load_algorithm(f"{file}:CEM")
    agent = make_agent(open_one, CHOICES, open_one.Config(), seed=0, rows=ROWS)
    assert isinstance(agent, Introspectable)
    seen = some_observation(np.random.default_rng(0))
    output = output_of(agent, seen)
    assert output is not None
    assert (output.value == seen[:, 0]).all()


def test_what_it_refuses_is_told_in_its_own_words(file: Path) -> None:
    algorithm = load_algorithm(f"{file}:CEM")
    assert isinstance(MIXED.actions, Composed)
    with pytest.raises(CommandError, match=r"--agent .*cem\.py:CEM cannot do several things at once"):
        make_agent(algorithm, MIXED, algorithm.Config(), seed=0, rows=ROWS)


def test_two_algorithms_of_one_name_live_side_by_side(file: Path) -> None:
    first = load_algorithm(f"{file}:CEM")
    file.write_text(CEM.replace("batch: int = 64", "batch: int = 8"))
    second = load_algorithm(f"{file}:CEM")
    agents = [make_agent(each, CHOICES, each.Config(), seed=0, rows=ROWS) for each in (first, second)]
    for agent in agents:
        play(agent, 25, np.random.default_rng(0))
    assert agents[0].parameters_sha256() != agents[1].parameters_sha256()
    with pytest.raises(TypeError, match="needs a Config, not a Config"):
        make_agent(first, CHOICES, second.Config(), seed=0, rows=ROWS)


def test_a_state_that_does_not_fit_is_refused_before_the_algorithm_sees_it(file: Path) -> None:
    algorithm = load_algorithm(f"{file}:CEM")
    agent = make_agent(algorithm, CHOICES, algorithm.Config(batch=8), seed=0, rows=ROWS)
    play(agent, 9, np.random.default_rng(0))
    before = agent.state()
    other = make_agent(algorithm, CHOICES, algorithm.Config(batch=8), seed=0, rows=ROWS + 1).state()
    with pytest.raises(CheckpointError):
        agent.load_state(other)
    with pytest.raises(CheckpointError, match="mean is missing"):
        agent.load_policy_state({"spread": before["spread"]})
    for mode in ActMode:
        assert isinstance(agent.act(some_observation(np.random.default_rng(0)), mode), Decision)
    agent.load_state(before)
    assert same(agent.state(), before)
