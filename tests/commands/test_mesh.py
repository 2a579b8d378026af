"""What the processes of a training say to each other arrives whole, and who is gone or silent is told by name."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from itertools import combinations
from typing import Any, TypeVar, cast

import numpy as np
import pytest

import ecs_rl.training.mesh as mesh_module
from ecs_rl.agents import PPOConfig, make_agent
from ecs_rl.agents.base import State
from ecs_rl.agents.ppo import PPO
from ecs_rl.components import Finished
from ecs_rl.errors import CommandError, WorkerLostError
from ecs_rl.spaces import Decision, Experience
from ecs_rl.testing.transitions import MIXED, play, same
from ecs_rl.training.mesh import ALIVE, HEAD, Link, Meeting, Mesh, address_of, listening
from ecs_rl.training.together import Group

T = TypeVar("T")
SMALL = {"rollout": 8, "epochs": 2, "minibatch": 32, "hidden": (8, 8)}
LARGE = {"rollout": 2, "epochs": 1, "minibatch": 8192, "hidden": (8,)}


@contextmanager
def meshes(size: int, patience: float = 20.0) -> Iterator[list[Mesh]]:
    """Yield the connections of so many processes, all of which are this one."""
    links: list[dict[int, Link]] = [{} for _ in range(size)]
    for one, other in combinations(range(size), 2):
        mine, theirs = socket.socketpair()
        links[one][other], links[other][one] = Link(other, mine), Link(one, theirs)
    found = [Mesh(rank, [each[other] for other in sorted(each)], patience) for rank, each in enumerate(links)]
    with ExitStack() as closing:
        for mesh in found:
            closing.callback(mesh.close)
        yield found


def at_once(work: Callable[[Mesh], T], those: list[Mesh]) -> list[T]:
    with ThreadPoolExecutor(len(those)) as threads:
        return list(threads.map(work, those))


@pytest.mark.parametrize("size", [2, 3, 5])
def test_all_hear_all_in_the_order_of_their_ranks_whatever_the_lengths(size: int) -> None:
    dice = np.random.default_rng(7)
    said = [[dice.bytes(length * (rank + 1)) for rank in range(size)] for length in (0, 1, 40_000, 2_000_000, 3)]

    def talk(mesh: Mesh) -> list[list[bytes]]:
        return [[bytes(each) for each in mesh.gather(messages[mesh.rank])] for messages in said]

    with meshes(size) as all_of_them:
        assert at_once(talk, all_of_them) == [said] * size


def lost(mesh: Mesh) -> str:
    with pytest.raises(WorkerLostError) as caught:
        mesh.gather(b"is anybody there?")
    return str(caught.value)


@pytest.mark.parametrize("half", [False, True])
def test_who_is_gone_is_named_also_in_the_midst_of_a_message(half: bool) -> None:
    with meshes(3) as (first, second, third):
        if half:
            for each in third._links:
                each.socket.sendall((1000).to_bytes(HEAD, "little") + b"and then")
        third.close()
        assert all("worker 2 is gone" in told for told in at_once(lost, [first, second]))


def test_who_says_nothing_for_too_long_is_named() -> None:
    with meshes(3, patience=0.2) as (first, second, _):
        for told in at_once(lost, [first, second]):
            assert "worker 2 has said nothing for" in told


def test_processes_meet_although_strangers_ask_too() -> None:
    own = [listening("127.0.0.1") for _ in range(3)]
    meeting = Meeting([address_of(each) for each in own])
    strangers = []
    for said in (b"", b"GET / HTTP/1.1\r\n\r\n", bytes(1000)):
        strangers.append(socket.create_connection(meeting.addresses[0]))
        strangers[-1].sendall(said)
        strangers[-1].shutdown(socket.SHUT_WR)
    with ThreadPoolExecutor(3) as threads:
        found = list(threads.map(lambda rank: Mesh.connect(rank, own[rank], meeting, 20.0), range(3)))
    assert (
        at_once(lambda mesh: [bytes(each) for each in mesh.gather(b"%d" % mesh.rank)], found)
        == [[b"0", b"1", b"2"]] * 3
    )
    assert all(mesh.is_near for mesh in found)
    for link in found[0]._links:  # the system itself asks on the alarm whether the other machine is still there
        assert link.alarm is not None
        assert link.alarm.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)
        assert all(link.alarm.getsockopt(socket.IPPROTO_TCP, getattr(socket, n)) == ALIVE[n] for n in ALIVE)
    assert all(each.fileno() == -1 for each in own), "nobody else can connect any more"
    for mesh in found:
        mesh.close()
    for each in strangers:
        each.close()


def test_a_process_that_cannot_be_reached_is_told() -> None:
    own, gone = listening("127.0.0.1"), listening("127.0.0.1")
    meeting = Meeting([address_of(gone), address_of(own)])
    gone.close()
    where = "{}:{}".format(*meeting.addresses[0])
    with pytest.raises(CommandError, match=f"process 1 and those at {where} do not connect: .*refused"):
        Mesh.connect(1, own, meeting, 20.0)


def test_those_who_do_not_come_are_told_in_time_although_a_stranger_dribbles(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mesh_module, "MEETING", 0.8)
    monkeypatch.setattr(mesh_module, "GREETING", 0.3)
    own, silent = listening("127.0.0.1"), listening("127.0.0.1")
    meeting, over = Meeting([address_of(own), address_of(silent)]), threading.Event()

    def dribble() -> None:
        while not over.is_set():
            with suppress(OSError), socket.create_connection(meeting.addresses[0]) as stranger:
                while not over.wait(0.05):
                    stranger.sendall(b".")

    began = time.monotonic()
    with ThreadPoolExecutor(1) as threads:
        threads.submit(dribble)
        with pytest.raises(CommandError, match="process 0 and those at {}:{} do not".format(*meeting.addresses[1])):
            Mesh.connect(0, own, meeting, 20.0)
        over.set()
    silent.close()
    assert time.monotonic() - began < 20.0


class Alarm:
    """A connection that ends like this when it is read."""

    def __init__(self, end: bytes | OSError) -> None:
        self.end, self.closed = end, False

    def recv(self, count: int) -> bytes:
        if isinstance(self.end, OSError):
            raise self.end
        return self.end

    def close(self) -> None:
        self.closed = True


def test_an_alarm_tells_of_a_machine_that_is_gone_and_not_of_a_process_that_ended() -> None:
    mine, theirs = socket.socketpair()
    link = Link(3, mine)
    link.alarm = cast(Any, Alarm(TimeoutError(110, "Connection timed out")))
    with pytest.raises(WorkerLostError, match=r"worker 3 is gone: .*timed out"):
        link.look()
    link.alarm = cast(Any, Alarm(BlockingIOError()))
    link.look()
    assert link.alarm is not None
    link.alarm = cast(Any, Alarm(b""))
    link.look()
    assert link.alarm is None, "its last message may still be under way"
    link.close()
    theirs.close()


def test_who_rests_with_a_large_message_before_it_hears_all_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mesh_module, "AWAKE", 0.0)
    own = [listening("127.0.0.1") for _ in range(2)]
    meeting, large = Meeting([address_of(each) for each in own]), bytes(range(256)) * 40_000
    with ThreadPoolExecutor(2) as threads:
        first, second = threads.map(lambda rank: Mesh.connect(rank, own[rank], meeting, 20.0), range(2))
        told = threads.submit(first.gather, large)
        time.sleep(0.5)
        assert not told.done()
        assert bytes(second.gather(b"rested")[0]) == large
        assert bytes(told.result()[1]) == b"rested"
    link = first._links[0].socket  # only what is confirmed late, and not who is, counts as gone by such a limit
    assert link.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT) == 0
    first.close()
    second.close()


def test_arrays_of_different_sizes_are_an_error_of_all() -> None:
    with meshes(2) as both:

        def tell(mesh: Mesh) -> str:
            with pytest.raises(RuntimeError) as caught:
                Group(mesh, 4).gather([np.zeros(3 + mesh.rank)])
            return str(caught.value)

        assert at_once(tell, both) == ["the processes tell each other different amounts: [24, 32] bytes"] * 2


@pytest.mark.parametrize("size", [2, 3, 5])
@pytest.mark.parametrize(
    ("settings", "rows"),
    [(SMALL, 16), ({**SMALL, "network": "gru", "state": 4}, 16), (LARGE, 4200), ({**LARGE, "shared": True}, 4200)],
    ids=["a part", "a memory", "three parts", "three parts of a shared network"],
)
def test_processes_that_share_out_minibatches_learn_what_one_learns_to_the_last_bit(
    settings: dict[str, Any], rows: int, size: int
) -> None:
    def learned(mesh: Mesh | None) -> tuple[State, int]:
        agent, asked = make_agent("ppo", MIXED, PPOConfig(**settings), seed=3, rows=rows), 0
        assert isinstance(agent, PPO)
        if mesh is not None:
            group = Group(mesh, size)

            def exchange(jobs: int, work: Any) -> Any:
                nonlocal asked
                asked += jobs
                return group.exchange(jobs, work)

            agent.share_learning(exchange, 1)
        play(agent, settings["rollout"], np.random.default_rng(5), rows)
        return agent.state(), asked

    alone, _ = learned(None)
    with meshes(size) as all_of_them:
        for state, asked in at_once(learned, all_of_them):
            assert asked >= 3
            assert same(state, alone)


@pytest.mark.parametrize("differs", [False, True])
def test_only_decisions_that_differ_in_the_form_in_which_a_world_holds_them_are_refused(differs: bool) -> None:
    dice = np.random.default_rng(1)
    exact, seen = dice.normal(size=(4, 2)), np.zeros((4, 3), np.float32)

    def tell(mesh: Mesh) -> str:
        group, over = Group(mesh, 4), np.zeros(2, bool)
        own = exact[group.mine].astype(np.float32)
        mine = Experience(seen[:2], own, np.zeros(2, np.float32), seen[:2], over, over, None, {})
        try:
            group.whole(mine, Finished(), seen, Decision(exact + (differs and mesh.rank == 1)))
        except CommandError as error:
            return str(error)
        return ""

    with meshes(2) as both:
        first, second = at_once(tell, both)
    assert first == ""
    assert ("the processes decide differently" in second) == differs
