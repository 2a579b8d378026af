"""Why did it do that? What pulls on an action, what another input would change, and the value map."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from time import perf_counter
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ecs_rl.agents.base import output_of
from ecs_rl.agents.explain import pulls
from ecs_rl.arrays import F32, F64
from ecs_rl.scene.effects import Effect, Push, Thrust
from ecs_rl.spaces import TRIGGER, Continuous, Discrete, spans
from ecs_rl.viewer.ghosts import Ghosts
from ecs_rl.viewer.mind import options_of
from ecs_rl.viewer.regions import Sight
from ecs_rl.viewer.view import MapView, MindView, Point, WhyView

if TYPE_CHECKING:
    from ecs_rl.spaces import ActionSpace
    from ecs_rl.viewer.live_episode import LiveEpisode
    from ecs_rl.viewer.mind import Thought
    from ecs_rl.viewer.panel import App
    from ecs_rl.world import AgentSlot

FRESH = 0.5
"""Seconds after which a policy that goes on learning is asked again."""
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
BUDGET = 0.004
"""Seconds of a frame that ways not gone may take."""


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


class Questions:
    """What somebody wants to know of the show on the stage."""

    def __init__(self) -> None:
        self.asks_why = self.maps = False
        self._show: LiveEpisode | None = None
        self._why: Why | None = None
        self._map: ValueMap | None = None
        self._ghosts: Ghosts | None = None

    # --- keys -------------------------------------------------------------------------------------------------------

    def toggle_why(self, app: App) -> None:
        """Stop the stage and ask why, or leave it."""
        self.asks_why = not self.asks_why
        if not self.asks_why:
            self._forget()
            return
        if self._nobody(app):
            self.asks_why = False
            return
        app.open_panels |= {"mind"}
        app.stage.pause(True)
        app.say("why: drag what it sees, click what it does")

    def toggle_map(self, app: App) -> None:
        """Tint the stage by what the agent expects elsewhere, or leave it."""
        self.maps = not self.maps
        if not self.maps:
            _clear(app.show)
        elif self._nobody(app):
            self.maps = False
        else:
            app.say("what it expects there: click the name of what it sees for another axis")

    def _nobody(self, app: App) -> bool:
        """Return whether there is no agent to ask, and say so."""
        nobody = not app.stage.is_single or app.show.mind.agent is None
        if nobody:
            app.say("there is no one agent here to ask", "warn")
        return nobody

    def leave(self, app: App) -> None:
        """Leave one thing: what was turned, then the question."""
        if self._why is not None and self._why.turned:
            self._why.turned = {}
        elif self.asks_why:
            self.toggle_why(app)
        elif self.maps:
            self.toggle_map(app)

    def _forget(self) -> None:
        if self._why is not None:
            self._why.row, self._why.turned = None, {}

    def close(self) -> None:
        """Give the spare world back."""
        if self._ghosts is not None:
            self._ghosts.close()
        self._show = self._why = self._map = self._ghosts = None

    # --- what the mind asks -----------------------------------------------------------------------------------------

    def turn(self, number: int, value: float) -> None:
        """Let the agent see another number."""
        if self._why is not None:
            self._why.turn(number, value)

    def explain(self, row: int) -> None:
        """Explain this row of what the agent does."""
        if self._why is not None:
            self._why.explain(row)

    def choose_axis(self, number: int) -> None:
        """Let the value map go over this number that is seen."""
        if self._map is not None:
            self._map.choose(number)

    # --- frame by frame ---------------------------------------------------------------------------------------------

    def look(self, app: App) -> None:
        """Go on with what takes longer than a frame."""
        show = app.show
        _clear(show)
        if not app.stage.is_single or not (self.asks_why or self.maps):
            return
        if show is not self._show:
            self.close()
            self._show, self._why, self._ghosts = show, Why(show), Ghosts(show)
            self._map = ValueMap(show, self._why)
        assert self._map is not None
        assert self._ghosts is not None
        if self.asks_why and show.paused:
            self._ghosts.look(BUDGET)
            show.overlay.ghosts = self._ghosts.paths
        if self.maps:
            sight = app.reports.newest(Sight)
            self._map.look(None if sight is None else (sight.low, sight.high))
            show.overlay.map = self._map.view

    def mind(self, app: App, plain: MindView) -> MindView:
        """Return the mind with what pulls, if somebody asks."""
        asked = self.asks_why and self._why is not None and self._show is app.show
        return self._why.view() if asked and self._why is not None else plain


def _clear(show: LiveEpisode) -> None:
    """Take away what lies over a stage for somebody who asked."""
    show.overlay.map, show.overlay.ghosts = None, ()
