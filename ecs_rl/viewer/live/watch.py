"""What `train.py --watch` and `play.py` open."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

from ecs_rl.commands.pipes import tell
from ecs_rl.training.prepare import Training
from ecs_rl.viewer.history import History
from ecs_rl.viewer.live.background import BackgroundTraining
from ecs_rl.viewer.live.checkpoint_list import NEWEST, CheckpointList
from ecs_rl.viewer.live.display import Display, DisplayLost
from ecs_rl.viewer.live.loop import Loop
from ecs_rl.viewer.live.playlist import Playlist
from ecs_rl.viewer.live.window import Window
from ecs_rl.viewer.live_episode import LiveEpisode

EPISODES = 8
"""How many of the evaluation's episodes the stage has at hand: all of them are played, and only one is seen."""
PATIENCE = 30.0
"""Seconds after which a window whose work is done closes, unless somebody is there."""


class Leaving:
    """Closes a window that has nothing more to do: at once where nobody can see it, else when nobody touches it."""

    def __init__(self, window: Window, *, attended: bool) -> None:
        self.window, self.attended = window, attended
        self._since: float | None = None
        self._stays = False

    def is_due(self, why: str) -> bool:
        """Return whether to close now; the first time it says why, and how to stay."""
        window, now = self.window, perf_counter()
        if not self.attended:
            return True
        if self._since is None:
            self._since = now
            window.say(f"{why}: the window closes in {PATIENCE:.0f} s, any key keeps it open", "good")
        if not self._stays and window.touched_at > self._since:
            self._stays = True
            window.say("the window stays open: Ctrl+Q closes it")
        return not self._stays and now - self._since > PATIENCE


@dataclass(frozen=True)
class WatchWindow:
    """What stands before a training: a display, and the show on it."""

    display: Display
    show: LiveEpisode

    @classmethod
    def open(cls, training: Training, size: tuple[int, int] | None = None) -> WatchWindow:
        """Open a window for a training; what the scene cannot show is refused now."""
        scene = training.world.scene
        display = Display(f"{scene.name} - ecs_rl", size)
        try:
            seeds = training.evaluation.seeds[:EPISODES]
            return cls(display, LiveEpisode(scene, training.agents, seeds=seeds, label=NEWEST))
        except BaseException:
            display.close()
            raise

    def window(self, training: Training, run: Path, after_tick: Callable[[], None]) -> Window:
        """Return the window in which the training runs."""
        history = History(run, solved_at=training.evaluation.solved_at, steps_total=training.steps_total)
        training.metrics_schedule.listeners.append(history.new.append)
        return Window(
            self.display,
            [self.show],
            folder=run,
            run="/".join(run.parts[-2:]),
            background=BackgroundTraining(training, after_tick),
            checkpoints=CheckpointList(run, training.agents),
            history=history,
        )

    def close(self) -> None:
        """Take the window away."""
        self.show.close()
        self.display.close()


def watch_training(
    opened: WatchWindow, training: Training, run: Path, *, after_tick: Callable[[], None], attended: bool
) -> None:
    """Show a training while it runs, until it is over or the window is closed; a window that dies leaves it running.

    Whoever called goes on with it then, from the end of the present tick.
    """
    window = opened.window(training, run, after_tick)
    work = window.background
    assert work is not None
    leaving = Leaving(window, attended=attended and opened.display.seen)

    def over() -> bool:
        if training.stop:
            return True
        return work.is_saved and leaving.is_due("solved" if training.solved else "training is done")

    try:
        Loop(window).run(over)
        if not work.is_saved:
            training.stop = training.stop or "the window was closed"
            work.save_all()  # before the window goes: whatever that brings with it, nothing is lost
    except DisplayLost as lost:
        told = "" if work.is_saved else ": training goes on without it"
        tell(f"train.py: the window is gone ({lost}){told}", sys.stderr)
    finally:
        window.recorder.end(window)
        training.metrics_schedule.listeners.clear()
        opened.close()
    work.finish_tick()


def watch_play(
    shows: Sequence[LiveEpisode],
    display: Display,
    folder: Path,
    playlist: Playlist,
    checkpoints: CheckpointList | None,
    *,
    attended: bool,
) -> None:
    """Play the playlist in a window until it is closed."""
    history = None if checkpoints is None else History(checkpoints.run, solved_at=shows[0].scene.solved_at)
    name = "/".join(folder.parts[-2:])
    window = Window(
        display, shows, folder=folder, run=name, checkpoints=checkpoints, history=history, playlist=playlist
    )
    leaving = Leaving(window, attended=attended and display.seen)
    try:
        Loop(window).run(lambda: playlist.is_over and leaving.is_due("every episode had its turn"))
    except KeyboardInterrupt:
        window.closing = True  # as the close box does: what was played is told
    except DisplayLost as lost:
        tell(f"play.py: the window is gone ({lost})", sys.stderr)
    finally:
        window.recorder.end(window)
