"""Text in several lines."""

from __future__ import annotations

from functools import lru_cache

from ecs_rl.viewer.canvas import Canvas


@lru_cache(maxsize=64)
def wrapped(text: str, room: int, size: float, canvas: Canvas) -> tuple[str, ...]:
    """Return a text in lines that take no more than so many pixels."""
    lines, line = list[str](), ""
    for word in text.split(" "):
        longer = f"{line} {word}".strip()
        if line and canvas.width(longer, size) > room:
            lines.append(line)
            longer = word
        line = longer
    return (*lines, line)
