"""The profiler: what each stage of the tick costs, and where the time of a frame goes."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from time import perf_counter

import pygame

from ecs_rl.viewer.canvas import HEAD, PAD, ROW, SMALL, Canvas, fill_card
from ecs_rl.viewer.draw import bar
from ecs_rl.viewer.number_formats import NOTHING
from ecs_rl.viewer.palette import DIM, FAINT, MAIN_LINE, RAISED, TEXT, WARN, role_colour
from ecs_rl.viewer.panel import App, Command, Panel

WIDTH = 310
BESIDES, FRAME = 10, 53
"""Heights of the space around the rows, and of the bar of a frame."""
MEAN = 1.0
"""Seconds that means go back."""
RENEW = 0.25
"""Seconds for which shown numbers stay as they are: faster than this nobody can read them."""


@dataclass(frozen=True)
class ProfileRow:
    """What one stage of the tick costs."""

    name: str
    now: float
    """Milliseconds in the last frame."""
    mean: float
    share: float


@dataclass(frozen=True)
class ProfileView:
    """Where the time goes."""

    rows: tuple[ProfileRow, ...]
    frame: tuple[tuple[str, float], ...] = ()
    """Where the last frame went: name and milliseconds."""
    budget: float = 1000 / 60
    """Milliseconds that a frame may take."""


class Profiler:
    """Measures what frames cost."""

    def __init__(self, clock: Callable[[], float] = perf_counter) -> None:
        self._clock = clock
        self._before: dict[str, float] = {}
        self._frames: deque[tuple[float, dict[str, float], dict[str, float]]] = deque()
        """When, seconds of each stage, seconds of each part: the last second's frames, at least one."""
        self._last = clock()
        self._view = ProfileView(())
        self._viewed = -RENEW

    def frame(self, seconds_in: Mapping[str, float], parts: Mapping[str, float]) -> None:
        """Note a frame: the seconds that each stage has taken so far, and those of this frame's own parts."""
        now = self._clock()
        self._last = now
        spent = {name: seconds - self._before.get(name, seconds) for name, seconds in seconds_in.items()}
        spent = {name: max(0.0, seconds) for name, seconds in spent.items()}  # another world begins at nothing
        self._before = dict(seconds_in)
        self._frames.append((now, spent, dict(parts)))
        while len(self._frames) > 1 and self._frames[0][0] <= now - MEAN:
            self._frames.popleft()

    def view(self) -> ProfileView:
        """Return what to show; the same object for a quarter of a second."""
        if self._frames and self._last - self._viewed >= RENEW:
            self._viewed = self._last
            self._view = self._measured()
        return self._view

    def _measured(self) -> ProfileView:
        _, spent, parts = self._frames[-1]
        count = len(self._frames)
        total = sum(sum(stages.values()) for _, stages, _ in self._frames) or 1.0
        rows = []
        for name, seconds in spent.items():
            mean = sum(stages.get(name, 0.0) for _, stages, _ in self._frames) / count
            rows.append(ProfileRow(name, seconds * 1e3, mean * 1e3, mean * count / total))
        means = {name: sum(costs.get(name, 0.0) for _, _, costs in self._frames) / count for name in parts}
        return ProfileView(tuple(rows), tuple((name, mean * 1e3) for name, mean in means.items()))


class Profile(Panel[ProfileView]):
    """Measures where the time of frames goes, and shows it."""

    name = "profile"

    def __init__(self) -> None:
        self.profiler = Profiler()

    def look(self, app: App, seconds: float) -> None:
        """Take in what the last frame has cost."""
        work = app.run.background
        world = app.show.world if work is None or work.is_saved else work.training.world
        self.profiler.frame(world.seconds_in, app.frame_parts)

    def view(self, app: App) -> ProfileView | None:
        """Return what was measured, None while the panel is closed."""
        return self.profiler.view() if self.name in app.open_panels else None

    keys = (Command("Window", "F3", "profiler", "where the time goes", Panel.toggle, (pygame.K_F3,)),)

    def paint(self, canvas: Canvas, view: ProfileView, room: pygame.Rect) -> None:
        """Paint the panel to the left; where not all rows have room, the dearest ones."""
        row, count = canvas.px(ROW), max(1, len(view.rows))
        besides = canvas.px(HEAD + ROW + BESIDES) + (canvas.px(FRAME) if view.frame else 0)
        placed = canvas.place_rows(room, "top left", WIDTH, count, row=row, besides=besides)
        if placed is not None:
            canvas.lay(canvas.surface, placed[0], self.name, (view, placed[1]), _paint_profile)


def _paint_profile(surface: pygame.Surface, shows: tuple[ProfileView, int], canvas: Canvas) -> None:
    profile, rows = shows
    y = fill_card(surface, "F3", "Milliseconds per frame, by stage", canvas)
    right, digits = surface.get_width() - canvas.px(PAD), canvas.px(58)
    columns = (right - digits - canvas.px(70), right - canvas.px(70))
    middle = y + canvas.px(ROW) // 2 - canvas.px(3)
    for x, name in zip((*columns, right), ("now", "mean", "share"), strict=True):
        canvas.write(surface, name, (x, middle), size=SMALL - 0.5, colour=FAINT, anchor="right")
    y += canvas.px(ROW) - canvas.px(3)
    for row in _largest(profile.rows, rows):
        middle = y + canvas.px(ROW) // 2
        name_room = columns[0] - digits - canvas.px(PAD)
        canvas.write(surface, row.name, (canvas.px(PAD), middle), size=SMALL + 0.5, colour=DIM, width=name_room)
        for x, value in zip(columns, (row.now, row.mean), strict=True):
            text = f"{value:.2f}" if math.isfinite(value) else NOTHING
            canvas.write(surface, text, (x, middle), size=SMALL + 0.5, face="numbers", anchor="right")
        track = pygame.Rect(columns[1] + canvas.px(14), 0, right - columns[1] - canvas.px(14), canvas.px(6))
        track.centery = middle
        surface.fill(RAISED, track)
        bar(surface, track, 0.0, row.share, MAIN_LINE)
        y += canvas.px(ROW)
    if profile.frame:
        _paint_frame(surface, y + canvas.px(6), profile, canvas)


def _largest(rows: tuple[ProfileRow, ...], most: int) -> tuple[ProfileRow, ...]:
    """Return the rows, or the most expensive ones and the sum of the others."""
    if len(rows) <= most:
        return rows
    ordered = sorted(rows, key=lambda row: -row.mean)
    rest = ordered[most - 1 :]
    sums = (sum(getattr(row, part) for row in rest) for part in ("now", "mean", "share"))
    return (*ordered[: most - 1], ProfileRow(f"{len(rest)} others", *sums))


def _paint_frame(surface: pygame.Surface, y: int, profile: ProfileView, canvas: Canvas) -> None:
    w = surface.get_width()
    track = pygame.Rect(canvas.px(PAD), y + canvas.px(20), w - 2 * canvas.px(PAD), canvas.px(9))
    spent = sum(ms for _, ms in profile.frame if ms > 0)
    most = max(spent, profile.budget, 1e-9)
    text = f"frame {spent:.1f} of {profile.budget:.1f} ms"
    canvas.write(
        surface, text, (canvas.px(PAD), y + canvas.px(9)), size=SMALL, colour=WARN if spent > most * 1.001 else DIM
    )
    surface.fill(RAISED, track)
    start, x = 0.0, canvas.px(PAD)
    for i, (name, ms) in enumerate(profile.frame):
        colour = role_colour(i)
        if ms > 0:
            bar(surface, track, start / most, (start + ms) / most, colour)
            start += ms
        if ms < 0.05:
            continue
        label = f"{name} {ms:.1f}"
        if x + canvas.width(label, SMALL - 0.5) > w - canvas.px(PAD):
            continue
        x += canvas.write(surface, label, (x, y + canvas.px(43)), size=SMALL - 0.5, colour=colour).w + canvas.px(10)
    line = track.x + round(track.w * profile.budget / most)
    surface.fill(TEXT, (min(line, track.right - 1), track.y - canvas.px(2), canvas.px(1), track.h + canvas.px(4)))
