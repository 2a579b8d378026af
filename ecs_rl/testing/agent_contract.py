"""What every algorithm promises, as tests to inherit: `class TestMine(AgentContract)` with `algorithm` and `config`.

Everything is tried for every action space that the algorithm takes. No test library is needed here.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray

from ecs_rl.agents.base import Agent, State
from ecs_rl.agents.make import Algorithm, algorithm_of, make_agent
from ecs_rl.agents.own import algorithm_from
from ecs_rl.errors import CheckpointError, DivergedError
from ecs_rl.spaces import ActMode, Decision, Experience, PolicySpec
from ecs_rl.testing.transitions import (
    CHOICES,
    LEVERS,
    MIXED,
    PROGRESS,
    copied,
    learn_from,
    play,
    same,
    some_experience,
    some_observation,
)
from ecs_rl.user_files.named import FromFile
from ecs_rl.user_files.sources import read_sources


@dataclass(frozen=True)
class RecordedTick:
    """What an agent was and did in one tick; states are copies, as they come back from a file."""

    before: State
    metrics: dict[str, float]
    """Its metrics before the tick."""
    decided: State
    """Its state between `act` and `observe`."""
    action: NDArray[Any]
    experience: Experience
    policy: State
    """Its policy after the tick."""


MODES = (ActMode.EXPLORE, ActMode.SAMPLE, ActMode.GREEDY)


class AgentContract:
    """Inherit this and say which algorithm, with settings so small that it learns within `ticks`."""

    algorithm: ClassVar[Any]
    """A class of your own, or the name of one that comes with the project."""
    config: ClassVar[Any]
    """Its settings, such as `CEM.Config(batch=8)`."""
    rows: ClassVar[int] = 6
    """Rows that act at the same time."""
    ticks: ClassVar[int] = 25
    """Ticks of `rows` transitions within which it has learned something."""
    bootstraps: ClassVar[bool] = False
    """Whether an episode that was cut teaches something else than one that ended: it does where values are learned."""
    specs: ClassVar[tuple[PolicySpec, ...]] = (CHOICES, LEVERS, MIXED)
    """Policies that are tried, those left out which the algorithm refuses."""

    def made_of(self) -> Algorithm:
        """Return the algorithm, its class checked as `--agent FILE.py:CLASS` checks it."""
        if not isinstance(self.algorithm, type):
            return algorithm_of(self.algorithm)
        file = Path(inspect.getfile(self.algorithm)).resolve()
        return algorithm_from(FromFile(self.algorithm, file, self.algorithm.__name__, read_sources(file).sha256))

    def make(self, spec: PolicySpec, seed: int = 0, rows: int | None = None) -> Agent:
        """Return a new agent."""
        return make_agent(self.made_of(), spec, self.config, seed=seed, rows=rows or self.rows)

    def claimed(self) -> Iterator[PolicySpec]:
        """Yield the policies that the algorithm takes."""
        yield from (spec for spec in self.specs if not self.made_of().refusal(spec))

    def played(self, spec: PolicySpec, ticks: int, seed: int = 0) -> Agent:
        """Return an agent that has explored and learned for some ticks."""
        agent = self.make(spec, seed)
        play(agent, ticks, np.random.default_rng(0), self.rows)
        return agent

    def before_an_update(self, spec: PolicySpec, seed: int = 0) -> Agent:
        """Return an agent that has observed all that its next update takes, and not begun it."""
        trial, data = self.make(spec, seed), np.random.default_rng(0)
        for _ in range(self.ticks):
            play(trial, 1, data, self.rows)
            copy = self.make(spec, seed)
            copy.load_state(copied(trial.state()))
            self.observe_once(copy)
            if next(copy.learn(PROGRESS), 0) is None:
                break
        self.observe_once(trial)
        return trial

    def recorded(self, spec: PolicySpec) -> list[RecordedTick]:
        """Return what an agent was and did in twice as many ticks as it needs to learn something."""
        agent, data = self.make(spec, seed=1), np.random.default_rng(0)
        return [self.recorded_tick(agent, data) for _ in range(2 * self.ticks + 1)]

    def recorded_tick(self, agent: Agent, data: np.random.Generator) -> RecordedTick:
        """Let an agent explore and learn for a tick; return what it was and did."""
        before, metrics = copied(agent.state()), dict(agent.metrics())
        observation = some_observation(data, self.rows)
        decision = agent.act(observation, ActMode.EXPLORE)
        decided, action = copied(agent.state()), decision.action.copy()
        experience = some_experience(data, observation, decision)
        learn_from(agent, experience)
        return RecordedTick(before, metrics, decided, action, experience, copied(agent.policy_state()))

    def goes_on_alike(self, copy: Agent, recorded: list[RecordedTick], first: int, what: str) -> None:
        """Refuse a copy that acts or learns otherwise from tick `first` on, or is not the same at the end."""
        for tick, wanted in enumerate(recorded[first : first + self.ticks], 1):
            did = copy.act(wanted.experience.observation, ActMode.EXPLORE).action
            assert (did == wanted.action).all(), f"{what}, {tick} ticks later it acts otherwise"
            learn_from(copy, wanted.experience)
            assert same(copy.policy_state(), wanted.policy), f"{what}, {tick} ticks later it learned otherwise"
        if first + self.ticks < len(recorded):
            end = recorded[first + self.ticks].before
            assert same(copy.state(), end), f"{what}, it is another one in the end"

    def observe_once(self, agent: Agent) -> None:
        """Let an agent take one tick's transitions."""
        play(agent, 1, np.random.default_rng(1), self.rows, learn=False)

    # --- acting -----------------------------------------------------------------------------------------------------

    def test_it_takes_some_policy(self) -> None:
        """There is an action space that it does not refuse."""
        assert list(self.claimed()), "it refuses every policy in `specs`"

    def test_actions_are_what_the_policy_says_in_every_mode(self) -> None:
        """Shapes, types, choices that exist and finite numbers."""
        for spec in self.claimed():
            agent = self.played(spec, self.ticks)
            for mode in MODES:
                decision = agent.act(some_observation(np.random.default_rng(0), self.rows), mode)
                assert isinstance(decision, Decision), f"{mode}: {type(decision).__name__} is no Decision"
                wrong = spec.actions.wrong(decision.action, self.rows)
                assert wrong is None, f"{mode}: it {wrong.what} {wrong.why}"

    def test_greedy_actions_repeat_themselves_and_change_nothing(self) -> None:
        """For any number of rows."""
        for spec in self.claimed():
            agent = self.played(spec, self.ticks)
            before = agent.state()
            for rows in (1, 3, self.rows, 50):
                observation = some_observation(np.random.default_rng(1), rows)
                copy = observation.copy()
                first, second = (agent.act(observation, ActMode.GREEDY).action.copy() for _ in range(2))
                assert (first == second).all(), "a greedy action is another one when it is asked again"
                assert (observation == copy).all(), "act writes into its observation"
            assert same(agent.state(), before), "a greedy action changes the agent"

    def test_sampling_leaves_no_trace_in_training(self) -> None:
        """Whoever watches with SAMPLE changes neither what is explored nor what is learned."""
        for spec in self.claimed():
            watched, alone = self.played(spec, self.ticks), self.played(spec, self.ticks)
            for _ in range(2):
                watched.act(some_observation(np.random.default_rng(1), 40), ActMode.SAMPLE)
            did = [play(agent, self.ticks, np.random.default_rng(2), self.rows) for agent in (watched, alone)]
            assert all((a == b).all() for a, b in zip(*did, strict=True)), "sampling draws from exploring's stream"
            assert watched.parameters_sha256() == alone.parameters_sha256(), "sampling changes what is learned"

    def test_one_row_is_enough(self) -> None:
        """A single arena with a single agent."""
        for spec in self.claimed():
            agent = self.make(spec, rows=1)
            play(agent, self.ticks * self.rows, np.random.default_rng(0), 1, invalid=0.0)
            assert agent.is_finite(), "its parameters are not finite"

    # --- randomness -------------------------------------------------------------------------------------------------

    def test_the_same_seed_gives_the_same_agent_and_another_seed_another(self) -> None:
        """Whatever the global random numbers are, which are left alone."""
        for spec in self.claimed():
            torch.manual_seed(1)
            first = self.played(spec, self.ticks, seed=3).state()
            torch.manual_seed(2)
            np.random.seed(2)
            before = torch.get_rng_state(), repr(np.random.get_state(legacy=False))
            assert same(first, self.played(spec, self.ticks, seed=3).state()), "the same seed gives another agent"
            assert not same(first, self.played(spec, self.ticks, seed=4).state()), "another seed gives the same agent"
            after = torch.get_rng_state(), repr(np.random.get_state(legacy=False))
            assert torch.equal(before[0], after[0]), "it draws from torch's global random numbers"
            assert before[1] == after[1], "it draws from numpy's global random numbers"

    # --- saving -----------------------------------------------------------------------------------------------------

    def test_a_saved_agent_continues_exactly_in_a_fresh_one(self) -> None:
        """Through the format of checkpoints, from any tick."""
        for spec in self.claimed():
            recorded = self.recorded(spec)
            for ticks, saved in enumerate(recorded[: self.ticks + 1]):
                copy = self.make(spec, seed=2)
                copy.load_state(saved.before)
                assert same(copy.state(), saved.before), f"after {ticks} ticks it loads something else"
                assert dict(copy.metrics()) == saved.metrics, "its metrics are not saved"
                self.goes_on_alike(copy, recorded, ticks, f"saved after {ticks} ticks")

    def test_an_agent_saved_between_act_and_observe_continues_exactly(self) -> None:
        """Nothing of a decision is kept but what its extras carry."""
        for spec in self.claimed():
            recorded = self.recorded(spec)
            for ticks, saved in enumerate(recorded[: self.ticks + 1]):
                copy = self.make(spec, seed=2)
                copy.load_state(saved.decided)
                learn_from(copy, saved.experience)
                self.goes_on_alike(copy, recorded, ticks + 1, f"saved after a decision at tick {ticks}")

    def test_an_agent_saved_in_the_middle_of_an_update_continues_exactly(self) -> None:
        """After each of its first slices."""
        for spec in self.claimed():
            for slices in (1, 2, 3):
                original, copy = self.before_an_update(spec, seed=1), self.make(spec, seed=2)
                update = original.learn(PROGRESS)
                for _ in range(slices):
                    next(update, None)
                copy.load_state(copied(original.state()))
                for _ in update:
                    pass
                for _ in copy.learn(PROGRESS):
                    pass
                assert same(original.state(), copy.state()), f"saved after slice {slices}, an update ends otherwise"

    def test_a_state_is_a_copy(self) -> None:
        """Later learning changes neither what was saved nor what was loaded."""
        for spec in self.claimed():
            agent = self.played(spec, 7)
            saved = agent.state()
            before = copied(saved)
            play(agent, self.ticks, np.random.default_rng(1), self.rows)
            assert same(saved, before), "learning changes a state that was saved before"
            other = self.make(spec, seed=5)
            other.load_state(saved)
            play(other, self.ticks, np.random.default_rng(1), self.rows)
            assert same(saved, before), "learning changes the state that was loaded"

    def test_a_policy_alone_acts_like_the_agent_it_came_from(self) -> None:
        """In any number of rows."""
        for spec in self.claimed():
            agent, copy = self.played(spec, self.ticks, seed=1), self.make(spec, seed=2, rows=50)
            copy.load_policy_state(copied(agent.policy_state()))
            observation = some_observation(np.random.default_rng(1), 50)
            ours, theirs = (each.act(observation, ActMode.GREEDY).action for each in (agent, copy))
            assert (ours == theirs).all(), "acting needs something that policy_state does not have"
            assert agent.parameters_sha256() == copy.parameters_sha256(), "the same policy has another hash"

    def test_a_state_that_does_not_fit_is_refused_and_nothing_is_changed(self) -> None:
        """Names that are missing or unknown, other shapes and other types."""
        for spec in self.claimed():
            agent = self.played(spec, 3)
            before, policy = agent.state(), agent.policy_state()
            name = next(iter(policy))
            wrong: dict[str, State] = {
                "an unknown name": {**policy, "stranger": torch.zeros(1)},
                "a missing name": {n: t for n, t in policy.items() if n != name},
                "another shape": {**policy, name: torch.zeros(3, 99, dtype=policy[name].dtype)},
                "another type": {**policy, name: policy[name].to(torch.complex64)},
            }
            for what, state in wrong.items():
                rest = {n: t for n, t in before.items() if n not in policy}
                for method, given in ((agent.load_policy_state, state), (agent.load_state, {**rest, **state})):
                    try:
                        method(given)
                    except CheckpointError:
                        continue
                    raise AssertionError(f"{method.__name__} takes a state with {what}")
            assert same(agent.state(), before), "a state that was refused has changed the agent"

    def test_the_hash_is_of_the_parameters(self) -> None:
        """It changes with them and with nothing else."""
        for spec in self.claimed():
            agent = self.played(spec, self.ticks)
            sha, policy = agent.parameters_sha256(), agent.policy_state()
            assert sha == agent.parameters_sha256(), "it is another one when it is asked again"
            agent.act(some_observation(np.random.default_rng(1), self.rows), ActMode.EXPLORE)
            assert sha == agent.parameters_sha256(), "it changes when the agent acts"
            agent.load_policy_state({n: t + 0.001 if t.is_floating_point() else t for n, t in policy.items()})
            assert sha != agent.parameters_sha256(), "it stays the same with other parameters"

    # --- learning ---------------------------------------------------------------------------------------------------

    def test_it_learns_something(self) -> None:
        """Its parameters change within `ticks`, and stay finite."""
        for spec in self.claimed():
            agent = self.make(spec)
            before = agent.parameters_sha256()
            play(agent, self.ticks, np.random.default_rng(0), self.rows)
            assert agent.parameters_sha256() != before, f"nothing in {self.ticks} ticks: smaller settings or more ticks"
            assert agent.is_finite(), "its parameters are not finite"
            assert all(np.isfinite(number) for number in agent.metrics().values()), "its metrics are not finite"

    def test_an_update_in_slices_with_looks_in_between_equals_a_whole_one(self) -> None:
        """Between two slices a window may ask, and another world may play greedily."""
        for spec in self.claimed():
            whole, sliced = self.before_an_update(spec), self.before_an_update(spec)
            for _ in whole.learn(PROGRESS):
                pass
            for _ in sliced.learn(PROGRESS):
                sliced.act(some_observation(np.random.default_rng(3), 4), ActMode.GREEDY)
                sliced.metrics(), sliced.policy_state(), sliced.parameters_sha256()
            assert same(whole.state(), sliced.state()), "looking in between changes an update"

    def test_an_update_that_is_dropped_halfway_goes_on_with_the_next_call(self) -> None:
        """Where it stands is kept in the agent, not in the generator."""
        for spec in self.claimed():
            whole, dropped = self.before_an_update(spec), self.before_an_update(spec)
            for _ in whole.learn(PROGRESS):
                pass
            for _ in range(1000):
                if next(dropped.learn(PROGRESS), 0) == 0:
                    break
            assert same(whole.state(), dropped.state()), "an update that was left begins anew, or is lost"

    def test_what_others_do_with_arrays_afterwards_does_not_reach_the_agent(self) -> None:
        """It copies what it keeps, and hands out nothing that it needs."""
        for spec in self.claimed():
            untouched, touched = self.make(spec), self.make(spec)
            for agent in (untouched, touched):
                data = np.random.default_rng(0)
                for _ in range(self.ticks):
                    observation = some_observation(data, self.rows)
                    experience = some_experience(data, observation.copy(), agent.act(observation, ActMode.EXPLORE))
                    if agent is touched:
                        observation[:] = 99
                    agent.observe(experience)
                    if agent is touched:
                        arrays = (
                            experience.observation,
                            experience.next_observation,
                            experience.reward,
                            experience.action,
                        )
                        for array in (*arrays, *experience.extras.values()):
                            array[:] = 1
                    for _ in agent.learn(PROGRESS):
                        pass
            assert same(untouched.state(), touched.state()), "it keeps an array that belongs to somebody else"

    def test_invalid_rows_may_hold_anything_and_teach_nothing(self) -> None:
        """Not even their random numbers, and rows that are all invalid change no parameter."""
        for spec in self.claimed():
            clean, wild = self.make(spec), self.make(spec)
            for agent in (clean, wild):
                data = np.random.default_rng(0)
                for _ in range(self.ticks):
                    observation = some_observation(data, self.rows)
                    decision = agent.act(observation, ActMode.EXPLORE)
                    experience = some_experience(data, observation, decision, invalid=0.3)
                    if agent is wild:
                        assert experience.valid is not None
                        experience.reward[~experience.valid] = np.nan
                        experience.next_observation[~experience.valid] = np.inf
                    with np.errstate(all="ignore"):
                        agent.observe(experience)
                        for _ in agent.learn(PROGRESS):
                            pass
            assert wild.is_finite(), "what an invalid row holds has got into the parameters"
            assert clean.parameters_sha256() == wild.parameters_sha256(), "what an invalid row holds is learned from"
            agent = self.make(spec)
            before = agent.parameters_sha256()
            play(agent, self.ticks, np.random.default_rng(0), self.rows, invalid=1.0)
            assert agent.parameters_sha256() == before, "rows that are all invalid change the parameters"

    def test_an_episode_that_was_cut_is_not_one_that_ended(self) -> None:
        """Where values are learned, what would have come after a cut counts; elsewhere both are just ends."""
        for spec in self.claimed():
            hashes = set[str]()
            for cut in (False, True):
                agent, data = self.make(spec), np.random.default_rng(0)
                for _ in range(self.ticks):
                    observation = some_observation(data, self.rows)
                    experience = some_experience(
                        data, observation, agent.act(observation, ActMode.EXPLORE), invalid=0.0
                    )
                    over = experience.terminated | experience.truncated
                    experience.terminated, experience.truncated = (over & ~over, over) if cut else (over, over & ~over)
                    agent.observe(experience)
                    for _ in agent.learn(PROGRESS):
                        pass
                assert agent.is_finite(), "its parameters are not finite"
                hashes.add(agent.parameters_sha256())
            if self.bootstraps:
                assert len(hashes) == 2, "a cut teaches the same as an end"

    def test_numbers_that_run_away_are_never_hidden(self) -> None:
        """Bad rewards end in a DivergedError or in an `is_finite` that is true of the parameters."""
        for spec in self.claimed():
            for bad in (np.nan, np.inf, 1e30):
                agent, data = self.played(spec, 10), np.random.default_rng(1)
                try:
                    for _ in range(self.ticks):
                        observation = some_observation(data, self.rows)
                        decision = agent.act(observation, ActMode.EXPLORE)
                        experience = some_experience(data, observation, decision, invalid=0.0)
                        experience.reward[:] = bad
                        with np.errstate(all="ignore"):
                            agent.observe(experience)
                            for _ in agent.learn(PROGRESS):
                                pass
                except DivergedError:
                    assert agent.is_finite(), "after a DivergedError the last good parameters must be there"
                if agent.is_finite():
                    agent.act(some_observation(data, self.rows), ActMode.GREEDY)
                    known = set(agent.policy_state()) - set(getattr(agent, "MAY_BE_UNKNOWN", ()))
                    sick = [name for name in known if agent.policy_state()[name].isnan().any()]
                    assert not sick, f"is_finite is true, and {sick} are not"
