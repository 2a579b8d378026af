"""The record of files that the user has run: by content, for several processes at once, and bounded."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from ecs_rl.user_files import known
from ecs_rl.user_files.known import FOLDER, is_known, place_of, remember, state_folder
from ecs_rl.user_files.sources import read_sources

WRITER = """
import sys
from pathlib import Path
from ecs_rl.user_files.known import remember
from ecs_rl.user_files.sources import read_sources

for i in range(60):
    path = Path(sys.argv[1], f"{sys.argv[2]}_{i}.py")
    path.write_text(f"NUMBER = {i}")
    remember(read_sources(path))
"""


@pytest.fixture
def folder(new_user: Path) -> Path:
    return new_user / "ecs_rl" / FOLDER


def ran(path: Path, text: str = "NUMBER = 1") -> str:
    path.parent.mkdir(exist_ok=True, parents=True)
    path.write_text(text)
    sources = read_sources(path)
    remember(sources)
    return sources.sha256


def test_a_content_is_known_wherever_it_is_and_where_it_was_run_last(folder: Path, tmp_path: Path) -> None:
    first = ran(tmp_path / "a.py")
    assert is_known(first)
    assert place_of(first) == tmp_path / "a.py"
    assert ran(tmp_path / "b.py") == first
    assert (folder / first).read_bytes() == os.fsencode(tmp_path / "b.py")
    assert os.listdir(folder) == [first]


def test_helpers_belong_to_the_content(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "law.py").write_text("MASS = 1")
    before = ran(tmp_path / "a.py", "import law")
    (tmp_path / "law.py").write_text("MASS = 2")
    now = read_sources(tmp_path / "a.py").sha256
    assert is_known(before)
    assert not is_known(now)


@pytest.mark.parametrize("name", ["", "ab" * 32, "../toured", "AB" * 32, "ab" * 32 + "\n", "/etc/passwd"])
def test_what_was_never_run_is_not_known(name: str, folder: Path, tmp_path: Path) -> None:
    ran(tmp_path / "a.py")
    (folder.parent / "toured").touch()
    assert not is_known(name)
    assert place_of(name) is None


def test_an_entry_that_was_damaged_is_still_known_by_its_name(folder: Path, tmp_path: Path) -> None:
    folder.mkdir(parents=True)
    for i, content in enumerate((b"", b"a\0b", b"\xff" * 100_000, b"not/absolute.py")):
        name = f"{i}" * 64
        (folder / name).write_bytes(content)
        assert is_known(name)
        assert place_of(name) is None


def test_processes_that_write_at_once_lose_nothing_and_leave_nothing_half(folder: Path, tmp_path: Path) -> None:
    writers = [subprocess.Popen([sys.executable, "-c", WRITER, tmp_path, name]) for name in "abcd"]
    assert [writer.wait(120) for writer in writers] == [0, 0, 0, 0]
    for i in range(60):
        sha256 = read_sources(tmp_path / f"a_{i}.py").sha256
        assert is_known(sha256)
        assert place_of(sha256) in {tmp_path / f"{name}_{i}.py" for name in "abcd"}
    assert len(os.listdir(folder)) == 60


def test_the_record_is_bounded_and_forgets_what_was_run_longest_ago(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(known, "MOST_FILES", 5)
    names = [ran(tmp_path / "first.py", f"NUMBER = {i}") for i in range(5)]
    for age, name in enumerate(names):
        os.utime(folder / name, (1000 + age, 1000 + age))
    (folder / ".half").write_text("what a killed process left")
    os.utime(folder / ".half", (1, 1))
    ran(tmp_path / "other.py", "NUMBER = 0")  # run once more: not the oldest any longer
    last = ran(tmp_path / "first.py", "NUMBER = 6")
    assert set(os.listdir(folder)) == {names[0], *names[2:], last}


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_without_permission_is_told_once(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder.mkdir(parents=True)
    folder.chmod(0o500)
    ran(tmp_path / "a.py")
    ran(tmp_path / "b.py", "NUMBER = 2")
    assert capsys.readouterr().err.count(f"{folder}: Permission denied") == 1


def test_a_full_disk_is_told_once_and_the_file_counts_for_this_command(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def full(*args: object, **more: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    first, second = ran(tmp_path / "a.py"), ran(tmp_path / "b.py", "NUMBER = 2")
    told = capsys.readouterr().err
    assert told.count(f"{folder}: No space left on device") == len(told.splitlines()) == 1
    assert is_known(first)
    assert is_known(second)
    assert os.listdir(folder) == []


def test_a_relative_state_folder_counts_as_none(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", "state")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr(sys, "platform", "linux")
    assert state_folder() == tmp_path / ".local" / "state" / "ecs_rl"
    monkeypatch.setattr(sys, "platform", "darwin")
    assert state_folder() == tmp_path / "Library" / "Application Support" / "ecs_rl"
    monkeypatch.setattr(sys, "platform", "win32")
    monkeypatch.setenv("LOCALAPPDATA", str(tmp_path / "local"))
    assert state_folder() == tmp_path / "local" / "ecs_rl"
