"""A cluster of Ray, or one of this machine: connect to it, and wait for what it has started."""

from __future__ import annotations

import logging
import os
import signal
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

from ecs_rl.console import tell
from ecs_rl.errors import CommandError
from ecs_rl.tasks.ray_processes import bound_to_this_process
from ecs_rl.tasks.same_everywhere import PACKAGE

ANSWERS = 5.0
"""Seconds in which a cluster answers."""
UNTIL_SAID = 60.0
"""Seconds between two messages about workers that have not come up."""


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


def answers_of(asked: list[Any]) -> list[Any]:
    """Return what all workers answer; while some have no place in the cluster, that is told now and then."""
    import ray

    while waiting := ray.wait(asked, num_returns=len(asked), timeout=UNTIL_SAID)[1]:
        free = int(ray.available_resources().get("CPU", 0))
        told = f"{len(waiting)} of {len(asked)} workers have not come up yet; the cluster has {free} free cores"
        tell(f"train.py: {told}: waiting", sys.stderr)
    answers: list[Any] = ray.get(asked)
    return answers


def free_address() -> tuple[str, int]:
    """Return where processes of the cluster can meet on this machine: its address there, and a free port."""
    import ray

    host = ray.util.get_node_ip_address()
    with socket.create_server((host, 0)) as free:
        return host, free.getsockname()[1]
