"""`train.py SCENE --seeds K`: a process for each seed, as many at a time as there are cores for, and one report.

Every process is `train.py` itself with one seed: what it writes is an ordinary run, the same as without the others.
"""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import tempfile
import threading
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from queue import Empty, Queue
from typing import IO, Any

import msgspec

from ecs_rl.commands.called import program
from ecs_rl.commands.init_from import start_from
from ecs_rl.commands.process import Answer, say_now
from ecs_rl.commands.seeds_report import Outcome, Shown, heading, report, shown_on
from ecs_rl.commands.settings import TrainSettings
from ecs_rl.commands.train import SAVING, ready
from ecs_rl.console import tell

ROOT = Path(__file__).resolve().parents[2]
"""The folder that this package is in: a process that was not started from there finds it all the same."""
CHILD = (
    "import sys; sys.path.insert(0, sys.argv.pop(1)); "
    "from ecs_rl.commands.process import NOTHING_SAVED, end_with_parent, run_program; "
    "end_with_parent(); run_program('train.py', 'ecs_rl.commands.train', NOTHING_SAVED)"
)
ASK_EVERY = 0.1
"""Seconds after which the display is drawn anew although no run has said anything."""
LAST_LINES = 60
MESSAGE = re.compile(r"(?:train\.py|ecs-rl train): (.*)")
NOT_BEGUN = {128 + signal.SIGINT, 128 + signal.SIGTERM, -signal.SIGINT, -signal.SIGTERM}
"""How a run ends that was stopped before its first tick: there is nothing to save."""


def run_seeds(argv: Sequence[str], settings: TrainSettings, answer: Answer) -> int:
    """Train all seeds and report; return the exit code of the first run that failed, 0 if none did."""
    settings, training = ready(settings)  # what is wrong with the command is told once, and not by every run
    try:
        if settings.init_from is not None:
            start_from(training, settings.init_from)
    finally:
        training.close()
    stream = sys.stderr if settings.json else sys.stdout
    seeds = range(settings.seed, settings.seed + settings.seeds)
    with shown_on(stream, heading(settings, at_once(settings)), "seed", seeds) as shown:
        runs = SeedRuns(argv, settings, shown)
        answer.first = runs.stop
        try:
            outcomes = runs.all()
        finally:
            runs.end()
    if runs.stopped and not any(each.told for each in outcomes):
        raise KeyboardInterrupt
    code = report(settings, outcomes, stream, interrupted=runs.stopped)
    return runs.exit_code or code


def at_once(settings: TrainSettings) -> int:
    """Return how many runs there are at a time: each takes `--threads` of the cores."""
    from ecs_rl.commands.parse import cores

    return max(1, min(settings.seeds, cores() // settings.threads))


@dataclass
class Child:
    """The process of one seed."""

    seed: int
    process: subprocess.Popen[str]
    out: IO[bytes]
    """What it writes to stdout."""
    said: deque[str] = field(default_factory=lambda: deque(maxlen=LAST_LINES))
    """The last lines of its stderr that are neither progress nor messages."""
    messages: list[str] = field(default_factory=list)


class SeedRuns:
    """Starts the runs, listens to them, and stops them all when it is asked to."""

    def __init__(self, argv: Sequence[str], settings: TrainSettings, shown: Shown) -> None:
        self.settings, self._shown = settings, shown
        self.stopped = False
        self.exit_code = 0
        """Of the first run that failed."""
        self._argv = arguments(argv, settings)
        self._running: list[Child] = []
        self._lines: Queue[tuple[Child, str | None]] = Queue()
        """What the runs say, line by line, and None where one has ended."""

    def all(self) -> list[Outcome]:
        """Train every seed and return how each one went, in their order."""
        settings = self.settings
        waiting = deque(range(settings.seed, settings.seed + settings.seeds))
        most, outcomes = at_once(settings), {seed: Outcome(seed) for seed in waiting}
        while self._running or (waiting and not self.stopped):
            while waiting and len(self._running) < most and not self.stopped:
                self._start(waiting.popleft())
            try:
                child, line = self._lines.get(timeout=ASK_EVERY)
            except Empty:
                self._shown.draw()
                continue
            if line is None:
                outcomes[child.seed] = self._ended(child)
            else:
                self._take(child, line)
        return list(outcomes.values())

    def stop(self, number: signal.Signals) -> None:
        """Let every run save and end; called from within a signal's handler."""
        self.stopped = True
        for child in list(self._running):
            child.process.terminate()
        say_now(f"{program('train')}: {number.name}: every run is {SAVING}")

    def end(self) -> None:
        """Leave no process behind: runs whose pipe closes save and end."""
        for child in self._running:
            assert child.process.stdin is not None
            child.process.stdin.close()
            child.process.wait()

    def _start(self, seed: int) -> None:
        out = tempfile.TemporaryFile()  # noqa: SIM115  # a pipe that nobody reads until the end could fill up
        process = subprocess.Popen(
            [sys.executable, "-P", "-c", CHILD, str(ROOT), *self._argv, "--seed", str(seed)],
            stdin=subprocess.PIPE,
            stdout=out,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            start_new_session=True,  # Ctrl-C comes to this process alone, which hands it on
        )
        child = Child(seed, process, out)
        self._running.append(child)
        if self.stopped:  # the signal came while it was made
            process.terminate()
        self._shown.state(seed, "training")
        threading.Thread(target=self._listen, args=(child,), daemon=True).start()

    def _listen(self, child: Child) -> None:
        assert child.process.stderr is not None
        for line in child.process.stderr:
            self._lines.put((child, line.rstrip()))
        child.process.wait()
        self._lines.put((child, None))

    def _take(self, child: Child, line: str) -> None:
        """Show progress and messages; keep all else for the case that the run fails."""
        if line.startswith("steps "):
            self._shown.progress(child.seed, line)
            return
        message = MESSAGE.fullmatch(line)
        if message is None:
            child.said.append(line)
        elif not message[1].endswith(SAVING):
            child.messages.append(message[1])
            self._shown.message(child.seed, message[1])

    def _ended(self, child: Child) -> Outcome:
        """Return how a run went, and tell it if it failed."""
        self._running.remove(child)
        for pipe in (child.process.stdin, child.process.stderr):
            assert pipe is not None
            pipe.close()
        told, code = last_object(child.out), child.process.returncode
        child.out.close()
        if told is None and self.stopped and code in NOT_BEGUN:
            code = 0
        outcome = Outcome(child.seed, told, code if code >= 0 else 128 - code, last_words(child))
        if outcome.code:
            self.exit_code = self.exit_code or outcome.code
            if any(line.startswith("Traceback") for line in child.said):
                tell("\n".join(child.said), sys.stderr)
            why = f"exit code {code}" if code > 0 else f"ended by {signal.Signals(-code).name}"
            tell(f"{program('train')}: seed {child.seed} failed, {why}: {outcome.message}", sys.stderr)
        self._shown.state(child.seed, outcome.state)
        return outcome


def arguments(argv: Sequence[str], settings: TrainSettings) -> list[str]:
    """Return the arguments of one run but for its seed: of a flag that is given twice, the last one counts."""
    more = ["--seeds", "0", "--json", "--threads", str(settings.threads)]
    return [*argv, *more, *(["--against", settings.against] if settings.against else [])]


def last_object(out: IO[bytes]) -> dict[str, Any] | None:
    """Return the JSON object with which a run ends, None if it did not come to that."""
    out.seek(0)
    try:
        return msgspec.json.decode((out.read().splitlines() or [b""])[-1], type=dict[str, Any])
    except msgspec.DecodeError:
        return None


def last_words(child: Child) -> str:
    """Return the last message of a run, or else the last line that it said."""
    return (child.messages or [line for line in child.said if line.strip()] or ["it said nothing"])[-1]
