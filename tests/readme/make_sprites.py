"""Makes the sprites of the scenes anew: `python tests/readme/make_sprites.py` (a second; needs no display).

Each is drawn eight times as large as it is kept and looks to the right, in the colours of Okabe and Ito.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise
from pathlib import Path

import numpy as np
import pygame

SPRITES = Path(__file__).resolve().parents[2] / "assets" / "sprites"
FINER = 6
Colour = tuple[int, int, int]
Point = tuple[float, float]
INK: Colour = (24, 26, 36)
WHITE: Colour = (244, 246, 250)


class Pen:
    """Draws in the unit square from -1 to 1, y up."""

    def __init__(self, pixels: tuple[int, int]) -> None:
        self.pixels, self.unit = pixels, pixels[0] * FINER / 2
        self.large = pygame.Surface((pixels[0] * FINER, pixels[1] * FINER), pygame.SRCALPHA)

    def _at(self, point: Point) -> Point:
        return self.large.get_width() / 2 + point[0] * self.unit, self.large.get_height() / 2 - point[1] * self.unit

    def polygon(self, points: Sequence[Point], colour: Colour, alpha: int = 255) -> None:
        """Fill an outline."""
        layer = pygame.Surface(self.large.get_size(), pygame.SRCALPHA)
        pygame.draw.polygon(layer, (*colour, alpha), [self._at(p) for p in points])
        self.large.blit(layer, (0, 0))

    def disc(self, at: Point, radius: float, colour: Colour, alpha: int = 255) -> None:
        """Fill a circle."""
        self.oval(at, radius, radius, colour, alpha=alpha)

    def oval(self, at: Point, wide: float, high: float, colour: Colour, *, turn: float = 0.0, alpha: int = 255) -> None:
        """Fill an ellipse of two half axes."""
        around = np.linspace(0, 2 * math.pi, 120)
        x, y, cos, sin = wide * np.cos(around), high * np.sin(around), math.cos(turn), math.sin(turn)
        points = zip((at[0] + cos * x - sin * y).tolist(), (at[1] + sin * x + cos * y).tolist(), strict=True)
        self.polygon([*points], colour, alpha)

    def line(self, points: Sequence[Point], colour: Colour, width: float) -> None:
        """Draw a line with round ends."""
        for a, b in pairwise(points):
            pygame.draw.line(self.large, colour, self._at(a), self._at(b), round(width * self.unit))
        for point in points:
            pygame.draw.circle(self.large, colour, self._at(point), width * self.unit / 2)

    def shade(self, strength: float = 0.45) -> None:
        """Darken all of it towards its lower edge."""
        w, h = self.large.get_size()
        column = np.linspace(255, 255 * (1 - strength), h).astype(np.uint8)
        shadow = pygame.Surface((1, h))
        pygame.surfarray.blit_array(shadow, np.repeat(column[None, :, None], 3, axis=2))
        self.large.blit(pygame.transform.scale(shadow, (w, h)), (0, 0), special_flags=pygame.BLEND_RGB_MULT)

    def done(self) -> pygame.Surface:
        """Return the picture at the size at which it is kept."""
        return pygame.transform.smoothscale(self.large.premul_alpha(), self.pixels)


def eye(pen: Pen, at: Point, size: float) -> None:
    """Draw an eye that looks ahead."""
    pen.disc(at, size, WHITE)
    pen.disc((at[0] + 0.3 * size, at[1]), 0.58 * size, INK)
    pen.disc((at[0] + 0.45 * size, at[1] + 0.25 * size), 0.2 * size, WHITE)


def bird(pen: Pen) -> None:
    """A round yellow bird."""
    pen.polygon(((-0.6, 0.15), (-0.98, 0.42), (-0.9, 0.05), (-0.98, -0.2), (-0.6, -0.2)), (206, 150, 40))
    pen.oval((-0.02, 0.0), 0.72, 0.62, (242, 214, 84))
    pen.oval((0.08, -0.2), 0.5, 0.36, (252, 240, 176))
    pen.shade(0.35)
    pen.oval((-0.28, -0.02), 0.36, 0.24, (222, 164, 52), turn=0.5)
    pen.oval((-0.3, 0.03), 0.32, 0.18, (244, 196, 80), turn=0.5)
    pen.polygon(((0.56, 0.12), (0.98, -0.06), (0.56, -0.2)), (228, 110, 46))
    pen.polygon(((0.56, -0.06), (0.98, -0.06), (0.56, -0.22)), (178, 78, 30))
    eye(pen, (0.36, 0.24), 0.2)


def car(pen: Pen) -> None:
    """A racing car from above."""
    for x in (-0.58, 0.52):
        for y in (-0.4, 0.4):
            pen.polygon(((x - 0.2, y - 0.1), (x + 0.2, y - 0.1), (x + 0.2, y + 0.1), (x - 0.2, y + 0.1)), (22, 23, 28))
    pen.polygon(((0.74, -0.42), (0.9, -0.42), (0.9, 0.42), (0.74, 0.42)), (196, 200, 208))
    pen.polygon(((-0.98, -0.42), (-0.82, -0.42), (-0.82, 0.42), (-0.98, 0.42)), (196, 200, 208))
    body = ((0.92, 0.08), (0.3, 0.16), (0.1, 0.3), (-0.5, 0.3), (-0.9, 0.16))
    pen.polygon((*body, *((x, -y) for x, y in reversed(body))), (92, 184, 236))
    pen.polygon(((0.86, 0.03), (-0.9, 0.06), (-0.9, -0.06), (0.86, -0.03)), WHITE)
    pen.oval((-0.12, 0.0), 0.24, 0.15, (30, 34, 44))
    pen.disc((-0.14, 0.0), 0.12, (242, 214, 84))
    pen.disc((-0.1, 0.03), 0.05, WHITE)


def ship(pen: Pen) -> None:
    """A slim ship."""
    pen.polygon(((0.1, 0.0), (-0.82, 0.74), (-0.6, 0.14)), (48, 132, 204))
    pen.polygon(((0.1, 0.0), (-0.82, -0.74), (-0.6, -0.14)), (32, 96, 156))
    pen.polygon(((-0.7, 0.16), (-0.92, 0.2), (-0.92, -0.2), (-0.7, -0.16)), (74, 80, 94))
    hull = ((0.98, 0.0), (0.4, 0.2), (-0.4, 0.3), (-0.8, 0.18))
    pen.polygon((*hull, *((x, -y) for x, y in reversed(hull))), (206, 222, 238))
    pen.polygon(((0.98, 0.0), (0.4, -0.2), (-0.4, -0.3), (-0.8, -0.18), (-0.8, 0.0)), (148, 168, 192))
    pen.oval((0.28, 0.0), 0.24, 0.12, (20, 54, 86))
    pen.oval((0.32, 0.03), 0.16, 0.06, (92, 184, 236))


def rock(pen: Pen, number: int = 1) -> None:
    """A rock with craters."""
    random = np.random.default_rng(number)
    turns = np.linspace(0, 2 * math.pi, 14)[:-1]
    far = random.uniform(0.82, 1.0, 13)
    outline = [*zip((far * np.cos(turns)).tolist(), (far * np.sin(turns)).tolist(), strict=True)]
    pen.polygon(outline, (112, 104, 120))
    pen.polygon([(0.86 * x - 0.04, 0.86 * y + 0.06) for x, y in outline], (142, 132, 146))
    for x, y, size in ((-0.35, 0.3, 0.24), (0.35, 0.1, 0.17), (-0.1, -0.42, 0.2), (0.42, -0.45, 0.1), (0.2, 0.6, 0.1)):
        pen.disc((x, y), size, (166, 156, 168))
        pen.disc((x + 0.03, y - 0.03), 0.9 * size, (96, 88, 106))
        pen.disc((x + 0.05, y - 0.06), 0.62 * size, (120, 110, 128))


def bug(pen: Pen) -> None:
    """A blue beetle from above."""
    for side in (-1, 1):
        for x in (-0.4, 0.0, 0.4):
            pen.line(((x, 0.4 * side), (x + 0.1, 0.72 * side), (x - 0.1, 0.94 * side)), (20, 42, 66), 0.07)
        pen.line(((0.6, 0.15 * side), (0.82, 0.4 * side), (0.98, 0.36 * side)), (20, 42, 66), 0.06)
    pen.disc((0.5, 0.0), 0.36, (26, 62, 98))
    pen.oval((-0.14, 0.0), 0.72, 0.6, (48, 132, 204))
    pen.oval((-0.16, 0.1), 0.6, 0.42, (92, 184, 236))
    pen.line(((0.5, 0.0), (-0.84, 0.0)), (20, 62, 104), 0.05)
    for x, y in ((-0.4, 0.28), (0.05, 0.3), (-0.4, -0.28), (0.05, -0.3)):
        pen.disc((x, y), 0.11, (20, 62, 104))
    for side in (-1, 1):
        eye(pen, (0.6, 0.2 * side), 0.15)


def coin(pen: Pen) -> None:
    """A gold coin."""
    pen.disc((0.0, 0.0), 0.98, (150, 104, 24))
    pen.disc((0.0, 0.03), 0.9, (242, 206, 70))
    pen.disc((0.0, 0.0), 0.66, (206, 156, 40))
    pen.disc((0.02, -0.03), 0.6, (236, 190, 60))
    star = [
        (0.42 * r * math.sin(i * math.pi / 5), 0.42 * r * math.cos(i * math.pi / 5))
        for i, r in enumerate((1, 0.45) * 5)
    ]
    pen.polygon(star, (255, 240, 170))
    pen.oval((-0.42, 0.5), 0.2, 0.08, WHITE, turn=0.7, alpha=190)


def urchin(pen: Pen) -> None:
    """Something round with spikes and a grim look."""
    for i in range(14):
        turn = i * math.pi / 7
        cos, sin = math.cos(turn), math.sin(turn)
        base = [(0.66 * cos - 0.13 * sin * s, 0.66 * sin + 0.13 * cos * s) for s in (-1, 1)]
        pen.polygon((*base, (0.99 * cos, 0.99 * sin)), (120, 40, 30))
    pen.disc((0.0, 0.0), 0.76, (150, 52, 30))
    pen.disc((-0.02, 0.06), 0.66, (228, 110, 46))
    pen.shade(0.3)
    for side in (-1, 1):
        pen.disc((0.24 * side, 0.06), 0.16, WHITE)
        pen.disc((0.2 * side, 0.02), 0.08, INK)
        pen.line(((0.08 * side, 0.16), (0.42 * side, 0.32)), INK, 0.08)
    pen.line(((-0.22, -0.32), (0.0, -0.24), (0.22, -0.32)), INK, 0.07)


def wrestler(pen: Pen, belt: Colour, knot: Colour) -> None:
    """A sumo wrestler from above, with both hands out."""
    skin, shade = (240, 196, 156), (214, 160, 120)
    for side in (-1, 1):
        pen.line(((0.0, 0.62 * side), (0.42, 0.72 * side), (0.72, 0.46 * side)), shade, 0.3)
        pen.disc((0.78, 0.42 * side), 0.17, skin)
    pen.oval((-0.06, 0.0), 0.7, 0.8, belt)
    pen.oval((0.1, 0.0), 0.62, 0.76, shade)
    pen.oval((0.1, 0.03), 0.56, 0.7, skin)
    pen.polygon(((-0.98, 0.2), (-0.64, 0.1), (-0.64, -0.1), (-0.98, -0.2)), knot)
    pen.disc((-0.66, 0.0), 0.17, belt)
    pen.disc((0.26, 0.0), 0.38, shade)
    pen.disc((0.28, 0.0), 0.34, skin)
    pen.oval((0.14, 0.0), 0.26, 0.32, INK)
    pen.line(((0.0, 0.0), (0.26, 0.0)), (66, 62, 74), 0.13)
    for side in (-1, 1):
        eye(pen, (0.46, 0.16 * side), 0.1)
        pen.disc((0.4, 0.3 * side), 0.07, (236, 140, 120), 150)


def dohyo(pen: Pen) -> None:
    """The square of clay with a ring of straw on which wrestlers meet."""
    pen.polygon(((-1, -1), (1, -1), (1, 1), (-1, 1)), (96, 70, 48))
    pen.polygon(((-0.97, -0.96), (0.97, -0.96), (0.97, 0.98), (-0.97, 0.98)), (176, 136, 92))
    pen.disc((0.0, 0.0), 0.79, (150, 112, 72))
    for i in range(64):
        turn = (i + 0.5) * math.pi / 32
        at = 0.75 * math.cos(turn), 0.75 * math.sin(turn)
        pen.oval(at, 0.03, 0.034, (236, 206, 140) if i % 2 else (206, 170, 104), turn=turn)
    pen.disc((0.0, 0.0), 0.72, (204, 164, 114))
    pen.disc((0.0, 0.0), 0.66, (214, 176, 126))
    pen.disc((0.0, 0.0), 0.4, (222, 186, 138))
    for x in (-0.16, 0.16):
        pen.line(((x, -0.13), (x, 0.13)), WHITE, 0.03)


def crowd(pen: Pen) -> None:
    """Two rows of people on cushions who look to the right."""
    random = np.random.default_rng(4)
    coats = ((92, 184, 236), (236, 166, 42), (34, 176, 132), (210, 134, 176), (228, 110, 46), (204, 208, 220))
    for x in (-0.5, 0.5):
        for i in range(9):
            y = (i - 4) * 1.06 + 0.3 * x
            pen.polygon(
                [(x + a, y + b) for a, b in ((-0.4, -0.44), (0.4, -0.44), (0.4, 0.44), (-0.4, 0.44))], (70, 44, 84)
            )
            pen.oval((x - 0.02, y), 0.26, 0.38, coats[int(random.integers(6))])
            pen.disc((x + 0.06, y), 0.23, (236, 192, 154))
            pen.oval((x - 0.01, y), 0.18, 0.22, coats[5] if random.random() < 0.15 else (44, 34, 34))
            for side in (-1, 1):
                pen.disc((x + 0.2, y + 0.1 * side), 0.035, INK)


def sheep(pen: Pen) -> None:
    """A sheep from above, nearly all of it wool."""
    for x in (-0.42, 0.34):
        for side in (-1, 1):
            pen.oval((x, 0.5 * side), 0.12, 0.14, (40, 38, 46))
    pen.oval((-0.88, 0.0), 0.12, 0.09, (214, 210, 200))
    for i in range(11):
        turn = i * math.tau / 11
        pen.disc((0.56 * math.cos(turn) - 0.14, 0.42 * math.sin(turn)), 0.24, (206, 202, 192))
    for i in range(11):
        turn = i * math.tau / 11 + 0.2
        pen.disc((0.46 * math.cos(turn) - 0.14, 0.34 * math.sin(turn) + 0.03), 0.22, (244, 242, 234))
    pen.oval((-0.14, 0.02), 0.48, 0.36, (250, 249, 244))
    for x, y in ((-0.4, 0.14), (-0.1, -0.1), (-0.34, -0.16), (0.1, 0.16)):
        pen.disc((x, y), 0.1, (228, 225, 216))
    for side in (-1, 1):
        pen.oval((0.56, 0.3 * side), 0.1, 0.16, (40, 38, 46), turn=-0.5 * side)
    pen.oval((0.68, 0.0), 0.27, 0.2, (54, 50, 60))
    pen.disc((0.48, 0.0), 0.16, (250, 249, 244))
    for side in (-1, 1):
        eye(pen, (0.74, 0.13 * side), 0.08)


def dog(pen: Pen) -> None:
    """A brown and white sheepdog from above, with its tongue out."""
    pen.line(((-0.6, 0.0), (-0.84, 0.1), (-0.95, 0.26)), (150, 84, 34), 0.15)
    pen.disc((-0.95, 0.28), 0.08, WHITE)
    for x in (-0.42, 0.26):
        for side in (-1, 1):
            pen.line(((x, 0.2 * side), (x + 0.14, 0.4 * side)), (236, 236, 240), 0.14)
    pen.oval((-0.18, 0.0), 0.55, 0.31, (134, 74, 30))
    pen.oval((-0.2, 0.05), 0.46, 0.2, (196, 120, 54))
    pen.oval((0.22, 0.0), 0.17, 0.3, WHITE)
    pen.oval((0.33, 0.0), 0.07, 0.27, (48, 132, 204))
    pen.line(((-0.5, 0.0), (0.1, 0.0)), (226, 156, 84), 0.05)
    pen.oval((0.96, -0.02), 0.1, 0.05, (236, 120, 130))
    for side in (-1, 1):
        pen.polygon(((0.38, 0.2 * side), (0.3, 0.46 * side), (0.6, 0.26 * side)), (112, 60, 24))
    pen.oval((0.56, 0.0), 0.28, 0.27, (190, 112, 48))
    pen.oval((0.72, 0.0), 0.24, 0.1, WHITE)
    pen.disc((0.92, 0.0), 0.06, INK)
    for side in (-1, 1):
        eye(pen, (0.64, 0.14 * side), 0.08)


def fold(pen: Pen) -> None:
    """A fold for sheep: straw, hay and a trough behind a gate."""
    pen.polygon(((-1, -1.6), (1, -1.6), (1, 1.6), (-1, 1.6)), (150, 122, 70))
    random = np.random.default_rng(2)
    for x, y, turn in random.uniform(-1, 1, (170, 3)).tolist():
        cos, sin = 0.14 * math.cos(3 * turn), 0.14 * math.sin(3 * turn)
        at = 0.9 * x, 1.5 * y
        pen.line((at, (at[0] + cos, at[1] + sin)), (206, 176, 104) if turn > 0 else (176, 146, 84), 0.025)
    pen.polygon(((0.5, -1.45), (0.88, -1.45), (0.88, 1.45), (0.5, 1.45)), (104, 76, 50))
    pen.polygon(((0.56, -1.39), (0.82, -1.39), (0.82, 1.39), (0.56, 1.39)), (92, 150, 84))


def player(pen: Pen, shirt: Colour, dark: Colour, hair: Colour) -> None:
    """A footballer from above."""
    for side in (-1, 1):
        pen.oval((0.3 * side, 0.3 * side), 0.34, 0.13, (244, 246, 250))
        pen.oval((0.3 * side + 0.2, 0.3 * side), 0.2, 0.13, INK)
        pen.line(((0.0, 0.6 * side), (0.1 - 0.3 * side, 0.86 * side)), (226, 172, 130), 0.2)
    pen.oval((-0.04, 0.0), 0.4, 0.78, dark)
    pen.oval((-0.02, 0.03), 0.35, 0.72, shirt)
    for side in (-1, 1):
        pen.oval((-0.02, 0.5 * side), 0.3, 0.06, WHITE)
    pen.disc((0.06, 0.0), 0.4, (226, 172, 130))
    pen.oval((-0.02, 0.0), 0.36, 0.39, hair)
    for side in (-1, 1):
        eye(pen, (0.34, 0.15 * side), 0.09)


def ball(pen: Pen) -> None:
    """A football."""
    pen.disc((0.0, 0.0), 0.98, (40, 44, 56))
    pen.disc((0.0, 0.02), 0.92, WHITE)

    def patch(at: Point, size: float, turn: float) -> None:
        corners = [turn + i * math.tau / 5 for i in range(5)]
        pen.polygon([(at[0] + size * math.cos(c), at[1] + size * math.sin(c)) for c in corners], (40, 44, 56))

    for i in range(5):
        turn = 0.3 + i * math.tau / 5
        pen.line(((0.0, 0.0), (0.7 * math.cos(turn), 0.7 * math.sin(turn))), (120, 126, 140), 0.06)
        patch((0.74 * math.cos(turn), 0.74 * math.sin(turn)), 0.25, turn + math.pi)
    patch((0.0, 0.0), 0.34, 0.3)


def pitch(pen: Pen) -> None:
    """A football pitch, mown in stripes."""
    for i in range(12):
        x = -1.0 + i / 6
        corners = ((x, -0.67), (x + 1 / 6, -0.67), (x + 1 / 6, 0.67), (x, 0.67))
        pen.polygon(corners, (44, 112, 66) if i % 2 else (52, 124, 74))
    chalk, wide = (206, 226, 210), 0.009
    pen.disc((0.0, 0.0), 0.2, chalk)
    pen.disc((0.0, 0.0), 0.2 - wide, (48, 118, 70))
    pen.line(((0.0, -0.66), (0.0, 0.66)), chalk, wide)
    pen.disc((0.0, 0.0), 0.02, chalk)
    for side in (-1, 1):
        for x, y in ((0.72, 0.4), (0.88, 0.26)):
            pen.line(((side, -y), (side * x, -y), (side * x, y), (side, y)), chalk, wide)
        pen.disc((0.8 * side, 0.0), 0.012, chalk)
        pen.line(((-0.72, 0.657 * side), (0.72, 0.657 * side)), chalk, wide)
        pen.line(((0.992 * side, -0.39), (0.992 * side, 0.39)), chalk, wide)
        for other in (-1, 1):
            pen.polygon(((side, 0.39 * other), (side, 0.67 * other), (0.72 * side, 0.67 * other)), (34, 76, 56))
            pen.line(((side, 0.392 * other), (0.725 * side, 0.667 * other)), (84, 104, 150), 0.02)


PICTURES: dict[str, tuple[Callable[[Pen], None], tuple[int, int]]] = {
    "bird": (bird, (112, 80)),
    "car": (car, (128, 64)),
    "ship": (ship, (112, 88)),
    "rock": (rock, (144, 144)),
    "bug": (bug, (112, 112)),
    "coin": (coin, (64, 64)),
    "urchin": (urchin, (112, 112)),
    "sumo_orange": (partial(wrestler, belt=(228, 110, 46), knot=(178, 78, 30)), (128, 112)),
    "sumo_blue": (partial(wrestler, belt=(48, 132, 204), knot=(32, 96, 156)), (128, 112)),
    "dohyo": (dohyo, (512, 512)),
    "crowd": (crowd, (96, 480)),
    "player_orange": (partial(player, shirt=(228, 110, 46), dark=(178, 78, 30), hair=(62, 44, 34)), (104, 104)),
    "player_blue": (partial(player, shirt=(48, 132, 204), dark=(32, 96, 156), hair=(236, 206, 140)), (104, 104)),
    "ball": (ball, (64, 64)),
    "pitch": (pitch, (512, 342)),
    "sheep": (sheep, (96, 72)),
    "dog": (dog, (128, 72)),
    "fold": (fold, (192, 308)),
}


def make(folder: Path) -> None:
    """Write all of them."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, (draw, size) in PICTURES.items():
        pen = Pen(size)
        draw(pen)
        picture = pen.done()
        straight = pygame.surfarray.pixels3d(picture)
        alpha = pygame.surfarray.array_alpha(picture)[..., None].astype(float)
        straight[...] = np.clip(straight * 255.0 / np.maximum(alpha, 1.0), 0, 255).astype(np.uint8)
        del straight
        pygame.image.save(picture, folder / f"{name}.png")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--to", type=Path, default=SPRITES, help="the folder they are written to")
    make(parser.parse_args().to)
