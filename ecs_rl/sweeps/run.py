"""`train.py SCENE --sweep NAME=RANGE ...`: from the command to Ray Tune, and to the report at the end."""

from __future__ import annotations

import importlib.util
import os
import shlex
import shutil
import signal
import sys
from collections.abc import Mapping, Sequence
from functools import partial
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ecs_rl.commands.called import program, typed
from ecs_rl.commands.parse import cores, parse_train
from ecs_rl.commands.pipes import tell
from ecs_rl.commands.process import say_now
from ecs_rl.commands.seeds_report import shown_on, with_threads
from ecs_rl.commands.settings import TrainSettings, settings_as_dict
from ecs_rl.errors import CommandError, DivergedError, StorageError
from ecs_rl.sweeps.driver import Driver, NextSetting, Reports, Stop
from ecs_rl.sweeps.ranges import Axis, parse_ranges
from ecs_rl.sweeps.record import FILE, Row, Sweep, SweepFile, common_settings, newest_sweep, read_sweep, refuse_another
from ecs_rl.sweeps.report import report
from ecs_rl.sweeps.search import OPTUNA, RANDOM, Settings, Suggestions, search_of
from ecs_rl.sweeps.trial import BEST_EVAL, SOLVED_STEP, STOPPING, Order, SweepTrial

if TYPE_CHECKING:
    from ecs_rl.commands.process import Answer

OF_THE_SWEEP = {"--sweep": None, "--resume": 1, "--trials": 1, "--seeds": 1, "--seed": 1}
"""Flags that its trials do not have, and how many words may stand behind each; None for any number."""
OWN_FOLDER = "sweep_"
"""How the folder of a sweep begins that nobody gave a --version."""
TUNE = ".tune"
"""Where Tune keeps what it needs while it runs, inside the sweep's folder."""
HALVING = 3
"""ASHA lets one trial in so many go on at each rung, and the next rung is so many times as far."""
RUNGS = 3
"""Rungs before the end."""
TRIES = 1
"""So many times a trial whose process died goes on in a new one."""


def run_sweep(argv: Sequence[str], settings: TrainSettings, answer: Answer) -> int:
    """Carry out the command and return its exit code."""
    from ecs_rl.commands.workers import cluster

    if not settings.sweep:
        raise CommandError("--trials is for --sweep: name what varies, as in --sweep ppo.lr=1e-4..1e-2:log")
    axes = parse_ranges(settings.sweep, settings)
    refuse_what_does_not_fit(settings)
    search, trials = search_of(axes, settings.trials)
    sweep, settings = begun(settings, search, trials, axes)
    with cluster(settings.ray, cores(), settings.threads, f"--sweep with --threads {settings.threads}") as there:
        file, settings = opened(settings, sweep)
        try:
            return carried_out(argv, settings, file, axes, at_once=there // settings.threads, answer=answer)
        finally:
            shutil.rmtree(file.path / TUNE, ignore_errors=True)
            (file.path / STOPPING).unlink(missing_ok=True)
            file.close()


def refuse_what_does_not_fit(settings: TrainSettings) -> None:
    """Refuse what makes no sense for many trainings, each in one sentence."""
    reasons = {
        "--watch: it shows one training": settings.watch,
        "--check: it trains nothing": settings.check,
        "--workers: each trial is a process of its own": settings.workers > 1,
        "--self-play without --against: its Elo compares within one training": settings.self_play
        and not settings.against,
        f"--ray {settings.ray}: start it on a machine of the cluster, with --ray auto": settings.ray.startswith("ray:"),
    }
    for reason, holds in reasons.items():
        if holds:
            raise CommandError(f"--sweep cannot be used with {reason}; leave one of them out")
    if importlib.util.find_spec("ray") is None or importlib.util.find_spec("pyarrow") is None:
        raise CommandError("--sweep needs ray[tune]: python -m pip install 'ecs-rl[ray]', or leave --sweep out")


def begun(settings: TrainSettings, search: str, trials: int, axes: Sequence[Axis]) -> tuple[Sweep, TrainSettings]:
    """Return what is to be tried, and the settings with all that they name looked up.

    What is wrong with the command is told here, once, and not by every trial.
    """
    from ecs_rl.commands.init_from import start_from
    from ecs_rl.commands.train import ready

    resume, settings = settings.resume, _with(settings, resume=None)
    settings, training = ready(settings)
    try:
        if settings.init_from is not None:
            start_from(training, settings.init_from)
    finally:
        training.close()
    sweep = Sweep(
        scene=settings.scene,
        agent=settings.agent,
        measure=SOLVED_STEP if settings.until_solved else BEST_EVAL,
        search=search,
        ranges=list(settings.sweep),
        seed=settings.seed,
        seeds=settings.seeds or 1,
        trials=trials,
        early_stopping=settings.early_stopping,
        settings=common_settings(settings_as_dict(settings)),
    )
    return sweep, _with(settings, resume=resume)


def _with(settings: TrainSettings, **changes: Any) -> TrainSettings:
    from dataclasses import replace

    return replace(settings, **changes)


def opened(settings: TrainSettings, sweep: Sweep) -> tuple[SweepFile, TrainSettings]:
    """Return the sweep in its folder: a new one, or with `--resume` the one that goes on."""
    name = settings.runs / settings.name
    if settings.resume is None:
        folder = new_folder(name, settings.version)
        file = SweepFile(folder, sweep)
    else:
        folder = Path(settings.resume) if settings.resume else newest_sweep(name)
        before = read_sweep(folder)
        refuse_another(before, sweep, folder)
        if sweep.trials < len(before.rows):
            told = f"{folder} has begun {len(before.rows)} trials already"
            raise CommandError(f"--trials {sweep.trials}: {told}: give as many or more")
        sweep.rows, sweep.search = before.rows, before.search
        file = SweepFile(folder, sweep)
        (folder / STOPPING).unlink(missing_ok=True)
    file.write()
    runs = folder.resolve().parent.parent
    return file, _with(settings, name=folder.resolve().parent.name, version=folder.name, runs=runs, resume=None)


def new_folder(name: Path, version: str) -> Path:
    """Return a new folder for a sweep: of the version that was asked for, or one that is called after the time."""
    from ecs_rl.runs.metadata import now

    if version != "v1" and (name / version / FILE).exists():
        raise CommandError(f"--version {version}: there is a sweep already: add --resume, or choose another version")
    stamp = f"{OWN_FOLDER}{now():%Y%m%d_%H%M%S}"
    for number in count(1):
        folder = name / (version if version != "v1" else stamp if number == 1 else f"{stamp}_{number}")
        try:
            folder.mkdir(parents=True, exist_ok=version != "v1")
        except FileExistsError:
            continue
        except OSError as error:
            raise StorageError(f"cannot write {folder}: {error.strerror}; choose another --runs") from error
        break
    return folder


def carried_out(
    argv: Sequence[str], settings: TrainSettings, file: SweepFile, axes: Sequence[Axis], *, at_once: int, answer: Answer
) -> int:
    """Run all trials and report."""
    sweep, stream = file.sweep, sys.stderr if settings.json else sys.stdout
    source = Suggestions(sweep, axes, at_once) if sweep.search == OPTUNA else Settings(sweep, axes)
    if sweep.search == RANDOM:
        tell("optuna is not installed: settings are drawn at random (python -m pip install optuna)", stream)
    order = ordered(argv, settings, file)
    head = f"{settings.scene}: {sweep.trials} trials"
    head += f" of {sweep.seeds} seeds" if sweep.seeds > 1 else ""
    head += f", {min(at_once, sweep.trials)} at a time {with_threads(settings)}, in {file.path}"
    with shown_on(stream, head, "trial") as shown:
        driver = Driver(file, source, shown)
        answer.first = partial(stop, driver)
        if not driver.exhausted:
            tuned(driver, order, settings)
    if driver.stopping and not any(row.steps for row in sweep.rows):
        shutil.rmtree(file.path, ignore_errors=True)
        raise KeyboardInterrupt
    sweep.status = "finished" if all(row.over for row in sweep.rows) and not driver.stopping else "interrupted"
    sweep.rows = [row for row in sweep.rows if row.steps or row.over]  # what had not begun will be drawn again
    file.write()
    go_on = "" if sweep.status == "finished" else how_to_go_on(argv, file)
    code = report(settings, file, axes, recipe_settings(order, settings, sweep), stream=stream, go_on=go_on)
    if not driver.stopping and sweep.best is None:
        return DivergedError.exit_code if any(row.state == "diverged" for row in sweep.rows) else 1
    return code


def stop(driver: Driver, number: signal.Signals) -> None:
    """Let every trial save and end; called from within a signal's handler."""
    driver.stop()
    say_now(f"{program('train')}: {number.name}: every trial is saving after its tick; again to end at once")


def ordered(argv: Sequence[str], settings: TrainSettings, file: SweepFile) -> Order:
    """Return what all trials have in common."""
    from ecs_rl.commands.workers import versions

    over: dict[str, Any] = {
        **{"name": settings.name, "version": settings.version, "runs": str(settings.runs), "threads": settings.threads},
        **({"against": settings.against} if settings.against else {}),
    }
    seeds = tuple(range(settings.seed, settings.seed + file.sweep.seeds))
    return Order(tuple(flags_of_a_trial(argv)), over, seeds, str(file.path.resolve()), os.getcwd(), versions())


def flags_of_a_trial(argv: Sequence[str]) -> list[str]:
    """Return the command's words but for the flags that only the sweep has."""
    kept: list[str] = []
    dropping: int | None = 0
    for word in argv:
        flag, equals, _ = word.partition("=")
        if word.startswith("--"):
            dropping = 0
        if flag in OF_THE_SWEEP and word.startswith("--"):
            dropping = 0 if equals else OF_THE_SWEEP[flag]
            continue
        if dropping is None or dropping > 0:
            dropping = None if dropping is None else dropping - 1
            continue
        kept.append(word)
    return kept


def how_to_go_on(argv: Sequence[str], file: SweepFile) -> str:
    """Return the command that goes on with an interrupted sweep."""
    words = [*argv]
    if "--resume" in words:
        at = words.index("--resume")
        behind = at + 1 < len(words) and not words[at + 1].startswith("-")
        del words[at : at + (2 if behind else 1)]
    words = [word for word in words if not word.startswith("--resume=")]
    return f"{typed('train')} {shlex.join(words)} --resume {shlex.quote(str(file.path))}"


def recipe_settings(order: Order, settings: TrainSettings, sweep: Sweep) -> dict[str, Any]:
    """Return what the best trial's settings have that the scene's own have not, in one level, and its agent."""
    from ecs_rl.commands.train import recipes_of

    if sweep.best is None:
        return {}
    best = order.settings(_as_given(sweep.best), {"seed": settings.seed})
    usual = parse_train([settings.scene, "--agent", best.algorithm.reference or best.agent], recipes_of)
    ours, theirs = (common_settings(settings_as_dict(each)) for each in (best, usual))
    left_out = {"until_solved", "until", "minutes", "keep", "checkpoint_every", "record_every", "init_from", "imitate"}
    named = {
        name: value
        for name, value in ours.items()
        if name not in left_out and (value != theirs.get(name) or name in sweep.best.setting)
    }
    return {"agent": best.algorithm.reference or best.agent, **named}


def _as_given(row: Row) -> Mapping[str, Any]:
    return row.setting


# --- Ray Tune ---------------------------------------------------------------------------------------------------------


def tuned(driver: Driver, order: Order, settings: TrainSettings) -> None:
    """Let Ray Tune run the trials that are left."""
    os.environ["TUNE_DISABLE_SIGINT_HANDLER"] = "1"  # the first Ctrl-C is answered by us
    os.environ["TUNE_DISABLE_AUTO_CALLBACK_LOGGERS"] = "1"
    os.environ["TUNE_DISABLE_STRICT_METRIC_CHECKING"] = "1"  # one that diverged has nothing to be judged by
    os.environ["TUNE_GLOBAL_CHECKPOINT_S"] = str(10**9)  # the sweep's own file knows what it takes to go on
    os.environ["TUNE_WARN_EXCESSIVE_EXPERIMENT_CHECKPOINT_SYNC_THRESHOLD_S"] = "0"
    os.environ["RAY_AIR_NEW_OUTPUT"] = "0"
    import logging

    logging.getLogger("ray.tune").setLevel(logging.CRITICAL)
    from ray import tune
    from ray.tune.search import Searcher

    trainable: Any = type("Trial", (SweepTrial, tune.Trainable), {})
    parts = [
        type(kind.__name__, (kind, base), {"driver": driver, "__reduce__": _stays_here})()
        for kind, base in ((NextSetting, Searcher), (Reports, tune.Callback), (Stop, tune.Stopper))
    ]
    tune.run(
        tune.with_parameters(trainable, order=order),
        name=TUNE,
        storage_path=order.folder,
        num_samples=driver.file.sweep.trials,
        resources_per_trial={"cpu": settings.threads},
        search_alg=parts[0],
        callbacks=[parts[1]],
        stop=parts[2],
        scheduler=scheduler(driver, settings),
        checkpoint_config=tune.CheckpointConfig(num_to_keep=2, checkpoint_frequency=1),
        max_failures=TRIES,
        reuse_actors=True,
        raise_on_failed_trial=False,
        verbose=0,
        trial_name_creator=lambda trial: trial.trial_id,
        trial_dirname_creator=lambda trial: trial.trial_id,
    )


def _stays_here(self: Any) -> Any:
    """Be a text where Tune writes its own record, which nobody reads."""
    return str, (type(self).__name__,)


def scheduler(driver: Driver, settings: TrainSettings) -> Any:
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
