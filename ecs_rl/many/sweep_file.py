"""`sweep.json` in a sweep's folder: what was tried, how each trial went, and what it takes to go on."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from time import monotonic
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from ecs_rl.errors import CheckpointError, CommandError
from ecs_rl.files import UNREADABLE, opened, plain
from ecs_rl.many.ranges import in_words
from ecs_rl.runs.lock import RunLock

FILE = "sweep.json"
GRID, RANDOM, OPTUNA, POPULATION = SEARCHES = ("grid", "random", "optuna", "population")
"""How settings are found; in a population they change while they are tried."""
SOLVED_STEP, BEST_EVAL = "solved_step", "best_eval"
"""What a trial is judged by: the mean over its seeds of the steps to solve, or of the best evaluation."""
MOST_BYTES = 1 << 28
WRITE_EVERY = 1.0
"""Seconds between two writes while nothing begins or ends."""
BROKEN = ("diverged", "failed")
OVER = ("finished", "solved", "stopped early", *BROKEN)
"""States of a trial that does not go on."""
OF_THE_CALL = frozenset(
    {
        "scene",
        "agent",
        "seed",
        "seeds",
        "name",
        "version",
        "runs",
        "resume",
        "json",
        "threads",
        "ray",
        "sweep",
        "trials",
    }
    | {"population", "early_stopping", "tb", "recorder", "pace", "watch", "check", "config", "workers"}
)
"""Settings that may differ between two lives of a sweep, or are compared by themselves."""
Count = Annotated[int, Meta(ge=0, le=2**53)]
Number = Annotated[int, Meta(ge=0, le=100_000)]
"""Of a trial or a seed, or how many there are."""
State = Annotated[str, Meta(pattern=rf"^({'|'.join(('running', 'interrupted', *OVER))})\Z")]


class TakenOver(msgspec.Struct):
    """That a member of a population went on from where another one stood."""

    steps: Count
    member: Number
    """The other one."""
    setting: dict[str, Any]
    """What it trained with from there on."""


class Row(msgspec.Struct, kw_only=True):
    """One trial."""

    trial: Number
    setting: dict[str, Any]
    state: State = "running"
    """`running`, then `interrupted` or one of `OVER`."""
    steps: Count = 0
    """Of each seed."""
    value: float | None = None
    """What it is judged by, None before the first evaluation and where it failed."""
    solved: Number = 0
    """How many seeds were."""
    runs: list[str] = []
    summaries: list[dict[str, Any]] = msgspec.field(default_factory=list, name="told")
    """The JSON object of each run, as of its newest report. Its key in `sweep.json` is `told`, which never changes."""
    curve: list[tuple[Count, float]] = []
    """Steps, and the mean over the seeds of the best evaluation by then."""
    message: str = ""
    taken_over: list[TakenOver] = []
    """In a population, what it took over, first to last."""

    @property
    def over(self) -> bool:
        """Whether there is nothing to go on with."""
        return self.state in OVER


class Sweep(msgspec.Struct, kw_only=True):
    """All that is known of a sweep."""

    scene: str
    agent: str
    measure: str
    """`best_eval`, of which more is better, or `solved_step`, of which less is."""
    search: str
    """`grid`, `random`, `optuna` or `population`."""
    ranges: list[str]
    seed: int
    seeds: int
    trials: Number
    early_stopping: bool
    settings: dict[str, Any]
    """What all trials have in common, every setting resolved."""
    status: Annotated[str, Meta(pattern=r"^(running|interrupted|finished)\Z")] = "running"
    rounds: Number = 0
    """How often the members of a population have been compared."""
    rows: list[Row] = []

    @property
    def population(self) -> int:
        """How many members it has, 0 where it is none."""
        return self.trials if self.search == POPULATION else 0

    @property
    def row_name(self) -> str:
        """What its rows are called: trial or member."""
        return "member" if self.population else "trial"

    @property
    def sign(self) -> float:
        """What the measure is multiplied by for more to be better."""
        return 1.0 if self.measure == BEST_EVAL else -1.0

    def ranked(self) -> list[Row]:
        """Return the trials, the best first, of equals the one that was there sooner.

        Those that were not judged, or did not end well, come last.
        """

        def key(row: Row) -> tuple[bool, bool, float, float, int, int]:
            value = -self.sign * row.value if row.value is not None else 0.0
            best, at = max(((best, -step) for step, best in row.curve), default=(0.0, 0))
            return (row.value is None, row.state in BROKEN, value, -best, -at, row.trial)

        return sorted(self.rows, key=key)

    @property
    def best(self) -> Row | None:
        """The trial whose settings are the recipe, if any was judged."""
        first = next(iter(self.ranked()), None)
        return None if first is None or first.value is None or first.state in BROKEN else first


class SweepFile:
    """A sweep that is written to its folder, by one process at a time."""

    def __init__(self, folder: Path, sweep: Sweep) -> None:
        self.path, self.sweep = folder, sweep
        self._lock = RunLock(folder)
        self._written_at = 0.0

    def __reduce__(self) -> Any:
        raise TypeError("a sweep's file stays in the process that writes it")

    def write(self, *, now: bool = True) -> None:
        """Replace sweep.json; unless it must be `now`, not more than once a second."""
        if not now and monotonic() - self._written_at < WRITE_EVERY:
            return
        content = msgspec.json.encode(self.sweep, enc_hook=plain)
        self._lock.folder.write(FILE, msgspec.json.format(content, indent=1) + b"\n", sync=False)
        self._written_at = monotonic()

    def put(self, name: str, content: bytes) -> Path:
        """Write another file beside it, and return its path."""
        self._lock.folder.write(name, content, sync=False)
        return self.path / name

    def close(self) -> None:
        """Let others write it."""
        self._lock.release()


def read_sweep(folder: Path) -> Sweep:
    """Return what a sweep's folder says; CheckpointError if it is none."""
    try:
        with opened(folder / FILE, MOST_BYTES) as (file, size):
            return msgspec.json.decode(file.read(size), type=Sweep)
    except (OSError, *UNREADABLE) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise CheckpointError(f"{folder} is no sweep that can be gone on with: {FILE}: {reason}") from error


def newest_sweep(folder: Path) -> Path:
    """Return the newest sweep below a name's folder that was not finished; CommandError if there is none."""
    for path in sorted(folder.glob(f"*/{FILE}"), key=lambda path: path.stat().st_mtime_ns, reverse=True):
        if read_sweep(path.parent).status != "finished":
            return path.parent
    raise CommandError(f"--resume: there is no sweep in {folder} to go on with: name its folder, or leave --resume out")


def refuse_another(before: Sweep, now: Sweep, folder: Path) -> None:
    """Refuse to go on with another sweep than was begun; only the number of trials may have grown."""
    for name in ("scene", "agent", "measure", "population", "ranges", "seed", "seeds", "early_stopping"):
        old, new = getattr(before, name), getattr(now, name)
        if old != new:
            first = " ".join(old) if name == "ranges" else old
            flag = "sweep" if name == "ranges" else name
            raise CommandError(
                f"--resume: {folder} was begun with another {flag}: {first}: give the same, or begin anew"
            )
    for name in sorted({*before.settings, *now.settings}):
        value = before.settings.get(name)
        if value != now.settings.get(name):
            first = f"{name} {in_words({name: value}).partition('=')[2]}"
            raise CommandError(f"--resume: {folder} was begun with {first}: give the same, or begin anew")


def common_settings(plain_settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return what of a training's resolved settings must stay the same in a sweep, in one level."""
    settings: dict[str, Any] = {}
    for name, value in plain_settings.items():
        if isinstance(value, Mapping):
            settings |= {f"{name}.{own}": item for own, item in value.items()}
        elif name not in OF_THE_CALL:
            settings[name] = value
    return settings
