"""A scene's file that is saved while it trains: the window offers to go on with it, and says why where it cannot."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from live_windows import TINY, Live, control, watching

from ecs_rl.commands import train as train_command
from ecs_rl.runs import read_metadata
from ecs_rl.shipped import scene_files
from ecs_rl.training_stages.learn import Learn
from ecs_rl.viewer.controls import scene_reload
from ecs_rl.viewer.controls.scene_reload import SceneReload
from ecs_rl.viewer.live.window import Window

BALANCE = scene_files()["balance"].read_text()


@pytest.fixture(autouse=True)
def looks_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scene_reload, "CHECK_EVERY", 0.0)


def save(path: Path, text: str) -> None:
    """Write a file as an editor does, at a moment that no file system takes for the one before."""
    before = path.stat().st_mtime_ns
    path.write_text(text)
    os.utime(path, ns=(before + 10**9, before + 10**9))


@pytest.fixture
def scene(tmp_path: Path) -> Path:
    path = tmp_path / "upright.py"
    path.write_text(BALANCE)
    return path


@pytest.fixture
def live(scene: Path, tmp_path: Path) -> Iterator[Live]:
    with watching(tmp_path / "runs", str(scene), *TINY) as opened:
        opened.slices(40)
        opened.finish_what_was_asked()
        yield opened


def test_a_file_with_other_rewards_looks_or_marks_is_offered(live: Live, scene: Path) -> None:
    live.frames(2)
    assert not live.control(SceneReload).can_reload
    save(scene, BALANCE.replace('"upright": 1.0', '"upright": 2.0').replace('Look("sky")', 'Look("green")'))
    live.frames(2)
    assert live.control(SceneReload).can_reload
    assert "upright.py was saved: Ctrl+R goes on with its rewards, looks and marks of now" in live.said()
    live.hit("Ctrl+R")
    assert live.trains.reloads
    assert live.trains.done


def test_another_level_beside_it_is_offered(scene: Path, tmp_path: Path) -> None:
    level = tmp_path / "level.txt"
    level.write_text("0.1")
    reads = "float(__import__('pathlib').Path(__file__).with_name('level.txt').read_text())"
    scene.write_text(BALANCE.replace("mass=0.1", f"mass={reads}"))
    with watching(tmp_path / "runs", str(scene), *TINY) as live:
        live.slices(40)
        live.finish_what_was_asked()
        save(level, "0.1")
        live.frames(2)
        assert not live.control(SceneReload).can_reload
        save(level, "0.2")
        live.frames(2)
        assert live.control(SceneReload).can_reload


def test_a_file_that_was_touched_and_is_the_same_is_not(live: Live, scene: Path) -> None:
    save(scene, BALANCE)
    live.frames(2)
    assert not live.control(SceneReload).can_reload
    live.hit("Ctrl+R")
    assert not live.trains.reloads
    assert "the scene's file is as it was" in live.said()


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ("sees=[X(cart), ", "sees=[", "what 'policy' sees or does is another"),
        ('"upright": 1.0', '"up": 1.0', "the reward terms are others, up, upright"),
        ('"fell": beyond', '"toppled": beyond', "the ends are others, fell, toppled"),
        ("    arena.agent(", '    arena.number("swings")\n    arena.agent(', "its entities or components are others"),
        ("earns={", "earns={,", "cannot be used"),
        ("Rod(1.0)", "Rod(one)", "name 'one' is not defined"),
    ],
)
def test_what_cannot_be_gone_on_with_is_told_and_training_goes_on(
    live: Live, scene: Path, old: str, new: str, why: str
) -> None:
    assert old in BALANCE
    save(scene, BALANCE.replace(old, new))
    live.frames(2)
    assert why in live.said()
    assert not live.control(SceneReload).can_reload
    live.hit("Ctrl+R")
    assert not live.trains.reloads
    steps = live.trains.session.total_steps
    live.slices(40)
    assert live.trains.session.total_steps > steps
    save(scene, BALANCE)
    live.frames(2)
    assert not live.control(SceneReload).can_reload


@pytest.mark.parametrize("in_an_update", [False, True])
def test_the_same_run_goes_on_in_the_same_window_with_the_rewards_of_now(
    in_an_update: bool,
    scene: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    windows: list[Window] = []
    answer, work, switched = Window.answer, Learn.work, list[int]()

    def reload() -> None:
        window = windows[0]
        assert window.run.background is not None
        if len(windows) == 1 and control(window, SceneReload).can_reload:
            window.do("reload scene")
            switched[0] = window.run.background.training.session.total_steps

    def scripted(window: Window) -> None:
        answer(window)
        if window not in windows:
            windows.append(window)
        assert window.run.background is not None
        if not switched and window.run.background.training.session.total_steps > 500:
            switched.append(0)
            save(scene, BALANCE.replace('"upright": 1.0', '"upright": 2.0'))
        elif not in_an_update:
            reload()

    def asked_in_the_middle(stage: Learn) -> Iterator[None]:
        for _ in work(stage):
            if in_an_update and windows:
                reload()
            yield

    monkeypatch.setattr(Window, "answer", scripted)
    monkeypatch.setattr(Learn, "work", asked_in_the_middle)
    args = (str(scene), *TINY, "--steps", "6k", "--runs", str(tmp_path / "runs"), "--watch", "--json")
    assert train_command.main(args) == 0
    first, second = windows
    assert first.screen is second.screen
    told = capsys.readouterr()
    (line,) = told.out.splitlines()
    found = json.loads(line)
    assert (found["status"], found["steps"]) == ("finished", 6000)
    assert "it goes on in the scene as it is now" in told.err
    (run,) = (tmp_path / "runs" / "upright" / "v1").iterdir()
    assert str(run) == found["run"]
    assert second.run.background is not None
    assert read_metadata(run).scene_sha256 == second.run.background.training.world.scene.sha256
    rows = [json.loads(row) for row in (run / "train_episodes.jsonl").read_text().splitlines()]
    before = [row["total_reward"] / row["length"] for row in rows if row["total_steps"] <= switched[0]]
    after = [row["total_reward"] / row["length"] for row in rows[-20:]]
    assert set(before) == {1.0}
    assert set(after) == {2.0}


SHAPE = "    arena.agent(\n"
FAILS = {
    "other shapes for many arenas": ('"upright": 1.0', '"upright": lambda: np.ones(1 if len(cart.x) == 1 else 3)'),
    "not a number": ('"upright": 1.0', '"upright": lambda: np.full(len(cart.x), np.nan)'),
    "raises later": ('"upright": 1.0', '"upright": lambda: np.ones(len(cart.x)) / (np.abs(pole.angle).max() < 0.1)'),
    "explodes": ("gravity=(0.0, -9.8)", "gravity=(0.0, -1e308)"),
    "raises as it is read": ("SCENE = ", "raise KeyboardInterrupt\nSCENE = "),
    "raises in build": ("    arena.agent(\n", "    assert arena is None\n    arena.agent(\n"),
}


@pytest.mark.parametrize("how", FAILS)
def test_a_reloaded_scene_that_fails_gives_way_to_the_scene_of_before(
    how: str, scene: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    windows: list[Window] = []
    messages: list[str] = []
    answer = Window.answer
    good = "import numpy as np\n" + BALANCE
    broken = good.replace(*FAILS[how])
    assert broken != good
    scene.write_text(good)

    def scripted(window: Window) -> None:
        answer(window)
        assert window.run.background is not None
        training = window.run.background.training
        if window not in windows:
            windows.append(window)
            messages.extend(message.text for message in window.messages)
        elif len(windows) == 1 and training.session.total_steps > 500 and not training.stop:
            save(scene, broken)
            training.reloads, training.stop = True, "its scene has changed"  # whatever a first look at it says

    monkeypatch.setattr(Window, "answer", scripted)
    args = (str(scene), *TINY, "--steps", "6k", "--runs", str(tmp_path / "runs"), "--watch", "--json")
    assert train_command.main(args) == 0
    told = capsys.readouterr()
    assert "it goes on in the scene of before" in told.err, told.err
    assert "it goes on in the scene of before" in messages[-1]
    found = json.loads(told.out.splitlines()[-1])
    assert (found["status"], found["steps"]) == ("finished", 6000)
    rows = [json.loads(row) for row in (Path(found["run"]) / "train_episodes.jsonl").read_text().splitlines()]
    assert {row["total_reward"] / row["length"] for row in rows[-20:]} == {1.0}
    assert len({window.screen for window in windows}) == 1
