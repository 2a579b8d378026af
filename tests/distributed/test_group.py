"""What processes of a group send each other, and how one of them notices that another is gone."""

from __future__ import annotations

import os
import random
import signal
import socket
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
import torch
from groups import GONE, in_group, listening, over_tcp
from torch import Tensor

from ecs_rl.distributed.group import ALONE, Group
from ecs_rl.distributed.processes import LENGTH, SHORT
from ecs_rl.errors import WorkerLostError

MESSAGES = ["", "a", "two words " * 1000, "\0\xff"]


def floats(rank: int, *shape: int) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(rank))


# --- sums -------------------------------------------------------------------------------------------------------------


def means(group: Group, weights: Sequence[float]) -> list[list[Any]]:
    parts = [floats(group.rank, 1000), floats(group.rank + 10, 3, 4), floats(group.rank + 20, 1)]
    group.mean(*parts, weight=weights[group.rank])
    again = [floats(group.rank, 1000), floats(group.rank + 10, 3, 4), floats(group.rank + 20, 1)]
    group.mean(*again, weight=weights[group.rank])
    assert all(torch.equal(*pair) for pair in zip(parts, again, strict=True))
    return [part.tolist() for part in parts]


ALL_DIRECT, ALL_IN_A_RING = 1 << 20, 0


@pytest.mark.parametrize(
    ("weights", "direct"),
    [
        ((1.0, 1.0, 1.0), ALL_DIRECT),
        ((5.0, 0.0, 2048.0), ALL_DIRECT),
        ((5.0, 0.0, 2048.0), ALL_IN_A_RING),
        ((0.0, 3.0, 0.0), ALL_DIRECT),
    ],
)
def test_means_count_each_process_by_its_weight_and_are_the_same_everywhere(
    weights: Sequence[float], direct: int
) -> None:
    first, *others = in_group(3, means, weights, constants={"DIRECT": direct})
    assert others == [first, first]
    for part, begin, shape in zip(first, (0, 10, 20), ((1000,), (3, 4), (1,)), strict=True):
        parts = [weight * floats(begin + rank, *shape).double() for rank, weight in enumerate(weights)]
        mean = torch.stack(parts).sum(0) / sum(weights)
        torch.testing.assert_close(torch.tensor(part), mean.float(), rtol=1e-5, atol=1e-6)


def test_a_mean_over_nobody_is_zero() -> None:
    assert in_group(2, means, (0.0, 0.0)) == [[[0.0] * 1000, [[0.0] * 4] * 3, [0.0]]] * 2


def totals(group: Group, dtype: torch.dtype) -> tuple[list[float], list[float]]:
    numbers = torch.tensor([group.rank + 1, 2**40 + group.rank, 0]).to(dtype)
    return group.total(numbers).tolist(), numbers.tolist()


@pytest.mark.parametrize("dtype", [torch.int64, torch.float64])
def test_totals_are_exact_and_leave_what_was_passed(dtype: torch.dtype) -> None:
    for rank, (total, own) in enumerate(in_group(3, totals, dtype)):
        assert total == [6, 3 * 2**40 + 3, 0]
        assert own == [rank + 1, 2**40 + rank, 0]


def part_of(rank: int, part: int) -> Tensor:
    """Return numbers of a process: none, a few, or many that lie far from zero."""
    return 1000.0 * part + floats(10 * rank + part, (rank * 7 + part * 50) if rank != 1 else 0)


def moments(group: Group) -> list[tuple[float, float]]:
    return [(float(std), float(mean)) for std, mean in group.moments([part_of(group.rank, i) for i in range(4)])]


def test_moments_are_those_of_the_numbers_of_all_processes() -> None:
    first, *others = in_group(3, moments)
    assert others == [first, first]
    for i, (std, mean) in enumerate(first):
        whole = torch.cat([part_of(rank, i) for rank in range(3)])
        wanted_std, wanted_mean = torch.std_mean(whole.double(), correction=0)
        np.testing.assert_allclose((std, mean), (float(wanted_std), float(wanted_mean)), rtol=1e-5, atol=1e-6)


def shares(group: Group) -> list[int]:
    return [group.share(amount) for amount in (1, 2, 3, 4, 256)]


def test_a_share_is_rounded_up_so_that_nobody_is_left_without_one() -> None:
    assert in_group(3, shares) == [[1, 1, 1, 2, 86]] * 3
    assert shares(ALONE) == [1, 2, 3, 4, 256]


# --- messages ---------------------------------------------------------------------------------------------------------


def messages(group: Group, own: Sequence[str]) -> tuple[list[bytes], list[bytes], bytes]:
    message = own[group.rank].encode("latin-1")
    return group.everyone(message), group.to_first(message), group.from_first(message)


@pytest.mark.parametrize(
    "own",
    [
        MESSAGES[:3],
        MESSAGES[1:],
        ["", "", ""],
        ["", "", "x"],
        ["x" * 3_000_000, "", ""],
        ["x" * SHORT, "", "x" * (SHORT + 1)],
    ],
)
def test_messages_of_any_length_arrive_whole(own: Sequence[str]) -> None:
    wanted = [text.encode("latin-1") for text in own]
    for rank, (everyone, to_first, from_first) in enumerate(in_group(3, messages, own)):
        assert everyone == wanted
        assert to_first == (wanted if rank == 0 else [])
        assert from_first == wanted[0]


def everything(group: Group) -> list[Any]:
    numbers = floats(0, 5)
    group.mean(numbers, weight=3.0)
    whole, one = group.total(torch.tensor([2, 3])), group.moments([floats(1, 9)])
    texts = messages(group, ["word"])
    return [numbers.tolist(), whole.tolist(), [(float(a), float(b)) for a, b in one], texts, group.share(7), group.rank]


def test_a_process_alone_gets_what_a_group_of_one_gets() -> None:
    ((*numbers, deviations, texts, share, rank),) = in_group(1, everything)
    *alone, alone_deviations, alone_texts, alone_share, alone_rank = everything(ALONE)
    np.testing.assert_allclose(numbers[0], alone[0], rtol=1e-6)
    assert (numbers[1], texts, share, rank) == (alone[1], alone_texts, alone_share, alone_rank)
    np.testing.assert_allclose(deviations, alone_deviations, rtol=1e-6)


def spends(group: Group) -> dict[str, float]:
    group.mean(torch.zeros(99))
    group.from_first(b"word")
    return group.spent()


def test_what_messages_took_is_counted() -> None:
    for spent in in_group(2, spends):
        assert spent["bytes_sent"] == 100 * 4 + 2 * (SHORT + LENGTH)
        assert spent["messages"] == 3
        assert spent["seconds_gathering"] > 0
    assert spends(ALONE) == {}


# --- who is gone ------------------------------------------------------------------------------------------------------


def leaves(group: Group, name: str) -> str:
    group.everyone(b"all are there")
    if group.rank == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    for _ in range(1000):  # the connections of a process that is killed close a moment later
        if name == "mean":
            group.mean(torch.zeros(100_000))
        elif name == "moments":
            group.moments([torch.zeros(3)])
        elif name == "total":
            group.total(torch.zeros(3))
        else:
            getattr(group, name)(b"word")
    return "nothing was noticed"


@pytest.mark.parametrize("name", ["mean", "total", "moments", "everyone"])
def test_a_process_that_is_killed_is_noticed_by_its_connections(name: str) -> None:
    first, gone, third = in_group(3, leaves, name)
    assert gone == GONE
    for answer in (first, third):
        assert isinstance(answer, WorkerLostError), answer
        assert str(answer).startswith("a worker is gone: ")


def test_the_others_notice_that_process_0_is_killed() -> None:
    gone, *others = in_group(3, dies_first)
    assert gone == GONE
    assert [type(answer) for answer in others] == [WorkerLostError] * 2


def dies_first(group: Group) -> None:
    group.everyone(b"all are there")
    if group.rank == 0:
        os.kill(os.getpid(), signal.SIGKILL)
    group.from_first(b"")


QUICK = {"BEAT": 0.1, "LOST": 2.0, "LOOK": 0.1}


@pytest.mark.parametrize("stopped", [0, 1])
def test_a_process_that_no_longer_answers_is_noticed_by_its_heartbeat(stopped: int) -> None:
    answers = in_group(3, stops, stopped, environment=over_tcp(), constants=QUICK)
    assert answers.pop(stopped) == GONE
    assert [type(answer) for answer in answers] == [WorkerLostError] * 2
    if stopped:  # the third process may notice first that process 0 has left
        assert str(answers[0]) == "worker 1 has not answered for 2 seconds"


def stops(group: Group, stopped: int) -> None:
    group.everyone(b"all are there")
    if group.rank == stopped:
        os.kill(os.getpid(), signal.SIGSTOP)
    while True:
        group.everyone(b"word")


def test_a_process_that_is_slow_is_not_taken_for_lost() -> None:
    assert in_group(2, is_slow, environment=over_tcp(), constants=QUICK) == [["0", "1"]] * 2


def is_slow(group: Group) -> list[str]:
    until = time.monotonic() + 2 * QUICK["LOST"]
    while group.rank == 1 and time.monotonic() < until:
        sum(range(1000))
    return [message.decode() for message in group.everyone(str(group.rank).encode())]


def test_what_is_done_at_the_moment_of_a_look_is_not_taken_for_lost() -> None:
    assert in_group(2, hesitates, constants={"LOOK": 0.001}) == ["done"] * 2


def hesitates(group: Group) -> str:
    dice = random.Random(group.rank)
    for _ in range(600):
        time.sleep(dice.random() * 0.003)
        group.mean(torch.zeros(3))
    return "done"


# --- strangers and wrong addresses ------------------------------------------------------------------------------------


def test_strangers_who_send_garbage_disturb_nobody() -> None:
    assert in_group(2, is_disturbed, environment=over_tcp()) == [[3 * 200, True]] * 2


def is_disturbed(group: Group) -> list[Any]:
    """Send garbage to each port that the group listens at, while it adds up numbers."""
    own = " ".join(map(str, listening(os.getpid())))
    ports = [int(port) for message in group.everyone(own.encode()) for port in message.decode().split()]
    strangers, total = [], 0
    for i in range(200):
        if group.rank == 1 and i % 10 == 0:
            for port in ports:
                stranger = socket.create_connection(("127.0.0.1", port), timeout=5)
                stranger.sendall(random.Random(i).randbytes(5 * i))
                strangers.append(stranger)
        total += int(group.total(torch.tensor(group.rank + 1)))
    for stranger in strangers:
        stranger.close()
    return [total + int(group.total(torch.tensor(0))), bool(ports)]
