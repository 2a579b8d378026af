"""`gym:ENV-ID`: a Gymnasium environment is trained, resumed, stopped, checked and played as scenes are."""

from __future__ import annotations

import json
import signal
import sys
from pathlib import Path
from typing import Any

import numpy as np
import odd_environments
import pytest
from command_runs import ROOT, Told, finish, metadata, play, rows, start, train, wait_for
from small_learners import PPO

import ecs_rl

pytest.importorskip("gymnasium")

ODD = "gym:odd_environments:"
SMALL = ("--arenas", 4, "--eval-every", 1000, "--eval-episodes", 3, *PPO, "--json")


@pytest.fixture(autouse=True)
def no_display(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")


def trained(tmp_path: Path, name: str, *more: object, steps: int = 3000, runs: str = "runs") -> Told:
    return train(f"gym:{name}", *SMALL, "--steps", steps, "--runs", tmp_path / runs, *more)


def test_a_run_of_an_environment_has_all_that_a_scene_s_has_and_plays_back_to_the_last_bit(tmp_path: Path) -> None:
    told = trained(tmp_path, "CartPole-v1")
    assert told.code == 0, told.err
    assert told.json["scene"] == "gym:CartPole-v1"
    assert told.run.parent.parent.name == "CartPole-v1"
    assert metadata(told.run)["status"] == "finished"
    last = [row for row in rows(told.run, "eval_episodes") if row["total_steps_at_eval"] == told.json["best_step"]]
    assert [row["seed"] for row in last] == [10_000, 10_001, 10_002]
    assert {"reward", "end/terminated"} == set(last[0]["extras"])
    played = play(told.run, "--headless", "--json", "--episodes", 3)
    assert played.json["returns"] == [row["total_reward"] for row in last]


def test_the_recipe_of_cart_pole_solves_it_within_a_few_seconds(tmp_path: Path) -> None:
    told = train("gym:CartPole-v1", "--until-solved", "--runs", tmp_path, "--json")
    assert told.json["status"] == "solved"
    assert told.json["best_eval"] >= 475
    assert told.json["steps"] <= 30_000


def test_what_is_seen_as_a_picture_is_learned_through_the_convolution_and_acts_elsewhere(tmp_path: Path) -> None:
    name = ODD + "Catches-v0"
    told = train(name, "--until-solved", "--steps", "60k", "--eval-every", 2048, "--runs", tmp_path, "--json")
    assert (told.code, told.json["status"]) == (0, "solved"), told.err
    settings = json.loads((told.run / "config.json").read_text())
    assert settings["ppo"]["network"] == "conv"
    pilot = ecs_rl.load(told.run, backend="numpy")
    env: Any = odd_environments.Catches()
    picture, caught = env.reset(seed=77)[0], 0.0
    for _ in range(20 * 7):
        picture, reward, over, *_ = env.step(pilot.act(np.moveaxis(picture, 2, 0).reshape(-1) / 255))
        caught += reward
        picture = env.reset()[0] if over else picture
    assert caught >= 18


@pytest.mark.parametrize(
    "name", ["CartPole-v1", "Pendulum-v1", "odd_environments:Mixed-v0", "odd_environments:Catches-v0"]
)
def test_the_same_seed_gives_the_same_policy_and_so_does_a_run_that_was_resumed(name: str, tmp_path: Path) -> None:
    whole = trained(tmp_path, name, runs="whole")
    trained(tmp_path, name, steps=1300, runs="halves")
    resumed = train(f"gym:{name}", "--resume", "--steps", 3000, "--runs", tmp_path / "halves", "--json")
    assert resumed.code == 0, resumed.err
    assert resumed.sha == whole.sha
    assert resumed.json["episodes"] == whole.json["episodes"]
    logs = ("train_episodes", "eval_episodes")
    assert [rows(resumed.run, log) for log in logs] == [rows(whole.run, log) for log in logs]


def test_one_that_does_not_come_back_is_resumed_only_with_new_episodes_and_says_so(tmp_path: Path) -> None:
    name = "odd_environments:Forgetful-v0"
    trained(tmp_path, name, steps=1300)
    again = (f"gym:{name}", "--resume", "--steps", 3000, "--runs", tmp_path / "runs", "--json")
    refused = train(*again)
    assert (refused.code, refused.out) == (3, "")
    assert "--inexact" in refused.err
    told = train(*again, "--inexact")
    assert told.code == 0, told.err
    assert "its episodes do not come back as they were: all begin anew" in told.err
    assert told.json["steps"] == 3000


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("Raises-v0", "failed in step() in arena"),
        ("Pays-v0", "gave a reward of nan in arena"),
        ("Blind-v0", "gave an observation ('0') of nan in arena"),
        ("Grows-v0", "shows (3,) of float32 in arena"),
        ("Shrinks-v0", "shows (7, 8, 3) of uint8 in arena"),
    ],
)
def test_an_environment_that_breaks_ends_the_training_with_2_and_what_was_learned_is_saved(
    name: str, words: str, tmp_path: Path
) -> None:
    told = trained(tmp_path, f"odd_environments:{name}")
    assert told.code == 2
    assert words in told.err.splitlines()[-1]
    (run,) = (tmp_path / "runs" / f"odd_environments_{name}" / "v1").iterdir()
    assert metadata(run)["status"] == "failed"
    assert (run / "checkpoints" / "latest.safetensors").is_file()


@pytest.mark.parametrize("name", ["CartPol-v1", "odd_environments:Looks-v0", "odd_environments:Unbounded-v0"])
def test_what_cannot_be_trained_is_told_in_one_line_and_leaves_no_run(name: str, tmp_path: Path) -> None:
    told = trained(tmp_path, name)
    assert (told.code, told.out, len(told.err.splitlines())) == (2, "", 1)
    assert not (tmp_path / "runs").exists()


def test_a_signal_stops_it_with_a_run_that_goes_on_from_there(tmp_path: Path) -> None:
    process = start("train.py", "gym:CartPole-v1", *SMALL, "--steps", "10M", "--runs", tmp_path)
    log = tmp_path / "CartPole-v1" / "v1"
    wait_for(lambda: any(path.stat().st_size for path in log.glob("*/metrics.jsonl")), process)
    process.send_signal(signal.SIGINT)
    told = finish(process)
    assert told.code == 0, told.err
    assert told.json["status"] == "interrupted"
    steps = told.json["steps"]
    resumed = train("gym:CartPole-v1", "--resume", "--steps", steps + 500, "--runs", tmp_path, "--json")
    assert resumed.code == 0, resumed.err
    assert resumed.json["steps"] >= steps + 500


def test_check_reports_on_an_environment_and_finds_what_no_seed_sets(tmp_path: Path) -> None:
    good = train(ODD + "Line-v0", "--check", "--arenas", 2, "--json")
    assert good.code == 0, good.err
    assert good.json["deterministic"]
    assert good.json["resumable"]
    assert [stage["stage"] for stage in good.json["tick"]][:4] == ["decide", "simulate", "record", "respawn"]
    bad = train(ODD + "Forgetful-v0", "--check", "--arenas", 2)
    assert bad.code == 2
    assert "the same seed gave different numbers" in bad.err


def test_a_film_shows_what_the_environment_draws(tmp_path: Path) -> None:
    pytest.importorskip("imageio_ffmpeg")
    run = trained(tmp_path, "odd_environments:Line-v0", "--record-every", 1500).run
    assert sorted((run / "films").iterdir())
    film = tmp_path / "line.gif"
    told = play(run, "--record", film, "--episodes", 2, "--json", "--scene", ODD + "Line-v0")
    assert told.code == 0, told.err
    assert film.stat().st_size > 1000
    headless = play(run, "--headless", "--episodes", 2, "--json", "--scene", ODD + "Line-v0")
    assert told.json["returns"] == headless.json["returns"]


def test_one_that_draws_nothing_is_played_headless_and_filming_it_is_refused(tmp_path: Path) -> None:
    run = trained(tmp_path, "odd_environments:NoPicture-v0").run
    scene = ("--scene", ODD + "NoPicture-v0")
    assert play(run, *scene, "--headless", "--json").code == 0
    told = play(run, *scene, "--record", tmp_path / "nothing.gif")
    assert told.code == 2
    assert "cannot be drawn: it has no render_mode 'rgb_array'" in told.err


@pytest.mark.parametrize("how", [(), ("--record", "film.gif")])
def test_an_environment_whose_picture_is_empty_is_refused_by_its_shape(tmp_path: Path, how: tuple[str, ...]) -> None:
    run = trained(tmp_path, "odd_environments:EmptyPicture-v0").run
    told = play(run, "--scene", ODD + "EmptyPicture-v0", *(tmp_path / word if "." in word else word for word in how))
    assert told.code == 2
    assert "draws (0, 60, 3) of uint8, not (height, width, 3) of uint8: play it --headless" in told.err


def test_no_checkpoint_has_a_module_imported_on_its_word_alone(tmp_path: Path) -> None:
    run = trained(tmp_path, "odd_environments:Line-v0").run
    refused = play(run, "--headless", "--json")
    assert (refused.code, refused.out) == (3, "")
    assert "which imports a module: if you trust that, name it with --scene gym:odd_environments:Line-v0" in refused.err
    assert play(run, "--headless", "--json", "--scene", ODD + "Line-v0").code == 0


def test_a_scene_of_the_project_never_imports_the_library() -> None:
    code = (
        "import sys; from ecs_rl.commands.train import main; "
        "main(['balance', '--check', '--arenas', '2', '--json']); print('gymnasium' in sys.modules)"
    )
    import subprocess

    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "False"
    assert json.loads(done.stdout.splitlines()[0])["ok"]
