"""`--self-play`: one learner for both sides, a pool of its earlier selves, ratings in logs, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command_runs import SMALL, TINY, Told, metadata, play, rows, train
from score_scenes import DUEL, SCORED_DUEL, SHARED_DUEL

from ecs_rl.agents.config import PPOConfig
from ecs_rl.components import Action, Clock, Observation
from ecs_rl.loading import load_scene
from ecs_rl.runs import read_checkpoint, sealed_pieces
from ecs_rl.training.matches import settings_of
from ecs_rl.training.prepare import prepare
from ecs_rl.training.self_play import LATEST, PoolSettings, SelfPlay
from ecs_rl.training.settings import TrainingSettings
from ecs_rl.training.training import Training

POOL = ("--self-play", "--pool-every", 500, "--pool-size", 3)
RIGHT = "def right(seen):\n    return 1\n"
TINY_PPO = PPOConfig(rollout=16, minibatch=64, epochs=2, hidden=(16,))


@pytest.fixture
def duel(tmp_path: Path) -> Path:
    path = tmp_path / "duel.py"
    path.write_text(DUEL)
    (tmp_path / "foes.py").write_text(RIGHT)
    return path


def trained(scene: Path, *more: object, runs: str = "runs") -> Told:
    told = train(scene, *TINY, *POOL, "--runs", scene.parent / runs, "--json", *more)
    assert told.code == 0, told.err
    return told


def training_of(scene: Path, *, also: str = "", latest: float = 0.5, steps: int = 960, debug: bool = False) -> Training:
    pool = settings_of(also, PoolSettings(3, 100, latest))
    settings = TrainingSettings(arenas=8, steps=steps, eval_every=480, eval_episodes=2)
    return prepare(load_scene(str(scene)), "ppo", TINY_PPO, settings, self_play=pool, debug=debug)


def agent_of(training: Training) -> SelfPlay:
    agent: Any = training.session.agent
    assert isinstance(agent, SelfPlay)
    return agent


# --- a run of it ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", [DUEL, SHARED_DUEL, SCORED_DUEL], ids=["two policies", "one policy", "score"])
def test_ratings_are_in_the_logs_and_the_best_is_the_highest(duel: Path, text: str) -> None:
    duel.write_text(text)
    told = trained(duel)
    games = [row["extras"] for row in rows(told.run, "train_episodes")]
    rated = [game for game in games if "elo" in game]
    assert 0.2 * len(games) < len(rated) < 0.8 * len(games)
    assert {game["opponent"] for game in rated} <= {0.0, 504.0, 1000.0, 1504.0, 2000.0, 2504.0}
    assert len({game["opponent"] for game in rated}) > 2
    metrics = rows(told.run, "metrics")
    elo = {row["total_steps"]: row["rollout/elo"] for row in metrics}
    assert told.json["elo"] == rated[-1]["elo"] == metrics[-1]["rollout/elo"]
    evaluated = {row["total_steps"]: elo[row["total_steps"]] for row in metrics if "eval/mean_return" in row}
    best = max(evaluated, key=lambda step: evaluated[step])
    assert (told.json["best_step"], told.json["best_eval"]) == (best, evaluated[best])
    assert metadata(told.run)["best_eval"] == evaluated[best]
    assert "best Elo" in told.err


def test_its_checkpoints_play_like_any_others(duel: Path) -> None:
    run = trained(duel, "--against", "random").run
    scene = ("--headless", "--json", "--scene", duel, "--episodes", 3)
    manifest, tensors = read_checkpoint(run / "checkpoints" / "latest.safetensors")
    assert [entry.name for entry in manifest.policies] == ["one", "two"]
    assert (tensors["policy/one/policy/0.weight"] == tensors["policy/two/policy/0.weight"]).all()
    last = [row["total_reward"] for row in rows(run, "eval_episodes") if row["total_steps_at_eval"] == 3000]
    latest = run / "checkpoints" / "latest.safetensors"
    assert play(latest, *scene, "--against", "random").json["returns"] == last
    assert play(run, *scene).code == 0
    started = train(duel, *TINY, "--runs", duel.parent / "more", "--json", "--init-from", latest)
    assert started.code == 0, started.err
    again = trained(duel, "--init-from", latest, runs="again")
    assert again.sha != started.sha


def test_a_shorter_run_is_the_beginning_of_a_longer_one_and_goes_on_with_its_best(duel: Path) -> None:
    more = ("--checkpoint-every", 400, "--schedule-steps", "3k", "--threads", 1, "--pool-also", "random")
    whole = trained(duel, *more, runs="whole")
    half = trained(duel, *more, "--steps", 1700)
    both = train(duel, "--resume", half.run, "--steps", "3k", "--json")
    assert both.code == 0, both.err
    assert both.sha == whole.sha
    assert both.json["elo"] == whole.json["elo"]
    assert metadata(both.run)["best_eval"] == metadata(whole.run)["best_eval"]
    assert rows(both.run, "train_episodes") == rows(whole.run, "train_episodes")


def test_the_pool_is_what_its_settings_say(duel: Path) -> None:
    run = trained(duel, "--pool-also", f"{duel.parent}/foes.py:right", "--pool-latest", 0).run
    games = [row["extras"] for row in rows(run, "train_episodes")]
    assert sum("elo" in game for game in games) > 0.8 * len(games), "but those whose opponent left the pool meanwhile"
    assert -1.0 in {game.get("opponent") for game in games}
    assert json.loads((run / "config.json").read_text())["pool_also"] == f"{duel.parent}/foes.py:right"


def test_a_pool_that_nobody_would_play_is_refused(duel: Path) -> None:
    told = train(duel, *TINY, *POOL, "--runs", duel.parent / "none", "--pool-latest", 1)
    assert (told.code, len(told.err.splitlines())) == (2, 1)
    assert "--pool-latest must be a finite number from 0 to 0.9, not 1.0" in told.err


def test_dqn_plays_itself_too(duel: Path) -> None:
    dqn = ("--agent", "dqn", "--dqn.warm-up", 64, "--dqn.learn-every", 32, "--dqn.batch", 32, "--dqn.hidden", 16)
    told = train(duel, *SMALL, *dqn, *POOL, "--runs", duel.parent / "runs", "--json")
    assert told.code == 0, told.err
    assert told.json["elo"] != 1200.0


# --- who decides in a world -------------------------------------------------------------------------------------------


def test_a_fixed_opponent_drives_its_rows_and_no_others(duel: Path) -> None:
    training = training_of(duel, also=f"{duel.parent}/foes.py:right", latest=0.0)
    agent, world = agent_of(training), training.world
    actions = [action for (action,) in world.each(Action)]
    seen = 0
    for _ in range(90):
        training.tick()
        rows_of = agent._opponent == agent.pool.fixed
        for side in (0, 1):
            driven = rows_of & (agent._side == side) & (agent._episode == world.one(Clock).episode)
            assert (actions[side].value[driven] == 1).all()
            seen += int(driven.sum())
    assert seen > 100
    training.close()


def test_both_sides_are_played_and_a_seed_draws_the_same_opponents(duel: Path) -> None:
    def drawn() -> list[tuple[list[int], list[int]]]:
        training, found = training_of(duel), []
        while not training.done:
            training.tick()
            found.append((agent_of(training)._opponent.tolist(), agent_of(training)._side.tolist()))
        training.close()
        return found

    first = drawn()
    assert first == drawn()
    opponents, sides = np.array([each[0] for each in first]), np.array([each[1] for each in first])
    assert 0.3 < (opponents == LATEST).mean() < 0.7
    assert 0.3 < sides.mean() < 0.7


@pytest.mark.parametrize("also", ["", "random"])
def test_slices_lead_to_the_same_bits_as_whole_ticks(duel: Path, also: str) -> None:
    whole, sliced = training_of(duel, also=also), training_of(duel, also=also)
    while not whole.done:
        whole.tick()
    while not sliced.done:
        for _ in sliced.slices():
            list(sliced.world.each(Observation))
    assert agent_of(whole).elo == agent_of(sliced).elo
    first, second = whole.session.agent.state(), sliced.session.agent.state()
    assert all((first[name] == second[name]).all() or first[name].isnan().any() for name in first)
    assert whole.session.agent.parameters_sha256() == sliced.session.agent.parameters_sha256()
    whole.close()
    sliced.close()


def test_a_debug_run_finds_nothing_read_or_written_that_is_not_declared(duel: Path) -> None:
    training = training_of(duel, also="random", debug=True)
    while not training.done:
        training.tick()
    training.close()


# --- what is refused --------------------------------------------------------------------------------------------------

ODD = DUEL.replace("sees=[X(cart), Vx(cart), X(other)]", "sees=[X(cart), (Vx(cart), Y(cart))[i], X(other)]")
OTHER = DUEL.replace("Choice(left=", "Choice(**{('left', 'back')[i]: Push(cart, 1.0)}, slow=")
THREE = DUEL.replace('("one", "two")', '("one", "two", "three")').replace("carts[1 - i]", "carts[(i + 1) % 3]")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (ODD, "number 2 of what it sees is 'one vx' for 'one', 'two y' for 'two': make both sides alike"),
        (OTHER, "of what it does is 'choice: left, slow, right' for 'one', 'choice: back, slow, right' for 'two'"),
        (THREE, "it takes two policies, or two agents that share one, and 'duel' has 3 policies"),
    ],
)
def test_a_scene_without_two_sides_that_are_alike_is_refused(duel: Path, text: str, message: str) -> None:
    duel.write_text(text)
    told = train(duel, *TINY, *POOL, "--runs", duel.parent / "none")
    assert (told.code, len(told.err.splitlines())) == (2, 1), told.err
    assert message in told.err
    assert not (duel.parent / "none").exists()


def test_a_scene_of_one_agent_has_nobody_to_play(tmp_path: Path) -> None:
    told = train("balance", *TINY, *POOL, "--runs", tmp_path / "none")
    assert (told.code, len(told.err.splitlines())) == (2, 1)
    assert "'balance' has one policy of 1 agent: leave --self-play out" in told.err


def test_one_opponent_more_is_random_or_a_script(duel: Path) -> None:
    told = train(duel, *TINY, *POOL, "--runs", duel.parent / "none", "--pool-also", "somebody")
    assert (told.code, len(told.err.splitlines())) == (2, 1)
    assert "--pool-also somebody: name an opponent as random or FILE.py:FUNCTION" in told.err


def test_what_a_run_plays_against_stays_as_it_was(duel: Path) -> None:
    run = trained(duel, "--pool-also", f"{duel.parent}/foes.py:right").run
    for more, message in (
        (("--no-self-play",), "--self-play is False, and "),
        (("--pool-size", 4), "--pool-size is 4, and "),
        ((), "no run names a program to be run: if you trust it, name it again"),
    ):
        told = train(duel, "--resume", run, "--steps", "4k", *more)
        assert (told.code, len(told.err.splitlines())) == (2, 1), told.err
        assert message in told.err


def test_a_checkpoint_that_lost_an_opponent_is_refused_and_the_run_stays_as_it_was(duel: Path) -> None:
    run = trained(duel, "--steps", 1600, "--keep", 1).run
    for path in (run / "checkpoints").glob("*.safetensors"):
        manifest, tensors = read_checkpoint(path)
        kept = {name: tensor for name, tensor in tensors.items() if not name.startswith("agent/pool/1/")}
        path.write_bytes(b"".join(sealed_pieces(kept, manifest)))
    before = {path: path.read_bytes() for path in run.rglob("*") if path.is_file() and path.name != ".lock"}
    told = train(duel, "--resume", run, "--steps", "3k")
    assert (told.code, len(told.err.splitlines())) == (3, 1), told.err
    assert "the saved pool lacks the opponent of step 1504: use another checkpoint of the run" in told.err
    after = {path: path.read_bytes() for path in before}
    assert [path.name for path in before if before[path] != after[path] and path.name != "metadata.json"] == []
