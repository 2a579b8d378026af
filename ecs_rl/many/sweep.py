"""`train.py SCENE --sweep NAME=RANGE ...`, with `--population` too: from the command to the report."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from importlib.util import find_spec
from itertools import count
from pathlib import Path
from queue import SimpleQueue
from typing import Any

from ecs_rl.cli.called import typed
from ecs_rl.cli.command_settings import TrainSettings, settings_as_dict
from ecs_rl.cli.parse import cores
from ecs_rl.cli.plan import Plan, plan_of
from ecs_rl.cli.process import Answer
from ecs_rl.console import tell
from ecs_rl.errors import CommandError, DivergedError, StorageError, install
from ecs_rl.many.job_runner import JobRunner, at_once
from ecs_rl.many.job_workers import Event, LocalWorker, RayWorker, Worker
from ecs_rl.many.jobs import JobCommand
from ecs_rl.many.population import Population, refuse_what_cannot_change
from ecs_rl.many.ranges import Axis, drawn, parse_ranges
from ecs_rl.many.search import ListedSettings, OptunaSearch, first_rung, search_of
from ecs_rl.many.seeds import checked, command_of
from ecs_rl.many.sweep_checks import check_sweep
from ecs_rl.many.sweep_file import (
    BEST_EVAL,
    FILE,
    OPTUNA,
    POPULATION,
    SOLVED_STEP,
    Row,
    Sweep,
    SweepFile,
    common_settings,
    newest_sweep,
    read_sweep,
    refuse_another,
)
from ecs_rl.many.sweep_report import report
from ecs_rl.many.table import Table, open_table, with_threads
from ecs_rl.many.trials import Trials
from ecs_rl.runs.metadata import now
from ecs_rl.tasks.ray_cluster import cluster
from ecs_rl.tasks.same_everywhere import versions

OWN_FOLDER = "sweep_"
"""How the folder of a sweep begins that has no --version."""
STOPPING = "stopping"
"""The file in the folder of a sweep that asks the jobs on a cluster to save and end."""
LEFT_OUT = {
    "until_solved",
    "until",
    "minutes",
    "keep",
    "checkpoint_every",
    "record_every",
    "init_from",
    "imitate",
    "remember",
}
"""Settings that belong to the sweep's trainings, and not to a recipe."""
Start = Callable[[SimpleQueue[Event]], Worker]


def run_sweep(argv: Sequence[str], plan: Plan, answer: Answer) -> int:
    """Carry out the command and return its exit code."""
    settings = plan.settings
    axes = parse_ranges(settings.sweep, settings)
    search, trials = (POPULATION, settings.population) if settings.population else search_of(axes, settings.trials)
    resume, plan = settings.resume, checked(plan.changed(resume=None))
    settings = plan.settings
    sweep = new_sweep(settings, search, trials)
    if settings.population:
        refuse_what_cannot_change(axes, plan)
    folder = None if resume is None else to_go_on(settings, resume, sweep, axes)
    with places(settings, trials) as together:
        file, plan = opened(plan, sweep, axes, folder)
        try:
            return carried_out(argv, plan, file, axes, together=together, answer=answer)
        finally:
            (file.path / STOPPING).unlink(missing_ok=True)
            file.close()


@contextmanager
def places(settings: TrainSettings, jobs: int) -> Iterator[int]:
    """Yield how many jobs run at the same time, here or on the cluster at `--ray`, while connected to it."""
    flag = f"--sweep with --threads {settings.threads}"
    if settings.ray:
        with cluster(settings.ray, cores(), settings.threads, flag) as there:
            yield min(jobs, there // settings.threads)
        return
    if cores() < settings.threads:
        raise CommandError(f"{flag}: this machine has {cores()} cores, and it takes {settings.threads}: take fewer")
    yield at_once(settings, jobs)


def new_sweep(settings: TrainSettings, search: str, trials: int) -> Sweep:
    """Return what is to be tried."""
    return Sweep(
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


def to_go_on(settings: TrainSettings, resume: str, sweep: Sweep, axes: Sequence[Axis]) -> Path:
    """Return the folder of the sweep that `--resume` means, whose trials `sweep` has from then on.

    Raises CommandError if it is another sweep.
    """
    folder = Path(resume) if resume else newest_sweep(settings.runs / settings.name)
    before = read_sweep(folder)
    refuse_another(before, sweep, folder)
    check_sweep(folder, before, axes)
    if sweep.trials < len(before.rows):
        begun = f"{folder} has begun {len(before.rows)} trials already"
        raise CommandError(f"--trials {sweep.trials}: {begun}: give as many or more")
    if before.search == OPTUNA and find_spec("optuna") is None:
        raise CommandError(f"--resume: Optuna suggests the settings of {folder}: {install('sweep')}")
    sweep.rows, sweep.search, sweep.rounds = before.rows, before.search, before.rounds
    return folder


def opened(plan: Plan, sweep: Sweep, axes: Sequence[Axis], folder: Path | None) -> tuple[SweepFile, Plan]:
    """Return the sweep in its folder, a new one if `folder` is None, and the plan of a trial in there."""
    if folder is None:
        settings = plan.settings
        folder = new_folder(settings.runs / settings.name, settings.version)
        members = drawn(axes, sweep.population, sweep.seed, repeats=True)
        sweep.rows = [Row(trial=i, setting=setting) for i, setting in enumerate(members)]
    file = SweepFile(folder, sweep)
    (folder / STOPPING).unlink(missing_ok=True)
    file.write()
    folder = folder.resolve()
    return file, plan.changed(name=folder.parent.name, version=folder.name, runs=folder.parent.parent)


def new_folder(name: Path, version: str) -> Path:
    """Return a new folder for a sweep: of the version that was asked for, or one that is called after the time."""
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
    argv: Sequence[str],
    plan: Plan,
    file: SweepFile,
    axes: Sequence[Axis],
    *,
    together: int,
    answer: Answer,
) -> int:
    """Do all jobs and report."""
    settings = plan.settings
    sweep, stream = file.sweep, sys.stderr if settings.json else sys.stdout
    if without := what_needs_optuna(sweep):
        tell(f"optuna is not installed: {without} ({install('sweep')})", stream)
    heading = f"{settings.scene}: {sweep.trials} {sweep.row_name}s"
    heading += f" of {sweep.seeds} seeds" if sweep.seeds > 1 else ""
    heading += f", {together} at a time {with_threads(settings)}, in {file.path}"
    over = {"name": settings.name, "version": settings.version, "runs": str(settings.runs)}
    start: Start
    if settings.ray:
        cluster_facts = {
            "versions": versions(with_ray=True),
            "cwd": os.getcwd(),
            "stop_file": str(file.path.resolve() / STOPPING),
        }
        command = command_of(argv, plan, "--sweep", over, **cluster_facts)
        start = partial(RayWorker, command, threads=settings.threads)
    else:
        command = command_of(argv, plan, "--sweep", over)
        start = partial(LocalWorker, command)
    with open_table(stream, heading, sweep.row_name) as table:
        source = source_of(file, axes, settings, table, together)
        runner = JobRunner(source, table, together, start)
        runner.run(answer)
    if runner.is_stopping and not source.problem and not any(row.steps for row in sweep.rows):
        shutil.rmtree(file.path, ignore_errors=True)
        raise KeyboardInterrupt
    for row in sweep.rows:
        row.state = "interrupted" if row.state == "running" else row.state
    sweep.status = "finished" if all(row.over for row in sweep.rows) and not runner.is_stopping else "interrupted"
    # A trial that had not begun will be drawn again.
    sweep.rows = [row for row in sweep.rows if row.steps or row.over or sweep.population]
    source.write()
    go_on = "" if sweep.status == "finished" else how_to_go_on(argv, file)
    if source.problem:
        tell(f"go on once there is room: {how_to_go_on(argv, file)}", stream)
        raise StorageError(source.problem)
    recipe = recipe_settings(command, plan, sweep)
    code = report(plan, file, axes, recipe, stream=stream, go_on=go_on)
    if not runner.is_stopping and sweep.best is None:
        return DivergedError.exit_code if any(row.state == "diverged" for row in sweep.rows) else 1
    return code


def what_needs_optuna(sweep: Sweep) -> str:
    """Return what this sweep does without because Optuna is not installed, "" if that is nothing."""
    if sweep.population or find_spec("optuna") is not None:
        return ""
    without = ["settings are drawn at random"] if sweep.search != "grid" else []
    return " and ".join([*without, *(["no trial stops early"] if sweep.early_stopping else [])])


def source_of(
    file: SweepFile, axes: Sequence[Axis], settings: TrainSettings, table: Table, together: int
) -> Trials | Population:
    """Return where the jobs of a sweep come from."""
    sweep = file.sweep
    if sweep.population:
        return Population(file, axes, settings, table)
    rung = first_rung(settings.steps, settings.eval_every) if sweep.early_stopping else 0
    if find_spec("optuna") is None or not (rung or sweep.search == OPTUNA):
        return Trials(file, ListedSettings(sweep, axes), table)
    return Trials(file, OptunaSearch(sweep, axes, together, rung), table)


def how_to_go_on(argv: Sequence[str], file: SweepFile) -> str:
    """Return the command that goes on with an interrupted sweep."""
    words = [*argv]
    if "--resume" in words:
        at = words.index("--resume")
        has_value = at + 1 < len(words) and not words[at + 1].startswith("-")
        del words[at : at + (2 if has_value else 1)]
    words = [word for word in words if not word.startswith("--resume=")]
    return f"{typed('train')} {shlex.join(words)} --resume {shlex.quote(str(file.path))}"


def recipe_settings(command: JobCommand, plan: Plan, sweep: Sweep) -> dict[str, Any]:
    """Return the settings of the best trial that the scene's own recipe has not, in one level, and its agent."""
    if sweep.best is None:
        return {}
    best = command.plan(sweep.best.setting, plan.settings.seed, loaded=plan.scene).settings
    agent = best.algorithm.reference or best.agent
    usual = plan_of([plan.settings.scene, "--agent", agent], loaded=plan.scene).settings
    ours, theirs = (common_settings(settings_as_dict(item)) for item in (best, usual))
    differing = {
        name: value
        for name, value in ours.items()
        if name not in LEFT_OUT and (value != theirs.get(name) or name in sweep.best.setting)
    }
    return {"agent": agent, **differing}
