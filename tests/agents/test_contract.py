"""The contract that algorithms inherit holds for the README's, and finds each way in which one can break it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pages import example

from ecs_rl.errors import EcsRlError
from ecs_rl.testing import AgentContract
from ecs_rl.user_files.named import load_object

CEM = example("algorithm")


def contract_of(folder: Path, *changes: tuple[str, str]) -> AgentContract:
    """Return the contract of the README's algorithm with these changes."""
    text = CEM
    for old, new in changes:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    (folder / "cem.py").write_text(text)
    kind: Any = load_object("--agent", f"{folder / 'cem.py'}:CEM").value
    contract = AgentContract()
    contract.__class__ = type("TestCEM", (AgentContract,), {"algorithm": kind, "config": kind.Config(batch=8)})
    return contract


PROMISES = sorted(name for name in dir(AgentContract) if name.startswith("test_"))


@pytest.mark.parametrize("promise", PROMISES)
def test_the_example_of_the_readme_keeps_every_promise(promise: str, tmp_path: Path) -> None:
    getattr(contract_of(tmp_path), promise)()


GREEDY = 'self.policy["mean"].expand(len(x), -1, -1) if mode'
SUM = "self.earned += torch.where(valid, torch.tensor(e.reward), 0.0)"
FIRST = "self.held = getattr(self, 'held', e.reward)\n        " + SUM.replace(
    "tensor(e.reward)", "from_numpy(self.held)"
)
HASH = "all(bool(part.isfinite().all()) for part in self.policy.values())"
BROKEN: dict[str, list[tuple[str, str]]] = {
    "test_it_takes_some_policy": [("if isinstance(spec.actions, Composed) else", "or")],
    "test_actions_are_what_the_policy_says_in_every_mode": [("out.argmax(1)", "out.sum(1)")],
    "test_greedy_actions_repeat_themselves_and_change_nothing": [(GREEDY, "self.draw(len(x), self.watching) if mode")],
    "test_sampling_leaves_no_trace_in_training": [
        ("self.draw(len(x), self.watching)", "self.draw(len(x), self.random)")
    ],
    "test_one_row_is_enough": [("rows, threads=1):", "rows, threads=1):\n        assert rows > 1")],
    "test_the_same_seed_gives_the_same_agent_and_another_seed_another": [(", generator=random)", ")")],
    "test_a_saved_agent_continues_exactly_in_a_fresh_one": [('own = ("tried", "earned",', 'own = ("tried",')],
    "test_an_agent_saved_between_act_and_observe_continues_exactly": [
        ("x = torch.cat", "self.seen = float(observation.sum())\n        x = torch.cat"),
        (SUM, SUM + " + getattr(self, 'seen', 0.0)"),
    ],
    "test_an_agent_saved_in_the_middle_of_an_update_continues_exactly": [
        (
            "self.ended.zero_()\n            yield",
            "self.ended.zero_()\n            yield\n            self.earned += 1.0",
        )
    ],
    "test_a_policy_alone_acts_like_the_agent_it_came_from": [
        ("copies(self.policy)", "copies({'spread': self.policy['spread']})")
    ],
    "test_a_state_that_does_not_fit_is_refused_and_nothing_is_changed": [
        ("self.ended.zero_()", "self.ended = torch.zeros(1)"),
        ("return copies(self.policy)", "self.ended += 1\n        return copies(self.policy)"),
    ],
    "test_the_hash_is_of_the_parameters": [('b"".join(part', "b\"\".join(b'0' or part")],
    "test_it_learns_something": [('self.policy["mean"].copy_(', "("), ('self.policy["spread"].copy_(', "(")],
    "test_an_update_in_slices_with_looks_in_between_equals_a_whole_one": [
        ('return {"spread"', 'self.earned += 1.0\n        return {"spread"')
    ],
    "test_an_update_that_is_dropped_halfway_goes_on_with_the_next_call": [
        ("self.ended.zero_()\n            yield", "yield\n            self.ended.zero_()")
    ],
    "test_what_others_do_with_arrays_afterwards_does_not_reach_the_agent": [(SUM, FIRST)],
    "test_invalid_rows_may_hold_anything_and_teach_nothing": [("in (over & valid)", "in over")],
    "test_numbers_that_run_away_are_never_hidden": [
        (HASH, "True"),
        ("best.mean(0))", "best.mean(0) + 0.0 * self.returns.mean())"),
    ],
}


@pytest.mark.parametrize("promise", BROKEN)
def test_a_promise_that_is_broken_is_found(promise: str, tmp_path: Path) -> None:
    with pytest.raises((AssertionError, EcsRlError)):
        getattr(contract_of(tmp_path, *BROKEN[promise]), promise)()


@pytest.mark.parametrize("promise", sorted({*PROMISES} - {*BROKEN}))
def test_the_promises_of_which_no_broken_one_stands_above_are_few(promise: str) -> None:
    # States are copied by what stands between an algorithm of a user's own and the project, and cuts are free to teach.
    assert promise in ("test_a_state_is_a_copy", "test_an_episode_that_was_cut_is_not_one_that_ended")


def test_where_values_are_learned_a_cut_must_not_teach_what_an_end_does(tmp_path: Path) -> None:
    contract: Any = contract_of(tmp_path)
    contract.__class__.bootstraps = True
    with pytest.raises(AssertionError, match="a cut teaches the same as an end"):
        contract.test_an_episode_that_was_cut_is_not_one_that_ended()
