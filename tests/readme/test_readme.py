"""The pages say nothing that a command or the code does not, and every link between them leads somewhere."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import make_gallery
import make_pictures
import pytest
from pages import PAGES, README, ROOT, TEXT, between, example

from ecs_rl.cli.command_settings import PlaySettings, TrainSettings
from ecs_rl.cli.flags import flags_of
from ecs_rl.cli.parse import parse_train
from ecs_rl.cli.plan import recipes_of
from ecs_rl.commands.play import main as play
from ecs_rl.commands.train import main
from ecs_rl.ecs.entries import Entry
from ecs_rl.loading import load_scene
from ecs_rl.schedule import SCHEDULE
from ecs_rl.tasks.check import check_scene
from ecs_rl.viewer.live.commands import COMMANDS
from ecs_rl.viewer.panels.help import help_groups


@pytest.fixture
def drone(tmp_path: Path) -> Path:
    path = tmp_path / "drone.py"
    path.write_text(example("scene"), encoding="utf-8")
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
    assert between("tick table") == tick_table(SCHEDULE)


def test_the_table_of_keys_is_made_from_the_bindings() -> None:
    rows = ["| | keys |", "|---|---|"]
    for group in help_groups(COMMANDS):
        told = "; ".join(f"{' '.join(f'`{key}`' for key in keys.split(' '))} {does}" for keys, does in group.keys)
        rows.append(f"| {group.title} | {told} |")
    assert between("keys") == "\n".join(rows)


LINK = re.compile(r"\[[^]]*\]\(([^)\s]+)\)")


def without_blocks(text: str) -> str:
    """Return a page without its blocks of code."""
    return re.sub(r"^```.*?^```$", "", text, flags=re.DOTALL | re.MULTILINE)


def prose(text: str) -> str:
    """Return a page without its code."""
    return re.sub(r"`[^`\n]+`", "", without_blocks(text))


def anchors(text: str) -> set[str]:
    """Return the anchors of a page's headings, made as GitHub makes them."""
    titles = re.findall(r"^#+ (.+)$", without_blocks(text), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in titles}


@pytest.mark.parametrize("page", PAGES)
def test_every_link_leads_to_a_file_that_exists_and_to_a_heading_in_it(page: str) -> None:
    links = [link for link in LINK.findall(prose(PAGES[page])) if "://" not in link]
    for link in links:
        name, _, anchor = link.partition("#")
        path = (ROOT / page).parent / name if name else ROOT / page
        assert path.exists(), f"{page}: {link}"
        if anchor:
            assert anchor in anchors(path.read_text(encoding="utf-8")), f"{page}: {link}"


def test_every_page_is_one_of_those_that_are_checked_and_can_be_reached_from_the_first() -> None:
    folders = ("ecs_rl", "scenes", "tests", "assets")
    found = {str(path.relative_to(ROOT)) for folder in folders for path in (ROOT / folder).rglob("*.md")}
    assert found | {"README.md"} == set(PAGES)
    assert found <= set(LINK.findall(README))


@pytest.mark.parametrize("page", PAGES)
def test_lines_of_prose_are_short_enough_to_read_and_to_compare(page: str) -> None:
    lines = without_blocks(PAGES[page]).splitlines()
    assert [line for line in lines if len(line) > 120 and not line.startswith("|")] == []


def test_the_first_page_is_read_to_its_end() -> None:
    assert README.count("\n") <= 200


def test_the_pictures_are_there_and_small_enough_to_load() -> None:
    shown = re.findall(r"\]\((assets/pictures/[\w.]+)\)", README)
    assert len(shown) >= 2
    for name in shown:
        assert 20_000 < (ROOT / name).stat().st_size <= make_pictures.MOST_BYTES, name


def test_the_command_for_the_pictures_makes_them(tmp_path: Path) -> None:
    make_pictures.make(tmp_path, make_pictures.Plan(scene="balance", steps="6k", gif=(0.0, 1.0), still=1.0, clip=0.3))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["grid.png", "learning.gif", "window.png"]


def test_the_gallery_is_that_of_the_pilots_and_of_the_scenes_of_today() -> None:
    assert between("gallery") == make_gallery.table(), "run `python tests/readme/make_gallery.py`"
    shown = re.findall(r"\]\(\.\./(assets/pictures/gallery/\w+\.gif)\)", PAGES["scenes/README.md"])
    there = [path.relative_to(ROOT).as_posix() for path in make_gallery.PICTURES.iterdir()]
    assert sorted(shown) == sorted(there)
    assert len(there) >= 10
    assert sum((ROOT / name).stat().st_size for name in there) <= make_gallery.MOST_BYTES


def test_the_command_for_the_gallery_films_a_pilot(tmp_path: Path) -> None:
    make_gallery.make(tmp_path, ["lander"], (160, 90))
    assert (tmp_path / "lander.gif").read_bytes().startswith(b"GIF89a")


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
        "--no-early-stopping",
        "--dqn.no-double",
        "--dqn.no-dueling",
        "--cem.batch",
        "--train",
        "--backend-store-uri",  # of mlflow
        "--env-id",  # of CleanRL
        *("--nproc-per-node", "--max-restarts"),  # of torchrun
        "--solve",  # of a benchmark
        *flags_of(TrainSettings).values(),
    }
    assert set(re.findall(r"(?<![\w-])--[a-z][a-z0-9.-]*", TEXT)) <= known


def test_every_file_that_is_named_exists() -> None:
    for name in re.findall(r"(?:ecs_rl|tests|scenes)/[\w/]+(?:\.py|\.md)?", TEXT):
        assert (ROOT / name).exists() or f"{name}-v0" in TEXT, name  # an environment's name looks like a file's


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


@pytest.mark.slow
def test_the_example_with_many_of_a_kind_learns_within_a_minute(coins: Path, tmp_path: Path) -> None:
    assert main([str(coins), "--until-solved", "--runs", str(tmp_path / "runs")]) == 0
    (run,) = (tmp_path / "runs" / "coins" / "v1").iterdir()
    assert '"status": "solved"' in (run / "metadata.json").read_text(encoding="utf-8")


@pytest.fixture
def beacons(tmp_path: Path) -> Path:
    text = example("systems")
    assert text.count("\n") < 60
    path = tmp_path / "beacons.py"
    path.write_text(text, encoding="utf-8")
    return path


def test_the_example_with_components_and_systems_is_sound(beacons: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(beacons), "--check", "--arenas", "8"]) == 0
    told = capsys.readouterr().out
    assert "brought back exactly: yes" in told
    assert re.search(r"fly \* +Amount, Pose -> Tank, beacon, reached", told)


@pytest.mark.slow
def test_the_example_with_components_and_systems_learns_within_a_minute(beacons: Path, tmp_path: Path) -> None:
    assert main([str(beacons), "--until-solved", "--runs", str(tmp_path / "runs")]) == 0
    (run,) = (tmp_path / "runs" / "beacons" / "v1").iterdir()
    assert '"status": "solved"' in (run / "metadata.json").read_text(encoding="utf-8")
