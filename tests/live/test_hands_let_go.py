"""What a monkey found: keys and hands that meet another window than the one that they were meant for."""

from __future__ import annotations

from pathlib import Path

import lesson_scenes
import pytest
from live_commands import train
from live_windows import TINY, Live, down, moved, seeing, up, watching

from ecs_rl.cli.target import folder_for
from ecs_rl.runs.episode_file import read_episode
from ecs_rl.shipped import pilot_file
from ecs_rl.viewer.controls.keeping import Keeping
from ecs_rl.viewer.live.live_stage import Race, ReplayAside
from ecs_rl.viewer.objects import BodyId
from ecs_rl.viewer.replay import Replay

SHEEP = """
from ecs_rl.scene import *

SCENE = Scene(about="Sheep that graze by chance.", max_ticks=50, gravity=(0, 0))


def build(arena):
    sheep = arena.spawn("sheep", Body(), Disc(0.5), Start(x=(-3, 0, 3), y=1.0), count=3)
    luck = arena.dice(jitter(1.0), of=sheep)
    arena.agent(of=sheep, sees=[X(sheep)], does=Levers(across=Push(sheep, x=3.0)), earns={"luck": luck})
"""


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return train("balance", *TINY, "--json", "--runs", tmp_path_factory.mktemp("runs")).run


def to_the_end(live: Live) -> None:
    while not live.show.resting:
        live.window.advance(1 / 60, 1.0)


@pytest.mark.parametrize("back", ["B", "Esc"])
def test_a_hand_lets_go_when_the_show_whose_body_it_holds_leaves_the_window(back: str, run: Path) -> None:
    with seeing(run) as live:
        live.hit("B")
        live.open_aside()
        live.draw()
        second = live.window.stage.shows[1]
        at = live.pixel("cart", 1)
        live.answer(down(at), moved((at[0] + 20, at[1]), (20, 0)))
        assert second.hand.role is not None
        live.hit(back)
        assert second.hand.role is None
        live.answer(moved((at[0] + 40, at[1]), (20, 0)), up(at))
        live.draw()
        assert len(live.window.stage.shows) == 1


def test_what_the_last_frame_showed_is_not_there_for_the_mouse_once_the_shows_are_others(run: Path) -> None:
    with seeing(run) as live:
        live.hit("B")
        live.open_aside()
        live.draw()
        at = live.pixel("cart", 1)
        live.hit("B")
        live.answer(down(at), moved((at[0] + 20, at[1]), (20, 0)), up(at))
        assert not live.show.touched


def test_a_replay_without_its_run_has_nobody_to_race_or_to_ask(run: Path, tmp_path: Path) -> None:
    with seeing(run) as live:
        to_the_end(live)
        live.window.run.folder = tmp_path
        live.hit("K")
        live.control(Keeping).close(live.window)
        (path,) = (tmp_path / "episodes").iterdir()
        live.window.stage.shows[:] = [Replay(live.show.scene, read_episode(path)), *live.window.stage.shows]
        stage = live.window.stage.shows.pop()
        live.show.restart()
        live.hit("Y")
        assert "there is no policy here to race" in live.said()
        live.hit("Space", "I", "X")
        live.frames(2)
        assert (live.window.stage.questions.asks_why, live.window.stage.questions.maps) == (False, False)
        live.show.close()
        live.window.stage.shows[:] = [stage]


def test_a_race_from_a_replay_is_driven_by_the_policy_and_leads_back_to_the_stage(run: Path) -> None:
    with seeing(run) as live:
        stage = live.show
        to_the_end(live)
        live.hit("W")
        live.frames(3)
        assert isinstance(live.window.stage.aside, ReplayAside)
        seed = live.show.seeds[live.show.arena]
        live.hit("Y")
        live.open_aside()
        assert isinstance(live.window.stage.aside, Race)
        live.window.advance(0.5, 1.0)
        assert [show.seeds for show in live.window.stage.shows] == [(seed,), (seed,)]
        live.hit("Y")
        assert live.window.stage.shows == [stage]


def test_numbers_of_a_kind_can_be_inspected(tmp_path: Path) -> None:
    (tmp_path / "sheep.py").write_text(SHEEP)
    with watching(tmp_path, str(tmp_path / "sheep.py"), *TINY) as live:
        live.window.stage.selected = BodyId("sheep", 1)
        live.draw()
        inspector = live.window.views["inspector"]
        (luck,) = [value for name, value, _ in inspector.rows if name == "number dice 0"]
        assert len(luck.split()) == 3


def test_ground_that_goes_by_a_lesson_can_be_framed(tmp_path: Path) -> None:
    (tmp_path / "school.py").write_text(lesson_scenes.SCHOOL)
    with watching(tmp_path, str(tmp_path / "school.py"), *TINY) as live:
        live.frames(2)


def test_an_environment_that_pays_by_itself_has_no_weights_to_change(tmp_path: Path) -> None:
    with watching(tmp_path, "gym:CartPole-v1", *TINY) as live:
        live.hit("S")
        live.draw()
        settings = live.window.views.get("settings")
        assert settings is not None
        assert [row.name for row in settings] == ["lr", "entropy"]


def test_the_mouse_on_a_number_of_an_environment_tells_its_name(tmp_path: Path) -> None:
    with watching(tmp_path, "gym:CartPole-v1", *TINY) as live:
        live.answer(moved(live.at("mind", "name", 0, 0.05)))
        live.draw()
        live.hit("?")
        live.draw()
        assert live.tip() == ("0: a number as the scene makes it.",)


def test_where_nothing_may_change_the_sliders_do_not_open(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with watching(tmp_path, "gym:CartPole-v1", *TINY) as live:
        monkeypatch.setattr(live.trains.live, "_agents", [])
        live.hit("S", "Down", "Ctrl+Up")
        live.draw()
        assert "settings" not in live.window.views
        assert "nothing of this training may change while it goes on" in live.said()


def test_what_is_filmed_beside_a_pilot_goes_into_the_current_folder(run: Path) -> None:
    pilot, best = pilot_file("lander"), run / "checkpoints" / "best.safetensors"
    assert pilot is not None
    assert (folder_for(pilot), folder_for(best), folder_for(Path("a/b.safetensors"))) == (Path.cwd(), run, Path("a"))
