"""What happens when the window's own code raises: the part is left out, stderr gets one line, and all else goes on.

A training behind the window never sees such an exception. Tests replace `report` and so see every one.
"""

from __future__ import annotations

import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from ecs_rl.console import tell
from ecs_rl.errors import EcsRlError, visible

T = TypeVar("T")
U = TypeVar("U")
ROOT = Path(__file__).parents[2]


class DisplayLost(Exception):
    """The window is gone: the screen went away, or the window system refuses to draw."""


class Mistakes:
    """Calls the parts of a window, and remembers which places have raised: each is reported once."""

    def __init__(self, say: Callable[[str], object] = lambda text: None) -> None:
        """Take what else tells of a mistake, such as a message in the window."""
        self._say = say
        self.places: set[str] = set()

    def attempt(self, part: str, call: Callable[[], T], otherwise: U) -> T | U:
        """Return what `call` returns, or `otherwise` where it makes a mistake.

        Errors that the user can mend and a display that is gone pass: callers know what to do with them.
        """
        try:
            return call()
        except (EcsRlError, DisplayLost):
            raise
        except Exception as error:
            self.note(part, error)
            return otherwise

    def note(self, part: str, error: Exception) -> None:
        """Report a mistake, unless the same place has made one before."""
        place = place_of(error)
        if place not in self.places:
            self.places.add(place)
            report(part, error, place)
            self._say(f"a mistake of ours: '{part}' is left out")


def report(part: str, error: Exception, place: str) -> None:
    """Print one line that names the part, the error and the line of code."""
    what = visible(f"{type(error).__name__}: {error}", 300)
    tell(f"the window leaves out '{part}': a mistake of ours, {what} ({place})", sys.stderr)


def place_of(error: BaseException) -> str:
    """Return the file and line that raised an error, such as `ecs_rl/viewer/stage.py:12`."""
    last = traceback.extract_tb(error.__traceback__)[-1]
    path = Path(last.filename)
    return f"{path.relative_to(ROOT) if path.is_relative_to(ROOT) else path}:{last.lineno}"
