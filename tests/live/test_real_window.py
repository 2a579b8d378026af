"""A real window on a real X server, which nobody sees: skipped where Xvfb is not installed."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from live_commands import ROOT, Said, finish, play, start, train, until
from live_windows import PPO

pytestmark = pytest.mark.skipif(shutil.which("Xvfb") is None, reason="Xvfb is not installed: apt install xvfb")

ARGS = ("balance", "--arenas", "8", "--steps", "20k", "--eval-every", "10k", "--eval-episodes", "2", *PPO, "--json")


@dataclass
class Screen:
    """An X server of our own."""

    process: subprocess.Popen[bytes]
    name: str

    @property
    def env(self) -> dict[str, str]:
        return {"DISPLAY": self.name, "SDL_VIDEODRIVER": "x11"}

    def windows(self, process: subprocess.Popen[str]) -> list[str]:
        """Return the windows of a training, which a process of its own draws."""
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        return [window for child in children for window in self._do("search", "--pid", child).split()]

    def press(self, window: str, *keys: str) -> None:
        for key in keys:
            self._do("windowfocus", window, "key", key)

    def _do(self, *command: str) -> str:
        env = {**os.environ, **self.env}
        done = subprocess.run(["xdotool", *command], env=env, capture_output=True, text=True, timeout=20, check=False)
        return done.stdout


@pytest.fixture
def screen() -> Iterator[Screen]:
    """Start an X server on the first number that is free.

    Without `-noreset` the server resets whenever its last client leaves, which every call of xdotool may be,
    and a window that connects at that moment is turned away.
    """
    read, write = os.pipe()
    command = ["Xvfb", "-displayfd", str(write), "-screen", "0", "1280x800x24", "-nolisten", "tcp", "-noreset"]
    process = subprocess.Popen(command, pass_fds=[write], stderr=subprocess.DEVNULL)
    os.close(write)
    with os.fdopen(read) as pipe:
        number = pipe.readline().strip()
    if not number:
        process.wait()
        pytest.skip("Xvfb is installed and does not start here")
    yield Screen(process, f":{number}")
    process.kill()
    process.wait()


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Said:
    return train(*ARGS, "--runs", tmp_path_factory.mktemp("alone"))


def test_a_real_window_trains_to_the_same_end(screen: Screen, alone: Said, tmp_path: Path) -> None:
    told = finish(start("train.py", *ARGS, "--watch", "--runs", tmp_path, screen=screen.env))
    assert told.code == 0, told.err
    assert (told.json["status"], told.sha) == ("finished", alone.sha)
    assert "the window is gone" not in told.err


@pytest.mark.skipif(shutil.which("xdotool") is None, reason="xdotool is not installed: no keys can be pressed")
def test_keys_reach_a_real_window_and_closing_it_saves(screen: Screen, tmp_path: Path) -> None:
    process = start("train.py", *ARGS, "--steps", "5M", "--watch", "--runs", tmp_path, screen=screen.env)
    until(lambda: screen.windows(process), process)
    until(lambda: any(path.stat().st_size for path in tmp_path.rglob("metrics.jsonl")), process)
    window = screen.windows(process)[-1]
    screen.press(window, "space", "Right", "g", "bracketright", "Return", "p", "F1", "ctrl+p")
    until(lambda: list(tmp_path.rglob("window_*.png")), process)
    screen.press(window, "ctrl+s")
    until(lambda: list(tmp_path.rglob("step_*.safetensors")), process)
    screen.press(window, "ctrl+q")
    told = finish(process)
    assert told.code == 0, told.err
    assert told.json["status"] == "interrupted"
    assert f"--resume {told.run}" in told.err


def test_when_the_x_server_is_killed_training_goes_on_and_the_process_ends(
    screen: Screen, alone: Said, tmp_path: Path
) -> None:
    process = start("train.py", *ARGS, "--watch", "--runs", tmp_path, screen=screen.env)
    until(lambda: any(path.stat().st_size for path in tmp_path.rglob("metrics.jsonl")), process)
    screen.process.kill()
    screen.process.wait()
    told = finish(process)  # it must not hang at its exit
    assert told.code == 0, told.err
    assert told.err.count("the window is gone") == 1
    assert "training goes on without it" in told.err
    assert "Traceback" not in told.err
    assert (told.json["status"], told.sha) == ("finished", alone.sha)


@pytest.mark.slow
def test_play_in_a_real_window_tells_the_same_episodes(screen: Screen, alone: Said) -> None:
    headless = play(alone.run, "--headless", "--episodes", 2, "--json")
    told = finish(start("play.py", alone.run, "--episodes", 2, "--speed", 64, "--json", screen=screen.env))
    assert told == Said(0, headless.out, "")


FULL_SCREEN = """
import sys
import time

import pygame

from ecs_rl.viewer.live.screen import Display

display = Display("test", (900, 500))


def until(holds):
    end = time.monotonic() + 20
    while not holds() and time.monotonic() < end:
        display.events()
        display.flip()
        time.sleep(0.01)


until(lambda: pygame.display.get_window_position() != (0, 0))
for _ in range(2):
    place = pygame.display.get_window_position()
    display.toggle_full_screen()
    until(lambda: display.size == (1280, 800))
    full = display.size
    display.toggle_full_screen()
    until(lambda: display._settled_at == 0.0)  # the window manager has answered
    until(lambda: (display.size, pygame.display.get_window_position()) == ((900, 500), place))
    print(full, display.size, pygame.display.get_window_position() == place)
"""


@pytest.mark.skipif(not all(map(shutil.which, ("openbox", "xdotool"))), reason="needs openbox and xdotool")
def test_leaving_the_full_screen_brings_size_and_place_back(screen: Screen) -> None:
    env = {**os.environ, **screen.env, "PYTHONPATH": str(ROOT)}
    manager = subprocess.Popen(["openbox"], env=env, stderr=subprocess.DEVNULL, text=True)
    try:
        until(lambda: screen._do("get_num_desktops"), manager)  # it manages
        program = [sys.executable, "-c", FULL_SCREEN]
        done = subprocess.run(program, env=env, capture_output=True, text=True, timeout=120, check=False)
    finally:
        manager.kill()
        manager.wait()
    assert done.stdout.splitlines()[-2:] == ["(1280, 800) (900, 500) True"] * 2, done.stderr
    assert "forcibly resized" not in done.stderr
