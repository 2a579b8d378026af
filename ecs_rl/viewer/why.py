"""Why did it do that? What pulls on an action of the watched agent, and what it would do if it saw something else."""

from __future__ import annotations

import math
from dataclasses import replace
from time import perf_counter
from typing import TYPE_CHECKING

import numpy as np

from ecs_rl.agents.base import output_of
from ecs_rl.agents.explain import pulls
from ecs_rl.arrays import F32
from ecs_rl.spaces import TRIGGER, Continuous, Discrete, spans
from ecs_rl.viewer.options import options_of
from ecs_rl.viewer.view import MindView
from ecs_rl.viewer.view_why import WhyView

if TYPE_CHECKING:
    from ecs_rl.spaces import ActionSpace
    from ecs_rl.viewer.live_episode import LiveEpisode
    from ecs_rl.viewer.mind import Thought

FRESH = 0.5
"""Seconds after which a policy that goes on learning is asked again."""


class Why:
    """Asks about the thought that a show's mind tells of; nothing in the agent changes."""

    def __init__(self, show: LiveEpisode) -> None:
        self.show = show
        self.row: int | None = None
        """The row, among what the agent does, that is explained; None: what it chose."""
        self.turned: dict[int, float] = {}
        """Numbers that were turned by hand, and to what."""
        self._asked: tuple[object, ...] = ()
        self._since = -math.inf
        self._view: MindView | None = None

    def turn(self, number: int, value: float) -> None:
        """Let the agent see another number."""
        self.turned[number] = value

    def explain(self, row: int) -> None:
        """Explain this row of what the agent does, or what it chose if that is explained already."""
        self.row = None if self.row == row else row

    def seen(self) -> tuple[F32, F32]:
        """Return (1, numbers) that the agent sees, with those turned by hand, and (1, state) what it remembers."""
        thought = self.show.mind.current
        seen = thought.seen.copy()
        for number, value in self.turned.items():
            seen[number] = value
        return seen[None], thought.state[None]

    def view(self) -> MindView:
        """Return the mind's view with what pulls, and with what the agent would do; asked anew when that may differ."""
        mind, plain = self.show.mind, self.show.mind.view()
        key = (id(mind.current), id(plain), self.row, tuple(self.turned.items()), id(mind.agent))
        now = perf_counter()
        if self._view is None or key != self._asked or now - self._since > FRESH:
            self._asked, self._since = key, now
            self._view = self._look(plain)
        return self._view

    def _look(self, plain: MindView) -> MindView:
        (observation, state), agent, space = self.seen(), self.show.mind.agent, self.show.mind.space
        rows = rows_of(space)
        chosen = chosen_row(space, self.show.mind.current)
        row = chosen if self.row is None or self.row >= len(rows) else self.row
        explained = None if agent is None else pulls(agent, observation, [rows[row]], fitting(state, agent))
        name = plain.does[row].name if row < len(plain.does) else ""
        pulled = None if explained is None else tuple(explained[0].tolist())
        if not self.turned:
            return replace(plain, why=WhyView(name, row, pulled))
        output = None if agent is None else output_of(agent, observation, fitting(state, agent))
        does = plain.does
        value = None
        if output is not None:
            spread = output.spread if output.spread is None or output.spread.ndim == 1 else output.spread[0]
            does = options_of(space, best_of(space, output.does[0]), output.does[0], spread)
            value = float(output.value[0])
        sees = tuple(
            replace(seen, value=float(observation[0, number])) if number in self.turned else seen
            for number, seen in enumerate(plain.sees)
        )
        why = WhyView(name, row, pulled, tuple(sorted(self.turned)), plain.does, value)
        return replace(plain, sees=sees, does=does, why=why)


def fitting(state: F32, agent: object) -> F32:
    """Return what was remembered, zeros where another agent remembers other numbers."""
    numbers = int(getattr(getattr(agent, "spec", None), "state", 0))
    return state if state.shape[1] == numbers else np.zeros((len(state), numbers), np.float32)


def rows_of(space: ActionSpace) -> list[int]:
    """Return which output each row of what an agent does shows: of a trigger among others only that it is on."""
    rows: list[int] = []
    for part, _, outputs in spans(space):
        first = outputs.start + 1 if _is_trigger(part) else outputs.start
        rows += range(first, outputs.stop)
    return rows


def chosen_row(space: ActionSpace, thought: Thought) -> int:
    """Return the row of what was done: the option that was chosen first, or the lever that was set the furthest."""
    did, rows = np.atleast_1d(thought.did), rows_of(space)
    for part, columns, outputs in spans(space):
        if isinstance(part, Discrete) and not _is_trigger(part) and did[columns.start] >= 0:  # else nothing is done yet
            return rows.index(outputs.start + int(did[columns.start]))
    outputs_of = {
        o: float(did[c.start + o - out.start])
        for p, c, out in spans(space)
        if isinstance(p, Continuous)
        for o in range(out.start, out.stop)
    }
    if outputs_of:
        return rows.index(max(outputs_of, key=lambda output: abs(outputs_of[output])))
    return 0


def best_of(space: ActionSpace, does: F32) -> F32:
    """Return (columns,) the action of an output: of each choice the best option, of a lever its mean."""
    action: list[float] = []
    for part, _, outputs in spans(space):
        values = does[outputs]
        action += values.tolist() if isinstance(part, Continuous) else [float(values.argmax())]
    return np.array(action, np.float32)


def _is_trigger(part: object) -> bool:
    return isinstance(part, Discrete) and bool(part.name) and part.names == TRIGGER
