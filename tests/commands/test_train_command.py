"""What `train.py` refuses: with the right exit code, in one sentence, and without leaving anything behind."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from ecs_rl.commands.train import main
from ecs_rl.loading import load_scene
from ecs_rl.values import parse_count

BALANCE = Path(__file__).parents[2] / "scenes" / "balance.py"
SMALL = ["--arenas", "8", "--steps", "100", "--eval-episodes", "2", "--ppo.rollout", "8"]


@pytest.fixture(autouse=True)
def empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Let the default `runs` be in a folder of the test's own."""
    folder = tmp_path / "here"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["balnce"], "there is no scene 'balnce': did you mean 'balance'?"),
        (["landing"], "there is no scene 'landing'"),
        (["./nowhere.py"], "there is no scene file ./nowhere.py"),
        (["balance", "--agent", "pppo"], "did you mean 'ppo'?"),
        (["balance", "--stesp", "5"], "unknown flag '--stesp': did you mean '--steps'?"),
        (["balance", "--ppo.lrr", "5"], "unknown flag '--ppo.lrr': did you mean '--ppo.lr'?"),
        (["balance", "--steps", "many"], "--steps: 'many' is not a whole number"),
        (["balance", "--steps", "0"], "--steps must be a whole number of at least 1"),
        (["balance", "--ppo.lr", "-1"], "ppo.lr"),
        (["balance", "--name", "../out"], "--name must be letters"),
        (["balance", "--config", "none.toml"], "--config none.toml: cannot be read"),
        (
            ["swingup", "--agent", "dqn"],
            "--agent dqn can only choose between options, but push is a lever: use sac, td3 or ppo",
        ),
        ([], "SCENE is missing"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_a_bad_command_is_refused_with_2_and_leaves_nothing(
    args: list[str], words: str, empty_folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(args) == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err.startswith("train.py: ")
    assert words in told.err
    assert len(told.err.splitlines()) == 1
    assert list(empty_folder.iterdir()) == []


@pytest.mark.parametrize("which", [[], ["balance/v1"]], ids=["newest", "named"])
def test_resuming_without_a_run_is_refused_with_2_and_leaves_nothing(
    which: list[str], empty_folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["balance", "--resume", *which]) == 2
    told = capsys.readouterr().err
    assert "there is no run 'balance" in told
    assert list(empty_folder.iterdir()) == []


def without_asserts(*args: str) -> subprocess.CompletedProcess[str]:
    """Run `python -O train.py` with these arguments."""
    words = [sys.executable, "-O", str(BALANCE.parents[1] / "train.py"), *args]
    return subprocess.run(words, capture_output=True, text=True, timeout=120, check=False)


def test_python_without_asserts_is_refused_before_training_and_leaves_nothing(empty_folder: Path) -> None:
    done = without_asserts("balance")
    refusal = "train.py: python -O switches off the checks of the physics: run without -O\n"
    assert (done.returncode, done.stdout, done.stderr) == (2, "", refusal)
    assert list(empty_folder.iterdir()) == []


def test_python_without_asserts_prints_the_help() -> None:
    done = without_asserts("balance", "--help")
    assert (done.returncode, done.stderr) == (0, "")
    assert "--until-solved" in done.stdout


BUGS = {
    "a colon is missing": (
        "def build(arena: Arena) -> None:",
        "def build(arena: Arena) -> None  # BUG",
        "expected ':'",
    ),
    "no such name": ("Start(x=jitter(0.05), vx=jitter(0.05))", "Strat(x=1.0)  # BUG\n", "NameError: name 'Strat'"),
    "negative mass": ("Body(mass=0.1)", "Body(mass=-0.1)", "-0.1"),
    "mass is no number": ("Body(mass=0.1)", "Body(mass=float('nan'))", "nan"),
    "infinite force": ("Push(cart, +10.0)", "Push(cart, float('inf'))", "inf"),
    "a rule that raises": ('"upright": 1.0', '"upright": lambda: 1 / 0', "ZeroDivisionError: division by zero"),
    "a rule of the wrong shape": ('"upright": 1.0', '"upright": lambda: np.zeros(3)', "one number per arena"),
    "an import that fails": (
        "from ecs_rl.scene import *",
        "from ecs_rl.scene import *\nimport nothing_there",
        "nothing",
    ),
}


@pytest.mark.parametrize("bug", BUGS)
def test_a_scene_with_a_bug_is_refused_by_file_and_line(
    bug: str, tmp_path: Path, empty_folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    old, new, words = BUGS[bug]
    text = BALANCE.read_text()
    assert text.count(old) == 1
    text = text.replace(old, new).replace("SCENE =", "import numpy as np\n\nSCENE =", 1)
    scene = tmp_path / "mine.py"
    scene.write_text(text)
    wrong = new.splitlines()[-1]
    line = next(i for i, content in enumerate(text.splitlines(), 1) if wrong in content)
    assert main([str(scene), *SMALL]) == 2
    told = capsys.readouterr()
    assert f"{scene}, line {line}: " in told.err
    assert words in told.err
    assert "Traceback" not in told.err
    assert told.out == ""
    assert list(empty_folder.iterdir()) == []


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("from ecs_rl.scene import *\n", "has no `SCENE = Scene(...)`"),
        ("from ecs_rl.scene import *\nSCENE = Scene(about='A.', max_ticks=9)\n", "has no `def build(arena): ...`"),
        ("", "has no `SCENE = Scene(...)`"),
    ],
    ids=["no scene", "no build", "empty"],
)
def test_a_file_that_is_no_scene_says_what_it_lacks(
    text: str, words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    scene = tmp_path / "mine.py"
    scene.write_text(text)
    assert main([str(scene)]) == 2
    assert f"{scene}: {words}" in capsys.readouterr().err


@pytest.mark.parametrize("runs", ["file", "file/below"])
def test_a_runs_folder_that_cannot_be_written_is_refused_with_4(
    runs: str, empty_folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (empty_folder / "file").write_text("I was here first")
    assert main(["balance", *SMALL, "--runs", runs]) == 4
    told = capsys.readouterr()
    assert told.err.startswith(f"train.py: cannot write {runs}/balance/v1: ")
    assert "--runs" in told.err
    assert (empty_folder / "file").read_text() == "I was here first"


def test_a_log_that_the_disk_refuses_while_training_ends_with_4(
    empty_folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from ecs_rl.runs import TrainingRun

    def full(run: TrainingRun, *_: object) -> None:
        shutil.rmtree(run.path / "checkpoints", ignore_errors=True)

    monkeypatch.setattr(TrainingRun, "log_metrics", full)
    assert main(["balance", *SMALL, "--schedule-steps", "100"]) == 4  # a row in every tick
    told = capsys.readouterr()
    assert "train.py: cannot write " in told.err
    assert "checkpoints" in told.err
    assert "Traceback" not in told.err


def test_help_shows_the_scenes_own_defaults(capsys: pytest.CaptureFixture[str]) -> None:
    for scene in ("balance", "swingup"):
        with pytest.raises(SystemExit) as stop:
            main([scene, "--help"])
        assert stop.value.code == 0
        recipe = load_scene(scene).recipes["ppo"]
        told = " ".join(capsys.readouterr().out.split())
        assert f"(default: {parse_count(str(recipe['steps'])):_})" in told
        assert f"(default: {recipe['lr']:g})" in told
        assert "(default: ppo)" in told
