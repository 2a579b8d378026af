"""The page of PPO's implementation details names files, functions and defaults that exist."""

from __future__ import annotations

import ast
import re
from itertools import groupby

import pytest
from pages import PAGES, ROOT

from ecs_rl.agents.config import PPOConfig

PAGE = "ecs_rl/agents/PPO_DETAILS.md"
ROW = re.compile(r"^\| (\d+) \| (.+?) \| (.+?) \|(.*)\|$", re.MULTILINE)
ROWS = [(int(number), ours, default) for number, _, ours, default in ROW.findall(PAGES[PAGE])]
PLACE = re.compile(r"\[([\w.]+)\]\(([\w./]+)\) `([\w.]+)`")
DEFAULT = re.compile(r"`(\w+)` (\([^)]*\)|[\w.]+)")


def names_in(path: str) -> set[str]:
    """Return the functions, classes and constants of a module, and the methods and constants of its classes."""
    tree = ast.parse((ROOT / "ecs_rl/agents" / path).read_text(encoding="utf-8"))
    return set(_names(tree, ""))


def _names(scope: ast.Module | ast.ClassDef, prefix: str) -> list[str]:
    names = []
    for node in scope.body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            names.append(prefix + node.name)
        if isinstance(node, ast.ClassDef):
            names += _names(node, f"{node.name}.")
        if isinstance(node, (ast.Assign, ast.AnnAssign)):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names += [prefix + target.id for target in targets if isinstance(target, ast.Name)]
    return names


def test_all_37_details_are_there_in_their_groups() -> None:
    numbers = [number for number, *_ in ROWS]
    assert numbers == list(range(1, 38))
    lines = [ROW.match(line) is not None for line in PAGES[PAGE].splitlines()]
    assert [len(list(run)) for is_row, run in groupby(lines) if is_row] == [13, 9, 9, 5, 1]


@pytest.mark.parametrize(("number", "ours"), [(number, ours) for number, ours, _ in ROWS])
def test_every_detail_names_a_function_that_exists_or_a_reason(number: int, ours: str) -> None:
    places = PLACE.findall(ours)
    assert places or re.match(r"(No|Half): .{30,}", ours), f"detail {number} names no function and gives no reason"
    assert len(places) == ours.count("]("), f"detail {number}: a link without a function"
    for text, path, name in places:
        assert path.rpartition("/")[2] == text, f"detail {number}: {text} is a link to {path}"
        assert name in names_in(path), f"detail {number}: {path} has no {name}"


def test_a_function_that_does_not_exist_is_noticed() -> None:
    names = names_in("on_policy.py")
    assert {"OnPolicy._shuffle", "ADAM_EPSILON", "OnPolicy.HEAD"} <= names
    assert not {"OnPolicy._shuffled", "_shuffle", "OnPolicy.advantages"} & names


@pytest.mark.parametrize(("number", "default"), [(number, default) for number, _, default in ROWS])
def test_defaults_are_those_of_the_settings(number: int, default: str) -> None:
    for name, value in DEFAULT.findall(default):
        setting = getattr(PPOConfig(), name)
        words = {True: "on", False: "off"}[setting] if isinstance(setting, bool) else str(setting)
        assert value == words, f"detail {number}: {name}"
