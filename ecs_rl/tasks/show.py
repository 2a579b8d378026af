"""What play.py shows: policies, an episode or the menu of pilots in a window, or a film; pygame is loaded here."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from ecs_rl.cli.command_settings import PlaySettings
from ecs_rl.cli.listing import standing
from ecs_rl.cli.target import folder_for, run_of
from ecs_rl.console import tell
from ecs_rl.pilots.pilot_scores import PilotEntry
from ecs_rl.runs.episode_file import Episode
from ecs_rl.scene.scene import Scene
from ecs_rl.shipped import scene_abouts
from ecs_rl.tasks.episodes import EpisodeReport
from ecs_rl.tasks.play_checkpoints import Candidate, PlayReport
from ecs_rl.viewer.canvas import ListRow
from ecs_rl.viewer.films.studio import record_play
from ecs_rl.viewer.live.menu import Menu, choose
from ecs_rl.viewer.live.playlist import CheckpointList, Playlist
from ecs_rl.viewer.live.screen import NoDisplay, Screen
from ecs_rl.viewer.live.watch import watch_play
from ecs_rl.viewer.live_episode import LiveEpisode
from ecs_rl.viewer.replay import Replay

WITHOUT_A_WINDOW = "play with --headless, or into a film with --record OUT.mp4"
"""What to do where there is no screen."""


@contextmanager
def window_of(scene: Scene, remedy: str) -> Iterator[tuple[Screen, list[LiveEpisode]]]:
    """Open a window on a scene, and yield it with an empty list of shows; at the end all of them are closed.

    Raises NoDisplay, whose message ends with the remedy, where there is no screen.
    """
    try:
        screen = Screen.open(f"{scene.name} - ecs_rl")
    except NoDisplay as none:
        raise NoDisplay(f"{none}: {remedy}") from None
    shows: list[LiveEpisode] = []
    try:
        yield screen, shows
    finally:
        for show in shows:
            show.close()
        screen.close()


def play_in_window(entries: Sequence[Candidate], settings: PlaySettings, report: PlayReport) -> None:
    """Play in a window, until it is closed."""
    with window_of(entries[0].player.scene, WITHOUT_A_WINDOW) as (display, shows):
        shows.extend(shows_of(entries, settings))
        playlist = Playlist(shows, report.add_watched)
        run = run_of(entries[0].path)
        checkpoints = CheckpointList(run, now=entries[0].path) if run is not None else None
        watch_play(shows, display, folder_for(entries[0].path), playlist, checkpoints, attended=not settings.json)


def film(entries: Sequence[Candidate], settings: PlaySettings, report: PlayReport) -> None:
    """Play into a film; it needs no display."""
    assert settings.record is not None
    os.environ.setdefault("SDL_VIDEODRIVER", "dummy")
    shows = shows_of(entries, settings)
    try:
        for episode in record_play(shows, settings.record, speed=settings.speed):
            for number, ended in enumerate(episode):
                report.add_watched(number, ended)
    finally:
        for show in shows:
            show.close()
    tell(f"film written: {settings.record}", sys.stderr if settings.json else sys.stdout)


def shows_of(entries: Sequence[Candidate], settings: PlaySettings) -> list[LiveEpisode]:
    """Return one show for each candidate, all on the same seeds."""
    seeds = range(settings.seed, settings.seed + settings.episodes)
    shows = [
        LiveEpisode(
            entry.player.scene,
            entry.player.agents,
            seeds=seeds,
            sampled=settings.stochastic,
            label=entry.label,
            stays=True,
            opponent=entry.opponent,
        )
        for entry in entries
    ]
    for show in shows:
        show.speed = settings.speed
    return shows


def film_episode(scene: Scene, episode: Episode, settings: PlaySettings, report: EpisodeReport) -> None:
    """Film the episode."""
    os.environ.setdefault("SDL_VIDEODRIVER", "dummy")
    assert settings.record is not None
    replay = Replay(scene, episode)
    try:
        for (ended,) in record_play([replay], settings.record, speed=settings.speed):
            report.add(ended, exact=bool(replay.is_exact))
    finally:
        replay.close()
    tell(f"film written: {settings.record}", sys.stderr if settings.json else sys.stdout)


def show_episode(path: Path, scene: Scene, episode: Episode, settings: PlaySettings, report: EpisodeReport) -> None:
    """Show the episode in a window, until it is closed."""
    with window_of(scene, WITHOUT_A_WINDOW) as (display, shows):
        replay = Replay(scene, episode)
        shows.append(replay)
        replay.restart()
        replay.speed = settings.speed
        playlist = Playlist(shows, lambda _, ended: report.add(ended, exact=bool(replay.is_exact)))
        watch_play(shows, display, path.parent, playlist, None, attended=not settings.json)


def choose_pilot(pilots: dict[str, PilotEntry]) -> str | None:
    """Return the scene that somebody chooses in a window, "" where it is closed, None where nobody can see one."""
    try:
        screen = Screen.open("ecs_rl", panels=[Menu])
    except NoDisplay:
        return None
    abouts = scene_abouts()
    try:
        if not screen.seen:
            return None
        return choose(screen, [ListRow(scene, abouts[scene], standing(entry)) for scene, entry in pilots.items()])
    finally:
        screen.close()
