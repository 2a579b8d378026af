"""`--resume` where the scene's file has moved or changed, where another scene has the same name, on another machine."""

from __future__ import annotations

import shutil
from pathlib import Path

import msgspec
import pytest
from command_runs import BALANCE, TINY, Told, changed_balance, finish, metadata, play, start, train
from readme_scenes import BEACONS

from ecs_rl.loading import load_scene
from ecs_rl.runs import read_checkpoint, read_manifest, sealed_pieces

STEPS = ("--steps", 2000, "--json")


def begun(scene: Path | str, runs: Path, *more: object) -> Told:
    told = train(scene, *TINY, "--steps", 1000, "--json", "--runs", runs, *more)
    assert told.code == 0, told.err
    return told


def mine(folder: Path, old: str = "about=", new: str = "about=") -> Path:
    folder.mkdir(exist_ok=True)
    return changed_balance(folder / "mine.py", old, new)


def warnings_of(told: Told) -> list[str]:
    return [line for line in told.err.splitlines() if line.startswith("train.py: ")]


# --- the scene's file has moved ---------------------------------------------------------------------------------------


def test_the_same_file_in_another_place_goes_on_silently_and_the_run_knows_the_place(tmp_path: Path) -> None:
    runs, old, new = tmp_path / "runs", mine(tmp_path / "old"), tmp_path / "new" / "drone.py"
    whole = train(old, *TINY, *STEPS, "--runs", tmp_path / "whole")
    run = begun(old, runs).run
    new.parent.mkdir()
    old.rename(new)
    again = train(new, *STEPS, "--runs", runs, "--resume", run)
    assert (again.code, warnings_of(again)) == (0, [])
    assert again.sha == whole.sha
    known, latest = metadata(run), read_manifest(run / "checkpoints" / "latest.safetensors")
    assert (known["scene"], latest.scene) == (str(new), str(new))
    assert known["scene_sha256"] == latest.scene_sha256 == load_scene(str(new)).sha256
    told = play(run, "--headless", "--episodes", 1)
    assert (told.code, told.err) == (0, "")


def test_a_file_that_moved_and_changed_goes_on_with_a_note(tmp_path: Path) -> None:
    runs, old = tmp_path / "runs", mine(tmp_path / "old")
    run = begun(old, runs).run
    new = mine(tmp_path / "new", "mass=0.1", "mass=0.2")
    again = train(new, *STEPS, "--runs", runs, "--resume", run)
    assert again.code == 0, again.err
    (note,) = warnings_of(again)
    assert f"{new} has changed since, and was {old} then" in note
    assert metadata(run)["scene"] == str(new)
    assert not warnings_of(train(new, *STEPS, "--steps", 3000, "--runs", runs, "--resume", run))


def test_a_file_that_moved_and_sees_something_else_is_refused_and_the_run_stays_as_it_was(tmp_path: Path) -> None:
    runs, old = tmp_path / "runs", mine(tmp_path / "old")
    run = begun(old, runs).run
    before = metadata(run)
    new = mine(tmp_path / "new", "sees=[X(cart), Vx(cart)", "sees=[X(cart), Vx(pole)")
    refused = train(new, *STEPS, "--runs", runs, "--resume", run)
    assert refused.code == 3
    assert "'policy' sees ['cart vx'] there and ['pole vx'] here" in refused.err
    assert metadata(run) | {"last_updated": ""} == before | {"last_updated": ""}


def test_a_run_of_before_without_the_hash_in_its_metadata_goes_on(tmp_path: Path) -> None:
    runs, scene = tmp_path / "runs", mine(tmp_path / "old")
    run = begun(scene, runs).run
    for checkpoint in (run / "checkpoints").glob("*.safetensors"):
        manifest, tensors = read_checkpoint(checkpoint)
        facts = {**manifest.resume, "scene_sha256": manifest.scene_sha256} if manifest.full else {}
        old = msgspec.structs.replace(manifest, scene_sha256="", versions={}, resume=facts)
        checkpoint.write_bytes(b"".join(sealed_pieces(tensors, old)))
    known = {name: value for name, value in metadata(run).items() if name != "scene_sha256"}
    capability = ("machine", "system", "numpy_cpu", "torch_cpu")
    known["versions"] = {name: value for name, value in known["versions"].items() if name not in capability}
    (run / "metadata.json").write_bytes(msgspec.json.encode(known))
    again = train(scene, *STEPS, "--runs", runs, "--resume")
    assert (again.code, warnings_of(again)) == (0, [])
    assert metadata(run)["scene_sha256"] == load_scene(str(scene)).sha256
    assert metadata(run)["versions"].keys() >= set(capability)


def test_a_changed_helper_is_told(tmp_path: Path) -> None:
    imports = "from ecs_rl.scene import *"
    scene = mine(tmp_path / "old", imports, f"{imports}\nimport helper")
    helper = scene.with_name("helper.py")
    helper.write_text("MASS = 1.0\n")
    runs = tmp_path / "runs"
    begun(scene, runs)
    helper.write_text("MASS = 2.0\n")
    (note,) = warnings_of(train(scene, *STEPS, "--runs", runs, "--resume"))
    assert "mine.py has changed since: old and new scores may not compare" in note


TANK, FUEL, SPAWN = "class Tank:", "    fuel: float = 1.0\n", "Tank(fuel=1.2)"
GUN = "@component\nclass Gun:\n    heat: float = 0.0\n\n\ndef drip("
AS_IT_WAS = "go on with the scene as it was then, or start a new run from this policy with --init-from"
COMPONENTS: dict[str, tuple[list[tuple[str, str]], str]] = {
    "a component renamed": (
        [("Tank", "Fuel")],
        "it has no drone/Fuel/fuel, drone/Fuel/leak, and the scene has no drone/Tank/fuel, drone/Tank/leak",
    ),
    "a component added": ([("def drip(", GUN), (SPAWN, f"{SPAWN}, Gun()")], "it has no drone/Gun/heat"),
    "a field added": ([(FUEL, f"{FUEL}    spare: float = 0.0\n")], "it has no drone/Tank/spare"),
    "a field renamed": ([("leak", "loss")], "it has no drone/Tank/loss, and the scene has no drone/Tank/leak"),
    "a number renamed": (
        [('number("reached")', 'number("got")')],
        "it has no @number/got/got/value, and the scene has no @number/reached/reached/value",
    ),
}


@pytest.mark.parametrize(("changes", "lacks"), COMPONENTS.values(), ids=COMPONENTS)
def test_components_that_are_not_those_of_then_are_refused_in_one_sentence_and_the_policy_plays_on(
    changes: list[tuple[str, str]], lacks: str, tmp_path: Path
) -> None:
    scene, runs, text = tmp_path / "beacons.py", tmp_path / "runs", BEACONS
    scene.write_text(text)
    run = begun(scene, runs, "--checkpoint-every", 300).run
    before, logs = metadata(run), (run / "train_episodes.jsonl").read_bytes()
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    scene.write_text(text)
    refused = train(scene, *STEPS, "--runs", runs, "--resume", run)
    assert refused.code == 3
    assert refused.err == f"train.py: {run}: the saved world does not fit the scene: {lacks}; {AS_IT_WAS}\n"
    assert metadata(run) | {"last_updated": ""} == before | {"last_updated": ""}
    assert (run / "train_episodes.jsonl").read_bytes() == logs
    best = run / "checkpoints" / "best.safetensors"
    assert play(run, "--scene", scene, "--headless", "--episodes", 1).code == 0
    assert train(scene, *TINY, "--steps", 200, "--init-from", best, "--runs", runs).code == 0


# --- somebody else's scene of that name -------------------------------------------------------------------------------


def test_resume_by_name_means_the_newest_run_of_that_scene_and_tells_what_it_skipped(tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    shipped = begun("balance", runs).run
    own = tmp_path / "balance.py"
    changed_balance(own, "mass=0.1", "mass=0.2")
    theirs = begun(own, runs).run
    for asked in (("--resume",), ("--resume", "balance"), ("--resume", "balance/v1"), ("--resume", runs / "balance")):
        again = train("balance", *STEPS, "--runs", runs, *asked)
        assert again.code == 0, again.err
        assert again.run == shipped
        skipped = [line for line in warnings_of(again) if "skipped" in line]
        assert skipped == [f"train.py: skipped {theirs}: it trains '{own}', not 'balance'"]
    assert train(own, *STEPS, "--runs", runs, "--resume").run == theirs


def test_a_run_directory_of_another_scene_is_refused_even_if_all_fits(tmp_path: Path) -> None:
    runs, own = tmp_path / "runs", tmp_path / "balance.py"
    changed_balance(own, "mass=0.1", "mass=0.2")
    theirs = begun(own, runs).run
    refused = train("balance", *STEPS, "--runs", runs, "--resume", theirs)
    assert refused.code == 2
    assert f"{theirs} trains '{own}', not 'balance'" in refused.err
    assert train("balance", *STEPS, "--runs", runs, "--resume").code == 3


def test_a_file_of_the_same_name_is_another_scene_as_long_as_the_one_that_was_trained_is_there(tmp_path: Path) -> None:
    runs, first = tmp_path / "runs", mine(tmp_path / "first")
    older = begun(first, runs).run
    second = mine(tmp_path / "second", "mass=0.1", "mass=0.2")
    newer = begun(second, runs).run
    assert train(first, *STEPS, "--runs", runs, "--resume").run == older
    assert train(second, *STEPS, "--runs", runs, "--resume").run == newer
    second.unlink()
    third = mine(tmp_path / "third", "mass=0.1", "mass=0.3")
    assert train(third, *STEPS, "--runs", runs, "--resume", "--steps", 3000).run == newer


# --- another machine --------------------------------------------------------------------------------------------------


def test_what_decides_the_last_bits_is_recorded_with_the_run_and_with_each_checkpoint(tmp_path: Path) -> None:
    run = begun("balance", tmp_path).run
    versions = metadata(run)["versions"]
    assert versions.keys() >= {"python", "torch", "numpy", "machine", "system", "numpy_cpu", "torch_cpu"}
    assert all(versions[name] for name in ("machine", "system", "torch_cpu"))
    for name in ("best", "latest"):
        assert read_manifest(run / "checkpoints" / f"{name}.safetensors").versions == versions


def test_a_resume_with_other_instructions_of_the_processor_is_told_in_one_line_and_recorded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = begun("balance", tmp_path).run
    before = metadata(run)["versions"]
    monkeypatch.setenv("ATEN_CPU_CAPABILITY", "default")
    args = ("train.py", "balance", *STEPS, "--runs", tmp_path, "--resume")
    again = finish(start(*args))
    assert again.code == 0, again.err
    (note,) = warnings_of(again)
    assert f"torch_cpu was {before['torch_cpu']} and is DEFAULT: bits may differ from an uninterrupted run" in note
    assert metadata(run)["versions"] == before | {"torch_cpu": "DEFAULT"}
    assert warnings_of(finish(start(*args, "--steps", 3000))) == []


def test_versions_are_those_that_wrote_the_checkpoint_not_those_of_a_resume_that_saved_nothing(tmp_path: Path) -> None:
    run = begun("balance", tmp_path).run
    latest = run / "checkpoints" / "latest.safetensors"
    manifest, tensors = read_checkpoint(latest)
    older = msgspec.structs.replace(manifest, versions=manifest.versions | {"torch": "2.10.0", "numpy": "2.0.1"})
    (step,) = [path for path in latest.parent.glob("step_*") if read_manifest(path).step == manifest.step]
    for path in (latest, step):
        path.write_bytes(b"".join(sealed_pieces(tensors, older)))
    (note,) = warnings_of(train("balance", *STEPS, "--runs", tmp_path, "--resume"))
    assert "numpy was 2.0.1 and is " in note
    assert "torch was 2.10.0 and is " in note


def test_a_copy_of_a_scene_that_ships_is_that_scene(tmp_path: Path) -> None:
    run = begun("balance", tmp_path).run
    copy = shutil.copy(BALANCE, tmp_path / "balance.py")
    again = train(copy, *STEPS, "--runs", tmp_path, "--resume")
    assert (again.code, again.run, warnings_of(again)) == (0, run, [])


# --- a file that the scene reads --------------------------------------------------------------------------------------


def test_another_level_is_told_by_resume_and_by_play(tmp_path: Path) -> None:
    level, runs = tmp_path / "game" / "level.json", tmp_path / "runs"
    level.parent.mkdir()
    level.write_text("0.1")
    reads = "mass=float(__import__('pathlib').Path(__file__).with_name('level.json').read_text())"
    scene = mine(level.parent, "mass=0.1", reads)
    run = begun(scene, runs).run
    assert play(run, "--headless", "--episodes", 1).err == ""
    level.write_text("0.2")
    told = play(run, "--headless", "--episodes", 1)
    assert f"{level} is not as it was when" in told.err
    again = train(scene, *STEPS, "--runs", runs, "--resume", run)
    assert again.code == 0, again.err
    (note,) = warnings_of(again)
    assert f"{level} has changed since" in note
    assert play(run, "--headless", "--checkpoint", "latest", "--episodes", 1).err == ""
