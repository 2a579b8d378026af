"""Pictures as files in the folder of a run."""

from __future__ import annotations

import io
import sys
from datetime import UTC, datetime
from pathlib import Path

import pygame

from ecs_rl.console import tell
from ecs_rl.files import Folder
from ecs_rl.viewer.panel import App


def save_png(surface: pygame.Surface, path: Path) -> None:
    """Write a picture as a whole or not at all; StorageError if it cannot be written."""
    data = io.BytesIO()
    pygame.image.save(surface, data, "picture.png")
    Folder(path.parent).write(path.name, data.getvalue(), sync=False)


def stamp() -> str:
    """Return the present time for the name of a file."""
    return datetime.now(UTC).strftime("%Y%m%d_%H%M%S_%f")[:-3]


def short_path(path: Path) -> str:
    """Return the end of a path, as far as it says where in the run a file is."""
    return "/".join(path.parts[-2:])


def write_picture(app: App, surface: pygame.Surface, kind: str, what: str = "picture") -> None:
    """Write a picture of this kind, and say where it is; the terminal has the whole path."""
    path = app.run.folder / "pictures" / f"{kind}_{stamp()}.png"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        pygame.image.save(surface, path)
    except (OSError, pygame.error) as error:
        app.say(f"no {what} could be written to {path}: {error}", "bad")
    else:
        app.say(f"{what} written: {short_path(path)}", "good")
        tell(f"{what} written: {path}", sys.stderr)
