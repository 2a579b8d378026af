"""Packages that bring scenes: none of their code runs before one of their scenes does, so a broken one harms nobody."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from command_runs import BALANCE, ROOT

BROKEN = {
    "raises": "raise RuntimeError('no licence')",
    "has a syntax error": "def (:",
    "exits": "import sys\nsys.exit(7)",
    "interrupts": "raise KeyboardInterrupt",
    "ends the process": "import os\nos._exit(9)",
    "is no text": "\0\udcff",
}
COMMANDS = (
    ("train.py", "--help"),
    ("play.py", "--list"),
    ("train.py", "balance", "--check", "--json", "--arenas", "2"),
)
PROGRESS = re.compile(r"train\.py: \w+: play \d of \d, tick [\d,]+ of [\d,]+")
"""What `--check` says on its way on a slow machine."""


def package(folder: Path, code: str, entries: str = "hop = jumping.scenes.hop") -> Path:
    """Install a package of scenes into a folder, with this code in both of its `__init__.py`."""
    scenes, facts = folder / "jumping" / "scenes", folder / "jumping-1.0.dist-info"
    scenes.mkdir(parents=True)
    facts.mkdir()
    for each in (scenes, scenes.parent):
        (each / "__init__.py").write_text(code, errors="surrogateescape")
    (scenes / "hop.py").write_text(BALANCE.read_text())
    (facts / "METADATA").write_text("Metadata-Version: 2.1\nName: jumping\nVersion: 1.0\n")
    (facts / "entry_points.txt").write_text(f"[ecs_rl.scenes]\n{entries}\n")
    return folder


def called(folder: Path, *words: object) -> subprocess.CompletedProcess[str]:
    program, *more = map(str, words)
    return subprocess.run(
        [sys.executable, str(ROOT / program), *more],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(folder)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def messages(stderr: str) -> list[str]:
    """Return the lines of stderr without those that only tell how far a command is."""
    return [line for line in stderr.splitlines() if not PROGRESS.fullmatch(line)]


@pytest.mark.parametrize("how", BROKEN)
def test_a_package_that_breaks_when_it_is_imported_breaks_no_command(how: str, tmp_path: Path) -> None:
    package(tmp_path, BROKEN[how])
    for words in COMMANDS:
        done = called(tmp_path, *words)
        assert (done.returncode, messages(done.stderr)) == (0, []), words


def test_its_scene_is_trained_by_name_without_running_the_package(tmp_path: Path) -> None:
    package(tmp_path, BROKEN["ends the process"])
    few = ("--steps", 500, "--arenas", 8, "--eval-episodes", 1, "--runs", tmp_path / "runs")
    done = called(tmp_path, "train.py", "hop", *few)
    assert done.returncode == 0, done.stderr
    played = called(tmp_path, "play.py", "hop", "--headless", "--episodes", 1, "--runs", tmp_path / "runs")
    assert played.returncode == 0, played.stderr


@pytest.mark.parametrize("how", ["raises", "exits"])
def test_a_scene_that_imports_its_broken_package_is_told_by_its_line(how: str, tmp_path: Path) -> None:
    scene = package(tmp_path, BROKEN[how]) / "jumping" / "scenes" / "hop.py"
    scene.write_text("import jumping.law\n" + BALANCE.read_text())
    done = called(tmp_path, "train.py", "hop", "--check")
    assert done.returncode == 2
    assert f"{scene}, line 1: " in done.stderr
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize(
    ("entries", "words"),
    [
        ("hop = jumping.scenes.gone", "its scene 'hop' is left out: there is no module 'jumping.scenes.gone'"),
        ("hop = jumping.scenes.hop.deeper", "there is no module 'jumping.scenes.hop.deeper'"),
        ("hop = ..hop", "there is no module '..hop'"),
        ("hop = jumping.scenes:hop", "there is no module 'jumping.scenes:hop'"),
        ("../hop = jumping.scenes.hop", "'../hop' is no name for a scene"),
        ("\x1b[31mhop = jumping.scenes.hop", "'\\x1b[31mhop' is no name for a scene"),
    ],
)
def test_entry_points_that_lead_nowhere_are_told_in_one_line_and_all_else_works(
    entries: str, words: str, tmp_path: Path
) -> None:
    package(tmp_path, "", "other = jumping.scenes.hop")
    facts = tmp_path / "falling-1.0.dist-info"
    facts.mkdir()
    (facts / "METADATA").write_text("Metadata-Version: 2.1\nName: falling\nVersion: 1.0\n")
    (facts / "entry_points.txt").write_text(f"[ecs_rl.scenes]\n{entries}\n")
    done = called(tmp_path, "train.py", "other", "--check", "--json", "--arenas", "2")
    assert done.returncode == 0
    (line,) = messages(done.stderr)
    assert line.startswith("ecs_rl: the package falling: ")
    assert words in line
    assert line.isprintable()
