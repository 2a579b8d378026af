"""Nine small games, each a file as a user would write it: what a scene can be, and what tests of whole games play."""

from __future__ import annotations

from pathlib import Path

GAMES = ("shooter", "forager", "soccer", "flappy", "walker", "tag", "sumo", "cards", "maze")
TEXTS = {name: (Path(__file__).parent / "scenes" / f"{name}.py").read_text() for name in GAMES}


def game(name: str) -> str:
    """Return the path of a game's file."""
    return str(Path(__file__).parent / "scenes" / f"{name}.py")
