"""Scenes with lessons, as tests train them."""

from __future__ import annotations

from pages import example

LAMP = example("lessons")
"""A moth is to find a lamp whose way is a lesson; taken from the pages and never copied."""
FAR = LAMP.replace('arena.lesson("way", 1.0, 8.0, when=score_above(0.7), steps=7)', 'arena.number("way", start=8.0)')
"""The same without a lesson: the full task from the beginning."""
SCHOOL = """
\"\"\"A ball in a box whose floor, wind and start are lessons, each of which goes on all the time.\"\"\"

import numpy as np

from ecs_rl.scene import *

SCENE = Scene(about="A ball that learns its lessons.", max_ticks=20, gravity=(0.0, -9.8))


def build(arena: Arena) -> None:
    low = arena.lesson("low", 0.0, -2.0, when=return_above(-1000), steps=20, episodes=8)
    wind = arena.lesson("wind", jitter(0.0), between(-3.0, 6.0), when=return_above(-1000), steps=9, episodes=30)
    place = arena.lesson("place", 0.0, 1.5, when=score_above(-1000, "far"), steps=7, episodes=12)
    ball = arena.spawn("ball", Body(elasticity=0.8), Disc(0.3), Start(x=lambda: place.value, y=1.0, vx=jitter(3.0)))
    arena.always(Push(ball, x=1.0), amount=lambda: wind.value)

    def floor(drawn):
        x = np.tile(np.linspace(-9.0, 9.0, 7), (len(drawn), 1))
        return np.stack((x, drawn - 0.5 + low.value[:, None]), axis=2)

    earth = arena.terrain(floor, points=7, draws=7)
    road = arena.path(lambda drawn: floor(drawn) + (0.0, 2.0), points=7, draws=7)
    arena.score("far", lambda: np.abs(ball.x))
    felt = Feels(("low", "off"), lambda: np.stack((low.value, road.off(ball)), 1))
    arena.agent(
        sees=[X(ball), Y(ball), Vx(ball), Vy(ball), felt],
        does=Choice(left=Push(ball, -12.0), right=Push(ball, 12.0), up=Push(ball, y=25.0)),
        earns={"inside": 0.1, "high": lambda: ball.y - earth.height(ball.x)},
        ends={"out": beyond(X(ball), 4.0)},
    )
"""
