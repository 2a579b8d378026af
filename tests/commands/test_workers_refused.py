"""What several processes cannot share out is refused in one sentence, and so is what a launcher says wrongly."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest
from process_groups import ROOT
from worker_runs import command, trained

from ecs_rl.cli.command_settings import TrainSettings
from ecs_rl.cli.plan import Plan, refuse_what_is_not_shared
from ecs_rl.distributed.place import place_in_group
from ecs_rl.errors import CommandError
from ecs_rl.loading import load_scene
from ecs_rl.tasks.same_everywhere import contents, own_files, refuse_other_files, refuse_other_versions, versions

SCENE = ROOT / "scenes" / "lander.py"
TWO = ("--workers", "2")


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (
            ("balance", "--arenas", "65", *TWO),
            "65 arenas cannot be shared out evenly among 2 processes: take --arenas 64",
        ),
        (("balance", "--arenas", "64", "--arenas-per-worker", "8", *TWO), "--arenas and --arenas-per-worker exclude"),
        (("balance", "--seeds", "2", *TWO), "--workers cannot be used with --seeds"),
        (("balance", "--backend", "pigeon", *TWO), "--backend pigeon: this torch has none of that name: take gloo"),
        (
            ("gym:CartPole-v1", *TWO),
            "gym:CartPole-v1: environments of Gymnasium live in one process; leave one of them",
        ),
    ],
)
def test_what_cannot_be_shared_out_is_said_in_one_sentence(
    tmp_path: Path, flags: tuple[str, ...], message: str
) -> None:
    stderr = trained(tmp_path, *flags, code=2)["stderr"]
    assert message in stderr
    assert stderr.count("\n") == 1
    assert not list(tmp_path.iterdir())


def test_more_processes_than_this_machine_can_have_are_refused_and_a_cluster_may_have_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    plan = Plan(TrainSettings(scene="balance", agent="ppo", arenas=100_000, workers=1000), load_scene("balance"))
    with pytest.raises(CommandError, match=r"--workers 1000: this machine has \d+ cores, .*: take at most \d+$"):
        refuse_what_is_not_shared(plan)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: name)
    refuse_what_is_not_shared(plan.changed(ray="10.0.0.1:6379"))


@pytest.mark.parametrize(
    ("environment", "message"),
    [
        ({"RANK": "2", "WORLD_SIZE": "2"}, "RANK=2 WORLD_SIZE=2: a launcher sets a rank from 0 and a larger number"),
        ({"RANK": "one", "WORLD_SIZE": "2"}, "RANK=one WORLD_SIZE=2: a launcher sets a rank from 0"),
        ({"RANK": "0", "WORLD_SIZE": "2"}, "RANK is set, and MASTER_ADDR or MASTER_PORT is not"),
        ({"RANK": "1", "WORLD_SIZE": "2"}, "RANK is set, and MASTER_ADDR or MASTER_PORT is not"),
    ],
)
def test_what_a_launcher_says_wrongly_is_said_in_one_sentence(
    tmp_path: Path, environment: dict[str, str], message: str
) -> None:
    stderr = trained(tmp_path, "balance", "--arenas", "64", "--threads", "1", code=2, env=environment)["stderr"]
    assert message in stderr
    assert stderr.count("\n") == 1
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("environment", [{}, {"RANK": "1"}, {"WORLD_SIZE": "2"}])
def test_without_a_launcher_a_process_has_no_place(environment: Mapping[str, str]) -> None:
    assert place_in_group(environment) is None
    assert place_in_group({"RANK": "1", "WORLD_SIZE": "2"}) == (1, 2)


def test_a_launcher_excludes_workers_of_its_own(tmp_path: Path) -> None:
    environment = {"RANK": "0", "WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "1"}
    stderr = trained(tmp_path, "balance", *TWO, code=2, env=environment)["stderr"]
    assert "WORLD_SIZE is 2: a launcher has started the processes: leave --workers and --ray out" in stderr


JOIN = """
import os, sys
from ecs_rl.distributed import processes
from ecs_rl.errors import CommandError
processes.TOGETHER = 1.0
rank, meeting = int(sys.argv[1]), sys.argv[2] or None
try:
    with processes.joined(rank, 2, "gloo", meeting):
        print("joined")
except CommandError as error:
    print(error, flush=True)
os._exit(0)
"""
"""A process of its own: torch goes on waiting in it."""


def joining(rank: int, meeting: str, environment: Mapping[str, str]) -> str:
    """Return what a process says that is one of two, and the other one does not come."""
    words = [sys.executable, "-c", JOIN, str(rank), meeting]
    whole = {**os.environ, **environment}
    return subprocess.run(words, env=whole, capture_output=True, text=True, timeout=120, check=True).stdout


def test_an_address_at_which_nobody_answers_is_given_up() -> None:
    said = joining(1, "", {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "1"})
    assert re.match(r"process 1 of 2 found not all others at 127\.0\.0\.1:1: .+\n\Z", said)


def test_a_process_that_came_and_is_gone_is_not_waited_for(tmp_path: Path) -> None:
    said = joining(0, f"file://{tmp_path}/meeting", {})
    assert re.match(r"process 0 of 2 found not all others at file:.*meeting: .+\n\Z", said)


@pytest.mark.slow
def test_where_nobody_answers_one_sentence_is_all_that_is_said(tmp_path: Path) -> None:
    environment = {"RANK": "1", "WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "1"}
    words, whole = command(tmp_path, "balance"), {**os.environ, **environment}
    done = subprocess.run(words, cwd=ROOT, env=whole, capture_output=True, text=True, timeout=400, check=False)
    assert done.returncode == 2
    assert re.fullmatch(r"train\.py: process 1 of 2 found not all others at 127\.0\.0\.1:1: .+\n", done.stderr)


# --- what is another one elsewhere ------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["python", "torch", "ecs_rl"])
def test_a_node_with_another_version_is_refused_by_name(name: str) -> None:
    own = versions()
    refuse_other_versions([own, own])
    message = f"a node of the cluster has {name} 0.0, and this machine {own[name]}: install the same everywhere"
    with pytest.raises(CommandError, match=re.escape(message)):
        refuse_other_versions([own, {**own, name: "0.0"}])


def test_a_node_with_other_files_is_refused_by_their_names(tmp_path: Path) -> None:
    (scene := tmp_path / "scene.py").write_text("from parts import LEG\n")
    (parts := tmp_path / "parts.py").write_text("LEG = 1.0\n")
    (policy := tmp_path / "policy.safetensors").write_bytes(b"weights")
    settings = TrainSettings(scene=str(SCENE), agent="ppo", against=str(policy))
    assert own_files(Plan(settings, load_scene(settings.scene))) == [str(SCENE), str(policy)]
    files = [str(scene), str(policy)]
    own = contents(files)
    refuse_other_files([contents(files), contents(files)], own)
    parts.write_text("LEG = 2.0\n")
    with pytest.raises(CommandError, match=re.escape(f"a node of the cluster has another {scene} than there was here")):
        refuse_other_files([own, contents(files)], own)
    parts.write_text("LEG = 1.0\n")
    policy.unlink()
    with pytest.raises(CommandError, match=re.escape(f"a node of the cluster has no file {policy}: copy it there")):
        refuse_other_files([contents(files)], own)
