"""What the tests of scene files share."""

from __future__ import annotations

from pathlib import Path

import pytest
from scene_files import Save


@pytest.fixture
def save(tmp_path: Path) -> Save:
    def write(text: str) -> Path:
        path = tmp_path / "mine.py"
        path.write_text(text)
        return path

    return write
