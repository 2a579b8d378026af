"""What a scene may do on purpose: odd names, huge numbers, errors that are no mistakes, writing by a back door."""

from __future__ import annotations

import signal
from pathlib import Path

import numpy as np
import pytest
from scene_files import DISC, DOES, EARNS, ENDS, OTHER, SEES, run, with_line

from ecs_rl.commands.train import main
from ecs_rl.errors import SceneError
from ecs_rl.loading import load_scene
from ecs_rl.session.aggregators import RollingMean, RollingStd

SYSTEM = 'other = arena.spawn("other", Body(), Box(0.1, 0.2), Start(x=5.0)); arena.system({}, name="s", writes=({}))'


def saved(folder: Path, text: str) -> Path:
    path = folder / "mine.py"
    path.write_text(text)
    return path


def refused(folder: Path, text: str, capsys: pytest.CaptureFixture[str]) -> str:
    """Return the one line that a training of this scene says as it ends with 2."""
    path = saved(folder, text)
    assert main([str(path), "--arenas", "4", "--steps", "400", "--runs", str(folder / "runs")]) == 2
    (line,) = [line for line in capsys.readouterr().err.splitlines() if line]
    assert line.startswith(f"train.py: {path}")
    return line


NAMED = [
    (OTHER, 'other = arena.spawn("a\\udcff", Body(), Disc(1.0))'),
    (OTHER, 'other = arena.number("a\\udcff")'),
    (OTHER, 'other = arena.random("a\\udcff", jitter(1.0))'),
    (OTHER, 'other = arena.mark("a\\udcff", Disc(0.1))'),
    (SEES, 'sees=[Feel("a\\udcff", lambda: disc.x)],'),
    (SEES, 'sees=[Feels(("a\\udcff", "b"), lambda: disc.position)],'),
    (DOES, 'does=Levers(**{"a\\udcff": Push(disc, 1.0)}),'),
    (DOES, 'does=Choice(**{"a\\udcff": None, "b": None}),'),
    (EARNS, 'earns={"a\\udcff": 1.0},'),
    (ENDS, 'ends={"a\\udcff": beyond(X(disc), 2.0)},'),
]


@pytest.mark.parametrize(("line", "text"), NAMED, ids=[text for _, text in NAMED])
def test_a_name_that_no_file_can_hold_is_refused(
    line: int, text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    told = refused(tmp_path, with_line(line, text), capsys)
    assert "needs a name that UTF-8 can write" in told
    assert "\\udcff" in told


def test_a_score_that_no_mean_can_hold_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = with_line(OTHER, 'arena.score("n", lambda: 1e308 + 0.0 * disc.x)')
    assert "line 9: the score 'n' gave 1e+308, too large to be averaged, in arena" in refused(tmp_path, text, capsys)


def test_means_of_large_returns_are_what_they_are() -> None:
    for each in (RollingMean(3), RollingStd(3)):
        each.add_many([1e308] * 3)
    mean = RollingMean(2)
    mean.add_many([1.5e308, 1.7e308])
    assert mean.value() == pytest.approx(1.6e308)


@pytest.mark.parametrize(
    "call",
    ['arena.spawn("late", Disc(0.1))', 'arena.number("late")', 'arena.mark("late", Disc(0.1))', "arena.dice()"],
)
@pytest.mark.parametrize("where", ["a rule", "a system"])
def test_an_arena_is_described_in_build_alone(
    call: str, where: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rule, system = f"earns={{'x': lambda: {call} and 1.0}},", SYSTEM.format(f"lambda: {call}", "Pose,")
    text = with_line(EARNS, rule) if where == "a rule" else with_line(OTHER, system)
    told = refused(tmp_path, text, capsys)
    assert f"line {EARNS if where == 'a rule' else OTHER}: {call.partition('(')[0]}(...) describes the arena" in told


@pytest.mark.parametrize(
    ("line", "text", "what"),
    [
        (DISC, "disc = arena.spawn('disc', Disc(0.1), count=id(object()) % 2 + next(COUNT))", "roles"),
        (SEES, "sees=[*(Feel(f'{i}', X(disc)) for i in range(next(COUNT)))],", "agents"),
        (OTHER, "[arena.number(f'{i}') for i in range(next(COUNT))]", "numbers"),
        (OTHER, "[arena.wall((0, i), (1, i)) for i in range(next(COUNT))]", "walls, terrains or paths"),
    ],
)
def test_a_build_that_describes_another_arena_each_time_is_refused(
    line: int, text: str, what: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    above = "import numpy as np; from itertools import count; COUNT = count(1)"
    spoiled = with_line(line, text.replace("id(object()) % 2 + ", "")).replace("import numpy as np", above)
    told = refused(tmp_path, spoiled, capsys)
    assert f"`build` describes another arena than the first time, with other {what}" in told
    assert "take jitter" in told


RAISED = ["StopIteration", "GeneratorExit", "KeyboardInterrupt", "BaseException('b')", "Silent", "StopAsyncIteration"]
SILENT = "import numpy as np\nclass Silent(Exception):\n    def __str__(self): raise RuntimeError('no')"


@pytest.mark.parametrize("where", ["import", "build", "reward", "sensor", "system"])
@pytest.mark.parametrize("error", RAISED)
def test_whatever_is_raised_is_told_by_its_line(
    error: str, where: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fails = f"(arena.placing.clock.tick.max() > 5 and exec({f'raise {error}'!r}, globals())) or disc.x"
    line, text = {
        "import": (3, f"raise {error}"),
        "build": (DISC, f"raise {error}"),
        "reward": (EARNS, f"earns={{'x': lambda: {fails}}},"),
        "sensor": (SEES, f"sees=[Feel('x', lambda: {fails})],"),
        "system": (OTHER, SYSTEM.format(f"lambda: {fails}", "Pose,")),
    }[where]
    told = refused(tmp_path, with_line(line, text).replace("import numpy as np", SILENT), capsys)
    assert f"line {line + 2}: {error.partition('(')[0]}" in told


@pytest.mark.parametrize("column", ["other.position", "other[Motion].velocity", "disc.x", "hit.amount"])
def test_the_base_of_a_column_is_no_way_to_write_it(
    column: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = with_line(OTHER, SYSTEM.format(f"lambda: {column}.base.__setitem__(..., 0.0)", "arena.number('n'),"))
    text = text.replace("    arena.agent(", "    hit = Push(disc, 1.0)\n    arena.agent(")
    told = refused(tmp_path, text.replace("left=Push(disc, -1.0)", "left=hit"), capsys)
    assert f"line {OTHER}: " in told


def test_a_column_can_be_read_after_its_world_is_closed(tmp_path: Path) -> None:
    world = run(load_scene(str(saved(tmp_path, with_line(OTHER, "pass")))), 3)
    column = world.arena.roles[0].position
    before = column.copy()
    world.close()
    del world
    assert (column == before).all()
    with pytest.raises(ValueError, match="read-only"):
        column[...] = np.nan


def test_a_real_interrupt_stays_one(tmp_path: Path) -> None:
    path = saved(tmp_path, with_line(DISC, "raise KeyboardInterrupt"))
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # the tests may run in the background
    try:
        with pytest.raises(KeyboardInterrupt):
            load_scene(str(path))  # Python's own handler is in place: it may have been a person's
    finally:
        signal.signal(signal.SIGINT, before)
    with pytest.raises(SceneError, match="line 8: BaseException: b"):
        load_scene(str(saved(tmp_path, with_line(DISC, "raise BaseException('b')"))))


@pytest.mark.parametrize(
    ("sees", "told"),
    [
        ("Rays(disc, np.linspace(0, 6, 1_001), 5.0)", "a fan has at most 1,000 rays, not 1,001"),
        ("Rays(disc, range(6_000_000), 5.0)", "a fan has at most 1,000 rays, not 6,000,000"),
        ("Grid(disc, (5_000, 5_000), layers={'o': other})", "a Grid of 5000 x 5000 cells gives 25,000,000 numbers"),
        ("Grid(disc, (99, 99), layers={'o': other}), *(Feel(f'{i}', lambda: 0.0) for i in range(300))", "all that"),
    ],
)
def test_more_than_can_be_learned_from_is_refused(
    sees: str, told: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert told in refused(tmp_path, with_line(SEES, f"sees=[{sees}],"), capsys)
