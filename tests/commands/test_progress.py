from __future__ import annotations

import io
import os
import pty
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TextIO

import pytest
from rich.console import Console
from rich.live import Live

from ecs_rl.console import tell
from ecs_rl.many.table import LiveTable, open_table
from ecs_rl.tasks.progress import ProgressDisplay, ProgressSnapshot, plain_line, time_left

SNAPSHOT = ProgressSnapshot(
    steps=120_000,
    total_steps=500_000,
    seconds=1.5,
    steps_per_second=84_000.0,
    episodes=1_204,
    mean_return=132.4,
    mean_length=130.2,
    last_eval=201.3,
    best_eval=210.0,
    best_step=98_304,
    losses={"policy": -0.00123, "value": float("nan")},
)
LINE = "steps 120,000/500,000 24%  84,000 steps/s  return 132.4  eval 201.3 (best 210.0 at 98,304)  left 0:05"


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class Gone(io.StringIO):
    """A stream whose reader goes away after the first writes."""

    def __init__(self, error: Exception, terminal: bool) -> None:
        super().__init__()
        self.error = error
        self.terminal = terminal
        self.alive = True
        self.attempts = 0

    def isatty(self) -> bool:
        return self.terminal

    def write(self, text: str) -> int:
        if self.alive:
            return super().write(text)
        self.attempts += 1
        raise self.error


class Counted:
    """Makes snapshots, and counts how many were asked for."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self) -> ProgressSnapshot:
        self.calls += 1
        return replace(SNAPSHOT, steps=self.calls * 1_000)


def shown(stream: io.StringIO) -> str:
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", stream.getvalue())


def make(stream: TextIO, clock: Callable[[], float]) -> ProgressDisplay:
    return ProgressDisplay(stream, scene="cartpole", run="runs/cartpole/v1/x", clock=clock)


@pytest.fixture(autouse=True)
def ordinary_terminal(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("LINES", "24")
    before = sys.stdout, sys.stderr
    yield
    assert (sys.stdout, sys.stderr) == before


def test_a_plain_line_tells_everything_that_is_known() -> None:
    assert plain_line(SNAPSHOT) == LINE


def test_a_plain_line_leaves_out_what_is_not_known_yet() -> None:
    early = ProgressSnapshot(steps=0, total_steps=500, seconds=0.0, steps_per_second=float("nan"))
    assert plain_line(early) == "steps 0/500 0%  - steps/s"
    sick = replace(early, mean_return=float("nan"), last_eval=float("inf"), best_eval=3.0, steps_per_second=0.0)
    assert plain_line(sick) == "steps 0/500 0%  0 steps/s  eval (best 3)"


def test_a_plain_line_names_the_state_when_it_is_not_training() -> None:
    assert plain_line(replace(SNAPSHOT, state="evaluating")).endswith("  left 0:05  evaluating")


def test_huge_returns_take_few_digits() -> None:
    assert "  return 9,999,999.0  eval -1.235e+07 (best 1e+300 at 98,304)" in plain_line(
        replace(SNAPSHOT, mean_return=9_999_999.0, last_eval=-12_345_678.0, best_eval=1e300)
    )


@pytest.mark.parametrize(
    ("steps", "total", "part"),
    [(499, 500, "99%"), (500, 500, "100%"), (600, 500, "100%"), (0, 0, "0%")],
)
def test_a_hundred_percent_means_all_of_it(steps: int, total: int, part: str) -> None:
    assert f"{steps}/{total} {part} " in plain_line(replace(SNAPSHOT, steps=steps, total_steps=total))


@pytest.mark.parametrize(
    ("steps", "left"),
    [(0, "0:00"), (4, "0:04"), (61, "1:01"), (3_723, "1:02:03"), (172_800, "2d 0h"), (270_000, "3d 3h")],
)
def test_time_left_reads_like_a_clock(steps: int, left: str) -> None:
    assert time_left(ProgressSnapshot(steps=0, total_steps=steps, seconds=0.0, steps_per_second=1.0)) == left


def test_time_left_knows_of_a_limit_in_minutes() -> None:
    shown = ProgressSnapshot(steps=0, total_steps=1000, seconds=20.0, steps_per_second=1.0, most_seconds=60.0)
    assert time_left(shown) == "0:40"
    assert time_left(replace(shown, total_steps=30)) == "0:30"
    assert time_left(replace(shown, seconds=70.0)) == "0:00"


def test_plain_lines_come_every_three_seconds_and_at_the_end() -> None:
    stream, clock, snapshot = io.StringIO(), Clock(), Counted()
    progress = make(stream, clock)
    for tick in range(101):
        clock.now = 100.0 + tick / 10
        progress.update(snapshot)
    assert stream.getvalue().count("\n") == snapshot.calls == 3
    progress.close()
    assert stream.getvalue().count("\n") == snapshot.calls == 4
    assert stream.getvalue().splitlines()[-1].startswith("steps 4,000/500,000")


def test_a_run_shorter_than_three_seconds_still_gets_its_last_line_once() -> None:
    stream, clock = io.StringIO(), Clock()
    with make(stream, clock) as progress:
        progress.update(lambda: SNAPSHOT)
        assert stream.getvalue() == ""
    progress.close()
    progress.update(lambda: SNAPSHOT)
    assert stream.getvalue() == LINE + "\n"


def test_a_progress_that_was_never_told_anything_says_nothing() -> None:
    stream = io.StringIO()
    make(stream, Clock()).close()
    assert stream.getvalue() == ""


def test_a_terminal_shows_one_block_with_everything() -> None:
    stream, clock = Terminal(), Clock()
    progress = make(stream, clock)
    progress.update(lambda: SNAPSHOT)
    progress.close()
    text = shown(stream)
    for words in ("cartpole  runs/cartpole/v1/x", "training", "120,000/500,000 24%  left 0:05", "84,000 steps/s"):
        assert words in text
    for words in ("1,204 episodes", "return 132.4", "length 130.2", "eval 201.3 (best 210.0 at 98,304)"):
        assert words in text
    assert "policy -0.00123   value -" in text
    assert "\x1b[1A" in stream.getvalue()  # the second drawing went over the first


def test_a_terminal_is_drawn_at_most_ten_times_a_second() -> None:
    clock, snapshot = Clock(), Counted()
    progress = make(Terminal(), clock)
    for tick in range(1_000):
        clock.now = 100.0 + tick / 1_000
        progress.update(snapshot)
    assert 9 <= snapshot.calls <= 10
    progress.close()


def test_a_terminal_gets_its_cursor_back_even_if_the_process_is_killed() -> None:
    stream, clock = Terminal(), Clock()
    progress = make(stream, clock)
    progress.update(lambda: SNAPSHOT)
    output = stream.getvalue()
    assert output.rfind("\x1b[?25h") > output.rfind("\x1b[?25l") >= 0
    progress.close()


@pytest.mark.parametrize("columns", ["1", "8", "20", "40"])
def test_a_narrow_terminal_never_gets_a_line_that_is_too_long(monkeypatch: pytest.MonkeyPatch, columns: str) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    stream = Terminal()
    with make(stream, Clock()) as progress:
        progress.update(lambda: SNAPSHOT)
    lines = re.split(r"[\r\n]+", shown(stream))
    assert 0 < max(map(len, lines)) <= int(columns)


def test_a_dumb_terminal_gets_plain_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "dumb")
    stream = Terminal()
    with make(stream, Clock()) as progress:
        progress.update(lambda: SNAPSHOT)
    assert stream.getvalue() == LINE + "\n"


@pytest.mark.parametrize("terminal", [False, True])
@pytest.mark.parametrize("error", [BrokenPipeError(), OSError(5, "EIO"), ValueError("I/O operation on closed file")])
def test_a_reader_that_goes_away_ends_the_drawing_and_not_the_training(terminal: bool, error: Exception) -> None:
    stream, clock, snapshot = Gone(error, terminal), Clock(), Counted()
    progress = make(stream, clock)
    clock.now += 5
    progress.update(snapshot)
    stream.alive = False
    clock.now += 5
    progress.update(snapshot)
    assert stream.attempts > 0
    calls, attempts = snapshot.calls, stream.attempts
    clock.now += 5
    progress.update(snapshot)
    progress.close()
    assert (snapshot.calls, stream.attempts) == (calls, attempts)


@pytest.mark.parametrize("terminal", [False, True])
def test_a_reader_that_goes_away_at_the_very_end_is_no_error_either(terminal: bool) -> None:
    stream, clock = Gone(BrokenPipeError(), terminal), Clock()
    progress = make(stream, clock)
    progress.update(lambda: SNAPSHOT)
    stream.alive = False
    progress.close()
    assert stream.attempts > 0


def test_an_error_in_the_snapshot_itself_is_not_hidden() -> None:
    def broken() -> ProgressSnapshot:
        raise ValueError("a bug")

    clock = Clock()
    progress = make(io.StringIO(), clock)
    clock.now += 5
    with pytest.raises(ValueError, match="a bug"):
        progress.update(broken)


PIPED = """
import sys, time
from ecs_rl.tasks.progress import ProgressDisplay, ProgressSnapshot
clock = iter(range(0, 1000, 4)).__next__
progress = ProgressDisplay(sys.stdout, scene="a", run="b", clock=clock)
for step in range(9):
    progress.update(lambda: ProgressSnapshot(step, 10, 1.0, 1.0))
progress.close()
print("the last words")
print("rich" in sys.modules, file=sys.stderr)
"""


def test_a_process_whose_output_is_closed_ends_as_if_nothing_had_happened() -> None:
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run([sys.executable, "-c", PIPED], stdout=writer, stderr=subprocess.PIPE, check=False)
    os.close(writer)
    assert (done.returncode, done.stderr.strip()) == (0, b"False")


def test_a_real_terminal_shows_what_others_print_above_the_block() -> None:
    script = PIPED.replace("    progress.update", "    step == 5 and print('from elsewhere')\n    progress.update")
    controller, terminal = pty.openpty()
    worker = subprocess.Popen([sys.executable, "-c", script], stdout=terminal, stderr=terminal)
    os.close(terminal)
    output = b""
    try:
        while chunk := os.read(controller, 65_536):
            output += chunk
    except OSError:  # Linux ends a terminal's output with EIO
        assert worker.wait(timeout=30) == 0
    os.close(controller)
    assert re.search(rb"\x1b\[2Kfrom elsewhere\r\n", output)
    assert output.rindex(b"8/10 80%") < output.rindex(b"the last words") < output.rindex(b"True")


def test_what_is_printed_into_a_piped_stdout_stays_there_while_stderr_shows_the_block() -> None:
    script = PIPED.replace("ProgressDisplay(sys.stdout", "ProgressDisplay(sys.stderr")
    script = script.replace("    progress.update", "    step == 5 and print('a result')\n    progress.update")
    controller, terminal = pty.openpty()
    done = subprocess.run([sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=terminal, check=False)
    os.close(terminal)
    block = os.read(controller, 65_536)
    os.close(controller)
    assert (done.returncode, done.stdout) == (0, b"a result\nthe last words\n")
    assert b"\x1b[2K" in block


def test_an_update_that_draws_nothing_costs_less_than_two_microseconds() -> None:
    progress = ProgressDisplay(io.StringIO(), scene="a", run="b")
    best = min(_seconds_of_updates(progress, 10_000) for _ in range(5))
    assert best / 10_000 < 2e-6


def _seconds_of_updates(progress: ProgressDisplay, count: int) -> float:
    snapshot = Counted()
    start = time.process_time()  # which others on the machine do not take
    for _ in range(count):
        progress.update(snapshot)
    return time.process_time() - start


def test_in_self_play_the_best_is_one_of_ratings() -> None:
    rated = replace(SNAPSHOT, elo=1301.4, best_eval=1310.2)
    told = "return 132.4  elo 1,301.4 (best 1,310.2 at 98,304)  eval 201.3  left"
    assert told in plain_line(rated)
    assert "elo 1,200.0  eval" in plain_line(replace(rated, elo=1200.0, best_eval=None, best_step=None))


def test_what_evaluations_go_by_is_called_a_score_where_it_is_one() -> None:
    line = LINE.replace("return 132.4  eval 201.3", "score 12.5  return 132.4  eval score 201.3")
    assert plain_line(replace(SNAPSHOT, mean_score=12.5)) == line
    early = plain_line(replace(SNAPSHOT, mean_score=float("nan"), last_eval=None))
    assert "  return 132.4  eval score (best" in early


def test_a_notebook_gets_one_line_that_is_written_over_and_never_moves_the_cursor(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("JPY_PARENT_PID", "1")
    terminal, clock, many = Terminal(), Clock(), Counted()
    with ProgressDisplay(terminal, scene="lander", run="runs/lander", clock=clock) as progress:
        for _ in range(3):
            progress.update(many)
            clock.now += 5.0
        tell("something happened", terminal)
        progress.update(many)
    lines = [line.split("\r")[-1] for line in terminal.getvalue().split("\n")]
    assert [line.split("/")[0] for line in lines] == ["steps 3,000", "something happened", "steps 5,000", ""]
    assert "\x1b" not in terminal.getvalue()
    widths = [len(each) for each in terminal.getvalue().split("\n")[0].split("\r")[1:]]
    assert widths == sorted(widths), "nothing of the line before is left over"


def test_a_notebook_gets_lines_and_no_table_of_many_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JPY_PARENT_PID", "1")
    terminal = Terminal()
    with open_table(terminal, "balance: 2 runs", "seed", (0, 1)) as table:
        table.state(0, "training")
    assert terminal.getvalue() == "balance: 2 runs\nseed 0: training\n"


@pytest.mark.parametrize("columns", [40, 80, 100, 120, 160])
def test_the_table_of_many_runs_never_cuts_which_one_a_row_is(columns: int) -> None:
    terminal = Terminal()
    console = Console(file=terminal, force_terminal=True, width=columns, color_system=None)
    with Live(console=console, auto_refresh=False) as live:
        table = LiveTable(terminal, "seed", live=live)
        table.draw()
        for seed, state in ((8, "training"), (10, "waiting")):
            table.rows[seed] = (state, plain_line(SNAPSHOT))
        table.draw()
        found = shown(terminal).splitlines()[-2:]
        assert [line.split("  ")[0].strip() for line in found] == ["seed 8", "seed 10"]
        assert ["training" in found[0], "waiting" in found[1]] == [True, True]
        assert max(map(len, found)) <= columns
        assert ("left 0:05" in found[0]) == (columns >= 120)
        table.rows = {0: ("stopped early, ppo.lr=0.000123, ppo.gamma=0.99", "1,000 steps, best evaluation 3.1")}
        table.draw()
    assert shown(terminal).splitlines()[-1].startswith("seed 0  stopped early")
