"""A file runs if it comes with the project, if the command names it, or if this user has run that content before."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from command_runs import BALANCE, TINY, Told, changed_balance, finish, play, start, train
from pages import example

from ecs_rl.loading import load_scene
from ecs_rl.runs import PolicyEntry, read_checkpoint, read_manifest, sealed_pieces
from ecs_rl.runs.episode_file import HAND, Episode, EpisodeManifest, write_episode
from ecs_rl.spaces import Discrete, PolicySpec
from ecs_rl.training.playback import Player
from ecs_rl.user_files.known import FOLDER
from ecs_rl.viewer.live.playlist import CheckpointList, Choice

ONE = ("--headless", "--json", "--episodes", 1)
SPRINGS = "from pathlib import Path\nPath(__file__).with_suffix('.sprung').touch()\n"
NETWORK = SPRINGS + "from torch import nn\n\ndef Small(inputs, outputs, spec):\n    return nn.Linear(inputs, outputs)\n"


def project(folder: Path, *more: object) -> Told:
    """Train a scene with a helper beside it, in a folder that holds the runs too; both say when they are run."""
    folder.mkdir(parents=True, exist_ok=True)
    scene = changed_balance(folder / "mine.py", "from ecs_rl.scene import *", "from ecs_rl.scene import *\nimport law")
    scene.write_text(scene.read_text() + SPRINGS)
    (folder / "law.py").write_text("MASS = 1.0\n" + SPRINGS)
    told = train(scene, *TINY, "--steps", 1000, "--json", "--runs", folder / "runs", *more)
    assert told.code == 0, told.err
    unspring(folder)
    return told


def unspring(folder: Path) -> None:
    for mark in folder.rglob("*.sprung"):
        mark.unlink()


def sprung(folder: Path) -> list[str]:
    return sorted(mark.name for mark in folder.rglob("*.sprung"))


def rewritten(checkpoint: Path, **changes: Any) -> Path:
    """Seal a checkpoint anew with other words in its manifest, as anybody can."""
    manifest, tensors = read_checkpoint(checkpoint)
    checkpoint.unlink()  # it may be a second name of another one
    checkpoint.write_bytes(b"".join(sealed_pieces(tensors, msgspec.structs.replace(manifest, **changes))))
    return checkpoint


def refused(*args: object) -> str:
    told = play(*args, *ONE)
    assert (told.code, told.out) == (3, "")
    assert len(told.err.splitlines()) == 1
    return told.err


# --- what the user has run --------------------------------------------------------------------------------------------


@pytest.fixture
def run(tmp_path: Path, new_user: Path) -> Path:
    return project(tmp_path / "project").run


@pytest.fixture
def scene(run: Path) -> Path:
    return run.parents[3] / "mine.py"


def test_every_checkpoint_carries_the_hash_of_the_scene_and_its_helpers(run: Path, scene: Path) -> None:
    sha256 = load_scene(str(scene)).sha256
    found = {path.stem: read_manifest(path).scene_sha256 for path in (run / "checkpoints").glob("*.safetensors")}
    assert found.keys() >= {"best", "latest"}
    assert len(found) > 2
    assert set(found.values()) == {sha256}


def test_what_the_user_trained_is_played_without_being_named(run: Path) -> None:
    told = play(run, *ONE)
    assert (told.code, told.err) == (0, "")


@pytest.mark.parametrize("edited", ["mine.py", "law.py"])
def test_a_file_that_changed_since_is_played_only_where_the_user_names_it(edited: str, run: Path, scene: Path) -> None:
    with (scene.parent / edited).open("a") as file:
        file.write("\n# another one\n")
    for _ in range(2):  # a run of the new content does not make it the one that was trained
        assert f"{scene} has changed since: if you trust it, add --scene {scene}" in refused(run)
        assert not sprung(scene.parent)
        told = play(run, "--scene", scene, *ONE)
        assert told.code == 0
        assert f"{scene} is not as it was" in told.err
        unspring(scene.parent)


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


@pytest.mark.parametrize("way", ["check", "seeds", "scene", "process"])
def test_each_way_to_run_a_file_is_remembered(way: str, tmp_path: Path, new_user: Path) -> None:
    with pytest.MonkeyPatch.context() as other:
        other.setenv("XDG_STATE_HOME", str(tmp_path / "somebody else"))
        run = project(tmp_path / "project").run
    scene, runs = tmp_path / "project" / "mine.py", ("--runs", tmp_path / "own")
    assert "you have never run" in refused(run)
    commands: dict[str, Callable[[], Told]] = {
        "check": lambda: train(scene, "--check"),
        "seeds": lambda: train(scene, *TINY, "--steps", 100, "--seeds", 2, *runs),
        "scene": lambda: play(run, *ONE, "--scene", scene),
        "process": lambda: finish(start("train.py", scene, *TINY, "--steps", 100, *runs)),
    }
    told = commands[way]()
    assert told.code == 0, told.err
    told = finish(start("play.py", run, *ONE))
    assert (told.code, told.err) == (0, "")


@pytest.mark.parametrize("name", ["a\0b.py", "x" * 5000 + ".py", "/" * 9000 + "b.py", "/dev/zero/x.py", "/etc/passwd"])
def test_a_name_that_leads_nowhere_good_is_one_clear_refusal(name: str, run: Path, tmp_path: Path) -> None:
    (tmp_path / "alone").mkdir()
    alone = Path(shutil.copy(run / "checkpoints" / "best.safetensors", tmp_path / "alone"))
    told = refused(rewritten(alone, scene=name, scene_sha256="ab" * 32))
    assert "there is no such file" in told or len(name) > 2000 or "has changed" in told
    assert "--scene " in told


def test_a_scene_that_the_user_names_must_see_and_do_the_same(run: Path, tmp_path: Path) -> None:
    other = changed_balance(tmp_path / "mine.py", "sees=[X(cart), Vx(cart)", "sees=[X(cart), Vx(pole)")
    told = play(run, "--scene", other, *ONE)
    assert told.code == 3
    assert "'policy' sees ['cart vx'] there and ['pole vx'] here" in told.err
    assert play(run, "--scene", tmp_path / "none.py", *ONE).code == 2


# --- projects that moved ----------------------------------------------------------------------------------------------


@pytest.fixture
def moved(run: Path, tmp_path: Path) -> Path:
    """The run in a project that was moved as a whole."""
    (tmp_path / "project").rename(tmp_path / "new")
    return tmp_path / "new" / run.relative_to(tmp_path / "project")


def test_a_moved_project_plays_from_anywhere(moved: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told = play(moved, *ONE)
    assert (told.code, told.err) == (0, "")
    compared = play(moved, *ONE, "--compare", "best", "latest")
    assert len(compared.json["compare"]) == 2
    monkeypatch.chdir(tmp_path / "new")
    assert play("mine", *ONE).json["returns"] == told.json["returns"]
    (tmp_path / "new" / "law.py").write_text("MASS = 2.0\n")
    assert f"{tmp_path / 'new' / 'mine.py'} has changed since" in refused("mine")


def test_a_run_that_moved_alone_plays_the_file_where_it_was_run(run: Path, tmp_path: Path) -> None:
    alone = run.rename(tmp_path / "alone")
    rewritten(alone / "checkpoints" / "best.safetensors", scene="C:\\games\\old\\mine.py")
    assert Player.load(alone / "checkpoints" / "best.safetensors").scene.file == str(tmp_path / "project" / "mine.py")


def test_a_scene_that_moved_away_from_its_run_is_found_once_it_was_run_there(run: Path, tmp_path: Path) -> None:
    (tmp_path / "scenes").mkdir()
    for name in ("mine.py", "law.py"):
        (tmp_path / "project" / name).rename(tmp_path / "scenes" / name)
    assert "there is no such file: name it with --scene FILE" in refused(run)
    assert train(tmp_path / "scenes" / "mine.py", "--check").code == 0
    assert play(run, *ONE).code == 0


# --- what somebody else has sent --------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def their_project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project of somebody else's: a scene, a network, an algorithm, and a run of each."""
    folder = tmp_path_factory.mktemp("theirs") / "pack"
    with pytest.MonkeyPatch.context() as other:
        other.setenv("XDG_STATE_HOME", str(folder.parent / "their state"))
        project(folder, "--name", "scene")
        (folder / "net.py").write_text(NETWORK)
        (folder / "cem.py").write_text(SPRINGS + example("algorithm"))
        common = (*TINY, "--steps", 1000, "--runs", folder / "runs")
        told = train("balance", *common, "--network", f"{folder / 'net.py'}:Small", "--name", "network")
        assert told.code == 0, told.err
        told = train("balance", *common[:8], "--runs", folder / "runs", "--agent", f"{folder / 'cem.py'}:CEM")
        assert told.code == 0, told.err
    unspring(folder)
    return folder


@pytest.fixture
def pack(their_project: Path, tmp_path: Path, new_user: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """That project, received by somebody who has run nothing of it; they work in the folder that it lies in."""
    folder = tmp_path / "Downloads" / "pack"
    shutil.copytree(their_project, folder)
    monkeypatch.chdir(folder.parent)
    naming(folder, str(folder / "mine.py"))
    return folder


def best(pack: Path, name: str = "scene") -> Path:
    (found,) = pack.glob(f"runs/{name}/*/*/checkpoints/best.safetensors")
    return found


def naming(pack: Path, scene: str, sha256: str = "") -> None:
    """Let the checkpoints of the pack name this scene, with a digest that is true."""
    for checkpoint in best(pack).parent.glob("*.safetensors"):
        sha256 = sha256 or read_manifest(checkpoint).scene_sha256
        rewritten(checkpoint, scene=scene, scene_sha256=sha256)


def below(pack: Path, *parts: str) -> list[object]:
    """Put scene and helper into a folder of the pack, and name them there."""
    folder = pack.joinpath(*parts)
    folder.mkdir(parents=True, exist_ok=True)
    for name in ("mine.py", "law.py"):
        (pack / name).rename(folder / name)
    naming(pack, str(folder / "mine.py"))
    return [best(pack)]


def linked(pack: Path) -> list[object]:
    (pack / "link.py").symlink_to(pack / "mine.py")
    naming(pack, str(pack / "link.py"))
    return [best(pack)]


def behind_a_link(pack: Path) -> list[object]:
    (pack.parent / "games").symlink_to(pack)
    naming(pack, str(pack.parent / "games" / "mine.py"))
    return [best(pack.parent / "games")]


def named(pack: Path, scene: str, *target: object) -> list[object]:
    naming(pack, scene)
    return list(target) or [best(pack)]


def copied(pack: Path) -> list[object]:
    (pack / "ck").mkdir()
    return [shutil.copy(best(pack), pack / "ck")]


def in_the_folder(pack: Path) -> list[object]:
    os.chdir(pack)
    naming(pack, "mine.py")
    return ["scene"]


def an_episode(pack: Path) -> list[object]:
    facts = EpisodeManifest(
        scene=str(pack / "mine.py"),
        source_sha256=read_manifest(best(pack)).scene_sha256,
        policies=(PolicyEntry.of(PolicySpec(("x",), Discrete(("left", "right")), "policy")),),
        seed=1,
        key="1",
        number=0,
        arena=0,
        arenas=1,
        ticks=4,
        digest="cd" * 32,
        total=0.0,
    )
    return [write_episode(Episode(facts, (np.zeros((4, 1), np.int64),), np.zeros((0, HAND))), pack, "one")]


VARIANTS: dict[str, Callable[[Path], list[object]]] = {
    "an absolute path": lambda pack: [best(pack)],
    "a path below the current folder": lambda pack: named(pack, "pack/mine.py"),
    "a path that ends below the current folder": lambda pack: named(pack, "C:\\games\\pack\\mine.py"),
    "in the current folder": in_the_folder,
    "beside the runs folder": lambda pack: named(pack, "/home/them/pack/mine.py", "scene", "--runs", pack / "runs"),
    "beside a copied checkpoint": copied,
    "in the run": lambda pack: below(pack, *best(pack).relative_to(pack).parts[:4]),
    "beside the checkpoint": lambda pack: below(pack, *best(pack).relative_to(pack).parts[:-1], "deeper"),
    "through a link": linked,
    "behind a link to the folder": behind_a_link,
    "a path with dots": lambda pack: named(pack, "pack/../pack/mine.py"),
    "of several checkpoints": lambda pack: [best(pack).parents[1], "--compare", "best", "latest"],
    "as an opponent": lambda pack: [best(pack), "--against", best(pack, "network")],
}


@pytest.mark.parametrize("variant", VARIANTS)
def test_nothing_of_somebody_else_runs_before_the_user_names_it(variant: str, pack: Path) -> None:
    told = refused(*VARIANTS[variant](pack))
    assert "you have never run" in told
    assert "if you trust it, add --scene " in told
    assert not sprung(pack)
    scene = told.rsplit("--scene ", 1)[1].strip()
    told_then = play(best(pack), *ONE, "--scene", scene)
    assert (told_then.code, told_then.err) == (0, "")
    assert sprung(pack) == ["law.sprung", "mine.sprung"]
    assert play(best(pack), *ONE).code == 0


def test_nor_does_an_episode_run_what_it_names(pack: Path) -> None:
    told = play(*an_episode(pack), "--headless", "--json")
    assert (told.code, told.out) == (3, "")
    assert f"you have never run {pack / 'mine.py'}: if you trust it, add --scene {pack / 'mine.py'}" in told.err
    assert not sprung(pack)


def test_nor_does_a_film(pack: Path, tmp_path: Path) -> None:
    told = play(best(pack), "--record", tmp_path / "film.gif", "--episodes", 1)
    assert told.code == 3
    assert not sprung(pack)
    assert not (tmp_path / "film.gif").exists()


def test_a_helper_that_is_another_makes_another_file(pack: Path, tmp_path: Path) -> None:
    own = tmp_path / "own"
    own.mkdir()
    shutil.copy(pack / "mine.py", own)
    (own / "law.py").write_text("MASS = 1.0\n")
    assert train(own / "mine.py", "--check").code == 0
    assert "you have never run" in refused(best(pack))
    assert not sprung(pack)


@pytest.mark.parametrize(
    ("name", "flag", "mark"),
    [("network", "--network {}/net.py:Small", "net"), ("balance", "--agent {}/cem.py:CEM", "cem")],
)
def test_networks_and_algorithms_of_somebody_else_run_only_if_they_are_named(
    name: str, flag: str, mark: str, pack: Path, their_project: Path
) -> None:
    checkpoint, told = best(pack, name), flag.format(their_project)
    assert f"you have never run {their_project / mark}.py: if you trust it, add {told}\n" in refused(checkpoint)
    resumed = train("balance", "--resume", checkpoint.parents[1], "--steps", 2000, "--runs", pack / "runs")
    assert resumed.code == 3
    assert f"add {told}\n" in resumed.err
    if name == "network":
        against = play("soccer", *ONE, "--against", checkpoint)
        assert against.code == 3
    assert not sprung(pack)
    assert not sprung(their_project)
    assert play(checkpoint, *ONE, *told.split(maxsplit=1)).code == 0
    assert sprung(their_project) == [f"{mark}.sprung"]
    assert play(checkpoint, *ONE).code == 0
    unspring(their_project)


def test_starting_from_a_checkpoint_runs_nothing_that_it_names(pack: Path, tmp_path: Path) -> None:
    told = train("balance", *TINY, "--steps", 100, "--init-from", best(pack), "--runs", tmp_path / "new")
    assert told.code == 0, told.err
    assert not sprung(pack)


def test_turning_to_another_checkpoint_in_the_window_runs_nothing_that_it_names(pack: Path) -> None:
    run = best(pack).parents[1]
    assert CheckpointList(run).agents(Choice("best", best(pack), 0.0), load_scene("balance")).keys() == {"policy"}
    assert not sprung(pack)


SETTINGS = {
    "agent": ("toml", 'agent = "{}/cem.py:CEM"', "cem"),
    "network": ("toml", 'network = "{}/net.py:Small"', "net"),
    "ppo.network": ("toml", '[ppo]\nnetwork = "{}/net.py:Small"', "net"),
    "recorder": ("toml", 'recorder = "mlflow,{}/net.py:Small"', "net"),
    "against": ("toml", 'against = "policy={}/net.py:Small"', "net"),
    "scene": ("toml", 'scene = "{}/mine.py"', "mine"),
    "agent of a run": ("json", '{{"agent": "{}/cem.py:CEM"}}', "cem"),
}


@pytest.mark.parametrize("name", SETTINGS)
def test_code_that_a_file_of_settings_names_runs_only_if_it_was_run_before(name: str, pack: Path) -> None:
    ending, text, mark = SETTINGS[name]
    config = pack / f"settings.{ending}"
    config.write_text(text.format(pack))
    scene = () if name == "scene" else ("balance",)
    told = train(*scene, "--config", config, "--steps", 100, "--runs", pack / "new")
    assert (told.code, told.out) == (2, "")
    assert f"--config {config}: you have never run {pack / mark}.py: if you trust it, add " in told.err
    assert len(told.err.splitlines()) == 1
    assert not sprung(pack)


def test_an_environment_that_a_file_of_settings_names_imports_nothing(pack: Path) -> None:
    (config := pack / "settings.toml").write_text('scene = "gym:evil:Line-v0"')
    told = train("--config", config)
    assert told.code == 2
    assert "'gym:evil:Line-v0' imports a module: if you trust that, add gym:evil:Line-v0 as SCENE" in told.err


def test_a_file_of_settings_may_name_what_the_user_has_run(pack: Path) -> None:
    (config := pack / "settings.toml").write_text(f'scene = "{pack / "mine.py"}"\nsteps = 100\n')
    assert train(pack / "mine.py", "--check").code == 0
    told = train("--config", config, *TINY[:2], "--eval-episodes", 1, "--runs", pack / "new")
    assert told.code == 0, told.err


# --- a state folder that cannot be used -------------------------------------------------------------------------------


def spoilt(new_user: Path, how: str) -> None:
    if how == "a file":
        new_user.write_text("in the way")
        return
    (new_user / "ecs_rl").mkdir(parents=True)
    if how == "a loop":
        (new_user / "ecs_rl" / FOLDER).symlink_to(new_user / "ecs_rl" / FOLDER)
    else:
        (new_user / "ecs_rl" / FOLDER).write_bytes(b"\0\xff")


@pytest.mark.parametrize("how", ["a file", "a loop", "an entry"])
def test_a_state_folder_that_cannot_be_used_is_told_in_one_line_and_ends_nothing(
    how: str, tmp_path: Path, new_user: Path
) -> None:
    spoilt(new_user, how)
    scene = shutil.copy(BALANCE, tmp_path / "mine.py")
    told = train(scene, *TINY, "--steps", 500, "--json", "--runs", tmp_path / "runs")
    assert told.code == 0, told.err
    (line,) = (line for line in told.err.splitlines() if line.startswith("ecs_rl: "))
    assert f"{new_user / 'ecs_rl' / FOLDER}: " in line
    assert "XDG_STATE_HOME" in line
    refusal = finish(start("play.py", told.run, *ONE))  # a process that has run nothing
    assert (refusal.code, refusal.out) == (3, "")
    assert f"you have never run {scene}: if you trust it, add --scene {scene}" in refusal.err
    assert play(told.run, *ONE, "--scene", scene).code == 0
