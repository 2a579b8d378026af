"""`--against FILE.py:FUNCTION`: somebody's own function is the opponent, by what it sees; and what is no such thing."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from command_runs import TINY, Told, play, rows, train
from score_scenes import DUEL, LEVERS_DUEL, SHARED_DUEL

from ecs_rl.loading import load_scene
from ecs_rl.training.scripted import load_script
from ecs_rl.worlds import make_world

SCRIPTS = '''
"""Opponents in a duel of two carts, who are ahead if they are further right."""

import numpy as np

LIMIT = 1.0


def away(seen):
    """Always go right."""
    return 1


def late(seen):
    """Go right once the other one is ahead."""
    return np.where(seen["one x"] > seen["x"], 1, 0)


def by_number(seen):
    return (seen.array[:, 2] > seen.array[:, 0]).astype(int)


def third(seen):
    return np.full(len(seen["x"]), 2)


def levers(seen):
    return np.stack([np.zeros(len(seen["vx"])), np.clip(seen["vx"], -LIMIT, LIMIT)], axis=1)


def nan(seen):
    return np.full((len(seen["x"]), 2), np.nan)


def misspelt(seen):
    return seen["ones x"]


def broken(seen):
    return undefined + 1


def meddles(seen):
    seen["x"][:] = 0.0
    return 0
'''


@pytest.fixture
def duel(tmp_path: Path) -> Path:
    path = tmp_path / "duel.py"
    path.write_text(DUEL)
    (tmp_path / "foes.py").write_text(SCRIPTS)
    return path


def trained(scene: Path, *more: object, runs: str = "runs") -> Told:
    told = train(scene, *TINY, "--runs", scene.parent / runs, "--json", *more)
    assert told.code == 0, told.err
    return told


def played(run: Path, scene: Path, opponent: object, episodes: int = 20) -> Told:
    more = ("--runs", scene.parent / "runs", "--episodes", episodes)
    return play(run, "--headless", "--json", "--scene", scene, "--against", opponent, *more)


def test_a_script_that_goes_the_right_way_beats_what_a_random_one_does_not(duel: Path) -> None:
    run = trained(duel).run
    scripted, random = (played(run, duel, who).json for who in (f"{duel.parent}/foes.py:away", "random"))
    assert scripted["losses"] > random["losses"]
    assert scripted["mean_return"] < random["mean_return"]


def test_what_is_seen_has_names_with_and_without_the_agents_own_and_is_an_array(duel: Path) -> None:
    run = trained(duel).run
    by_name, by_number = (played(run, duel, f"{duel.parent}/foes.py:{who}").json for who in ("late", "by_number"))
    assert by_name["returns"] == by_number["returns"]
    assert by_name["returns"] == played(run, duel, f"two={duel.parent}/foes.py:late").json["returns"]


def test_a_script_sees_all_rows_at_once_and_sets_levers(duel: Path) -> None:
    duel.write_text(LEVERS_DUEL)
    world = make_world(load_scene(str(duel)), arenas=5, policies={})
    decide = load_script("--against", f"{duel.parent}/foes.py:levers").policy(world.batches[1])
    seen = np.array([[9.0, 0.5, 9.0], [9.0, -3.0, 9.0]], np.float32)
    action = decide(seen, np.zeros((2, 0), np.float32))
    assert isinstance(action, np.ndarray)
    assert action.dtype == np.float32
    assert action.tolist() == [[0.0, 0.5], [0.0, -1.0]]
    world.close()


def test_evaluations_of_a_training_play_against_a_script_too(duel: Path) -> None:
    told = trained(duel, "--against", f"{duel.parent}/foes.py:away")
    means: dict[int, list[float]] = {}
    for row in rows(told.run, "eval_episodes"):
        assert row["total_reward"] == row["extras"]["return/one"]
        means.setdefault(row["total_steps_at_eval"], []).append(row["total_reward"])
    again = played(told.run, duel, f"{duel.parent}/foes.py:away", 3).json
    assert again["returns"] == means[told.json["best_step"]]


def test_two_agents_that_share_a_policy_may_play_against_each_other(duel: Path) -> None:
    duel.write_text(SHARED_DUEL)
    run = trained(duel, "--against", "random").run
    random, scripted = (played(run, duel, who).json for who in ("random", f"{duel.parent}/foes.py:away"))
    assert scripted["mean_return"] < random["mean_return"]
    for row in rows(run, "eval_episodes"):
        assert row["total_reward"] == row["extras"]["return/one"]


def test_a_policy_that_two_agents_share_plays_its_copy_as_it_plays_itself(duel: Path) -> None:
    duel.write_text(SHARED_DUEL)
    run = trained(duel).run
    alone = [row["extras"]["return/one"] for row in rows(run, "eval_episodes") if row["total_steps_at_eval"] == 3000]
    latest = run / "checkpoints" / "latest.safetensors"
    told = play(latest, "--headless", "--json", "--scene", duel, "--against", latest, "--episodes", 3)
    assert told.json["returns"] == alone
    assert any(alone)


@pytest.mark.parametrize(
    ("scene", "who", "message"),
    [
        (DUEL, "third", "chose 2..2 of 2 options; there are: choice (left, right)"),
        (DUEL, "misspelt", "nothing that is seen is called 'ones x'; did you mean 'one x'?"),
        (DUEL, "broken", "name 'undefined' is not defined"),
        (DUEL, "meddles", "read-only"),
        (LEVERS_DUEL, "nan", "set the lever 'left' to nan, not a finite number, in row 0"),
        (DUEL, "LIMIT", "'LIMIT' is no function, but 1.0"),
        (DUEL, "nobody", "there is no 'nobody' in that file"),
        (LEVERS_DUEL, "late", "must set (20, 2) levers, not (20,) of float32"),
    ],
)
def test_a_script_that_is_none_is_told_in_one_line(duel: Path, scene: str, who: str, message: str) -> None:
    duel.write_text(scene)
    told = played(trained(duel).run, duel, f"{duel.parent}/foes.py:{who}")
    assert (told.code, len(told.err.splitlines())) == (2, 1), told.err
    assert message in told.err
    assert "foes.py" in told.err


def test_a_script_whose_file_is_not_there_is_told_before_anything_is_written(duel: Path) -> None:
    told = train(duel, *TINY, "--runs", duel.parent / "none", "--against", "nobody.py:late")
    assert (told.code, len(told.err.splitlines())) == (2, 1)
    assert "there is no file nobody.py: check the path" in told.err
    assert not (duel.parent / "none").exists()


def test_a_run_that_was_against_a_script_does_not_run_it_because_it_says_so(duel: Path) -> None:
    script = duel.parent / "foes.py"
    more = ("--against", f"{script}:away", "--checkpoint-every", 500, "--schedule-steps", "3k", "--threads", 1)
    whole = trained(duel, *more, runs="whole")
    half = trained(duel, *more, "--steps", 1500).run
    text, ran = script.read_text(), duel.parent / "ran"
    script.write_text(f"open({str(ran)!r}, 'w').write('yes')\n{text}")
    told = train(duel, "--resume", half, "--steps", "3k")
    assert (told.code, len(told.err.splitlines())) == (2, 1)
    assert f"was started with --against {script}:away, and no run names a program to be run" in told.err
    assert "name it again" in told.err
    assert not ran.exists()
    script.write_text(text)
    both = trained(duel, "--resume", half, "--steps", "3k", "--against", f"{script}:away")
    assert both.sha == whole.sha
    assert rows(both.run, "eval_episodes") == rows(whole.run, "eval_episodes")


def test_a_script_that_was_moved_is_the_same_opponent(duel: Path) -> None:
    more = ("--checkpoint-every", 500, "--schedule-steps", "3k", "--threads", 1)
    whole = trained(duel, *more, "--against", f"{duel.parent}/foes.py:away", runs="whole")
    half = trained(duel, *more, "--against", f"{duel.parent}/foes.py:away", "--steps", 1500).run
    elsewhere = duel.parent / "elsewhere"
    elsewhere.mkdir()
    moved = (duel.parent / "foes.py").rename(elsewhere / "foes.py")
    both = trained(duel, "--resume", half, "--steps", "3k", "--against", f"{moved}:away")
    assert both.sha == whole.sha
