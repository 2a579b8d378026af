"""How a window is closed, and what happens where none can be opened."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path

import pygame
import pytest
from live_commands import Said, finish, play, start, train, until
from live_windows import TINY, Scripted, in_order, key_event, keys, post, pressed, runs_in, wait

from ecs_rl.training.training import Training
from ecs_rl.viewer.live.window import Window

LONG = ("balance", *TINY, "--steps", "1M", "--checkpoint-every", "1M", "--eval-every", "1M")
NOTHING_TO_SHOW = {"DISPLAY": "", "WAYLAND_DISPLAY": ""}


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return train("balance", *TINY, "--json", "--runs", tmp_path / "runs").run


@pytest.mark.parametrize(
    "event",
    [
        pygame.event.Event(pygame.QUIT),
        pressed("Ctrl+Q"),
        key_event(pygame.K_q, "\x11", pygame.KMOD_RCTRL),
    ],
    ids=["close box", "Ctrl+Q", "right Ctrl+Q"],
)
def test_closing_saves_tells_how_to_go_on_and_begins_no_further_tick(
    event: pygame.event.Event, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun: list[int] = []
    slices = Training.slices

    def counted(training: Training) -> Iterator[None]:
        begun.append(training.world.ticks)
        return slices(training)

    monkeypatch.setattr(Training, "slices", counted)
    monkeypatch.setattr(Training, "tick", lambda training: pytest.fail("a tick after the window was closed"))
    at_close: list[int] = []

    def close(window: Window) -> Iterator[None]:
        post(event)
        at_close.append(len(begun))
        yield

    Scripted(monkeypatch, in_order(wait(12), close), slices=31)
    told = train(*LONG, "--watch", "--runs", tmp_path)
    assert told.code == 0, told.err
    assert len(begun) <= at_close[0] + 3, "the slices of the last frame, and no more"
    (metadata,) = runs_in(tmp_path)
    last = told.out.splitlines()[-3:]
    assert last[0].startswith("interrupted at step")
    assert last[1] == f"play it back: python play.py {metadata.parent} --checkpoint latest"
    assert last[2] == f"go on: python train.py balance --resume {metadata.parent}"
    assert play(metadata.parent, "--headless", "--checkpoint", "latest", "--episodes", 1).code == 0
    assert not pygame.display.get_init(), "the window is gone"


def test_closing_in_a_pause_of_the_training_saves_all_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Scripted(monkeypatch, in_order(wait(5), keys("T"), wait(4), keys("Ctrl+S", "V"), wait(2), keys("Ctrl+Q")))
    told = train(*LONG, "--watch", "--json", "--runs", tmp_path)
    assert (told.code, told.json["status"]) == (0, "interrupted")
    (film,) = (told.run / "films").iterdir()
    assert film.suffix == ".mp4", "a film that was being recorded is brought to its end"


def test_closing_after_the_end_of_the_training_still_says_finished(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from ecs_rl.viewer.live import watch

    monkeypatch.setattr(watch.Leaving, "is_due", lambda leaving, why: False)

    def script(window: Window) -> Iterator[None]:
        assert window.run.background is not None
        while not window.run.background.is_saved:
            yield
        yield from keys("P", "Ctrl+S", "G", "Enter", "Ctrl+Q")(window)

    Scripted(monkeypatch, script)
    told = train("balance", *TINY, "--watch", "--json", "--runs", tmp_path)
    assert (told.code, told.json["status"], told.json["steps"]) == (0, "finished", 3000)


def test_solved_in_a_window_ends_as_it_does_without(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scene = tmp_path / "easy.py"
    text = (Path(__file__).parents[2] / "scenes" / "balance.py").read_text()
    scene.write_text(text.replace("solved_at=475", "solved_at=5"))
    args = (scene, *TINY, "--until-solved", "--json", "--runs", tmp_path)
    alone, watched = train(*args), train(*args, "--watch")
    assert (watched.code, watched.json["status"]) == (0, "solved")
    assert (watched.sha, watched.json["solved_step"]) == (alone.sha, alone.json["solved_step"])


@pytest.mark.parametrize("number", [signal.SIGTERM, pytest.param(signal.SIGINT, marks=pytest.mark.slow)])
def test_a_signal_saves_and_exits_with_0_as_it_does_without_a_window(tmp_path: Path, number: int) -> None:
    process = start("train.py", *LONG, "--watch", "--json", "--runs", tmp_path, screen={"SDL_VIDEODRIVER": "dummy"})
    until(lambda: any(path.stat().st_size for path in tmp_path.rglob("metrics.jsonl")), process)
    process.send_signal(number)
    told = finish(process)
    assert told.code == 0, told.err
    assert (told.json["status"], told.err.count("Traceback")) == ("interrupted", 0)
    assert told.json["steps"] > 0
    assert f"go on: python train.py balance --resume {told.run}" in told.err
    assert list((told.run / "checkpoints").glob("step_*"))


# --- no screen --------------------------------------------------------------------------------------------------------


def refused(told: Said, *words: str) -> None:
    assert told.code == 2, told.err
    (line,) = told.err.splitlines()
    assert all(word in line for word in words), line
    assert told.out == ""


def test_without_a_screen_watching_is_refused_and_leaves_no_run(tmp_path: Path) -> None:
    told = finish(start("train.py", "balance", *TINY, "--watch", "--runs", tmp_path / "runs", screen={}))
    refused(told, "train.py: --watch: there is no display", "without --watch", "play.py --record")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_without_a_screen_a_resumed_run_is_left_as_it_was(run: Path) -> None:
    before = {path: path.read_bytes() for path in run.rglob("*") if path.is_file()}
    told = finish(start("train.py", "balance", "--resume", run, "--steps", "9k", "--watch", screen=NOTHING_TO_SHOW))
    refused(told, "there is no display")
    assert {path: path.read_bytes() for path in run.rglob("*") if path.is_file()} == before


def test_without_a_screen_play_says_how_to_play_all_the_same_and_films_are_made(run: Path, tmp_path: Path) -> None:
    refused(finish(start("play.py", run, screen={})), "there is no display", "--headless", "--record")
    refused(finish(start("play.py", run, "--human", screen={})), "there is no display", "--human needs one")
    film = tmp_path / "play.gif"
    args = (run, "--record", film, "--episodes", 1, "--speed", 8)
    told = finish(start("play.py", *args, screen={}))
    assert told.code == 0, told.err
    assert told.out.splitlines()[-2:][0].startswith(f"film written: {film}")
    assert film.read_bytes().startswith(b"GIF89a")


@pytest.mark.slow
def test_a_screen_that_is_named_and_not_there_is_no_screen(tmp_path: Path) -> None:
    screen = {"DISPLAY": ":987", "SDL_VIDEODRIVER": "x11"}
    told = finish(start("train.py", "balance", *TINY, "--watch", "--runs", tmp_path / "runs", screen=screen))
    refused(told, "there is no display")
    assert list(tmp_path.iterdir()) == []
