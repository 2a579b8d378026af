"""Which test files are begun first, and what the tests of scene files share."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from scene_files import Save

LONG = ("test_readme_commands", "test_workers", "test_sweeps", "test_make_pilots", "test_watching_workers")
"""Files that take a minute or more: begun last they would keep one process busy while the others have nothing to do."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the files that take long before all others; the order is otherwise as it was."""
    items.sort(key=lambda item: not item.path.stem.startswith(LONG))


@pytest.fixture
def save(tmp_path: Path) -> Save:
    def write(text: str) -> Path:
        path = tmp_path / "mine.py"
        path.write_text(text)
        return path

    return write
