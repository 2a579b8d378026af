"""`train.py SCENE --resume`: what it refuses, and that a refusal leaves the run as it was."""

from __future__ import annotations

from pathlib import Path

import pytest
from command_runs import TINY, metadata, train

from ecs_rl.runs import read_manifest


def files_of(run: Path) -> dict[str, bytes]:
    """Return the content of every file that a refused command must leave alone."""
    changing = ("metadata.json", ".lock")  # told when somebody last looked, and who
    return {str(p.relative_to(run)): p.read_bytes() for p in run.rglob("*") if p.is_file() and p.name not in changing}


@pytest.mark.parametrize(
    "more",
    [
        ("--seed", "9"),
        ("--arenas", "16"),
        ("--eval-episodes", "1"),
        ("--ppo.activation", "relu"),
        ("--ppo.hidden", "8", "8"),
        ("--ppo.no-normalise-rewards",),
        ("--agent", "dqn"),
        ("--ppo.rollout", "5"),
    ],
    ids=" ".join,
)
def test_a_resume_that_would_make_it_another_run_is_refused_and_changes_nothing(
    more: tuple[str, ...], tmp_path: Path
) -> None:
    first = train("balance", *TINY, "--steps", 1000, "--json", "--runs", tmp_path)
    before, status = files_of(first.run), metadata(first.run)["status"]
    refused = train("balance", "--steps", 2000, "--runs", tmp_path, "--resume", *more)
    assert refused.code in (2, 3)
    assert len(refused.err.strip().splitlines()) == 1
    assert files_of(first.run) == before
    assert metadata(first.run)["status"] == status
    assert train("balance", "--steps", 2000, "--runs", tmp_path, "--resume").code == 0


def test_another_scene_is_refused(tmp_path: Path) -> None:
    train("balance", *TINY, "--steps", 1000, "--name", "mine", "--json", "--runs", tmp_path)
    refused = train("lander", "--name", "mine", "--runs", tmp_path, "--resume")
    assert refused.code in (2, 3)
    assert "balance" in refused.err


def test_a_run_that_diverged_goes_on_from_the_checkpoint_before(tmp_path: Path) -> None:
    args = ("balance", *TINY, "--steps", 4000, "--checkpoint-every", 40, "--runs", tmp_path)
    assert train(*args, "--ppo.lr", "1e30").code == 5
    run = next((tmp_path / "balance" / "v1").iterdir())
    assert not read_manifest(run / "checkpoints" / "latest.safetensors").full
    again = train("balance", "--runs", tmp_path, "--resume", "--ppo.lr", "1e-3", "--steps", 4000, "--json")
    assert (again.code, again.json["status"], again.json["steps"]) == (0, "finished", 4000)


def test_a_scene_file_that_was_edited_since_is_told(tmp_path: Path) -> None:
    scene = tmp_path / "mine.py"
    shipped = Path(__file__).resolve().parents[2] / "scenes" / "balance.py"
    scene.write_text(shipped.read_text())
    train(scene, *TINY, "--steps", 1000, "--runs", tmp_path / "runs")
    scene.write_text(shipped.read_text().replace("mass=0.1", "mass=0.2"))
    again = train(scene, "--steps", 2000, "--runs", tmp_path / "runs", "--resume")
    assert again.code == 0
    assert "mine.py has changed since" in again.err


@pytest.mark.parametrize(
    ("more", "remedy"),
    [
        ((), "has all of its 512 steps: give more, as in --steps 1024"),
        (("--minutes", "0.000001"), "has had its 1e-06 minutes: give more --minutes"),
        (("--until", "plateau 1"), "has had 1 evaluations without a better one: give another --until"),
    ],
)
def test_a_resume_with_nothing_left_to_train_says_so_and_what_gives_it_more(
    tmp_path: Path, more: tuple[str, ...], remedy: str
) -> None:
    flags: tuple[object, ...] = ("--arenas", 8, "--eval-every", 128, "--eval-episodes", 2, "--ppo.lr", "1e-12")
    flags += ("--runs", tmp_path, "--json")
    first = train("balance", *flags, "--steps", 512)
    again = train("balance", *flags, "--resume", *more)
    assert again.code == 0
    assert again.json["params_sha256"] == first.json["params_sha256"]
    assert f"train.py: nothing is left to train: {first.run} {remedy}\n" in again.err
    assert (
        "nothing is left"
        not in train("balance", *flags, "--resume", "--steps", 1024, "--minutes", 0, "--until", "steps").err
    )
