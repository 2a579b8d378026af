"""On which cores the processes of a training run, and that gloo's threads wait for their turn."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator

import pytest
from groups import in_group, over_tcp

from ecs_rl.distributed.cores import THREADS, own_cores, place_on_machine, threads
from ecs_rl.distributed.group import Group
from ecs_rl.distributed.processes import Processes

pytestmark = pytest.mark.skipif(not THREADS.exists(), reason="this system has no /proc")


def cores_of_all_threads() -> list[set[int]]:
    return [os.sched_getaffinity(thread) for thread in threads()]


@pytest.fixture
def another_thread() -> Iterator[None]:
    ends = threading.Event()
    thread = threading.Thread(target=ends.wait)
    thread.start()
    yield
    ends.set()
    thread.join()


@pytest.mark.usefixtures("another_thread")
def test_processes_that_fill_a_machine_keep_to_cores_of_their_own() -> None:
    cores = sorted(os.sched_getaffinity(0))
    before = cores_of_all_threads()
    for rank, core in enumerate(cores):
        with own_cores((rank, len(cores)), 1):
            assert cores_of_all_threads() == [{core}] * len(before)
        assert os.sched_getaffinity(0) == set(cores)
    with own_cores((0, 1), len(cores)):
        assert os.sched_getaffinity(0) == set(cores)


def test_processes_that_leave_cores_free_or_need_more_may_run_anywhere() -> None:
    cores = os.sched_getaffinity(0)
    for place, threads_of_each in ((None, 1), ((0, len(cores) + 1), 1), ((0, 1), len(cores) - 1)):
        with own_cores(place, threads_of_each):
            assert os.sched_getaffinity(0) == cores


def test_the_cores_are_given_back_where_something_fails() -> None:
    cores = os.sched_getaffinity(0)
    with pytest.raises(ValueError, match="it hurts"), own_cores((0, len(cores)), 1):
        raise ValueError("it hurts")
    assert os.sched_getaffinity(0) == cores


def test_a_launcher_says_the_place_on_the_machine() -> None:
    assert place_on_machine({"LOCAL_RANK": "3", "LOCAL_WORLD_SIZE": "4"}) == (3, 4)
    assert place_on_machine({"LOCAL_RANK": "3"}) is None
    assert place_on_machine({"LOCAL_RANK": "x", "LOCAL_WORLD_SIZE": "4"}) is None


def policies(group: Group) -> tuple[set[int], int, tuple[int, int] | None]:
    assert isinstance(group, Processes)
    of_gloo = [thread for thread in threads() if "gloo" in (THREADS / f"{thread}/comm").read_text()]
    return {os.sched_getscheduler(thread) for thread in of_gloo}, os.sched_getscheduler(0), group.here


def test_the_threads_of_gloo_take_nobodys_place() -> None:
    assert in_group(2, policies) == [({os.SCHED_BATCH}, os.SCHED_OTHER, (rank, 2)) for rank in (0, 1)]
    local = {"LOCAL_RANK": "0", "LOCAL_WORLD_SIZE": "1"}
    assert in_group(1, policies, environment={**over_tcp(), **local})[0][2] == (0, 1)
