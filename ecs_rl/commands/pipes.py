"""What to do when whoever reads our output has gone, as `train.py --help | head` does."""

from __future__ import annotations

import os
import sys
from typing import TextIO


def tell(text: str, stream: TextIO | None = None) -> None:
    """Print to this stream, stdout if none is named; a reader that has gone is no reason to fail."""
    stream = stream or sys.stdout
    try:
        print(text, file=stream, flush=True)
    except BrokenPipeError:
        redirect_to_nowhere(stream)


def redirect_to_nowhere(stream: TextIO) -> None:
    """Let later writes to a broken pipe succeed; Python's own flush at exit would fail on it otherwise."""
    try:
        descriptor = stream.fileno()
    except (OSError, ValueError):
        return  # not a real file: nothing is flushed at exit
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, descriptor)
    os.close(nowhere)
