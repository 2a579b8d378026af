"""One process and two, as learning curves: `python tests/bench/bench_curves.py [SCENE ...] [--seeds 5] [--to DIR]`.

Each scene is trained by its recipe, all of it, with several seeds: by one process, and by `--workers 2` of one thread
each. Printed are the means of the evaluations by step and how many seeds solved it; drawn is a picture of each scene
with the interquartile mean of both and their 95 % bootstrap bands. Where things collide the bits of two processes are
others than those of one, and so the curves can only be alike.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pygame
from rich.console import Console
from rich.table import Table

from ecs_rl.arrays import F64
from ecs_rl.loading import load_scene
from ecs_rl.viewer.canvas import LARGE, SMALL, Canvas
from ecs_rl.viewer.comparison_pictures import SCALE, SIZE, evaluations, together
from ecs_rl.viewer.palette import FAINT, MAIN_LINE, PANEL, SECOND_LINE
from ecs_rl.viewer.plots import Axes, draw_axes, draw_band, draw_line, reach
from ecs_rl.viewer.view import Series

ROOT = Path(__file__).resolve().parents[2]
WAYS = {"one process": (), "two processes": ("--workers", "2")}
COLOURS = {"one process": MAIN_LINE, "two processes": SECOND_LINE}
ASSETS = ROOT / "assets" / "pictures"
Curve = tuple[Series, F64]


def trained(scene: str, seed: int, runs: Path, *more: str) -> dict[str, Any]:
    """Return what `train.py` tells of a training on one thread."""
    flags = ["--seed", str(seed), "--threads", "1", "--runs", str(runs), "--json", *more]
    command = [sys.executable, "train.py", scene, *flags]
    done = subprocess.run(command, cwd=ROOT, check=True, text=True, capture_output=True)
    told: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return told


def draw(title: str, solved_at: float, curves: Mapping[str, Curve], path: Path) -> None:
    """Draw the curves of all ways into a PNG."""
    surface, canvas = pygame.Surface(SIZE), Canvas(SCALE)
    surface.fill(PANEL)
    w, h = SIZE
    edge = canvas.px(20)
    canvas.write(surface, title, (edge, canvas.px(22)), size=LARGE)
    x = edge
    for way in curves:
        x += canvas.write(surface, way, (x, canvas.px(44)), size=SMALL, colour=COLOURS[way]).w + canvas.px(16)
    area = pygame.Rect(edge + canvas.px(40), canvas.px(66), w - 2 * edge - canvas.px(40), h - canvas.px(106))
    last = max(float(middle.x[-1]) for middle, _ in curves.values())
    axes = Axes(area, (0.0, last), reach([*(band.ravel() for _, band in curves.values()), np.array([solved_at])]))
    draw_axes(surface, canvas, axes, x_most=10, y_most=8, x_unit=" steps")
    draw_line(surface, axes, Series("solved", np.array([0.0, last]), np.full(2, solved_at)), FAINT, 1)
    for way, (middle, band) in curves.items():
        low, high = band.T
        draw_band(surface, axes, Series(way, middle.x, (low + high) / 2, (high - low) / 2), COLOURS[way])
    for way, (middle, _) in curves.items():
        draw_line(surface, axes, middle, COLOURS[way], canvas.px(2))
    pygame.image.save(surface, path)


def main() -> None:
    """Train, print and draw."""
    parser = argparse.ArgumentParser(description="One process and two, as learning curves.")
    parser.add_argument("scenes", nargs="*", default=["lander", "walker"])
    parser.add_argument("--seeds", type=int, default=5, help="trainings of each way (default: 5)")
    parser.add_argument("--to", type=Path, default=ASSETS, help="the folder of the pictures (default: assets/pictures)")
    asked = parser.parse_args()
    for name in asked.scenes:
        scene, curves = load_scene(name), dict[str, Curve]()
        table = Table("way", "solved", "evaluation at: steps, mean", box=None)
        with tempfile.TemporaryDirectory() as folder:
            for way, flags in WAYS.items():
                told = [trained(name, seed, Path(folder), *flags) for seed in range(asked.seeds)]
                found = {seed: evaluations(Path(each["run"]), scene.score) for seed, each in enumerate(told)}
                curves[way] = middle, _ = together(found)
                solved = sum(each["solved_step"] is not None for each in told)
                rows = ", ".join(f"{x / 1e3:.0f}k {y:.0f}" for x, y in zip(middle.x, middle.y, strict=True))
                table.add_row(way, f"{solved} of {asked.seeds}", rows)
                Console(width=200).print(f"{name}: {way} is done", highlight=False)
        Console(width=200).print(table)
        draw(f"{name}, {asked.seeds} seeds", scene.solved_at or 0.0, curves, asked.to / f"processes_{name}.png")


if __name__ == "__main__":
    main()
