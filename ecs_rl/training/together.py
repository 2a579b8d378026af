"""A training of several processes: what they say to each other beside gradients, and how a checkpoint holds them all.

Each process plays its share of the arenas and learns from it; their agents add up gradients and statistics (see
`ecs_rl/distributed/group.py`), so all have the same policy. Every `MEET_EVERY` ticks, and where a checkpoint or an
evaluation is due, the processes meet: process 0 hears which episodes ended, keeps statistics, ratings and lessons,
writes the run, and says what all do next. The ticks between two meetings need no message.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np
from numpy.typing import NDArray
from safetensors.torch import load, save

from ecs_rl.agents.base import Agent
from ecs_rl.callbacks import Callbacks
from ecs_rl.distributed.group import Group
from ecs_rl.distributed.place import check_shares
from ecs_rl.ecs.component import rows_of_arenas
from ecs_rl.errors import CommandError
from ecs_rl.runs.rows import Change
from ecs_rl.session import EpisodeRecord
from ecs_rl.spaces import ActMode, Decision, Floats
from ecs_rl.training.evaluator import AT_ONCE, Evaluator
from ecs_rl.training.exact_resume import surroundings

if TYPE_CHECKING:
    from ecs_rl.training.training import Training
    from ecs_rl.world import DecideAction

MEET_EVERY = 32
"""Ticks between two meetings at most."""
STOP, SAVE, EVALUATE = "stop", "save", "evaluate"
Waiting = list[tuple[int, EpisodeRecord]]
"""Episodes with the step at which they ended."""
_episodes = msgspec.msgpack.Decoder(Waiting)
_beginning = msgspec.msgpack.Decoder(tuple[list[Change], bytes])
_records = msgspec.msgpack.Decoder(list[EpisodeRecord])


class Orders(msgspec.Struct):
    """What process 0 says in a meeting."""

    wishes: list[str]
    """What all do after the present tick, in this order: STOP, SAVE, EVALUATE."""
    changes: list[Change]
    """Settings that change after the present tick."""
    lessons: list[int]
    """The lessons whose next step begins, by their numbers."""
    ratings: list[float]
    """Those of self-play."""
    trained: float
    """The rolling mean of the training episodes' results."""


_orders = msgspec.msgpack.Decoder(Orders)


class Together:
    """The share of one process in a training of several, and its meetings with the others."""

    training: Training

    def __init__(self, group: Group, arenas: int) -> None:
        """Take the group, and how many arenas there are in all."""
        check_shares(arenas, group.size)
        self.group, self.everywhere, self.arenas = group, arenas, arenas // group.size
        self.asked, self.changes = list[str](), list[Change]()
        """What the window of process 0 asks for, and the settings that it wants to change."""
        self.answer: Callable[[str], None] = lambda answer: None
        """Says in the window what came of it."""
        self.stops = False
        """Whether all stop after the present tick."""
        self.trained = float("nan")
        """The rolling mean of the training episodes' results, as process 0 has it."""
        self.episodes, self.played = 0, slice(0)
        """How many episodes the present evaluation has, and which of them this process plays."""
        self._waiting: Waiting = []
        self._meets, self._orders = False, Orders([], [], [], [], 0.0)

    @property
    def settings_of_world(self) -> dict[str, Any]:
        """What a world of its arenas is made with."""
        return {"arenas": self.arenas, "share": (self.group.rank * self.arenas, self.everywhere)}

    def join(self, training: Training) -> None:
        """Let a training go along with those of the other processes."""
        self.training = training
        training.session.with_surroundings(partial(surroundings, training)).shares = True

    @property
    def callbacks(self) -> Callbacks:
        """What the stages of its world call."""
        return Callbacks(gather=self.gather, agree=self.agree, trained=lambda own: self.trained)

    def begin(self) -> None:
        """Let all processes begin with what process 0 alone has read of its run."""
        live, evaluation = self.training.live, self.training.evaluation
        best = save({name: tensor.contiguous() for name, tensor in evaluation.best_policy.items()})
        message = self.group.from_first(msgspec.msgpack.encode((live.planned, best)))
        live.planned, best = _beginning.decode(message)
        evaluation.best_policy = load(best)

    # --- meetings ---------------------------------------------------------------------------------------------------

    @property
    def _is_due(self) -> bool:
        """Whether the processes meet in this tick, which depends on the steps alone."""
        training, session = self.training, self.training.session
        evaluation, steps = training.evaluation, session.total_steps
        evaluates = steps // evaluation.every > evaluation.taken_at // evaluation.every
        at_tick = steps // self.everywhere % MEET_EVERY == 0
        return at_tick or evaluates or session.is_done or session.is_due()

    def gather(self, steps: int, records: list[EpisodeRecord]) -> list[tuple[int, list[EpisodeRecord]]]:
        """Take the episodes that ended in this tick; in a meeting return those of all processes to process 0."""
        self._waiting += [(steps, record) for record in records]
        self._meets = self._is_due
        if not self._meets:
            return []
        parts = self.group.to_first(msgspec.msgpack.encode(self._waiting))
        self._waiting = []
        by_step: dict[int, list[EpisodeRecord]] = {}
        for step, record in (pair for part in parts for pair in _episodes.decode(part)):
            by_step.setdefault(step, []).append(record)
        return sorted(by_step.items())

    def agree(self) -> None:
        """In a meeting hear what all do next, once process 0 has taken in the episodes."""
        if not self._meets:
            return
        training = self.training
        pool = getattr(training.session.agent, "pool", None)
        if self.group.rank == 0:
            wishes = [*self.asked, STOP] if training.stop or training.out_of_time else self.asked
            ratings = [] if pool is None else pool.ratings.tolist()
            due = training.lessons.due
            self._orders = Orders(wishes, self.changes, due, ratings, training.session.trained())
            self.asked, self.changes = [], []
        self._orders = orders = _orders.decode(self.group.from_first(msgspec.msgpack.encode(self._orders)))
        self.stops, self.trained = STOP in orders.wishes, orders.trained
        training.lessons.advance(orders.lessons)
        if pool is not None:
            pool.ratings[:] = orders.ratings

    def do_what_was_asked(self) -> Iterator[None]:
        """Do between two ticks what all have agreed on, in slices."""
        training, (orders, self._orders) = self.training, (self._orders, Orders([], [], [], [], 0.0))
        for change in orders.changes:
            try:
                training.change(change.name, change.value)
            except CommandError as error:
                self.answer(str(error))
        for wish in orders.wishes:
            if wish == SAVE:
                path = training.session.save_checkpoint()
                yield from training.session.written()
                self.answer(f"{path.name} is written" if path else "")
            elif wish == EVALUATE:
                yield from training.evaluate()
                self.answer(f"evaluation: {training.evaluation.last or 0.0:.1f}")

    # --- evaluations ------------------------------------------------------------------------------------------------

    def greedy(self, agents: Mapping[str, Agent]) -> dict[str, DecideAction]:
        """Return the agents as evaluations ask them."""
        return {name: AmongAll(agent, self) for name, agent in agents.items()}

    def evaluate(self, evaluator: Evaluator, seeds: Sequence[int]) -> Generator[None, None, list[EpisodeRecord]]:
        """Play one episode for each seed, and return all of them: each process plays its share, to one's bits.

        Where bits depend on who else is in a world, process 0 plays all of them and tells the others.
        """
        n, size, rank = len(seeds), self.group.size, self.group.rank
        whole = evaluator.opponent is not None or evaluator.scene.describe().collides
        if whole or n > AT_ONCE:
            self.played = slice(0, n if rank == 0 else 0)
        else:
            self.played = slice(rank * n // size, (rank + 1) * n // size)
        self.episodes, own = n, seeds[self.played]
        records = (yield from evaluator.play(own)) if own else []
        parts = self.group.everyone(msgspec.msgpack.encode(records))
        return [record for part in parts for record in _records.decode(part)]


@dataclass(frozen=True)
class AmongAll:
    """A policy that decides for some episodes of an evaluation as for all of them: in a batch of as many rows.

    The last bits of a row's result depend on its place in the batch, and who plays the policy again has all episodes.
    """

    agent: Agent
    together: Together

    @property
    def state(self) -> int:
        """How many numbers it remembers for each row."""
        return self.agent.spec.state

    def __call__(self, observation: Floats, state: Floats) -> Decision:
        """Return the greedy decision for the rows of the own episodes."""
        together = self.together
        decision = self.agent.act(self._whole(observation), ActMode.GREEDY, self._whole(state))
        own = partial(rows_of_arenas, arenas=together.episodes, some=together.played)
        return Decision(own(decision.action), None if decision.state is None else own(decision.state))

    def _whole(self, rows: Floats) -> NDArray[np.float32]:
        """Return rows of all episodes, with these in their places."""
        played, episodes = self.together.played, self.together.episodes
        own = played.stop - played.start
        agents, shape = len(rows) // own, rows.shape[1:]
        whole = np.zeros((agents, episodes, *shape), rows.dtype)
        whole[:, played] = rows.reshape(agents, own, *shape)
        return whole.reshape(agents * episodes, *shape)
