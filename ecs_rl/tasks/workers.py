"""`train.py SCENE --workers K`: one training in K processes, of which this one is the first and Ray starts the others.

All of them step in time (see `ecs_rl/training/together.py`). This one has the run, the progress and the signals, as a
training in one process has. A worker that is lost costs the time since the newest checkpoint: all begin
again from there, with a new one in its place.
"""

from __future__ import annotations

import logging
import os
import signal
import socket
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from functools import partial
from pathlib import Path
from typing import Any

from ecs_rl.cli.command_settings import TrainSettings
from ecs_rl.cli.plan import Plan
from ecs_rl.cli.process import Answer, leaving
from ecs_rl.console import tell
from ecs_rl.errors import CheckpointError, CommandError, EcsRlError, WorkerLostError
from ecs_rl.loading import load_scene
from ecs_rl.runs import TrainingRun, read_checkpoint
from ecs_rl.tasks.assemble import assemble, recorded
from ecs_rl.tasks.init_from import meant, start_from
from ecs_rl.tasks.ray_processes import bound_to_this_process, gone_processes
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
from ecs_rl.training.mesh import Address, Meeting, Mesh, address_of, listening
from ecs_rl.training.together import Group
from ecs_rl.training.training import Training

PATIENCE, PATIENCE_WITH_A_WINDOW = 30 * 60.0, 7 * 24 * 3600.0
"""Seconds for which a process waits for the others; a person may rest."""
ANSWERS = 5.0
"""Seconds in which a cluster answers."""
UNTIL_TOLD = 60.0
"""Seconds between two words about workers that do not come up."""
MOST_LOSSES = 3
"""So many losses in a row without a new checkpoint are no accident."""


def run_together(plan: Plan, answer: Answer) -> int:
    """Carry out the command; go on from the newest checkpoint whenever a worker is lost."""
    settings, losses, reached = plan.settings, 0, -1
    needed = (settings.workers - 1) * settings.threads  # beside this process
    with cluster(settings.ray, needed, needed, f"--workers {settings.workers}"):
        while True:
            try:
                return train_once(plan, answer)
            except WorkerLostError as lost:
                losses += 1
                if isinstance(lost, Lost):
                    losses = 1 if lost.saved > reached else losses
                    reached, plan = lost.saved, plan.resuming(lost.run)
                if reached < 0 or losses > MOST_LOSSES or answer.came:
                    raise
                if gone := gone_processes():
                    told = f"Ray has stopped on this machine: its process {gone[0]} is gone"
                    raise WorkerLostError(f"{told}: go on with --resume {plan.settings.resume}") from lost
                told = f"train.py: interrupted before a new worker came: go on with --resume {plan.settings.resume}"
                answer.first = leaving(told)
                tell(f"train.py: {lost}: going on from step {reached:,} with a new one", sys.stderr)


class Lost(WorkerLostError):
    """A worker was lost; `run` can go on from the step `saved`."""

    def __init__(self, told: str, run: Path, saved: int) -> None:
        super().__init__(told)
        self.run, self.saved = run, saved


# --- the cluster ------------------------------------------------------------------------------------------------------


@contextmanager
def cluster(address: str, here: int, needed: int, flag: str) -> Iterator[int]:
    """Be connected to the cluster at an address, or to one of this machine with `here` cores that ends with the block.

    Yields how many cores there are; CommandError if they are fewer than `flag`, which asks for it, has `needed`.
    """
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_worker_niceness", "0")  # Ray's 15 would let the first process wait for all others
    if address:  # one sentence is enough; on this machine Ray would only say that it was told to be quiet
        os.environ.setdefault("RAY_BACKEND_LOG_LEVEL", "error")
    elif here < needed:
        raise CommandError(f"{flag}: this machine has {here} cores, and it takes {needed}: take fewer")
    else:
        os.environ.setdefault("RAY_gcs_rpc_server_reconnect_timeout_s", "10")  # Ray's 60 is for another machine's
    handlers = {each: signal.getsignal(each) for each in (signal.SIGINT, signal.SIGTERM)}
    import ray
    import ray._private.worker as printing

    printing.print_to_stdstream = lambda data, ignore_prefix: None  # to stdout, which is ours: we tell of a loss

    refuse_nobody(address)
    own = {"address": "local", "num_cpus": max(1, here)}  # also where another one runs on this machine
    where: dict[str, Any] = {"address": address} if address else own
    try:
        ray.init(
            **where,
            include_dashboard=None if address else False,
            log_to_driver=False,
            logging_level=logging.ERROR,
            runtime_env={"env_vars": {"PYTHONPATH": str(PACKAGE.parent)}},
        )
    except (OSError, RuntimeError, ValueError) as error:
        told = " ".join(str(error).split())[:300] or type(error).__name__
        if not address:
            raise CommandError(f"{flag}: Ray cannot be started on this machine: {told}") from error
        token = "" if os.environ.get("RAY_AUTH_MODE") else "; if it asks for a token, set RAY_AUTH_MODE=token"
        raise CommandError(f"--ray {address}: the cluster cannot be used: {told}{token}") from error
    finally:
        for each, handler in handlers.items():
            signal.signal(each, handler)  # Ray has its own
    try:
        there = int(ray.cluster_resources().get("CPU", 0))
        if there < needed:
            raise CommandError(
                f"{flag}: the cluster has {there} cores, and it takes {needed}: take fewer, or --threads 1"
            )
        with nullcontext() if address else bound_to_this_process():
            yield there
    finally:
        ray.shutdown()


def refuse_nobody(address: str) -> None:
    """Refuse an address at which nothing answers: Ray itself would ask for minutes."""
    if not address:
        return
    from ray._private.services import canonicalize_bootstrap_address

    try:
        found = canonicalize_bootstrap_address(address) if address == "auto" else address
        host, _, port = str(found).removeprefix("ray://").rpartition(":")
        if not (host and port.isdecimal()):
            raise CommandError(f"--ray {address}: an address is HOST:PORT, or auto for the one of this machine")
        socket.create_connection((host, int(port)), timeout=ANSWERS).close()
    except (OSError, OverflowError) as error:
        raise CommandError(f"--ray {address}: nothing answers there: {error}; start one with `ray start`") from error


class RemoteWorker:
    """One process of a training beside the first; Ray makes it on some machine of the cluster."""

    def versions(self, files: Sequence[str]) -> tuple[dict[str, str], dict[str, str]]:
        """Return those of this process, and what is in these files here."""
        return versions(), contents(files)

    def listen(self, settings: TrainSettings, folder: str) -> Address:
        """Return where the other processes can connect to this one; paths count from this folder, if it is here."""
        with suppress(OSError):
            os.chdir(folder)
        self.own = listening_socket(settings)
        return address_of(self.own)

    def train(self, settings: TrainSettings, rank: int, meeting: Meeting, start: bytes, policy: bytes) -> None:
        """Train in time with the others: from a checkpoint, from the policy of one, or from nothing."""
        with joined(settings, rank, self.own, meeting) as group:
            _, training = assemble(Plan(settings, load_scene(settings.scene)), group)
            training.world.snapshot()  # as the first process does when it gets its run
            try:
                if start:
                    with unpacked(start) as path:
                        go_on(training, *read_checkpoint(path), exactly=not settings.inexact)
                else:
                    if policy:
                        with unpacked(policy) as path:
                            start_from(training, path)
                    training.session.save_checkpoint()
                while not training.done:
                    training.tick()
                training.close()
            except BaseException:
                group.leave()  # the others are in the midst of something: nothing can be saved with them
                training.close("failed")
                raise


@contextmanager
def unpacked(content: bytes) -> Iterator[Path]:
    """Give the bytes of a file a place for as long as it is read."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "sent.safetensors")
        path.write_bytes(content)
        yield path


def listening_socket(settings: TrainSettings) -> socket.socket:
    """Return a socket at which the other processes of a training find this one."""
    import ray

    return listening(ray.util.get_node_ip_address() if settings.ray else "127.0.0.1")


@contextmanager
def joined(settings: TrainSettings, rank: int, own: socket.socket, meeting: Meeting) -> Iterator[Group]:
    """Be one of the processes of a training: yields its group."""
    mesh = Mesh.connect(rank, own, meeting, PATIENCE_WITH_A_WINDOW if settings.watch else PATIENCE)
    try:
        yield Group(mesh, settings.arenas)
    finally:
        mesh.close()


# --- the first process ------------------------------------------------------------------------------------------------


def train_once(plan: Plan, answer: Answer) -> int:
    """Train until it is done, or until a worker is lost."""
    settings = plan.settings
    import ray

    remote: Any = ray.remote(num_cpus=settings.threads, max_restarts=0)(RemoteWorker)
    workers = [remote.remote() for _ in range(settings.workers - 1)]
    start, policy = what_to_send(plan)
    try:
        mine = contents(own_files(plan))
        found = answers_of([worker.versions.remote(list(mine)) for worker in workers])
        refuse_other_versions([installed for installed, _ in found])
        refuse_other_files([files for _, files in found], mine)
        own = listening_socket(settings)
        theirs = ray.get([worker.listen.remote(settings, os.getcwd()) for worker in workers])
        meeting = Meeting([address_of(own), *theirs])
        sent = [worker.train.remote(settings, rank, meeting, start, policy) for rank, worker in enumerate(workers, 1)]
        with ExitStack() as connected:
            try:
                group = connected.enter_context(joined(settings, 0, own, meeting))
            except EcsRlError:
                raise_what_a_worker_says(sent)
                raise
            plan, training = assemble(plan, group)
            window, watch = None, None
            if settings.watch:
                from ecs_rl.tasks.watch_training import open_window, watching  # the door to pygame

                window = open_window(settings, training)
                watch = watching(settings, training, window)
            try:
                record = begun(training, plan)
                answer.first = partial(stop, training)
                return train(training, record, plan.settings, watch)
            except WorkerLostError as error:
                run = training.session.run
                raise_what_a_worker_says(sent)
                if run is None or not any(run.path.glob("checkpoints/step_*")):
                    raise
                raise Lost(str(error), run.path, training.session.saved_step) from error
            finally:
                if window is not None:
                    window.close()
    except ray.exceptions.RayTaskError as error:
        raise error.cause from error
    except ray.exceptions.RayActorError as error:
        raise WorkerLostError(f"a worker did not come up: {' '.join(str(error).split())[:300]}") from error
    finally:
        for worker in workers:
            ray.kill(worker)


def answers_of(asked: list[Any]) -> list[Any]:
    """Return what all workers answer; while some have no place in the cluster, that is told now and then."""
    import ray

    while waiting := ray.wait(asked, num_returns=len(asked), timeout=UNTIL_TOLD)[1]:
        free = int(ray.available_resources().get("CPU", 0))
        told = f"{len(waiting)} of {len(asked)} workers have not come up yet; the cluster has {free} free cores"
        tell(f"train.py: {told}: waiting", sys.stderr)
    answers: list[Any] = ray.get(asked)
    return answers


def begun(training: Training, plan: Plan) -> TrainingRun:
    """Return the run of the first process, ready for the first tick."""
    record = recorded(training, plan)
    if plan.settings.resume is None:  # so that a worker may be lost from the first tick on
        training.session.save_checkpoint()
    return record


def what_to_send(plan: Plan) -> tuple[bytes, bytes]:
    """Return the checkpoint to go on from, and that whose policy is to begin with; each may be empty."""
    init_from = plan.settings.init_from
    if plan.run is not None:
        return newest_checkpoint_file(plan.run.path).read_bytes(), b""
    if init_from is None:
        return b"", b""
    path = meant(init_from, plan.scene)
    try:
        return b"", path.read_bytes()
    except OSError as error:
        raise CheckpointError(f"--init-from {path}: it cannot be read: {error.strerror}") from error


def raise_what_a_worker_says(sent: list[Any]) -> None:
    """Raise the error that ended a worker: such a one was not lost, and would end like that again."""
    import ray

    for each in sent:
        try:
            with suppress(ray.exceptions.GetTimeoutError):
                ray.get(each, timeout=1.0)
        except ray.exceptions.RayTaskError as error:
            if not isinstance(error.cause, WorkerLostError):
                raise error.cause from error
        except ray.exceptions.RayActorError:
            continue  # it is gone without a word
