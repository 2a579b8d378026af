"""Three landings of a scripted pilot bring the lander to its first good return in half the steps, or fewer."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from lander_pilot import SHOWN, landings

from ecs_rl.cli.plan import plan_of
from ecs_rl.runs.demonstrations import save_demonstrations
from ecs_rl.tasks.assemble import assemble
from ecs_rl.training.imitate import imitate
from ecs_rl.training.training import Training

LEAST = 30
"""Episodes that must have ended before their mean return counts; it is that of the last hundred at most."""


def training(seed: int, steps: int, agent: str = "ppo") -> Training:
    """Return a training of the lander by its own recipe, which is evaluated only at its end."""
    argv = ["lander", "--agent", agent, "--seed", str(seed), "--threads", "1", "--eval-every", "100M"]
    ready = assemble(plan_of(argv))[1]
    ready.session.with_max_steps(steps)  # the schedule stays that of the recipe
    return ready


def steps_to_zero(seed: int, most: int, demonstration: Path | None = None) -> int | None:
    """Return after how many steps the newest training episodes came to 0 on average, None if they never did."""
    found, done = training(seed, most), None
    if demonstration is not None:
        imitate(found, demonstration)
    while done is None and not found.session.is_done:
        found.tick()
        mean = found.session.stats_summary()["mean_return"]
        if found.session.total_episodes >= LEAST and mean is not None and mean >= 0.0:
            done = found.session.total_steps
    found.evaluator.close()
    found.world.close()
    return done


@pytest.fixture(scope="module")
def three(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("shown") / "three.demo"
    shown = landings()
    assert len(shown.episodes) == len(SHOWN)
    assert min(episode.result for episode in shown.episodes) > 200  # each is a landing
    save_demonstrations(path, shown)
    return path


def test_three_landings_bring_the_lander_above_zero_within_twenty_thousand_steps(three: Path) -> None:
    steps = steps_to_zero(0, 22_000, three)
    assert steps is not None
    assert steps <= 20_000


@pytest.mark.slow
def test_three_landings_bring_it_to_zero_in_half_the_steps_of_learning_from_nothing_on_five_seeds(
    three: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shown = [steps_to_zero(seed, 200_000, three) for seed in range(5)]
    alone = [steps_to_zero(seed, 600_000) for seed in range(5)]
    with capsys.disabled():
        print(f"\nsteps to a return of 0: shown {shown}, from nothing {alone}")
    assert None not in shown
    for with_it, without in zip(shown, alone, strict=True):
        assert with_it is not None
        assert without is None or with_it <= without / 2
    assert np.median([s or 0 for s in shown]) <= np.median([a or 600_000 for a in alone]) / 2


def return_after(agent: str, seed: int, steps: int, demonstration: Path | None = None) -> float:
    """Return the mean return of all training episodes (the newest hundred) that have ended within so many steps."""
    found = training(seed, steps, agent)
    if demonstration is not None:
        imitate(found, demonstration)
    while not found.session.is_done:
        found.tick()
    mean, episodes = found.session.stats_summary()["mean_return"], found.session.total_episodes
    found.evaluator.close()
    found.world.close()
    assert episodes >= 10
    return mean


@pytest.mark.parametrize("agent", ["dqn", "sac"])
def test_learners_of_values_land_from_the_beginning_after_three_landings(agent: str, three: Path) -> None:
    assert return_after(agent, 0, 7_000, three) > 50


@pytest.mark.slow
@pytest.mark.parametrize("agent", ["dqn", "sac"])
def test_they_hold_on_to_what_they_were_shown_while_they_learn_on_five_seeds(
    agent: str, three: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shown = [return_after(agent, seed, 20_000, three) for seed in range(5)]
    alone = [return_after(agent, seed, 20_000) for seed in range(5)]
    with capsys.disabled():
        for what, found in (("shown", shown), ("from nothing", alone)):
            print(f"\n{agent}, {what}: {np.mean(found):.0f} +- {np.std(found):.0f} after 20,000 steps")
    assert min(shown) > max(0.0, *alone)
    assert np.median(shown) > 100
