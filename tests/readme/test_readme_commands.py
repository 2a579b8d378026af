"""What the pages show can be typed, in their order, and what they show is what comes out."""

from __future__ import annotations

import math
import re
import shlex
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
from lander_pilot import landings
from pages import README, ROOT, TEXT, example

import ecs_rl
from ecs_rl.cli.parse import parse_train
from ecs_rl.cli.plan import recipes_of
from ecs_rl.commands import play, train
from ecs_rl.runs.demonstrations import save_demonstrations

SMALL = {
    "train": {"--steps": "3k", "--arenas": "16", "--eval-every": "2k", "--eval-episodes": "2", "--json": None},
    "play": {"--episodes": "1", "--speed": "64", "--json": None},
}
"""What makes each command quick, where it does not say otherwise itself; `--json` closes a window at once."""
GO_ON = {"--steps": "6k", "--json": None}
FULL = ("--trials", "--seeds", "--population")
"""What makes a sweep long, each with a number behind it."""
BY_HAND = re.compile(r"--human|--changes|FILE\.episode")
"""In what wants a person in the window, or what one did there; the tests of the window type it, with somebody."""
SEVERAL = re.compile(r"--(workers|sweep|population|seeds)")
"""In what starts a process for each of several trainings, or a cluster: tests of their own type smaller ones."""
CALLS = re.compile(r"(?:python )?(train|play)\.py\b(.*)")


def commands() -> list[tuple[str, str]]:
    """Return all commands of the pages, in order: those in a block of their own and those inside the text."""
    blocks = re.compile(r"^```\n(.*?)^```$|`([^`]+)`", re.DOTALL | re.MULTILINE)
    found = []
    for block, span in (match.groups() for match in blocks.finditer(re.sub(r"```\w+\n.*?```", "", TEXT, flags=re.S))):
        lines = [span] if span else [part for part in block.split(" && ") if part.startswith("python ")]
        asked = [" ".join(line.split()) for line in lines]
        calls = [(call[1], call[2].strip()) for call in map(CALLS.fullmatch, asked) if call is not None]
        found += [call for call in calls if call != ("train", "")]  # the command's name alone
    return found


def words(program: str, line: str, folder: Path) -> list[str]:
    """Return the arguments with something real for each placeholder, small enough to be quick."""
    best = str(next(iter(sorted(folder.glob("runs/lander/v1/*/checkpoints/best.safetensors"))), ""))
    lander = str(ROOT / "scenes" / "lander.py")
    real = {"SCENE": "lander", "RUN": "runs/lander", "CHECKPOINT": best, "some.safetensors": best, "FILE": lander}
    real |= {"path/to/mine.py": "drone.py", "[RUN]": "", "new/place/drone.py": lander, "FILE.py:CLASS": "cem.py:CEM"}
    real |= {"FILE.py:NAME": "mine.py:Residual", "FILE.py": "drone.py", "[SCENE]": "lander"}
    if program == "play" and "FILE.py:CLASS" in line:
        real["RUN"] = next(str(of.parent) for of in folder.rglob("metadata.json") if '"cem"' in of.read_text())
    if "--imitate" in line:
        real["FILE"] = "my.demo"
    if "--save-data" in line or "--offline" in line:
        real["FILE"] = "own.data"
    if "--self-play" in line:
        real["SCENE"] = str(ROOT / "tests" / "scenes" / "sumo.py")
    given = [real.get(word, word) for word in shlex.split(line)]
    if "--sweep" in given:
        few = "--population" if "--population" in given else "--trials"
        given = [*(word for word in given if not word.isdigit() and word not in FULL), few, "2"]
    small = GO_ON if "--resume" in given else SMALL[program]
    asks_only = {"--help", "--list", "--check"} & set(given) or given == ["--version"]
    more = {} if asks_only else small
    extra = [word for flag, value in more.items() if flag not in given for word in (flag, value)]
    return [word for word in (*given, *extra) if word]


@pytest.mark.parametrize("all_of_them", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_the_commands_of_the_pages_do_what_they_say_as_typed_in_order(
    all_of_them: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    for name, mark in {"drone": "scene", "cem": "algorithm", "mine": "network", "bee": "bee 3"}.items():
        (tmp_path / f"{name}.py").write_text(example(mark))
    save_demonstrations(tmp_path / "my.demo", landings((100,)))  # as a person at the controls would
    save_demonstrations(tmp_path / "my.data", landings((100, 101)))
    asked = [call for call in commands() if not BY_HAND.search(call[1])]
    looks = [(program, line) for program, line in asked if program == "play" or "--check" in line]
    again = {
        i for i, call in enumerate(asked) if call in looks and call in asked[:i]
    }  # it trains nothing: once will do
    asked = [call for i, call in enumerate(asked) if i not in again]
    if not all_of_them:
        asked = [call for call in asked if not SEVERAL.search(call[1])]
    assert len(asked) > 25
    for extra, flag in (("onnx", "--export"), ("mlflow", "mlflow"), ("wandb", "wandb"), ("ray", "--ray")):
        if find_spec(extra) is None:
            asked = [(program, line) for program, line in asked if flag not in line]
    for program, line in asked:
        main = train.main if program == "train" else play.main
        try:
            code = main(words(program, line, tmp_path))
        except SystemExit as stop:
            code = stop.code if isinstance(stop.code, int) else 1
        assert code == 0, f"{program}.py {line}: {capsys.readouterr().err}"


def test_the_example_loop_leaves_a_run_that_learnt_and_is_listed(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(example("loop"))
    told = subprocess.run([sys.executable, "mine.py"], cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    assert float(told.split()[0]) > 40, "of at most 50"
    listed = [sys.executable, str(ROOT / "play.py"), "--list"]
    found = subprocess.run(listed, cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    best = re.search(
        r"^middle +v1 .* dqn +\d+ +10,\d+ +(\S+) return at [\d,]+ +20 +finished +runs/middle/v1/", found, re.MULTILINE
    )
    assert best is not None
    assert float(best[1]) > 40
    pilot = ecs_rl.load(tmp_path / "runs" / "middle", backend="numpy")
    options = [pilot.actions[pilot.act({"x": x, "speed": 0.0})] for x in (-0.6, 0.6)]
    assert options == ["right", "left"], "back to the middle"


def test_the_sample_ends_where_the_landers_recipe_ends() -> None:
    settings = parse_train(["lander"], recipes_of)
    last = math.ceil(settings.steps / settings.arenas) * settings.arenas
    assert f" {last:,}/{settings.steps:,} 100%" in README
    assert f"finished at step {last:,}: " in README
