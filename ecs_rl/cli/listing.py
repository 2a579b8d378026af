"""`play.py --list`: the pilots and the runs there are."""

from __future__ import annotations

import json
import shutil
import sys
from contextlib import suppress
from pathlib import Path

import msgspec

from ecs_rl.cli.called import typed
from ecs_rl.cli.command_settings import PlaySettings
from ecs_rl.console import deliver, number
from ecs_rl.errors import CheckpointError, StorageError, visible
from ecs_rl.pilots.pilot_scores import PilotEntry, gallery
from ecs_rl.records import SCORE
from ecs_rl.runs import RunEntry, list_runs, settings_of
from ecs_rl.runs.layout import milestones
from ecs_rl.runs.rows import rows_of
from ecs_rl.shipped import scene_abouts

_DROPPED = ("milestones", "run", "when", "version", "agent", "scene", "seed", "best")
"""Columns of the list that a narrow terminal does without, the first one first."""

LONGEST_WORD = 64
"""Characters of a name in the list; a run's own may have as many."""


def list_all(settings: PlaySettings) -> int:
    """Print the pilots and then the runs, the newest one last; with `--json` only the runs, the newest one first.

    A target names the scene or the run's name that is listed alone.
    """
    target = settings.target or ""
    entries = [entry for entry in list_runs(settings.runs) if not target or target in names_of(entry)]
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
    pilots = lines_of_pilots(target)
    if not entries:
        none = f"there are no runs of {target} in" if target else "there are no runs in"
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
    with suppress(CheckpointError):
        if settings_of(entry.path).get("self_play"):
            return "Elo"
    first = next(rows_of(entry.path / "eval_episodes.jsonl"), {}).get("extras")
    scores = [name.removeprefix(SCORE) for name in first if name.startswith(SCORE)] if isinstance(first, dict) else []
    return "return" if not scores else scores[0] if len(scores) == 1 else "score"


def milestones_of(entry: RunEntry) -> list[int]:
    """Return the steps at which a run kept its policy for good; none where its folder cannot be looked into."""
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


def lines_of_pilots(scene: str = "") -> list[str]:
    """Return a line for each pilot, or for that of a scene, and the commands that show one; nothing without pilots."""
    abouts = scene_abouts()
    pilots = {name: entry for name, entry in gallery().items() if scene in ("", name)}
    if not pilots:
        return []
    name, about = (max(map(len, column)) for column in (pilots, [abouts[each] for each in pilots]))
    rows = [f"  {each:{name}}  {abouts[each]:{about}}  {standing(entry)}" for each, entry in pilots.items()]
    first, play, train = next(iter(pilots)), typed("play"), typed("train")
    return [
        "pilots that come with the project:",
        *rows,
        f"watch one: {play} {first} --pilot; film it: {play} {first} --pilot --record {first}.mp4; "
        f"train your own: {train} {first} --watch",
    ]


def standing(entry: PilotEntry) -> str:
    """Return in words how good a pilot is."""
    against = f" against {entry.against}" if entry.against else ""
    return f"{entry.score:,.1f} {entry.counts or 'return'}{against}"
