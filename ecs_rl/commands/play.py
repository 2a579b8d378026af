"""`play.py`: find the checkpoint that is meant, play it, and report the returns."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ecs_rl.commands.parse import parse_play
from ecs_rl.commands.settings import PlaySettings
from ecs_rl.errors import CheckpointError, CommandError, EcsRlError

if TYPE_CHECKING:
    from ecs_rl.session import EvalReport


def main(argv: Sequence[str]) -> int:
    """Run `play.py` with these arguments and return its exit code."""
    try:
        return run(parse_play(argv))
    except EcsRlError as error:
        print(f"play.py: {error}", file=sys.stderr)
        return error.exit_code


def run(settings: PlaySettings) -> int:
    """Carry out the command."""
    if settings.list:
        return list_all(settings)
    if not settings.headless or settings.record is not None or settings.compare:
        raise CommandError("the window and films are not there yet: play with --headless")
    path = checkpoint_meant(settings)
    from ecs_rl.agents.base import ActMode
    from ecs_rl.playback import Player
    from ecs_rl.session import EvalReport

    player = Player.load(path, settings.seed)
    mode = ActMode.SAMPLE if settings.stochastic else ActMode.GREEDY
    records = player.play(settings.episodes, settings.seed, mode)
    report = EvalReport.of(records, player.manifest.step)
    if settings.json:
        print(json.dumps(as_json(path, report, [record.total_reward for record in records])))
        return 0
    for i, record in enumerate(records):
        terms = "  ".join(f"{name} {value:.1f}" for name, value in record.extras.items() if not name.startswith("end/"))
        ended = (
            ", ".join(name.removeprefix("end/") for name in record.extras if name.startswith("end/")) or "time is up"
        )
        print(f"seed {settings.seed + i}: {record.total_reward:8.1f} in {record.length} ticks ({ended})  {terms}")
    print(
        f"{player.scene.name}, step {report.total_steps_at_eval:,}: mean {report.mean_return:.1f} "
        f"± {report.std_return:.1f} over {report.episodes} episodes"
    )
    return 0


def as_json(path: Path, report: EvalReport, returns: list[float]) -> dict[str, Any]:
    """Return the JSON object of `--json`."""
    inside = path.parent.name == "checkpoints"
    return {
        "run": str(path.parent.parent) if inside else None,
        "checkpoint": str(path),
        "step": report.total_steps_at_eval,
        "episodes": report.episodes,
        "mean_return": report.mean_return,
        "std_return": report.std_return,
        "min_return": report.min_return,
        "max_return": report.max_return,
        "mean_length": report.mean_length,
        "returns": returns,
    }


def checkpoint_meant(settings: PlaySettings) -> Path:
    """Return the checkpoint file: the target itself, or the one asked for of the run that the target names."""
    from ecs_rl.runs import find_run
    from ecs_rl.runs.layout import CHECKPOINTS

    if settings.target is not None and settings.target.endswith(".safetensors"):
        path = Path(settings.target)
        if not path.is_file():
            raise CommandError(f"there is no checkpoint file {path}: check the path")
        return path
    found = find_run(settings.target, settings.runs)
    for skipped in found.skipped:
        print(f"play.py: {skipped}", file=sys.stderr)
    which = settings.checkpoint
    stem = which if which in ("best", "latest") else f"step_{which}"
    path = found.path / CHECKPOINTS / f"{stem}.safetensors"
    if not path.is_file():
        there = sorted(each.stem.removeprefix("step_") for each in path.parent.glob("*.safetensors"))
        raise CheckpointError(f"{found.path} has no checkpoint '{which}'; there is: {', '.join(there)}")
    return path


def list_all(settings: PlaySettings) -> int:
    """Print the runs there are, newest first."""
    from rich.console import Console
    from rich.table import Table

    from ecs_rl.runs import list_runs

    entries = list_runs(settings.runs)
    if settings.json:
        rows = [{"run": str(e.path), "problem": e.problem, **_fields(e.metadata)} for e in entries]
        print(json.dumps(rows))
        return 0
    if not entries:
        print(f"there are no runs in {settings.runs}: train one first")
        return 0
    table = Table(
        "name", "version", "when", "scene", "agent", "steps", "best", "status", "run", box=None, pad_edge=False
    )
    for entry in entries:
        known = entry.metadata
        if known is None:
            name, version = entry.path.parts[-3:-1]
            table.add_row(name, version, "", "", "", "", "", f"broken: {entry.problem}", str(entry.path))
            continue
        best = "" if known.best_eval is None else f"{known.best_eval:.1f} at {known.best_step:,}"
        when, steps = known.started_at[:19].replace("T", " "), f"{known.total_steps:,}"
        scene = Path(known.scene).name
        told = (known.name, known.version, when, scene, known.agent, steps, best, known.status, str(entry.path))
        table.add_row(*told)
    # A pipe has no width: wide enough that nothing is cut.
    Console(width=None if sys.stdout.isatty() else 10_000).print(table)
    return 0


def _fields(metadata: Any) -> dict[str, Any]:
    import msgspec

    return {} if metadata is None else dict(msgspec.to_builtins(metadata))
