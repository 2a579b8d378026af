"""One training in several processes, started here, on a cluster of Ray, or by torchrun and Slurm.

`--workers K` starts K - 1 processes beside this one, and `--ray ADDRESS` has the cluster start them. A launcher that
sets `RANK` and `WORLD_SIZE` has started all. Then it is the same: process 0 reads the command, has the run, the
progress, the window and the signals, and sends the others what they need. They take part until it ends (see
`ecs_rl/training/together.py`). A worker that is lost costs the time since the newest checkpoint: where this process
started the others, all begin again from there, with a new one in its place.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from time import monotonic
from typing import Any, Protocol

import msgspec

from ecs_rl.agents.own import load_algorithm
from ecs_rl.cli.command_settings import TrainSettings, settings_with
from ecs_rl.cli.plan import Plan
from ecs_rl.cli.process import Answer, leaving
from ecs_rl.console import tell
from ecs_rl.distributed.cores import own_cores
from ecs_rl.distributed.place import MEETING
from ecs_rl.distributed.processes import Processes, joined
from ecs_rl.errors import CheckpointError, CommandError, DivergedError, EcsRlError, StorageError, WorkerLostError
from ecs_rl.loading import load_scene
from ecs_rl.runs import read_checkpoint
from ecs_rl.runs.recorders import recorders_of
from ecs_rl.tasks.assemble import assemble, prepared, recorded
from ecs_rl.tasks.init_from import meant
from ecs_rl.tasks.ray_cluster import answers_of, cluster, free_address
from ecs_rl.tasks.resume_run import newest_checkpoint_file
from ecs_rl.tasks.run_training import stop, train
from ecs_rl.tasks.same_everywhere import (
    PACKAGE,
    contents,
    own_files,
    refuse_other_files,
    refuse_other_versions,
    versions,
)
from ecs_rl.training.exact_resume import go_on
from ecs_rl.training.together import Together

MOST_LOSSES = 3
"""So many losses in a row without a new checkpoint are no accident."""
LAST_WORDS = 5.0
"""Seconds for which a worker that has ended by itself may still say why."""
WORKER = "import signal, sys; signal.signal(signal.SIGINT, signal.SIG_IGN); "
WORKER += "sys.path.insert(0, sys.argv.pop(1)); from ecs_rl.tasks.workers import serve; sys.exit(serve())"
ERRORS = {error.exit_code: error for error in (CommandError, CheckpointError, StorageError, DivergedError)}
"""What a worker that ended with an exit code has met."""
READ_HERE = ("init_from", "imitate")
"""Settings that name a file which the others need not have."""


class Start(msgspec.Struct):
    """What process 0 sends the others before the first tick."""

    settings: bytes
    """As JSON."""
    algorithm: str
    """`FILE.py:CLASS` of one of a user's own, or empty."""
    versions: dict[str, str]
    files: dict[str, str]
    """The SHA-256 of each file that all run, by its path."""
    sent: dict[str, bytes]
    """What is in the files that settings of `READ_HERE` name."""
    checkpoint: bytes
    """What to go on from, or empty."""


class Lost(WorkerLostError):
    """A worker was lost; `run` can go on from the step `saved`."""

    def __init__(self, problem: str, run: Path, saved: int) -> None:
        super().__init__(problem)
        self.run, self.saved = run, saved


# --- process 0 --------------------------------------------------------------------------------------------------------


def run_together(plan: Plan, answer: Answer) -> int:
    """Start the other processes and carry out the command; begin again from the newest checkpoint after a loss."""
    settings, losses, reached = plan.settings, 0, -1
    needed = (settings.workers - 1) * settings.threads  # beside this process
    flag = f"--workers {settings.workers}"
    with cluster(settings.ray, needed, needed, flag) if settings.ray else nullcontext():
        while True:
            try:
                with started_on_cluster(settings) if settings.ray else started_here(settings) as others:
                    return train_as_first(plan, answer, others)
            except WorkerLostError as lost:
                if isinstance(lost, Lost):
                    losses = 1 if lost.saved > reached else losses + 1
                    reached, plan = lost.saved, plan.resuming(lost.run)
                elif losses:  # a new one did not come up
                    losses += 1
                else:
                    raise
                if losses > MOST_LOSSES or answer.came:
                    raise
                resume = f"go on with --resume {plan.settings.resume}"
                answer.first = leaving(f"train.py: interrupted before a new worker came: {resume}")
                tell(f"train.py: {lost}: going on from step {reached:,} with a new one", sys.stderr)


def train_as_first(plan: Plan, answer: Answer, others: Others) -> int:
    """Train until it is done as process 0, or until a worker is lost."""
    settings = plan.settings
    with joined_as(0, settings, others) as group:
        start_of(plan, group)
        plan, training = assemble(plan, Together(group, settings.arenas))
        window, watch = None, None
        if settings.watch:
            from ecs_rl.tasks.watch_training import open_window, watching  # the door to pygame

            window = open_window(settings, training)
            watch = watching(settings, training, window)
        try:
            record = recorded(training, plan, recorders_of(settings.recorders))
            assert training.together is not None
            training.together.begin()
            if plan.settings.resume is None:  # so that a worker may be lost from the first tick on
                training.session.save_checkpoint()
            answer.first = partial(stop, training)
            with own_cores(None if watch else group.here, settings.threads):
                return train(training, record, plan.settings, watch)
        except WorkerLostError as error:
            others.raise_what_one_says()
            run = training.session.run
            if run is None or not any(run.path.glob("checkpoints/step_*")) or not others.can_be_replaced:
                raise
            raise Lost(str(error), run.path, training.session.saved_step) from error
        finally:
            if window is not None:
                window.close()


@contextmanager
def joined_as(rank: int, settings: TrainSettings, others: Others) -> Iterator[Processes]:
    """Be one of the processes, and say what a worker says where they do not all come."""
    try:
        with joined(rank, settings.workers, settings.backend, others.meeting, others.look) as group:
            yield group
    except CommandError:
        others.raise_what_one_says()
        raise


def start_of(plan: Plan, group: Processes) -> None:
    """Send the others what they need, and see that they run the same."""
    settings = plan.settings
    sent = {name: Path(file).read_bytes() for name in READ_HERE if (file := named(plan, name)) is not None}
    checkpoint = b"" if plan.run is None else newest_checkpoint_file(plan.run.path).read_bytes()
    own = replace(settings, resume=None, changes=None, record_every=0, tb=False, recorder="")
    reference = settings.algorithm.reference
    files = contents(own_files(plan))
    start = Start(
        msgspec.json.encode(own, enc_hook=str),
        reference,
        versions(with_ray=bool(settings.ray)),
        files,
        sent,
        checkpoint,
    )
    group.from_first(msgspec.msgpack.encode(start))
    agree(group, "")


def named(plan: Plan, name: str) -> Path | None:
    """Return the file that a setting names, None if it names none."""
    file = getattr(plan.settings, name)
    if file is None or plan.run is not None:
        return None
    return meant(file, plan.scene) if name == "init_from" else file


def agree(group: Processes, problem: str) -> None:
    """Raise in all processes what one of them cannot do."""
    for said in group.everyone(problem.encode()):
        if said:
            raise CommandError(said.decode())


# --- the others -------------------------------------------------------------------------------------------------------


def take_part(rank: int, size: int, backend: str = "gloo") -> int:
    """Be another process than 0 until the training ends; return the exit code."""
    for number in (signal.SIGINT, signal.SIGTERM):
        with suppress(ValueError):  # on a cluster it is not the main thread
            signal.signal(number, signal.SIG_IGN)  # process 0 answers it for all
    try:
        with joined(rank, size, backend, os.environ.get(MEETING)) as group, tempfile.TemporaryDirectory() as folder:
            learn_along(group, Path(folder))
    except WorkerLostError:
        return WorkerLostError.exit_code  # process 0 says it
    return 0


def learn_along(group: Processes, folder: Path) -> None:
    """Train with the others as process 0 says, until it is done."""
    start = msgspec.msgpack.decode(group.from_first(b""), type=Start)
    plan, problem = None, ""
    try:
        plan = plan_of(start, folder)
        refuse_other_versions([versions(with_ray="ray" in start.versions)], start.versions)
        refuse_other_files([contents(list(start.files))], start.files)
    except EcsRlError as error:
        problem = str(error)
    agree(group, problem)
    assert plan is not None
    together = Together(group, plan.settings.arenas)
    plan, training = assemble(plan, together)
    training.world.snapshot()  # as process 0 does when it gets its run
    try:
        if start.checkpoint:
            (file := folder / "checkpoint").write_bytes(start.checkpoint)
            go_on(training, *read_checkpoint(file), exactly=not plan.settings.inexact)
        else:
            prepared(training, plan.settings)
        together.begin()
        if not start.checkpoint:
            training.session.save_checkpoint()
        with own_cores(None if plan.settings.watch else group.here, plan.settings.threads):
            while not training.done:
                training.tick()
        training.close()
    except BaseException:
        training.close("failed")
        raise


def plan_of(start: Start, folder: Path) -> Plan:
    """Return the plan of a process beside the first; the files that were sent lie in a folder."""
    kind = settings_with(load_algorithm(start.algorithm), TrainSettings) if start.algorithm else TrainSettings
    settings = msgspec.json.decode(start.settings, type=kind, dec_hook=lambda wanted, text: wanted(text))
    files: dict[str, Any] = {name: folder / name for name in start.sent}
    for name, file in files.items():
        file.write_bytes(start.sent[name])
    return Plan(replace(settings, **files), load_scene(settings.scene))


def serve() -> int:
    """Be a process that was started here, as its environment says; what went wrong goes to stderr."""
    threading.Thread(target=end_with_the_first, daemon=True).start()
    try:
        return take_part(int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"]), os.environ["ECS_RL_BACKEND"])
    except EcsRlError as error:
        tell(str(error), sys.stderr)
        return error.exit_code


def end_with_the_first() -> None:
    """Wait until the process at the other end of stdin is gone, and end this one."""
    os.read(0, 1)
    os._exit(WorkerLostError.exit_code)


# --- who starts them --------------------------------------------------------------------------------------------------


class Others(Protocol):
    """The other processes, as process 0 sees them."""

    meeting: str | None
    """Where all meet; None where the environment says it."""
    can_be_replaced: bool
    """Whether this process can start new ones."""

    def look(self) -> None:
        """Raise what one says, or WorkerLostError, where one has ended before all have joined."""

    def raise_what_one_says(self) -> None:
        """Raise the error that ended one by itself: it was not lost, and a new one would end like that again."""


class Launched:
    """Processes that a launcher has started, which says itself what becomes of them."""

    meeting: str | None = None
    can_be_replaced = False

    def look(self) -> None:
        """Raise nothing: whoever started them looks."""

    def raise_what_one_says(self) -> None:
        """Raise nothing: each process has said it."""


def environment_of(rank: int, settings: TrainSettings, meeting: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that say who a process is and where all meet."""
    return {"RANK": str(rank), "WORLD_SIZE": str(settings.workers), "ECS_RL_BACKEND": settings.backend, **meeting}


class StartedHere:
    """Processes of this machine, which meet in a folder that only this user can read."""

    can_be_replaced = True

    def __init__(self, settings: TrainSettings, folder: Path) -> None:
        self.meeting: str | None = f"file://{folder / 'meeting'}"
        self._files = [folder / f"stderr{rank}" for rank in range(1, settings.workers)]
        self._processes = list[subprocess.Popen[bytes]]()
        for rank, file in enumerate(self._files, 1):
            environment = {**os.environ, **environment_of(rank, settings, {MEETING: self.meeting})}
            with file.open("wb") as stderr:
                command = [sys.executable, "-P", "-c", WORKER, str(PACKAGE.parent)]
                options: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.DEVNULL, "stderr": stderr}
                self._processes.append(subprocess.Popen(command, env=environment, **options))

    def look(self) -> None:
        """Raise what one says, or WorkerLostError, where one has ended before all have joined."""
        if any(process.poll() is not None for process in self._processes):
            self.raise_what_one_says()
            raise WorkerLostError("a worker did not come up")

    def raise_what_one_says(self) -> None:
        """Raise the error that ended one by itself: it was not lost, and a new one would end like that again."""
        until = monotonic() + LAST_WORDS
        for process, file in zip(self._processes, self._files, strict=True):
            with suppress(subprocess.TimeoutExpired):
                process.wait(max(0.1, until - monotonic()))
            says = file.read_text(errors="replace").strip()
            if process.returncode and process.returncode > 0 and says:
                error = ERRORS.get(process.returncode, EcsRlError)
                raise error(says if process.returncode in ERRORS else f"a worker broke: {says[-2000:]}")

    def end(self) -> None:
        """End those that are still there."""
        for process in self._processes:
            with suppress(subprocess.TimeoutExpired):
                process.wait(LAST_WORDS)
            process.kill()
            process.wait()
            assert process.stdin is not None
            process.stdin.close()


@contextmanager
def started_here(settings: TrainSettings) -> Iterator[Others]:
    """Start the other processes on this machine; they end with the block."""
    with tempfile.TemporaryDirectory(prefix="ecs_rl") as folder:
        others = StartedHere(settings, Path(folder))
        try:
            yield others
        finally:
            others.end()


class RemoteWorker:
    """One process on some machine of a cluster; Ray makes it."""

    def is_there(self) -> bool:
        """Return once there is a place for it."""
        return True

    def work(self, environment: dict[str, str], folder: str) -> tuple[int, str]:
        """Take part in a training; return the exit code and what went wrong. Paths count from a folder that is here."""
        with suppress(OSError):
            os.chdir(folder)
        os.environ.update(environment)
        rank, size, backend = environment["RANK"], environment["WORLD_SIZE"], environment["ECS_RL_BACKEND"]
        try:
            return take_part(int(rank), int(size), backend), ""
        except EcsRlError as error:
            return error.exit_code, str(error)


class OnCluster:
    """Processes that Ray has started."""

    meeting: str | None = None
    can_be_replaced = True

    def __init__(self, settings: TrainSettings) -> None:
        import ray

        remote: Any = ray.remote(num_cpus=settings.threads, max_restarts=0)(RemoteWorker)
        self._workers = [remote.remote() for _ in range(settings.workers - 1)]
        try:
            answers_of([worker.is_there.remote() for worker in self._workers])
        except ray.exceptions.RayActorError as error:
            raise WorkerLostError(f"a worker did not come up: {' '.join(str(error).split())[:300]}") from error
        host, port = free_address()
        meeting = {"MASTER_ADDR": host, "MASTER_PORT": str(port)}
        os.environ.update(meeting)
        self._asked = [
            worker.work.remote(environment_of(rank, settings, meeting), os.getcwd())
            for rank, worker in enumerate(self._workers, 1)
        ]

    def look(self) -> None:
        """Raise what one says, or WorkerLostError, where one has ended before all have joined."""
        import ray

        if ray.wait(self._asked, timeout=0)[0]:
            self.raise_what_one_says()
            raise WorkerLostError("a worker did not come up")

    def raise_what_one_says(self) -> None:
        """Raise the error that ended one by itself: it was not lost, and a new one would end like that again."""
        import ray

        for asked in self._asked:
            with suppress(ray.exceptions.GetTimeoutError, ray.exceptions.RayActorError):
                code, says = ray.get(asked, timeout=LAST_WORDS / len(self._asked))
                if says:
                    raise ERRORS.get(code, EcsRlError)(says)

    def end(self) -> None:
        """End those that are still there."""
        import ray

        for worker in self._workers:
            ray.kill(worker)


@contextmanager
def started_on_cluster(settings: TrainSettings) -> Iterator[Others]:
    """Let Ray start the other processes; they end with the block."""
    others = OnCluster(settings)
    try:
        yield others
    finally:
        others.end()
