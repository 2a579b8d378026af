"""An opponent that somebody wrote: `FILE.py:FUNCTION`, a function from what is seen to actions.

A command line or a scene names such a file: one that a run or a checkpoint names is never run because of that.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ecs_rl.arrays import F32
from ecs_rl.errors import CommandError, nearest, quoted
from ecs_rl.user_files.file_errors import blaming
from ecs_rl.user_files.named import load_object
from ecs_rl.world import DecideAction, PolicyBatch


class Seen:
    """What a policy sees: a column (rows,) for each name, or all of it as `array`, (rows, numbers); read-only.

    A name may be written without the agent's own at its front, `vx` for `orange vx`.
    """

    def __init__(self, names: Mapping[str, int], array: F32) -> None:
        self.names, self.array = names, array.view()
        self.array.flags.writeable = False

    def __getitem__(self, name: str) -> F32:
        if name not in self.names:
            raise LookupError(f"nothing that is seen is called {quoted(name)}; {nearest(str(name), self.names)}")
        return np.asarray(self.array[:, self.names[name]])


def names_of(batch: PolicyBatch) -> dict[str, int]:
    """Return the column of each name, and of each name without the agent's own in front."""
    first = batch.slots[0].spec
    own = [f"{name} " for name in (first.name, batch.name, first.of.name if first.of else "") if name]
    full = {name: column for column, name in enumerate(batch.spec.observations)}
    short = {name.removeprefix(front): i for name, i in full.items() for front in own if name.startswith(front)}
    return short | full


@dataclass(frozen=True)
class Script:
    """A function that was read from a file."""

    reference: str
    """`FILE.py:FUNCTION`, with the whole path."""
    flag: str
    file: Path
    function: Callable[[Seen], Any]

    def policy(self, batch: PolicyBatch) -> DecideAction:
        """Return what drives the rows of a policy: CommandError where the function breaks or gives no action."""
        names, actions = names_of(batch), batch.spec.actions

        def decide(observation: F32, state: F32) -> NDArray[Any]:
            with blaming(self.flag, self.file):
                answer = np.asarray(self.function(Seen(names, observation)))
            none = actions.none(len(observation))
            if answer.dtype.kind in ("bui" if none.dtype.kind == "i" else "buif"):
                answer = answer.astype(none.dtype)
                if answer.ndim == 0:
                    answer = np.full_like(none, answer)
            wrong = actions.wrong(answer, len(observation))
            if wrong is not None:
                message = f"{wrong.what} {wrong.why} in row {wrong.row}" if wrong.why else wrong.what
                raise CommandError(f"{self.flag} {self.reference}: {message}; there are: {_described(actions.about)}")
            return answer

        return decide


def _described(about: Mapping[str, str]) -> str:
    return ", ".join(f"{name} ({what})" for name, what in about.items())


def load_script(flag: str, text: str) -> Script:
    """Return the function that `FILE.py:FUNCTION` names, after running its file; CommandError if there is none."""
    script = load_object(flag, text)
    if not callable(script.value):
        raise CommandError(f"{flag} {text}: '{script.name}' is no function, but {quoted(script.value)}")
    return Script(script.reference, flag, script.file, script.value)
