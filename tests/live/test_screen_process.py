"""The window of a training is drawn by a program of its own: it shows the same, and its end ends nothing else."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from multiprocessing.connection import Connection
from pathlib import Path
from socket import SHUT_RDWR, socketpair
from time import monotonic, sleep
from typing import Any

sys.path.append(str(Path(__file__).parents[1] / "viewer"))

import msgspec
import pygame
import pytest
from live_commands import finish, start, train, until
from live_windows import TINY, down, key_event, moved, post, up
from viewer_views import MESSAGES, STATUS, a_learning, docked, ground

from ecs_rl.errors import CommandError
from ecs_rl.viewer.frame_codec import Frame
from ecs_rl.viewer.live.screen import NoDisplay, Screen
from ecs_rl.viewer.live.screen_process import UNDER_WAY, News, ScreenProcess, ScreenServer
from ecs_rl.viewer.mistakes import DisplayLost
from ecs_rl.viewer.panel import Gesture
from ecs_rl.viewer.panels.learning import DrawerView

SIZE = (960, 540)
DUMMY = {"SDL_VIDEODRIVER": "dummy"}


@pytest.fixture
def display() -> Iterator[ScreenProcess]:
    opened = ScreenProcess.start("test", SIZE)
    yield opened
    opened.close()


def both_ends() -> tuple[ScreenServer, ScreenProcess]:
    """Return a screen in this process, and the other end of its connection."""
    here, there = socketpair()
    server = ScreenServer(Connection(there.detach()), Screen.open("test", SIZE))
    pygame.event.clear()
    return server, ScreenProcess(here)


def frame_of(size: tuple[int, int] = SIZE, **panels: Any) -> Frame:
    return Frame(size, views=MESSAGES | docked() | ground() | panels)


def wait_for(happened: Callable[[], object], seconds: float = 300.0) -> None:
    end = monotonic() + seconds
    while not happened():
        assert monotonic() < end, "it never happened"
        sleep(0.005)


def show(display: ScreenProcess) -> None:
    """Draw a frame, and wait until it is shown."""
    before = len(display.shown)
    display.show(frame_of(display.size))
    wait_for(lambda: display.inputs() is not None and len(display.shown) > before)


def pid_of(display: ScreenProcess) -> int:
    assert display._program is not None
    return display._program.pid


def test_the_program_draws_what_a_display_in_this_process_draws(display: ScreenProcess) -> None:
    ours = Screen.open("test", SIZE)
    assert (display.driver, display.size, display.seen) == ("dummy", SIZE, False)
    for frame in (frame_of(), frame_of(**ground(7))):
        before = len(display.shown)
        display.show(frame)
        wait_for(lambda: display.inputs() is not None and len(display.shown) > before)  # noqa: B023
        ours.show(frame)
        here, there = ours.picture(), display.picture()
        assert pygame.image.tobytes(here, "RGB") == pygame.image.tobytes(there, "RGB")
    ours.close()


def test_no_more_frames_are_made_than_it_can_draw(display: ScreenProcess) -> None:
    for _ in range(UNDER_WAY):
        assert display.ready
        display.show(frame_of())
    assert not display.ready
    wait_for(lambda: display.inputs() is not None and display.ready)
    assert len(display.shown) >= 1
    assert list(display.shown) == sorted(display.shown)


def test_what_the_user_does_arrives_as_it_happened() -> None:
    screen, display = both_ends()
    display.show(frame_of())
    wait_for(lambda: screen.step() or display.inputs() is None or display.shown)  # type: ignore[func-returns-value]
    word = next(rect.center for rect, text in screen.screen.painter.canvas.texts() if text == STATUS.scene)
    post(key_event(pygame.K_l, "l"), down((3, 4)), moved(word, (5, -6)))
    screen.step()
    *_, key, grab, drag = [
        each for each in display.inputs() if isinstance(each, Gesture) or getattr(each, "type", None) == pygame.KEYDOWN
    ]
    assert isinstance(key, pygame.event.Event)
    assert (key.type, key.key, key.unicode, key.mod) == (pygame.KEYDOWN, pygame.K_l, "l", 0)
    assert isinstance(grab, Gesture)
    assert isinstance(drag, Gesture)
    assert [(each.kind, each.hit.at) for each in (grab, drag)] == [("grab", (3, 4)), ("drag", word)]
    post(up(word))
    screen.step()
    *_, drop, point = [each for each in display.inputs() if isinstance(each, Gesture)]
    assert (drop.kind, point.kind, point.hit.at) == ("drop", "point", word)
    display.close()
    with pytest.raises(EOFError):
        screen.step()
    screen.screen.close()


def test_after_a_change_of_size_everything_is_drawn_anew_and_no_frame_of_before() -> None:
    screen, display = both_ends()

    def shown(frames: int) -> bytes:
        wait_for(lambda: screen.step() or display.inputs() is None or len(display.shown) == frames)  # type: ignore[func-returns-value]
        return pygame.image.tobytes(screen.screen.picture().subsurface((0, 0, 400, 30)), "RGB")

    display.show(frame_of())
    before = shown(1)
    display.toggle_full_screen()
    display.show(frame_of())  # made before this end knows of it
    assert not any(shown(2)), "it would not fit"
    assert display.is_full
    assert display.size == pygame.display.get_desktop_sizes()[0] == screen.screen.size
    display.toggle_full_screen()
    wait_for(lambda: screen.step() or display.inputs() is None or display.size == SIZE)  # type: ignore[func-returns-value]
    display.show(frame_of())
    assert shown(3) == before
    display.close()
    screen.screen.close()


def test_a_picture_that_is_taken_while_the_size_changes_has_the_size_it_was_taken_at() -> None:
    screen, display = both_ends()
    news = News((5, 4), picture=((2, 1), bytes(6)))
    screen.connection.send_bytes(msgspec.msgpack.encode(news))
    assert display.picture().get_size() == (2, 1)
    assert display.size == (5, 4)
    display.close()
    screen.screen.close()


def test_a_screen_that_does_not_answer_stops_nothing_and_is_told_of_once(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("PROMPT", "STILL"):
        monkeypatch.setattr(f"ecs_rl.viewer.live.screen_process.{name}", 0.05)
    screen, display = both_ends()
    for _ in range(UNDER_WAY):
        display.show(frame_of(learning=DrawerView(a_learning(200_000))))
    assert not display.ready
    with pytest.raises(CommandError, match="the program that draws the window does not answer"):
        display.picture()
    for _ in range(3):
        sleep(0.06)
        display.inputs()
    assert capsys.readouterr().err.count("does not answer: what trains goes on") == 1
    display.close()
    screen.screen.close()


def test_the_reason_for_which_a_window_is_gone_is_told() -> None:
    screen, display = both_ends()
    news = News(SIZE, lost="the connection to the screen broke")
    screen.connection.send_bytes(msgspec.msgpack.encode(news))
    screen.connection.close()
    display.show(frame_of())
    with pytest.raises(DisplayLost, match="the connection to the screen broke"):
        display.inputs()
    display.close()
    screen.screen.close()


def test_a_program_that_ends_is_a_window_that_is_gone(display: ScreenProcess) -> None:
    show(display)
    os.kill(pid_of(display), signal.SIGKILL)
    with pytest.raises(DisplayLost, match="the program that draws has ended"):
        wait_for(lambda: display.inputs() is None)


def test_it_starts_whatever_lies_in_the_folder_and_on_the_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "json.py").write_text("raise SystemExit(1)")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path / "nothing"))
    sys.path.append(tmp_path)  # type: ignore[arg-type]
    try:
        ScreenProcess.start("test", SIZE).close()
    finally:
        sys.path.remove(tmp_path)  # type: ignore[arg-type]


def test_it_is_gone_when_whoever_started_it_is_killed(tmp_path: Path) -> None:
    program = (
        "import time; from ecs_rl.viewer.live.screen_process import ScreenProcess\n"
        "print(ScreenProcess.start('test', (640, 360))._program.pid, flush=True); time.sleep(60)"
    )
    parent = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    child = int(parent.stdout.readline())
    parent.kill()
    parent.communicate()
    wait_for(lambda: not Path(f"/proc/{child}").exists() or "\nState:\tZ" in Path(f"/proc/{child}/status").read_text())


def test_it_ends_with_whoever_started_it_and_by_no_signal_that_is_meant_for_that(display: ScreenProcess) -> None:
    for each in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        os.kill(pid_of(display), each)
    show(display)
    display._socket.shutdown(SHUT_RDWR)
    assert display._program is not None
    assert display._program.wait(20) == 0


def test_a_screen_that_is_not_there_is_told_in_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SDL_VIDEODRIVER", "nonsense")
    with pytest.raises(NoDisplay, match="there is no display to open a window on"):
        ScreenProcess.start("test")
    monkeypatch.setattr("ecs_rl.viewer.live.screen_process.PROGRAM", "raise SystemExit(1)")
    with pytest.raises(NoDisplay, match="the program that draws has not started"):
        ScreenProcess.start("test")
    for name in ("SDL_VIDEODRIVER", "DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(NoDisplay, match="there is no display to open a window on"):
        ScreenProcess.start("test")


def test_a_training_goes_on_to_the_same_end_when_the_program_that_draws_is_killed(tmp_path: Path) -> None:
    args = ("balance", *TINY, "--steps", "40k", "--eval-every", "10k", "--checkpoint-every", "10k", "--json")
    alone = train(*args, "--runs", tmp_path / "alone")
    process = start("train.py", *args, "--watch", "--runs", tmp_path / "watched", screen=DUMMY)
    until(lambda: any(path.stat().st_size for path in tmp_path.rglob("watched/**/metrics.jsonl")), process)
    (child,) = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    os.kill(int(child), signal.SIGKILL)
    told = finish(process)
    assert told.code == 0, told.err
    assert told.err.count("the window is gone (the program that draws has ended): training goes on without it") == 1
    assert told.sha == alone.sha
