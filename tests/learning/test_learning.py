"""Learning is tested by learning: every recipe solves its scene, here on one seed, in the slow tests on ten."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from ecs_rl.cli.plan import plan_of
from ecs_rl.commands import play, train
from ecs_rl.tasks.assemble import assemble

RECIPES = [
    ("balance", "ppo"),
    ("balance", "dqn"),
    ("swingup", "ppo"),
    ("lander", "ppo"),
    ("gym:Pendulum-v1", "td3"),
]
LONG = [("balance", "sac"), ("lander", "dqn"), ("swingup", "sac"), ("lander", "sac"), ("swingup", "td3")]
"""Recipes that take 5 s of processor time or more; SAC and DQN learn smaller things in other tests."""


@dataclass(frozen=True)
class Solved:
    """How one training went."""

    step: int | None
    second: float | None
    best: float


def learn(scene: str, agent: str, seed: int, *more: str) -> Solved:
    """Train with the scene's own recipe until it is solved, or its steps are done."""
    if scene.startswith("gym:"):
        pytest.importorskip("gymnasium")
    _, training = assemble(plan_of([scene, "--agent", agent, "--seed", str(seed), "--until-solved", *more]))
    while not training.done:
        training.tick()
    training.close()
    return Solved(
        training.evaluation.solved_step, training.evaluation.solved_second, training.session.best_eval or -np.inf
    )


@pytest.mark.parametrize(("scene", "agent"), RECIPES)
def test_a_recipe_solves_its_scene(scene: str, agent: str) -> None:
    assert learn(scene, agent, 0).step is not None


@pytest.mark.slow
@pytest.mark.parametrize(
    ("scene", "arenas"), [("balance", 1024), ("swingup", 16), ("swingup", 1024), ("lander", 256), ("racer", 1024)]
)
def test_a_recipe_solves_its_scene_in_fewer_and_in_more_arenas(scene: str, arenas: int) -> None:
    assert learn(scene, "ppo", 0, "--arenas", str(arenas)).step is not None


@pytest.mark.slow
@pytest.mark.parametrize(("scene", "agent"), RECIPES + LONG)
def test_a_recipe_solves_its_scene_on_ten_seeds(scene: str, agent: str, capsys: pytest.CaptureFixture[str]) -> None:
    found = [learn(scene, agent, seed) for seed in range(10)]
    solved = [each for each in found if each.step is not None]
    seconds = np.array([each.second for each in solved], dtype=float)
    steps = np.array([each.step for each in solved], dtype=float)
    with capsys.disabled():
        print(
            f"\n{scene} {agent}: solved {len(solved)}/10, median {np.median(seconds):.2f} s (mean {seconds.mean():.2f}"
            f" ± {seconds.std():.2f}), steps {np.median(steps):,.0f} (mean {steps.mean():,.0f} ± {steps.std():,.0f})"
        )
    assert len(solved) == 10


@pytest.mark.slow
@pytest.mark.parametrize("more", [(), ("--dqn.n-step", "3"), ("--dqn.priority", "0.6")], ids=" ".join)
def test_dqn_solves_balance_by_quantiles_as_by_means_on_five_seeds(
    more: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    for quantiles in ("8", "0"):
        trainings = [learn("balance", "dqn", seed, "--dqn.quantiles", quantiles, *more) for seed in range(5)]
        steps = np.array([training.step or np.nan for training in trainings])
        with capsys.disabled():
            name = " ".join(("balance dqn", *more))
            print(f"\n{name}, {quantiles} quantiles: steps {steps.mean():,.0f} ± {steps.std():,.0f}")
        assert np.isfinite(steps).all()


@pytest.mark.slow
@pytest.mark.parametrize(("scene", "seeds"), [("balance", 10), ("lander", 5)])
def test_dqn_has_forgotten_nothing_at_the_end_of_a_full_run(
    scene: str, seeds: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """`best` is the luckiest of many evaluations of 20 episodes, so both play 200 others, the same for both."""
    shares = []
    for seed in range(seeds):
        to = ["--runs", str(tmp_path), "--name", f"seed{seed}"]
        assert train.main([scene, "--agent", "dqn", "--seed", str(seed), *to]) == 0
        (run,) = (tmp_path / f"seed{seed}" / "v1").iterdir()
        capsys.readouterr()
        compared = [str(run), "--compare", "best", "latest", "--headless", "--episodes", "200", "--seed", "50000"]
        assert play.main([*compared, "--json"]) == 0
        best, latest = (each["mean_return"] for each in json.loads(capsys.readouterr().out)["compare"])
        shares.append(latest / best)
    with capsys.disabled():
        told = f"the last policy is worth {np.mean(shares):.1%} of the best one ({np.min(shares):.1%} at least)"
        print(f"\n{scene} dqn: {told}")
    assert min(shares) > 0.95
