"""How the stage plays: pause, speed, episodes and arenas, and a kick."""

from __future__ import annotations

import math
from collections.abc import Iterable

import pygame

from ecs_rl.viewer.live_episode import KICK
from ecs_rl.viewer.number_formats import speed
from ecs_rl.viewer.palette import WARN
from ecs_rl.viewer.panel import App, Chip, Command, Control

SPEEDS = (*(2.0**power for power in range(-4, 7)), math.inf)
"""1/16 to 64 times real time, then as fast as it goes."""
ARROWS = "→↗↑↖←↙↓↘"


def usual_hints(*, trains: bool, paused: bool, choice: bool, leads_back: str = "") -> tuple[tuple[str, str], ...]:
    """Return the keys that matter most to somebody who watches."""
    first = (("Space", "go on"), ("Left Right", "one tick")) if paused else (("Space", "pause"),)
    which = ((leads_back, "back"),) if leads_back else ((", .", "checkpoint"),) if choice else ()
    last = (("G", "all arenas"), ("U", "turbo")) if trains else (("R", "again"), ("Backspace", "next"))
    return (("F1", "help"), *first, ("- =", "speed"), *which, ("P", "poke"), ("Drag", "pull"), *last)


class Playing(Control):
    """Stops every show or lets it go on, and chooses what it plays."""

    name = "playing"

    def is_on(self, app: App) -> bool:
        """Return whether the stage is paused."""
        return app.show.paused

    def chips(self, app: App) -> Iterable[Chip]:
        """Return the chip of a paused stage."""
        return [Chip("PAUSED", "Space", WARN, rank=0)] if app.show.paused else []

    def leave(self, app: App) -> None:
        """Let the stage go on."""
        app.stage.pause(False)

    def mode_hints(self, app: App) -> tuple[tuple[str, str], ...]:
        """Return the keys that matter most where no mode has hints of its own."""
        choice = app.run.checkpoints is not None and len(app.stage.shows) == 1
        leads_back = "" if app.stage.aside is None else app.stage.aside.key
        return usual_hints(
            trains=app.run.background is not None, paused=app.show.paused, choice=choice, leads_back=leads_back
        )

    def change_speed(self, app: App, by: int) -> None:
        """Play so many steps of the scale faster or slower."""
        now = min(app.show.speed, 256)
        nearest = min(range(len(SPEEDS)), key=lambda i: abs(math.log2(min(SPEEDS[i], 256) / now)))
        self.set_speed(app, SPEEDS[min(max(nearest + by, 0), len(SPEEDS) - 1)])

    def set_speed(self, app: App, times: float) -> None:
        """Play at this speed, and say so."""
        app.stage.set_speed(times)
        app.say(f"speed {speed(times)}")

    def restart(self, app: App) -> None:
        """Play the same episode again."""
        for show in app.stage.shows:
            show.restart()
        if app.stage.playlist is not None:
            app.stage.playlist.wait()
        app.say(f"{app.show.names[app.show.arena]} again")

    def pick_arena(self, app: App, by: int) -> None:
        """Go to another arena of the stage, or choose another one of the grid."""
        if app.stage.grid is not None:
            app.stage.grid.selected = (app.stage.grid.selected + by) % app.stage.grid.arenas
            return
        for show in app.stage.shows:
            show.go_to(show.arena + by)

    def poke(self, app: App) -> None:
        """Kick a body in a random direction."""
        if app.stage.grid is not None:
            return
        kicked = [(name, show.hand.kick) for show in app.stage.shows if (name := show.poke(app.stage.selected))]
        texts = {f"{name} {ARROWS[round(math.atan2(vy, vx) / (math.pi / 4)) % 8]}" for name, (vx, vy, _) in kicked}
        if texts:
            app.say(f"kicked {', '.join(sorted(texts))} by {KICK:g} m/s")

    def look(self, app: App, seconds: float) -> None:
        """Give the next episode its turn."""
        if app.stage.playlist is None or app.stage.aside is not None:
            for show in app.stage.shows:
                show.ended.clear()
            return
        app.stage.playlist.look(app.stage.shows)
        if app.stage.playlist.begins_again:
            app.stage.playlist.begins_again = False
            app.say(f"all {app.stage.playlist.episodes} episodes have been played: they begin again", "good")

    def view(self, app: App) -> None:
        """Let each show say where the playlist is; there is nothing to paint."""
        if app.stage.playlist is not None and app.stage.aside is None:
            for number, show in enumerate(app.stage.shows):
                show.note = app.stage.playlist.note(number, app.stage.shows)

    # fmt: off
    keys = (
        Command("Stage", "Space", "pause", "pause and go on",
                lambda _, app: app.stage.pause(not app.show.paused), (pygame.K_SPACE,)),
        Command("Stage", "-", "slower", "slower, faster: 1/16x to 64x, max",
                lambda it, app: it.change_speed(app, -1), (pygame.K_KP_MINUS,), "-"),
        Command("Stage", "=", "faster", "", lambda it, app: it.change_speed(app, +1), (pygame.K_KP_PLUS,), "=+"),
        Command("Stage", "0", "real time", "real time", lambda it, app: it.set_speed(app, 1.0), (pygame.K_KP0,), "0"),
        Command("Stage", "Backspace", "new episode", "new episode",
                lambda _, app: app.stage.new_episode(), (pygame.K_BACKSPACE,)),
        Command("Stage", "R", "same seed", "same seed again", restart, (pygame.K_r,)),
        Command("Stage", "[", "previous arena", "another arena", lambda it, app: it.pick_arena(app, -1), (), "["),
        Command("Stage", "]", "next arena", "", lambda it, app: it.pick_arena(app, +1), (), "]"),
        Command("Hands", "P", "poke", "poke: a random kick", poke, (pygame.K_p,)),
    )
    # fmt: on
