"""Who may import what: the layout of the project as tests."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "ecs_rl"
FILES = sorted([*PACKAGE.rglob("*.py"), *(ROOT / "scenes").glob("*.py"), ROOT / "train.py", ROOT / "play.py"])
CLI = [
    f"ecs_rl.{path.parent.name}.{path.stem}"
    for room in ("cli", "commands")
    for path in sorted((PACKAGE / room).glob("[!_]*.py"))
]


def named(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@cache
def imports(path: Path, *, always_only: bool = False) -> frozenset[str]:
    """Return every imported module by its full name; `always_only` leaves out functions and TYPE_CHECKING."""
    return frozenset(_imports(path, always_only))


def _imports(path: Path, always_only: bool) -> Iterator[str]:
    waiting: list[ast.AST] = [ast.parse(path.read_text())]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{named(path)} imports relatively"
            yield node.module or ""
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        if always_only and isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            continue
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING" and always_only:
            continue
        waiting.extend(ast.iter_child_nodes(node))


def who_imports(module: str) -> set[str]:
    return {named(path) for path in FILES if any(f"{name}.".startswith(f"{module}.") for name in imports(path))}


def outside(found: set[str], *allowed: str) -> set[str]:
    return {name for name in found if not name.startswith(allowed)}


def test_only_the_viewer_imports_pygame() -> None:
    assert outside(who_imports("pygame"), "ecs_rl/viewer/") == set()


@pytest.mark.parametrize("room", ["panels", "controls"])
def test_a_panel_and_a_control_import_neither_another_one_nor_the_window(room: str) -> None:
    files = sorted((PACKAGE / "viewer" / room).glob("[!_]*.py"))
    assert files
    window = (
        "panels",
        "controls",
        "live.commands",
        "live.window",
        *(["frame"] if room == "panels" else []),
    )
    for path in files:
        inside = [
            module
            for module in imports(path)
            if f"{module}.".startswith(tuple(f"ecs_rl.viewer.{name}." for name in window))
        ]
        assert inside == [], named(path)


def test_panels_see_little_of_the_window() -> None:
    (app,) = [
        node
        for node in ast.walk(ast.parse((PACKAGE / "viewer" / "panel.py").read_text()))
        if isinstance(node, ast.ClassDef) and node.name == "App"
    ]
    members = [node for node in app.body if isinstance(node, ast.AnnAssign | ast.FunctionDef)]
    assert 0 < len(members) <= 15


def test_the_viewer_imports_neither_the_command_line_nor_processors() -> None:
    rooms = tuple(f"ecs_rl.{room}." for room in ("cli", "tasks", "commands", "many", "processors"))
    for path in sorted((PACKAGE / "viewer").rglob("*.py")):
        assert [module for module in imports(path) if f"{module}.".startswith(rooms)] == [], named(path)


def test_only_the_physics_imports_pymunk() -> None:
    found = who_imports("pymunk")
    assert found
    assert outside(found, "ecs_rl/physics/") == set()


def test_only_the_ecs_imports_esper() -> None:
    found = who_imports("esper")
    assert found
    assert outside(found, "ecs_rl/ecs/") == set()


def test_the_ecs_knows_nothing_of_games_physics_or_learning() -> None:
    for path in (PACKAGE / "ecs").glob("*.py"):
        ours = {module for module in imports(path) if module.startswith("ecs_rl")}
        assert not [m for m in ours if not m.startswith(("ecs_rl.ecs", "ecs_rl.errors", "ecs_rl.arrays"))], named(path)


@pytest.mark.parametrize("module", ["pickle", "cPickle", "dill", "cloudpickle", "joblib", "shelve", "marshal"])
def test_nobody_pickles(module: str) -> None:
    assert who_imports(module) == set()


def test_nobody_saves_or_loads_by_torch_which_pickles() -> None:
    calls = {
        named(path)
        for path in FILES
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Attribute)
        and node.attr in ("save", "load")
        and ast.unparse(node) in ("torch.save", "torch.load", "np.load", "np.save")
    }
    assert calls == set()


@pytest.mark.parametrize("folder", ["agents", "runs", "session"])
def test_agents_runs_and_session_know_nothing_of_the_world(folder: str) -> None:
    forbidden = ("esper", "pymunk", "pygame")
    inside = tuple(f"ecs_rl.{part}" for part in ("world", "schedule", "processors", "components", "physics", "scene"))
    for path in (PACKAGE / folder).rglob("*.py"):
        for module in imports(path):
            assert not f"{module}.".startswith(tuple(f"{name}." for name in forbidden + inside)), named(path)


def test_agents_know_nothing_of_runs_and_sessions() -> None:
    for path in (PACKAGE / "agents").rglob("*.py"):
        for module in imports(path):
            assert not module.startswith(("ecs_rl.session", "ecs_rl.runs", "ecs_rl.cli")), named(path)


def test_components_are_data_only() -> None:
    tree = ast.parse((PACKAGE / "components.py").read_text())
    assert not [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]


def test_torch_stays_with_the_agents_and_checkpoints() -> None:
    found = {named(path) for path in FILES if "torch" in imports(path, always_only=True)}
    assert found
    alone = ("exact_resume.py", "self_play.py", "pool.py")  # states of agents, saved and shared
    files = (*(f"ecs_rl/training/{name}" for name in alone), "ecs_rl/pilots/torch_policy.py")
    assert outside(found, "ecs_rl/agents/", "ecs_rl/distributed/", "ecs_rl/runs/", "ecs_rl/testing/", *files) == set()


@pytest.mark.parametrize("folder", ["agents/config.py", "agents/make.py", "agents/base.py"])
def test_what_the_command_line_needs_of_the_agents_does_not_import_torch(folder: str) -> None:
    assert "torch" not in imports(PACKAGE / folder, always_only=True)


def test_importing_the_command_line_imports_neither_torch_nor_pygame() -> None:
    code = (
        f"import sys, importlib\nfor name in {CLI}: importlib.import_module(name)\n"
        "print(sorted({'torch', 'pygame'} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "[]"


def test_a_world_runs_without_torch_and_without_pygame() -> None:
    code = (
        "import sys, numpy as np\nfrom ecs_rl.loading import load_scene\nfrom ecs_rl.worlds import make_world\n"
        "w = make_world(load_scene('balance'), arenas=2, policies={'policy': lambda seen, state: np.zeros(2, int)})\n"
        "w.tick()\n"
        "print(sorted({'pygame', 'pickle5', 'gymnasium'} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "[]"


def test_the_top_level_is_what_it_should_be() -> None:
    there = {path.name for path in ROOT.iterdir() if not path.name.startswith((".", "_"))}
    made = {name for name in there if name.endswith(".egg-info") or name in ("runs", "build", "dist")}
    allowed = {"pyproject.toml", "ecs_rl", "scenes", "assets", "tests", "play.py", "train.py", "README.md"}
    assert there - made <= allowed
    assert {"pyproject.toml", "ecs_rl", "scenes", "tests", "play.py", "train.py"} <= there


def test_the_process_that_draws_loads_neither_torch_nor_physics() -> None:
    code = (
        "import sys, ecs_rl.viewer.live.screen_process\n"
        "print(sorted({'torch', 'pymunk', 'safetensors'} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "[]"
