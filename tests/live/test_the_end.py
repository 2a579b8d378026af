"""The end of a training: a card says how it went, and what it offers is done by its keys and by clicks."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

import pytest
from live_windows import TINY, Live, down, up, watching

from ecs_rl.commands import train as train_command
from ecs_rl.distributed.group import ALONE
from ecs_rl.runs import read_metadata
from ecs_rl.training.together import Together
from ecs_rl.viewer.controls.learning_replay import FASTER, SECONDS
from ecs_rl.viewer.live import watch
from ecs_rl.viewer.live.playlist import NEWEST
from ecs_rl.viewer.live.window import Window


def finish(live: Live) -> None:
    """Let the training come to its end."""
    while not live.background.is_saved:
        live.slices(100)


@pytest.fixture
def live(tmp_path: Path) -> Iterator[Live]:
    with watching(tmp_path) as opened:
        opened.window.stage.set_speed(0.0)
        yield opened


def test_a_card_opens_once_the_training_is_over(live: Live) -> None:
    live.window.advance(0.1, math.inf)
    assert "end card" not in live.window.open_panels
    finish(live)
    live.window.advance(0.1, math.inf)
    live.draw()
    card = live.window.views["end card"]
    assert card.title.startswith("Trained for ")
    evaluation = live.trains.session
    assert card.facts[0] == f"best {evaluation.best_eval:.1f} at step {evaluation.best_step:,}"
    assert card.facts[1].startswith("3,000 steps, ")
    live.hit("Esc")
    for _ in range(3):
        live.window.advance(0.1, math.inf)
        live.draw()
        assert "end card" not in live.window.views, "it does not come back"


def test_a_card_of_a_solved_scene_says_after_how_much_training_and_waits_for_the_celebration(live: Live) -> None:
    live.window.advance(0.1, math.inf)
    live.trains.evaluation.solved_step, live.trains.evaluation.solved_second = 8, 5.91
    finish(live)
    live.window.advance(0.1, math.inf)
    live.draw()
    assert "joy" in live.window.views
    live.window.advance(0.1, math.inf)
    live.draw()
    assert "end card" not in live.window.views
    live.hit("Esc")
    live.window.advance(0.1, math.inf)
    live.draw()
    assert live.window.views["end card"].title == "Solved after 5.9 s of training"


def test_no_card_opens_where_the_training_was_stopped(live: Live) -> None:
    live.slices(100)
    live.trains.stop = "SIGINT"
    finish(live)
    live.window.advance(0.1, math.inf)
    assert "end card" not in live.window.open_panels


def test_a_click_on_an_offer_does_it_and_the_card_gives_way(live: Live) -> None:
    finish(live)
    live.window.advance(0.1, math.inf)
    live.draw()
    number = [key for key, _ in live.window.views["end card"].offers].index("B")
    at = live.at("end card", "key", number)
    live.answer(down(at), up(at))
    live.open_aside()
    live.draw()
    assert [show.label for show in live.window.stage.shows] == ["untrained", NEWEST]
    assert "end card" not in live.window.views
    live.hit("B")
    live.draw()
    assert "end card" in live.window.views


def test_the_learning_is_seen_again_in_twenty_seconds_on_one_seed(live: Live) -> None:
    finish(live)
    live.show.go_to(2)
    live.window.stage.set_speed(1.0)
    checkpoints = live.window.run.checkpoints
    assert checkpoints is not None
    steps = [choice.step for choice in checkpoints.choices()]
    live.hit("E")
    live.draw()
    assert "THE LEARNING AGAIN" in live.chips
    seen, seeds = list[float](), set[str]()
    for _ in range(round(SECONDS / 0.1) - 1):
        live.window.advance(0.1, 0.0)
        seen += [] if seen[-1:] == [checkpoints.step] else [checkpoints.step]
        seeds.add(live.show.names[live.show.arena])
        assert live.show.speed == FASTER
    assert seen == steps
    assert seeds == {"seed 10002"}
    live.window.advance(0.3, 0.0)
    live.draw()
    assert (checkpoints.step, live.show.speed, live.show.label) == (math.inf, 1.0, NEWEST)
    assert "THE LEARNING AGAIN" not in live.chips


def test_esc_ends_it_and_the_newest_policy_is_back(live: Live) -> None:
    finish(live)
    live.hit("E")
    live.window.advance(1.0, 0.0)
    assert live.show.label != NEWEST
    live.hit("Esc")
    assert live.show.label == NEWEST
    live.window.advance(SECONDS, 0.0)
    assert live.show.label == NEWEST


def test_beside_another_stage_there_is_nothing_to_see_again(live: Live) -> None:
    live.slices(100)
    live.hit("B")
    live.open_aside()
    live.hit("E")
    assert "there is no learning here to see again" in live.said()


def test_another_training_is_asked_for_only_after_the_end(live: Live) -> None:
    live.hit("Ctrl+N")
    assert "first this training has to end" in live.said()
    assert not live.window.closing


def test_a_training_of_several_processes_is_not_begun_again_from_its_window(live: Live) -> None:
    finish(live)
    live.trains.together = Together(ALONE, 8)
    live.window.advance(0.1, math.inf)
    live.draw()
    assert "Ctrl+N" not in [key for key, _ in live.window.views["end card"].offers]
    live.hit("Ctrl+N")
    assert "begin another training of several processes by its command" in live.said()
    assert not live.window.closing


def test_another_training_goes_on_in_the_same_window_with_the_next_seed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    windows: list[Window] = []
    answer = Window.answer

    def scripted(window: Window) -> None:
        answer(window)
        windows.append(window) if window not in windows else None
        assert window.run.background is not None
        if window.run.background.is_saved:
            window.do("again" if len(windows) == 1 else "quit")

    monkeypatch.setattr(Window, "answer", scripted)
    monkeypatch.setattr(watch.Leaving, "is_due", lambda *_: False)
    args = ("balance", *TINY, "--runs", str(tmp_path), "--watch", "--seed", "4", "--pace", "max")
    assert train_command.main(args) == 0
    assert len(windows) == 2
    assert windows[0].screen is windows[1].screen
    runs = sorted((tmp_path / "balance" / "v1").iterdir())
    assert sorted(read_metadata(run).seed for run in runs) == [4, 5]
    assert [read_metadata(run).total_steps for run in runs] == [3000, 3000]
    assert capsys.readouterr().out.count("finished") >= 2
