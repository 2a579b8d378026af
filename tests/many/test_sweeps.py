"""Sweeps: what train.py makes of each setting, whatever goes wrong with others, and whoever interrupts it."""

from __future__ import annotations

import contextlib
import io
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from process_groups import start_group

from ecs_rl.commands.train import main
from ecs_rl.many.jobs import Call, Job, JobCommand, Trainee
from ecs_rl.tasks.same_everywhere import contents, versions

ROOT = Path(__file__).resolve().parents[2]
SMALL = ("--arenas", "16", "--eval-every", "2k", "--eval-episodes", "2", "--threads", "1")
NETWORKS = """
import os
from torch import nn

def fine(inputs, outputs, spec):
    return nn.Sequential(nn.Linear(inputs, 8), nn.Tanh(), nn.Linear(8, outputs))

def wrong(inputs, outputs, spec):
    raise ValueError("of no use")

def deadly(inputs, outputs, spec):
    os._exit(9)
"""


def command(folder: Path, *flags: str) -> list[str]:
    return [sys.executable, "train.py", "balance", *SMALL, *flags, "--runs", str(folder), "--json"]


def answered(folder: Path, *flags: str, code: int = 0) -> dict[str, Any]:
    """Return what a command answers in JSON, with its stderr; it is carried out here, its trainings elsewhere."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        assert main(command(folder, *flags)[2:]) == code, err.getvalue()[-3000:]
    return {"stderr": err.getvalue(), **(json.loads(out.getvalue()) if out.getvalue() else {})}


def trained(folder: Path, *flags: str) -> str:
    return str(answered(folder, *flags)["params_sha256"])


def test_a_folder_whose_name_is_no_text_can_have_many_trainings(tmp_path: Path) -> None:
    folder = os.fsencode(tmp_path) + b"/\xff"
    try:
        os.mkdir(folder)
    except OSError:
        pytest.skip("this file system has texts alone")
    words = (
        sys.executable,
        str(ROOT / "train.py"),
        "balance",
        *SMALL,
        "--steps",
        "2k",
        "--runs",
        str(tmp_path / "runs"),
    )
    done = subprocess.run([*words, "--seeds", "1"], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_each_trial_is_what_train_py_makes_of_its_setting_and_what_fails_is_a_row(tmp_path: Path) -> None:
    networks = tmp_path / "networks.py"
    networks.write_text(NETWORKS)
    names = ",".join(["mlp", *(f"{networks}:{each}" for each in ("wrong", "deadly"))])
    flags = ("--steps", "4k", "--seeds", "2", "--sweep", "ppo.lr=1e-3,1e30", f"network={names}")
    told = answered(tmp_path / "runs", *flags)
    assert (told["search"], told["measure"], told["status"]) == ("grid", "best_eval", "finished")
    rows = {(row["settings"]["ppo.lr"], row["settings"]["network"].rpartition(":")[2]): row for row in told["trials"]}
    assert len(rows) == 6
    states = {key: row["status"] for key, row in rows.items()}
    assert (states[1e-3, "mlp"], states[1e30, "mlp"]) == ("finished", "diverged")
    assert {states[lr, name] for lr in (1e-3, 1e30) for name in ("wrong", "deadly")} == {"failed"}
    assert "of no use" in rows[1e-3, "wrong"]["message"]
    assert "its process died" in rows[1e-3, "deadly"]["message"]
    best = rows[1e-3, "mlp"]
    assert told["best"] == best["trial"]
    assert [run["seed"] for run in best["runs"]] == [0, 1]
    assert best["best_eval"] == sum(run["best_eval"] for run in best["runs"]) / 2
    assert Path(told["picture"]).read_bytes().startswith(b"\x89PNG")
    for run in best["runs"]:
        alone = trained(tmp_path / "alone", "--config", told["recipe"], "--seed", str(run["seed"]))
        assert run["params_sha256"] == alone


@pytest.mark.slow
def test_an_interrupted_sweep_goes_on_and_comes_to_the_same(tmp_path: Path) -> None:
    flags = ("--steps", "60k", "--sweep", "ppo.lr=1e-3,2e-3", "--no-early-stopping")
    going = start_group(command(tmp_path, *flags))
    assert going.stderr is not None
    said = list[str]()
    for line in going.stderr:
        said.append(line)
        if " steps, best evaluation" in line:
            os.killpg(going.pid, signal.SIGINT)  # as a terminal does: all processes of the command hear it
            break
    stdout, rest = going.communicate(timeout=300)
    assert going.returncode == 0, "".join(said) + rest
    first = json.loads(stdout)
    assert first["status"] == "interrupted"
    begun = [row for row in first["trials"] if row["status"] == "interrupted"]
    assert begun
    assert f"--resume {first['sweep']}" in rest
    again = (*flags, "--resume", first["sweep"])
    told = answered(tmp_path, *(word.replace("2e-3", "3e-3") for word in again), code=2)
    assert "was begun with another sweep: ppo.lr=1e-3,2e-3" in told["stderr"]
    whole = answered(tmp_path, *again)
    assert {row["status"] for row in whole["trials"]} == {"finished"}
    row = next(row for row in whole["trials"] if row["trial"] == begun[0]["trial"])
    assert row["runs"][0]["run"] == begun[0]["runs"][0]["run"]
    alone = trained(tmp_path / "alone", "--steps", "60k", "--ppo.lr", str(row["settings"]["ppo.lr"]))
    assert row["runs"][0]["params_sha256"] == alone


@pytest.mark.parametrize(
    ("flags", "told"),
    [
        (("--ray", "127.0.0.1:1"), "--ray 127.0.0.1:1: nothing answers there"),
        (("--ray", "ray://127.0.0.1:1"), "start it on a machine of the cluster, with --ray auto"),
        (("--threads", "9999"), "--sweep with --threads 9999: this machine has"),
        (("--resume",), "there is no sweep in"),
    ],
)
def test_what_is_wrong_with_the_cluster_is_told_in_one_sentence(
    tmp_path: Path, flags: tuple[str, ...], told: str
) -> None:
    said = answered(tmp_path, "--sweep", "ppo.lr=1e-3,2e-3", *flags, code=2)["stderr"]
    assert told in said
    assert said.count("\n") == 1
    assert not list(tmp_path.iterdir())


def test_a_node_with_another_scene_begins_no_trial(tmp_path: Path) -> None:
    (scene := tmp_path / "scene.py").write_text("SCENE = 1\n")
    files = contents([str(scene)])
    command = JobCommand("--sweep", (str(scene),), "train.py", {}, files, {})
    scene.write_text("SCENE = 2\n")
    report = Trainee(command, lambda: False).do(Call("begin", Job(0, (0,), {})))
    assert (report.state, report.exit_code) == ("failed", 2)
    assert report.message.startswith(f"--sweep: a node of the cluster has another {scene} than there was here")


def test_a_node_with_other_libraries_begins_no_trial(tmp_path: Path) -> None:
    pytest.importorskip("ray")
    older = {**versions(), "numpy": "1.0"}
    command = JobCommand("--sweep", ("balance",), "train.py", {}, {}, older)
    report = Trainee(command, lambda: False).do(Call("begin", Job(0, (0,), {})))
    assert "a node of the cluster has numpy" in report.message
