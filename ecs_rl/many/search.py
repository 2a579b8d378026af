"""Which setting a trial gets, and which trials stop early.

The settings of a grid or a random search are known from the beginning; otherwise Optuna suggests each one by what all
trials before came to. Where trials stop early, Optuna's successive halving decides. Its study is in memory: a sweep
that goes on builds it again from `sweep.json`.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from typing import Any, Protocol

from ecs_rl.many.ranges import Axis, OneOf, Setting, combinations, drawn, grid
from ecs_rl.many.sweep_file import BROKEN, GRID, OPTUNA, RANDOM, Row, Sweep

USUAL_TRIALS = 16
DRAWN_FIRST = 8
"""Trials at random before Optuna suggests, of a seed's own."""
HALVING = 3
"""One trial in so many goes on at each rung, and the next rung is so many times as far."""
RUNGS = 3
"""Rungs before the end."""


def search_of(axes: Sequence[Axis], trials: int) -> tuple[str, int]:
    """Return how settings are found, and how many there will be; `trials` is 0 by default."""
    every = combinations(axes)
    if every and (not trials or trials >= every):
        return GRID, every
    return OPTUNA if find_spec("optuna") else RANDOM, trials or USUAL_TRIALS


def first_rung(steps: int, eval_every: int) -> int:
    """Return the steps after which trials are first compared, 0 if that is at their end."""
    first = max(eval_every, steps // HALVING**RUNGS)
    return first if first < steps else 0


class Search(Protocol):
    """Gives settings to trials, and stops some of them."""

    def ask(self, trial: int) -> Setting | None:
        """Return the setting of a trial; None while it is too early to say."""

    def stops(self, row: Row) -> bool:
        """Return whether a trial that was just evaluated is worse than most after as many steps."""

    def tell(self, row: Row) -> None:
        """Take note of how a trial ended."""


class ListedSettings:
    """The settings of a grid, or of a random search: known from the beginning. No trial stops early."""

    def __init__(self, sweep: Sweep, axes: Sequence[Axis]) -> None:
        self._settings = grid(axes) if sweep.search == GRID else drawn(axes, sweep.trials, sweep.seed)

    def ask(self, trial: int) -> Setting | None:
        """Return the setting of a trial."""
        return self._settings[trial]

    def stops(self, row: Row) -> bool:
        """Stop no trial."""
        return False

    def tell(self, row: Row) -> None:
        """Take no note."""


class OptunaSearch:
    """Optuna stops trials early, and suggests the settings that are not listed.

    The sampler is a tree-structured Parzen estimator with the sweep's seed. Trials that end in another order lead to
    other suggestions, so a suggestion waits for all trials but the newest `behind`: then the same results in any order
    give the same settings. Where trials stop early results depend on the order, and none waits.
    """

    def __init__(self, sweep: Sweep, axes: Sequence[Axis], behind: int, rung: int = 0) -> None:
        """`rung` is the step at which trials are first compared, 0 to stop none of them."""
        import optuna

        optuna.logging.set_verbosity(optuna.logging.ERROR)
        self._axes, self._sign = {axis.name: axis for axis in axes}, sweep.sign
        self._listed = None if sweep.search == OPTUNA else ListedSettings(sweep, axes)
        seed = sweep.seed + len(sweep.rows)
        with warnings.catch_warnings(action="ignore"):  # that trials at the same time keep apart is a new option
            sampler = optuna.samplers.TPESampler(seed=seed, n_startup_trials=DRAWN_FIRST, constant_liar=True)
        halving = optuna.pruners.SuccessiveHalvingPruner(min_resource=rung or 1, reduction_factor=HALVING)
        pruner = halving if rung else optuna.pruners.NopPruner()
        self._study: Any = optuna.create_study(direction="maximize", sampler=sampler, pruner=pruner)
        self._space = {axis.name: _distribution(axis) for axis in axes}
        self._optuna_trials: dict[int, Any] = {}
        """Optuna's trials that run, by our number."""
        self._results: dict[int, Row] = {}
        self._learned = 0
        """The study knows all trials below this number."""
        self._behind = 0 if sweep.early_stopping else behind
        for row in sorted(sweep.rows, key=lambda row: row.trial):
            if row.over:
                self.tell(row)
            elif row.curve:
                self._replay(row)

    def ask(self, trial: int) -> Setting | None:
        """Return the setting of a trial; None while it is too early to say."""
        if self._behind and self._listed is None:
            while self._learned <= trial - self._behind:  # and of no later one, which may have ended by chance
                if self._learned not in self._results:
                    return None
                self._learn(self._results[self._learned])
                self._learned += 1
        else:
            for number in sorted(self._results):
                self._learn(self._results.pop(number))
        setting = None if self._listed is None else self._listed.ask(trial)
        self._optuna_trials[trial] = optuna_trial = self._ask(setting)
        return setting or {name: _value(self._axes[name], optuna_trial.params[name]) for name in self._space}

    def stops(self, row: Row) -> bool:
        """Return whether a trial that was just evaluated is worse than most after as many steps."""
        if row.trial not in self._optuna_trials:  # it goes on from an earlier life of the sweep
            self._optuna_trials[row.trial] = self._ask(row.setting)
        return bool(row.curve) and self._compare(self._optuna_trials[row.trial], *row.curve[-1])

    def tell(self, row: Row) -> None:
        """Take note of how a trial ended."""
        self._results[row.trial] = row

    def _ask(self, setting: Mapping[str, Any] | None) -> Any:
        """Return a new trial of Optuna's, with this setting if there is one."""
        if setting is not None:
            self._study.enqueue_trial({name: _parameter(self._axes[name], value) for name, value in setting.items()})
        return self._study.ask(self._space)

    def _replay(self, row: Row) -> None:
        """Let the study see a trial of an earlier life of the sweep."""
        self._optuna_trials[row.trial] = optuna_trial = self._ask(row.setting)
        for step, best in row.curve:
            self._compare(optuna_trial, step, best)

    def _compare(self, optuna_trial: Any, step: int, best: float) -> bool:
        if not math.isfinite(best):
            return False
        optuna_trial.report(best, step)
        return bool(optuna_trial.should_prune())

    def _learn(self, row: Row) -> None:
        """Let the study know how a trial ended; one that failed says nothing but that it did."""
        import optuna

        states, failed = optuna.trial.TrialState, row.value is None or row.state in BROKEN
        if row.trial not in self._optuna_trials:
            self._replay(row)
        value = None if failed or row.value is None else self._sign * row.value
        self._study.tell(self._optuna_trials.pop(row.trial), value, state=states.FAIL if failed else states.COMPLETE)


def _distribution(axis: Axis) -> Any:
    """Return what Optuna calls a range; of a list of values it knows the numbers."""
    from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

    if isinstance(axis, OneOf):
        return CategoricalDistribution(range(len(axis.values)))
    if axis.whole:
        return IntDistribution(int(axis.low), int(axis.high), log=axis.log)
    return FloatDistribution(axis.low, axis.high, log=axis.log)


def _value(axis: Axis, parameter: Any) -> Any:
    return axis.values[parameter] if isinstance(axis, OneOf) else axis.nearest(parameter)


def _parameter(axis: Axis, value: Any) -> Any:
    return axis.values.index(axis.own(value)) if isinstance(axis, OneOf) else value
