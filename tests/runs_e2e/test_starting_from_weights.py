"""`--init-from`: a new run that begins with another run's policy, or a refusal that says what does not fit."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from command_runs import BALANCE, SMALL, TINY, Told, changed_balance, rows, train
from small_learners import DQN

AT_ONCE = ("--eval-every", 8, "--steps", 16, "--ppo.lr", "1e-12", "--ppo.no-normalise-observations", "--json")
"""The first evaluation comes after one tick, before anything could be learnt."""


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Told:
    runs = tmp_path_factory.mktemp("source")
    return train("balance", *TINY, "--ppo.no-normalise-observations", "--json", "--runs", runs)


@pytest.fixture(scope="module")
def best(source: Told) -> Path:
    return source.run / "checkpoints" / "best.safetensors"


def evaluated(run: Path, step: int) -> list[float]:
    return [row["total_reward"] for row in rows(run, "eval_episodes") if row["total_steps_at_eval"] == step]


def test_the_first_evaluation_equals_the_one_of_the_weights(source: Told, best: Path, tmp_path: Path) -> None:
    args = ("balance", *TINY, *AT_ONCE, "--seed", 9, "--runs", tmp_path)
    begun, afresh = train(*args, "--init-from", best), train(*args)
    assert begun.code == 0, begun.err
    wanted = evaluated(source.run, source.json["best_step"])
    assert evaluated(begun.run, 8) == wanted
    assert evaluated(afresh.run, 8) != wanted
    assert begun.json["steps"] == 16
    assert begun.run != source.run


def test_a_variant_of_the_scene_that_sees_and_does_the_same_may_start_from_it(best: Path, tmp_path: Path) -> None:
    scene = changed_balance(tmp_path / "heavy.py", "mass=0.1", "mass=0.12")
    assert train(scene, *TINY, *AT_ONCE, "--init-from", best, "--runs", tmp_path / "runs").code == 0


def refusal(told: Told, runs: Path) -> str:
    assert told.code == 3
    assert "Traceback" not in told.err
    assert told.out == ""
    assert not runs.exists()
    return told.err


def test_a_checkpoint_of_another_scene_is_refused_with_what_differs(best: Path, tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    told = train("swingup", *TINY, "--init-from", best, "--runs", runs)
    said = refusal(told, runs)
    assert f"{best} does not fit the scene 'swingup'" in said
    assert "'policy' sees ['pole angle'] there and " in said


def test_numbers_of_the_same_shape_but_another_meaning_are_refused(best: Path, tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    sees = "sees=[X(cart), Vx(cart)"
    turned = changed_balance(tmp_path / "turned.py", sees, "sees=[Vx(cart), X(cart)")
    assert "the same in another order" in refusal(train(turned, *TINY, "--init-from", best, "--runs", runs), runs)
    other = changed_balance(tmp_path / "other.py", "left=Push", "west=Push")
    assert "does ['left'] there and ['west'] here" in refusal(
        train(other, *TINY, "--init-from", best, "--runs", runs), runs
    )


def test_a_checkpoint_of_another_agent_is_refused_by_name(best: Path, tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    said = refusal(train("balance", *SMALL, *DQN, "--init-from", best, "--runs", runs), runs)
    assert "was made by ppo" in said
    assert "--agent ppo" in said


def test_networks_of_another_size_are_refused_with_both_sizes(best: Path, tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    said = refusal(train("balance", *TINY, "--ppo.hidden", 24, "--init-from", best, "--runs", runs), runs)
    assert "(16, 4)" in said
    assert "(24, 4)" in said


def test_a_damaged_missing_or_foreign_file_is_refused(best: Path, tmp_path: Path) -> None:
    runs, damaged = tmp_path / "runs", tmp_path / "damaged.safetensors"
    data = bytearray(best.read_bytes())
    data[len(data) // 2] ^= 1
    damaged.write_bytes(data)
    foreign = Path(shutil.copy(BALANCE, tmp_path / "foreign.safetensors"))
    for path, word in ((damaged, "damaged"), (foreign, "damaged"), (tmp_path / "none.safetensors", "cannot read")):
        said = refusal(train("balance", *TINY, "--init-from", path, "--runs", runs), runs)
        assert word in said
        assert str(path) in said
