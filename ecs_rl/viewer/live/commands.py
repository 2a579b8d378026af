"""Commands: everything a key or the mouse does to the window, as objects that a test can give too."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol

from ecs_rl.viewer.numbers import speed
from ecs_rl.viewer.view import Point

if TYPE_CHECKING:
    from ecs_rl.viewer.live.window import Window

SPEEDS = (*(2.0**power for power in range(-4, 7)), math.inf)
"""1/16 to 64 times real time, then as fast as it goes."""
Pixel = tuple[float, float]


class Command(Protocol):
    """One thing that a user does."""

    def do(self, window: Window) -> None:
        """Do it."""


# --- the stage's time -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Pause:
    """Stop the stage, or let it go on."""

    def do(self, window: Window) -> None:
        """Do it."""
        window.pause_stage(not window.show.paused)


@dataclass(frozen=True)
class Step:
    """Run one tick on the stage, which stops for it."""

    def do(self, window: Window) -> None:
        """Do it."""
        window.pause_stage(True)
        for show in window.shows:
            show.tick()


@dataclass(frozen=True)
class ChangeSpeed:
    """Play the stage so many steps of the scale faster or slower."""

    by: int

    def do(self, window: Window) -> None:
        """Do it."""
        nearest = min(range(len(SPEEDS)), key=lambda i: abs(math.log2(min(SPEEDS[i], 256) / min(window.speed, 256))))
        window.set_speed(SPEEDS[min(max(nearest + self.by, 0), len(SPEEDS) - 1)])
        window.say(f"speed {speed(window.speed)}")


@dataclass(frozen=True)
class RealTime:
    """Play the stage as fast as real things move."""

    def do(self, window: Window) -> None:
        """Do it."""
        window.set_speed(1.0)
        window.say("speed 1x")


# --- the stage's episode ----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class NewEpisode:
    """Begin the next episode."""

    def do(self, window: Window) -> None:
        """Do it."""
        if window.programme is not None:
            window.programme.go_on(window.shows)
            return
        for show in window.shows:
            show.new_episode()


@dataclass(frozen=True)
class SameSeed:
    """Begin the same episode again."""

    def do(self, window: Window) -> None:
        """Do it."""
        for show in window.shows:
            show.restart()
        window.say(f"{window.show.names[window.show.arena]} again")


@dataclass(frozen=True)
class PickArena:
    """Watch another arena: of the stage, or in the grid."""

    by: int

    def do(self, window: Window) -> None:
        """Do it."""
        if window.grid is not None:
            window.grid.pick((window.grid.selected + self.by) % window.grid.arenas)
            return
        for show in window.shows:
            show.go_to(show.arena + self.by)


@dataclass(frozen=True)
class ShowArena:
    """Bring the arena that is chosen in the grid to the stage, where it goes on from here."""

    def do(self, window: Window) -> None:
        """Do it."""
        window.show_chosen_arena()


@dataclass(frozen=True)
class ToggleGrid:
    """Look at all training arenas, or back at the stage."""

    def do(self, window: Window) -> None:
        """Do it."""
        window.toggle_grid()


# --- who plays --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class PickCheckpoint:
    """Let an earlier or a later policy play."""

    by: int

    def do(self, window: Window) -> None:
        """Do it."""
        window.turn_checkpoint(self.by)


@dataclass(frozen=True)
class ToggleSampling:
    """Take the best actions, or draw them as training does."""

    def do(self, window: Window) -> None:
        """Do it."""
        sampled = not window.show.sampled
        for show in window.shows:
            show.sample(sampled)
        window.say("actions are drawn at random, as in training" if sampled else "the best action every time")


# --- hands ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Poke:
    """Kick the chosen body, or any, in a random direction."""

    def do(self, window: Window) -> None:
        """Do it."""
        if window.grid is None:
            kicked = {show.poke(window.selected) for show in window.shows} - {""}
            if kicked:
                window.say(f"kicked {', '.join(sorted(kicked))}")


@dataclass(frozen=True)
class Grab:
    """Take hold of the body under the mouse."""

    at: Pixel

    def do(self, window: Window) -> None:
        """Do it."""
        window.grab(self.at)


@dataclass(frozen=True)
class Drag:
    """Move the hand that holds a body."""

    to: Pixel

    def do(self, window: Window) -> None:
        """Do it."""
        window.drag(self.to)


@dataclass(frozen=True)
class LetGo:
    """Let go of the body."""

    def do(self, window: Window) -> None:
        """Do it."""
        window.let_go()


@dataclass(frozen=True)
class Click:
    """Choose what is under the mouse: a body, whose components are shown, or an arena of the grid."""

    at: Pixel

    def do(self, window: Window) -> None:
        """Do it."""
        window.click(self.at)


# --- the camera -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Zoom:
    """Show all larger or smaller, what is at the cursor stays there."""

    factor: float
    at: Pixel

    def do(self, window: Window) -> None:
        """Do it."""
        window.zoom(self.factor, self.at)


@dataclass(frozen=True)
class Pan:
    """Move the picture by so many pixels."""

    by: Point

    def do(self, window: Window) -> None:
        """Do it."""
        window.pan(self.by)


@dataclass(frozen=True)
class ResetCamera:
    """Show the whole arena."""

    def do(self, window: Window) -> None:
        """Do it."""
        window.camera = None


# --- the training -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class PauseTraining:
    """Let the training rest, or go on."""

    def do(self, window: Window) -> None:
        """Do it."""
        if window.training_is_open():
            assert window.work is not None
            window.work.pause(not window.work.paused)


@dataclass(frozen=True)
class SaveCheckpoint:
    """Write a checkpoint now."""

    def do(self, window: Window) -> None:
        """Do it."""
        window.save_checkpoint()


@dataclass(frozen=True)
class EvaluateNow:
    """Hold an evaluation now."""

    def do(self, window: Window) -> None:
        """Do it."""
        window.evaluate()


@dataclass(frozen=True)
class ToggleTurbo:
    """Draw 4 frames a second, so that training is as fast as without a window."""

    def do(self, window: Window) -> None:
        """Do it."""
        if window.training_is_open():
            window.turbo = not window.turbo


# --- the window -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class TogglePanel:
    """Show or hide a panel."""

    panel: Literal["mind", "learning", "help", "profile"]

    def do(self, window: Window) -> None:
        """Do it."""
        if self.panel == "learning" and window.history is None:
            window.say("there is no run here whose learning could be shown", "warn")
            return
        window.panels ^= {self.panel}


@dataclass(frozen=True)
class ToggleFullScreen:
    """Fill the screen, or go back to a window."""

    def do(self, window: Window) -> None:
        """Do it."""
        window.display.toggle_full_screen()


@dataclass(frozen=True)
class ToggleRecording:
    """Begin or end a film of the window."""

    def do(self, window: Window) -> None:
        """Do it."""
        window.recorder.toggle(window)


@dataclass(frozen=True)
class Screenshot:
    """Write a picture of the window."""

    def do(self, window: Window) -> None:
        """Do it."""
        window.recorder.take_picture(window)


@dataclass(frozen=True)
class LeaveMode:
    """Leave whatever was opened last; never the program."""

    def do(self, window: Window) -> None:
        """Do it."""
        window.leave_mode()


@dataclass(frozen=True)
class Quit:
    """Save and close the window."""

    def do(self, window: Window) -> None:
        """Do it."""
        window.closing = True
