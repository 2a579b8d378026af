"""Walk over rough ground on two legs with motors in hips and knees."""

import numpy as np

from ecs_rl.scene import *

POINTS = 60
SCENE = Scene(
    about="Walk over rough ground on two legs with motors in hips and knees.",
    max_ticks=500,
    score="way",
    solved_at=8,
    extent=60.0,
    camera=Follow("hull", width=12.0),
    recipes={"ppo": {"steps": "600k", "lr": 1e-3, "rollout": 64, "minibatch": 512, "epochs": 6}},
)


def ground(drawn: np.ndarray) -> np.ndarray:
    """Return ground that is flat where one starts, and rougher further on."""
    x = np.arange(POINTS) * 0.7 - 4.0
    rough = 0.25 * np.clip((x - 2.0) / 10.0, 0.0, 1.0)
    return np.stack((np.broadcast_to(x, drawn.shape), rough * drawn), axis=2)


def build(arena: Arena) -> None:
    earth = arena.terrain(ground, points=POINTS, draws=POINTS, friction=1.0)
    hull = arena.spawn("hull", Body(mass=4.0), Box(1.2, 0.4), Start(y=2.05, vx=jitter(0.3)), Look("purple"))
    fell, levers = Touching(hull, arena.ground), {}
    sees = [Angle(hull), Spin(hull), Vx(hull), Vy(hull), Feel("slope", lambda: earth.slope(hull.x + 1.0))]

    def leg(name: str, lean: float) -> tuple[Role, Role]:
        thigh = arena.spawn(f"{name} thigh", Body(mass=0.5), Box(0.25, 1.0), Start(angle=lean))
        shin = arena.spawn(f"{name} shin", Body(mass=0.4, friction=1.5), Box(0.2, 1.0), Start(angle=-lean))
        hip = Pivot(hull, thigh, at=(0.0, -0.1), hinge=(0.0, 0.45))
        knee = Pivot(thigh, shin, at=(0.0, -0.45), hinge=(0.0, 0.45))
        arena.join(hip, knee, TurnLimit(hull, thigh, -0.9, 1.1), TurnLimit(thigh, shin, -1.4, 0.1))
        levers[f"{name} hip"] = Motor(thigh, hull, speed=5.0, strength=25.0)
        levers[f"{name} knee"] = Motor(shin, thigh, speed=6.0, strength=20.0)
        bent = (
            Feel(f"{name} hip", lambda: thigh.angle - hull.angle),
            Feel(f"{name} knee", lambda: shin.angle - thigh.angle),
        )
        sees.extend((*bent, Spin(thigh), Spin(shin), Touching(shin, arena.ground)))
        return thigh, shin

    arena.through(hull, *leg("left", 0.2), *leg("right", -0.2))
    arena.score("way", lambda: hull.x)
    arena.agent(
        sees=sees,
        does=Levers(**levers),
        earns={
            "way": Progress(lambda: 5.0 * hull.x),
            "upright": lambda: -0.02 * np.abs(hull.angle),
            "fell": lambda: -4.0 * fell(),
        },
        ends={"fell": fell},
    )
