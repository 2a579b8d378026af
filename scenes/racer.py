"""Drive round a closed track that is bent anew in every episode, on tyres that hold up to a point and then slide."""

import numpy as np

from ecs_rl.scene import *

POINTS, ROAD = 48, 1.25  # points of the track, and metres from its middle to its edges
TURN = np.linspace(0.0, 2.0 * np.pi, POINTS + 1)
SCENE = Scene(
    about="Drive round a track that is new in every episode, on tyres that slide.",
    max_ticks=1000,
    score="laps",
    solved_at=2,
    gravity=(0.0, 0.0),
    backdrop="meadow",
    camera=View(x=(-12.5, 12.5), y=(-8.7, 8.7)),
    recipes={
        "ppo": {
            "arenas": 64,
            "steps": "1M",
            "eval_every": 81_920,
            "checkpoint_every": "250k",
            "lr": 1e-3,
            "rollout": 64,
            "minibatch": 512,
            "epochs": 5,
        }
    },
)


def middle(drawn: np.ndarray) -> np.ndarray:
    """Return the middle of the road, (arenas, points + 1, 2): a ring with bends of four lengths."""
    size, phase = drawn[:, :4, None] - 0.5, 2.0 * np.pi * drawn[:, 4:8, None]
    waves = np.arange(2, 6)[:, None]
    bent = 1.0 + (1.3 / waves * size * np.sin(waves * TURN + phase)).sum(axis=1)
    return np.asarray(bent[:, :, None] * np.stack((9.5 * np.cos(TURN), 6.2 * np.sin(TURN)), axis=1))


def beside(drawn: np.ndarray, metres: float) -> np.ndarray:
    """Return a line so many metres to the left of the middle."""
    line = middle(drawn)[:, :-1]
    way = np.roll(line, -1, axis=1) - np.roll(line, 1, axis=1)
    side = np.stack((-way[..., 1], way[..., 0]), axis=2) / np.linalg.norm(way, axis=2, keepdims=True)
    edge = line + metres * side
    return np.concatenate((edge, edge[:, :1]), axis=1)


def build(arena: Arena) -> None:
    """One car between the two edges of the road."""
    bends = arena.draws("bends", 8)
    road = arena.path(lambda drawn: middle(drawn)[:, :-1], points=POINTS, draws=bends, closed=True, road=2 * ROAD)
    arena.terrain(lambda drawn: beside(drawn, ROAD), points=POINTS + 1, draws=bends)
    arena.terrain(lambda drawn: beside(drawn, -ROAD), points=POINTS + 1, draws=bends)

    def begin(part: int) -> np.ndarray:
        return middle(bends.value)[:, 0, part]

    def way() -> np.ndarray:
        first, second = middle(bends.value)[:, 0], middle(bends.value)[:, 1]
        return np.asarray(np.arctan2(*(second - first).T[::-1]))

    start = Start(x=lambda: begin(0), y=lambda: begin(1), angle=way)
    tyres = Body(drag=(0.4, 12.0), grip=9.0, spin_drag=6.0)
    car = arena.spawn("car", tyres, Box(0.9, 0.45), start, Look("sky", "sprites/car.png", 1.1))
    crashed, laps = Touching(car, arena.ground), road.laps(car)
    gas, turn = Thrust(car, x=6.0), Twist(car, 2.0)
    arena.score("laps", laps)
    arena.agent(
        sees=[
            Rays(car, np.linspace(-1.4, 1.4, 9).tolist(), 7.0, hits=arena.ground),
            Feel("speed", lambda: (car.velocity * car.heading).sum(axis=1)),
            Feel("slide", lambda: car.vy * car.heading[:, 0] - car.vx * car.heading[:, 1]),
            Spin(car),
        ],
        does=Levers(gas=gas, steer=turn),
        earns={"way": Progress(lambda: 50.0 * laps()), "crash": lambda: -5.0 * crashed()},
        ends={"crashed": crashed},
    )
