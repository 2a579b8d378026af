"""A scene whose bug shows only after a while: refused by file and line, and what was learnt is saved."""

from __future__ import annotations

from pathlib import Path

import pytest
from command_runs import SMALL, TINY, Told, changed_balance, metadata, play, train
from readme_scenes import BEACONS, beacons_with, line_of
from small_learners import DQN

from ecs_rl.runs import read_manifest

STEPS = ("--checkpoint-every", 300, "--json")
SPOILT = "np.where(drone.y[-1] < -5.0, {}, {})"
"""Bad in the last arena alone, once the drone has fallen five metres."""
REACHED = "reached.value += there"


def test_a_bug_that_shows_later_names_its_line_and_saves_what_there_is(tmp_path: Path) -> None:
    scene = changed_balance(tmp_path / "late.py", '"upright": 1.0', '"upright": late')
    scene.write_text(scene.read_text() + "\n\nLEFT = [0] * 60\n\n\ndef late():\n    return LEFT.pop() + 1.0  # BUG\n")
    line = next(i for i, text in enumerate(scene.read_text().splitlines(), 1) if "# BUG" in text)
    told = train(scene, *TINY, "--eval-every", "100M", "--runs", tmp_path / "runs")
    assert told.code == 2
    assert f"train.py: {scene}, line {line}: IndexError: pop from empty list" in told.err
    assert "Traceback" not in told.err
    run = next((tmp_path / "runs" / "late" / "v1").iterdir())
    assert metadata(run)["status"] == "failed"
    assert 0 < metadata(run)["total_steps"] == read_manifest(run / "checkpoints" / "latest.safetensors").step


def spoilt(value: str) -> dict[str, tuple[str, str]]:
    """Return what a system may spoil, by the column's name: a component of a role, a number of the arena, a body."""
    fuel = SPOILT.format(value, "drone[Tank].fuel[-1]")
    return {
        "drone/Tank/fuel": (REACHED, f"drone[Tank].fuel[-1] = {fuel}"),
        "@number/reached/reached/value": (REACHED, f"reached.value[-1] = {SPOILT.format(value, 0.0)}"),
    }


def assert_told(told: Told, line: str, column: str, value: str) -> int:
    """Check the one line that is told, and return the tick that it names."""
    assert told.code == 2, told.err
    (said,) = [each for each in told.err.splitlines() if each.startswith("train.py: ")]
    before, found, tick = said.removesuffix(" of its episode").rpartition(" in arena 7 at tick ")
    assert found
    assert before == f"train.py: {line}: the system 'fly' made {column} {value}"
    assert "Traceback" not in told.err
    return int(tick)


@pytest.mark.parametrize("value", ["nan", "inf"])
@pytest.mark.parametrize("column", spoilt(""))
def test_a_number_that_a_system_spoils_is_told_by_line_column_arena_and_tick_and_the_run_goes_on_once_mended(
    column: str, value: str, tmp_path: Path
) -> None:
    scene, runs = tmp_path / "beacons.py", tmp_path / "runs"
    scene.write_text(BEACONS)
    whole = train(scene, *TINY, *STEPS, "--runs", tmp_path / "whole")
    scene.write_text(beacons_with(*spoilt(f"np.{value}")[column]))
    at = f"{scene}, line {line_of(scene.read_text(), '@arena.system')}"
    told = train(scene, *TINY, *STEPS, "--eval-every", "100M", "--runs", runs)
    tick = assert_told(told, at, column, value)
    assert 40 < tick < 120  # to fall five metres takes a while
    (run,) = (runs / "beacons" / "v1").iterdir()
    known = metadata(run)
    assert (known["status"], known["total_steps"]) == ("failed", 8 * (tick - 1))
    assert read_manifest(run / "checkpoints" / "latest.safetensors").step == known["total_steps"]
    scene.write_text(BEACONS)
    for which, step in (("latest", known["total_steps"]), ("304", 304)):
        played = play(run, "--scene", scene, "--checkpoint", which, "--headless", "--json", "--episodes", 3)
        assert (played.code, played.json["step"]) == (0, step), played.err
    again = train(scene, "--resume", run, "--eval-every", 1000, "--runs", runs, "--json")
    assert (again.code, again.sha) == (0, whole.sha), again.err


def test_a_body_that_a_system_spoils_is_told_and_so_is_a_spoilt_component_of_a_dqn_run(tmp_path: Path) -> None:
    scene = tmp_path / "beacons.py"
    spoil = f"drone.y[-1] = {SPOILT.format('np.nan', 'drone.y[-1]')}"
    scene.write_text(beacons_with(REACHED, spoil).replace("writes=(Tank,", "writes=(Pose, Tank,"))
    at = f"{scene}, line {line_of(scene.read_text(), '@arena.system')}"
    told = train(scene, *SMALL, *DQN, "--eval-every", "100M", "--runs", tmp_path / "runs")
    assert_told(told, at, "drone/Pose/position", "nan")


def test_a_number_that_is_spoilt_in_an_evaluation_alone_is_told_too(tmp_path: Path) -> None:
    scene = tmp_path / "beacons.py"
    spoil = "drone[Tank].fuel[:] = np.where((len(drone.x) == 3) & (drone.y < -5.0), np.nan, drone[Tank].fuel)"
    scene.write_text(beacons_with(REACHED, spoil))
    told = train(scene, *TINY, *STEPS, "--runs", tmp_path / "runs")
    assert told.code == 2
    line = line_of(scene.read_text(), "@arena.system")
    assert f"{scene}, line {line}: the system 'fly' made drone/Tank/fuel nan in arena " in told.err
    (run,) = (tmp_path / "runs" / "beacons" / "v1").iterdir()
    assert (metadata(run)["status"], metadata(run)["total_steps"]) in (("failed", 1000), ("failed", 2000))
    assert read_manifest(run / "checkpoints" / "latest.safetensors").step == metadata(run)["total_steps"]
