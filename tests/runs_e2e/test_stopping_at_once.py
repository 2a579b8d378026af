"""A stop is answered at once: in the longest tick, before the first one, and when the terminal is closed."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import signal
import subprocess
import sys
import termios
import time
from pathlib import Path

import pytest
from command_runs import HANGS, ROOT, changed_balance, finish, metadata, play, start, train, wait_for
from small_learners import PPO
from test_stopping import LONG

from ecs_rl.runs import TrainingRun, read_manifest

LEARNS_LONG: tuple[object, ...] = ("--arenas", 512, "--steps", "10M", "--eval-every", "5M", "--ppo.rollout", 128)
LEARNS_LONG += ("--ppo.epochs", 20, "--ppo.minibatch", 16)
"""One update is 82,000 minibatches: half a minute."""
EVALUATES_LONG = ("--arenas", 8, "--steps", "10M", "--eval-every", 64, "--eval-episodes", 20_000, *PPO)

pytestmark = pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="POSIX signals")


def the_run(folder: Path) -> Path:
    (found,) = folder.glob("*/*/*")
    return found


def seconds_of(pid: int) -> float:
    """Return the processor time of a process; where that is not known, the time of the clock."""
    stat = Path(f"/proc/{pid}/stat")
    if not stat.exists():
        return time.monotonic()
    user, system = stat.read_text().rpartition(")")[2].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


@pytest.mark.parametrize(
    ("args", "stage"),
    [(("balance", *LEARNS_LONG), "learn"), (("lander", *EVALUATES_LONG), "evaluate")],
    ids=["update", "evaluation"],
)
def test_the_longest_update_or_evaluation_is_left_at_once(args: tuple[object, ...], stage: str, tmp_path: Path) -> None:
    process = start("train.py", *args, "--json", "--runs", tmp_path)
    wait_for(lambda: any(tmp_path.glob("*/*/*/checkpoints")), process)
    # The first tick is there long before, and the second update or evaluation long after.
    busy = seconds_of(process.pid) + 3.0
    wait_for(lambda: seconds_of(process.pid) > busy, process)
    process.send_signal(signal.SIGTERM)
    told = finish(process)
    assert (told.code, told.json["status"]) == (0, "interrupted"), told.err
    latest = read_manifest(told.run / "checkpoints" / "latest.safetensors")
    assert (latest.step, latest.resume["left_at"]) == (told.json["steps"], stage)
    assert f"go on: python train.py {args[0]} --resume {told.run}" in told.err


def test_two_signals_within_a_moment_are_one(tmp_path: Path) -> None:
    process = start("train.py", "balance", *LONG, "--json", "--runs", tmp_path)
    wait_for(lambda: any(tmp_path.glob("*/*/*/checkpoints/latest.safetensors")), process)
    for number in (signal.SIGINT, signal.SIGINT, signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        process.send_signal(number)
        time.sleep(0.01)
    while process.poll() is None:  # and while it says good-bye
        process.send_signal(signal.SIGINT)
        time.sleep(0.002)
    told = finish(process)
    assert (told.code, told.json["status"]) == (0, "interrupted"), told.err
    assert told.err.count("again to end at once") == 1
    assert metadata(told.run)["status"] == "interrupted"


def test_the_message_comes_in_the_middle_of_a_tick_that_never_ends(tmp_path: Path) -> None:
    hang = "(__import__('pathlib').Path(__file__).with_name('hangs').touch(), __import__('time').sleep(600), 1.0)[-1]"
    scene = changed_balance(tmp_path / "hangs.py", '"upright": 1.0', f'"upright": lambda: CALLS.pop()(lambda: {hang})')
    scene.write_text(scene.read_text() + "\n\nCALLS = [lambda hang: hang()] + [lambda hang: 1.0] * 50\n")
    process = start("train.py", scene, *LONG, "--runs", tmp_path / "runs")
    wait_for((tmp_path / "hangs").exists, process)
    process.send_signal(signal.SIGINT)
    assert process.stderr is not None
    assert select.select([process.stderr], [], [], HANGS)[0]
    assert process.stderr.readline() == "train.py: SIGINT: saving after this tick; again to end at once\n"
    process.kill()
    process.communicate()


def test_a_terminal_that_is_closed_saves_the_training(tmp_path: Path) -> None:
    ours, theirs = pty.openpty()

    def own_the_terminal() -> None:
        os.setsid()
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)

    args = [sys.executable, str(ROOT / "train.py"), "balance", *map(str, LONG), "--runs", str(tmp_path)]
    process = subprocess.Popen(args, stdin=theirs, stdout=theirs, stderr=theirs, preexec_fn=own_the_terminal)  # noqa: PLW1509
    os.close(theirs)
    end = time.monotonic() + HANGS
    while not any(tmp_path.glob("*/*/*/checkpoints/latest.safetensors")):
        assert time.monotonic() < end
        if select.select([ours], [], [], 0.02)[0]:
            os.read(ours, 65536)
    os.close(ours)
    assert process.wait(HANGS) == 0
    known = metadata(the_run(tmp_path))
    assert known["status"] == "interrupted"
    latest = the_run(tmp_path) / "checkpoints" / "latest.safetensors"
    assert read_manifest(latest).step == known["total_steps"]


def test_with_nohup_a_closed_terminal_is_no_reason_to_stop(tmp_path: Path) -> None:
    args = [sys.executable, str(ROOT / "train.py"), "balance", *map(str, LONG), "--json", "--runs", str(tmp_path)]
    process = subprocess.Popen(
        args,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN),  # noqa: PLW1509
    )
    wait_for(lambda: any(tmp_path.glob("*/*/*/checkpoints/latest.safetensors")), process)
    process.send_signal(signal.SIGHUP)
    time.sleep(1.2)
    assert process.poll() is None
    process.send_signal(signal.SIGTERM)
    told = finish(process)
    assert (told.code, told.json["status"]) == (0, "interrupted")
    assert "SIGHUP" not in told.err


# --- before the first tick ------------------------------------------------------------------------------------------

AT_IMPORT = """
import os, runpy, signal, sys

class Trap:
    def find_spec(self, name, path=None, target=None):
        if name == {module!r}:
            os.kill(os.getpid(), signal.{number})
            for _ in range(1000):
                pass
        return None

sys.meta_path.insert(0, Trap())
sys.argv = {argv!r}
runpy.run_path(sys.argv[0], run_name="__main__")
"""


def signalled_at_import(module: str, number: str, *argv: object) -> subprocess.CompletedProcess[str]:
    """Run a program that gets a signal when it imports a module for the first time."""
    script = AT_IMPORT.format(module=module, number=number, argv=[str(ROOT / str(argv[0])), *map(str, argv[1:])])
    env = {**os.environ, "PYTHONPATH": str(ROOT), "SDL_VIDEODRIVER": "dummy"}
    return subprocess.run([sys.executable, "-c", script], env=env, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    ("module", "number"),
    [
        ("ecs_rl.commands.train", "SIGINT"),
        ("ecs_rl.tasks.run_training", "SIGINT"),
        ("tyro", "SIGINT"),
        ("torch", "SIGINT"),
        ("torch", "SIGTERM"),
        ("torch", "SIGHUP"),
        ("pymunk", "SIGINT"),
        ("ecs_rl.training", "SIGINT"),
        ("ecs_rl.viewer.live.watch", "SIGTERM"),
    ],
)
def test_a_signal_before_there_is_a_run_is_one_line_and_leaves_nothing(
    module: str, number: str, tmp_path: Path
) -> None:
    done = signalled_at_import(module, number, "train.py", "balance", *LONG, "--watch", "--runs", tmp_path / "runs")
    assert done.stderr == "train.py: interrupted before training began: nothing was saved\n"
    assert (done.returncode, done.stdout) == (128 + getattr(signal, number), "")
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize("module", ["ecs_rl.commands.play", "ecs_rl.tasks.play_checkpoints", "torch"])
def test_a_signal_while_play_begins_is_one_line(module: str, tmp_path: Path) -> None:
    done = signalled_at_import(module, "SIGTERM", "play.py", "--headless", "--runs", tmp_path)
    *before, last = done.stderr.splitlines()
    assert (done.returncode, last) == (128 + signal.SIGTERM, "play.py: interrupted")
    assert all(line.startswith("play.py: there is no run") for line in before), "which may be known before torch loads"


def signalled_after(patch: pytest.MonkeyPatch, number: signal.Signals = signal.SIGINT) -> None:
    """Send this process a signal when the directory of a run was just made."""
    create = TrainingRun.create.__func__  # type: ignore[attr-defined]

    def made(*args: object, **kwargs: object) -> TrainingRun:
        run: TrainingRun = create(TrainingRun, *args, **kwargs)
        os.kill(os.getpid(), number)
        return run

    patch.setattr(TrainingRun, "create", made)


@pytest.fixture
def _handlers() -> object:
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    before = {number: signal.getsignal(number) for number in numbers}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.usefixtures("_handlers")
@pytest.mark.parametrize("window", [(), ("--watch",)], ids=["headless", "window"])
def test_a_signal_when_the_run_was_just_made_takes_it_away_again(
    window: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    with monkeypatch.context() as patch:
        signalled_after(patch, signal.SIGTERM)
        told = train("balance", *LONG, *window, "--runs", tmp_path)
    assert told.code == 128 + signal.SIGTERM
    assert "train.py: interrupted before training began: nothing was saved" in told.err
    assert "Traceback" not in told.err
    assert told.out == ""
    assert play("--list", "--json", "--runs", tmp_path).out == "[]\n"


@pytest.mark.usefixtures("_handlers")
def test_a_signal_while_a_run_is_brought_back_leaves_it_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    args = ("--arenas", 8, "--eval-episodes", 2, "--checkpoint-every", 5000, *PPO)
    first = train("balance", *args, "--steps", 800, "--json", "--runs", tmp_path)
    before = {path: path.read_bytes() for path in first.run.rglob("*.[js]*")}
    resume = TrainingRun.resume.__func__  # type: ignore[attr-defined]

    def opened(*given: object) -> TrainingRun:
        run: TrainingRun = resume(TrainingRun, *given)
        os.kill(os.getpid(), signal.SIGINT)
        return run

    monkeypatch.setattr(TrainingRun, "resume", opened)
    told = train("balance", "--resume", first.run, "--steps", 1600, "--runs", tmp_path)
    assert (told.code, metadata(first.run)["status"]) == (128 + signal.SIGINT, "finished")
    for path, content in before.items():
        if path.name != "metadata.json":
            assert path.read_bytes() == content, path


RULE = """from ecs_rl.scene import *
import time
from pathlib import Path


def upright() -> float:
    if Path(__file__).with_suffix(".slow").exists():
        Path(__file__).with_suffix(".began").touch()
        time.sleep(0.1)
    return 1.0
"""


def test_a_signal_that_comes_in_a_rule_is_no_mistake_of_the_scene(tmp_path: Path) -> None:
    scene = changed_balance(tmp_path / "mine.py", 'earns={"upright": 1.0}', 'earns={"upright": upright}')
    scene.write_text(scene.read_text().replace("from ecs_rl.scene import *\n", RULE, 1))
    run = train(scene, "--arenas", 8, "--steps", 500, *PPO, "--json", "--runs", tmp_path / "runs").run
    (tmp_path / "mine.slow").touch()
    playing = start("play.py", run, "--headless", "--episodes", 1)
    wait_for((tmp_path / "mine.began").exists, playing)
    playing.send_signal(signal.SIGINT)
    told = finish(playing)
    assert (told.code, told.err) == (130, "play.py: interrupted\n")
