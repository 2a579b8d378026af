"""Two agents of which one earns what the other loses: nobody's score may stand for both, and `best` goes on."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from command_runs import TINY, play, rows, train
from score_scenes import DUEL

from ecs_rl.records import EpisodeRecord, EvalReport, opposed
from ecs_rl.runs import read_checkpoint, read_manifest, sealed_pieces
from ecs_rl.viewer.history import History


@pytest.fixture
def duel(tmp_path: Path) -> Path:
    path = tmp_path / "duel.py"
    path.write_text(DUEL)
    return path


def test_best_follows_the_newest_where_scores_tie_by_construction(duel: Path, tmp_path: Path) -> None:
    told = train(duel, *TINY, "--runs", tmp_path / "runs", "--json")
    assert told.code == 0, told.err
    assert told.json["best_step"] == 3000
    assert abs(told.json["best_eval"]) < 1e-6
    played = play(told.run, "--headless", "--json", "--scene", duel)
    assert played.json["step"] == 3000


def test_each_agent_has_its_own_return_in_logs_and_metrics(duel: Path, tmp_path: Path) -> None:
    run = train(duel, *TINY, "--runs", tmp_path / "runs", "--json").run
    for episode in rows(run, "eval_episodes"):
        own = [episode["extras"][f"return/{name}"] for name in ("one", "two")]
        assert own[0] == pytest.approx(-own[1], abs=1e-6)
        assert own[0] != 0.0
        assert episode["total_reward"] == pytest.approx(0.0, abs=1e-6)
    metrics = {key for row in rows(run, "metrics") for key in row}
    assert {"eval/best_return/one", "eval/best_return/two"} <= metrics
    assert {"rollout/return/one", "rollout/return/two", "eval/return/one", "eval/return/two"} <= metrics


def test_each_agent_has_its_own_best_and_a_resume_goes_on_with_it(duel: Path, tmp_path: Path) -> None:
    more = (*TINY, "--checkpoint-every", 500, "--schedule-steps", "3k", "--threads", 1, "--json")
    half = train(duel, *more, "--runs", tmp_path / "half", "--steps", 1500)
    told = train(duel, "--resume", half.run, "--steps", 3000, "--json")
    whole = train(duel, *more, "--runs", tmp_path / "whole")
    means: dict[int, list[dict[str, float]]] = {}
    for episode in rows(whole.run, "eval_episodes"):
        means.setdefault(episode["total_steps_at_eval"], []).append(episode["extras"])
    for agent in ("one", "two"):
        own = {at: sum(each[f"return/{agent}"] for each in found) / len(found) for at, found in means.items()}
        step = max(own, key=lambda at: own[at])
        assert whole.json["best_returns"][agent] == {"return": pytest.approx(own[step]), "step": step}
    assert whole.json["best_returns"] == told.json["best_returns"]
    assert len({each["step"] for each in whole.json["best_returns"].values()}) == 2, "what one wins the other loses"


def test_the_best_policies_for_each_agent_are_kept_and_played_back(duel: Path, tmp_path: Path) -> None:
    told = train(duel, *TINY, "--threads", 1, "--runs", tmp_path / "runs", "--json")
    for agent, best in told.json["best_returns"].items():
        kept = told.run / "checkpoints" / f"best_{agent}.safetensors"
        assert read_manifest(kept).step == best["step"]
        played = play(told.run, "--checkpoint", f"best_{agent}", "--headless", "--json", "--episodes", 3).json
        assert (played["checkpoint"], played["step"]) == (str(kept), best["step"])
        ended = [row for row in rows(told.run, "eval_episodes") if row["total_steps_at_eval"] == best["step"]]
        assert played["returns"] == [row["total_reward"] for row in ended]
    missing = play(told.run, "--checkpoint", "best_nobody", "--headless")
    assert missing.code == 3
    assert "there is: best, best_one, best_two, latest" in missing.err
    stars = dict(History(told.run, agents=["one", "two"]).refresh().bests)
    for name, best in told.json["best_returns"].items():
        step, value = stars.pop(f"{name} return")
        assert step == best["step"]
        assert value == pytest.approx(best["return"])
    assert not stars


def test_a_longer_run_does_not_keep_what_only_the_end_of_a_shorter_one_has_brought(duel: Path, tmp_path: Path) -> None:
    more = (*TINY, "--checkpoint-every", 500, "--schedule-steps", "3k", "--threads", 1, "--json")
    half = train(duel, *more, "--runs", tmp_path / "half", "--steps", 1300)
    train(duel, "--resume", half.run, "--steps", 3000, "--json")
    whole = train(duel, *more, "--runs", tmp_path / "whole")
    steps = [
        {path.stem: read_manifest(path).step for path in (told.run / "checkpoints").glob("best*.safetensors")}
        for told in (half, whole)
    ]
    assert steps[0] == steps[1]
    assert sorted(steps[0]) == ["best", "best_one", "best_two"]


def test_one_agent_alone_and_the_sides_of_self_play_have_one_best(duel: Path, tmp_path: Path) -> None:
    alone = train("balance", *TINY, "--runs", tmp_path / "runs", "--json")
    selves = train(duel, *TINY, "--self-play", "--pool-every", 500, "--runs", tmp_path / "runs", "--json")
    for told in (alone, selves):
        assert {each.stem for each in (told.run / "checkpoints").glob("best*")} == {"best"}


def record(*own: float, total: float = 0.0) -> EpisodeRecord:
    return EpisodeRecord(total, 1, "Terminated", {f"return/{i}": value for i, value in enumerate(own)})


def test_only_returns_that_cancel_out_in_every_episode_are_those_of_opponents() -> None:
    assert opposed([record(3.0, -3.0), record(0.0, 0.0)])
    assert opposed([record(1.0, 2.0, -3.0 + 1e-12)])
    assert not opposed([record(3.0, -3.0), record(3.0, -2.9)])
    assert not opposed([record(0.0, 0.0)]), "nobody earned anything: that is no duel yet"
    assert not opposed([record(5.0)])
    assert not opposed([EpisodeRecord(0.0, 1, "Terminated")])
    assert EvalReport.of([record(3.0, -3.0), record(1.0, -1.0)], 5).returns == {"0": 2.0, "1": -2.0}


@pytest.mark.parametrize("agent", ["ppo", "dqn"])
def test_a_policy_of_nan_is_refused_and_not_played_as_if_it_were_one(agent: str, tmp_path: Path) -> None:
    extra = TINY if agent == "ppo" else ("--agent", "dqn", "--arenas", 8, "--steps", 2000, "--eval-every", 1000)
    run = train("balance", *extra, "--runs", tmp_path, "--json").run
    manifest, tensors = read_checkpoint(run / "checkpoints" / "best.safetensors")
    name = next(name for name in tensors if name.endswith("0.weight"))
    tensors[name] = torch.full_like(tensors[name], float("nan"))
    (tmp_path / "nan.safetensors").write_bytes(b"".join(sealed_pieces(tensors, manifest)))
    told = play(tmp_path / "nan.safetensors", "--headless")
    assert told.code == 3
    assert "0.weight is not finite" in told.err
