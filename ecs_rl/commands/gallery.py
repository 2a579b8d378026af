"""`play.py` where there is no run: the pilots that come with the project: a menu, a list, or one after another."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ecs_rl.commands.called import typed
from ecs_rl.commands.settings import PlaySettings
from ecs_rl.console import deliver, tell
from ecs_rl.pilots.gallery import PilotEntry, gallery
from ecs_rl.runs import NoRunError
from ecs_rl.runs.layout import run_directories
from ecs_rl.shipped import pilot_file, scene_abouts

if TYPE_CHECKING:
    from ecs_rl.viewer.live.display import Display


def offer(settings: PlaySettings, none: NoRunError) -> int:
    """Let somebody choose a pilot and play it; without a window play them all, or list them where there is no screen.

    `none` says why no run is played.
    """
    pilots = gallery()
    if not pilots:
        raise none
    broken = run_directories(settings.runs)[0]
    tell(f"play.py: {none if broken else f'there is no run in {settings.runs} yet: these are the pilots'}", sys.stderr)
    if settings.headless:
        return play_all(settings, list(pilots))
    from ecs_rl.viewer.live.display import Display, NoDisplay

    try:
        display = Display("ecs_rl")
    except NoDisplay:
        return list_pilots(settings)
    if not display.seen:  # nobody could choose
        display.close()
        return list_pilots(settings)
    scene = chosen(display, pilots)
    display.close()
    if not scene:
        return 0
    from ecs_rl.commands.playing import play

    return play(replace(settings, target=scene))


def chosen(display: Display, pilots: dict[str, PilotEntry]) -> str:
    """Return the scene that somebody chooses in the window, '' where it is closed."""
    from ecs_rl.viewer.live.menu import Menu, Offer

    abouts = scene_abouts()
    return Menu([Offer(scene, abouts[scene], told(entry)) for scene, entry in pilots.items()]).ask(display)


def play_all(settings: PlaySettings, scenes: list[str]) -> int:
    """Play the episodes of every pilot, and tell what each came to: a line, or with `--json` a row of one object."""
    from ecs_rl.commands.playing import Report, candidate, play_headless

    rows: list[dict[str, Any]] = []
    for scene in scenes:
        silent = replace(settings, target=str(pilot_file(scene)), json=True)
        found = [candidate(silent, "")]
        report = Report(found, silent)
        play_headless(found, silent, report)
        row = {"scene": scene, **report.rows()[0]}
        rows.append(row)
        if not settings.json:
            score = f"mean score {row['mean_score']:.1f}, " if "mean_score" in row else ""
            mean = f"{score}mean return {row['mean_return']:.1f} ± {row['std_return']:.1f}"
            deliver(f"{scene}, {found[0].label}: {mean} over {row['episodes']} episodes")
    if settings.json:
        deliver(json.dumps({"pilots": rows}))
    return 0


def list_pilots(settings: PlaySettings) -> int:
    """Print the pilots there are, and how to play one."""
    if settings.json:
        rows = [{"scene": scene, "checkpoint": str(pilot_file(scene))} for scene in gallery()]
        deliver(json.dumps({"pilots": rows}))
        return 0
    deliver("\n".join(lines()))
    return 0


def lines(scene: str = "") -> list[str]:
    """Return a line for each pilot, or for that of a scene, and the commands that show one; nothing without pilots."""
    abouts = scene_abouts()
    pilots = {name: entry for name, entry in gallery().items() if scene in ("", name)}
    if not pilots:
        return []
    name, about = (max(map(len, column)) for column in (pilots, [abouts[each] for each in pilots]))
    rows = [f"  {each:{name}}  {abouts[each]:{about}}  {told(entry)}" for each, entry in pilots.items()]
    first, play, train = next(iter(pilots)), typed("play"), typed("train")
    return [
        "pilots that come with the project:",
        *rows,
        f"watch one: {play} {first} --pilot; film it: {play} {first} --pilot --record {first}.mp4; "
        f"train your own: {train} {first} --watch",
    ]


def told(entry: PilotEntry) -> str:
    """Return in words how good a pilot is."""
    against = f" against {entry.against}" if entry.against else ""
    return f"{entry.score:,.1f} {entry.counts or 'return'}{against}"
