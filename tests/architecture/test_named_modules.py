"""Docstrings and the pages of the package name modules that exist."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "ecs_rl"
PAGES = [PACKAGE / "README.md", PACKAGE / "agents" / "README.md"]
EXAMPLES = {
    "mine.py",
    "my_scene.py",
    "scene.py",
    "helper.py",
    "cem.py",
    "catch.py",
    "new/place/drone.py",
    "pack/evil.py",
}
"""Files that a reader writes."""
NO_MODULES = {"ecs_rl/README.md: ppo.py": "of CleanRL", "ecs_rl/shipped.py: ecs_rl.scenes": "a group of entry points"}
"""What looks like a module of ours and is none, and what it is."""

IN_BACKTICKS = re.compile(r"`([^`\n]+)`")
FILE = re.compile(r"(?<![\w/.])[\w/]+\.py\b")
DOTTED = re.compile(r"(?<![\w/.])ecs_rl(?:\.\w+)+")
PLACEHOLDER = re.compile(r"[A-Z]{2}")
"""As in `FILE.py` and `runs/NAME_recorder.py`."""


def docstrings(path: Path) -> Iterator[str]:
    """Yield the docstrings of a module, its classes, functions and attributes."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            yield node.value.value


def modules_named(text: str) -> Iterator[str]:
    """Yield every path `.../something.py` and every dotted name of ours that stands in backticks."""
    for words in IN_BACKTICKS.findall(text):
        yield from (path for path in FILE.findall(words) if not PLACEHOLDER.search(path))
        yield from DOTTED.findall(words)


def names_in(module: Path) -> set[str]:
    """Return every name that a module defines, imports or assigns, wherever it does."""
    names = set()
    for node in ast.walk(ast.parse(module.read_text())):
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            names.add(node.name)
        elif isinstance(node, ast.alias):
            names.add(node.asname or node.name)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
    return names


def is_there(name: str, place: Path) -> bool:
    """Return whether a path exists below `place`, the package or the project, or what a dotted name means."""
    if name.endswith(".py"):
        return any((folder / name).exists() for folder in (place, PACKAGE, ROOT))
    module = ROOT
    parts = name.split(".")
    while parts and ((module / parts[0]).is_dir() or (module / f"{parts[0]}.py").is_file()):
        module /= parts.pop(0)
    file = module / "__init__.py" if module.is_dir() else module.with_suffix(".py")
    return not parts or (file.is_file() and parts[0] in names_in(file))


def missing(names: Iterator[str], path: Path) -> list[str]:
    """Return those of the names in a file that mean nothing, each behind the file."""
    file = path.relative_to(ROOT).as_posix()
    lines = [f"{file}: {name}" for name in names if name not in EXAMPLES and not is_there(name, path.parent)]
    return [line for line in lines if line not in NO_MODULES]


def test_docstrings_name_modules_that_exist() -> None:
    names = {path: modules_named("\n".join(docstrings(path))) for path in sorted(PACKAGE.rglob("*.py"))}
    assert [line for path, its_names in names.items() for line in missing(its_names, path)] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.parent.name)
def test_pages_name_modules_that_exist(page: Path) -> None:
    assert missing(modules_named(page.read_text()), page) == []


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("see `gone.py`", ["gone.py"]),
        ("`python tests/bench/gone.py --all`", ["tests/bench/gone.py"]),
        ("`ecs_rl.agents.gone`", ["ecs_rl.agents.gone"]),
        ("`ecs_rl.agents.ppo.Gone`", ["ecs_rl.agents.ppo.Gone"]),
        ("`jobs.py`, `ecs_rl.many.jobs.Job`, `ecs_rl.load`, `--agent FILE.py:CLASS`, gone.py", []),
    ],
)
def test_a_name_that_means_nothing_is_found(text: str, names: list[str]) -> None:
    file = "ecs_rl/many/__init__.py"
    assert missing(modules_named(text), ROOT / file) == [f"{file}: {name}" for name in names]
