"""`train.py SCENE --check`: a sound scene is described, one that is not is refused with what is wrong."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from readme_scenes import BEACONS

from ecs_rl.agents.config import DQNConfig, PPOConfig
from ecs_rl.commands.train import main
from ecs_rl.loading import load_scene
from ecs_rl.schedule import SCHEDULE, TRAINING
from ecs_rl.shipped import scene_names
from ecs_rl.tasks import check_notes

BALANCE = Path(__file__).parents[2] / "scenes" / "balance.py"
FEW = ["--check", "--arenas", "4"]


@pytest.fixture(autouse=True)
def empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Let the default `runs` be in a folder of the test's own."""
    folder = tmp_path / "here"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


def facts(capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 1
    found: dict[str, Any] = json.loads(lines[0])
    return found


def changed(path: Path, old: str, new: str) -> str:
    text = BALANCE.read_text()
    assert text.count(old) == 1
    path.write_text("import numpy as np\n" + text.replace(old, new))
    return str(path)


@pytest.mark.parametrize("scene", scene_names())
def test_every_scene_that_comes_with_the_project_is_sound(
    scene: str, empty_folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([scene, *FEW, "--json"]) == 0
    found = facts(capsys)
    assert (found["scene"], found["arenas"], found["ok"], found["problems"]) == (scene, 4, True, [])
    assert (found["deterministic"], found["explosions"]) == (True, 0)
    agents = load_scene(scene).describe().agents
    own = {plan.name: f"{plan.name}/" if len(agents) > 1 else "" for plan in agents}  # how what is an agent's begins

    def named(what: str) -> list[str]:
        return [own[plan.name] + name for plan in agents for name in getattr(plan, what)]

    assert list(found["observations"]) == named("observation_names")
    assert all(low <= high for low, high in found["observations"].values())
    assert any(low < high for low, high in found["observations"].values())
    assert list(found["reward_per_tick"]) == named("earns")
    kinds = any(plan.of is not None for plan in agents)
    assert list(found["ends"]) == [*named("ends"), *(["all out"] if kinds else [])]
    assert found["steps_per_second"] == pytest.approx(4 * found["ticks_per_second"])
    assert list(empty_folder.iterdir()) == []


def test_people_read_the_same_facts(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["balance", *FEW, "--json"]) == 0
    found = facts(capsys)
    assert main(["balance", *FEW]) == 0
    told = capsys.readouterr().out
    assert told.startswith(f"balance: {found['about']}\n")
    assert "same seed, same numbers: yes; brought back exactly: yes; explosions: 0" in told
    low, high = found["observations"]["pole angle"]
    assert f"  {'pole angle':24} {low:10.3f} {high:10.3f}\n" in told
    assert f"  {'upright':24} {1:10.4f}\n" in told
    assert f"  {'fell':24} {found['ends']['fell']:10}\n" in told
    assert "ticks/s" in told


def test_the_whole_tick_of_a_scene_with_systems_of_its_own_is_listed_with_what_each_stage_reads_and_writes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    scene = tmp_path / "beacons.py"
    scene.write_text(BEACONS)
    assert main([str(scene), *FEW, "--json"]) == 0
    tick = facts(capsys)["tick"]
    assert main([str(scene), *FEW]) == 0
    listed = capsys.readouterr().out.partition("the tick of a training")[2].partition("sees (")[0].splitlines()[1:]
    names = list(TRAINING)
    names[names.index("sense") : names.index("sense") + 1] = ["drip", "fly", "sense", "remember"]
    assert [stage["stage"] for stage in tick] == names
    told = {stage["stage"]: (stage["reads"], stage["writes"]) for stage in tick if stage["own"]}
    assert told == {
        "drip": ([], ["Tank"]),
        "fly": (["Amount", "Pose"], ["Tank", "beacon", "reached"]),
        "remember": (["Pose", "beacon", "reached"], ["Grown", "Restarted"]),
    }
    declared = {entry.name: ([*entry.reads, *entry.keeps], entry.writes) for entry in SCHEDULE}
    for stage in tick:
        reads, writes = declared.get(stage["stage"], ((), ()))
        assert {kind.__name__ for kind in reads} <= set(stage["reads"])
        assert {kind.__name__ for kind in writes} <= set(stage["writes"])
    respawn = next(stage for stage in tick if stage["stage"] == "respawn")
    assert {"Tank", "beacon", "reached", "Grown"} <= set(respawn["writes"])
    for line, stage in zip(listed, tick, strict=True):
        name = f"{stage['stage']} *" if stage["own"] else stage["stage"]
        assert line == f"  {name:24} {', '.join(stage['reads']) or '-'} -> {', '.join(stage['writes'])}"


def test_balance_is_told_as_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["balance", "--check", "--arenas", "16", "--json"]) == 0
    found = facts(capsys)
    assert found["reward_per_tick"] == {"upright": 1.0}
    # Random play falls after some twenty ticks, and never gets far enough to run off.
    assert 16 * found["ticks"] / 40 < found["ends"]["fell"] < 16 * found["ticks"] / 10
    assert found["ends"]["ran off"] == 0


def test_the_seed_decides_what_is_seen(capsys: pytest.CaptureFixture[str]) -> None:
    seen = []
    for seed in ("3", "3", "4"):
        assert main(["balance", *FEW, "--seed", seed, "--json"]) == 0
        seen.append(facts(capsys)["observations"])
    assert seen[0] == seen[1] != seen[2]


def test_a_scene_that_draws_its_own_random_numbers_is_found_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    scene = changed(tmp_path / "mine.py", '"upright": 1.0', '"upright": lambda: np.random.random(cart.x.shape)')
    assert main([scene, *FEW, "--json"]) == 2
    told = capsys.readouterr()
    found = json.loads(told.out)
    assert (found["ok"], found["deterministic"]) == (False, False)
    assert "the same seed gave different numbers" in told.err
    assert main([scene, *FEW]) == 2
    assert "same seed, same numbers: NO" in capsys.readouterr().out


def test_arenas_that_explode_are_counted_and_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    scene = changed(tmp_path / "mine.py", "left=Push(cart, -10.0)", "left=Push(cart, -1e9)")
    assert main([scene, *FEW, "--json"]) == 2
    told = capsys.readouterr()
    found = json.loads(told.out)
    assert found["explosions"] > 0
    assert found["deterministic"]
    assert f"{found['explosions']} arenas exploded under random actions" in told.err


@pytest.mark.parametrize("bad", ["nan", "inf"])
def test_a_reward_that_is_not_finite_is_named_by_its_line(
    bad: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rule = f'"upright": lambda: np.where(pole.angle > 0.1, np.{bad}, 1.0)'
    scene = changed(tmp_path / "mine.py", '"upright": 1.0', rule)
    line = next(i for i, text in enumerate(Path(scene).read_text().splitlines(), 1) if rule in text)
    assert main([scene, *FEW]) == 2
    told = capsys.readouterr()
    assert f"{scene}, line {line}: the reward 'upright'" in told.err
    assert "Traceback" not in told.err


@pytest.mark.parametrize(
    ("rule", "name"), [("lambda: np.abs(pole.angle).mean()", "upright"), ("lambda: pole.angle.max()", "upright")]
)
def test_one_number_for_all_arenas_is_noticed(
    rule: str, name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    scene = changed(tmp_path / "mine.py", '"upright": 1.0', f'"upright": {rule}')
    assert main([scene, *FEW]) == 2
    assert f"'{name}' is one number for all arenas" in capsys.readouterr().err


def test_the_tick_is_told_with_what_each_stage_reads_and_writes(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["lander", *FEW, "--json"]) == 0
    tick = facts(capsys)["tick"]
    assert [stage["stage"] for stage in tick if stage["own"]] == ["remember"]
    (sense,) = (stage for stage in tick if stage["stage"] == "sense")
    assert "Pose" in sense["reads"]
    assert sense["writes"] == ["NextObservation"]


def test_scores_are_told_as_episodes_end(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    scores = (
        "arena.score('ticks', lambda: ticks.value)\n    arena.score('mean', lambda: cart.x.mean())\n    arena.agent("
    )
    counted = "ticks = arena.number('ticks')\n    arena.system(lambda: np.add(ticks.value, 1, out=ticks.value), "
    scene = changed(tmp_path / "scored.py", "arena.agent(", f"{counted}writes=(ticks,), name='count')\n    {scores}")
    assert main([scene, *FEW, "--json"]) == 2
    found = facts(capsys)
    low, mean, high = found["scores"]["ticks"]
    assert 5 < low < mean < high < 200
    assert found["deterministic"]
    assert found["problems"] == [
        "'mean' is one number for all arenas: rules work on all arenas at once, so leave .mean() out"
    ]
    assert main([scene, *FEW]) == 2
    assert f"  {'ticks':24} {low:10.3f} {mean:10.3f} {high:10.3f}" in capsys.readouterr().out


def test_the_numbers_of_long_names_stand_below_each_other(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    long = "how far the cart is from the middle"
    scene = changed(tmp_path / "long.py", "sees=[", f'sees=[Feel("{long}", lambda: cart.x), ')
    assert main([scene, *FEW]) == 0
    seen = capsys.readouterr().out.partition("sees (lowest to highest):\n")[2].partition("does:")[0].splitlines()
    assert seen[0].startswith(f"  {long} ")
    assert len({len(line) for line in seen}) == 1


def test_it_says_what_share_of_the_time_evaluations_may_take(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = changed(tmp_path / "mine.py", "max_ticks=500", "max_ticks=2_000")
    assert main([path, *FEW, "--eval-every", "10M", "--json"]) == 0
    found = facts(capsys)["evaluations"]
    assert (found["every"], found["episodes"], found["ticks"]) == (10**7, 20, 2_000)
    assert 0.0 < found["share"] < 0.1
    assert main([path, *FEW, "--eval-every", "1k"]) == 0
    words = (
        r"evaluations: 20 episodes of at most 2,000 ticks after every 1,000 steps: at most (\d+)% of the time (.*)\n"
    )
    ((share, cure),) = re.findall(words, capsys.readouterr().out)
    assert 50 < int(share) < 100
    assert cure == "(--eval-every and --eval-episodes change that)"


GATE = """\
from ecs_rl.scene import *

SCENE = Scene(about="A gate that opens by the clock.", max_ticks=50, gravity=(0.0, 0.0))


def build(arena):
    ball = arena.spawn("ball", Body(), Disc(0.1), Start(x=jitter(1.0)))
    gate = arena.spawn("gate", Body(moves="scripted"), Box(0.1, 1.0), Start(x=5.0, vy=0.5))
    arena.agent(sees=[X(ball), Y(gate)], does=Levers(push=Push(ball, y=1.0)), earns={"gate": lambda: -gate.y})
"""


def test_what_goes_by_the_clock_is_the_same_in_all_arenas_and_no_mistake(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "gate.py"
    path.write_text(GATE)
    assert main([str(path), *FEW, "--json"]) == 0
    low, high = facts(capsys)["observations"]["gate y"]
    assert low < high


# --- notes, and what is said while it works ---------------------------------------------------------------------------

LOOP = """\
import numpy as np
from ecs_rl.scene import *

SCENE = Scene(about="A test.", max_ticks=20, gravity=(0.0, 0.0))


def build(arena):
    ball = arena.spawn("ball", Body(), Disc(0.1), Start(x=jitter(1.0)))
    foe = arena.spawn("foe", Body(), Disc(0.1), Start(x=5.0))
    {walls}
    sees = []
    for far in (1, 2, 3):
        sees.append(Feel(f"off {{far}}", lambda{default}: ball.x - far))
    sees += [X(ball), Feel("zero", lambda: 0.0 * ball.x), Feel("nought", lambda: 0.0 * ball.y), {rays}]
    arena.agent(sees=sees, does=Levers(push=Push(ball, x=1.0)), earns={{"x": X(ball)}})
"""


def notes(folder: Path, capsys: pytest.CaptureFixture[str], **parts: str) -> list[str]:
    scene = folder / "loop.py"
    scene.write_text(LOOP.format(**{"walls": "", "default": " far=far", "rays": ""} | parts))
    assert main([str(scene), *FEW, "--json"]) == 0
    found: list[str] = facts(capsys)["notes"]
    return found


def test_sensors_that_a_loop_made_equal_are_noted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (note,) = notes(tmp_path, capsys, default="")
    assert note.startswith("'off 1', 'off 2' and 'off 3' are the same number in every tick: a lambda in a loop")
    assert notes(tmp_path, capsys) == []


@pytest.mark.parametrize(
    ("walls", "hits", "told"),
    [
        ("arena.wall((-1, 1), (1, 1))", "hits=[foe]", "the rays of 'ball' see 'foe' through 'ground', which does"),
        ("arena.wall((-1, 1), (1, 1))", "hits={'foe': foe, 'wall': arena.ground}", "see 'foe' through 'ground'"),
        ("tile = arena.spawn('tile', Body(moves='never'), Disc(1.0), Start(y=4.0))", "hits=[foe]", "through 'tile'"),
        ("arena.wall((-1, 1), (1, 1))", "hits=[foe, arena.ground]", ""),
        ("arena.wall((-1, 1), (1, 1))", "hits=[arena.ground]", ""),
        ("arena.wall((-1, 1), (1, 1))", "hits=None", ""),
        ("pass", "hits=[foe]", ""),
    ],
)
def test_rays_that_see_through_walls_are_noted(
    walls: str, hits: str, told: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = notes(tmp_path, capsys, walls=walls, rays=f"Rays(ball, (0.0, 1.0), 4.0, {hits})")
    assert len(found) == bool(told)
    assert told in "".join(found)


def test_who_waits_hears_how_far_it_is(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(check_notes, "PATIENCE", 0.0)
    assert main(["balance", *FEW, "--json"]) == 0
    said = capsys.readouterr()
    lines = [line for line in said.err.splitlines() if "tick" in line]
    assert lines[0] == "train.py: balance: play 1 of 3, tick 1 of 1,500"
    assert lines[-1] == "train.py: balance: play 3 of 3, tick 1,500 of 1,500"
    assert len(json.loads(said.out)["tick"]) > 3


def test_what_a_system_reads_in_secret_is_told_before_the_plays(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    scene = tmp_path / "beacons.py"
    scene.write_text(BEACONS.replace("@arena.system(writes=", "@arena.system(reads=(), writes="))
    monkeypatch.setattr(check_notes, "PATIENCE", 0.0)
    assert main([str(scene), *FEW]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "reads Amount, Pose without saying so" in line


def test_a_rollout_of_gigabytes_is_noted() -> None:
    assert check_notes.memory_of(64 * 10_000, PPOConfig(rollout=1_000)) == [
        "a rollout of 1,000 ticks with 640,000 numbers each takes 2.6 GB: fewer arenas take less"
    ]
    assert check_notes.memory_of(64 * 100, PPOConfig(rollout=1_000)) == []
    assert check_notes.memory_of(64 * 10_000, DQNConfig()) == []


def test_who_waits_long_hears_for_how_long(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [0.0]
    monkeypatch.setattr(check_notes, "perf_counter", lambda: clock[0])
    waiting = check_notes.Waiting("slow")
    for done, clock[0] in ((100, 1.0), (200, 11.0)):
        waiting.at("play 1 of 3", done, 1_400)
    told = capsys.readouterr().err.splitlines()
    assert told[-1] == "train.py: slow: play 1 of 3, tick 200 of 1,400, 2 minutes to go"
