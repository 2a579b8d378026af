"""Walk on two legs over rough ground that is new in every episode: four motors, ten rays, and a long way to go.

Sizes, scales and rewards follow Gymnasium's BipedalWalker, so that 300 means the same: at the far end, on its feet.
Only effort costs 0.02 of a motor and tick instead of 0.028: a lever here sets a motor's speed, there its strength.
"""

import numpy as np

from ecs_rl.scene import *

POINTS, STEP = 140, 0.7  # of the ground, metres from one to the next
BEGIN, END = 4.7, 88.7  # metres: where the way begins and ends
LEG, THICK = 34 / 30, 8 / 30  # metres
HULL = Polygon(((-1.0, -0.27), (1.13, -0.27), (1.13, 0.03), (0.2, 0.3), (-1.0, 0.3)))

SCENE = Scene(
    about="Walk on two legs over rough ground.",
    max_ticks=1600,
    solved_at=300,
    gravity=(0.0, -10.0),
    substeps=2,
    extent=100.0,
    camera=Follow("hull", width=16.0, ahead=0.5),
    recipes={
        "ppo": {
            "arenas": 64, "steps": "3M", "eval_every": "100k", "checkpoint_every": "1M",
            "lr": 1e-3, "rollout": 128, "minibatch": 1024, "epochs": 6, "gamma": 0.99, "gae_lambda": 0.95,
        }
    },
)  # fmt: skip


def rolling() -> np.ndarray:
    """Return (POINTS, POINTS): by how much each draw lifts each point, a slope that dies away and is pulled level."""
    slope, height, lifts = np.zeros(POINTS), np.zeros(POINTS), []
    for i in range(POINTS):
        slope = 0.75 * slope - 0.02 * height
        slope[i] += 0.11 if i * STEP > BEGIN + 6.0 else 0.0
        height = height + slope
        lifts.append(height)
    return np.array(lifts)


LIFTS = rolling()


def ground(drawn: np.ndarray) -> np.ndarray:
    """Return ground that is level where the way begins."""
    x = np.broadcast_to(np.arange(POINTS) * STEP - 4.0, drawn.shape)
    return np.stack((x, (2.0 * drawn - 1.0) @ LIFTS.T), axis=2)


def build(arena: Arena) -> None:
    """A hull on two legs of two parts each; the legs pass through each other."""
    earth = arena.terrain(ground, points=POINTS, draws=POINTS, friction=0.8)
    start = Start(x=BEGIN, y=2 * LEG + THICK, vx=jitter(0.5))
    hull = arena.spawn("hull", Body(mass=5.4, friction=0.1), HULL, start, Look("purple"))
    parts: list[Role] = []
    motors: dict[str, Motor] = {}
    feels: list[Sensor] = []

    def bend(name: str, bone: Role, base: Role, speed: float) -> None:
        feels.append(Feel(name, lambda: bone.angle - base.angle))
        feels.append(Feel(f"{name} turns", lambda: bone.spin - base.spin, 1 / speed))

    def leg(name: str, colour: str, lean: float) -> None:
        look = Look(colour)
        thigh = arena.spawn(f"{name} thigh", Body(mass=0.3), Rod(LEG, THICK), Start(angle=lean), look)
        shin = arena.spawn(f"{name} shin", Body(mass=0.25), Rod(LEG, 0.8 * THICK), Start(angle=-0.2), look)
        arena.join(
            Pivot(hull, thigh, at=(0.0, -THICK), hinge=(0.0, LEG / 2)),
            Pivot(thigh, shin, at=(0.0, -LEG / 2), hinge=(0.0, LEG / 2)),
            TurnLimit(hull, thigh, -0.8, 1.1),
            TurnLimit(thigh, shin, -1.6, -0.1),
        )
        motors[f"{name} hip"] = Motor(thigh, hull, speed=4.0, strength=80.0)
        motors[f"{name} knee"] = Motor(shin, thigh, speed=6.0, strength=80.0)
        bend(f"{name} hip", thigh, hull, 4.0)
        bend(f"{name} knee", shin, thigh, 6.0)
        feels.append(Touching(shin, arena.ground))
        parts.extend((thigh, shin))

    leg("far", "blue", 0.15)
    leg("near", "sky", -0.05)
    arena.through(hull, *parts)
    for name, size, colour in (("eye", 0.16, "#ffffff"), ("pupil", 0.08, "#101018")):
        eye = Disc(size, at=(0.5 + size / 4, 0.08))
        arena.mark(name, eye, Look(colour, layer=2), at=lambda: hull.position, angle=lambda: hull.angle)
    for metres in range(10, 90, 10):
        at = lambda x=metres: np.stack((earth.height(x) * 0.0 + x, earth.height(x) + 0.4), axis=-1)  # noqa: E731
        arena.mark(f"{metres} m", Rod(0.8, 0.08), Look("yellow"), at=at)

    touches = arena.use(Touching(hull, arena.ground))
    fell = arena.shared(lambda: touches() | (hull.x < 0.0))
    arena.agent(
        sees=[
            *(Angle(hull), Spin(hull, 0.2), Vx(hull, 0.3), Vy(hull, 0.3), *feels),
            Rays(hull, tuple(0.15 * i - np.pi / 2 for i in range(10)), 160 / 30, hits=arena.ground),
        ],
        does=Levers(**motors),
        earns={
            "way": Progress(lambda: 130 / 30 * hull.x),
            "upright": Progress(lambda: -5.0 * np.abs(hull.angle)),
            "effort": lambda: -0.02 * sum(np.abs(motor.amount) for motor in motors.values()),
            "fell": lambda: -100.0 * fell(),
        },
        ends={"fell": fell, "arrived": above(X(hull), END)},
    )
