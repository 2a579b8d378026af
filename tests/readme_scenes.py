"""The pages' scene with components and systems of its own, taken from there and never copied."""

from __future__ import annotations

from pages import example

BEACONS = example("systems")
"""A component on a role, a system as a closure, a system as a function of components, and numbers of the arena."""


def beacons_with(old: str, new: str) -> str:
    """Return the scene with one thing in it said otherwise."""
    assert BEACONS.count(old) == 1, f"{old!r} stands {BEACONS.count(old)} times in the scene"
    return BEACONS.replace(old, new)


def line_of(text: str, part: str) -> int:
    """Return the number of the only line that holds this part."""
    (line,) = [number for number, each in enumerate(text.splitlines(), 1) if part in each]
    return line
