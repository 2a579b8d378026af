"""`play.py`: find the checkpoint that is meant, play it, and report the returns."""

from __future__ import annotations

import json
import shutil
import signal
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from ecs_rl.commands.called import asks_for_version, versions_in_words
from ecs_rl.commands.episodes import is_episode, play_episode
from ecs_rl.commands.parse import parse_play
from ecs_rl.commands.process import Answer, carry_out
from ecs_rl.commands.progress import number
from ecs_rl.commands.settings import PlaySettings
from ecs_rl.console import deliver
from ecs_rl.errors import CheckpointError, StorageError, visible
from ecs_rl.records import SCORE

if TYPE_CHECKING:
    from ecs_rl.runs import RunEntry

_DROPPED = ("milestones", "run", "when", "version", "agent", "scene", "seed", "best")
"""Columns of the list that a narrow terminal does without, the first one first."""

LONGEST_WORD = 64
"""Characters of a name in the list; a run's own may have as many."""


def main(argv: Sequence[str]) -> int:
    """Run `play.py` with these arguments and return its exit code."""

    def command(answer: Answer) -> int:
        if asks_for_version(argv):
            deliver(versions_in_words())
            return 0
        return run(parse_play(argv), answer)

    return carry_out("play", "interrupted", command)


def interrupt(number: signal.Signals) -> None:
    """Let every signal do what Ctrl-C does: half a film must not stay behind."""
    raise KeyboardInterrupt


def run(settings: PlaySettings, answer: Answer) -> int:
    """Carry out the command."""
    if settings.list:
        return list_all(settings)
    if settings.export is not None:
        from ecs_rl.commands.export import export

        return export(settings)
    from ecs_rl.commands.playing import play

    answer.first = interrupt
    if is_episode(settings):
        return play_episode(settings)
    return play(settings)


def list_all(settings: PlaySettings) -> int:
    """Print the pilots and then the runs, the newest one last; with `--json` only the runs, the newest one first.

    A target names the scene or the run's name that is listed alone.
    """
    from ecs_rl.commands.gallery import lines
    from ecs_rl.runs import list_runs

    asked = settings.target or ""
    entries = [entry for entry in list_runs(settings.runs) if not asked or asked in names_of(entry)]
    if settings.json:
        rows = [
            {
                "run": str(e.path),
                "problem": e.problem,
                **(msgspec.to_builtins(e.metadata) or {}),
                "milestones": milestones_of(e),
            }
            for e in entries
        ]
        deliver(json.dumps(rows))
        return 0
    pilots = lines(asked)
    if not entries:
        none = f"there are no runs of {asked} in" if asked else "there are no runs in"
        deliver("\n".join([*pilots, f"{none} {settings.runs}: train one first"]))
        return 0
    # A pipe has no width: nothing is left out.
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
    rows_of_words = [{name: visible(word) for name, word in row_of(entry).items()} for entry in reversed(entries)]
    problems = [visible(entry.problem) for entry in entries if entry.problem]
    deliver("\n".join([*pilots, *problems, *table(rows_of_words, width)]))
    return 0


def names_of(entry: RunEntry) -> set[str]:
    """Return by which names a run is asked for: its own, its folder, and the name and the file of its scene."""
    name, version = ("", *entry.path.parts)[-3:-1]
    names = {name, f"{name}/{version}", str(entry.path)}
    if entry.metadata is not None:
        names |= {entry.metadata.name, entry.metadata.scene, Path(entry.metadata.scene).stem}
    return names


def unit_of(entry: RunEntry) -> str:
    """Return what a run's evaluations count: Elo, the scene's score by its name, or the return."""
    from ecs_rl.runs import settings_of
    from ecs_rl.runs.rows import rows_of

    with suppress(CheckpointError):
        if settings_of(entry.path).get("self_play"):
            return "Elo"
    first = next(rows_of(entry.path / "eval_episodes.jsonl"), {}).get("extras")
    scores = [name.removeprefix(SCORE) for name in first if name.startswith(SCORE)] if isinstance(first, dict) else []
    return "return" if not scores else scores[0] if len(scores) == 1 else "score"


def milestones_of(entry: RunEntry) -> list[int]:
    """Return the steps at which a run kept its policy for good; none where its folder cannot be looked into."""
    from ecs_rl.runs.layout import milestones

    try:
        return sorted(milestones(entry.path))
    except StorageError:
        return []


def row_of(entry: RunEntry) -> dict[str, str]:
    """Return what the list tells of a run, by column."""
    known = entry.metadata
    if known is None:
        name, version = ("", *entry.path.parts)[-3:-1]
        blank = dict.fromkeys(("when", "scene", "agent", "seed", "steps", "best", "milestones"), "")
        return {"name": name, "version": version, **blank, "status": "broken", "run": str(entry.path)}
    at = "" if known.best_step is None else f" at {known.best_step:,}"
    return {
        "name": _short(known.name),
        "version": _short(known.version),
        "when": known.started_at[:19].replace("T", " "),
        "scene": _short(Path(known.scene).name),
        "agent": _short(known.agent),
        "seed": str(known.seed),
        "steps": f"{known.total_steps:,}",
        "best": "" if known.best_eval is None else f"{_score(known.best_eval)} {_short(unit_of(entry))}{at}",
        "milestones": str(len(milestones_of(entry))),
        "status": _short(known.status),
        "run": str(entry.path),
    }


def _short(word: str) -> str:
    return word if len(word) <= LONGEST_WORD else f"{word[: LONGEST_WORD - 3]}..."


def _score(value: float) -> str:
    return number(value) if abs(value) < 1e9 else f"{value:.3g}"


def table(rows: list[dict[str, str]], width: int | None) -> list[str]:
    """Return the lines of a table with as many of its columns as fit the width."""
    widths = {name: max(len(name), *(len(row[name]) for row in rows)) for name in rows[0]}
    for name in _DROPPED:
        if width is None or sum(widths.values()) + 2 * (len(widths) - 1) <= width:
            break
        widths.pop(name, None)
    heads = {name: name for name in widths}
    return ["  ".join(f"{row[name]:{widths[name]}}" for name in widths).rstrip() for row in (heads, *rows)]
