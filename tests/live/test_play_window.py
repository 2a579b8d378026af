"""`play.py` in a window and into films: the same episodes as without, told in the same lines."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import imageio_ffmpeg
import pytest
from live_commands import Said, finish, play, start, train
from live_windows import PPO, TINY, Scripted, in_order, keys, post, pressed, seeing, wait

from ecs_rl.viewer.live import watch
from ecs_rl.viewer.live.window import Window

FAST = ("--speed", 64, "--episodes", 3)
LANDER = ("lander", "--arenas", "8", "--steps", "2k", "--eval-every", "1000", "--eval-episodes", "2", *PPO)


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("played")


@pytest.fixture(scope="module")
def balance(runs: Path) -> Path:
    return train("balance", *TINY, "--json", "--runs", runs).run


@pytest.fixture(scope="module")
def lander(runs: Path) -> Path:
    return train(*LANDER, "--json", "--runs", runs).run


def film(path: Path) -> tuple[int, dict[str, object]]:
    reader = imageio_ffmpeg.read_frames(str(path))
    facts: dict[str, object] = next(reader)
    return len(list(reader)), facts


# --- in a window ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("scene", ["balance", "lander"])
@pytest.mark.parametrize(
    "more", [(), ("--checkpoint", "latest", "--seed", 77), ("--json",)], ids=["best", "77", "json"]
)
def test_a_window_tells_the_episodes_in_the_same_words_as_headless(
    scene: str, more: tuple[object, ...], request: pytest.FixtureRequest
) -> None:
    run = request.getfixturevalue(scene)
    shown, headless = play(run, *FAST, *more), play(run, "--headless", "--episodes", 3, *more)
    assert (shown.code, shown.err) == (0, "")
    assert shown.out == headless.out
    assert len(shown.out.splitlines()) == (1 if "--json" in more else 4)


def test_checkpoints_are_compared_on_the_same_episodes(balance: Path) -> None:
    args = (balance, "--compare", "1000", "latest", "--episodes", 2)
    shown, headless = play(*args, "--speed", 64), play(*args, "--headless")
    assert (shown.code, shown.err) == (0, "")
    assert sorted(shown.out.splitlines()) == sorted(headless.out.splitlines())
    assert len(shown.out.splitlines()) == 6
    assert play(*args, "--speed", 64, "--json").out == play(*args, "--headless", "--json").out


def test_every_pane_says_who_plays_and_how_well(balance: Path) -> None:
    with seeing(balance, "--compare", "1000", "latest", "--episodes", 2, "--speed", 4) as live:
        live.draw()
        first, second = live.panes
        assert (first.title, second.title) == ("step 1,000", "latest, step 3,000")
        assert "mind" not in live.window.views
        while not all(show.resting for show in live.window.stage.shows):
            live.window.advance(1 / 60, 1e9)
        live.draw()
        for show, pane in zip(live.window.stage.shows, live.panes, strict=True):
            assert show.outcome is not None
            assert pane.note.startswith(f"+{show.outcome.total:.1f}"), "what it earned stands while its ending stands"
            assert pane.tone == show.outcome.tone
            assert pane.stage.ending
            assert pane.stage.caption == f"seed 10000  ·  {show.outcome.length * show.scene.dt:.1f} s"
            assert "mean of 1" in pane.note


def script_of(window: Window) -> Iterator[None]:
    window.stage.set_speed(1.0)
    yield from keys("P")(window)
    window.stage.set_speed(64.0)
    while window.show.arena == 0:
        yield


def test_an_episode_that_somebody_touched_is_not_counted(balance: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    headless = play(balance, "--headless", "--episodes", 3).out.splitlines()
    Scripted(monkeypatch, script_of)
    shown = play(balance, *FAST)
    *episodes, mean = shown.out.splitlines()
    assert episodes == headless[1:3]
    assert "over 2 episodes" in mean


def test_an_episode_played_by_another_checkpoint_is_not_counted(balance: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Scripted(monkeypatch, keys(",", ","))
    shown = play(balance, "--checkpoint", "latest", *FAST)
    assert shown.code == 0
    assert shown.out == "no episode was played to its end\n"


def test_turning_at_the_end_of_the_shelf_changes_nothing(balance: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    headless = play(balance, "--headless", "--checkpoint", "0", "--episodes", 3)
    Scripted(monkeypatch, keys(",", ","))
    assert play(balance, "--checkpoint", "0", *FAST).out == headless.out


def test_a_window_closed_early_tells_what_was_played(balance: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    headless = play(balance, "--headless", "--episodes", 3).out.splitlines()

    def script(window: Window) -> Iterator[None]:
        while window.show.arena == 0:
            yield
        post(pressed("Ctrl+Q"))
        yield

    Scripted(monkeypatch, script)
    shown = play(balance, *FAST)
    assert shown.code == 0
    assert shown.out.splitlines()[0] == headless[0]
    assert "over 1 episodes" in shown.out.splitlines()[1]


def test_nothing_played_is_no_error(balance: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Scripted(monkeypatch, keys("Ctrl+Q"))
    assert play(balance) == Said(0, "no episode was played to its end\n", "")
    Scripted(monkeypatch, keys("Ctrl+Q"))
    assert play(balance, "--json") == Said(0, "{}\n", "")


def test_looking_around_changes_no_result(balance: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    headless = play(balance, "--headless", "--episodes", 3)
    around = keys("Space", "Right", "Right", "F1", "F3", "Tab", "M", "Space", "Esc", "Home", "G", "T", "U", "Enter")
    Scripted(monkeypatch, in_order(around, wait(3)))
    assert play(balance, *FAST) == Said(0, headless.out, "")


def test_the_same_seed_again_is_the_episode_that_was_seen_even_at_its_end(balance: Path) -> None:
    with seeing(balance, "--episodes", 2) as live:
        while not live.show.resting:
            live.window.advance(1 / 60, 1e9)
        outcome = live.show.outcome
        assert outcome is not None
        assert "seed 10000  ·" in live.show.caption
        live.hit("R")
        assert live.show.caption.split("  ·  ")[1] == "seed 10000"
        while not live.show.resting:
            live.window.advance(1 / 60, 1e9)
        assert live.show.outcome == outcome
        playlist = live.window.stage.playlist
        assert playlist is not None
        assert playlist.results[0] == {0: outcome}
        live.hit("Backspace")
        assert live.show.arena == 1


def test_a_display_that_dies_ends_the_play_and_says_so(balance: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import pygame

    def flip() -> None:
        raise pygame.error("gone")

    monkeypatch.setattr(pygame.display, "flip", flip)
    told = play(balance, "--json")
    assert (told.code, told.out, told.err) == (0, "{}\n", "play.py: the window is gone (gone)\n")


def test_a_process_of_its_own_prints_one_object_and_nothing_else(balance: Path) -> None:
    headless = play(balance, "--headless", "--episodes", 3, "--json")
    told = finish(start("play.py", balance, *FAST, "--json", screen={"SDL_VIDEODRIVER": "dummy"}))
    assert told == Said(0, headless.out, "")
    assert json.loads(told.out)["episodes"] == 3


def test_a_window_that_somebody_attends_stays_open_for_a_while(balance: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watch, "PATIENCE", 0.05)
    monkeypatch.setattr("ecs_rl.viewer.live.screen.UNSEEN", ())
    said: list[str] = []

    def script(window: Window) -> Iterator[None]:
        while True:
            said[:] = [message.text for message in window.messages]
            yield

    Scripted(monkeypatch, script)
    assert play(balance, *FAST).code == 0
    assert any("closing in 1 s, any key keeps it open" in text for text in said)


# --- films ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("suffix", ["mp4", "gif"])
@pytest.mark.parametrize("compare", [(), ("--compare", "1000", "latest")], ids=["one", "compared"])
def test_a_film_is_made_and_the_episodes_are_told(
    suffix: str, compare: tuple[str, ...], balance: Path, tmp_path: Path
) -> None:
    path = tmp_path / f"film.{suffix}"
    args = (balance, *compare, "--episodes", 1, "--speed", 8)
    told = play(*args, "--record", path)
    headless = play(*args, "--headless")
    assert (told.code, told.err) == (0, "")
    assert f"film written: {path}" in told.out
    assert sorted(line for line in told.out.splitlines() if "film" not in line) == sorted(headless.out.splitlines())
    frames, facts = film(path)
    assert frames > 20
    assert facts["size"] == ((800, 450) if suffix == "gif" else (1280, 720))
    assert [each.name for each in tmp_path.iterdir()] == [path.name]


def test_with_json_a_film_leaves_one_object_on_stdout(balance: Path, tmp_path: Path) -> None:
    args = (balance, "--episodes", 1, "--json")
    told = play(*args, "--speed", 16, "--record", tmp_path / "film.mp4")
    assert told.out == play(*args, "--headless").out
    assert told.err == f"film written: {tmp_path / 'film.mp4'}\n"


# --- what is refused --------------------------------------------------------------------------------------------------


def refused(told: Said, code: int, *words: str) -> None:
    assert (told.code, told.out) == (code, ""), told.err
    (line,) = told.err.splitlines()
    assert line.startswith("play.py: ")
    assert all(word in line for word in words), line


def test_a_film_that_cannot_be_is_refused_in_one_line(
    balance: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    refused(play(balance, "--record", tmp_path / "none" / "a.mp4"), 2, "there is no folder", "none")
    refused(play(balance, "--record", tmp_path / "a.avi"), 2, "--record must be a path that ends in .mp4 or .gif")
    (tmp_path / "folder.mp4").mkdir()
    refused(play(balance, "--record", tmp_path / "folder.mp4"), 2, "is a folder")
    monkeypatch.setitem(sys.modules, "imageio_ffmpeg", None)
    refused(play(balance, "--record", tmp_path / "a.mp4"), 2, "python -m pip install 'ecs-rl[video]'")
    assert [each.name for each in tmp_path.iterdir()] == ["folder.mp4"]


def test_a_comparison_that_cannot_be_is_refused_in_one_line(balance: Path, lander: Path) -> None:
    refused(play(balance, "--compare", *["latest"] * 7), 2, "--compare shows at most 6 checkpoints, not 7")
    other = lander / "checkpoints" / "latest.safetensors"
    refused(play(balance, "--compare", "latest", other), 2, "one scene", "balance", "lander")
    refused(play(balance, "--compare", "latest", "newest"), 2, "there is no run 'newest'", "a checkpoint is best")
    refused(play(balance, "--compare", "latest", "none.safetensors"), 2, "there is no checkpoint file")
    refused(play(other, "--compare", "latest", "best"), 2, "is one checkpoint; name the run")


def test_checkpoints_of_several_runs_can_be_compared(balance: Path, tmp_path: Path) -> None:
    run = train("balance", *TINY, "--seed", 5, "--json", "--runs", tmp_path).run
    other = run / "checkpoints" / "latest.safetensors"
    told = play(balance, "--compare", "latest", other, "--speed", 64, "--episodes", 1, "--json")
    rows = told.json["compare"]
    assert [row["checkpoint"] for row in rows] == [str(balance / "checkpoints" / "latest.safetensors"), str(other)]
    assert rows[1]["run"] == str(run)
