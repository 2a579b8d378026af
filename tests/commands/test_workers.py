"""One training in several processes: what as many come to again, and how it goes on from a checkpoint."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from lesson_scenes import LAMP
from pages import example
from score_scenes import DUEL, SHARED_DUEL
from small_learners import DQN, PPO, SAC
from worker_runs import BALANCE, same_run, trained

TWO = ("--workers", "2")
GRU = (*PPO, "--network", "gru", "--ppo.state", "8")
SMALL = (
    "--arenas",
    "8",
    "--threads",
    "1",
    "--eval-every",
    "1000",
    "--eval-episodes",
    "3",
    "--checkpoint-every",
    "1000",
)
POOL = ("--self-play", "--pool-every", "500", "--pool-size", "3", "--pool-also", "random")
slow = pytest.mark.slow


def scene_file(folder: Path, text: str) -> str:
    (file := folder / "scene.py").write_text(text)
    return str(file)


def halves(folder: Path, flags: tuple[str, ...], half: str, whole: str) -> list[dict[str, Any]]:
    """Return a training at a stretch, and one that was resumed halfway."""
    flags = (*flags, *TWO, "--schedule-steps", "100k")
    straight = trained(folder / "straight", *flags, "--steps", whole)
    first = trained(folder / "resumed", *flags, "--steps", half)
    resumed = trained(folder / "resumed", *flags, "--steps", whole, "--resume", first["run"])
    assert resumed["steps"] == straight["steps"] > first["steps"]
    assert resumed["params_sha256"] != first["params_sha256"]
    return [straight, resumed]


@pytest.mark.parametrize(
    "agent",
    [PPO, pytest.param(DQN, marks=slow), SAC, pytest.param(GRU, marks=slow)],
    ids=["ppo", "dqn", "sac", "gru"],
)
def test_as_many_processes_come_to_the_same_bits_at_a_stretch_and_resumed(
    tmp_path: Path, agent: tuple[str, ...]
) -> None:
    scene = ("swingup", *BALANCE[1:]) if agent is SAC else BALANCE
    assert same_run(*halves(tmp_path, (*scene, *agent), "5k", "9k"))


@pytest.mark.parametrize("text", [pytest.param(DUEL, marks=slow), SHARED_DUEL], ids=["two policies", "one policy"])
def test_self_play_comes_to_the_same_league_at_a_stretch_and_resumed(tmp_path: Path, text: str) -> None:
    straight, resumed = halves(tmp_path, (scene_file(tmp_path, text), *SMALL, *PPO, *POOL), "1700", "3k")
    assert same_run(straight, resumed)
    assert straight["elo"] == resumed["elo"]
    assert '"elo"' in Path(straight["run"], "train_episodes.jsonl").read_text()


@slow
def test_two_policies_of_their_own_learn_the_same_again(tmp_path: Path) -> None:
    assert same_run(*halves(tmp_path, (scene_file(tmp_path, DUEL), *SMALL, *DQN), "1k", "2k"))


def test_lessons_go_on_where_they_were(tmp_path: Path) -> None:
    flags = (
        "--arenas",
        "64",
        "--threads",
        "1",
        "--eval-every",
        "8k",
        "--eval-episodes",
        "2",
        "--checkpoint-every",
        "4k",
    )
    straight, resumed = halves(tmp_path, (scene_file(tmp_path, LAMP), *flags), "18k", "24k")
    assert same_run(straight, resumed)
    assert straight["lessons"] == resumed["lessons"]
    assert straight["lessons"]["way"]["step"] >= 1


@slow
def test_an_evaluation_of_many_episodes_and_solid_bodies_are_the_same_again(tmp_path: Path) -> None:
    flags = ("lander", "--arenas", "32", "--threads", "1", *PPO, "--eval-every", "4k", "--eval-episodes", "5")
    assert same_run(*halves(tmp_path, flags, "5k", "9k"))


# --- another number of processes --------------------------------------------------------------------------------------


@pytest.mark.parametrize(("before", "after"), [("2", "1"), ("1", "2")])
@pytest.mark.parametrize("agent", [pytest.param(PPO, id="ppo"), pytest.param(DQN, id="dqn", marks=slow)])
def test_another_number_of_processes_says_so_and_goes_on(
    tmp_path: Path, before: str, after: str, agent: tuple[str, ...]
) -> None:
    first = trained(tmp_path, *BALANCE, *agent, "--steps", "4k", "--workers", before)
    assert "shared out anew" not in first["stderr"]
    on = trained(tmp_path, *BALANCE, *agent, "--steps", "6k", "--workers", after, "--resume", first["run"])
    trained_it = "2 processes trained it, and 1 go on" if before == "2" else "1 process trained it, and 2 go on"
    assert f"{trained_it}: its arenas are shared out anew, and bits will differ" in on["stderr"]
    assert on["run"] == first["run"]
    assert on["episodes"] > first["episodes"]
    again = trained(tmp_path, *BALANCE, *agent, "--steps", "8k", "--resume", first["run"])
    assert "shared out anew" not in again["stderr"], "the run remembers how many go on"
    logged = Path(first["run"], "train_episodes.jsonl").read_text().count("\n")
    assert logged == again["episodes"]


def test_a_run_says_which_share_of_its_time_went_into_messages(tmp_path: Path) -> None:
    alone, together = (trained(tmp_path, *BALANCE, *PPO, "--steps", "2k", "--workers", n) for n in ("1", "2"))
    names = {"seconds_gathering", "bytes_sent", "messages"}
    assert names <= together.keys()
    assert not names & alone.keys()
    assert together["params_sha256"] != alone["params_sha256"], "each process explores in its own way"


# --- networks and algorithms of a user's own --------------------------------------------------------------------------

NO_LONGER_ALIKE = """
    def join(self, group):
        self.policy["mean"] += group.rank
"""


def algorithm(folder: Path, text: str) -> tuple[str, ...]:
    (file := folder / "cem.py").write_text(text)
    return (*BALANCE, "--agent", f"{file}:CEM")


def without_join() -> str:
    """Return the example of an algorithm without its method `join`."""
    before, join, after = example("algorithm").partition("    def join(self, group):\n")
    assert join
    return before + after.partition("\n\n")[2]


def test_a_network_of_a_users_own_learns_in_several_processes(tmp_path: Path) -> None:
    (file := tmp_path / "mine.py").write_text(example("network"))
    flags = (*BALANCE, *PPO, "--network", f"{file}:Residual", *TWO, "--steps", "4k")
    assert same_run(*(trained(tmp_path / name, *flags) for name in "ab"))


def test_an_algorithm_of_a_users_own_that_joins_learns_in_several_processes(tmp_path: Path) -> None:
    straight, resumed = halves(tmp_path, (*algorithm(tmp_path, example("algorithm")), "--cem.batch", "8"), "5k", "9k")
    assert same_run(straight, resumed)
    assert straight["best_step"] > 0
    one = ("--workers", "1", "--resume", straight["run"], "--steps", "12k")
    told = trained(tmp_path / "straight", *algorithm(tmp_path, example("algorithm")), *one, code=3)["stderr"]
    assert "cem goes on with as many processes as saved it: --workers 2" in told


def test_an_algorithm_of_a_users_own_without_join_is_refused(tmp_path: Path) -> None:
    told = trained(tmp_path, *algorithm(tmp_path, without_join()), *TWO, code=2)["stderr"]
    assert "cem.py:CEM: it does not say how it learns in several processes: give it `join(self, group)`" in told
    assert told.count("\n") == 1
    assert not list(tmp_path.glob("balance/*/*"))


def test_an_algorithm_that_learns_otherwise_in_each_process_is_refused(tmp_path: Path) -> None:
    told = trained(tmp_path, *algorithm(tmp_path, without_join() + NO_LONGER_ALIKE), *TWO, "--steps", "4k", code=2)[
        "stderr"
    ]
    assert "the processes have learned different things: an algorithm or network of your own must " in told
    assert "Traceback" not in told
