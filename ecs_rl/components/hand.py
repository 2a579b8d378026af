"""What comes from outside into a world that somebody watches: a hand that pulls and kicks, and eyes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(slots=True)
class Hand:
    """What a person does to the bodies of one arena. Set by the window between two ticks, carried out by meddle."""

    arena: int = 0
    role: int | None = None
    """The number of the role that is held; None holds nothing."""
    at: tuple[float, float] = (0.0, 0.0)
    """Where it is held, in the body's own axes, metres."""
    to: tuple[float, float] = (0.0, 0.0)
    """Where the hand is, in the arena's axes, metres."""
    kicked: int | None = None
    """The number of the role that gets a kick in the coming tick; meddle clears it."""
    kick: tuple[float, float, float] = (0.0, 0.0, 0.0)
    """What the kick adds to the body's velocity and spin: metres per second twice, radians per second."""


@dataclass(slots=True)
class Onlooker:
    """Somebody who watches a world. Set when the world is built."""

    look: Callable[[], None]
    """Called once a tick, when all is judged and nothing has started again; must not change anything."""
