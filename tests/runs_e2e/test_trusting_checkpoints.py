"""A scene file is run by `play.py` if the user names it, or if it is the very one that was trained; else it is not."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import msgspec
import pytest
from command_runs import BALANCE, TINY, Told, changed_balance, play, train

from ecs_rl.runs import read_checkpoint, read_manifest, sealed_pieces
from ecs_rl.scene.loader import load_scene
from ecs_rl.training.playback import Player
from ecs_rl.viewer.live.playlist import CheckpointList, Choice

ONE = ("--headless", "--json", "--episodes", 1)


def project(folder: Path) -> Told:
    """Train a scene file of one's own, with a helper beside it, in a folder that holds the runs too."""
    scene = changed_balance(
        folder / "mine.py", "from ecs_rl.scene import *", "from ecs_rl.scene import *\nimport helper"
    )
    (folder / "helper.py").write_text("MASS = 1.0\n")
    return train(scene, *TINY, "--steps", 1000, "--json", "--runs", folder / "runs")


@pytest.fixture
def run(tmp_path: Path) -> Path:
    (tmp_path / "project").mkdir()
    told = project(tmp_path / "project")
    assert told.code == 0, told.err
    return told.run


@pytest.fixture
def scene(run: Path) -> Path:
    return run.parents[3] / "mine.py"


def rewritten(checkpoint: Path, **changes: Any) -> Path:
    """Seal a checkpoint anew with other words in its manifest, as anybody can."""
    manifest, tensors = read_checkpoint(checkpoint)
    checkpoint.unlink()  # it may be a second name of another one
    checkpoint.write_bytes(b"".join(sealed_pieces(tensors, msgspec.structs.replace(manifest, **changes))))
    return checkpoint


def trap(path: Path, run: Path, named: Path | None = None) -> Path:
    """Put a scene there that tells when it is run, and let every checkpoint of the run name it with its true hash."""
    marker = path.parent / "sprung"
    path.parent.mkdir(exist_ok=True, parents=True)
    path.write_text(f"open({str(marker)!r}, 'w').close()\n" + BALANCE.read_text())
    sha256 = load_scene(str(path)).sha256
    marker.unlink()
    for checkpoint in (run / "checkpoints").glob("*.safetensors"):
        rewritten(checkpoint, scene=str(named or path), scene_sha256=sha256)
    return marker


def refused(*args: object) -> str:
    told = play(*args, *ONE)
    assert (told.code, told.out) == (3, "")
    assert len(told.err.splitlines()) == 1
    assert "--scene FILE" in told.err
    return told.err


def test_every_checkpoint_carries_the_hash_of_the_scene_and_its_helpers(run: Path, scene: Path) -> None:
    sha256 = load_scene(str(scene)).sha256
    found = {path.stem: read_manifest(path).scene_sha256 for path in (run / "checkpoints").glob("*.safetensors")}
    assert found.keys() >= {"best", "latest"}
    assert len(found) > 2
    assert set(found.values()) == {sha256}


def test_the_file_that_was_trained_is_played_without_being_named(run: Path) -> None:
    told = play(run, *ONE)
    assert (told.code, told.err) == (0, "")


@pytest.mark.parametrize("edited", ["mine.py", "helper.py"])
def test_a_file_that_changed_since_is_played_only_where_the_user_names_it(edited: str, run: Path, scene: Path) -> None:
    with (scene.parent / edited).open("a") as file:
        file.write("\nopen(__file__ + '.sprung', 'w').close()\n")
    assert f"{scene} has changed since" in refused(run)
    assert not list(scene.parent.glob("*.sprung"))
    told = play(run, "--scene", scene, *ONE)
    assert told.code == 0
    assert f"{scene} is not as it was" in told.err


def test_a_checkpoint_of_before_without_a_hash_needs_the_scene_to_be_named(run: Path, scene: Path) -> None:
    best = rewritten(run / "checkpoints" / "best.safetensors", scene_sha256="")
    assert f"{best} does not say what its scene {scene} contained" in refused(run)
    told = play(run, "--scene", scene, *ONE)
    assert (told.code, told.err) == (0, "")


def test_a_full_checkpoint_of_before_has_its_hash_among_what_resuming_takes(run: Path, scene: Path) -> None:
    latest = run / "checkpoints" / "latest.safetensors"
    manifest = read_manifest(latest)
    resume = {**manifest.resume, "scene_sha256": manifest.scene_sha256}
    rewritten(latest, scene_sha256="", resume=resume)
    assert play(run, "--checkpoint", "latest", *ONE).code == 0
    scene.write_text(scene.read_text() + "\n")
    refused(run, "--checkpoint", "latest")


@pytest.mark.parametrize("place", ["evil.py", "checkpoints/evil.py", "films/deeper/evil.py"])
def test_nothing_inside_a_run_is_run(place: str, run: Path) -> None:
    marker = trap(run / place, run)
    assert "nothing in a run" in refused(run)
    assert "nothing in a run" in refused(run, "--compare", "best", "latest")
    assert "nothing in a run" in refused(run / "checkpoints" / "best.safetensors")
    assert not marker.exists()


def test_a_film_runs_nothing_of_a_run_either(run: Path, tmp_path: Path) -> None:
    marker = trap(run / "evil.py", run)
    told = play(run, "--record", tmp_path / "film.gif", "--episodes", 1)
    assert told.code == 3
    assert not marker.exists()
    assert not (tmp_path / "film.gif").exists()


def test_links_into_a_run_and_out_of_it_are_followed(run: Path, tmp_path: Path) -> None:
    link = tmp_path / "link.py"
    link.symlink_to(run / "evil.py")
    inside = trap(run / "evil.py", run, named=link)
    refused(run)
    (run / "out.py").symlink_to(tmp_path / "outside.py")
    outside = trap(tmp_path / "outside.py", run, named=run / "out.py")
    refused(run)
    linked = tmp_path / "linked"
    linked.symlink_to(run)
    trap(run / "evil.py", run, named=run / "evil.py")
    refused(linked)
    trap(run / "evil.py", run, named=linked / "evil.py")
    refused(run)
    assert not inside.exists()
    assert not outside.exists()


def test_a_helper_that_is_a_link_into_a_run_is_not_run(run: Path, scene: Path) -> None:
    inside = run / "helper.py"
    (scene.parent / "helper.py").rename(inside)
    (scene.parent / "helper.py").symlink_to(inside)
    assert load_scene(str(scene)).sha256 == read_manifest(run / "checkpoints" / "best.safetensors").scene_sha256
    assert "nothing in a run" in refused(run)


def test_nothing_in_another_run_or_beside_a_copied_checkpoint_is_run(run: Path, tmp_path: Path) -> None:
    other = tmp_path / "others" / "b" / "v1" / "20260101_000000"
    shutil.copytree(run, other)
    marker = trap(other / "evil.py", run)
    refused(run)
    beside = tmp_path / "received"
    also = trap(beside / "deep" / "evil.py", run)
    refused(shutil.copy(run / "checkpoints" / "best.safetensors", beside))
    assert not marker.exists()
    assert not also.exists()


@pytest.mark.parametrize("named", ["/dev/zero/x.py", "/etc/passwd", "a\0b.py", "x" * 5000 + ".py", "/" * 9000 + "b.py"])
def test_a_name_that_leads_nowhere_good_is_one_clear_refusal(named: str, run: Path, tmp_path: Path) -> None:
    (tmp_path / "alone").mkdir()
    alone = Path(shutil.copy(run / "checkpoints" / "best.safetensors", tmp_path / "alone"))
    told = refused(rewritten(alone, scene=named))
    assert "there is no scene file" in told or len(named) > 2000  # of which only both ends are told
    assert told.endswith("name it with --scene FILE\n")


def test_starting_from_a_checkpoint_runs_nothing_that_it_names(run: Path, tmp_path: Path) -> None:
    marker = trap(tmp_path / "evil.py", run)
    best = run / "checkpoints" / "best.safetensors"
    told = train("balance", *TINY, "--steps", 100, "--init-from", best, "--runs", tmp_path / "new")
    assert told.code == 0, told.err
    assert not marker.exists()


def test_turning_to_another_checkpoint_in_the_window_runs_nothing_that_it_names(run: Path, tmp_path: Path) -> None:
    marker = trap(tmp_path / "evil.py", run)
    best = run / "checkpoints" / "best.safetensors"
    assert CheckpointList(run).agents(Choice("best", best, 0.0), load_scene("balance")).keys() == {"policy"}
    assert not marker.exists()


def test_a_scene_that_the_user_names_must_see_and_do_the_same(run: Path, tmp_path: Path) -> None:
    other = changed_balance(tmp_path / "mine.py", "sees=[X(cart), Vx(cart)", "sees=[X(cart), Vx(pole)")
    told = play(run, "--scene", other, *ONE)
    assert told.code == 3
    assert "'policy' sees ['cart vx'] there and ['pole vx'] here" in told.err
    assert play(run, "--scene", tmp_path / "none.py", *ONE).code == 2


# --- projects that moved ----------------------------------------------------------------------------------------------


def moved(run: Path, to: Path) -> Path:
    """Move the whole project and return the run's new place."""
    old = run.parents[3]
    old.rename(to)
    return to / run.relative_to(old)


def test_a_moved_project_plays_from_its_own_folder_and_by_its_runs_folder(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = play(run, *ONE).json["returns"]
    there = moved(run, tmp_path / "new")
    told = play(there, "--runs", tmp_path / "new" / "runs", *ONE)
    assert (told.code, told.err, told.json["returns"]) == (0, "", before)
    monkeypatch.chdir(tmp_path / "new")
    told = play("mine", *ONE)
    assert (told.code, told.err, told.json["returns"]) == (0, "", before)
    (tmp_path / "new" / "helper.py").write_text("MASS = 2.0\n")
    assert "mine.py has changed since" in refused("mine")


def test_a_moved_project_plays_from_anywhere_once_its_scene_is_named(run: Path, tmp_path: Path) -> None:
    there = moved(run, tmp_path / "new")
    assert f"there is no scene file {run.parents[3] / 'mine.py'}" in refused(there)
    told = play(there, "--scene", tmp_path / "new" / "mine.py", *ONE)
    assert (told.code, told.err) == (0, "")
    compared = play(there, "--scene", tmp_path / "new" / "mine.py", *ONE, "--compare", "best", "latest")
    assert len(compared.json["compare"]) == 2


def test_a_path_of_another_machine_is_found_by_what_it_ends_in(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    there = moved(run, tmp_path / "new")
    best = rewritten(there / "checkpoints" / "best.safetensors", scene="C:\\games\\new\\mine.py")
    monkeypatch.chdir(tmp_path)
    assert Player.load(best).scene.file == str(tmp_path / "new" / "mine.py")
