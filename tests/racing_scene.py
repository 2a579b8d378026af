"""A scene with drag, tyres, wind, springs to a place, jumps, shared draws, ground and a track that rules read."""

from __future__ import annotations

RACING = '''
"""Drive round a track that each episode bends anew, a kite behind, while a flea hops about beneath."""

import numpy as np

from ecs_rl.scene import *

SCENE = Scene(about="Drive round a bent track.", max_ticks=60, dt=1 / 30, gravity=(0.0, -1.0))
TURN = np.linspace(0.0, 2.0 * np.pi, 24, endpoint=False)


def track(drawn: np.ndarray) -> np.ndarray:
    """Return a ring with dents."""
    bent = 4.0 + drawn[:, :1] + drawn[:, 1:2] * np.sin(3.0 * TURN)
    return bent[:, :, None] * np.stack((np.cos(TURN), np.sin(TURN)), axis=1)


def floor(drawn: np.ndarray) -> np.ndarray:
    """Return rough ground below the track."""
    x = np.broadcast_to(np.linspace(-9.0, 9.0, drawn.shape[1]), drawn.shape)
    return np.stack((x, drawn - 12.0), axis=2)


def build(arena: Arena) -> None:
    """A car, a kite that it draws, and a flea."""
    bends = arena.draws("bends", 7)
    line = arena.path(track, points=24, draws=bends, closed=True)
    earth = arena.terrain(floor, points=7, draws=bends)
    start = Start(x=4.5, y=jitter(0.2), angle=1.6, vy=3.0)
    car = arena.spawn("car", Body(drag=(0.3, 20.0), grip=9.0, spin_drag=3.0), Box(0.6, 0.3), start)
    kite = arena.spawn("kite", Body(mass=0.2, drag=0.8), Disc(0.1), Start(x=5.5, y=1.0))
    flea = arena.spawn("flea", Body(mass=0.5), Disc(0.2), Start(y=-10.0, x=jitter(4.0)))
    arena.join(TurnLimit(car, kite, -1e6, 1e6))
    wind = arena.random("wind", jitter(0.5))
    arena.always(Push(kite, x=1.0), Twist(kite, 0.01), amount=lambda: wind.value + 0.1 * np.sin(car.angle))
    arena.always(Pull(kite, car, 4.0, 0.5), Push(car, y=1.0))
    arena.always(Pull(flea, lambda: np.stack((car.x, earth.height(car.x)), axis=1), 0.5, 0.1))
    laps = line.laps(car)
    arena.agent(
        sees=[
            Feel("beside", lambda: line.off(car)),
            Feel("along", lambda: line.along(car) / line.length),
            Feel("ahead", lambda: (line.heading(car) * car.heading).sum(axis=1)),
            Feel("far", lambda: line.at(line.along(car) + 1.0)[:, 0] - car.x),
            Feel("below", lambda: flea.y - earth.height(flea.x)),
            Feel("steep", lambda: earth.slope(flea.x)),
            Feel("bend", lambda: bends.value[:, 1]),
            *(Vx(car), Vy(car), Spin(car), X(kite), Y(flea)),
        ],
        does=Choice(
            roll=None,
            go=Thrust(car, x=6.0),
            left=(Twist(car, 0.4), Thrust(car, x=3.0)),
            right=(Twist(car, -0.4), Thrust(car, x=3.0)),
            hop=Jump(flea, 2.0, off=Touching(flea, arena.ground)),
        ),
        earns={"laps": Progress(laps), "hopping": lambda: 0.01 * (flea.vy > 1.0)},
        ends={"off": beyond(lambda: line.off(car), 2.0), "round": above(laps, 1.5)},
    )
'''
