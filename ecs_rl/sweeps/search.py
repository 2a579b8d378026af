"""Which setting a trial gets: one of a list that was drawn before, or Optuna's next suggestion."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from importlib.util import find_spec
from typing import Any

from ecs_rl.sweeps.ranges import Axis, Choice, Setting, combinations, drawn, grid
from ecs_rl.sweeps.record import Row, Sweep

USUAL_TRIALS = 16
DRAWN_FIRST = 8
"""Trials at random before Optuna suggests, of a seed's own."""
GRID, RANDOM, OPTUNA = "grid", "random", "optuna"


def search_of(axes: Sequence[Axis], trials: int) -> tuple[str, int]:
    """Return how settings are found, and how many there will be; `trials` is 0 where nobody said."""
    every = combinations(axes)
    if every and (not trials or trials >= every):
        return GRID, every
    return OPTUNA if find_spec("optuna") else RANDOM, trials or USUAL_TRIALS


class Settings:
    """Those of a grid, or drawn at random: each is known from the beginning."""

    def __init__(self, sweep: Sweep, axes: Sequence[Axis]) -> None:
        self._settings = grid(axes) if sweep.search == GRID else drawn(axes, sweep.trials, sweep.seed)

    def ask(self, trial: int) -> Setting | None:
        """Return the setting of a trial; None where it is too early to say."""
        return self._settings[trial]

    def tell(self, row: Row) -> None:
        """Take note of how a trial went."""


class Suggestions:
    """Optuna's: the next one goes by all that were tried.

    The sampler is a tree-structured Parzen estimator with the sweep's seed. Trials that end in another order lead to
    other suggestions, so a suggestion waits for all trials but the newest `behind`: then the same results in any order
    give the same settings. Where trials are stopped early results depend on the order, and nobody waits.
    """

    def __init__(self, sweep: Sweep, axes: Sequence[Axis], behind: int) -> None:
        import optuna

        optuna.logging.set_verbosity(optuna.logging.ERROR)
        self._axes, self._sign = {axis.name: axis for axis in axes}, sweep.sign
        seed = sweep.seed + len(sweep.rows)
        with warnings.catch_warnings(action="ignore"):  # that trials at the same time keep apart is a new option
            sampler = optuna.samplers.TPESampler(seed=seed, n_startup_trials=DRAWN_FIRST, constant_liar=True)
        self._study: Any = optuna.create_study(direction="maximize", sampler=sampler)
        self._space = {axis.name: _distribution(axis) for axis in axes}
        self._asked: dict[int, Any] = {}
        self._results: dict[int, Row] = {}
        self._told = 0
        """Trials below this number have been told."""
        self._behind = 0 if sweep.early_stopping else behind
        for row in sorted(sweep.rows, key=lambda row: row.trial):
            if row.over:
                self.tell(row)

    def ask(self, trial: int) -> Setting | None:
        """Return the setting of a trial; None where it is too early to say."""
        if self._behind:
            while self._told <= trial - self._behind:  # and of no later one, which may have ended by chance
                if self._told not in self._results:
                    return None
                self._learn(self._results[self._told])
                self._told += 1
        else:
            for number in sorted(self._results):
                self._learn(self._results.pop(number))
        self._asked[trial] = asked = self._study.ask(self._space)
        return {name: _value(self._axes[name], asked.params[name]) for name in self._space}

    def tell(self, row: Row) -> None:
        """Take note of how a trial went."""
        self._results[row.trial] = row

    def _learn(self, row: Row) -> None:
        """Let the study know of a trial; one that failed says nothing but that it did."""
        import optuna

        states, failed = optuna.trial.TrialState, row.value is None or row.state in ("diverged", "failed")
        value = None if failed or row.value is None else self._sign * row.value
        asked = self._asked.pop(row.trial, None)
        if asked is not None:
            self._study.tell(asked, value, state=states.FAIL if failed else states.COMPLETE)
        elif value is not None:  # of an earlier life of the sweep
            params = {name: _parameter(self._axes[name], each) for name, each in row.setting.items()}
            self._study.add_trial(optuna.trial.create_trial(params=params, distributions=self._space, value=value))


def _distribution(axis: Axis) -> Any:
    """Return what Optuna calls a range; of a list of values it knows the numbers."""
    from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

    if isinstance(axis, Choice):
        return CategoricalDistribution(range(len(axis.values)))
    if axis.whole:
        return IntDistribution(int(axis.low), int(axis.high), log=axis.log)
    return FloatDistribution(axis.low, axis.high, log=axis.log)


def _value(axis: Axis, parameter: Any) -> Any:
    return axis.values[parameter] if isinstance(axis, Choice) else axis.nearest(parameter)


def _parameter(axis: Axis, value: Any) -> Any:
    return axis.values.index(axis.own(value)) if isinstance(axis, Choice) else value
