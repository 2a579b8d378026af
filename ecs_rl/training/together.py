"""One training in several processes: each plays a share of the arenas, and all of them learn the same.

Every process has the whole agent, with the same parameters, buffers and random numbers to the last bit: what is seen
and what comes of it is gathered from all, every tick, so that each agent decides for all arenas and stores what
happened in all of them. Only physics, senses and rules are shared out, and the jobs of a minibatch. So nothing is ever
averaged or stale, any algorithm may learn, and a checkpoint is that of one process.

Process 0 writes the run, and says when to stop: that travels with what is gathered.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from time import perf_counter
from typing import TYPE_CHECKING, Any, cast

import msgspec
import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ecs_rl.agents.base import Agent
from ecs_rl.components import Finished, Observation
from ecs_rl.ecs.component import Column, joined_rows, rows_of_arenas
from ecs_rl.errors import CommandError
from ecs_rl.session import EpisodeRecord
from ecs_rl.spaces import ActMode, Decision, Experience, Floats
from ecs_rl.training.evaluator import AT_ONCE, Evaluator
from ecs_rl.training.exact_resume import surroundings
from ecs_rl.training.mesh import Mesh, check_shares
from ecs_rl.training.snapshots import Sections
from ecs_rl.training.team import Team
from ecs_rl.world import World

if TYPE_CHECKING:
    from ecs_rl.training.training import Training
    from ecs_rl.world import DecideAction

Array = NDArray[Any]
HOW_TO_AGREE = (
    "an algorithm or network of your own must take all its random numbers from generators that its seed makes; "
    "mend it, or leave --workers out"
)
STOP, SAVE, EVALUATE = "stop", "save", "evaluate"
WISHES = ("", STOP, SAVE, EVALUATE)
"""What process 0 can let all do after a tick; its number there is what they hear."""
ENOUGH_ROWS, ENOUGH_FAR_ROWS = 256, 2048
"""Rows of a minibatch from which on sharing it out saves more than messages take: on one machine, and on several."""
_records = msgspec.msgpack.Decoder(list[EpisodeRecord])
_numbers = msgspec.msgpack.Decoder(list[bytearray])
_ended = msgspec.msgpack.Decoder(tuple[list[EpisodeRecord], bytes, list[bytes]])


class Group:
    """The processes of a training; each of `size` has the same number of arenas, this one those of its `rank`.

    WorkerLostError where one of them does not answer.
    """

    def __init__(self, mesh: Mesh, arenas: int) -> None:
        """Take the connections to the others, and how many arenas there are in all."""
        check_shares(arenas, mesh.size)
        self._mesh = mesh
        self.rank, self.size, self.everywhere, self.arenas = mesh.rank, mesh.size, arenas, arenas // mesh.size
        self.wants_to_stop: Callable[[], bool] = lambda: False
        """Says, in process 0, whether to stop after the present tick."""
        self.stops = False
        """Whether process 0 has said so."""
        self.asked, self.agreed = "", ""
        """What the window of process 0 asks for, and what all do after the present tick: one of `WISHES`."""
        self.answer: Callable[[str], None] = lambda told: None
        """Tells the window what came of it."""
        self.ended = False
        """Whether an episode ended anywhere in the present tick."""
        self.finished, self.lookers = Finished(), list[Everywhere]()
        """Which own episodes ended in the present tick, and the agents that are told what begins in all arenas."""
        self._sha256: Callable[[], str] = str
        self.seconds = 0.0
        """How long it has gathered so far, waiting for the others included."""
        self.episodes, self.played = 0, slice(0)
        """How many episodes the present evaluation has, and which of them this process plays."""

    @property
    def first(self) -> int:
        """The number of its first arena."""
        return self.rank * self.arenas

    @property
    def mine(self) -> slice:
        """Its arenas among all."""
        return slice(self.first, self.first + self.arenas)

    def everywhere_of(self, agents: Mapping[str, Agent]) -> dict[str, Agent]:
        """Return agents of all arenas as this process's world sees them; they share out what they learn from."""
        for agent in agents.values():
            share = getattr(agent, "share_learning", None)
            if share is not None:
                share(self.exchange, ENOUGH_ROWS if self._mesh.is_near else ENOUGH_FAR_ROWS)
        return {name: cast(Agent, Everywhere(agent, self)) for name, agent in agents.items()}

    def join(self, training: Training) -> None:
        """Let a training, whose agents these are, go along with those of the other processes."""
        world, agent = training.world, training.session.agent
        each_agent = agent.agents if isinstance(agent, Team) else [agent]
        for each in each_agent:
            cast(Any, each).finished = world.one(Finished)
        self.lookers = [each for each in each_agent if isinstance(each, Everywhere)]
        for looker, (observation,) in zip(self.lookers, world.each(Observation), strict=False):
            looker.observation = observation
        self.finished, self._sha256 = world.one(Finished), agent.parameters_sha256
        self.wants_to_stop = lambda: bool(training.stop) or training.out_of_time
        training.session.with_surroundings(partial(surroundings, training)).shares = True

    @property
    def settings_of_world(self) -> dict[str, Any]:
        """What a world of its arenas is made with."""
        return {"arenas": self.arenas, "share": (self.first, self.everywhere)}

    def leave(self) -> None:
        """End the connections: the others hear at once that this process is gone."""
        self._mesh.close()

    # --- agreeing ---------------------------------------------------------------------------------------------------

    def wish(self) -> int:
        """Return, in process 0, the number of what all are to do after the present tick; 0 in the others."""
        if self.rank:
            return 0
        return WISHES.index(STOP if self.wants_to_stop() else self.asked)

    def agree(self, wish: int) -> None:
        """Hear what process 0 wishes."""
        self.agreed = WISHES[wish]
        self.stops = self.stops or self.agreed == STOP

    def do_what_was_asked(self, training: Training) -> Iterator[None]:
        """Do between two ticks what all have agreed on, in slices."""
        agreed, self.agreed = self.agreed, ""
        if agreed == SAVE:
            path = training.session.save_checkpoint()
            yield from training.session.written()
            self.answer(f"{path.name} is written" if path else "")
        elif agreed == EVALUATE:
            yield from training.evaluate()
            self.answer(f"evaluation: {training.evaluation.last or 0.0:.1f}")
        if agreed == self.asked:
            self.asked = ""

    # --- gathering --------------------------------------------------------------------------------------------------

    def gather(self, arrays: Sequence[Array]) -> list[Array]:
        """Return (processes, ...) each array of every process, in their order; all have the same forms."""
        payload = b"".join([array.tobytes() for array in arrays])
        told, found, at = self.gather_bytes(payload), list[Array](), 0
        if any(len(each) != len(payload) for each in told):
            raise RuntimeError(f"the processes tell each other different amounts: {[len(each) for each in told]} bytes")
        for array in arrays:
            parts = [np.frombuffer(each, array.dtype, array.size, at) for each in told]
            found.append(np.stack(parts).reshape(self.size, *array.shape))
            at += array.nbytes
        return found

    def gather_rows(self, arrays: Sequence[Array]) -> list[Array]:
        """Return each array with the rows of all arenas, all arenas of the first agent first."""
        return [self._rows(found) for found in self.gather(arrays)]

    def _rows(self, found: Array) -> Array:
        """Return the rows of all arenas of (processes, rows, ...)."""
        shape = found.shape[2:]
        return found.reshape(self.size, -1, self.arenas, *shape).swapaxes(0, 1).reshape(-1, *shape)

    def whole(self, mine: Experience, finished: Finished, seen: Floats, decided: Decision) -> Experience:
        """Return what happened in all arenas, and hear whether an episode ended there, and what process 0 wishes.

        `seen` and `decided` are those of all arenas already.
        """
        valid = np.ones(len(mine.reward), bool) if mine.valid is None else mine.valid
        ends = [mine.terminated, mine.truncated, valid]
        flags = np.array([len(finished.rows), self.wish()])
        found = self.gather([mine.action, mine.reward, mine.next_observation, *ends, flags])
        self.ended = bool(found[-1][:, 0].any())
        self.agree(int(found[-1][0, 1]))
        action, reward, after, terminated, truncated, good = map(self._rows, found[:-1])
        mine_too = decided.action.astype(action.dtype)  # as a column holds it
        if not np.array_equal(action, mine_too, equal_nan=True):  # what comes with the project never does that
            raise CommandError(f"--workers: the processes decide differently: {HOW_TO_AGREE}")
        return Experience(seen, action, reward, after, terminated, truncated, good, decided.extras)

    def gather_bytes(self, message: bytes) -> list[memoryview]:
        """Return what every process says, of any length, in their order."""
        began = perf_counter()
        told = self._mesh.gather(message)
        self.seconds += perf_counter() - began
        return told

    # --- evaluations ------------------------------------------------------------------------------------------------

    def greedy(self, agents: Mapping[str, Agent]) -> dict[str, DecideAction]:
        """Return the agents as evaluations ask them."""
        return {name: AmongAll(agent, self) for name, agent in agents.items()}

    def evaluate(self, evaluator: Evaluator, seeds: Sequence[int]) -> Generator[None, None, list[EpisodeRecord]]:
        """Play one episode for each seed, and return all of them: each process plays its share, to one's bits.

        Where bits depend on who else is in a world, the first process plays all of them and tells the others.
        """
        n, whole = len(seeds), evaluator.opponent is not None or evaluator.scene.describe().collides
        if whole or n > AT_ONCE:
            self.played = slice(0, n if self.rank == 0 else 0)
        else:
            self.played = slice(self.rank * n // self.size, (self.rank + 1) * n // self.size)
        self.episodes, mine = n, seeds[self.played]
        records = (yield from evaluator.play(mine)) if mine else []
        return self._records_of_all(records)

    def _records_of_all(self, mine: list[EpisodeRecord]) -> list[EpisodeRecord]:
        told = self.gather_bytes(msgspec.msgpack.encode(mine))
        return [record for each in told for record in _records.decode(each)]

    # --- what else there is to share --------------------------------------------------------------------------------

    def records(self, mine: list[EpisodeRecord]) -> list[EpisodeRecord]:
        """Return the episodes that ended in this tick, in the order of their arenas; hear what the new ones see."""
        if not self.ended:
            return []
        arenas = (self.finished.rows + self.first).astype(np.int64)
        fresh = [looker.fresh(self.finished.rows).tobytes() for looker in self.lookers]
        told = self.gather_bytes(msgspec.msgpack.encode((mine, arenas.tobytes(), fresh)))
        records: list[EpisodeRecord] = []
        for each in told:
            theirs, where, seen = _ended.decode(each)
            records += theirs
            for looker, rows in zip(self.lookers, seen, strict=True):
                looker.hear(np.frombuffer(where, np.int64), np.frombuffer(rows, np.float32))
        return records

    def joined(self, world: World, mine: Sections) -> Sections:
        """Return the world of all arenas, of which this process has saved its own; all must have learned the same."""
        if len(set(map(bytes, self.gather_bytes(self._sha256().encode())))) > 1:
            raise CommandError(f"--workers: the processes have learned different things: {HOW_TO_AGREE}")
        columns = {each.key: each.column for each in world.lasting()}
        flat = [(part, name) for part, arrays in mine.items() for name in arrays]
        arrays = [mine[part][name] for part, name in flat]
        whole: Sections = {part: {} for part in mine}
        for (part, name), found in zip(flat, self.gather(arrays) if arrays else [], strict=True):
            whole[part][name] = self._whole(columns.get(name), list(found))
        return whole

    def _whole(self, column: Column | None, parts: list[Array]) -> Array:
        """Return one array of all arenas; what is no column are (ticks, rows, ...) actions."""
        if column is not None:
            return column.joined(parts, self.arenas)
        ticks = [joined_rows([part[t] for part in parts], self.arenas) for t in range(len(parts[0]))]
        return np.stack(ticks) if ticks else parts[0]

    def part(self, world: World, whole: Mapping[str, Mapping[str, Array]]) -> Sections:
        """Return the own arenas' part of a saved world: the inverse of `joined`."""
        columns = {each.key: each.column for each in world.lasting()}
        mine: Sections = {}
        for part, arrays in whole.items():
            mine[part] = {}
            for name, array in arrays.items():
                column = columns.get(name)
                mine[part][name] = (
                    column.of_arenas(array, self.everywhere, self.mine)
                    if column is not None
                    else np.array([rows_of_arenas(tick, self.everywhere, self.mine) for tick in array], array.dtype)
                )
        return mine

    def exchange(self, jobs: int, work: Callable[[Sequence[int]], list[Tensor]]) -> list[Tensor]:
        """Return the numbers that come of so many jobs, of which each process does some: `work` takes which."""
        owner = [(job + job // self.size) % self.size for job in range(jobs)]  # of two kinds by turns, some of both
        own = [job for job in range(jobs) if owner[job] == self.rank]
        told = self.gather_bytes(msgspec.msgpack.encode([each.numpy().tobytes() for each in work(own)]))
        waiting = [iter(_numbers.decode(each)) for each in told]
        return [torch.frombuffer(next(waiting[rank]), dtype=torch.float32) for rank in owner]


@dataclass(frozen=True)
class AmongAll:
    """A policy that decides for some episodes of an evaluation as for all of them: in a batch of as many rows.

    The last bits of a row's result depend on its place in the batch.
    """

    agent: Agent
    group: Group

    @property
    def state(self) -> int:
        """How many numbers it remembers for each row."""
        return self.agent.spec.state

    def __call__(self, observation: Floats, state: Floats) -> Decision:
        """Return the greedy decision for the rows of the own episodes."""
        group = self.group
        decision = self.agent.act(self._whole(observation), ActMode.GREEDY, self._whole(state))
        own = partial(rows_of_arenas, arenas=group.episodes, some=group.played)
        return Decision(own(decision.action), None if decision.state is None else own(decision.state))

    def _whole(self, rows: Floats) -> Floats:
        """Return rows of all episodes, with these in their places."""
        group = self.group
        own = group.played.stop - group.played.start
        agents, shape = len(rows) // own, rows.shape[1:]
        whole = np.zeros((agents, group.episodes, *shape), rows.dtype)
        whole[:, group.played] = rows.reshape(agents, own, *shape)
        return whole.reshape(agents * group.episodes, *shape)


class Everywhere:
    """An agent of all arenas, as a world sees it that has some of them; all else is asked of the agent itself."""

    def __init__(self, agent: Agent, group: Group) -> None:
        self.agent, self.group = agent, group
        self.finished = Finished()
        """Which episodes of the own arenas ended in the present tick; that of the world, once there is one."""
        self.observation = Observation(np.zeros((0, 0), np.float32))
        """What the own arenas see; that of the world, once there is one."""
        self._seen, self._decided = np.zeros((0, 0), np.float32), Decision(np.zeros(0))
        self._coming: Floats | None = None
        """What all arenas see as the next tick begins, once that is known: it need not be gathered again."""

    def __getattr__(self, name: str) -> Any:
        return getattr(self.agent, name)

    def act(self, observation: Floats, mode: ActMode, state: Floats | None = None) -> Decision:
        """Decide for the own arenas, and note for `observe` what was decided for all of them."""
        if mode is not ActMode.EXPLORE:
            return self.agent.act(observation, mode, state)
        if state is not None and state.shape[1] > 0:
            self._seen, everywhere = self.group.gather_rows([observation, state])
            self._decided = self.agent.act(self._seen, mode, everywhere)
        else:
            if self._coming is None:
                (self._coming,) = self.group.gather_rows([observation])
            if not np.array_equal(self._own(self._coming), observation):
                raise RuntimeError("the processes do not know of each other what their arenas see")
            self._seen = self._coming
            self._decided = self.agent.act(self._seen, mode)
        after = self._decided.state
        return Decision(self._own(self._decided.action), None if after is None else self._own(after))

    def fresh(self, rows: NDArray[np.int64]) -> Floats:
        """Return (agents, rows, numbers) of what these own arenas see."""
        value = self.observation.value
        return value.reshape(-1, self.group.arenas, value.shape[1])[:, rows]

    def hear(self, arenas: NDArray[np.int64], seen: Floats) -> None:
        """Take what some arenas of all see in a new episode."""
        if self._coming is not None:
            whole = self._coming.reshape(-1, self.group.everywhere, self._coming.shape[1])
            whole[:, arenas] = seen.reshape(len(whole), len(arenas), whole.shape[2])

    def _own(self, array: Array) -> Array:
        return rows_of_arenas(array, self.group.everywhere, self.group.mine)

    def observe(self, experience: Experience) -> None:
        """Hand the agent what happened in all arenas."""
        whole = self.group.whole(experience, self.finished, self._seen, self._decided)
        self.agent.observe(whole)
        self._coming = whole.next_observation.copy()
