"""A command looks up once what it names: its scene's file runs once, however often the settings are needed."""

from __future__ import annotations

from pathlib import Path

import pytest
from command_runs import BALANCE, TINY, play, train

COUNTED = """
with open({log!r}, "a") as log:
    log.write("x")
"""


class CountedScene:
    """A user's scene file that counts how often it is run."""

    def __init__(self, folder: Path) -> None:
        self.path, self._log = folder / "counted.py", folder / "times"
        self.path.write_text(BALANCE.read_text() + COUNTED.format(log=str(self._log)))

    def times(self) -> int:
        """Return how often it was run since the last call."""
        count = len(self._log.read_text())
        self._log.write_text("")
        return count


@pytest.fixture
def scene(tmp_path: Path) -> CountedScene:
    return CountedScene(tmp_path)


def test_a_training_its_resume_and_its_playback_run_the_scenes_file_once_each(
    scene: CountedScene, tmp_path: Path
) -> None:
    runs = ("--runs", tmp_path / "runs")
    first = train(scene.path, *TINY, *runs, "--json")
    assert (first.code, scene.times()) == (0, 1)
    again = train(scene.path, "--resume", "--steps", "4k", *runs, "--json")
    assert (again.code, again.run, scene.times()) == (0, first.run, 1)
    for target in (first.run, scene.path):
        assert play(target, "--headless", "--episodes", "1", *runs).code == 0
        assert scene.times() == 1, target


def test_a_check_runs_the_scenes_file_once(scene: CountedScene) -> None:
    assert train(scene.path, "--check", "--arenas", "4").code == 0
    assert scene.times() == 1


def test_help_runs_it_once_for_its_defaults(scene: CountedScene) -> None:
    with pytest.raises(SystemExit):
        train(scene.path, "--help")
    assert scene.times() == 1
