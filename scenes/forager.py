"""Gather coins in a walled field, each of which comes back somewhere else, and keep away from what stings."""

import numpy as np

from ecs_rl.scene import *

WIDE, HIGH = 9.0, 6.0  # metres from the middle to the walls
GOLD, SPIKES, BEETLE = (
    Look(colour, f"sprites/{name}.png", width)
    for colour, name, width in (("yellow", "coin", 0.44), ("vermilion", "urchin", 1.4), ("sky", "bug", 0.95))
)
SCENE = Scene(
    about="Gather coins in a walled field, and keep away from what stings.",
    max_ticks=500,
    score="coins",
    solved_at=14,
    gravity=(0.0, 0.0),
    backdrop="meadow",
    camera=View(x=(-WIDE - 0.6, WIDE + 0.6), y=(-HIGH - 0.6, HIGH + 0.6)),
    recipes={
        "ppo": {
            "arenas": 64,
            "steps": "1.5M",
            "eval_every": 81_920,
            "checkpoint_every": "300k",
            "lr": 1e-3,
            "rollout": 128,
            "minibatch": 512,
            "gamma": 0.98,
            "entropy": 0.02,
        }
    },
)


def build(arena: Arena) -> None:
    """A bug, forty coins, and five hazards that drift about."""
    anywhere = Start(x=jitter(WIDE - 0.4), y=jitter(HIGH - 0.4))
    drift = Start(x=(-6.0, 6.0, -6.0, 6.0, 0.0), y=(4.0, 4.0, -4.0, -4.0, 4.5), vx=jitter(2.5), vy=jitter(2.5))
    coins = arena.spawn("coin", Body(solid=False, moves="never"), Disc(0.2), anywhere, GOLD, count=40)
    hazards = arena.spawn("hazard", Body(solid=False), Disc(0.55), drift, SPIKES, count=5)
    bug = arena.spawn("bug", Body(drag=1.5, spins=False), Disc(0.35), BEETLE)
    for side in (-1, 1):
        arena.wall((side * WIDE, -HIGH), (side * WIDE, HIGH))
        arena.wall((-WIDE, side * HIGH), (WIDE, side * HIGH))
    eats, stung, got = Touching(bug, coins), Touching(bug, hazards), arena.number("got")
    hurt = stung.began

    @arena.system(reads=(Touch,), writes=(Pose, got))
    def gather() -> None:
        """Put a coin that was eaten somewhere else, take three for a sting, and turn hazards back at the walls."""
        got.value += eats().sum(axis=1) - 3.0 * hurt().sum(axis=1)
        coins.place(eats())
        out = np.abs(hazards.position) > np.array((WIDE - 0.55, HIGH - 0.55))
        hazards.velocity[out] = -np.sign(hazards.position[out]) * np.abs(hazards.velocity[out])
        bug.angle = np.arctan2(bug.vy, bug.vx)

    arena.score("coins", lambda: got.value)
    arena.agent(
        sees=[
            *(X(bug), Y(bug), Vx(bug), Vy(bug)),
            Nearest(bug, coins, 4),
            Nearest(bug, hazards, 2, velocity=1.0),
        ],
        does=Levers(right=Push(bug, x=9.0), up=Push(bug, y=9.0)),
        earns={"coins": Progress(lambda: got.value)},
    )
