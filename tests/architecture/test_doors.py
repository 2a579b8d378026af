"""Heavy libraries stand behind named doors: torch behind the command line, pygame behind the viewer.

An import inside a function is a door, or a trap for the reader: the number of such imports only falls.
"""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "ecs_rl"
MOST = 30
"""Imports of our own modules inside functions: torch behind the commands, pygame behind the viewer; lower it where one
goes."""


def imports_in_functions(node: ast.AST, *, inside: bool = False) -> Iterator[str]:
    """Yield every module of ours that is imported inside a function."""
    for child in ast.iter_child_nodes(node):
        if inside and isinstance(child, ast.Import):
            yield from (alias.name for alias in child.names if alias.name.startswith("ecs_rl"))
        elif inside and isinstance(child, ast.ImportFrom) and (child.module or "").startswith("ecs_rl"):
            yield child.module or ""
        yield from imports_in_functions(child, inside=inside or isinstance(child, (ast.FunctionDef, ast.Lambda)))


def test_imports_inside_functions_only_become_fewer() -> None:
    found = [
        f"{path.relative_to(ROOT)}: {module}"
        for path in sorted(PACKAGE.rglob("*.py"))
        for module in imports_in_functions(ast.parse(path.read_text()))
    ]
    assert len(found) <= MOST, "\n".join(found)


@pytest.mark.parametrize(
    ("line", "count"),
    [
        ("from ecs_rl.viewer import view", 0),
        ("def f():\n    from ecs_rl.viewer import view", 1),
        ("class C:\n    def f(self):\n        if self:\n            import ecs_rl.viewer.view", 1),
        ("def f():\n    import torch", 0),
    ],
)
def test_an_import_inside_a_function_is_found_wherever_it_stands(line: str, count: int) -> None:
    assert len(list(imports_in_functions(ast.parse(line)))) == count


@pytest.mark.parametrize("command", ["train", "play"])
def test_help_loads_no_heavy_library(command: str) -> None:
    heavy = {"torch", "numpy", "pygame", "pymunk", "gymnasium", "ray", "optuna", "rich.live"}
    code = (
        f"import sys\nfrom ecs_rl.commands.{command} import main\n"
        "try:\n    main(['--help'])\n"
        f"except SystemExit:\n    print(sorted({heavy} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stdout.splitlines()[-1]) == (0, "[]"), done.stderr
