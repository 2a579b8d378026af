"""The value map: what the agent expects, and what it would do, over two of the numbers that it sees.

All other numbers stay as they are. Where the two are the place of a body the map lies on the arena; else it is a small
plot. It is worked out in slices, a few hundred rows a frame, and anew while the agent learns.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from time import perf_counter
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ecs_rl.agents.base import output_of
from ecs_rl.arrays import F32, F64
from ecs_rl.scene.effects import Effect, Push, Thrust
from ecs_rl.viewer.view import Point
from ecs_rl.viewer.view_why import MapView
from ecs_rl.viewer.why import Why, best_of, fitting

if TYPE_CHECKING:
    from ecs_rl.spaces import ActionSpace
    from ecs_rl.viewer.live_episode import LiveEpisode
    from ecs_rl.world import AgentSlot

ACROSS, UP = 32, 20
"""Cells of a map."""
ROWS = 128
"""That are asked of the agent at once."""
EVERY = 0.25
"""Seconds between two maps, where nobody has changed what is asked."""
WEAKEST = 0.02
"""Share of the strongest push below which an action counts as pushing nowhere."""
ROOM = 1.25
"""By how much further than what was seen so far a small map reaches."""


class ValueMap:
    """The map of one show's watched agent; `view` is the newest whole one."""

    def __init__(self, show: LiveEpisode, why: Why) -> None:
        self.show, self.why = show, why
        self.view: MapView | None = None
        self.axes: tuple[int, int] | None = None
        """The numbers that are swept, across and up; None: those that are a place, else the first two."""
        self._work: Iterator[None] = iter(())
        self._slot = show.mind.watched[1]
        self._key: tuple[object, ...] = ()
        self._since = -math.inf

    def choose(self, number: int) -> None:
        """Sweep this number across, and up what went across so far."""
        across, up = self.chosen()
        if number != across:
            self.axes = (number, across)
            self._work = iter(())
        elif up != across:
            self.axes = (up, across)
            self._work = iter(())

    def chosen(self) -> tuple[int, int]:
        """Return the two numbers that are swept."""
        if self.axes is not None:
            return self.axes
        place = place_of(self.show.mind.watched[1])
        return (
            (place.across, place.up)
            if place is not None
            else (0, min(1, len(self.show.mind.plan.observation_names) - 1))
        )

    def look(self, bounds: tuple[Point, Point] | None, *, asks: int = 1) -> None:
        """Go on with the map, by so many batches; `bounds` is what the stage shows, metres."""
        if self.show.mind.watched[1] is not self._slot:
            self._slot, self.view, self.axes, self._work = self.show.mind.watched[1], None, None, iter(())
        key = (self.chosen(), tuple(self.why.turned.items()), bounds, id(self.show.mind.agent))
        if key != self._key:
            self._key, self._since, self._work = key, -math.inf, iter(())
        for _ in range(asks):
            if next(self._work, self) is self and perf_counter() - self._since >= EVERY:
                self._since, self._work = perf_counter(), self._draw(bounds)

    def _draw(self, bounds: tuple[Point, Point] | None) -> Iterator[None]:
        (seen, state), agent, slot = self.why.seen(), self.show.mind.agent, self.show.mind.watched[1]
        if agent is None:
            yield
            return
        i, j = self.chosen()
        names = slot.spec.observation_names
        place = place_of(slot)
        on_stage = place is not None and (i, j) == (place.across, place.up) and bounds is not None
        if on_stage and place is not None and bounds is not None:
            sweep, scales = bounds, (place.metre_across, place.metre_up)
        else:
            sweep, scales = self._reach(i, j), (1.0, 1.0)
        (x0, y0), (x1, y1) = sweep
        across, up = (np.linspace(a, b, n) for a, b, n in ((x0, x1, ACROSS), (y0, y1, UP)))
        rows = np.repeat(seen, ACROSS * UP, axis=0)
        rows[:, i] = np.tile(across * scales[0], UP)
        rows[:, j] = np.repeat(up * scales[1], ACROSS)
        values, does = np.zeros(len(rows)), list[F32]()
        remembered = fitting(state, agent)
        for first in range(0, len(rows), ROWS):
            part = rows[first : first + ROWS]
            output = output_of(agent, part, np.repeat(remembered, len(part), axis=0))
            if output is None:
                yield
                return
            values[first : first + len(part)] = output.value
            does.append(output.does)
            yield
        arrows = pushes(slot, self.show.mind.space, np.concatenate(does), self._angles(slot))
        here = (float(seen[0, i]) / scales[0], float(seen[0, j]) / scales[1])
        self.view = MapView(
            (names[i], names[j]), sweep, values.reshape(UP, ACROSS), arrows.reshape(UP, ACROSS, 2), here, on_stage
        )

    def _reach(self, i: int, j: int) -> tuple[Point, Point]:
        sees = self.show.mind.view().sees
        (low_x, high_x), (low_y, high_y) = ((ROOM * sees[n].low, ROOM * sees[n].high) for n in (i, j))
        return (low_x, low_y), (high_x, high_y)

    def _angles(self, slot: AgentSlot) -> list[float]:
        """Return the angle of each effect's body right now."""
        arena = self.show.arena
        return [float(np.ravel(effect.role.angle[arena])[0]) for effect in slot.spec.does.effects]


class Place(NamedTuple):
    """Which two numbers of an observation are the place of a body, and what a metre is in each."""

    across: int
    up: int
    metre_across: float
    metre_up: float


def place_of(slot: AgentSlot) -> Place | None:
    """Return which numbers of an observation are the place of a body, and what a metre is in each; None if none are."""
    columns: dict[tuple[str, str], tuple[int, float]] = {}
    number = 0
    for sensor in slot.spec.sees:
        if sensor.column is not None and sensor.column[1] in ("x", "y") and len(sensor.names) == 1:
            role, name = sensor.column
            columns.setdefault((role.name, name), (number, sensor.scale))
        number += len(sensor.names)
    driven = [effect.role.name for effect in slot.spec.does.effects]
    names = [*dict.fromkeys((*driven, *(role for role, _ in columns)))]
    for name in names:
        if (name, "x") in columns and (name, "y") in columns:
            (x, across), (y, up) = columns[name, "x"], columns[name, "y"]
            return Place(x, y, across, up)
    return None


def pushes(slot: AgentSlot, space: ActionSpace, does: F32, angles: list[float]) -> F64:
    """Return (rows, 2) where the best action of each row pushes: the strongest is 1 long, no other less than half."""
    effects, total = slot.spec.does.effects, np.zeros((len(does), 2))
    if not effects:
        return total
    best = np.stack([best_of(space, row) for row in does])
    amounts = np.zeros((len(effects), len(best)))
    lone = space.none(1).ndim == 1
    slot.spec.does.work(best[:, 0].astype(np.int64) if lone else best, amounts)
    for effect, amount, angle in zip(effects, amounts, angles, strict=True):
        total += amount[:, None] * direction(effect, angle)
    long = np.hypot(*total.T)[:, None]
    most = float(long.max(initial=0.0))
    if most <= 0.0:
        return total
    share = np.where(long > WEAKEST * most, 0.5 + 0.5 * long / most, 0.0)
    return np.asarray(total / np.maximum(long, 1e-12) * share)


def direction(effect: Effect, angle: float) -> F64:
    """Return the force of an effect at full strength, newtons in the arena's axes; none for what only turns."""
    if not isinstance(effect, (Push, Thrust)):
        return np.zeros(2)
    if isinstance(effect, Push):
        return np.array((effect.x, effect.y), np.float64)
    cos, sin = np.cos(angle), np.sin(angle)
    return np.array((cos * effect.x - sin * effect.y, sin * effect.x + cos * effect.y))
