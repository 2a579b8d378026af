"""Optuna's suggestions: the same for the same results, in whatever order these come."""

from __future__ import annotations

import pytest

pytest.importorskip("optuna")

from ecs_rl.cli.parse import parse_train
from ecs_rl.cli.plan import recipes_of
from ecs_rl.sweeps.ranges import Setting, parse_ranges
from ecs_rl.sweeps.record import Row, Sweep
from ecs_rl.sweeps.search import Suggestions

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


def tried(source: Suggestions, trials: int, at_once: int, *, backwards: bool) -> list[Setting]:
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
    forwards = tried(Suggestions(sweep(), AXES, 3), 30, 3, backwards=False)
    assert tried(Suggestions(sweep(), AXES, 3), 30, 3, backwards=True) == forwards


def test_suggestions_come_closer_to_what_is_good() -> None:
    found = [worth(each) for each in tried(Suggestions(sweep(), AXES, 1), 40, 1, backwards=False)]
    assert sum(found[-10:]) / 10 > sum(found[:10]) / 10 + 0.2


def test_a_sweep_that_goes_on_knows_what_was_tried() -> None:
    before = tried(Suggestions(sweep(), AXES, 1), 25, 1, backwards=False)
    rows = [
        Row(trial=number, setting={**each, "ppo.hidden": list(each["ppo.hidden"])}, state="finished", value=worth(each))
        for number, each in enumerate(before)
    ]
    source = Suggestions(sweep(*rows), AXES, 1)
    after = []
    for number in range(25, 35):
        setting = source.ask(number)
        assert setting is not None
        after.append(worth(setting))
        source.tell(Row(trial=number, setting=setting, state="finished", value=after[-1]))
    assert sum(after) / 10 > sum(map(worth, before[:8])) / 8 + 0.2
