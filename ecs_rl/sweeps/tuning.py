"""Ray Tune: how a sweep is handed to it, and which trials it stops early."""

from __future__ import annotations

import logging
import os
from collections.abc import Sequence
from typing import Any

from ecs_rl.cli.settings import TrainSettings
from ecs_rl.errors import StorageError
from ecs_rl.runs.files import is_refused, storage_error
from ecs_rl.sweeps.driver import Driver, NextSetting, Reports, Stop
from ecs_rl.sweeps.population import Member, PopulationDriver, PopulationOrder, exchanges
from ecs_rl.sweeps.ranges import Axis
from ecs_rl.sweeps.trial import BEST_EVAL, Order, SweepTrial

TUNE = ".tune"
"""Where Tune keeps what it needs while it runs, inside the sweep's folder."""
HALVING = 3
"""ASHA lets one trial in so many go on at each rung, and the next rung is so many times as far."""
RUNGS = 3
"""Rungs before the end."""
TRIES = 1
"""So many times a trial whose process died goes on in a new one."""
TRIES_OF_A_MEMBER = 3
"""The same in a population, which ends where one of its members does."""
AS_WE_WANT_IT = {
    "TUNE_DISABLE_SIGINT_HANDLER": "1",  # the first Ctrl-C is answered by us
    "TUNE_DISABLE_AUTO_CALLBACK_LOGGERS": "1",
    "TUNE_DISABLE_STRICT_METRIC_CHECKING": "1",  # one that diverged has nothing to be judged by
    "TUNE_GLOBAL_CHECKPOINT_S": str(10**9),  # the sweep's own file knows what it takes to go on
    "TUNE_WARN_EXCESSIVE_EXPERIMENT_CHECKPOINT_SYNC_THRESHOLD_S": "0",
    "RAY_AIR_NEW_OUTPUT": "0",
}


def run_trials(driver: Driver, order: Order, settings: TrainSettings) -> None:
    """Let Tune try all that the driver has, each with a setting of its own."""
    from ray import tune
    from ray.tune.search import Searcher

    searcher = _with_driver(NextSetting, Searcher, driver)
    checkpoints = tune.CheckpointConfig(num_to_keep=2, checkpoint_frequency=1)
    _run(
        *(SweepTrial, driver, order, settings),
        num_samples=driver.file.sweep.trials,
        search_alg=searcher,
        scheduler=early_stopping(driver, settings),
        checkpoint_config=checkpoints,
        max_failures=TRIES,
    )


def run_population(
    driver: PopulationDriver, order: PopulationOrder, settings: TrainSettings, axes: Sequence[Axis]
) -> None:
    """Let Tune train the members of a population."""
    from ray import tune

    rows = [driver.rows[number] for number in driver.members]
    members = [{"setting": row.setting, "runs": row.runs} for row in rows]
    _run(
        *(Member, driver, order, settings),
        config={"member": tune.grid_search(members)},
        scheduler=exchanges(driver, order, axes),
        checkpoint_config=tune.CheckpointConfig(num_to_keep=3),
        max_failures=TRIES_OF_A_MEMBER,
    )


def _run(kind: type[SweepTrial], driver: Driver, order: Order, settings: TrainSettings, **more: Any) -> None:
    """Run Tune with what both have in common."""
    os.environ.update(AS_WE_WANT_IT)
    driver.is_alone = not settings.ray
    for name in ("ray.tune", "ray.train"):  # which print tracebacks of what the disk refuses
        logging.getLogger(name).setLevel(logging.CRITICAL)
    from ray import tune

    trainable: Any = type("Trial", (kind, tune.Trainable), {})
    try:
        _tuned(tune, trainable, driver, order, settings, **more)
    except (OSError, StorageError) as error:  # what Tune itself writes into the sweep's folder, too
        if not is_refused(error):
            raise
        driver.give_up(str(storage_error(driver.file.path, error) if isinstance(error, OSError) else error))


def _tuned(tune: Any, trainable: Any, driver: Driver, order: Order, settings: TrainSettings, **more: Any) -> None:
    tune.run(
        tune.with_parameters(trainable, order=order),
        name=TUNE,
        storage_path=order.folder,
        resources_per_trial={"cpu": settings.threads},
        callbacks=[_with_driver(Reports, tune.Callback, driver)],
        stop=_with_driver(Stop, tune.Stopper, driver),
        reuse_actors=True,
        raise_on_failed_trial=False,
        verbose=0,
        trial_name_creator=lambda trial: trial.trial_id,
        trial_dirname_creator=lambda trial: trial.trial_id,
        **more,
    )


def _with_driver(kind: type, base: type, driver: Driver) -> Any:
    """Return one of our parts as what Tune wants it to be."""
    return type(kind.__name__, (kind, base), {"driver": driver, "__reduce__": _stays_here})()


def _stays_here(self: Any) -> Any:
    """Be a text where Tune writes its own record, which nobody reads."""
    return str, (type(self).__name__,)


def early_stopping(driver: Driver, settings: TrainSettings) -> Any:
    """Return Tune's scheduler: ASHA, which knows how earlier trials of the sweep went, or none."""
    from ray.tune.schedulers import ASHAScheduler, FIFOScheduler

    first = max(settings.eval_every, settings.steps // HALVING**RUNGS)
    if not settings.early_stopping or first >= settings.steps:
        return FIFOScheduler()
    asha = ASHAScheduler(
        time_attr="steps",
        metric=BEST_EVAL,
        mode="max",
        max_t=settings.steps,
        grace_period=first,
        reduction_factor=HALVING,
        stop_last_trials=False,
    )
    for row in driver.file.sweep.rows:
        if row.over:
            earlier = _Earlier(row.trial)
            asha.on_trial_add(None, earlier)
            for steps, best in row.curve:
                asha.on_trial_result(None, earlier, {"steps": steps, BEST_EVAL: best})
    return asha


class _Earlier:
    """A trial of an earlier life of the sweep, as the scheduler sees it."""

    def __init__(self, trial: int) -> None:
        self.trial_id = f"earlier {trial}"
