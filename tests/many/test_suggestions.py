"""Optuna's suggestions, the same for the same results in any order, and the trials that it stops early."""

from __future__ import annotations

import pytest

pytest.importorskip("optuna")

from ecs_rl.cli.parse import parse_train
from ecs_rl.cli.plan import recipes_of
from ecs_rl.many.ranges import Setting, parse_ranges
from ecs_rl.many.search import OptunaSearch, first_rung
from ecs_rl.many.sweep_file import Row, Sweep

AXES = parse_ranges(
    ["ppo.lr=1e-5..1e-1:log", "ppo.epochs=1..8", "ppo.hidden=64x64,32"], parse_train(["balance"], recipes_of)
)


def sweep(*rows: Row, early_stopping: bool = False) -> Sweep:
    return Sweep(
        scene="balance",
        agent="ppo",
        measure="best_eval",
        search="optuna",
        ranges=[],
        seed=3,
        seeds=1,
        trials=40,
        early_stopping=early_stopping,
        settings={},
        rows=list(rows),
    )


def worth(setting: Setting) -> float:
    """Return a score that is best at a learning rate of 1e-3 and many epochs."""
    import math

    return -abs(math.log10(setting["ppo.lr"]) + 3.0) + 0.1 * float(setting["ppo.epochs"])


def tried(source: OptunaSearch, trials: int, at_once: int, *, backwards: bool) -> list[Setting]:
    """Return what is suggested where so many trials run at once, and end first to last or last to first."""
    found, running = list[Setting](), list[int]()
    while len(found) < trials or running:
        setting = source.ask(len(found)) if len(found) < trials and len(running) < at_once else None
        if setting is not None:
            running.append(len(found))
            found.append(setting)
            continue
        number = running.pop(-1 if backwards else 0)
        failed = number % 7 == 3
        value = None if failed else worth(found[number])
        state = "failed" if failed else "finished"
        source.tell(Row(trial=number, setting=found[number], state=state, value=value))
    return found


def test_the_same_results_in_any_order_give_the_same_settings() -> None:
    forwards = tried(OptunaSearch(sweep(), AXES, 3), 30, 3, backwards=False)
    assert tried(OptunaSearch(sweep(), AXES, 3), 30, 3, backwards=True) == forwards


def test_suggestions_come_closer_to_what_is_good() -> None:
    found = [worth(each) for each in tried(OptunaSearch(sweep(), AXES, 1), 40, 1, backwards=False)]
    assert sum(found[-10:]) / 10 > sum(found[:10]) / 10 + 0.2


def test_a_sweep_that_goes_on_knows_what_was_tried() -> None:
    before = tried(OptunaSearch(sweep(), AXES, 1), 25, 1, backwards=False)
    rows = [
        Row(trial=number, setting={**each, "ppo.hidden": list(each["ppo.hidden"])}, state="finished", value=worth(each))
        for number, each in enumerate(before)
    ]
    source = OptunaSearch(sweep(*rows), AXES, 1)
    after = []
    for number in range(25, 35):
        setting = source.ask(number)
        assert setting is not None
        after.append(worth(setting))
        source.tell(Row(trial=number, setting=setting, state="finished", value=after[-1]))
    assert sum(after) / 10 > sum(map(worth, before[:8])) / 8 + 0.2


def halving(*rows: Row, trials: int = 0) -> OptunaSearch:
    """Return a search in which trials are first compared at 1,000 steps, after some trials of it have begun."""
    source = OptunaSearch(sweep(*rows, early_stopping=True), AXES, 1, rung=1000)
    for number in range(trials):
        assert source.ask(len(rows) + number) is not None
    return source


def row(trial: int, *curve: tuple[int, float], state: str = "running") -> Row:
    setting = {"ppo.lr": 1e-3, "ppo.epochs": 1, "ppo.hidden": (32,)}
    return Row(trial=trial, setting=setting, state=state, curve=list(curve), value=curve[-1][1] if curve else None)


def test_a_trial_that_is_not_among_the_best_third_at_a_rung_stops_there() -> None:
    source = halving(trials=6)
    for number in range(5):
        assert not source.stops(row(number, (900, -100.0))), "no rung is reached"
    values = (1.0, 5.0, 3.0, 6.0, 0.0, 5.5)
    stopped = [source.stops(row(number, (1000, value))) for number, value in enumerate(values)]
    assert stopped == [False, False, True, False, True, False]
    assert not source.stops(row(1, (2900, -1.0))), "the next rung is three times as far"
    assert not source.stops(row(3, (3000, 2.0)))
    assert source.stops(row(1, (3000, 1.0)))


def test_a_sweep_that_goes_on_compares_with_the_trials_of_before() -> None:
    curves = [((1000, 2.0), (3000, 7.0)), ((1000, 4.0), (3000, 8.0)), ((1000, 3.0),)]
    states = ("finished", "finished", "interrupted")
    rows = [row(number, *curve, state=state) for number, (curve, state) in enumerate(zip(curves, states, strict=True))]
    source = halving(*rows, trials=2)
    assert source.stops(row(3, (1000, 3.5)))
    assert not source.stops(row(4, (1000, 4.5)))
    assert source.stops(row(2, (1000, 3.0), (3000, 7.5)))


def test_rungs_are_at_a_27th_or_the_first_evaluation_and_there_is_none_at_the_end() -> None:
    assert first_rung(27_000, 500) == 1000
    assert first_rung(27_000, 5000) == 5000
    assert first_rung(5000, 5000) == 0
