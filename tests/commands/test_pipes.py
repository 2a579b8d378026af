"""A reader that goes away, as `head` does, ends neither command with an error."""

from __future__ import annotations

import io
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from ecs_rl.console import tell

ROOT = Path(__file__).parents[2]
SLOW = re.compile(rb"train\.py: balance: play \d of 3, tick [^\n]*\n")
"""What `--check` says while it plays on a slow machine."""


@pytest.mark.parametrize(
    "command",
    [
        ["play.py", "--list"],
        ["play.py", "--list", "--json"],
        ["train.py", "balance", "--check", "--arenas", "4"],
        ["train.py", "balance", "--check", "--arenas", "4", "--json"],
    ],
    ids=" ".join,
)
def test_a_command_whose_output_nobody_reads_ends_well_and_in_silence(command: list[str], tmp_path: Path) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    script = [sys.executable, str(ROOT / command[0]), *command[1:]]
    done = subprocess.run(script, stdout=writer, stderr=subprocess.PIPE, cwd=tmp_path, check=False)
    os.close(writer)
    assert (done.returncode, SLOW.sub(b"", done.stderr)) == (0, b"")


def test_a_refusal_that_nobody_reads_keeps_its_exit_code(tmp_path: Path) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    script = [sys.executable, str(ROOT / "play.py"), "nothing", "--headless"]
    done = subprocess.run(script, stderr=writer, stdout=subprocess.PIPE, cwd=tmp_path, check=False)
    os.close(writer)
    assert (done.returncode, done.stdout) == (2, b"")


def test_what_is_told_goes_to_stdout_or_where_it_is_sent(capsys: pytest.CaptureFixture[str]) -> None:
    stream = io.StringIO()
    tell("one")
    tell("two", sys.stderr)
    tell("three", stream)
    assert (*capsys.readouterr(), stream.getvalue()) == ("one\n", "two\n", "three\n")
