"""Makes the README's pictures anew: `python tests/readme/make_pictures.py` (about a minute; needs no display).

It trains `lander` with its own recipe and takes: a still of the live window, one of the grid, and a gif of how the
policy learned. Nothing in them is staged; only the moment is chosen.
"""

from __future__ import annotations

import argparse
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

os.environ["SDL_VIDEODRIVER"] = "dummy"

import pygame

from ecs_rl.cli.plan import plan_of
from ecs_rl.tasks.assemble import assemble, recorded
from ecs_rl.training.training import Training
from ecs_rl.viewer.films.encoder import Film
from ecs_rl.viewer.films.studio import Title, film_episode, film_still
from ecs_rl.viewer.live.screen import Screen
from ecs_rl.viewer.live.watch import WatchWindow
from ecs_rl.viewer.live.window import Window
from ecs_rl.viewer.live_episode import LiveEpisode
from ecs_rl.viewer.panels.status import Status

PICTURES = Path(__file__).resolve().parents[2] / "assets" / "pictures"
SIZE = (1280, 720)
GIF_SIZE, GIF_FPS, GIF_COLOURS = (720, 405), 20.0, 96
MOST_BYTES = 2_000_000
REST = 1.0
"""Seconds for which the last picture of each part of the gif stays."""


@dataclass(frozen=True)
class Plan:
    """When the pictures are taken: parts of the whole training."""

    scene: str = "lander"
    steps: str = "1.5M"
    gif: tuple[float, ...] = (0.0, 0.06, 0.12, 0.4)
    still: float = 0.4
    size: tuple[int, int] = SIZE
    clip: float = 5.0
    """Seconds of each part of the gif."""


def make(folder: Path, plan: Plan) -> None:
    """Train once, and write all pictures on the way."""
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as runs, window_around(plan, Path(runs)) as (training, window):
        with Film(folder / "learning.gif", GIF_SIZE, GIF_FPS, colours=GIF_COLOURS) as film:
            for share in plan.gif:
                train_to(training, share)
                film_part(training, film, plan.clip)
        train_to(training, plan.still)
        status = window.panels["status"]
        assert isinstance(status, Status)
        status.steps_per_second = training.session.total_steps / training.seconds
        take(window, folder / "window.png")
        window.do("grid")
        for _ in range(8):
            training.tick()
            window.draw()
        pygame.image.save(window.screen.picture(), folder / "grid.png")
    size = (folder / "learning.gif").stat().st_size
    print(f"{folder}: learning.gif has {size:,} bytes")
    if size > MOST_BYTES:
        raise SystemExit(f"learning.gif must not have more than {MOST_BYTES:,} bytes: lower GIF_FPS or the clip")


@contextmanager
def window_around(plan: Plan, runs: Path) -> Iterator[tuple[Training, Window]]:
    """Give a new training and a window that shows it."""
    arguments = [plan.scene, "--runs", str(runs), "--steps", plan.steps]
    found, training = assemble(plan_of(arguments))
    run = recorded(training, found)
    opened = WatchWindow.open(training, Screen.open("ecs_rl", plan.size))
    try:
        yield training, opened.window(training, run.path, lambda: None)
    finally:
        training.stop = "the pictures are taken"
        training.close()
        opened.close()


def train_to(training: Training, share: float) -> None:
    """Train until this part of all steps is done."""
    while training.session.total_steps < share * training.steps_total:
        training.tick()
    assert training.session.run is not None
    training.session.run.flush()


def film_part(training: Training, film: Film, seconds: float) -> None:
    """Film the beginning of an episode as the present policy plays it."""
    steps, total = training.session.total_steps, training.steps_total
    show = LiveEpisode(training.world.scene, training.agents, seeds=training.evaluation.seeds)
    title = Title(training.world.scene.name, f"{steps:,} steps", steps / total)
    end = film.seconds + seconds
    for _ in film_episode([show], film, lambda picture: title.draw(picture, show), lambda: end):
        pass
    for _ in film_still(film, lambda picture: title.draw(picture, show), REST):
        pass
    show.close()


def take(window: Window, path: Path) -> None:
    """Write a still of the window at a moment when an engine fires."""
    for _ in range(2000):
        window.show.tick()
        stage = window.show.stage()
        if stage.forces and stage.tick >= 60 and not stage.ending:
            break
    window.draw()
    pygame.image.save(window.screen.picture(), path)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--to", type=Path, default=PICTURES, help="the folder they are written to")
    make(parser.parse_args().to, Plan())
