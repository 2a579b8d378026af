"""A fixed opponent, random or a checkpoint, gives evaluations of a duel a meaning, and `play.py` wins and losses."""

from __future__ import annotations

from pathlib import Path

import pytest
from command_runs import TINY, Told, metadata, play, rows, train
from score_scenes import DUEL, LEVERS_DUEL, SCORED_DUEL

from ecs_rl.runs import read_checkpoint, sealed_pieces
from ecs_rl.training.opponent import standing


@pytest.fixture
def duel(tmp_path: Path) -> Path:
    path = tmp_path / "duel.py"
    path.write_text(DUEL)
    return path


def trained(scene: Path, *more: object, runs: str = "runs") -> Told:
    told = train(scene, *TINY, "--runs", scene.parent / runs, "--json", *more)
    assert told.code == 0, told.err
    return told


def played(run: Path, scene: Path, *more: object) -> Told:
    told = play(run, "--headless", "--json", "--scene", scene, "--runs", scene.parent / "runs", *more)
    assert told.code == 0, told.err
    return told


def test_against_a_fixed_opponent_the_best_is_the_best_and_its_return_is_the_first_policys(duel: Path) -> None:
    told = trained(duel, "--against", "random")
    means: dict[int, list[float]] = {}
    for row in rows(told.run, "eval_episodes"):
        own, theirs = row["extras"]["return/one"], row["extras"]["return/two"]
        assert row["total_reward"] == own == pytest.approx(-theirs)
        means.setdefault(row["total_steps_at_eval"], []).append(own)
    best = max(means, key=lambda step: (sum(means[step]), step))  # of equals the later one
    assert told.json["best_step"] == best
    assert told.json["best_eval"] == pytest.approx(sum(means[best]) / 3)
    again = played(told.run, duel, "--against", "random", "--episodes", 3).json
    assert again["returns"] == means[best]
    assert again["mean_return"] == told.json["best_eval"]


def test_training_itself_is_the_same_whoever_the_opponent_of_its_evaluations_is(duel: Path) -> None:
    plain, against = trained(duel), trained(duel, "--against", "random", runs="others")
    assert plain.sha == against.sha
    assert rows(plain.run, "train_episodes") == rows(against.run, "train_episodes")
    assert rows(plain.run, "eval_episodes") != rows(against.run, "eval_episodes")


def test_play_counts_wins_draws_and_losses_by_own_return(duel: Path) -> None:
    run = trained(duel).run
    found = played(run, duel, "--against", "random", "--episodes", 30).json
    assert found["wins"] == sum(value > 0 for value in found["returns"])
    assert found["losses"] == sum(value < 0 for value in found["returns"])
    assert found["wins"] + found["draws"] + found["losses"] == 30
    assert 0 <= found["low"] < found["wins"] / 30 < found["high"] <= 1
    assert not {"wins", "draws", "losses", "low", "high"} & played(run, duel).json.keys()
    told = play(run, "--headless", "--scene", duel, "--against", "random").out
    assert "against random: " in told
    assert "(95 % interval)" in told


def test_a_scene_with_a_score_is_won_where_the_score_is_above_zero(duel: Path) -> None:
    duel.write_text(SCORED_DUEL)
    found = played(trained(duel).run, duel, "--against", "random", "--episodes", 30).json
    assert found["wins"] == found["scores"].count(1.0)
    assert found["losses"] == found["scores"].count(-1.0)
    assert found["mean_score"] == pytest.approx((found["wins"] - found["losses"]) / 30)


def test_a_random_opponent_is_the_same_for_a_seed_however_many_episodes_there_are(duel: Path) -> None:
    run = trained(duel).run
    first, few = (played(run, duel, "--against", "random", "--episodes", n).json["returns"] for n in (12, 5))
    assert first[:5] == pytest.approx(few, rel=1e-6), "arenas that stand elsewhere round otherwise"
    assert first == played(run, duel, "--against", "random", "--episodes", 12).json["returns"]
    assert first != played(run, duel, "--against", "random", "--episodes", 12, "--seed", 5).json["returns"]


def test_a_policy_that_plays_a_copy_of_itself_plays_as_without_an_opponent(duel: Path) -> None:
    run = trained(duel).run
    best = run / "checkpoints" / "best.safetensors"
    alone = [row["extras"] for row in rows(run, "eval_episodes") if row["total_steps_at_eval"] == 3000]
    for opponent in (best, run, f"two={best}"):
        found = played(run, duel, "--against", opponent, "--episodes", 3).json
        assert found["returns"] == [extras["return/one"] for extras in alone]


def test_a_better_policy_beats_a_worse_one(duel: Path) -> None:
    recipe = ("--steps", "30k", "--eval-every", "10k", "--ppo.lr", 3e-3)
    long, short = trained(duel, *recipe), trained(duel, "--seed", 1, runs="others")
    found = played(long.run, duel, "--against", short.run, "--episodes", 40).json
    assert found["low"] > 0.5, found


def test_levers_play_at_random_too(duel: Path) -> None:
    duel.write_text(LEVERS_DUEL)
    assert played(trained(duel, "--against", "random").run, duel, "--against", "random").json["episodes"] == 20


def test_a_run_keeps_its_opponent_when_it_is_resumed_and_none_can_be_put_in_its_place(duel: Path) -> None:
    more = ("--against", "random", "--checkpoint-every", 500, "--schedule-steps", "3k", "--threads", 1)
    whole = trained(duel, *more, runs="whole")
    half = trained(duel, *more, "--steps", 1500)
    both = trained(duel, "--resume", half.run)
    assert both.sha == whole.sha
    assert rows(both.run, "eval_episodes") == rows(whole.run, "eval_episodes")
    assert metadata(both.run)["best_eval"] == metadata(whole.run)["best_eval"]
    told = train(duel, "--resume", both.run, "--against", f"two={both.run}", "--runs", duel.parent / "runs")
    assert told.code == 2
    assert "was started with random: leave it out to go on" in told.err


def test_a_recipe_may_name_an_opponent_and_the_run_tells_the_file_that_it_was(duel: Path) -> None:
    first = trained(duel).run
    duel.write_text(DUEL.replace("max_ticks=40", f"max_ticks=40, recipes={{'ppo': {{'against': '{first}'}}}}"))
    config = (trained(duel).run / "config.json").read_text()
    assert f'"against":"{first}/checkpoints/best.safetensors"' in config.replace(": ", ":")


# --- what cannot be played against ------------------------------------------------------------------------------------


def test_a_scene_with_one_policy_has_no_opponents(tmp_path: Path) -> None:
    run = train("balance", *TINY, "--runs", tmp_path, "--json").run
    for told in (
        train("balance", "--against", "random", "--runs", tmp_path / "none"),
        play(run, "--headless", "--against", "random"),
    ):
        assert (told.code, len(told.err.splitlines())) == (2, 1)
        assert "'balance' has one policy, so there is nobody to play against: leave --against out" in told.err
    assert not (tmp_path / "none").exists()


def test_a_wrong_opponent_is_told_in_one_line(duel: Path, tmp_path: Path) -> None:
    run, other = trained(duel).run, tmp_path / "other.py"
    other.write_text(DUEL.replace("A duel.", "Another duel."))
    stranger = trained(other).run
    wider = tmp_path / "wider" / "duel.py"
    wider.parent.mkdir()
    wider.write_text(DUEL.replace("X(cart), Vx(cart)", "X(cart), Vx(cart), Y(cart)"))
    steered = tmp_path / "steered" / "duel.py"
    steered.parent.mkdir()
    steered.write_text(LEVERS_DUEL)
    balance = train("balance", *TINY, "--runs", tmp_path / "balance", "--json").run
    for opponent, code, message in (
        (balance, 3, "was trained in 'balance', not in "),
        (stranger, 3, f"was trained in '{other}', not in '{duel}': an opponent must be of the same scene"),
        (trained(wider).run, 3, "'one' sees ['one y'] there and [] here"),
        (trained(steered).run, 3, "'one' does "),
        (tmp_path / "no.safetensors", 2, "there is no checkpoint file"),
        ("somebody", 2, "somebody"),
        ("one=random", 2, "'one' is the policy that is evaluated: there is: two"),
        ("tow=random", 2, "there is no policy 'tow': did you mean 'two'?"),
    ):
        for told in (
            train(duel, *TINY, "--runs", tmp_path / "none", "--against", opponent),
            play(run, "--headless", "--scene", duel, "--against", opponent),
        ):
            assert (told.code, len(told.err.splitlines())) == (code, 1), told.err
            assert message in told.err
    assert not (tmp_path / "none").exists()


def test_the_scene_that_an_opponents_checkpoint_names_is_not_run(duel: Path, tmp_path: Path) -> None:
    run = trained(duel).run
    manifest, tensors = read_checkpoint(run / "checkpoints" / "best.safetensors")
    strange = tmp_path / "theirs.safetensors"
    strange.write_bytes(b"".join(sealed_pieces(tensors, manifest)))
    (tmp_path / "ran").write_text("no")
    mine = tmp_path / "mine" / "duel.py"
    mine.parent.mkdir()
    mine.write_text(DUEL)
    duel.write_text(f"open({str(tmp_path / 'ran')!r}, 'w').write('yes')\n{DUEL}")
    found = play(run, "--headless", "--json", "--scene", mine, "--against", strange)
    assert found.code == 0, found.err
    assert (tmp_path / "ran").read_text() == "no"


def test_the_interval_is_wilsons() -> None:
    found = standing([1.0] * 8 + [0.0] + [-1.0])
    assert (found["wins"], found["draws"], found["losses"]) == (8, 1, 1)
    assert (found["low"], found["high"]) == pytest.approx((0.490162, 0.943318), abs=1e-6)
    assert standing([1.0])["high"] == 1.0
    assert standing([-1.0] * 5)["low"] == 0.0
