"""The colours: dark and calm, with the hues of Okabe and Ito, which the colour-blind tell apart too.

See Okabe and Ito, "Color Universal Design" (2008). No meaning rests on a colour alone:
signs, words or shapes say it too.
"""

from __future__ import annotations

from functools import lru_cache

from ecs_rl.scene.look import COLOURS

Colour = tuple[int, int, int]

SKY, ORANGE, GREEN = COLOURS["sky"], COLOURS["orange"], COLOURS["green"]
YELLOW, BLUE = COLOURS["yellow"], COLOURS["blue"]
VERMILION, PURPLE = COLOURS["vermilion"], COLOURS["purple"]

NIGHT: Colour = (13, 17, 25)
"""Behind everything, and the top of the sky."""
DUSK: Colour = (24, 33, 49)
"""The sky near the ground."""
EARTH: Colour = (38, 48, 63)
EARTH_DEEP: Colour = (20, 26, 36)
EARTH_EDGE: Colour = (122, 143, 170)
PANEL: Colour = (19, 24, 34)
RAISED: Colour = (30, 38, 52)
"""Chips, key caps and the tracks of bars."""
RULE: Colour = (42, 52, 69)
"""Hairlines and axes."""
TEXT: Colour = (231, 237, 245)
DIM: Colour = (158, 172, 192)
"""Labels; 7:1 against a panel."""
FAINT: Colour = (117, 132, 155)
"""Units and ticks; 4.5:1 against a panel."""

GOOD, BAD, WARN = GREEN, VERMILION, ORANGE
MAIN_LINE, SECOND_LINE = SKY, ORANGE
ROLES: tuple[Colour, ...] = (SKY, ORANGE, PURPLE, GREEN, YELLOW, VERMILION, BLUE)


@lru_cache(maxsize=4096)
def mix(one: Colour, other: Colour, share: float) -> Colour:
    """Return the colour that is `share` of the way from one to the other."""
    share = min(max(share, 0.0), 1.0)
    r, g, b = (round(a + (b - a) * share) for a, b in zip(one, other, strict=True))
    return r, g, b


def role_colour(number: int) -> Colour:
    """Return the colour of a role that has none of its own."""
    return ROLES[number % len(ROLES)]
