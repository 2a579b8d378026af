"""A scene whose agents, three of a kind, have a critic that sees what all of them see."""

from __future__ import annotations

TEAM = """\
import numpy as np
from ecs_rl.scene import *

SCENE = Scene(about="A team.", max_ticks=40, recipes={"ppo": {"arenas": 4}})


def build(arena):
    fish = arena.spawn("fish", Body(), Disc(0.1), Start(x=jitter(2.0), y=jitter(2.0)), count=3)
    arena.agent(
        of=fish,
        sees=[X(fish), Y(fish)],
        does=Levers(up=Push(fish, y=9.0)),
        critic_sees="team",
        earns={"low": lambda: -np.abs(fish.y)},
        ends={"out": lambda: fish.x > 1.2},
    )
"""
