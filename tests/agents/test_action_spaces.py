"""A space of actions knows its form, its parts and what is no action of it, and a checkpoint knows the space."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np
import pytest
from agents_helpers import CHOICES, MIXED, MOTORS

from ecs_rl.agents import Composed, Continuous, Discrete, PolicySpec
from ecs_rl.runs import PolicyEntry
from ecs_rl.spaces import spans

SPACE = MIXED.actions
GOOD = np.array([[0.0, 0.5, 1.0], [2.0, -7.0, 0.0]], np.float32)


def test_a_mixture_names_its_outputs_and_counts_its_columns_and_levers() -> None:
    assert SPACE.names == ("steer left", "steer stay", "steer right", "gas", "fire off", "fire on")
    assert (SPACE.columns, SPACE.levers) == (3, 1)
    assert SPACE.about == {"steer": "left, stay, right", "gas": "-1 to 1", "fire": "off, on"}
    where = [((c.start, c.stop), (o.start, o.stop)) for _, c, o in spans(SPACE)]
    assert where == [((0, 1), (0, 3)), ((1, 2), (3, 4)), ((2, 3), (4, 6))]


def test_lone_choices_and_levers_are_their_only_part() -> None:
    for space, columns, levers in ((CHOICES.actions, 1, 0), (MOTORS.actions, 2, 2)):
        assert space.parts == (space,)
        assert (space.columns, space.levers) == (columns, levers)


@pytest.mark.parametrize("spec", [CHOICES, MOTORS, MIXED])
def test_what_is_drawn_at_random_is_an_action_and_reaches_every_option(spec: PolicySpec) -> None:
    action = spec.actions.random(np.random.default_rng(0), 500)
    assert spec.actions.wrong(action, 500) is None
    none = spec.actions.none(500)
    assert (action.shape, action.dtype) == (none.shape, none.dtype)
    for part, columns, _ in spans(spec.actions):
        if isinstance(part, Discrete):
            chosen = action.reshape(500, -1)[:, columns.start]
            assert sorted(set(chosen.tolist())) == list(range(len(part.names)))


WRONG: list[tuple[str, Any, str]] = [
    ("one number", GOOD[:, 0], r"must set (2, 3) numbers (steer, gas, fire), not (2,) of float32"),
    ("a column too few", GOOD[:, :2], "must set (2, 3) numbers"),
    ("another number of rows", GOOD[:1], "must set (2, 3) numbers"),
    ("whole numbers", GOOD.astype(int), "must set (2, 3) numbers (steer, gas, fire), not (2, 3) of int64"),
    ("a choice that is not there", np.add(GOOD, (0, 0, 1)), "set 'fire' to 2, not one of 0 to 1 (off, on),"),
    ("a negative one", np.subtract(GOOD, (1, 0, 0)), "set 'steer' to -1, not one of 0 to 2 (left, stay, right),"),
    ("half a choice", np.add(GOOD, (0.5, 0, 0)), "set 'steer' to 0.5, not one of 0 to 2"),
    ("no number in a lever", np.add(GOOD, (0, np.nan, 0)), "set 'gas' to nan, not a finite number,"),
    ("no number in a trigger", np.add(GOOD, (0, 0, np.inf)), "set 'fire' to inf, not a finite number,"),
]


@pytest.mark.parametrize(("what", "action", "message"), WRONG, ids=[row[0] for row in WRONG])
def test_what_is_no_action_of_a_mixture_is_told_by_the_control(what: str, action: Any, message: str) -> None:
    assert SPACE.wrong(GOOD, 2) is None
    wrong = SPACE.wrong(action, 2)
    assert wrong is not None
    assert f"{wrong.what} {wrong.why}".startswith(message)
    assert not wrong.why or wrong.row in (0, 1)


def test_the_row_that_is_wrong_is_told() -> None:
    action = np.repeat(GOOD[:1], 9, axis=0)
    action[6, 2] = 0.25
    wrong = SPACE.wrong(action, 9)
    assert wrong is not None
    assert wrong.row == 6


@pytest.mark.parametrize("spec", [CHOICES, MOTORS, MIXED, PolicySpec(("x",), Composed((Continuous(("a",)),)))])
def test_a_checkpoint_knows_the_space(spec: PolicySpec) -> None:
    written = msgspec.json.encode(PolicyEntry.of(spec))
    assert msgspec.json.decode(written, type=PolicyEntry).spec() == spec
    assert (b"parts" in written) == isinstance(spec.actions, Composed), "lone choices and levers are written as ever"
