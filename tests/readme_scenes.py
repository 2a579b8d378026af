"""The README's scene with components and systems of its own, taken from there and never copied."""

from __future__ import annotations

import re
from pathlib import Path

README = Path(__file__).parents[1] / "README.md"


def example(name: str) -> str:
    """Return the code that stands in the README under `<!-- example NAME: a test runs it -->`."""
    found = re.search(rf"<!-- example {name}: a test runs it -->\n```python\n(.*?)```", README.read_text("utf-8"), re.S)
    assert found is not None, f"the README has no example {name}"
    return found[1]


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
