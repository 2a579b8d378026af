"""Mark the unit tests, order the test files, keep the user's state folder apart, and help the tests of scene files."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import hypothesis
import pytest

if TYPE_CHECKING:
    from scene_files import Save

UNIT = ("agents", "physics", "scene", "session", "world")
"""Folders of the unit tests: they start no process but a short Python, and cover engine, scenes, agents and session."""
LONG = (
    *("test_workers", "test_watching_workers", "test_exact_resume", "test_readme_commands", "test_population"),
    *("test_sweeps", "test_seeds", "test_make_pilots", "test_machines", "test_launchers", "test_stopping_at_once"),
    *("test_live_keys", "test_soak", "test_learning"),
)
"""Files that take 20 s or more. They start before other files, or one process would run them alone at the end."""


@pytest.hookimpl(tryfirst=True)  # before pytest deselects by `-m`
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the unit tests; put them first and the long files next, otherwise keep the order."""
    tests = Path(__file__).parent
    for item in items:
        if item.path.is_relative_to(tests) and item.path.relative_to(tests).parts[0] in UNIT and is_quick(item):
            item.add_marker("unit")
    items.sort(key=lambda item: (item.get_closest_marker("unit") is None, not item.path.stem.startswith(LONG)))


def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """Return the processes of `-n auto`: one more than there are cores, as many tests wait for what they start."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    waits = config.getoption("markexpr") != "unit"  # unit tests start nothing
    return cores + 1 if waits else cores


def is_quick(item: pytest.Item) -> bool:
    """Return whether a test is none of the slow ones."""
    return item.get_closest_marker("slow") is None


def pytest_configure(config: pytest.Config) -> None:
    """Give the tests, and the processes that they start, a state folder of their own; let no test depend on speed."""
    os.environ["XDG_STATE_HOME"] = tempfile.mkdtemp(prefix="ecs_rl_tests_")
    hypothesis.settings.register_profile(
        "any_machine", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow]
    )
    hypothesis.settings.load_profile("any_machine")


def pytest_unconfigure(config: pytest.Config) -> None:
    """Delete it again."""
    shutil.rmtree(os.environ["XDG_STATE_HOME"], ignore_errors=True)


@pytest.fixture
def new_user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the state folder of a user who has run nothing yet, whose commands all that follow are."""
    folder = tmp_path / "state"
    monkeypatch.setenv("XDG_STATE_HOME", str(folder))
    return folder


@pytest.fixture
def save(tmp_path: Path) -> Save:
    def write(text: str) -> Path:
        path = tmp_path / "mine.py"
        path.write_text(text)
        return path

    return write
