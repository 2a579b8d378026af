"""Check the shape of the source: length of files and functions, a docstring for every public definition."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
FILES = sorted([*(ROOT / "ecs_rl").rglob("*.py"), *(ROOT / "scenes").glob("*.py"), ROOT / "train.py", ROOT / "play.py"])
Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


def named(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def functions(path: Path) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield node


def public(tree: ast.Module | ast.ClassDef) -> Iterator[Definition]:
    """Yield what others may use: classes, functions and methods, none of them inside a function."""
    for node in tree.body:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)) and not node.name.startswith("_"):
            overload = any(
                "overload" in ast.unparse(mark) or ".setter" in ast.unparse(mark) for mark in node.decorator_list
            )
            if not overload:
                yield node
            if isinstance(node, ast.ClassDef):
                yield from public(node)


def test_no_file_has_more_than_450_lines() -> None:
    assert {named(path): lines for path in FILES if (lines := len(path.read_text().splitlines())) > 450} == {}


def test_no_function_has_more_than_60_lines() -> None:
    long = [
        f"{named(path)}:{function.lineno}: {function.name}"
        for path in FILES
        for function in functions(path)
        if (function.end_lineno or function.lineno) - function.lineno + 1 > 60
    ]
    assert long == []


def test_every_public_definition_says_in_a_sentence_what_it_is() -> None:
    mute = []
    for path in FILES:
        tree = ast.parse(path.read_text())
        for definition in (tree, *public(tree)):
            first = (ast.get_docstring(definition) or "").split("\n")[0]
            shape_only = first.startswith("(")  # the docstring of a column's property is its shape
            if not (first.endswith(".") or shape_only):
                mute.append(f"{named(path)}: {getattr(definition, 'name', 'module')}: {first!r}")
    assert mute == []


def test_scene_files_stay_under_about_a_hundred_lines() -> None:
    assert [
        named(path) for path in FILES if path.parent.name == "scenes" and len(path.read_text().splitlines()) > 110
    ] == []


def test_every_stage_has_a_file_named_by_its_verb() -> None:
    from ecs_rl.schedule import SCHEDULE

    modules = set()
    for entry in SCHEDULE:
        modules.add(entry.processor.__module__)
        assert entry.processor.__module__.endswith(f".{entry.name}")
        assert entry.processor.__name__ == entry.name.capitalize()
    folders = [ROOT / "ecs_rl" / name for name in ("processors", "training_stages")]
    files = {f"ecs_rl.{path.parent.name}.{path.stem}" for folder in folders for path in folder.glob("*.py")}
    others = {"processors.__init__", "training_stages.__init__", "training_stages.resources"}
    assert files == modules | {f"ecs_rl.{name}" for name in others}


def test_test_files_have_names_of_their_own() -> None:
    names = [path.name for path in (ROOT / "tests").rglob("*.py")]
    assert sorted(names) == sorted(set(names))
    assert not list((ROOT / "tests").rglob("__init__.py"))
