"""What comes from outside into a world that somebody watches: a hand that pulls and kicks."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class UserInput:
    """What a person does to the bodies of one arena. Set by the window between two ticks, carried out by interact."""

    arena: int = 0
    role: int | None = None
    """The number of the role that is held; None holds nothing."""
    at: tuple[float, float] = (0.0, 0.0)
    """Where it is held, in the body's own axes, metres."""
    to: tuple[float, float] = (0.0, 0.0)
    """Where the hand is, in the arena's axes, metres."""
    kicked: int | None = None
    """The number of the role that gets a kick in the coming tick; interact clears it."""
    kick: tuple[float, float, float] = (0.0, 0.0, 0.0)
    """What the kick adds to the body's velocity and spin: metres per second twice, radians per second."""
