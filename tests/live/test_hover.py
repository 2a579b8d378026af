"""Whatever the mouse points at says what it is: words in a sentence, numbers with units, charts with step and value."""

from __future__ import annotations

from pathlib import Path

import pygame
import pytest
from live_commands import train
from live_windows import TINY, Clock, Live, down, moved, seeing

from ecs_rl.viewer import top_layer as tips_module
from ecs_rl.viewer.panels import PANELS
from ecs_rl.viewer.panels.mind_panel import about_seen
from ecs_rl.viewer.top_layer import Words

WORDS = Words(PANELS)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return train("balance", *TINY, "--json", "--runs", tmp_path_factory.mktemp("runs")).run


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(tips_module, "perf_counter", clock)
    return clock


def told(live: Live, at: tuple[int, int], clock: Clock, rest: float = 1.0) -> tuple[str, ...]:
    """Return the tip once the mouse has rested somewhere for so long."""
    live.answer(moved(at))
    live.draw()
    clock.now += rest
    live.draw()
    return live.tip()


def place_of(live: Live, text: str) -> tuple[int, int]:
    """Return where a text stands in the window."""
    return live.texts()[text]


@pytest.mark.parametrize(
    ("text", "begins"),
    [
        ("BEST ACTIONS", "Greedy:"),
        ("DOES", "The action:"),
        ("EARNED", "The reward:"),
        ("entropy", "How varied"),
        ("episode length", "Ticks"),
        ("stage speed", "How fast"),
        ("evaluation", "The mean of episodes"),
    ],
)
def test_words_are_explained_once_the_mouse_rests_on_them(text: str, begins: str, run: Path, clock: Clock) -> None:
    with seeing(run) as live:
        at = place_of(live, text)
        assert told(live, at, clock, rest=0.1) == ()
        (sentence,) = told(live, at, clock)
        assert sentence.startswith(begins)
        assert told(live, (at[0], at[1] + 200), clock) != (sentence,)


def test_a_number_that_is_seen_tells_its_unit_and_scale(run: Path, clock: Clock) -> None:
    with seeing(run) as live:
        (sentence,) = told(live, place_of(live, "pole angle"), clock)
        assert sentence.startswith("pole angle, in radians")
    assert about_seen("hull x", 0.1) == "hull x, in metres times 0.1: 1.00 stands for 10 metres."
    assert about_seen("hull vy", 1.0) == "hull vy, in metres per second."
    assert about_seen("left leg touches ground", 1.0) == "left leg touches ground: 1 while it does, else 0."
    assert about_seen("fuel", 1.0) == "fuel: a number as the scene makes it."


def test_charts_answer_at_once_with_step_and_values(run: Path, clock: Clock) -> None:
    with seeing(run) as live:
        learning = live.window.views["learning"].curves
        head = place_of(live, "Return")
        lines = told(live, (head[0] + 160, head[1] + 60), clock, rest=0.0)
        assert lines[0].startswith("step ")
        step = float(lines[0].removeprefix("step ").replace(",", ""))
        assert 0 <= step <= 3000
        curve = learning.returns
        nearest = curve.y[abs(curve.x - step).argmin()]
        assert lines[1].startswith("return in training  ")
        assert float(lines[1].split()[-1]) == pytest.approx(nearest, abs=0.6)
        small = place_of(live, "episode length")
        lines = told(live, (small[0] + 60, small[1] + 30), clock, rest=0.0)
        assert lines[1].startswith("episode length  ")


def test_nothing_is_explained_while_something_is_dragged_or_the_help_is_open(run: Path, clock: Clock) -> None:
    with seeing(run) as live:
        at = place_of(live, "DOES")
        live.hit("F1")
        assert told(live, at, clock) == ()
        live.hit("F1")
        live.answer(down(at), moved((at[0] + 40, at[1])))
        assert told(live, at, clock) == ()


def test_a_question_is_answered_without_waiting_as_long_as_the_mouse_stays(run: Path, clock: Clock) -> None:
    with seeing(run) as live:
        at = place_of(live, "DOES")
        assert told(live, at, clock, rest=0.1) == ()
        live.hit("?")
        live.draw()
        (sentence,) = live.tip()
        assert sentence.startswith("The action:")
        assert live.said() == ""
        assert told(live, (at[0] + 1, at[1]), clock, rest=0.1) == ()


def test_a_tip_is_painted_over_panels_and_leaves_nothing_there(run: Path, clock: Clock) -> None:
    with seeing(run) as live:
        live.window.stage.pause(True)
        live.draw()
        before = pygame.image.tobytes(live.window.screen.picture(), "RGB")
        at = place_of(live, "DOES")
        assert told(live, at, clock) != ()
        assert pygame.image.tobytes(live.window.screen.picture(), "RGB") != before
        assert told(live, (at[0], at[1] - 30), clock, rest=0.1) == ()
        assert pygame.image.tobytes(live.window.screen.picture(), "RGB") == before


def test_a_question_without_anything_under_the_mouse_says_what_to_do(run: Path) -> None:
    with seeing(run) as live:
        live.answer(moved((live.layout.stage.centerx, live.layout.stage.centery)))
        live.draw()
        live.hit("?")
        assert "point at a word" in live.said()


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("policy loss", "policy loss"),
        ("orange SEES", "sees"),
        ("Return", "return"),
        ("value loss", "value loss"),
        ("BEST ACTIONS", "best actions"),
    ],
)
def test_words_are_found_however_they_are_written(text: str, found: str) -> None:
    assert WORDS.explained(text) == WORDS.plain[found]


@pytest.mark.parametrize("sign", ["TRAINING", "TRAINING PAUSED", "SOLVED, TRAINING", "COLLAPSED, TRAINING", "PLAYING"])
def test_the_pill_at_the_top_is_explained_as_what_the_program_does(sign: str) -> None:
    assert WORDS.explained(sign) == WORDS.states[sign] != WORDS.explained("training")


def test_the_chip_of_the_pace_is_explained_by_the_pace() -> None:
    for sign in ("TRAINING AT 1x, OPENS UP", "TRAINING AT 0.25x"):
        assert WORDS.explained(sign) == WORDS.states["TRAINING AT"]


def test_every_explanation_is_one_sentence_and_names_need_none() -> None:
    assert all(sentence.endswith(".") and len(sentence) < 130 for sentence in (WORDS.plain | WORDS.states).values())
    assert WORDS.explained("lander") == WORDS.explained("0.53") == ""
