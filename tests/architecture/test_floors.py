"""The floors of the package: who may import whom, computed from every import statement."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2] / "ecs_rl"
FLOORS = {
    "base": (
        *("arrays", "errors", "console", "garbage", "records", "shipped", "files", "milestones", "user_files"),
        *("spaces", "values"),
    ),
    "engine": (
        *("callbacks", "ecs", "components", "geometry", "scene", "physics", "world", "results", "processors"),
        *("environments", "loading"),
    ),
    "learning": (
        *(
            "distributed",
            "agents",
            "runs",
            "pilots",
            "session",
            "testing",
            "training_stages",
            "schedule",
            "worlds",
            "training",
        ),
    ),
    "app": ("viewer", "adapters", "cli", "tasks", "many", "commands"),
}
"""The rooms of each floor, from the ground up. A room imports only itself and rooms before it: no cycle is possible."""
ROOMS = tuple(room for floor in FLOORS.values() for room in floor)


def imports(tree: ast.AST) -> Iterator[str]:
    """Yield every imported module, also of imports in functions and for types only."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def room_of(module: str) -> str:
    """Return the package or module of ours that a dotted name lies in; "" for the package itself and for others."""
    parts = module.split(".")
    return parts[1] if parts[0] == "ecs_rl" and len(parts) > 1 and parts[1] in ROOMS else ""


def edges_up(package: Path) -> dict[tuple[str, str], list[str]]:
    """Return the files by the rooms of each import that goes up."""
    found: dict[tuple[str, str], list[str]] = {}
    for path in sorted(package.rglob("*.py")):
        own = path.relative_to(package).with_suffix("").parts[0]
        for module in imports(ast.parse(path.read_text())):
            other = room_of(module)
            if own in ROOMS and other and ROOMS.index(other) > ROOMS.index(own):
                found.setdefault((own, other), []).append(path.name)
    return found


def test_every_module_has_its_room() -> None:
    there = {path.stem if path.is_file() else path.name for path in PACKAGE.iterdir() if not path.name.startswith("_")}
    assert there - {"README", "py"} == set(ROOMS)
    assert len(set(ROOMS)) == len(ROOMS)


def test_a_room_imports_only_rooms_below_it() -> None:
    assert not edges_up(PACKAGE)


@pytest.mark.parametrize(
    "line",
    [
        "from ecs_rl.viewer.view import View",
        "import ecs_rl.viewer.view",
        "def f():\n    from ecs_rl.viewer import view",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from ecs_rl.viewer.view import View",
    ],
)
def test_an_import_that_goes_up_is_found_wherever_it_stands(line: str, tmp_path: Path) -> None:
    (tmp_path / "agents").mkdir()
    (tmp_path / "agents" / "new.py").write_text(line)
    assert edges_up(tmp_path) == {("agents", "viewer"): ["new.py"]}
