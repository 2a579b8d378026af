"""What a command is as a process: the signals that it answers, and how it begins and ends.

Nothing heavy is imported here: this must be there before anything that takes its time.
"""

from __future__ import annotations

import os
import select
import signal
import sys
import threading
import time
from collections.abc import Callable
from importlib import import_module
from types import FrameType, TracebackType
from typing import Any, NoReturn, Self

from ecs_rl.cli.called import program
from ecs_rl.console import mend_streams, settle_streams, tell
from ecs_rl.distributed.place import JOINING
from ecs_rl.errors import EcsRlError

ECHO = 1.0
"""Seconds in which a second signal is still the first: a terminal and a wrapper both send the same Ctrl-C."""
NOTHING_SAVED = "interrupted before training began: nothing was saved"

First = Callable[[signal.Signals], None]


class Answer:
    """A handler that lets the first signal call `first`, ignores its echoes, and ends the process at a later one."""

    def __init__(self, first: First) -> None:
        self.first = first
        self.came: signal.Signals | None = None
        """The first signal."""
        self._came_at = 0.0
        self._before: dict[signal.Signals, Any] = {}

    def __call__(self, number: int, frame: FrameType | None) -> None:
        """Answer a signal."""
        now = time.monotonic()
        if self.came is None:
            self.came, self._came_at = signal.Signals(number), now
            self.first(self.came)
        elif now - self._came_at > ECHO:
            signal.signal(number, signal.SIG_DFL)
            signal.raise_signal(number)

    def install(self) -> None:
        """Answer SIGINT, SIGTERM and, unless somebody like `nohup` has it ignored, SIGHUP."""
        self._before = {each: signal.signal(each, self) for each in answered_signals()}

    def __enter__(self) -> Self:
        """Answer from here on."""
        self.install()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        """Give the signals back; after one of them only the end is left, which an echo must not disturb."""
        for number, handler in self._before.items():
            signal.signal(number, signal.SIG_IGN if self.came else handler)


def answered_signals() -> list[signal.Signals]:
    """Return the signals that ask a command to end."""
    signals = [signal.SIGINT, signal.SIGTERM]
    if hasattr(signal, "SIGHUP") and signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
        signals.append(signal.SIGHUP)
    return signals


def leaving(words: str) -> First:
    """Return an answer that says this and ends the process at once: for as long as there is nothing to lose.

    An exception would not do: in the middle of an import it can turn into another one, or vanish.
    """

    def leave(number: signal.Signals) -> None:
        say_now(words)
        os._exit(128 + number)

    return leave


def say_now(words: str) -> None:
    """Write a line to stderr from within a signal's handler, whatever is being written at this moment."""
    try:
        # The descriptor itself: the stream may be in use. A reader that is stuck must not hold up the handler.
        if os.name == "nt" or select.select([], [2], [], 0)[1]:
            block = "\n" if os.isatty(2) else ""  # the live block leaves the cursor at the end of its last line
            os.write(2, f"{block}{words}\n".encode("ascii", "backslashreplace"))
    except (OSError, ValueError):
        return  # the terminal is gone, which may be why the signal came


def carry_out(name: str, words: str, command: Callable[[Answer], int]) -> int:
    """Run the command `train` or `play` and return its exit code; `words` are said where a signal ends it early."""
    mend_streams()
    words = f"{program(name)}: {words}"
    with Answer(leaving(words)) as answer:
        try:
            return command(answer)
        except EcsRlError as error:
            tell(f"{program(name)}: {error}", sys.stderr)
            return error.exit_code
        except KeyboardInterrupt:
            tell(words, sys.stderr)
            return 128 + (answer.came or signal.SIGINT)


def run_program(name: str, module: str, words: str) -> NoReturn:
    """Be the command that the `main` of a module is, and exit with its code.

    `words` are said where a signal comes before `main` answers it.
    """
    mend_streams()
    Answer(leaving(f"{name}: {words}")).install()
    code = 0
    try:
        code = import_module(module).main(sys.argv[1:])
    finally:
        for number in answered_signals():
            signal.signal(number, signal.SIG_IGN)  # all is said: there is nothing left to interrupt
        settle_streams()
    if any(thread.name == JOINING for thread in threading.enumerate()):
        os._exit(code)  # what torch still waits for there would abort a process that ends in the usual way
    sys.exit(code)
