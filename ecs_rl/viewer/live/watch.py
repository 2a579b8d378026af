"""What `train.py --watch` and `play.py` open, and its loop: sixty looks a second, the rest trains."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from time import perf_counter

from ecs_rl.console import tell
from ecs_rl.errors import ActionError, CheckpointError, DivergedError, EcsRlError, StorageError
from ecs_rl.garbage import small_collections
from ecs_rl.runs.layout import run_directories
from ecs_rl.runs.metadata import read_metadata
from ecs_rl.scene.scene import Scene
from ecs_rl.training.evaluator import AT_ONCE
from ecs_rl.training.training import Training
from ecs_rl.viewer.history import History
from ecs_rl.viewer.live.background import FLAT_OUT, OPENS, BackgroundTraining, WatchedRun
from ecs_rl.viewer.live.hands import Hands
from ecs_rl.viewer.live.playlist import NEWEST, CheckpointList, Playlist
from ecs_rl.viewer.live.screen_process import AnyScreen
from ecs_rl.viewer.live.window import SPOKEN, Window
from ecs_rl.viewer.live_episode import LiveEpisode
from ecs_rl.viewer.mistakes import DisplayLost, Mistakes
from ecs_rl.viewer.panels.tour import begin_for_the_first_time

EPISODES = 8
"""How many of the evaluation's episodes the stage has at hand: all of them are played, and only one is seen."""
PATIENCE = 30.0
"""Seconds after which a window whose work is done closes, unless somebody is there."""
FRAME = 1 / 60
"""Seconds between two frames."""
TURBO_FRAME, TURBO_LOOK = 1 / 4, 1 / 30
"""Seconds between two frames in turbo, and between two looks at the keyboard."""
WHILE_TRAINING, IN_TURBO, ALONE = 0.25, 0.01, 0.7
"""Share of a frame that the stage may take: with a training behind it, with one in turbo, and without."""
LEAST = 0.5
"""Share of a frame's time that the training gets in any case, however long a slow screen takes to draw."""
WITHOUT = ": training goes on without it"
LONGEST = 0.25
"""Seconds of real time that a single frame can stand for."""


class Leaving:
    """Closes a window that has nothing more to do: at once where nobody can see it, never in front of a viewer.

    There is a viewer if the command was typed at a terminal, or somebody has touched the window at any time. Otherwise
    it counts down for all to see.
    """

    def __init__(self, window: Window, *, attended: bool) -> None:
        self.window, self.attended = window, attended
        self._opened, self._since = window.touched_at, math.inf
        self._told = ""

    def is_due(self, why: str) -> bool:
        """Return whether to close now; until then say why, and how to close it or how to stay."""
        window, now = self.window, perf_counter()
        if not self.attended:
            return True
        self._since = min(self._since, now)
        left = math.ceil(self._since + PATIENCE - now)
        stays = window.touched_at > self._opened or (sys.stdout is not None and sys.stdout.isatty())
        message = f"{why}: Ctrl+Q closes the window" if stays else f"{why}: closing in {left} s, any key keeps it open"
        if message != self._told and (stays or left > 0):
            self._told = message
            window.say(message, "good")
        return not stays and left <= 0


@dataclass(frozen=True)
class WatchWindow:
    """What stands before a training: a screen, and the show on it."""

    screen: AnyScreen
    show: LiveEpisode
    pace: str = FLAT_OUT
    says: str = ""
    """What the window says as it opens."""

    @classmethod
    def open(cls, training: Training, screen: AnyScreen, *, pace: str = FLAT_OUT) -> WatchWindow:
        """Open a window for a training, which goes at this `pace`; what the scene cannot show is refused now.

        Without one, '', it begins in real time and opens up, if anybody can see it.
        """
        seeds = training.evaluation.seeds[:EPISODES]
        pace = pace or (OPENS if screen.seen else FLAT_OUT)
        show = LiveEpisode(training.world.scene, training.agents, seeds=seeds, label=NEWEST)
        return cls(screen, show, pace)

    def window(self, training: Training, run: Path, after_tick: Callable[[], None]) -> Window:
        """Return the window in which the training runs."""
        history = history_of(run, training.world.scene, training.steps_total, before=run_before(run))
        training.metrics_schedule.fresh = history.new
        training.evaluator.make_ready(training.evaluation.seeds[:AT_ONCE])
        history.waiting = "numbers come once the first episodes end"
        background = BackgroundTraining(training, after_tick, self.pace)
        checkpoints = CheckpointList(run, training.agents)
        watched = WatchedRun(run, "/".join(run.parts[-2:]), background, checkpoints, history)
        return Window(self.screen, [self.show], watched)

    def close(self) -> None:
        """Take the window away."""
        self.show.close()
        self.screen.close()


def history_of(run: Path, scene: Scene, steps_total: int | None = None, *, before: Path | None = None) -> History:
    """Return how the training of a run of this scene went, and how that of the run `before` it did."""
    agents = scene.describe().agents
    bodies = {agent.name: agent.of or next((effect.role for effect in agent.does.effects), None) for agent in agents}
    colours = {name: body.colour for name, body in bodies.items() if body is not None and body.colour is not None}
    like = partial(History, solved_at=scene.solved_at, score=scene.score, agents=tuple(bodies))
    ghost = None if before is None else like(before)
    return like(run, steps_total=steps_total, colours=colours if len(agents) > 1 else {}, before=ghost)


def run_before(run: Path) -> Path | None:
    """Return the newest run of the same scene that began before this one, None if there is none."""
    with suppress(CheckpointError, StorageError):
        scene = read_metadata(run).scene
        for path in run_directories(run.parents[2])[0]:
            with suppress(CheckpointError):
                known = read_metadata(path) if path.name < run.name else None
                if known is not None and known.scene == scene and known.total_steps:
                    return path
    return None


def watch_training(
    opened: WatchWindow, training: Training, run: Path, *, after_tick: Callable[[], None], attended: bool
) -> None:
    """Show a training while it runs, until it is over or the window is closed; a window that dies leaves it running.

    Whoever called goes on with it then, from the end of the present tick. The display stays open where another
    training may go on in it: after a reload, and where this one raises.
    """
    window = Mistakes().attempt("the window", lambda: opened.window(training, run, after_tick), None)
    if window is None:
        tell(f"train.py: the window cannot be opened{WITHOUT}", sys.stderr)
        opened.close()
        return
    work = window.run.background
    assert work is not None
    if attended and opened.screen.seen:
        window.mistakes.attempt("tour", lambda: begin_for_the_first_time(partial(window.do, "tour")), None)
    leaving, loop = Leaving(window, attended=attended and opened.screen.seen), Loop(window)

    def over() -> bool:
        if training.stop:
            return True
        if loop.broken is not None:
            return leaving.is_due("training diverged")
        return work.is_saved and leaving.is_due("solved" if training.solved else "training is done")

    failed = False
    if opened.says:
        window.say(opened.says, "warn", seconds=SPOKEN + PATIENCE)
    try:
        loop.run(over)
        if loop.broken is not None:
            raise loop.broken
        if not work.is_saved:
            training.stop = training.stop or "the window was closed"
            work.save_all()  # before the window goes: whatever that brings with it, nothing is lost
    except DisplayLost as lost:
        suffix = "" if work.is_saved else WITHOUT
        tell(f"train.py: the window is gone ({lost}){suffix}", sys.stderr)
    except BaseException:
        failed = True
        raise
    finally:
        window.close()
        training.metrics_schedule.fresh = None
        opened.show.close()
        if not (training.reloads or training.again or failed):
            opened.screen.close()
    work.finish_tick()


def watch_play(
    shows: Sequence[LiveEpisode],
    screen: AnyScreen,
    folder: Path,
    playlist: Playlist,
    checkpoints: CheckpointList | None,
    *,
    attended: bool,
    hands: Hands | None = None,
) -> None:
    """Play the playlist in a window until it is closed, with a person at the controls if there are `hands`."""
    history = None if checkpoints is None else history_of(checkpoints.run, shows[0].scene)
    name = "pilot" if checkpoints is None else "/".join(folder.parts[-2:])
    watched = WatchedRun(folder, name, checkpoints=checkpoints, history=history)
    window = Window(screen, shows, watched, playlist=playlist)
    window.stage.hands = hands
    if attended and screen.seen and hands is None:
        begin_for_the_first_time(partial(window.do, "tour"))
    leaving = Leaving(window, attended=attended and screen.seen)
    try:
        Loop(window).run(lambda: playlist.is_over and leaving.is_due("every episode had its turn"))
    except KeyboardInterrupt:
        window.closing = True  # as the close box does: what was played is told
    except DisplayLost as lost:
        tell(f"play.py: the window is gone ({lost})", sys.stderr)
    finally:
        window.close()


class Loop:
    """Runs a window until it is closed, or somebody else has had enough."""

    def __init__(self, window: Window) -> None:
        self.window = window
        self.parts: dict[str, float] = {}
        self.frames = 0
        self.broken: DivergedError | ActionError | None = None
        """Why the training cannot go on; the window stays for a while to say so."""
        self.drawn_at = self._marked = self._next = perf_counter()

    def run(self, over: Callable[[], bool]) -> None:
        """Go on until it is over."""
        with small_collections():
            while not (self.window.closing or over()):
                self.frame()

    def frame(self) -> None:
        """Answer the user, draw if it is time to, and let the training have the rest."""
        self._marked = perf_counter()
        try:
            self._look()
        except DisplayLost:
            raise
        except Exception as error:  # a mistake of the window's own must not take the training along
            if self.window.run.background is None:
                raise
            if not isinstance(error, EcsRlError):
                self.window.mistakes.note("the window", error)
            raise DisplayLost(str(error)) from error
        work = self.window.run.background
        least = LEAST if work is not None and work.busy else 0.0
        pause = TURBO_LOOK if self.window.run.in_turbo else FRAME
        self._next = max(self._next + pause, self._marked + least * pause)
        self._work(self._next)

    def _look(self) -> None:
        window = self.window
        window.answer()
        if window.run.history is not None:
            window.run.history.read()  # also while nothing is drawn: what is new does not pile up
        self._mark("events")
        due = window.stale or not window.run.in_turbo or self._marked - self.drawn_at >= TURBO_FRAME * 0.9
        if due and window.screen.ready and not window.screen.is_minimised:
            self._draw()

    def _draw(self) -> None:
        window, work = self.window, self.window.run.background
        passed = min(self._marked - self.drawn_at, LONGEST)
        self.drawn_at = self._marked
        frame, busy = (TURBO_FRAME, IN_TURBO) if window.run.in_turbo else (FRAME, WHILE_TRAINING)
        window.advance(passed, frame * (busy if work is not None and work.busy else ALONE))
        self._mark("stage")
        window.draw(self._next)
        self._mark("draw")
        self.frames += 1
        window.frame_parts, self.parts = self.parts, {}

    def _work(self, until: float) -> None:
        work = self.window.run.background
        if work is not None and self.broken is None:
            try:
                work.run(until)
            except (DivergedError, ActionError) as error:
                self.broken = error
                self.window.say(f"training diverged: {error}", "bad", seconds=SPOKEN + PATIENCE)
            self._mark("train")
        rest = until - perf_counter()
        if rest > 0:
            time.sleep(rest)
        self._mark("idle")

    def _mark(self, part: str) -> None:
        """Count the time since the last mark to a part of the frame."""
        now = perf_counter()
        self.parts[part] = self.parts.get(part, 0.0) + now - self._marked
        self._marked = now
