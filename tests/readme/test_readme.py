"""The README says nothing that a command or the code does not."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import make_pictures
import pytest
from readme_scenes import example

from ecs_rl.commands.check import check_scene
from ecs_rl.commands.flags import flags_of
from ecs_rl.commands.parse import parse_train
from ecs_rl.commands.play import main as play
from ecs_rl.commands.settings import PLAY_TO_COME, TRAIN_TO_COME, PlaySettings, TrainSettings
from ecs_rl.commands.train import main, recipes_of
from ecs_rl.ecs.schedule import Entry
from ecs_rl.scene.loader import load_scene
from ecs_rl.schedule import SCHEDULE
from ecs_rl.viewer.live.commands import help_groups

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")


@pytest.fixture
def drone(tmp_path: Path) -> Path:
    found = re.search(r"<!-- example scene: a test runs it -->\n```python\n(.*?)```", README, re.S)
    assert found is not None
    path = tmp_path / "drone.py"
    path.write_text(found[1], encoding="utf-8")
    return path


def test_the_example_scene_is_sound(drone: Path, capsys: pytest.CaptureFixture[str]) -> None:
    settings = parse_train([str(drone), "--check", "--arenas", "16"], recipes_of)
    assert check_scene(load_scene(str(drone)), settings) == 0
    assert "same seed, same numbers: yes" in capsys.readouterr().out


def test_the_example_scene_trains(drone: Path, tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    arguments = [str(drone), "--arenas", "16", "--steps", "4k", "--eval-every", "2k", "--runs", str(runs)]
    assert main(arguments) == 0
    assert list(runs.glob("drone/v1/*/checkpoints/best.safetensors"))


def tick_table(schedule: Sequence[Entry]) -> str:
    """Return a schedule as a table in Markdown."""
    rows = ["| stage | reads | writes | what it does |", "|---|---|---|---|"]
    for entry in schedule:
        reads = ", ".join([c.__name__ for c in entry.reads] + [f"*{c.__name__}*" for c in entry.keeps])
        rows.append(f"| {entry.name} | {reads} | {', '.join(c.__name__ for c in entry.writes)} | {entry.about} |")
    return "\n".join(rows)


def test_the_tick_table_is_made_from_the_schedule() -> None:
    found = re.search(r"<!-- tick table: [^>]*-->\n(.*?)\n<!-- end of tick table -->", README, re.S)
    assert found is not None
    assert found[1] == tick_table(SCHEDULE)


def test_the_table_of_keys_is_made_from_the_bindings() -> None:
    found = re.search(r"<!-- keys: [^>]*-->\n(.*?)\n<!-- end of keys -->", README, re.S)
    assert found is not None
    rows = ["| | keys |", "|---|---|"]
    for group in help_groups(trains=True):
        told = "; ".join(f"{' '.join(f'`{key}`' for key in keys.split(' '))} {does}" for keys, does in group.keys)
        rows.append(f"| {group.title} | {told} |")
    assert found[1] == "\n".join(rows)


def test_the_pictures_are_there_and_small_enough_to_load() -> None:
    shown = re.findall(r"\]\((assets/pictures/[\w.]+)\)", README)
    assert len(shown) >= 2
    for name in shown:
        assert 20_000 < (ROOT / name).stat().st_size <= make_pictures.MOST_BYTES, name


def test_the_command_for_the_pictures_makes_them(tmp_path: Path) -> None:
    make_pictures.make(tmp_path, make_pictures.Plan(scene="balance", steps="6k", gif=(0.0, 1.0), still=1.0, clip=0.3))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["grid.png", "learning.gif", "window.png"]


def test_ci_runs_the_readmes_test_command() -> None:
    found = re.search(r"&& (python -m pip install -e '\.\[dev\]') && (python -m pytest -n auto)\n", README)
    assert found is not None
    script = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    assert found[1].removeprefix("python -m pip install") in script
    assert f"\n{found[2]}\n" in script


def test_every_flag_that_is_named_exists() -> None:
    fields = (*TrainSettings.__dataclass_fields__, *PlaySettings.__dataclass_fields__)
    known = {f"--{name.replace('_', '-')}" for name in fields} | {
        "--help",
        "--grid",
        "--cem.batch",
        "--train",
        *flags_of(TrainSettings).values(),
    }
    known |= {*TRAIN_TO_COME, *PLAY_TO_COME}  # which the README says are not there yet
    assert set(re.findall(r"(?<![\w-])--[a-z][a-z.-]*", README)) <= known


def test_every_file_that_is_named_exists() -> None:
    for name in re.findall(r"(?:ecs_rl|tests|scenes)/[\w/]+(?:\.py)?", README):
        assert (ROOT / name).exists() or f"{name}-v0" in README, name  # an environment's name looks like a file's


def test_the_example_network_solves_balance_and_is_played_back(tmp_path: Path) -> None:
    text = example("network")
    assert text.count("\n") <= 20
    (tmp_path / "mine.py").write_text(text, encoding="utf-8")
    network, runs = f"{tmp_path / 'mine.py'}:Residual", str(tmp_path / "runs")
    assert main(["balance", "--network", network, "--until-solved", "--runs", runs]) == 0
    (run,) = (tmp_path / "runs" / "balance" / "v1").iterdir()
    assert '"status": "solved"' in (run / "metadata.json").read_text(encoding="utf-8")
    assert play([str(run), "--headless", "--episodes", "1", "--runs", runs]) == 0


@pytest.fixture
def coins(tmp_path: Path) -> Path:
    text = example("kinds")
    assert 30 <= text.count("\n") <= 45
    path = tmp_path / "coins.py"
    path.write_text(text, encoding="utf-8")
    return path


def test_the_example_with_many_of_a_kind_is_sound(coins: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(coins), "--check", "--arenas", "8"]) == 0
    told = capsys.readouterr().out
    assert "brought back exactly: yes" in told
    assert re.search(r"come_and_go \* +Touch, dice 0 -> Pose, score, Motion, Here", told)


def test_the_example_with_many_of_a_kind_learns_within_a_minute(coins: Path, tmp_path: Path) -> None:
    assert main([str(coins), "--until-solved", "--runs", str(tmp_path / "runs")]) == 0
    (run,) = (tmp_path / "runs" / "coins" / "v1").iterdir()
    assert '"status": "solved"' in (run / "metadata.json").read_text(encoding="utf-8")


@pytest.fixture
def beacons(tmp_path: Path) -> Path:
    found = re.search(r"<!-- example systems: a test runs it -->\n```python\n(.*?)```", README, re.S)
    assert found is not None
    assert found[1].count("\n") < 60
    path = tmp_path / "beacons.py"
    path.write_text(found[1], encoding="utf-8")
    return path


def test_the_example_with_components_and_systems_is_sound(beacons: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(beacons), "--check", "--arenas", "8"]) == 0
    told = capsys.readouterr().out
    assert "brought back exactly: yes" in told
    assert re.search(r"fly \* +Amount, Pose -> Tank, beacon, reached", told)


def test_the_example_with_components_and_systems_learns_within_a_minute(beacons: Path, tmp_path: Path) -> None:
    assert main([str(beacons), "--until-solved", "--runs", str(tmp_path / "runs")]) == 0
    (run,) = (tmp_path / "runs" / "beacons" / "v1").iterdir()
    assert '"status": "solved"' in (run / "metadata.json").read_text(encoding="utf-8")
