"""A mistake in a component or a system of a scene's own, as `train.py` tells it: file, line and cure, exit code 2."""

from __future__ import annotations

from pathlib import Path

import pytest
from readme_scenes import BEACONS, line_of

from ecs_rl.commands.train import main

SMALL = ("--arenas", "8", "--steps", "3k", "--eval-every", "1M")
CHECK = ("--check", "--arenas", "4")
WRITES, FLY = "@arena.system(writes=(Tank, beacon, reached))", "reached.value += there"
FUEL, TANK, SPAWN = "fuel: float = 1.0", "class Tank:", "Tank(fuel=1.2)"
NUMBER, DRIP, DRY = 'arena.number("reached")', "arena.system(drip)", "below(lambda: drone[Tank].fuel, 0.0)"
FELT = 'Feel("fuel", lambda: drone[Tank].fuel)'
Change = tuple[str, str]
Mistake = tuple[str, tuple[Change, ...], str, str]
"""What it is, what is changed in the scene, a part of the line that is to blame, and what is told."""
SECOND_TANK: Change = ("def drip(", "First = Tank\n\n\n@component\nclass Tank:\n    left: float = 1.0\n\n\ndef drip(")
GUN: Change = ("def drip(", "class Gun:\n    heat: float = 0.0\n\n\ndef drip(")
NAMES_IT = "a system writes what it names in arena.system(..., writes=(...))"

MISTAKES: list[Mistake] = [
    ("a component not declared", ((WRITES, WRITES.replace("Tank, ", "")),), "drone[Tank].fuel -= 0.004", NAMES_IT),
    ("a number not declared", ((WRITES, WRITES.replace(", reached", "")),), FLY, NAMES_IT),
    ("nothing declared", ((WRITES, "@arena.system"),), "drone[Tank].fuel -= 0.004", NAMES_IT),
    ("a body that is moved", ((FLY, "drone.x -= 1.0"),), "drone.x -= 1.0", NAMES_IT),
    ("an end that writes", ((DRY, DRY.replace(".fuel,", ".fuel.fill(1.0),")),), ".fuel.fill(1.0)", "rules only read"),
    (
        "a reward that writes",
        (("Progress(lambda: -away())", "lambda: reached.value.fill(1.0)"),),
        ".fill(",
        "rules only",
    ),
    ("a sensor that writes", ((FELT, FELT.replace(".fuel)", ".fuel.fill(1.0))")),), ".fill(", "rules only read"),
    (
        "another stage written to",
        ((WRITES, WRITES.replace("Tank,", "Amount, Tank,")),),
        "Amount, ",
        "only the engine w",
    ),
    (
        "a stage that is not there",
        ((WRITES, WRITES.replace("writes", "after='simulat', writes")),),
        "simulat",
        "'simulate'?",
    ),
    (
        "a system that is not there",
        ((WRITES, WRITES.replace("writes", "before='drop', writes")),),
        "drop",
        "mean 'drip'?",
    ),
    (
        "after the game",
        ((WRITES, WRITES.replace("writes", "after='write', writes")),),
        "'write'",
        "after 'respawn' at the",
    ),
    (
        "a force too late",
        ((WRITES, WRITES.replace("Tank,", "Force, Tank,")),),
        "Force, Tank",
        "place it after 'actuate'",
    ),
    ("a system twice", ((DRIP, f"{DRIP}\n    {DRIP}"),), "def drip", "a stage 'drip' already: give the system another"),
    ("a component that no role has", ((f", {SPAWN}", ""), (DRY, "below(away, 0.0)")), "def drip", "no role has Tank"),
    ("two numbers for one", ((SPAWN, "Tank(fuel=(1.2, 1.0))"),), "(1.2, 1.0)", "is declared as one number and cannot"),
    (
        "a rule that starts with two",
        ((SPAWN, "Tank(fuel=lambda: drone.position)"),),
        "lambda: drone.pos",
        "cannot start as",
    ),
    (
        "a number that starts with two",
        (("start=2.0", "start=lambda: drone.position"),),
        "drone.pos",
        "cannot start as (8, 2)",
    ),
    ("a start in words", ((SPAWN, "Tank(fuel='full')"),), "'full'", "Tank.fuel starts as a finite number"),
    ("a start that is no number", ((SPAWN, "Tank(fuel=np.nan)"),), "np.nan", "Tank.fuel starts as a finite number"),
    ("a fraction for a whole number", ((FUEL, "fuel: int = 1"),), SPAWN, "starts as a whole number"),
    ("a field of text", ((FUEL, "fuel: str = 'full'"),), "@component", "Tank.fuel must be a float, an int or a bool"),
    (
        "a field without a start",
        ((FUEL, "fuel: float"),),
        "@component",
        "needs a start value, as in `fuel: float = 0.0`",
    ),
    ("a misspelt field", ((SPAWN, "Tank(feul=1.2)"),), "feul", "did you mean 'fuel'?"),
    ("a misspelt column", ((FLY, "reached.value += drone[Tank].fule"),), "fule", "did you mean 'fuel'?"),
    (
        "a column that is not there",
        ((FLY, "drone[Tank].spare = 1.0"),),
        "spare",
        "declare it as a field, and it is saved",
    ),
    ("a misspelt column of a body", ((FLY, "drone.vxx = 5.0"),), "vxx", "'drone' has no 'vxx': did you mean 'vx'?"),
    ("a shape that is changed", ((FLY, "drone.radius = 0.5"),), "radius", "'drone' has no 'radius': there is: angle,"),
    ("a misspelt number", ((FLY, "reached.valeu = 2.0"),), "valeu", "'reached' has no 'valeu': did you mean 'value'?"),
    ("a text on the stage", ((DRIP, "arena.text()"),), "arena.text", "no attribute 'text': there is: add, agent, alw"),
    (
        "a class without @component",
        (GUN, (SPAWN, f"{SPAWN}, Gun(heat=1.0)")),
        "Gun(heat",
        "`@component` in the line above",
    ),
    ("a class for a component", ((SPAWN, "Tank"),), "Start(x=", "and components, not of the class Tank"),
    (
        "a component twice",
        ((SPAWN, f"Tank(), {SPAWN}"),),
        "Tank(), ",
        "'drone' has two Tank: a component is there once",
    ),
    ("two components of one name", (SECOND_TANK, (SPAWN, "First(), Tank()")), "First(), ", "a component Tank already"),
    (
        "a component of the engine's name",
        (("def drip(", "@component\nclass Pose:\n    left: float = 1.0\n\n\ndef drip("), (SPAWN, f"{SPAWN}, Pose()")),
        "Start(x=",
        "there is a component Pose already: give the one of 'drone' another name",
    ),
    (
        "two numbers of one name",
        ((NUMBER, NUMBER.replace("reached", "beacon")),),
        "arena.number",
        "a number 'beacon' already",
    ),
    (
        "a system that takes a world",
        (("def fly()", "def fly(world)"),),
        "@arena.system",
        "of which component its 'world' is",
    ),
    ("a value that is none", ((FLY, "reached.value += np.ones(3)"),), "np.ones(3)", "could not be broadcast"),
]


def scene_with(folder: Path, *changes: Change) -> Path:
    """Return the file of the README's scene with something in it said otherwise."""
    text = BEACONS
    for old, new in changes:
        assert text.count(old) == 1, f"{old!r} stands {text.count(old)} times in the scene"
        text = text.replace(old, new)
    path = folder / "beacons.py"
    path.write_text(text)
    return path


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("mistake", MISTAKES, ids=[row[0] for row in MISTAKES])
def test_a_mistake_is_told_by_file_line_and_cure(
    mistake: Mistake, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _, changes, blamed, told = mistake
    scene = scene_with(tmp_path, *changes)
    assert main([str(scene), *SMALL, "--runs", str(tmp_path / "runs")]) == 2
    (said,) = [line for line in capsys.readouterr().err.splitlines() if line]
    assert said.startswith(f"train.py: {scene}, line {line_of(scene.read_text(), blamed)}: ")
    assert told in said


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("mistake", MISTAKES, ids=[row[0] for row in MISTAKES])
def test_the_check_tells_the_same(mistake: Mistake, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, changes, blamed, told = mistake
    scene = scene_with(tmp_path, *changes)
    assert main([str(scene), *CHECK]) == 2
    said = capsys.readouterr().err
    assert f"{scene}, line {line_of(scene.read_text(), blamed)}: " in said
    assert told.replace("(8, 2)", "(4, 2)") in said
    assert "Traceback" not in said


UNDECLARED: dict[str, tuple[Change, ...]] = {
    "Pose": ((WRITES, WRITES.replace("writes", "reads=(Amount,), writes")),),
    "Amount": ((WRITES, WRITES.replace("writes", "reads=(Pose,), writes")),),
    "Motion": (
        (FLY, f"{FLY}\n        drone.vx.sum()"),
        (WRITES, WRITES.replace("writes", "reads=(Amount, Pose), writes")),
    ),
}


@pytest.mark.parametrize("kind", UNDECLARED)
def test_the_check_finds_what_a_system_reads_without_saying_so(
    kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    scene = scene_with(tmp_path, *UNDECLARED[kind])
    assert main([str(scene), *CHECK]) == 2
    line = line_of(scene.read_text(), "@arena.system")
    told = f"{scene}, line {line}: the system 'fly' reads {kind} without saying so in reads=(...)"
    assert told in capsys.readouterr().err


COUNTED = "beacon.value[:] += 0.01 * np.sin({})"
HIDDEN: list[tuple[str, tuple[Change, ...]]] = [
    (
        "a closure's list",
        (
            ("    def away()", "    n = [0]\n\n    def away()"),
            (FLY, f"{FLY}\n        n[0] += 1\n        {COUNTED.format('n[0]')}"),
        ),
    ),
    (
        "a private attribute of a role",
        ((FLY, f"{FLY}\n        drone._n = getattr(drone, '_n', 0) + 1\n        {COUNTED.format('drone._n')}"),),
    ),
    (
        "an attribute of a system",
        (("tank.fuel -= tank.leak", "drip.n = getattr(drip, 'n', 0) + 1\n    tank.fuel -= tank.leak * (drip.n % 7)"),),
    ),
    (
        "a variable of the module",
        (
            (
                "tank.fuel -= tank.leak",
                "global N\n    N = globals().get('N', 0) + 1\n    tank.fuel -= tank.leak * (N % 7)",
            ),
        ),
    ),
]


@pytest.mark.parametrize(("what", "changes"), HIDDEN, ids=[row[0] for row in HIDDEN])
def test_the_check_finds_what_a_system_keeps_in_python(
    what: str, changes: tuple[Change, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    scene = scene_with(tmp_path, *changes)
    assert main([str(scene), *CHECK]) == 2
    told = capsys.readouterr()
    assert "the scene keeps something that no component holds" in told.err or "the same seed gave different" in told.err
    assert "brought back exactly: NO" in told.out or "same numbers: NO" in told.out
