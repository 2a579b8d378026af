"""How a role or a mark looks in a window. It has no effect on the physics, and training never reads a picture."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from ecs_rl.errors import SceneError, nearest
from ecs_rl.scene.checks import Point, named, not_negative, point, positive, quote
from ecs_rl.shipped import ASSETS

Colour = tuple[int, int, int]
"""Red, green and blue, 0 to 255."""
COLOURS: dict[str, Colour] = {
    "sky": (92, 184, 236),
    "orange": (236, 166, 42),
    "green": (34, 176, 132),
    "yellow": (242, 230, 90),
    "blue": (48, 132, 204),
    "vermilion": (228, 110, 46),
    "purple": (210, 134, 176),
}
"""The hues of Okabe and Ito, which the colour-blind tell apart too; the window's own are made of them."""


BACKDROPS = ("night", "space", "dusk", "meadow")
"""What a window and films can show behind an arena."""


@dataclass(frozen=True)
class Look:
    """How a role or a mark is drawn; training never sees it."""

    colour: str | None = None
    """`sky`, `orange`, `green`, `yellow`, `blue`, `vermilion` or `purple` (the colour-blind tell them apart), or
    `#rrggbb`; None leaves it to the window."""
    sprite: str | None = None
    """A PNG file, by its path from the scene's file or from `assets/`."""
    width: float | None = None
    """Metres; the height keeps the picture's proportion. None: as wide as the shapes."""
    at: Point = (0.0, 0.0)
    """Where the picture's middle is, in the body's own axes, metres."""
    glow: float = 0.0
    """How far soft light of its colour reaches around it, metres."""
    layer: int = 0
    """What has a higher one lies above; in the same one marks lie below roles, and what was said later lies above."""

    def __post_init__(self) -> None:
        if self.colour is not None:
            rgb(self.colour)
        if self.sprite is not None and not named("a sprite", self.sprite).lower().endswith(".png"):
            raise SceneError(f"a sprite must be a PNG file, not {quote(self.sprite)}")
        if self.width is not None:
            positive("a sprite's width", self.width)
        not_negative("how far a look's glow reaches", self.glow)
        if not isinstance(self.layer, int):
            raise SceneError(f"a look's layer must be a whole number, not {quote(self.layer)}")
        placed = point("a sprite's place", self.at) != (0.0, 0.0)
        if self.sprite is None and (placed or self.width is not None):
            raise SceneError("a look's width and at are those of its sprite: name that too, as in sprite='cart.png'")


def rgb(colour: str) -> Colour:
    """Return red, green and blue of a colour given by name or as `#rrggbb`, or refuse what is neither."""
    if isinstance(colour, str) and colour in COLOURS:
        return COLOURS[colour]
    if not isinstance(colour, str) or not re.fullmatch("#[0-9a-fA-F]{6}", colour):
        hint = nearest(str(colour), COLOURS)  # an everyday name such as red may be near, and none of them
        hint += "" if hint.startswith("there is") else f" there is: {', '.join(sorted(COLOURS))}"
        raise SceneError(f"a colour must be a name or '#rrggbb', not {quote(colour)}: {hint}")
    red, green, blue = bytes.fromhex(colour[1:])
    return red, green, blue


def sprite_file(look: Look, scene: str) -> Path | None:
    """Return the file of a look's sprite in the scene of this file ('': of none), None without a sprite.

    SceneError where there is no such file.
    """
    if look.sprite is None:
        return None
    folders = [Path(scene).parent, ASSETS] if scene else [ASSETS]
    for folder in folders:
        if (folder / look.sprite).is_file():
            return folder / look.sprite
    places = " nor in ".join(str(folder) for folder in folders)
    raise SceneError(f"there is no sprite '{look.sprite}' in {places}: check the path")
