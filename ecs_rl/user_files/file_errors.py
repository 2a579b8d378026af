"""An error in a user's file as one line: the file, the line, what is wrong, and which name was meant."""

from __future__ import annotations

import builtins
import difflib
import re
import sys
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from ecs_rl.errors import CommandError, EcsRlError, is_interrupt, words_of

LONGEST = 300
"""Characters of an error of Python's own that are repeated."""


@contextmanager
def blaming(flag: str, file: Path) -> Iterator[None]:
    """Turn whatever goes wrong in a file's own lines into a CommandError that names the flag, the file and the line.

    What this project refuses keeps its kind, and an error that never was in the file stays what it is.
    """
    try:
        yield
    except SyntaxError as error:
        raise CommandError(f"{flag}: {syntax_problem(error, file)}") from error
    except EcsRlError:
        raise
    except BaseException as error:
        lines = [] if is_interrupt(error) else lines_in(str(file), error)
        if not lines:
            raise
        raise CommandError(f"{flag}: {problem_at(file, lines, problem(error))}") from error


def syntax_problem(error: SyntaxError, file: str | Path) -> str:
    """Return where a file is no Python, and why."""
    line = f", line {error.lineno}" if error.lineno else ""  # a file that is no text has none
    return f"{error.filename or file}{line}: {error.msg}"


def problem_at(file: str | Path, lines: Sequence[int], text: str) -> str:
    """Return a problem behind its file and line, with the line of the file that called there."""
    caller = f" (called in line {lines[-2]})" if len(set(lines)) > 1 else ""
    return f"{file}, line {lines[-1]}: {text}{caller}"


def lines_in(file: str, error: BaseException) -> list[int]:
    """Return the lines of a file that led to an error, the outermost first; none if it was not there."""
    frames = traceback.extract_tb(error.__traceback__)
    return [frame.lineno for frame in frames if frame.filename == file and frame.lineno is not None]


def problem(error: BaseException) -> str:
    """Return what is wrong, and which name was meant where one is near."""
    if isinstance(error, SystemExit):
        return "this ends the whole program: take it out"
    return python_problem(error) or with_kind(error, message_of(error), _name_meant(error))


def python_problem(error: BaseException) -> str:
    """Return what is wrong with an exception that belongs to Python itself; "" for any other."""
    if isinstance(error, KeyboardInterrupt | GeneratorExit):
        return f"{type(error).__name__} is Python's own: raise another error, such as ValueError"
    return ""


def message_of(error: BaseException) -> str:
    """Return the message of an error without the guess that Python 3.13 makes: ours knows more names."""
    return re.sub(r"\. Did you mean:? '\w+'\?$", "", words_of(error))


def with_kind(error: BaseException, message: str, hint: str) -> str:
    """Return the class of an error, its message, cut where it is long, and a hint, as far as there are any."""
    cut = message if len(message) <= LONGEST else f"{message[:LONGEST]}..."
    return ": ".join(filter(None, (type(error).__name__, cut, hint)))


def _name_meant(error: BaseException) -> str:
    """Return `did you mean 'x'?`, "" where no name is near."""
    frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__)]
    word, names = "", list[str]()
    if isinstance(error, NameError) and not isinstance(error, UnboundLocalError):
        if error.name == "np":
            return "add `import numpy as np`"
        names = [*frames[-1].f_locals, *frames[-1].f_globals, *vars(builtins)]
        word = error.name or ""
    elif isinstance(error, AttributeError):
        word, names = error.name or "", dir(error.obj)
    elif isinstance(error, ImportError) and (match := re.match("cannot import name '(\\w+)'", words_of(error))):
        word, names = match[1], dir(sys.modules.get(error.name or ""))
    close = difflib.get_close_matches(word, [n for n in names if not n.startswith("_")], n=1)
    return f"did you mean '{close[0]}'?" if close else ""
