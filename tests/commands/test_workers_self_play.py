"""Self-play in several processes: one pool and one rating, to the bits of one process."""

from __future__ import annotations

from pathlib import Path

import pytest
from score_scenes import DUEL, SHARED_DUEL
from test_workers import trained

RUN = ("--arenas", "8", "--eval-every", "1000", "--eval-episodes", "3", "--checkpoint-every", "1000", "--threads", "1")
PPO = ("--ppo.rollout", "16", "--ppo.minibatch", "64", "--ppo.epochs", "2", "--ppo.hidden", "16")
DQN = ("--agent", "dqn", "--dqn.warm-up", "64", "--dqn.hidden", "16")
SMALL = (*RUN, *PPO)
POOL = ("--self-play", "--pool-every", "500", "--pool-size", "3", "--pool-also", "random")


@pytest.mark.parametrize("agent", [PPO, pytest.param(DQN, marks=pytest.mark.slow)], ids=["ppo", "dqn"])
def test_two_policies_of_their_own_learn_in_two_processes_what_they_learn_in_one(
    tmp_path: Path, agent: tuple[str, ...]
) -> None:
    scene = tmp_path / "duel.py"
    scene.write_text(DUEL + "    arena.through(*carts)\n")
    flags = (str(scene), *RUN, *agent, "--steps", "2k")
    alone, together = (trained(tmp_path / name, *flags, "--workers", name) for name in ("1", "2"))
    assert together["params_sha256"] == alone["params_sha256"]
    for name in ("train_episodes.jsonl", "eval_episodes.jsonl"):
        assert Path(together["run"], name).read_bytes() == Path(alone["run"], name).read_bytes()


@pytest.mark.parametrize(
    "text", [pytest.param(DUEL, marks=pytest.mark.slow), SHARED_DUEL], ids=["two policies", "one policy"]
)
def test_a_league_of_two_processes_is_that_of_one_to_the_last_bit(tmp_path: Path, text: str) -> None:
    scene = tmp_path / "duel.py"
    scene.write_text(text + "    arena.through(*carts)\n")  # else an arena's last bits depend on its neighbours
    flags = (str(scene), *SMALL, *POOL, "--schedule-steps", "3k")
    alone = trained(tmp_path / "one", *flags, "--steps", "3k")
    half = trained(tmp_path / "two", *flags, "--steps", "1700", "--workers", "2")
    on = trained(tmp_path / "two", *flags, "--steps", "3k", "--workers", "2", "--resume", half["run"])
    for name in ("steps", "episodes", "elo", "best_eval", "best_step", "params_sha256"):
        assert on[name] == alone[name]
    for name in ("train_episodes.jsonl", "eval_episodes.jsonl"):
        log = Path(on["run"], name).read_text()
        assert log == Path(alone["run"], name).read_text()
        assert '"elo"' in log or name.startswith("eval")


@pytest.mark.slow
def test_as_many_processes_give_the_same_bits_where_things_collide(tmp_path: Path) -> None:
    flags = ("tests/scenes/sumo.py", *SMALL, *POOL, "--steps", "2k", "--against", "random", "--workers", "2")
    first, second = (trained(tmp_path / name, *flags) for name in ("a", "b"))
    assert first["elo"] == second["elo"]
    assert first["params_sha256"] == second["params_sha256"]
