"""No room but the learners' names an algorithm: a new one is a file there and a row of the registry."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from ecs_rl.agents.make import AGENTS

PACKAGE = Path(__file__).parents[2] / "ecs_rl"
RECIPES = PACKAGE / "environments" / "environment_recipes.py"
"""Settings by algorithm, as in the file of a scene."""


def names_in(tree: ast.AST, algorithms: frozenset[str]) -> Iterator[str]:
    """Yield texts that are an algorithm's name, and identifiers of its class, settings or module."""
    words = {name.lower() for name in algorithms} | {f"{name}config" for name in algorithms}
    for node in ast.walk(tree):
        match node:
            case ast.Constant(value=str(text)) if text in algorithms:
                yield text
            case ast.Name(id=name) | ast.Attribute(attr=name) if name.lower() in words:
                yield name
            case ast.ImportFrom(module=str(module)) if module.rpartition(".")[2] in algorithms:
                yield module


def test_no_other_room_names_an_algorithm() -> None:
    named = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        if path.is_relative_to(PACKAGE / "agents") or path == RECIPES:
            continue
        if found := [*names_in(ast.parse(path.read_text()), frozenset(AGENTS))]:
            named[str(path.relative_to(PACKAGE))] = found
    assert not named


def test_the_search_finds_texts_classes_and_modules() -> None:
    source = 'from ecs_rl.agents.ppo import PPO as Agent\nif agent.name == "sac": use(config.DQNConfig)\n"as ppo does"'
    assert sorted(names_in(ast.parse(source), frozenset(AGENTS))) == ["DQNConfig", "ecs_rl.agents.ppo", "sac"]
