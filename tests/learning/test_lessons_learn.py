"""A lamp that is hardly ever found from nothing is found where the way to it grows as the moth gets better."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from lesson_scenes import FAR, LAMP

from ecs_rl.cli.plan import plan_of
from ecs_rl.tasks.assemble import assemble

STEPS = 80_000


def best_of_full_task(folder: Path, text: str, seed: int, steps: int) -> tuple[float, int]:
    """Return the best evaluation, which is of the full task, and how many steps the lesson has taken (0 without)."""
    path = folder / "lamp.py"
    path.write_text(text)
    argv = [str(path), "--seed", str(seed), "--threads", "1", "--steps", str(steps), "--schedule-steps", "150k"]
    training = assemble(plan_of([*argv, "--eval-every", "10k"]))[1]
    while not training.done:
        training.tick()
    best, lessons = training.evaluation.trend.best, training.lessons.summary()
    training.close()
    assert best is not None
    return best, lessons["way"]["step"] if lessons else 0


def test_a_far_lamp_is_found_by_lessons_and_hardly_from_nothing(tmp_path: Path) -> None:
    taught, steps = best_of_full_task(tmp_path, LAMP, 0, STEPS)
    assert steps >= 6
    assert taught >= 0.9
    assert best_of_full_task(tmp_path, FAR, 0, STEPS)[0] <= 0.3


@pytest.mark.slow
def test_five_of_five_seeds_find_it_by_lessons_and_none_from_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    taught = [best_of_full_task(tmp_path, LAMP, seed, 150_000) for seed in range(5)]
    alone = [best_of_full_task(tmp_path, FAR, seed, 150_000)[0] for seed in range(5)]
    with capsys.disabled():
        for name, found in (("by lessons", [best for best, _ in taught]), ("from nothing", alone)):
            print(f"\n{name}: {np.mean(found):.2f} +- {np.std(found):.2f} of lamps found, {found}")
    assert [step for _, step in taught] == [7] * 5
    assert min(best for best, _ in taught) >= 0.9
    assert max(alone) <= 0.3
