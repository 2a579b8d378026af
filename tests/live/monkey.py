"""A monkey at the keyboard and the mouse of a window: seeded events of every kind, in any order and place."""

from __future__ import annotations

import random
import sys
from collections.abc import Callable, Iterator
from types import SimpleNamespace

import pygame
import pytest
from live_windows import Script, Scripted, down, key_event, moved, post, up

from ecs_rl.viewer.live import watch
from ecs_rl.viewer.live.commands import COMMANDS
from ecs_rl.viewer.live.screen import Screen
from ecs_rl.viewer.live.window import Window
from ecs_rl.viewer.panel import CTRL

RARE = {
    "record": 0.15,
    "card": 0.15,
    "picture": 0.1,
    "save": 0.1,
    "evaluate": 0.1,
    "keep episode": 0.3,
    "full screen": 0.2,
}
"""How often a key that writes files or takes long is pressed, times the others."""
NEVER = ("quit",)
SIZES = ((1280, 720), (1280, 720), (1920, 1080), (900, 600), (640, 400), (320, 240), (90, 60))
FRAMES = (1 / 60, 1 / 60, 1 / 60, 0.25, 1.5)
"""Seconds that a frame may take."""
DRIVES = tuple(getattr(pygame, f"K_{name}") for name in ("LEFT", "RIGHT", "UP", "DOWN", "SPACE", "a", "d", "w", "s"))
OF_WINDOW = (
    *(pygame.WINDOWFOCUSLOST, pygame.WINDOWMINIMIZED, pygame.WINDOWRESTORED, pygame.WINDOWEXPOSED),
    pygame.WINDOWRESTORED,
)


class Ticking:
    """A clock that goes on a little each time somebody looks at it: the same events meet the same moments."""

    def __init__(self, step: float = 5e-6) -> None:
        self.now, self.step = 1000.0, step

    def __call__(self) -> float:
        self.now += self.step
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += max(0.0, seconds)


class Monkey:
    """Chooses events by a seed, for whatever stands in the window."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.log: list[str] = []
        """What it has done, for whoever looks for a mistake."""
        rows = [row for row in COMMANDS if (row.codes or row.characters) and row.name not in NEVER]
        self._rows, self._weights = rows, [RARE.get(row.name, 1.0) for row in rows]

    def events(self, window: Window) -> list[pygame.event.Event]:
        """Return the next events, one or two of them."""
        kinds: tuple[tuple[Callable[[Window], list[pygame.event.Event]], float], ...] = (
            (self._key, 5.0),
            (self._drive, 1.0),
            (self._any_key, 0.2),
            (self._press, 2.5),
            (self._release, 1.5),
            (self._move, 3.0),
            (self._click, 2.0),
            (self._wheel, 0.5),
            (self._resize, 0.15),
            (self._of_window, 0.1),
            (self._pad, 0.1),
        )
        (choose,) = self.chance.choices([kind for kind, _ in kinds], [weight for _, weight in kinds])
        found = choose(window)
        self.log += [f"{pygame.event.event_name(event.type)} {event.dict}" for event in found]
        return found

    # --- keys -------------------------------------------------------------------------------------------------------

    def _key(self, window: Window) -> list[pygame.event.Event]:
        (row,) = self.chance.choices(self._rows, self._weights)
        mod = pygame.KMOD_LCTRL if row.key.startswith("Ctrl+") else 0
        code = row.codes[0] if row.codes else ord(row.characters[0])
        self.log.append(row.name)
        return self._pressed(code, "" if mod else row.characters[:1], mod)

    def _drive(self, window: Window) -> list[pygame.event.Event]:
        return self._pressed(self.chance.choice(DRIVES))

    def _any_key(self, window: Window) -> list[pygame.event.Event]:
        event = key_event(self.chance.randrange(1, 200), self.chance.choice("xyz#1 \t"), 0)
        return [event] if not (event.key == pygame.K_q and event.mod & CTRL) else []

    def _pressed(self, code: int, text: str = "", mod: int = 0) -> list[pygame.event.Event]:
        """Return a key that is pressed, and most often let go."""
        found = [key_event(code, text, mod)]
        if self.chance.random() < 0.85:
            found.append(pygame.event.Event(pygame.KEYUP, key=code, mod=mod, unicode="", scancode=0))
        return found

    # --- mouse ------------------------------------------------------------------------------------------------------

    def _spot(self, window: Window) -> tuple[int, int]:
        """Return a pixel: of a body, of a panel's room or one of its parts, of the whole window or beside it."""
        assert isinstance(window.screen, Screen)
        painter, chance = window.screen.painter, self.chance
        wide, high = window.screen.size
        if chance.random() < 0.25:
            found = self._body(window)
            if found is not None:
                return found
        rooms = [] if painter.newest is None else [painter.newest.stage, *painter.newest.rooms.values()]
        if rooms and chance.random() < 0.4:
            rooms = [region.rect for region in painter.canvas.regions()] or rooms
        area = chance.choice(rooms or [pygame.Rect(0, 0, wide, high)])
        if chance.random() < 0.1:
            area = pygame.Rect(-20, -20, wide + 40, high + 40)
        return chance.randint(area.x, max(area.x, area.right)), chance.randint(area.y, max(area.y, area.bottom))

    def _body(self, window: Window) -> tuple[int, int] | None:
        """Return a pixel where a thing stands on the stage."""
        assert isinstance(window.screen, Screen)
        stages = [region for region in window.screen.painter.canvas.regions() if region.part == "stage"]
        if not stages or "stage" not in window.views:
            return None
        region = self.chance.choice(sorted(stages, key=lambda each: each.index))
        stage = window.views["stage"].panes[region.index].stage
        if not stage.objects or region.camera is None:
            return None
        objects = self.chance.choice(stage.objects)
        if not len(objects.position):
            return None
        x, y = region.camera.onto(stage.focus).pixel(self.chance.choice(objects.position.tolist()))
        if not (abs(x) < 1e5 and abs(y) < 1e5):
            return None
        return round(x + region.rect.x), round(y + region.rect.y)

    def _press(self, window: Window) -> list[pygame.event.Event]:
        return [down(self._spot(window), 1 if self.chance.random() < 0.85 else 3)]

    def _release(self, window: Window) -> list[pygame.event.Event]:
        return [up(self._spot(window), 1 if self.chance.random() < 0.85 else 3)]

    def _move(self, window: Window) -> list[pygame.event.Event]:
        x, y = map(round, window.pointed.hit.at)
        by = (self.chance.randint(-30, 30), self.chance.randint(-30, 30))
        to = self._spot(window) if self.chance.random() < 0.5 else (x + by[0], y + by[1])
        return [moved(to, by)]

    def _click(self, window: Window) -> list[pygame.event.Event]:
        at = self._spot(window)
        return [down(at), up(at)]

    def _wheel(self, window: Window) -> list[pygame.event.Event]:
        notches = self.chance.choice((-8, -1, 1, 3))
        return [pygame.event.Event(pygame.MOUSEWHEEL, x=0, y=notches, precise_x=0.0, precise_y=float(notches))]

    # --- the window and pads ----------------------------------------------------------------------------------------

    def _resize(self, window: Window) -> list[pygame.event.Event]:
        size = self.chance.choice(SIZES)
        pygame.display.set_mode(size, pygame.RESIZABLE)
        return [pygame.event.Event(pygame.WINDOWRESIZED, x=size[0], y=size[1], window=None)]

    def _of_window(self, window: Window) -> list[pygame.event.Event]:
        return [pygame.event.Event(self.chance.choice(OF_WINDOW), window=None)]

    def _pad(self, window: Window) -> list[pygame.event.Event]:
        axis, button = self.chance.randrange(7), self.chance.randrange(17)
        return [
            self.chance.choice(
                (
                    pygame.event.Event(pygame.JOYAXISMOTION, axis=axis, value=self.chance.uniform(-1.0, 1.0)),
                    pygame.event.Event(pygame.JOYHATMOTION, hat=0, value=self.chance.choice(((0, 0), (1, 0), (0, -1)))),
                    pygame.event.Event(pygame.JOYBUTTONDOWN, button=button),
                    pygame.event.Event(pygame.JOYBUTTONUP, button=button),
                )
            )
        ]


def hold_clocks(patch: pytest.MonkeyPatch) -> Ticking:
    """Let every module of the viewer read one clock that only its readers move."""
    clock = Ticking()
    for name, module in list(sys.modules.items()):
        if name.startswith("ecs_rl.viewer.") and hasattr(module, "perf_counter"):
            patch.setattr(module, "perf_counter", clock)
    return clock


def monkey_script(monkey: Monkey, clock: Ticking, events: int, per_frame: int = 2) -> Script:
    """Return a script of so many random events for `Scripted`, which closes the window at its end."""

    def script(window: Window) -> Iterator[None]:
        done = 0
        while done < events and not window.closing:
            for _ in range(monkey.chance.randint(0, 2 * per_frame)):
                found = monkey.events(window)
                done += len(found)
                post(*found)
            clock.now += monkey.chance.choice(FRAMES)
            yield
        post(key_event(pygame.K_q, "", pygame.KMOD_LCTRL))
        yield

    return script


def let_loose(
    patch: pytest.MonkeyPatch, monkey: Monkey, events: int, slices: int = 12, *, mistakes_raise: bool = True
) -> Scripted:
    """Let a monkey drive the window that the next command opens."""
    clock = hold_clocks(patch)
    patch.setattr(watch, "time", SimpleNamespace(sleep=clock.sleep))
    patch.setattr(watch.Leaving, "is_due", lambda leaving, why: False)
    script, most = monkey_script(monkey, clock, events), 20 * events + 5000
    return Scripted(patch, script, slices=slices, most_frames=most, mistakes_raise=mistakes_raise)
