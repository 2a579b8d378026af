"""Mark the unit tests, choose the order of the test files, and hold what the tests of scene files share."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from scene_files import Save

UNIT = ("agents", "physics", "scene", "session", "world")
"""Folders of the unit tests: they start no process but a short Python, and cover engine, scenes, agents and session."""
LONG = ("test_readme_commands", "test_workers", "test_sweeps", "test_make_pilots", "test_watching_workers")
"""Files that take a minute or more. They start before other files, or one process would run them alone at the end."""


@pytest.hookimpl(tryfirst=True)  # before pytest deselects by `-m`
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the unit tests; put them first and the long files next, otherwise keep the order."""
    tests = Path(__file__).parent
    for item in items:
        if item.path.is_relative_to(tests) and item.path.relative_to(tests).parts[0] in UNIT and is_quick(item):
            item.add_marker("unit")
    items.sort(key=lambda item: (item.get_closest_marker("unit") is None, not item.path.stem.startswith(LONG)))


def is_quick(item: pytest.Item) -> bool:
    """Return whether a test is none of the slow ones."""
    return item.get_closest_marker("slow") is None


@pytest.fixture
def save(tmp_path: Path) -> Save:
    def write(text: str) -> Path:
        path = tmp_path / "mine.py"
        path.write_text(text)
        return path

    return write
