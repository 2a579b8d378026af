"""The command that makes the pilots: it goes on where it was stopped, and takes the seed in the middle."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import make_pilots
import msgspec
import pytest
from make_pilots import Plan, make, middle

from ecs_rl.pilots.pilot_scores import PilotEntry
from ecs_rl.runs import read_manifest, read_metadata

SMALL = ("--steps", "2k", "--arenas", "8", "--eval-every", "500", "--eval-episodes", "2", "--ppo.rollout", "16")


def plan(folder: Path, **more: Any) -> Plan:
    small: dict[str, Any] = {"runs": folder / "runs", "to": folder / "pilots", "seeds": 2, "more": SMALL}
    return Plan(**(small | more))


@pytest.mark.slow
def test_it_trains_each_seed_once_and_writes_a_pilot_with_its_row(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="no run is finished"):
        make("balance", plan(tmp_path, as_it_is=True))
    entry = make("balance", plan(tmp_path))
    assert set(entry.trained) == {"0", "1"}
    manifest = read_manifest(tmp_path / "pilots" / "balance.safetensors")
    assert (manifest.best_eval, manifest.step, manifest.made_on) == (entry.score, entry.steps, entry.made_on)
    table = tmp_path / "pilots" / "pilots.json"
    assert msgspec.json.decode(table.read_bytes(), type=dict[str, PilotEntry]) == {"balance": entry}
    runs = sorted((tmp_path / "runs").rglob("metadata.json"))
    assert make("balance", plan(tmp_path)).score == entry.score
    assert sorted((tmp_path / "runs").rglob("metadata.json")) == runs, "nothing is trained twice"
    assert set(make("balance", plan(tmp_path, seeds=5, as_it_is=True)).trained) == {"0", "1"}, "what is finished"
    make("balance", plan(tmp_path, again=True, seeds=1))
    assert len(list((tmp_path / "runs").rglob("metadata.json"))) == len(runs) + 1


@pytest.mark.slow
def test_a_training_that_was_stopped_goes_on(tmp_path: Path) -> None:
    code = "import sys; sys.path[:0] = sys.argv[1:3]; import make_pilots; from pathlib import Path; "
    code += "make_pilots.make('balance', make_pilots.Plan(Path('runs'), Path('pilots'), 1, more=tuple(sys.argv[3:])))"
    steps = ("--steps", "60k", "--checkpoint-every", "1k", *SMALL[2:])
    here = str(Path(make_pilots.__file__).parent)
    root = str(make_pilots.ROOT)
    process = subprocess.Popen(
        [sys.executable, "-c", code, root, here, *steps],
        cwd=tmp_path,
        start_new_session=True,
        stdout=subprocess.DEVNULL,
    )
    try:
        while not list(tmp_path.rglob("step_*.safetensors")):
            assert process.poll() is None
            time.sleep(0.05)
    finally:
        os.killpg(process.pid, signal.SIGINT)
        process.wait(60)
    (run,) = (path.parent for path in tmp_path.rglob("metadata.json"))
    assert read_metadata(run).status == "interrupted"
    entry = make("balance", Plan(tmp_path / "runs", tmp_path / "pilots", 1, more=steps))
    assert read_metadata(run).status == "finished"
    assert list(entry.trained) == ["0"]
    assert len(list(tmp_path.rglob("metadata.json"))) == 1


def test_the_seed_in_the_middle_is_the_median_and_the_worse_of_two() -> None:
    def chosen(*worths: float) -> Path:
        runs: Any = [(Path(str(i)), SimpleNamespace(best_step=i)) for i in range(len(worths))]
        return middle(runs, list(worths))[0]

    assert chosen(3.0, 1.0, 2.0, 5.0, 4.0) == Path("0")
    assert chosen(3.0, 1.0) == Path("1")
    assert chosen(7.0, 7.0, 7.0) == Path("1"), "of equals the sooner is better"
