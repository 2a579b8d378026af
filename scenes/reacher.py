"""Touch one lamp after the other with the tip of an arm of two links, with a motor in shoulder and elbow.

The tip must rest on a lamp for a moment before it counts, so that swinging the arm about earns nothing.
"""

import numpy as np

from ecs_rl.scene import *

LINK, NEAR = 1.0, 0.15  # metres
SCENE = Scene(
    about="Rest the tip of a two-link arm on one lamp after the other.",
    max_ticks=500,
    score="lamps",
    solved_at=10,
    gravity=(0.0, 0.0),
    camera=View(x=(-3.2, 3.2), y=(-2.2, 2.2)),
    recipes={
        "ppo": {
            "arenas": 64,
            "threads": 1,
            "steps": "1.5M",
            "eval_every": 81_920,
            "checkpoint_every": "400k",
            "lr": 1e-3,
            "rollout": 64,
            "minibatch": 512,
            "epochs": 5,
            "gamma": 0.98,
        }
    },
)


def build(arena: Arena) -> None:
    """An arm that hangs on the middle of the table, and a lamp that is somewhere else as soon as it was touched."""
    anywhere = Start(x=jitter(1.3), y=jitter(1.3))
    lamp = arena.spawn("lamp", Body(solid=False, moves="never"), Disc(NEAR), anywhere, Look("yellow", glow=0.6))
    link = Polygon(((-0.5, -0.09), (0.5, -0.06), (0.5, 0.06), (-0.5, 0.09)))
    upper = arena.spawn("upper arm", Body(spin_drag=1.0), link, Start(angle=jitter(np.pi)), Look("sky"))
    lower = arena.spawn("lower arm", Body(spin_drag=1.0), link, Start(angle=jitter(2.0)), Look("orange"))
    arena.join(
        Pivot(arena.ground, upper, at=(0.0, 0.0), hinge=(-LINK / 2, 0.0)),
        Pivot(upper, lower, at=(LINK / 2, 0.0), hinge=(-LINK / 2, 0.0)),
    )
    arena.mark("reach", Disc(2 * LINK), Look("blue"))
    arena.mark("foot", Disc(0.3), Look("sky"))
    lamps = arena.number("lamps")

    @arena.shared
    def way() -> np.ndarray:
        """From the tip to the lamp, (arenas, 2) metres."""
        return np.asarray(lamp.position - lower.position - LINK / 2 * lower.heading)

    @arena.shared
    def away() -> np.ndarray:
        return np.asarray(np.linalg.norm(way(), axis=1))

    rests = arena.use(Lasting(lambda: away() < NEAR, ticks=10))

    @arena.system(writes=(Pose, lamps))
    def light() -> None:
        """Count a lamp on which the tip has rested, and light another."""
        lamps.value += rests()
        lamp.place(rests())

    arena.score("lamps", lambda: lamps.value)
    shoulder, elbow = (
        Motor(upper, arena.ground, speed=4.0, strength=20.0),
        Motor(lower, upper, speed=5.0, strength=10.0),
    )
    arena.agent(
        sees=[
            Feels(("way x", "way y"), way),
            *(Heading(upper), Spin(upper), Heading(lower), Spin(lower), X(lamp), Y(lamp)),
        ],
        does=Levers(shoulder=shoulder, elbow=elbow),
        earns={
            "near": lambda: -0.1 * away() + 0.1 * (away() < NEAR),
            "lamp": Progress(lambda: 2.0 * lamps.value),
            "effort": lambda: -0.01 * (shoulder.amount**2 + elbow.amount**2),
        },
    )
