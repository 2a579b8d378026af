"""What to do when whoever reads our output has gone, as `train.py --help | head` does."""

from __future__ import annotations

import os
from typing import TextIO


def redirect_to_nowhere(stream: TextIO) -> None:
    """Let later writes to a broken pipe succeed; Python's own flush at exit would fail on it otherwise."""
    try:
        descriptor = stream.fileno()
    except (OSError, ValueError):
        return  # not a real file: nothing is flushed at exit
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, descriptor)
    os.close(nowhere)
