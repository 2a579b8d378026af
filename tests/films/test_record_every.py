from __future__ import annotations

import contextlib
import io
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from film_helpers import left_behind, shown
from readme_scenes import BEACONS

from ecs_rl.commands import play as play_command
from ecs_rl.commands import train as train_command
from ecs_rl.runs.layout import chosen_clips, cut_clips
from ecs_rl.training.training import Training
from ecs_rl.viewer.films import clips, encoder, studio

ROOT = Path(__file__).parents[2]
SMALL = ("--arenas", "8", "--eval-every", "1000", "--eval-episodes", "2", "--schedule-steps", "4k", "--threads", "1")
PPO = ("--ppo.rollout", "16", "--ppo.minibatch", "64", "--ppo.epochs", "2", "--ppo.hidden", "16")
DQN = ("--agent", "dqn", "--dqn.warm-up", "64", "--dqn.learn-every", "32", "--dqn.batch", "32", "--dqn.hidden", "16")
LOGS = ("train_episodes", "eval_episodes", "metrics")


@pytest.fixture(autouse=True)
def small_films(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(studio, "CLIP_SIZE", (64, 48))
    monkeypatch.setattr(studio, "CLIP_FPS", 5.0)
    monkeypatch.setattr(studio, "ENDING", 0.2)
    monkeypatch.setattr(clips, "LONGEST", 1.0)
    before = {each: signal.getsignal(each) for each in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    yield
    for each, handler in before.items():
        signal.signal(each, handler)


def train(*args: object, code: int = 0) -> dict[str, Any]:
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        found = train_command.main([*map(str, args), "--json"])
    assert found == code, err.getvalue()
    told: dict[str, Any] = json.loads(out.getvalue().splitlines()[-1]) if not code else {"error": err.getvalue()}
    return told


def new(
    runs: Path, name: str, *args: object, code: int = 0, steps: int = 2400, scene: str = "balance"
) -> dict[str, Any]:
    settings = () if "--agent" in args else PPO
    return train(scene, *SMALL, *settings, "--steps", steps, "--runs", runs, "--name", name, *args, code=code)


def films(told: dict[str, Any]) -> list[str]:
    return left_behind(Path(told["run"]) / "films")


def rows(told: dict[str, Any], log: str) -> list[dict[str, Any]]:
    found = [json.loads(line) for line in (Path(told["run"]) / f"{log}.jsonl").read_text().splitlines()]
    return [{key: row[key] for key in row if key != "seconds" and not key.startswith("time/")} for row in found]


def assert_same(found: dict[str, Any], wanted: dict[str, Any]) -> None:
    for key in ("params_sha256", "steps", "episodes", "best_eval", "best_step", "status"):
        assert found[key] == wanted[key], key
    for log in LOGS:
        assert rows(found, log) == rows(wanted, log), log


@contextlib.contextmanager
def stop_at(step: int) -> Iterator[None]:
    """Stop a training, as Ctrl-C does, after the tick that reaches a step."""
    tick = Training.tick

    def stopped(training: Training) -> None:
        tick(training)
        if training.session.total_steps >= step and not training.stop:
            os.kill(os.getpid(), signal.SIGINT)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Training, "tick", stopped)
        yield


def test_there_is_a_clip_at_each_multiple_and_each_milestone_and_a_film_of_all_learning(tmp_path: Path) -> None:
    told = new(tmp_path, "filmed", "--record-every", 1000)
    # 8 steps a tick: the beginning, quarters of 2,400, multiples of 1,000; the first tick at or past each.
    steps = [8, 600, 1000, 1200, 1800, 2000, 2400]
    assert films(told) == sorted(["learning.mp4", *(f"step_{step}.mp4" for step in steps)])
    assert told["seconds_in"]["film"] > 0
    folder = Path(told["run"]) / "films"
    parts = [len(shown(folder / f"step_{step}.mp4")[0]) for step in (8, 600, 1200, 1800, 2400)]
    assert len(shown(folder / "learning.mp4")[0]) == sum(parts)


@pytest.mark.parametrize(("text", "agent"), [("", ()), ("", DQN), (BEACONS, ())], ids=["ppo", "dqn", "own systems"])
def test_a_training_that_is_filmed_is_the_training_that_is_not(
    tmp_path: Path, text: str, agent: tuple[str, ...]
) -> None:
    scene = "balance"
    if text:
        scene = str(tmp_path / "mine.py")
        Path(scene).write_text(text)
    plain, filmed = (
        new(tmp_path, name, *agent, *more, scene=scene)
        for name, more in (("plain", ()), ("filmed", ("--record-every", 700)))
    )
    assert_same(filmed, plain)
    assert "film" not in plain["seconds_in"]
    assert not (Path(plain["run"]) / "films").exists()


def test_a_resumed_training_keeps_its_clips_and_shoots_none_twice(tmp_path: Path) -> None:
    whole = new(tmp_path, "whole", "--checkpoint-every", 500)
    with stop_at(1100):
        first = new(tmp_path, "parts", "--checkpoint-every", 500, "--record-every", 1000)
    assert first["status"] == "interrupted"
    assert films(first) == sorted(["learning.mp4", *(f"step_{step}.mp4" for step in (8, 600, 1000, 1104))])
    folder = Path(first["run"]) / "films"
    made = {path.name: path.stat().st_mtime_ns for path in folder.glob("step_*")}
    second = train("balance", "--resume", first["run"], "--runs", tmp_path)
    assert {name: (folder / name).stat().st_mtime_ns for name in made} == made
    steps = [8, 600, 1000, 1104, 1200, 1800, 2000, 2400]
    assert films(second) == sorted(["learning.mp4", *(f"step_{step}.mp4" for step in steps)])
    assert_same(second, whole)
    assert second["seconds_in"]["film"] > first["seconds_in"]["film"]


def test_clips_past_the_checkpoint_are_of_a_future_that_did_not_come(tmp_path: Path) -> None:
    with stop_at(1100):
        first = new(tmp_path, "parts", "--checkpoint-every", 500, "--record-every", 1000)
    run = Path(first["run"])
    (run / "checkpoints" / "step_1104.safetensors").unlink()
    (run / "checkpoints" / "latest.safetensors").unlink()
    (run / "films" / ".step_9.mp4.tmp").write_bytes(b"half")
    with stop_at(1010):
        second = train("balance", "--resume", run, "--runs", tmp_path)
    assert films(second) == sorted(["learning.mp4", *(f"step_{step}.mp4" for step in (8, 600, 1000, 1016))])


def test_clips_can_be_asked_for_in_one_life_of_a_run_and_not_in_another(tmp_path: Path) -> None:
    with stop_at(900):
        first = new(tmp_path, "run", "--checkpoint-every", 500)
    with stop_at(1300):
        second = train("balance", "--resume", first["run"], "--runs", tmp_path, "--record-every", 1000)
    steps = (1000, 1200, 1304)
    assert films(second) == sorted(["learning.mp4", *(f"step_{step}.mp4" for step in steps)])
    third = train("balance", "--resume", first["run"], "--runs", tmp_path, "--record-every", 0)
    assert "film" not in third["seconds_in"]
    assert films(third) == films(second)
    assert json.loads((Path(third["run"]) / "config.json").read_text())["record_every"] == 0
    assert_same(third, new(tmp_path, "whole", "--checkpoint-every", 500))


def test_a_solved_training_ends_with_a_clip_of_what_solved_it(tmp_path: Path) -> None:
    scene = tmp_path / "easy.py"
    text = (ROOT / "scenes" / "balance.py").read_text()
    scene.write_text(text.replace("solved_at=475", "solved_at=1"))
    args = ("--until-solved", "--record-every", "1M", "--steps", "4k", "--runs", tmp_path)
    told = train(scene, *SMALL, *PPO, *args)
    assert told["status"] == "solved"
    assert films(told) == sorted(["learning.mp4", "step_8.mp4", f"step_{told['steps']}.mp4"])


def test_films_of_two_policies_and_of_a_scene_by_path(tmp_path: Path) -> None:
    sys.path.insert(0, str(ROOT / "tests" / "survival"))
    try:
        from exact_resume_cases import TWO, WILD
    finally:
        sys.path.pop(0)
    for name, text in (("two", TWO), ("wild", WILD)):
        scene = tmp_path / f"{name}.py"
        scene.write_text(text)
        told = train(scene, *SMALL, *PPO, "--steps", 400, "--runs", tmp_path, "--record-every", 200)
        assert films(told) == sorted(["learning.mp4", *(f"step_{step}.mp4" for step in (8, 104, 200, 304, 400))])


def test_a_film_that_cannot_be_written_is_told_and_the_training_goes_on_to_its_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake = tmp_path / "ffmpeg"
    fake.write_text("#!/bin/sh\ncat >/dev/null\necho no space left >&2\nexit 1\n")
    fake.chmod(0o755)
    monkeypatch.setenv("IMAGEIO_FFMPEG_EXE", str(fake))
    told = new(tmp_path, "full", "--record-every", 1000, code=4)
    assert "ffmpeg said: no space left" in told["error"]
    (run,) = (tmp_path / "full" / "v1").iterdir()
    metadata = json.loads((run / "metadata.json").read_text())
    assert metadata["status"] == "finished"
    assert list((run / "checkpoints").glob("step_*"))
    assert left_behind(run / "films") == []


def test_a_last_film_that_cannot_be_written_costs_nothing_of_the_training(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "out").mkdir()

    def full(*_: object) -> None:
        raise filming_error

    from ecs_rl.errors import StorageError

    filming_error = StorageError("the disk is full")
    monkeypatch.setattr(encoder, "joining", full)
    assert "the disk is full" in new(tmp_path, "full", "--record-every", 1000, code=4)["error"]
    (run,) = (tmp_path / "full" / "v1").iterdir()
    assert json.loads((run / "metadata.json").read_text())["status"] == "finished"
    assert (run / "checkpoints" / "step_2400.safetensors").is_file()


def test_without_the_extra_it_is_refused_before_there_is_a_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "imageio_ffmpeg", None)
    told = new(tmp_path / "runs", "x", "--record-every", 1000, code=2)
    assert "--record-every needs an encoder: python -m pip install 'ecs-rl[video]'" in told["error"]
    assert not (tmp_path / "runs").exists()


def test_more_clips_than_anybody_waits_for_are_refused(tmp_path: Path) -> None:
    told = new(tmp_path / "runs", "x", "--record-every", 1, "--arenas", 8, "--steps", "1M", code=2)
    asked = "--record-every 1 asks for 125,000 clips in 1,000,000 steps: at most 1,000, so take 1000 or more"
    assert asked in told["error"]
    assert not (tmp_path / "runs").exists()


def test_a_negative_number_of_steps_is_refused(tmp_path: Path) -> None:
    assert (
        "--record-every must be a whole number of at least 0"
        in new(tmp_path, "x", "--record-every", "-1", code=2)["error"]
    )


def test_a_folder_of_films_that_leads_out_of_the_run_is_refused(tmp_path: Path) -> None:
    with stop_at(300):
        told = new(tmp_path, "run")
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "step_999999.mp4").write_bytes(b"mine")
    (Path(told["run"]) / "films").symlink_to(tmp_path / "elsewhere")
    found = train("balance", "--resume", told["run"], "--runs", tmp_path, "--record-every", 500, code=3)
    assert "is a link that leaves the run" in found["error"]
    assert left_behind(tmp_path / "elsewhere") == ["step_999999.mp4"]


def test_the_folder_of_films_disturbs_neither_the_list_nor_playing_back(tmp_path: Path) -> None:
    told = new(tmp_path, "filmed", "--record-every", "1M", "--steps", 400)
    for args in (("--list",), (told["run"], "--headless", "--episodes", "1"), ("filmed", "--headless")):
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            assert play_command.main([*args, "--runs", str(tmp_path), "--json"]) == 0
        assert str(told["run"]) in out.getvalue()


def test_the_first_clip_past_each_milestone_is_chosen_and_the_last_of_all(tmp_path: Path) -> None:
    folder = tmp_path / "films"
    folder.mkdir()
    for step in (8, 1000, 2503, 2600, 5000, 9000, 9100):
        (folder / f"step_{step}.mp4").touch()
    (folder / "step_x.mp4").touch()
    chosen = [path.name for path in chosen_clips(tmp_path, (0, 2500, 5000, 7500, 10_000))]
    assert chosen == [f"step_{step}.mp4" for step in (8, 2503, 5000, 9000, 9100)]
    cut_clips(tmp_path, 2503)
    assert left_behind(folder) == sorted(["step_8.mp4", "step_1000.mp4", "step_2503.mp4", "step_x.mp4"])
    assert chosen_clips(tmp_path / "none", (0, 1)) == []


RUN = """
import sys
from ecs_rl.commands.train import main
code = main(sys.argv[1:])
print(sorted({"pygame", "imageio_ffmpeg"} & set(sys.modules)))
sys.exit(code)
"""


def test_nobody_who_films_nothing_imports_pygame(tmp_path: Path) -> None:
    command = [sys.executable, "-c", RUN, "balance", *SMALL, *PPO, "--steps", "200", "--runs", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "[]"


def test_ctrl_c_in_the_middle_of_a_clip_cuts_it_short_and_saves(tmp_path: Path) -> None:
    command = [sys.executable, str(ROOT / "train.py"), "lander", "--record-every", "1M", "--runs", str(tmp_path)]
    env = {**os.environ, "SDL_VIDEODRIVER": "x11"}  # which is not there, and not needed
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=env)
    try:
        end = time.monotonic() + 30
        while not list(tmp_path.glob("lander/v1/*/films/.step_*")):
            assert time.monotonic() < end
            time.sleep(0.005)
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == 0, out
    assert "interrupted at step" in out
    (folder,) = tmp_path.glob("lander/v1/*/films")
    assert left_behind(folder) == ["learning.mp4", "step_64.mp4"]
