"""Streams that are closed, full or of another encoding: the exit code says whether what was asked for was told."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SMALL = "--arenas 8 --steps 200 --eval-episodes 2 --ppo.rollout 16 --ppo.minibatch 64 --ppo.hidden 16"
LOST = {"closed": (">&-", "Bad file descriptor"), "full": (">/dev/full", "No space left on device")}

pytestmark = pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full and a POSIX shell")


def shell(folder: Path, command: str, **environment: str) -> subprocess.CompletedProcess[str]:
    program, _, rest = command.partition(" ")
    line = f'exec "{sys.executable}" "{ROOT / program}" {rest}'
    env = {**os.environ, **environment}
    return subprocess.run(
        ["sh", "-c", line], cwd=folder, env=env, capture_output=True, text=True, errors="replace", check=False
    )


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("trained")
    assert shell(folder, f"train.py balance {SMALL}").returncode == 0
    return folder


def runs(folder: Path) -> list[dict[str, object]]:
    return [json.loads(path.read_text()) for path in folder.glob("runs/*/*/*/metadata.json")]


@pytest.mark.parametrize("how", LOST)
@pytest.mark.parametrize(
    "command",
    [
        "train.py --help",
        "train.py balance --help",
        "train.py balance --check --arenas 4",
        "train.py balance --check --arenas 4 --json",
        "play.py --help",
        "play.py --list",
        "play.py --list --json",
        "play.py balance --headless --episodes 2",
        "play.py balance --headless --episodes 2 --json",
    ],
)
def test_what_was_asked_for_and_cannot_be_written_is_one_message_and_4(command: str, how: str, trained: Path) -> None:
    redirected, reason = LOST[how]
    done = shell(trained, f"{command} {redirected}")
    program = command.partition(" ")[0]
    *notes, last = done.stderr.splitlines()
    assert last == f"{program}: cannot write to stdout: {reason}; send it where it can be written"
    assert all("is the newest run" in note for note in notes)
    assert (done.returncode, done.stdout) == (4, "")


@pytest.mark.parametrize("how", LOST)
def test_a_training_whose_progress_nobody_can_read_is_done_and_saved(how: str, tmp_path: Path) -> None:
    done = shell(tmp_path, f"train.py balance {SMALL} {LOST[how][0]}")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert [(run["status"], run["total_steps"]) for run in runs(tmp_path)] == [("finished", 200)]


@pytest.mark.parametrize("how", LOST)
def test_a_training_whose_json_line_cannot_be_written_is_saved_and_ends_with_4(how: str, tmp_path: Path) -> None:
    done = shell(tmp_path, f"train.py balance {SMALL} --json {LOST[how][0]}")
    assert done.returncode == 4
    assert f"train.py: cannot write to stdout: {LOST[how][1]}" in done.stderr
    assert "finished at step 200" in done.stderr
    assert "Traceback" not in done.stderr
    assert [(run["status"], run["total_steps"]) for run in runs(tmp_path)] == [("finished", 200)]


@pytest.mark.parametrize("redirected", ["2>&-", "2>/dev/full"])
def test_without_a_stderr_everything_is_as_ever(redirected: str, trained: Path, tmp_path: Path) -> None:
    done = shell(tmp_path, f"train.py balance {SMALL} --json {redirected}")
    assert done.returncode == 0
    assert json.loads(done.stdout)["status"] == "finished"
    assert shell(tmp_path, f"train.py nothing {redirected}").returncode == 2
    listed = shell(trained, f"play.py --list --json {redirected}")
    assert (listed.returncode, len(json.loads(listed.stdout))) == (0, 1)


def test_with_all_streams_closed_no_file_of_the_run_takes_their_place(tmp_path: Path) -> None:
    done = shell(tmp_path, f"train.py balance {SMALL} <&- >&- 2>&-")
    assert done.returncode == 0
    (run,) = tmp_path.glob("runs/*/*/*")
    for log in run.glob("*.jsonl"):
        assert all(json.loads(line) for line in log.read_text().splitlines()), log
    assert shell(tmp_path, "play.py --headless --episodes 1 <&- >&- 2>&-").returncode == 4


@pytest.mark.parametrize(
    "environment",
    [
        pytest.param({"PYTHONIOENCODING": "ascii"}, marks=pytest.mark.slow),
        pytest.param({"PYTHONIOENCODING": "latin-1:strict"}, marks=pytest.mark.slow),
        {"LC_ALL": "C"},
    ],
    ids=["ascii", "latin-1", "C"],
)
def test_names_in_other_letters_can_be_told_in_any_encoding(environment: dict[str, str], tmp_path: Path) -> None:
    folder = tmp_path / "Бег"
    folder.mkdir()
    scene = folder / "маятник.py"
    text = (ROOT / "scenes" / "balance.py").read_text(encoding="utf-8")
    scene.write_text(text.replace('"upright": 1.0', '"прямо": 1.0'), encoding="utf-8")
    for command in (
        f"train.py Бег/маятник.py {SMALL} --name a --runs Бег/runs --json",
        "train.py Бег/маятник.py --check --arenas 2",
        "train.py Бег/маятник.py --help",
        "play.py --list --runs Бег/runs",
        "play.py a --headless --episodes 2 --runs Бег/runs",
    ):
        done = shell(tmp_path, command, **environment)
        assert (done.returncode, done.stderr.count("Traceback")) == (0, 0), (command, done.stderr)
    for wrong in ("train.py нет", "play.py нет --headless"):
        done = shell(tmp_path, wrong, **environment)
        assert (done.returncode, done.stderr.count("Traceback")) == (2, 0), (wrong, done.stderr)


def test_a_name_that_this_locale_cannot_read_is_refused_before_there_is_a_run(tmp_path: Path) -> None:
    scene = tmp_path / "маятник.py"
    scene.write_text((ROOT / "scenes" / "balance.py").read_text(encoding="utf-8"), encoding="utf-8")
    ascii_only = {"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"}
    done = shell(tmp_path, f"train.py маятник.py {SMALL}", **ascii_only)
    assert done.returncode == 2
    assert "is not text in this locale" in done.stderr
    assert "LC_ALL=C.UTF-8" in done.stderr
    assert done.stderr.count("\n") == 1
    assert not (tmp_path / "runs").exists()
