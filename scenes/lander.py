"""Set a craft down gently between two flags: one main engine, two side engines, two sprung legs, new ground each time.

Sizes, scales and rewards follow Gymnasium's LunarLander, so that 200 means the same here.
"""

import numpy as np

from ecs_rl.scene import *

POINTS = 11
WIDTH, HEIGHT = 10.0, 6.67  # metres from the pad to the edge of the sky, and to its top
HULL = Polygon(((-0.57, 0.0), (-0.57, -0.33), (0.57, -0.33), (0.57, 0.0), (0.47, 0.52), (-0.47, 0.52)))
MAIN, SIDE = 86.0, 13.0  # newtons

SCENE = Scene(
    about="Set a craft down gently on its pad with one main and two side engines.",
    max_ticks=1000,
    solved_at=200,
    gravity=(0.0, -10.0),
    extent=25.0,
    recipes={
        "ppo": {
            "arenas": 64, "threads": 1, "steps": "1.5M", "eval_every": 40_960, "checkpoint_every": "300k",
            "lr": 1e-3, "rollout": 64, "minibatch": 512, "epochs": 5, "gamma": 0.995, "gae_lambda": 0.98,
        },
        "dqn": {
            "arenas": 32, "threads": 1, "steps": "300k", "eval_every": "20k", "checkpoint_every": "100k",
            "lr": 1e-3, "lr_schedule": "exponential", "lr_end": 0.02, "slow_policy": True, "hidden": (128, 128),
            "n_step": 3, "dueling": True, "normalise_observations": True, "huber": 30,
            "memory": "300k", "learn_every": 4, "target_every": 1, "target_rate": 0.01, "epsilon_steps": "40k",
        },
        "sac": {
            "arenas": 16, "threads": 1, "steps": "400k", "eval_every": "10k", "checkpoint_every": "75k",
            "lr": 5e-4, "updates_per_step": 0.5, "target_share": 0.01, "normalise_observations": True,
        },
    },
)  # fmt: skip


def ground(drawn: np.ndarray) -> np.ndarray:
    """Return rolling ground with a flat pad in its middle."""
    height = 3.3 * drawn - 3.3 / 2
    smooth = (height[:, :-2] + height[:, 1:-1] + height[:, 2:]) / 3
    middle = POINTS // 2
    smooth[:, middle - 1 : middle + 2] = 0.0
    x = np.broadcast_to(np.linspace(-1.2 * WIDTH, 1.2 * WIDTH, POINTS), smooth.shape)
    return np.stack((x, smooth), axis=2)


def build(arena: Arena) -> None:
    """One craft of a hull and two legs, one agent that fires at most one engine a tick."""
    start = Start(y=HEIGHT, x=jitter(0.5), vx=jitter(4.0), vy=between(-4.0, 1.0), angle=jitter(0.1), spin=jitter(0.5))
    hull = arena.spawn("hull", Body(mass=4.8, friction=0.1), HULL, start, Look("purple"))
    legs = []
    for name, side in (("left leg", -1), ("right leg", +1)):
        leg = arena.spawn(name, Body(mass=0.15, friction=0.4), Box(0.13, 0.53), Start(angle=side * 0.35), Look("sky"))
        arena.join(
            Pivot(hull, leg, at=(side * 0.5, -0.05), hinge=(0.0, 0.33)),
            TurnLimit(hull, leg, *sorted((side * 0.0, side * 1.5))),
            TurnSpring(hull, leg, rest=side * 0.35, stiffness=40.0, damping=0.1),
        )
        legs.append(leg)
    arena.terrain(ground, points=POINTS, draws=POINTS + 2, friction=0.4)
    for x in (-2.4, 2.4):
        arena.mark(f"pole {x:g}", ((x, 0.0), (x, 1.0)))
        arena.mark(f"flag {x:g}", Polygon(((x, 1.0), (x + 0.6, 0.8), (x, 0.6))), Look("yellow"))

    main = Thrust(hull, y=MAIN)
    left = Thrust(hull, x=+SIDE, at=(-0.57, 0.42))
    right = Thrust(hull, x=-SIDE, at=(+0.57, 0.42))
    touching = [Touching(leg, arena.ground) for leg in legs]
    crashed = arena.use(Touching(hull, arena.ground))

    def away() -> np.ndarray:
        place = (hull.x / WIDTH) ** 2 + (hull.y / HEIGHT) ** 2
        speed = (0.2 * hull.vx) ** 2 + (0.133 * hull.vy) ** 2
        return np.sqrt(place) + np.sqrt(speed)

    def stands() -> np.ndarray:
        still = hull.vx**2 + hull.vy**2 + hull.spin**2 < 0.1**2
        return np.asarray(still & touching[0]() & touching[1]())

    landed = arena.use(Lasting(stands, ticks=15))

    @arena.shared
    def lost() -> np.ndarray:
        return np.asarray((np.abs(hull.x) > WIDTH) | (hull.y > 2.0 * HEIGHT))

    arena.agent(
        sees=[
            X(hull, 1 / WIDTH),
            Y(hull, 1 / HEIGHT),
            Vx(hull, 0.2),
            Vy(hull, 0.133),
            Angle(hull),
            Spin(hull, 0.4),
            *touching,
        ],
        does=Choice(coast=None, left=left, main=main, right=right),
        earns={
            "approach": Progress(lambda: -100.0 * away()),
            "upright": Progress(lambda: -100.0 * np.abs(hull.angle)),
            "legs": Progress(lambda: 10.0 * (touching[0]() * 1.0 + touching[1]())),
            "fuel": lambda: -0.3 * main.amount - 0.03 * (left.amount + right.amount),
            "landed": lambda: 100.0 * landed(),
            "crashed": lambda: -100.0 * (crashed() | lost()),
        },
        ends={"landed": landed, "crashed": crashed, "flew off": lost},
    )
