"""The picture of several seeds: what it is drawn from, and that it needs nothing but files."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pygame
import pytest

from ecs_rl.errors import StorageError
from ecs_rl.session.bootstrap import interval, iqm
from ecs_rl.viewer.comparison_pictures import REPETITIONS, SIZE, draw_seeds, evaluations, together
from ecs_rl.viewer.palette import MAIN_LINE, PANEL, mix
from ecs_rl.viewer.view import Series


def written(folder: Path, rows: dict[int, list[float]], score: str = "") -> Path:
    """Write the evaluation log of a run: for each step the results of its episodes."""
    folder.mkdir()
    lines = [
        {"total_steps_at_eval": step, "total_reward": 0.0 if score else x, "extras": {f"score/{score}": x}}
        for step, results in rows.items()
        for x in results
    ]
    (folder / "eval_episodes.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return folder


@pytest.mark.parametrize("score", ["", "coins"])
def test_the_curve_of_a_run_is_the_mean_of_each_of_its_evaluations(score: str, tmp_path: Path) -> None:
    found = evaluations(written(tmp_path / "run", {10: [1.0, 3.0], 20: [4.0, 8.0]}, score), score)
    assert (found.x.tolist(), found.y.tolist()) == ([10.0, 20.0], [2.0, 6.0])


def test_the_middle_and_the_band_are_those_of_the_runs_at_each_step_and_an_ended_run_stays_where_it_was() -> None:
    steps = np.array([10.0, 20.0, 30.0])
    short = Series("a", steps[:2], np.array([1.0, 9.0]))
    others = [Series("b", steps, np.array([0.0, 2.0, 4.0])), Series("c", steps, np.array([5.0, 5.0, 5.0]))]
    middle, band = together({0: short, 1: others[0], 2: others[1]})
    table = np.array([[1.0, 0.0, 5.0], [9.0, 2.0, 5.0], [9.0, 4.0, 5.0]])
    assert middle.x.tolist() == steps.tolist()
    assert middle.y.tolist() == iqm(table).tolist()
    assert np.array_equal(band, np.stack(interval(table, REPETITIONS), axis=1))
    assert (band[:, 0] <= middle.y).all()
    assert (middle.y <= band[:, 1]).all()


def test_the_picture_is_drawn_without_a_display(tmp_path: Path) -> None:
    runs = {
        seed: written(tmp_path / str(seed), {10: [0.0 + seed], 20: [5.0 + seed], 30: [9.0 - seed]}) for seed in (3, 4)
    }
    code = (
        "import sys; from pathlib import Path; from ecs_rl.viewer.comparison_pictures import draw_seeds; "
        "draw_seeds({3: Path(sys.argv[1]), 4: Path(sys.argv[2])}, Path(sys.argv[3]), title='t', solved_at=8.0)"
    )
    there = {name: value for name, value in os.environ.items() if name not in ("DISPLAY", "SDL_VIDEODRIVER")}
    out = tmp_path / "seeds.png"
    subprocess.run([sys.executable, "-c", code, *map(str, runs.values()), str(out)], env=there, check=True)
    picture = pygame.image.load(out)
    assert picture.get_size() == SIZE
    colours = pygame.surfarray.array3d(picture)[:, 100:].reshape(-1, 3).astype(int)  # below the legend
    assert (np.abs(colours - MAIN_LINE).sum(axis=1) < 60).sum() > 500, "the line of the interquartile mean"
    assert (colours == mix(PANEL, MAIN_LINE, 0.2)).all(axis=1).sum() > 5_000, "its band"
    again = tmp_path / "again.png"
    draw_seeds(runs, again, title="t", solved_at=8.0)
    assert again.read_bytes() == out.read_bytes()


def test_runs_without_an_evaluation_make_a_picture_that_says_so(tmp_path: Path) -> None:
    empty, evaluated = written(tmp_path / "empty", {}), written(tmp_path / "run", {10: [1.0]})
    draw_seeds({0: empty}, tmp_path / "none.png", title="t")
    draw_seeds({0: empty, 1: evaluated}, tmp_path / "one.png", title="t")
    assert (tmp_path / "none.png").read_bytes() != (tmp_path / "one.png").read_bytes()


def test_a_picture_that_cannot_be_written_says_where(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="nowhere"):
        draw_seeds({0: written(tmp_path / "run", {10: [1.0]})}, tmp_path / "nowhere" / "a.png", title="t")
