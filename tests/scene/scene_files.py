"""A scene file that works, to be spoiled line by line, and a world that runs it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np

from ecs_rl.scene.scene import Scene
from ecs_rl.world import World
from ecs_rl.worlds import make_world

GOOD = """\
import numpy as np
from ecs_rl.scene import *

SCENE = Scene(about="A test.", max_ticks=20)


def build(arena):
    disc = arena.spawn("disc", Body(), Disc(0.1), Start(vx=1.0))
    other = arena.spawn("other", Body(), Box(0.1, 0.2), Start(x=5.0))
    arena.agent(
        sees=[X(disc)],
        does=Choice(left=Push(disc, -1.0), right=Push(disc, 1.0)),
        earns={"x": X(disc)},
        ends={"out": beyond(X(disc), 2.0)},
    )
"""
DISC, OTHER, SCENE, AGENT, SEES, DOES, EARNS, ENDS = 8, 9, 4, 10, 11, 12, 13, 14
"""The lines of what may be replaced."""
Save = Callable[[str], Path]


def with_line(number: int, text: str) -> str:
    lines = GOOD.splitlines()
    indent = lines[number - 1][: len(lines[number - 1]) - len(lines[number - 1].lstrip())]
    lines[number - 1] = indent + text
    return "\n".join(lines) + "\n"


def run(scene: Scene, ticks: int = 20, arenas: int = 3) -> World:
    world = make_world(scene, arenas=arenas, policies={"policy": lambda seen, state: np.zeros(len(seen), int)})
    for _ in range(ticks):
        world.tick()
    return world
