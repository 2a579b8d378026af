"""A scene with a choice, a lever and a trigger, of which each tick says what is right; systems and rules read them."""

from __future__ import annotations

MIXED = '''
"""Follow a dial that turns: steer by its height, open the throttle by its side, fire while it is up."""

import numpy as np

from ecs_rl.scene import *

SCENE = Scene(
    about="Steer, throttle and fire as a turning dial says.",
    max_ticks=40,
    solved_at=34,
    gravity=(0.0, 0.0),
    recipes={"ppo": {"arenas": 32, "steps": "60k", "lr": 3e-3, "rollout": 32, "minibatch": 256, "hidden": [32],
                     "eval_every": "10k", "gamma": 0.5}},
)


def build(arena: Arena) -> None:
    """A dial that turns, and a buggy whose controls are to follow it."""
    dial = arena.spawn("dial", Body(), Box(1.0, 0.1), Start(angle=jitter(3.1), spin=8.0))
    buggy = arena.spawn("buggy", Body(), Disc(0.3), Start(x=3.0))
    shots, turns = arena.number("shots"), arena.number("turns")
    steer = Choice(left=Twist(buggy, 0.1), straight=None, right=Twist(buggy, -0.1))
    gas, flash = Push(buggy, x=0.1), Push(buggy, y=0.1)
    fire = Trigger(flash)

    @arena.system(reads=(Action, Amount), writes=(shots, turns))
    def count() -> None:
        """Shots and turns are counted."""
        shots.value += fire.on
        turns.value += steer.picked != 1

    def wanted() -> np.ndarray:
        return np.where(dial.heading[..., 1] > 0.4, 0, np.where(dial.heading[..., 1] < -0.4, 2, 1))

    arena.agent(
        sees=[Heading(dial), Feel("fired", lambda: fire.on), Feel("shots", lambda: shots.value, 0.05)],
        does=Controls(steer=steer, gas=gas, fire=fire),
        earns={
            "steer": lambda: (steer.picked == wanted()) / 3.0,
            "gas": lambda: (1.0 - np.abs(gas.amount - dial.heading[..., 0])) / 3.0,
            "fire": lambda: (fire.on == (dial.heading[..., 1] > 0.0)) / 3.0,
        },
        ends={"out": beyond(X(buggy), 9.0)},
    )
'''
"""Always right earns 40, at random 14; with any one of the three controls left alone at most 33.4."""
