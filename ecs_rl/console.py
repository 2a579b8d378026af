"""What to do when whoever reads our output has gone, as `train.py --help | head` does, or it cannot be written at all.

Two kinds of text: `tell` is for what goes along with the work, which nothing depends on; `deliver` is for what a
command was asked for, and a command that could not deliver has failed.
"""

from __future__ import annotations

import io
import math
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TextIO

from ecs_rl.errors import StorageError


@dataclass
class UnendedLine:
    """The line of progress that stands at the end of a terminal's output without a new line after it."""

    stream: TextIO | None = None
    """Where it stands, None if there is none."""
    width: int = 0
    """Its characters, which the next one must cover."""


_unended = UnendedLine()


def write_over(text: str, stream: TextIO) -> None:
    """Write a line over the one before, unless something else was printed since."""
    stream.write(f"\r{text.ljust(_unended.width)}")
    stream.flush()
    _unended.stream, _unended.width = stream, len(text)


def end_line() -> None:
    """Let what is printed next begin a line of its own."""
    stream, _unended.stream, _unended.width = _unended.stream, None, 0
    if stream is not None:
        with suppress(OSError, ValueError):  # nobody is there to read it
            stream.write("\n")
            stream.flush()


def tell(text: str, stream: TextIO | None = None) -> None:
    """Print to this stream, stdout if none is named; one that cannot be written is no reason to fail."""
    end_line()
    stream = stream or sys.stdout
    try:
        print(text, file=stream, flush=True)
    except OSError:
        redirect_to_nowhere(stream)


def deliver(text: str) -> None:
    """Print to stdout what the command was asked for; StorageError if it cannot be written."""
    with delivering():
        print(text, flush=True)


@contextmanager
def delivering() -> Iterator[None]:
    """Turn an OSError of stdout into a StorageError; a reader that had seen enough, as `head` has, is no error."""
    try:
        yield
        if sys.stdout is not None:
            sys.stdout.flush()
    except BrokenPipeError:
        redirect_to_nowhere(sys.stdout)
    except OSError as error:
        redirect_to_nowhere(sys.stdout)
        raise StorageError(f"cannot write to stdout: {error.strerror}; send it where it can be written") from error


def redirect_to_nowhere(stream: TextIO) -> None:
    """Let later writes to a stream that is broken succeed; Python's own flush at exit would fail on it otherwise."""
    try:
        descriptor = stream.fileno()
    except (OSError, ValueError):
        return  # not a real file: nothing is flushed at exit
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, descriptor)
    os.close(nowhere)


def mend_streams() -> None:
    """Put something in the place of closed streams, and let every text be written in any encoding.

    A descriptor that is left closed would be given to the next file that is opened, and what is printed would end up in
    a checkpoint. Nothing can be written to the new stdout, so that `deliver` still fails; a new stderr takes all.
    """
    if sys.stdin is None:
        os.open(os.devnull, os.O_RDONLY)
    if sys.stdout is None:
        sys.stdout = _nowhere(os.O_RDONLY)
    if sys.stderr is None:
        sys.stderr = _nowhere(os.O_WRONLY)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper) and stream.errors != "backslashreplace":
            stream.reconfigure(errors="backslashreplace")


def _nowhere(flags: int) -> TextIO:
    return open(os.open(os.devnull, flags), "w", encoding="utf-8", closefd=False)


def settle_streams() -> None:
    """Flush what is left, so that Python finds nothing to complain about at exit."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            redirect_to_nowhere(stream)


def number(value: float | None) -> str:
    """Return `132.4`, more digits for small numbers, `1.234e+07` for huge ones, or nothing for what is not known."""
    if value is None or not math.isfinite(value):
        return ""
    if abs(value) >= 1e7:
        return f"{value:.4g}"
    return f"{value:,.1f}" if abs(value) >= 10 else f"{value:.3g}"
