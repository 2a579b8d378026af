"""Runs that an older version wrote: played as it recorded them, listed, begun anew from, and not resumed by guesswork.

`old_runs/` holds what `train.py balance --agent ppo` and `dqn` wrote before worlds were saved by component: small
networks, `best` and `latest` alone of the checkpoints, every other file as it was.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from command_runs import SMALL, TINY, metadata, play, rows, train
from small_learners import DQN

from ecs_rl.runs import read_checkpoint, read_manifest, sealed_pieces

OLD = Path(__file__).parent / "old_runs"
AGENTS = ("ppo", "dqn")


@pytest.fixture(params=AGENTS)
def old(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """Return a copy of an old run where `train.py` would have written it."""
    path = tmp_path / "runs" / str(request.param) / "v1" / "20261118_184309"
    shutil.copytree(OLD / request.param, path)
    return path


def recorded(run: Path, step: int) -> list[float]:
    return [row["total_reward"] for row in rows(run, "eval_episodes") if row["total_steps_at_eval"] == step]


def test_old_runs_are_really_old_and_small() -> None:
    for agent in AGENTS:
        manifest = read_manifest(OLD / agent / "checkpoints" / "latest.safetensors")
        assert manifest.full
        assert "world/now" not in (OLD / agent / "checkpoints" / "latest.safetensors").read_bytes().decode("latin-1")
    assert all(path.stat().st_size < 50_000 for path in OLD.rglob("*") if path.is_file())


@pytest.mark.parametrize("which", ["best", "latest"])
def test_an_old_run_and_a_bare_copy_of_its_checkpoints_play_as_it_recorded(
    old: Path, which: str, tmp_path: Path
) -> None:
    file = old / "checkpoints" / f"{which}.safetensors"
    bare = shutil.copy(file, tmp_path / "brain.safetensors")
    step = read_manifest(file).step
    for target in ((old, "--checkpoint", which), (file,), (bare,)):
        played = play(*target, "--headless", "--json", "--episodes", 3)
        assert played.code == 0
        assert not played.err or "balance.py is not as it was" in played.err  # its recipes have changed since
        assert (played.json["step"], played.json["returns"]) == (step, recorded(old, step))
    assert len(recorded(old, step)) == 3
    assert which == "latest" or played.json["mean_return"] == metadata(old)["best_eval"]


def test_an_old_run_is_listed(old: Path, tmp_path: Path) -> None:
    (found,) = json.loads(play("--list", "--json", "--runs", tmp_path / "runs").out)
    known = metadata(old)
    assert (found["run"], found["problem"]) == (str(old), None)
    assert (found["status"], found["total_steps"]) == (known["status"], known["total_steps"])


@pytest.mark.parametrize("more", [(), ("--inexact",)], ids=["exactly", "inexactly"])
def test_resuming_an_old_run_is_refused_in_one_sentence_that_says_what_to_do(old: Path, more: tuple[str, ...]) -> None:
    before = {
        path.name: path.read_bytes() for path in old.rglob("*") if path.is_file() and path.name != "metadata.json"
    }
    known = metadata(old)
    refused = train("balance", "--resume", old, "--steps", "20k", "--runs", old.parents[2], *more)
    assert (refused.code, refused.out) == (3, "")
    assert refused.err == (
        f"train.py: {old}: this checkpoint is of an older version, whose worlds this one cannot bring back: play it, "
        "or start a new run from its policy with --init-from\n"
    )
    after = {path.name: path.read_bytes() for path in old.rglob("*") if path.is_file() and path.name != "metadata.json"}
    assert {name: after[name] for name in before} == before
    assert metadata(old) | {"last_updated": ""} == {"scene_sha256": ""} | known | {"last_updated": ""}


def test_a_new_run_begins_with_the_policy_of_an_old_one(old: Path, tmp_path: Path) -> None:
    known = metadata(old)
    best = old / "checkpoints" / "best.safetensors"
    agent: tuple[object, ...] = ("--agent", known["agent"], f"--{known['agent']}.hidden", 8)
    small = TINY[: TINY.index("--ppo.rollout")]
    if known["agent"] == "dqn":  # the recipe has learned since what that policy has not
        agent += ("--dqn.no-dueling", "--dqn.no-normalise-observations")
    told = train("balance", *small, *agent, "--steps", 16, "--init-from", best, "--runs", tmp_path / "new", "--json")
    assert told.code == 0, told.err
    again = play(told.run, "--checkpoint", "latest", "--headless", "--json", "--episodes", 3)
    assert again.json["returns"] == recorded(old, known["best_step"])


@pytest.mark.parametrize("agent", AGENTS)
def test_a_run_from_before_actions_and_members_that_touch_were_columns_goes_on_exactly(
    agent: str, tmp_path: Path
) -> None:
    few = ("balance", *TINY, "--checkpoint-every", 400) if agent == "ppo" else ("balance", *SMALL, *DQN)
    args = (*few, "--schedule-steps", "3k", "--runs", tmp_path, "--json")
    whole = train(*args, "--name", "whole", "--steps", 2000)
    run = train(*args, "--name", "part", "--steps", 1000).run
    lacking = 0
    for path in sorted((run / "checkpoints").glob("*.safetensors")):
        manifest, tensors = read_checkpoint(path)
        old = {name: tensor for name, tensor in tensors.items() if not name.endswith(("Action/value", "Touch/members"))}
        lacking += len(tensors) - len(old)
        path.unlink()  # latest is a second name of a step
        path.write_bytes(b"".join(sealed_pieces(old, manifest)))
    assert lacking >= 8
    again = train("balance", "--name", "part", "--resume", "--steps", 2000, "--runs", tmp_path, "--json")
    assert (again.code, again.run, again.sha) == (0, run, whole.sha)
