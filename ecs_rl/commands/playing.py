"""What `play.py` plays: one checkpoint or several, headless, in a window or into a film, and what it reports of it."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ecs_rl.agents.base import ActMode
from ecs_rl.commands.pipes import deliver, tell
from ecs_rl.commands.play import checkpoint_meant
from ecs_rl.commands.settings import PlaySettings
from ecs_rl.errors import CommandError
from ecs_rl.session import EpisodeRecord, EvalReport

if TYPE_CHECKING:
    from ecs_rl.training.playback import Player
    from ecs_rl.viewer.live_episode import Ended, LiveEpisode

MOST_PANES = 6


@dataclass(frozen=True)
class Candidate:
    """One checkpoint that plays."""

    path: Path
    player: Player
    label: str


def play(settings: PlaySettings) -> int:
    """Play what is asked for, in the way that is asked for."""
    found = candidates(settings)
    if settings.record is not None:
        results = film(found, settings)
    elif settings.headless:
        results = play_headless(found, settings)
    else:
        results = play_in_window(found, settings)
    say_how_it_went(found, results, settings)
    return 0


def candidates(settings: PlaySettings) -> list[Candidate]:
    """Return the checkpoints to play: the one that is meant, or those to compare."""
    names = settings.compare or ("",)
    if not 1 <= len(names) <= MOST_PANES:
        raise CommandError(f"--compare shows at most {MOST_PANES} checkpoints, not {len(names)}: name fewer")
    found = [candidate(settings, name) for name in names]
    scenes = {each.player.scene.reference for each in found}
    if len(scenes) > 1:
        raise CommandError(f"--compare needs checkpoints of one scene, not of {' and '.join(sorted(scenes))}")
    return found


def candidate(settings: PlaySettings, name: str) -> Candidate:
    """Return the checkpoint with this name in the run, or in a file of its own."""
    from ecs_rl.scene.loader import load_scene
    from ecs_rl.training.playback import Player

    if name.endswith(".safetensors"):
        path = checkpoint_meant(replace(settings, target=name))
    elif name and (settings.target or "").endswith(".safetensors"):
        raise CommandError(f"--compare {name}: {settings.target} is one checkpoint; name the run that has several")
    else:
        path = checkpoint_meant(replace(settings, checkpoint=name) if name else settings)
    scene = load_scene(settings.scene) if settings.scene else None
    player = Player.load(path, settings.seed, scene=scene, runs=settings.runs)
    if player.manifest.source_sha256 not in ("", player.scene.sha256):
        tell(f"play.py: {player.scene.file} is not as it was when {path} was trained: returns may differ", sys.stderr)
    which = name or path.stem
    word = f"{which}, " if which in ("best", "latest") else ""
    return Candidate(path, player, f"{word}step {player.manifest.step:,}")


# --- three ways to play -----------------------------------------------------------------------------------------------

Results = list[dict[int, EpisodeRecord]]
"""For each candidate the records of its episodes, by their number."""


def play_headless(found: Sequence[Candidate], settings: PlaySettings) -> Results:
    """Play all episodes at once, as an evaluation does."""
    mode = ActMode.SAMPLE if settings.stochastic else ActMode.GREEDY
    results = [dict(enumerate(each.player.play(settings.episodes, settings.seed, mode))) for each in found]
    report = reporter(found, settings)
    for number, records in enumerate(results):
        for episode, record in records.items():
            report(number, episode, record)
    return results


def play_in_window(found: Sequence[Candidate], settings: PlaySettings) -> Results:
    """Play in a window, until it is closed."""
    from ecs_rl.viewer.live.display import Display, NoDisplay
    from ecs_rl.viewer.live.playlist import CheckpointList, Playlist
    from ecs_rl.viewer.live.watch import watch_play

    try:
        display = Display(f"{found[0].player.scene.name} - ecs_rl")
    except NoDisplay as none:
        raise NoDisplay(f"{none}: play with --headless, or into a film with --record OUT.mp4") from None
    shows: list[LiveEpisode] = []
    try:
        shows = shows_of(found, settings)
        report = reporter(found, settings)
        playlist = Playlist(shows, lambda number, ended: report(number, ended.arena, record_of(ended)))
        run = run_of(found[0].path)
        checkpoints = CheckpointList(run, now=found[0].path) if run is not None else None
        folder = run or found[0].path.parent
        watch_play(shows, display, folder, playlist, checkpoints, attended=not settings.json)
    finally:
        for show in shows:
            show.close()
        display.close()
    return [{n: record_of(ended) for n, ended in sorted(each.items())} for each in playlist.results]


def film(found: Sequence[Candidate], settings: PlaySettings) -> Results:
    """Play into a film; it needs no display."""
    assert settings.record is not None
    from ecs_rl.viewer.films.studio import record_play

    os.environ.setdefault("SDL_VIDEODRIVER", "dummy")
    shows = shows_of(found, settings)
    report, results = reporter(found, settings), [dict[int, EpisodeRecord]() for _ in found]
    try:
        for episode in record_play(shows, settings.record, speed=settings.speed):
            for number, ended in enumerate(episode):
                results[number][ended.arena] = record_of(ended)
                report(number, ended.arena, results[number][ended.arena])
    finally:
        for show in shows:
            show.close()
    tell(f"film written: {settings.record}", sys.stderr if settings.json else sys.stdout)
    return results


def shows_of(found: Sequence[Candidate], settings: PlaySettings) -> list[LiveEpisode]:
    """Return one show for each candidate, all on the same seeds."""
    from ecs_rl.viewer.live_episode import LiveEpisode

    seeds = range(settings.seed, settings.seed + settings.episodes)
    sampled = settings.stochastic
    shows = [
        LiveEpisode(e.player.scene, e.player.agents, seeds=seeds, sampled=sampled, label=e.label, stays=True)
        for e in found
    ]
    for show in shows:
        show.speed = settings.speed
    return shows


def run_of(path: Path) -> Path | None:
    """Return the run that a checkpoint belongs to, None for a file on its own."""
    return path.parent.parent if path.parent.name == "checkpoints" else None


# --- what is told -----------------------------------------------------------------------------------------------------


def record_of(ended: Ended) -> EpisodeRecord:
    """Return an episode that was watched as an evaluation would have noted it."""
    reasons = {f"end/{reason}": 1.0 for reason in ended.reasons}
    extras = {**ended.terms, **reasons}
    return EpisodeRecord(ended.total, ended.length, "Terminated" if ended.terminated else "Truncated", extras)


def printing(settings: PlaySettings) -> Callable[[str], None]:
    """Return what prints results: where words are all that was asked for, not being able to write them is a failure."""
    return deliver if settings.json or (settings.headless and settings.record is None) else tell


def reporter(found: Sequence[Candidate], settings: PlaySettings) -> Callable[[int, int, EpisodeRecord], None]:
    """Return what prints one episode: which candidate, which episode, and how it went."""

    say = printing(settings)

    def report(number: int, episode: int, record: EpisodeRecord) -> None:
        who = f"{found[number].label}, " if len(found) > 1 else ""
        if not settings.json:
            say(f"{who}seed {settings.seed + episode}: {told(record.total_reward, record.length, record.extras)}")

    return report


def told(total: float, length: int, extras: Mapping[str, float]) -> str:
    """Return one episode in a line."""
    terms = "  ".join(f"{name} {value:.1f}" for name, value in extras.items() if not name.startswith("end/"))
    ended = ", ".join(name.removeprefix("end/") for name in extras if name.startswith("end/")) or "time is up"
    return f"{total:8.1f} in {length} ticks ({ended})  {terms}"


def say_how_it_went(found: Sequence[Candidate], results: Results, settings: PlaySettings) -> None:
    """Print the means, or with `--json` one object and nothing else."""
    say = printing(settings)
    rows: list[dict[str, Any]] = []
    for each, records in zip(found, results, strict=True):
        if not records:
            continue
        report = EvalReport.of(list(records.values()), each.player.manifest.step)
        rows.append(as_json(each.path, report, [record.total_reward for record in records.values()]))
        if not settings.json:
            who = f"{each.player.scene.name}, {each.label}"
            mean = f"{report.mean_return:.1f} ± {report.std_return:.1f}"
            say(f"{who}: mean {mean} over {report.episodes} episodes")
    if settings.json:
        say(json.dumps({"compare": rows} if settings.compare else rows[0] if rows else {}))
    elif not rows:
        say("no episode was played to its end")


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
