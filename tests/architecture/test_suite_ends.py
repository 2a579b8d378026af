"""A test that kills its process is a failure, and the suite ends: pytest-xdist can wait forever for a replacement."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

SETTINGS = Path(__file__).resolve().parents[2] / "pyproject.toml"


@pytest.mark.parametrize("deed", ["os.abort()", "time.sleep(1000)"], ids=["crashes", "hangs"])
def test_the_suite_ends_and_fails_when_a_test_takes_its_process_along(deed: str, tmp_path: Path) -> None:
    """Two processes, six files, and in one of them it happens once others of its process are done."""
    for number in range(6):
        body = f"if which == 2: {deed}" if number == 2 else "pass"
        (tmp_path / f"test_{number}.py").write_text(
            f"import os, time, pytest\n\n@pytest.mark.parametrize('which', range(4))\ndef test(which):\n    {body}\n"
        )
    words = ["-n", "2", "-c", str(SETTINGS), "--rootdir", str(tmp_path), "-p", "no:cacheprovider"]
    words += ["-o", "faulthandler_timeout=2"]
    command = [sys.executable, "-m", "pytest", *words, str(tmp_path)]
    done = subprocess.run(command, cwd=tmp_path, check=False, capture_output=True, text=True, timeout=60)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "crashed while running 'test_2.py::test[2]'" in done.stdout
