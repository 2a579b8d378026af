"""The pool of self-play: who enters and who leaves, ratings, who plays whom, and what the learner is experiences."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, cast

import numpy as np
import pytest
import torch
from agents_helpers import CHOICES, some_observation
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from ecs_rl.agents import ActMode, Agent, Decision, Experience, PPOConfig, make_agent
from ecs_rl.errors import CheckpointError
from ecs_rl.training.pool import EMPTY, START, K, Pool
from ecs_rl.training.self_play import DRAWS, LATEST, Game, PoolSettings, SelfPlay

ARENAS = 6
SMALL = PPOConfig(rollout=4, epochs=2, minibatch=16, hidden=(8,))


def agent(seed: int = 0, rows: int = 1) -> Any:
    return make_agent("ppo", CHOICES, SMALL, seed=seed, rows=rows)


def pool(slots: int) -> Pool:
    return Pool([agent(100 + slot) for slot in range(slots)])


def players(seed: int = 0, *, slots: int = 3, every: int = 12, latest: float = 0.5) -> SelfPlay:
    settings = PoolSettings(slots, every, latest)
    frozen = [agent(50 + slot) for slot in range(slots)]
    learner = agent(seed, 2 * ARENAS)
    return SelfPlay(learner, frozen, settings, specs=[CHOICES, CHOICES], sides=[0, 1], arenas=ARENAS)


def draw_of(episode: np.ndarray) -> Any:
    return lambda rows: np.random.default_rng(int(episode.sum())).random((ARENAS, DRAWS))[rows]


def tick(both: SelfPlay, data: np.random.Generator, episode: np.ndarray) -> tuple[Any, Any]:
    """Play one tick of random data; return what was seen and decided."""
    both.begin(episode, draw_of(episode))
    seen = (some_observation(data, ARENAS), some_observation(data, ARENAS))
    decided = both.act(seen, ActMode.EXPLORE)
    over = data.random(ARENAS) < 0.3
    experiences = tuple(
        Experience(
            observation=before,
            action=decision.action,
            reward=data.normal(size=ARENAS).astype(np.float32),
            next_observation=some_observation(data, ARENAS),
            terminated=over,
            truncated=np.zeros(ARENAS, bool),
            extras=decision.extras,
        )
        for before, decision in zip(seen, decided, strict=True)
    )
    both.observe(experiences)
    for _ in both.learn(0.0):
        pass
    rate(both, np.flatnonzero(over), data.normal(size=int(over.sum())).tolist())
    episode[over] += 1
    return seen, decided


def rate(both: SelfPlay, arenas: NDArray[np.int64], leads: Sequence[float]) -> list[Game | None]:
    """Rate the games of these arenas that count, and return all."""
    games = both.games(arenas, leads)
    both.pool.rate([(game.slot, game.points) for game in games if game is not None])
    return games


# --- ratings ----------------------------------------------------------------------------------------------------------


def slow_elo(games: list[tuple[int, float]], slots: int) -> dict[object, float]:
    """Elo as it stands in books, on a table of players by name."""
    table: dict[object, float] = dict.fromkeys([*range(slots + 1), "me"], START)
    for other, score in games:
        own, theirs = 10 ** (table["me"] / 400), 10 ** (table[other] / 400)
        table["me"] += K * (score - own / (own + theirs))
        table[other] += K * ((1 - score) - theirs / (own + theirs))
    return table


@given(st.lists(st.tuples(st.integers(0, 3), st.sampled_from([0.0, 0.5, 1.0])), max_size=60))
def test_ratings_are_those_of_the_books(games: list[tuple[int, float]]) -> None:
    rated, wanted = RATED, slow_elo(games, 3)
    rated.ratings[:] = START
    after = rated.rate(games)
    assert rated.ratings.tolist() == pytest.approx([wanted[each] for each in (0, 1, 2, 3, "me")], rel=1e-9)
    assert len(after) == len(games)
    assert not after or after[-1] == rated.elo


RATED = pool(3)


def test_what_one_wins_the_other_loses_and_who_enters_is_worth_what_the_learner_is() -> None:
    candidates = pool(2)
    candidates.admit(agent(1).policy_state(), 0)
    candidates.rate([(0, 1.0)] * 100)
    assert candidates.ratings[0] + candidates.elo == pytest.approx(2 * START)
    assert candidates.elo > START + 150
    assert candidates.admit(agent(2).policy_state(), 10) == 1
    assert candidates.ratings[1] == candidates.elo


# --- who enters and who leaves ----------------------------------------------------------------------------------------


def test_a_full_pool_keeps_its_oldest_and_newest_and_spreads_the_others_evenly() -> None:
    candidates, policy = pool(5), agent().policy_state()
    for steps in range(0, 4_001, 100):
        candidates.admit(policy, steps)
        there = np.sort(candidates.taken[candidates.filled])
        assert there[0] == 0
        assert there[-1] == steps
        if steps >= 400:
            assert np.diff(there).max() <= 2 * steps / 4, there
    assert len(candidates.filled) == 5


def test_a_pool_of_one_holds_the_newest() -> None:
    candidates = pool(1)
    for steps in (0, 100, 200):
        candidates.admit(agent().policy_state(), steps)
    assert candidates.taken.tolist() == [200]


def test_a_policy_enters_every_so_many_steps_as_it_is_then_and_does_not_learn_on() -> None:
    both, data, episode = players(every=2 * ARENAS), np.random.default_rng(0), np.zeros(ARENAS, np.int64)
    policies = []
    for _ in range(6):
        policies.append(both.learner.policy_state())
        tick(both, data, episode)
    assert sorted(both.pool.taken.tolist()) == [0, 12, 24]
    for slot, steps in enumerate(both.pool.taken.tolist()):
        frozen = both.pool.agents[slot].policy_state()
        assert all(torch.equal(frozen[name], tensor) for name, tensor in policies[steps // ARENAS].items())
    assert both.learner.parameters_sha256() != both.pool.agents[0].parameters_sha256()


# --- who plays whom ---------------------------------------------------------------------------------------------------


def test_opponents_are_drawn_for_an_episode_and_by_its_numbers_alone() -> None:
    both, episode = players(latest=0.25, slots=3), np.zeros(ARENAS, np.int64)
    for slot, steps in enumerate((0, 5, 10)):
        both.pool.admit(agent(slot).policy_state(), steps)
    both._entered = 0
    numbers = np.array([[0.2, 0.9, 0.9], [0.3, 0.0, 0.9], [0.3, 0.34, 0.4], [0.9, 0.99, 0.6], [0.0, 0, 0], [1, 0.5, 0]])
    both.begin(episode, lambda rows: numbers[rows])
    assert both._opponent.tolist() == [LATEST, 0, 1, 2, LATEST, 1]
    assert both._side.tolist() == [0, 0, 1, 0, 1, 1]
    numbers[:] = 0.0
    both.begin(episode, lambda rows: numbers[rows])
    assert both._opponent.tolist() == [LATEST, 0, 1, 2, LATEST, 1], "nobody is exchanged during an episode"
    episode[1] += 1
    both.begin(episode, lambda rows: numbers[rows])
    assert both._opponent.tolist() == [LATEST, LATEST, 1, 2, LATEST, 1]


class Constant:
    """An agent that always chooses the same."""

    def __init__(self, choice: int) -> None:
        self.choice, self.asked = choice, list[int]()

    def act(self, observation: np.ndarray, mode: ActMode, state: object = None) -> Decision:
        assert mode is ActMode.SAMPLE
        self.asked.append(len(observation))
        return Decision(np.full(len(observation), self.choice))


def test_each_opponent_decides_once_for_all_of_its_rows_and_for_no_others() -> None:
    both, data = players(), np.random.default_rng(1)
    constants = [Constant(0), Constant(1), Constant(2)]
    both.pool.agents = tuple(cast(list[Agent], constants))
    both._opponent[:], both._side[:] = [LATEST, 0, 0, 2, LATEST, 1], [0, 0, 1, 1, 1, 0]
    seen = (some_observation(data, ARENAS), some_observation(data, ARENAS))
    alone = players().learner.act(np.concatenate(seen), ActMode.EXPLORE).action.reshape(2, ARENAS)
    actions = np.stack([each.action for each in both.act(seen, ActMode.EXPLORE)])
    wanted = alone.copy()
    wanted[0, 1], wanted[1, 2], wanted[1, 3], wanted[0, 5] = 0, 0, 2, 1
    assert actions.tolist() == wanted.tolist()
    assert [each.asked for each in constants] == [[2], [1], [1]]


def test_the_learner_learns_from_its_own_rows_alone() -> None:
    both, experiences = players(), list[Experience]()
    both._opponent[:], both._side[:] = [LATEST, 0, 0, 2, LATEST, 1], [0, 0, 1, 1, 1, 0]
    setattr(both.learner, "observe", experiences.append)  # noqa: B010
    rows: Any = {
        "observation": np.zeros((ARENAS, 3), np.float32),
        "next_observation": np.zeros((ARENAS, 3), np.float32),
    }
    flags: Any = {name: np.zeros(ARENAS, bool) for name in ("terminated", "truncated")}
    exploded = np.array([True] * 5 + [False])
    part = Experience(action=np.zeros(ARENAS, int), reward=np.arange(6, dtype=np.float32), **rows, **flags)
    other = Experience(
        action=np.zeros(ARENAS, int), reward=np.arange(6, dtype=np.float32), valid=exploded, **rows, **flags
    )
    both.observe((part, part))
    both.observe((part, other))
    first = [[True, False, True, True, True, False], [True, True, False, False, True, True]]
    assert experiences[0].valid is not None
    assert experiences[1].valid is not None
    assert experiences[0].valid.reshape(2, ARENAS).tolist() == first
    first[1][5] = False
    assert experiences[1].valid.reshape(2, ARENAS).tolist() == first
    assert experiences[0].reward.tolist() == [*range(6), *range(6)]


def test_a_game_counts_for_the_side_that_the_learner_played_and_only_against_who_began_it() -> None:
    both = players()
    for slot, steps in enumerate((0, 5, 10)):
        both.pool.admit(agent(slot).policy_state(), steps)
    both._opponent[:], both._side[:] = [LATEST, 0, 1, 1, 2, 2], [0, 1, 1, 0, 0, 1]
    both._rated[:] = [False, True, True, True, True, False]
    games = rate(both, np.arange(ARENAS), [1.0, 2.0, -3.0, -4.0, 0.0, 5.0])
    assert [game and game.step for game in games] == [None, 0, 5, 5, 10, None]
    ratings = both.pool.ratings
    assert ratings[0] < START, "the first side won, and the learner played it"
    assert ratings[1] == pytest.approx(START, abs=K), "won once and lost once"
    assert ratings[2] > START, "drawn, by somebody who is worth less by now"


def test_a_game_whose_opponent_left_the_pool_does_not_count() -> None:
    both, episode = players(slots=1, every=ARENAS, latest=0.0), np.zeros(ARENAS, np.int64)
    data = np.random.default_rng(0)
    both.begin(episode, draw_of(episode))
    assert both._rated.all()
    both._steps = ARENAS
    both.begin(episode, draw_of(episode))
    assert not both._rated.any()
    assert rate(both, np.arange(ARENAS), data.normal(size=ARENAS).tolist()) == [None] * ARENAS
    assert both.elo == START


# --- its state --------------------------------------------------------------------------------------------------------


def test_what_is_saved_goes_on_to_the_same_bits() -> None:
    data, episode, both = np.random.default_rng(3), np.zeros(ARENAS, np.int64), players()
    for _ in range(9):
        tick(both, data, episode)
    saved, random = both.state(), data.bit_generator.state
    again, other, then = players(seed=7), np.random.default_rng(), episode.copy()
    again.load_state(saved)
    other.bit_generator.state = random
    for _ in range(12):
        for decision, theirs in zip(tick(both, data, episode)[1], tick(again, other, then)[1], strict=True):
            assert decision.action.tolist() == theirs.action.tolist()
    assert both.elo == again.elo != START
    first, second = both.state(), again.state()
    assert first.keys() == second.keys()
    assert all(torch.equal(first[name], second[name]) for name in first)
    assert any(name.startswith("pool/1/") for name in first)


@pytest.mark.parametrize(
    ("broken", "message"),
    [
        (
            lambda state: {n: t for n, t in state.items() if not n.startswith("pool/1/")},
            "the saved pool lacks the opponent of step 12",
        ),
        (lambda state: {n: t for n, t in state.items() if n != "pool/1/update/step"}, "the opponent of step 12 in the"),
        (lambda state: {n: t for n, t in state.items() if n != "pool/ratings"}, "ratings is missing"),
        (lambda state: state | {"pool/ratings": torch.full((5,), torch.nan, dtype=torch.float64)}, "cannot be"),
        (lambda state: state | {"pool/taken": torch.tensor([0, -2, 5])}, "cannot be"),
        (lambda state: state | {"game/opponent": torch.full((ARENAS,), 4)}, "that no pool of this size has"),
        (lambda state: state | {"game/side": torch.full((ARENAS,), 2)}, "no side"),
        (lambda state: state | {"game/steps": torch.tensor(-1)}, "steps is -1"),
        (lambda state: {n: t for n, t in state.items() if not n.startswith("game/")}, "is missing"),
    ],
)
def test_a_pool_that_is_none_is_refused_in_a_sentence(broken: Any, message: str) -> None:
    data, episode, both = np.random.default_rng(3), np.zeros(ARENAS, np.int64), players()
    for _ in range(5):
        tick(both, data, episode)
    with pytest.raises(CheckpointError, match=re.escape(message)):
        players().load_state(broken(both.state()))


def test_the_policy_that_is_saved_is_the_learners_under_each_policys_name() -> None:
    both = players()
    assert both.specs == (CHOICES, CHOICES)
    shared = SelfPlay(agent(0, 12), [agent()], both.settings, specs=[CHOICES], sides=[0, 1], arenas=ARENAS)
    assert not hasattr(shared, "specs")
    assert shared.policy_state().keys() == agent().policy_state().keys()
    saved = both.policy_state()
    other = players(seed=9)
    other.load_policy_state(saved)
    assert other.parameters_sha256() == both.parameters_sha256() != players(seed=9).parameters_sha256()
    assert EMPTY == -1
