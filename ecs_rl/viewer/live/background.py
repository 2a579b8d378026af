"""The run behind a window and its training: a slice at a time between two frames, same bits as without a window.

The pace says how fast it may go. It depends on how long the arenas have lived, in their own time, never on the clock.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

from ecs_rl.errors import CommandError
from ecs_rl.runs.rows import Change
from ecs_rl.training.training import Training
from ecs_rl.viewer.history import History
from ecs_rl.viewer.live.playlist import CheckpointList
from ecs_rl.viewer.view import Tone

FLAT_OUT = "max"
PACES = {"slow": 0.25, "1x": 1.0, FLAT_OUT: math.inf}
"""How many times faster than real time each training arena lives."""
OPENS = "opens"
"""The pace that begins in real time and doubles."""
DOUBLES, WIDE_OPEN = 5.0, 6
"""Seconds of each arena's life after which the pace doubles, and how often it does before it is flat out."""
CATCHES_UP = 0.05
"""Seconds' worth of ticks that may be made up for at once, after a long update."""
Say = Callable[[str, Tone], None]
_OVER = object()


def times_real(pace: str, lived: float) -> float:
    """Return how many times faster than real time the arenas live, after so many seconds of each one's life."""
    if pace != OPENS:
        return PACES[pace]
    doubled = int(lived / DOUBLES)
    return 2.0**doubled if doubled < WIDE_OPEN else math.inf


class Pace:
    """Lets ticks begin, at a rate."""

    def __init__(self, name: str) -> None:
        self.name = name
        """`slow`, `1x`, `max` or `opens`."""
        self._credit = 1.0
        self._looked = perf_counter()

    def may_tick(self, rate: float) -> bool:
        """Return whether the next tick may begin now, at so many a second; if so it is counted."""
        now = perf_counter()
        passed, self._looked = now - self._looked, now
        if math.isinf(rate):
            return True
        self._credit = min(self._credit + passed * rate, max(1.0, rate * CATCHES_UP))
        if self._credit < 1.0:
            return False
        self._credit -= 1.0
        return True


class BackgroundTraining:
    """Runs a training in slices; what somebody asks for in between waits for the end of the tick."""

    def __init__(self, training: Training, after: Callable[[], None], pace: str = FLAT_OUT) -> None:
        self.training, self._after = training, after
        self.pace = Pace(pace)
        """How fast its ticks may begin."""
        self.turbo = False
        """It hurries, and the window draws seldom."""
        self.to_update = False
        """It goes on until the policy has been updated once, and rests then."""
        self.is_saved = False
        """The training is over, and all of it is on disk."""
        self._slices: Iterator[None] | None = None
        self._asked: list[Iterator[None]] = []
        self.paused = False
        """Whether it rests, but for what somebody asks for."""
        self._is_aside = False
        """Something that somebody asked for is under way."""
        self._idle_since: float | None = None

    def pause(self, rest: bool) -> None:
        """Rest, or go on; the time in between does not count as training."""
        self.paused, self.to_update = rest, False
        if not self._is_aside:
            self._idle(rest)

    def _idle(self, idle: bool) -> None:
        if idle and self._idle_since is None:
            self._idle_since = perf_counter()
        elif not idle and self._idle_since is not None:
            self.training.leave_out(perf_counter() - self._idle_since)
            self._idle_since = None

    def one_update(self) -> None:
        """Go on, flat out, until the policy has been updated once, and rest then."""
        self.pause(False)
        self.to_update = True

    @property
    def is_flat_out(self) -> bool:
        """Whether it trains as fast as it goes."""
        return self.busy and math.isinf(self.times_real)

    @property
    def times_real(self) -> float:
        """How many times faster than real time each training arena lives."""
        if self.pace.name == FLAT_OUT:
            return math.inf
        world = self.training.world
        return times_real(self.pace.name, self.training.session.total_steps / world.everywhere * world.scene.dt)

    def save(self, say: Say) -> None:
        """Write a checkpoint once the present tick is complete."""
        self._ask("save", self._save(say), say)

    def change(self, name: str, value: float, say: Say) -> None:
        """Change a setting once the present tick is complete."""
        together = self.training.together
        if together is None:
            self._asked.append(self._worker(self._change(name, value, say)))
            return
        together.changes.append(Change(0, name, value))
        together.answer = lambda answer: say(answer, "good")
        say(f"all processes set {name} to {value:g} when they meet", "good")

    def evaluate(self, say: Say) -> None:
        """Hold an evaluation once the present tick is complete."""
        self._ask("evaluate", self._evaluate(say), say)

    def _ask(self, wish: str, job: Iterator[None], say: Say) -> None:
        """Do a job between two ticks; several processes agree on it first, and do it all at once."""
        together = self.training.together
        if together is None:
            self._asked.append(self._worker(job))
            return
        together.asked += [] if wish in together.asked else [wish]
        together.answer = lambda answer: say(answer, "good")
        say(f"all processes {wish} when they meet", "good")

    @property
    def busy(self) -> bool:
        """Whether there is anything to do."""
        return bool(self._asked) or self._is_aside or not (self.paused or self.is_saved)

    def run(self, until: float) -> None:
        """Work until the clock shows this moment, or there is nothing to do, or the pace allows no tick yet."""
        while self.busy and perf_counter() < until:
            if self._waits():
                self._idle(True)
                return
            if not self.paused:
                self._idle(False)
            self._slice()

    def _waits(self) -> bool:
        """Return whether the next tick is not due yet."""
        if self.pace.name == FLAT_OUT or self._slices is not None or self._asked or self.to_update:
            return False
        return not self.training.done and not self.pace.may_tick(self.times_real / self.training.world.scene.dt)

    def finish_tick(self) -> None:
        """Bring the present tick, or what else is under way, to its end, or to where a stop may leave it."""
        self._asked.clear()
        self.pause(False)
        while self._slices is not None:
            self._slice()

    def save_all(self) -> None:
        """End the training after the present tick, and bring all of it to disk."""
        self.finish_tick()
        while self.training.together is not None and not self.training.done:  # all agree on it when they meet
            self.training.tick()
        for _ in self._end():
            pass

    def _slice(self) -> None:
        if self._slices is None:
            self._slices = self._next()
        if next(self._slices, _OVER) is _OVER:
            self._slices = None

    def _next(self) -> Iterator[None]:
        if self._asked:
            return self._asked.pop(0)
        return self._end() if self.training.done else self._tick()

    def _tick(self) -> Iterator[None]:
        updates = self.training.updates if self.to_update else None
        yield from self.training.slices()
        self._after()
        if self.to_update and updates is not None and self.training.updates > updates:
            self.pause(True)

    def _end(self) -> Iterator[None]:
        yield from self.training.finishing()
        self.is_saved = True

    def _worker(self, job: Iterator[None]) -> Iterator[None]:
        """Do what was asked for, also in the middle of a pause, which then goes on unless somebody ended it."""
        self._is_aside = True
        self._idle(False)
        yield from job
        self._is_aside = False
        self._idle(self.paused)

    def _save(self, say: Say) -> Iterator[None]:
        session = self.training.session
        path = session.save_checkpoint()
        yield from session.written()
        text = f"{path.name} is written: the newest {session.keep_checkpoints} stay" if path else ""
        say(text or "there is no run to write to", "good" if path else "warn")
        yield

    def _change(self, name: str, value: float, say: Say) -> Iterator[None]:
        try:
            self.training.change(name, value)
            say(f"{name} is {value:g} from step {self.training.session.total_steps:,} on", "good")
        except CommandError as error:
            say(str(error), "warn")
        yield

    def _evaluate(self, say: Say) -> Iterator[None]:
        session, evaluation = self.training.session, self.training.evaluation
        if evaluation.taken_at == session.total_steps:
            say("this very step is evaluated already", "warn")
            return
        best = session.best_eval
        yield from self.training.evaluate()
        if evaluation.last is not None:
            say(f"evaluation: {evaluation.last:.1f}{', the best so far' if session.best_eval != best else ''}", "good")


@dataclass
class WatchedRun:
    """A run's files, and the training that writes them if it goes on now."""

    folder: Path
    """Where films, pictures and episodes go."""
    name: str = ""
    """`""` without a run."""
    background: BackgroundTraining | None = None
    checkpoints: CheckpointList | None = None
    history: History | None = None

    @property
    def in_turbo(self) -> bool:
        """Whether its training hurries, and the window draws seldom."""
        return self.background is not None and self.background.turbo

    @property
    def untrained(self) -> Path | None:
        """The file of the policy before it had learned anything, if the run has it."""
        return None if self.checkpoints is None else self.checkpoints.untrained
