"""`train.py SCENE --sweep NAME=RANGE ...`: from the command to Ray Tune, and to the report at the end."""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import sys
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from importlib.util import find_spec
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ecs_rl.cli.called import program, typed
from ecs_rl.cli.parse import cores, parse_train
from ecs_rl.cli.process import say_now
from ecs_rl.cli.settings import TrainSettings, settings_as_dict
from ecs_rl.console import tell
from ecs_rl.errors import CommandError, DivergedError, StorageError, install
from ecs_rl.many.table import Table, open_table, with_threads
from ecs_rl.sweeps.checks import check_sweep
from ecs_rl.sweeps.driver import Driver
from ecs_rl.sweeps.population import PopulationDriver, order_of_members, refuse_what_cannot_change
from ecs_rl.sweeps.ranges import Axis, drawn, parse_ranges
from ecs_rl.sweeps.record import (
    FILE,
    POPULATION,
    Row,
    Sweep,
    SweepFile,
    common_settings,
    newest_sweep,
    read_sweep,
    refuse_another,
)
from ecs_rl.sweeps.report import report
from ecs_rl.sweeps.search import OPTUNA, RANDOM, Settings, Suggestions, search_of
from ecs_rl.sweeps.trial import BEST_EVAL, SOLVED_STEP, STOPPING, Order
from ecs_rl.sweeps.tuning import TUNE, run_population, run_trials

if TYPE_CHECKING:
    from ecs_rl.cli.process import Answer

OF_THE_SWEEP = {"--sweep": None, "--population": 1, "--resume": 1, "--trials": 1, "--seeds": 1, "--seed": 1}
"""Flags that its trials do not have, and how many words may stand behind each; None for any number."""
OWN_FOLDER = "sweep_"
"""How the folder of a sweep begins that nobody gave a --version."""


def run_sweep(argv: Sequence[str], settings: TrainSettings, answer: Answer) -> int:
    """Carry out the command and return its exit code."""
    from ecs_rl.commands.workers import cluster

    axes = parse_ranges(settings.sweep, settings)
    search, trials = (POPULATION, settings.population) if settings.population else search_of(axes, settings.trials)
    sweep, settings = begun(settings, search, trials)
    if settings.population:
        refuse_what_cannot_change(axes, settings)
    folder = to_go_on(settings, sweep, axes)
    with cluster(settings.ray, cores(), settings.threads, f"--sweep with --threads {settings.threads}") as there:
        file, settings = opened(settings, sweep, axes, folder)
        try:
            return carried_out(argv, settings, file, axes, at_once=there // settings.threads, answer=answer)
        finally:
            shutil.rmtree(file.path / TUNE, ignore_errors=True)
            (file.path / STOPPING).unlink(missing_ok=True)
            file.close()


def begun(settings: TrainSettings, search: str, trials: int) -> tuple[Sweep, TrainSettings]:
    """Return what is to be tried, and the settings with all that they name looked up.

    What is wrong with the command is told here, once, and not by every trial.
    """
    from ecs_rl.commands.assemble import ready
    from ecs_rl.commands.init_from import start_from

    resume, settings = settings.resume, replace(settings, resume=None)
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
    return sweep, replace(settings, resume=resume)


def to_go_on(settings: TrainSettings, sweep: Sweep, axes: Sequence[Axis]) -> Path | None:
    """Return the folder of the sweep that `--resume` means, whose trials `sweep` has from then on; None for a new one.

    CommandError where it is another one.
    """
    if settings.resume is None:
        return None
    folder = Path(settings.resume) if settings.resume else newest_sweep(settings.runs / settings.name)
    before = read_sweep(folder)
    refuse_another(before, sweep, folder)
    check_sweep(folder, before, axes)
    if sweep.trials < len(before.rows):
        told = f"{folder} has begun {len(before.rows)} trials already"
        raise CommandError(f"--trials {sweep.trials}: {told}: give as many or more")
    if before.search == OPTUNA and find_spec("optuna") is None:
        raise CommandError(f"--resume: Optuna suggests the settings of {folder}: {install('sweep')}")
    sweep.rows, sweep.search, sweep.rounds = before.rows, before.search, before.rounds
    return folder


def opened(
    settings: TrainSettings, sweep: Sweep, axes: Sequence[Axis], folder: Path | None
) -> tuple[SweepFile, TrainSettings]:
    """Return the sweep in its folder, a new one where there is none, and the settings of a trial in there."""
    if folder is None:
        folder = new_folder(settings.runs / settings.name, settings.version)
        members = drawn(axes, sweep.population, sweep.seed, repeats=True)
        sweep.rows = [Row(trial=i, setting=setting) for i, setting in enumerate(members)]
    file = SweepFile(folder, sweep)
    (folder / STOPPING).unlink(missing_ok=True)
    shutil.rmtree(folder / TUNE, ignore_errors=True)  # Tune has pickles there: those of before are never read
    file.write()
    runs = folder.resolve().parent.parent
    return file, replace(settings, name=folder.resolve().parent.name, version=folder.name, runs=runs, resume=None)


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
    if sweep.search == RANDOM:
        tell(f"optuna is not installed: settings are drawn at random ({install('sweep')})", stream)
    order = ordered(argv, settings, file)
    head = f"{settings.scene}: {sweep.trials} {sweep.each}s"
    head += f" of {sweep.seeds} seeds" if sweep.seeds > 1 else ""
    head += f", {min(at_once, sweep.trials)} at a time {with_threads(settings)}, in {file.path}"
    with open_table(stream, head, sweep.each) as shown:
        driver = tried(file, axes, order, settings, shown=shown, at_once=at_once, answer=answer)
    if driver.stopping and not driver.problem and not any(row.steps for row in sweep.rows):
        shutil.rmtree(file.path, ignore_errors=True)
        raise KeyboardInterrupt
    for row in sweep.rows:
        row.state = "interrupted" if row.state == "running" else row.state
    sweep.status = "finished" if all(row.over for row in sweep.rows) and not driver.stopping else "interrupted"
    sweep.rows = [
        row for row in sweep.rows if row.steps or row.over or sweep.population
    ]  # what had not begun will be drawn again
    driver.write()
    if driver.problem:
        tell(f"go on once there is room: {how_to_go_on(argv, file)}", stream)
        raise StorageError(driver.problem)
    go_on = "" if sweep.status == "finished" else how_to_go_on(argv, file)
    code = report(settings, file, axes, recipe_settings(order, settings, sweep), stream=stream, go_on=go_on)
    if not driver.stopping and sweep.best is None:
        return DivergedError.exit_code if any(row.state == "diverged" for row in sweep.rows) else 1
    return code


def tried(
    file: SweepFile,
    axes: Sequence[Axis],
    order: Order,
    settings: TrainSettings,
    *,
    shown: Table,
    at_once: int,
    answer: Answer,
) -> Driver:
    """Let Ray Tune try all that is left to try, and return what knows how it went."""
    sweep = file.sweep
    if sweep.population:
        population = PopulationDriver(file, axes, shown)
        answer.first = partial(stop, population)
        if not population.exhausted:
            run_population(population, order_of_members(order, population, settings), settings, axes)
        return population
    source = Suggestions(sweep, axes, at_once) if sweep.search == OPTUNA else Settings(sweep, axes)
    driver = Driver(file, source, shown)
    answer.first = partial(stop, driver)
    if not driver.exhausted:
        run_trials(driver, order, settings)
    return driver


def stop(driver: Driver, number: signal.Signals) -> None:
    """Let every trial save and end; called from within a signal's handler."""
    driver.stop()
    say_now(f"{program('train')}: {number.name}: all are saving after this tick; again to end at once")


def ordered(argv: Sequence[str], settings: TrainSettings, file: SweepFile) -> Order:
    """Return what all trials have in common."""
    from ecs_rl.commands.same_everywhere import contents, own_files, versions

    over: dict[str, Any] = {
        **{"name": settings.name, "version": settings.version, "runs": str(settings.runs), "threads": settings.threads},
        **({"against": settings.against} if settings.against else {}),
    }
    seeds = tuple(range(settings.seed, settings.seed + file.sweep.seeds))
    flags, files = tuple(flags_of_a_trial(argv)), contents(own_files(settings))
    return Order(flags, over, seeds, str(file.path.resolve()), os.getcwd(), versions(), files)


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
    from ecs_rl.cli.plan import recipes_of

    if sweep.best is None:
        return {}
    best = order.settings(sweep.best.setting, {"seed": settings.seed})
    usual = parse_train([settings.scene, "--agent", best.algorithm.reference or best.agent], recipes_of)
    ours, theirs = (common_settings(settings_as_dict(each)) for each in (best, usual))
    left_out = {"until_solved", "until", "minutes", "keep", "checkpoint_every", "record_every", "init_from", "imitate"}
    named = {
        name: value
        for name, value in ours.items()
        if name not in left_out and (value != theirs.get(name) or name in sweep.best.setting)
    }
    return {"agent": best.algorithm.reference or best.agent, **named}
