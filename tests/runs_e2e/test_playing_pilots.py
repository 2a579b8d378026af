"""`play.py SCENE` and `play.py`: the newest run's best, and without a run the pilots; and learning on from one."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest
from command_runs import TINY, play, train

from ecs_rl import shipped
from ecs_rl.pilots import pilot_scores as table
from ecs_rl.runs import sealed_pieces
from ecs_rl.runs.checkpoint import read_checkpoint
from ecs_rl.shipped import PILOTS
from ecs_rl.tasks import offer_pilots as gallery_command
from ecs_rl.tasks import show

PILOT = PILOTS / "balance.safetensors"
TWO = ("--headless", "--json", "--episodes", "2")


@pytest.fixture(autouse=True)
def empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Let the default `runs` be in a folder of the test's own."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_without_a_run_the_pilot_plays_and_a_note_says_so() -> None:
    told = play("balance", *TWO)
    assert told.code == 0
    assert told.json["checkpoint"] == str(PILOT)
    assert told.json["run"] is None
    assert told.json["mean_return"] == 500
    assert told.err == "play.py: there is no run of balance in runs: this is the pilot that comes with it\n"


def test_the_episodes_that_a_pilot_was_judged_by_come_out_again() -> None:
    known = table.gallery()["swingup"]
    told = play("swingup", "--headless", "--json", "--seed", known.first, "--episodes", table.BEGINNING)
    assert told.json["mean_return"] == pytest.approx(known.beginning, rel=0.01)
    assert told.json == play("swingup", "--headless", "--json", "--seed", known.first).json


def test_a_run_is_played_before_the_pilot_by_its_name_or_by_its_scene() -> None:
    other = train("balance", *TINY, "--json", "--name", "mine").run
    assert play("balance", *TWO).json["run"] == str(other), "of this scene, by another name"
    named = train("balance", *TINY, "--json").run
    assert play("balance", *TWO).json["run"] == str(named)
    assert play(*TWO).json["run"] == str(named), "the newest of all"
    assert play("swingup", *TWO).json["run"] is None, "a scene without a run has its pilot"


def test_the_pilot_plays_where_there_are_runs_too() -> None:
    run = train("balance", *TINY, "--json", "--name", "mine").run
    for asked in (
        ("balance", "--pilot"),
        ("mine", "--pilot"),
        ("--pilot",),
        (run / "checkpoints/best.safetensors", "--pilot"),
    ):
        told = play(*asked, *TWO)
        assert told.json["checkpoint"] == str(PILOT), asked
        assert told.err == ""
    assert play("balance", "--checkpoint", "pilot", *TWO).json["checkpoint"] == str(PILOT)


def test_runs_are_compared_with_each_other_and_with_the_pilot() -> None:
    first, second = (train("balance", *TINY, "--json", "--version", f"v{i}", "--seed", i).run for i in (1, 2))
    told = play("--compare", "balance/v1", second, "pilot", "latest", *TWO)
    best = [run / "checkpoints" / "best.safetensors" for run in (first, second)]
    wanted = [*best, PILOT, first / "checkpoints" / "latest.safetensors"]
    assert [row["checkpoint"] for row in told.json["compare"]] == list(map(str, wanted))
    assert told.err == ""
    said = play("balance/v2", "--compare", "best", "balance/v1", "pilot", "--headless", "--episodes", "1").out
    assert [line.split(", seed")[0].rpartition(", step")[0] for line in said.splitlines()[:3]] == [
        *("best", "balance/v1, best", "pilot"),
    ]


def test_the_newest_run_says_which_run_did_better_and_that_the_pilot_did(monkeypatch: pytest.MonkeyPatch) -> None:
    long = train("balance", *TINY, "--json")
    short = train("balance", *TINY, "--steps", "8", "--eval-every", "8", "--json")
    assert short.json["best_eval"] < long.json["best_eval"]
    for target in ((), ("balance",), ("balance/v1",)):
        told = play(*target, *TWO)
        assert told.json["run"] == str(short.run)
        newest = f"{short.run} is the newest run (8 steps, best evaluation {short.json['best_eval']:.3g})"
        assert f"play.py: {newest}; {long.run} has " in told.err
        assert told.err.endswith("; the pilot has 500.0 (--pilot)\n")
    for exact in (short.run, short.run.relative_to("runs")):
        assert play(exact, *TWO).err == "", "this very run was asked for"
    assert play("--checkpoint", "latest", *TWO).err == ""
    assert play("--compare", "balance", *TWO).err == ""


@pytest.mark.parametrize("scene", ["balance", "lander"])
def test_a_pilot_does_not_warn_of_its_scene_however_its_path_is_written(
    scene: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(PILOTS.parent)
    told = play(f"pilots/{scene}.safetensors", "--headless", "--json", "--episodes", "1")
    assert (told.code, told.err) == (0, "")


def test_a_run_that_cannot_be_used_is_told_and_the_pilot_plays() -> None:
    run = train("balance", *TINY, "--json").run
    shutil.rmtree(run / "checkpoints")
    told = play("balance", *TWO)
    assert told.json["checkpoint"] == str(PILOT)
    assert "it has no checkpoint that can be used: this is the pilot" in told.err


@pytest.mark.parametrize(
    "asked", [("--checkpoint", "latest"), ("--checkpoint", "100"), ("--compare", "best", "latest")], ids=" ".join
)
def test_a_pilot_has_no_other_checkpoints(asked: tuple[str, ...]) -> None:
    told = play("balance", "--headless", *asked)
    assert told.code == 2
    assert "its pilot is one policy, without a checkpoint" in told.err


def test_without_a_name_and_a_run_every_pilot_plays_in_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    quick = {scene: each for scene, each in table.gallery().items() if scene in ("balance", "flappy", "swingup")}
    monkeypatch.setattr(gallery_command, "gallery", lambda: quick)
    told = play("--headless", "--json", "--episodes", "1")
    assert told.code == 0
    assert [row["scene"] for row in told.json["pilots"]] == list(quick)
    assert all(row["episodes"] == 1 and len(row["returns"]) == 1 for row in told.json["pilots"])
    said = play("--headless", "--episodes", "1")
    assert [line.split(",")[0] for line in said.out.splitlines()] == list(quick)
    assert "flappy, pilot, step " in said.out
    assert "mean score" in said.out


def test_without_a_screen_there_is_a_list_that_names_the_commands(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    told = play()
    assert told.code == 0
    assert told.err == "play.py: there is no run in runs yet: these are the pilots\n"
    for scene in table.gallery():
        assert f"\n  {scene} " in told.out
    first = next(iter(table.gallery()))
    assert f"watch one: python play.py {first} --pilot;" in told.out
    assert [row["scene"] for row in play("--json").json["pilots"]] == list(table.gallery())


def test_what_is_chosen_in_the_menu_plays(monkeypatch: pytest.MonkeyPatch) -> None:
    watched: list[Path] = []
    monkeypatch.setattr(show, "play_in_window", lambda found, *more: watched.append(found[0].path))
    for choice, wanted in (("balance", [PILOT]), ("", [])):
        monkeypatch.setattr(show, "choose_pilot", lambda pilots, choice=choice: choice)
        watched.clear()
        assert play().code == 0
        assert watched == wanted


@pytest.mark.parametrize("asked", [("--record", "film.mp4"), ("--against", "random"), ("--checkpoint", "latest")])
def test_what_needs_a_run_is_refused_where_there_is_none(asked: tuple[str, ...]) -> None:
    told = play("--headless", *asked)
    assert told.code == 3
    assert "no run that can be used in runs; train one first" in told.err


def test_the_list_of_runs_tells_of_the_pilots() -> None:
    for line in ("there are no runs in runs: train one first", "balance  v1 "):
        out = play("--list").out
        assert out.startswith("pilots that come with the project:\n")
        assert out.splitlines()[-1].startswith(line)
        assert re.search("^  balance +Keep a pole upright .* 500.0 return$", out, re.MULTILINE)
        train("balance", *TINY, "--json")
    assert len(json.loads(play("--list", "--json").out)) == 2, "runs, and only those"


def test_a_pilot_is_filmed_and_exported_like_any_checkpoint(tmp_path: Path) -> None:
    pytest.importorskip("onnx")
    assert play("balance", "--export", "pole.onnx").code == 0
    assert (tmp_path / "pole.onnx").stat().st_size > 1000
    assert play("balance", "--record", "pole.gif", "--episodes", "1", "--speed", "32").code == 0
    assert (tmp_path / "pole.gif").stat().st_size > 1000


def with_pilot(folder: Path, monkeypatch: pytest.MonkeyPatch, **changes: object) -> Path:
    """Let the scene `balance` have a pilot that says something else of itself."""
    manifest, tensors = read_checkpoint(PILOT)
    for name, value in changes.items():
        manifest = type(manifest)(
            **{each: getattr(manifest, each) for each in manifest.__struct_fields__} | {name: value}
        )
    path = folder / "balance.safetensors"
    path.write_bytes(b"".join(sealed_pieces(tensors, manifest)))
    monkeypatch.setattr(shipped, "PILOTS", folder)
    return path


def test_a_pilot_whose_scene_sees_something_else_now_is_refused_in_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (policy,) = read_checkpoint(PILOT)[0].policies
    fewer = type(policy)(
        name=policy.name, observations=policy.observations[:-1], actions=policy.actions, continuous=policy.continuous
    )
    with_pilot(tmp_path, monkeypatch, policies=(fewer,))
    told = play("balance", "--headless")
    assert (told.code, told.out) == (3, "")
    assert (
        "does not fit the scene 'balance': 'policy' sees [] there and ['pole spin'] here" in told.err.splitlines()[-1]
    )
    refused = train("balance", *TINY, "--init-from", "pilot")
    assert refused.code == 3
    assert "'policy' sees [] there and ['pole spin'] here; use another one, or begin anew" in refused.err
    assert not Path("runs").exists()


def test_a_pilot_that_names_a_file_as_its_scene_runs_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    evil = tmp_path / "evil.py"
    evil.write_text("raise SystemExit('it ran')")
    with_pilot(tmp_path, monkeypatch, scene=str(evil))
    told = play("balance", "--headless")
    assert told.code == 3
    assert "it ran" not in told.err
    assert "if you trust it, add --scene " in told.err


def test_a_new_run_learns_on_from_the_pilot() -> None:
    few = ("swingup", "--seed", 5, "--steps", 128, "--eval-every", 64, "--eval-episodes", 5, "--json")
    begun, afresh = train(*few, "--init-from", "pilot"), train(*few)
    assert begun.code == afresh.code == 0, begun.err
    assert begun.json["best_eval"] > 400
    assert afresh.json["best_eval"] < 100
    assert json.loads((begun.run / "config.json").read_text())["init_from"] == "pilot"
    learnt = train(*few, "--steps", "20k", "--eval-every", "20k", "--init-from", "pilot", "--ppo.lr", "1e-5")
    assert learnt.json["params_sha256"] != begun.json["params_sha256"]
    assert learnt.json["best_eval"] > 400, "a gentle step does not undo what it could"


def test_learning_on_needs_a_pilot(tmp_path: Path) -> None:
    scene = shutil.copy(shipped.SCENES / "balance.py", tmp_path / "mine.py")
    told = train(scene, *TINY, "--init-from", "pilot")
    assert told.code == 2
    assert "--init-from pilot: no pilot comes with the scene 'mine'" in told.err
