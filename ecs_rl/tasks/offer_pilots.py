"""`play.py` where there is no run: the pilots that come with the project: a menu, a list, or one after another."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

from ecs_rl.cli.command_settings import PlaySettings
from ecs_rl.cli.listing import lines_of_pilots
from ecs_rl.cli.target import checkpoints_meant
from ecs_rl.console import deliver, tell
from ecs_rl.errors import CheckpointError
from ecs_rl.pilots.pilot_scores import gallery
from ecs_rl.runs.layout import run_directories
from ecs_rl.shipped import pilot_file
from ecs_rl.tasks.play_checkpoints import PlayReport, candidate, play, play_headless


def offer(settings: PlaySettings, no_run: CheckpointError) -> int:
    """Let somebody choose a pilot and play it; without a window play them all, or list them where there is no screen.

    `no_run` says why no run is played.
    """
    pilots = gallery()
    if not pilots:
        raise no_run
    broken = run_directories(settings.runs)[0]
    tell(
        f"play.py: {no_run if broken else f'there is no run in {settings.runs} yet: these are the pilots'}", sys.stderr
    )
    if settings.headless:
        return play_all(settings, list(pilots))
    from ecs_rl.tasks.show import choose_pilot  # the door to pygame

    scene = choose_pilot(pilots)
    if scene is None:
        return list_pilots(settings)
    return play(*checkpoints_meant(replace(settings, target=scene))) if scene else 0


def play_all(settings: PlaySettings, scenes: list[str]) -> int:
    """Play the episodes of every pilot, and tell what each came to: a line, or with `--json` a row of one object."""
    rows: list[dict[str, Any]] = []
    for scene in scenes:
        silent = replace(settings, target=str(pilot_file(scene)), json=True)
        candidates = [candidate(silent, Path(silent.target or ""))]
        report = PlayReport(candidates, silent)
        play_headless(candidates, silent, report)
        row = {"scene": scene, **report.rows()[0]}
        rows.append(row)
        if not settings.json:
            score = f"mean score {row['mean_score']:.1f}, " if "mean_score" in row else ""
            mean = f"{score}mean return {row['mean_return']:.1f} ± {row['std_return']:.1f}"
            deliver(f"{scene}, {candidates[0].label}: {mean} over {row['episodes']} episodes")
    if settings.json:
        deliver(json.dumps({"pilots": rows}))
    return 0


def list_pilots(settings: PlaySettings) -> int:
    """Print the pilots there are, and how to play one."""
    if settings.json:
        rows = [{"scene": scene, "checkpoint": str(pilot_file(scene))} for scene in gallery()]
        deliver(json.dumps({"pilots": rows}))
        return 0
    deliver("\n".join(lines_of_pilots()))
    return 0
