"""What `play.py` plays: one checkpoint or several, headless, in a window or into a film, and what it reports of it."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ecs_rl.commands.settings import PlaySettings
from ecs_rl.commands.target import (
    PILOT,
    checkpoint_meant,
    folder_for,
    is_checkpoint_name,
    is_pilot,
    is_scene_file,
    run_of,
)
from ecs_rl.console import deliver, tell
from ecs_rl.errors import CommandError
from ecs_rl.session import EpisodeRecord, EvalReport
from ecs_rl.spaces import ActMode

if TYPE_CHECKING:
    from ecs_rl.scene.scene import Scene
    from ecs_rl.training.opponent import Opponent
    from ecs_rl.training.playback import Player
    from ecs_rl.viewer.endings import Ended
    from ecs_rl.viewer.live_episode import LiveEpisode

MOST_PANES = 6
_MEANS = ("episodes", "mean_return", "std_return", "min_return", "max_return", "mean_length")


@dataclass(frozen=True)
class Candidate:
    """One checkpoint that plays."""

    path: Path
    player: Player
    label: str
    opponent: Opponent | None = None


def play(settings: PlaySettings) -> int:
    """Play what is asked for, in the way that is asked for; the pilots where nothing is, and there is no run."""
    from ecs_rl.runs import NoRunError

    if settings.save_demo is not None and not settings.human:
        raise CommandError("--save-demo keeps what a person does: add --human")
    try:
        if settings.human:
            from ecs_rl.commands.human import play_human

            return play_human(settings)
        found = candidates(settings)
    except NoRunError as none:
        if not asks_for_nothing(settings):
            raise
        from ecs_rl.commands.gallery import offer

        return offer(settings, none)
    return play_these(found, settings)


def asks_for_nothing(settings: PlaySettings) -> bool:
    """Return whether a command leaves open what is played."""
    named = (settings.target, settings.compare, settings.record, settings.against, settings.scene, settings.agent)
    return not any(named) and settings.checkpoint == "best"


def play_these(found: Sequence[Candidate], settings: PlaySettings) -> int:
    """Play some checkpoints, in the way that is asked for."""
    report = Report(found, settings)
    if settings.record is not None:
        film(found, settings, report)
    elif settings.headless:
        play_headless(found, settings, report)
    else:
        play_in_window(found, settings, report)
    report.finish()
    return 0


def candidates(settings: PlaySettings) -> list[Candidate]:
    """Return the checkpoints to play: the one that is meant, or those to compare."""
    names = settings.compare or ("",)
    if settings.target is not None and is_scene_file(settings.target):  # the command names the scene, too
        settings = replace(settings, scene=settings.scene or settings.target)
    if settings.target is None:  # `--compare RUN pilot` means the pilot of that run's scene
        runs = [name for name in names if name and not is_checkpoint_name(name) and not name.endswith(".safetensors")]
        settings = replace(settings, target=runs[0] if runs else None)
    if not 1 <= len(names) <= MOST_PANES:
        raise CommandError(f"--compare shows at most {MOST_PANES} checkpoints, not {len(names)}: name fewer")
    found = [candidate(settings, name) for name in names]
    scenes = {each.player.scene.reference for each in found}
    if len(scenes) > 1:
        raise CommandError(f"--compare needs checkpoints of one scene, not of {' and '.join(sorted(scenes))}")
    return found


def candidate(settings: PlaySettings, name: str) -> Candidate:
    """Return the checkpoint with this name in the run, that of another run, or a file of its own."""
    is_named = is_checkpoint_name(name)
    if name and not is_named:
        try:
            path = checkpoint_meant(replace(settings, target=name))
        except CommandError as none:
            names = "a checkpoint is best, latest, pilot or a step like 98304"
            raise CommandError(f"--compare {name}: {none} ({names})") from None
    elif name not in ("", PILOT) and (settings.target or "").endswith(".safetensors"):
        raise CommandError(f"--compare {name}: {settings.target} is one checkpoint; name the run that has several")
    else:
        path = checkpoint_meant(replace(settings, checkpoint=name) if name else settings)
    from ecs_rl.agents.own import load_algorithm
    from ecs_rl.loading import load_scene
    from ecs_rl.training.playback import Player

    scene = load_scene(settings.scene) if settings.scene else None
    algorithm = load_algorithm(settings.agent) if settings.agent else None
    player = Player.load(
        path,
        settings.seed,
        scene=scene,
        algorithm=algorithm,
        network=settings.network,
    )
    if algorithm is not None and algorithm.sha256 != player.manifest.config.get("agent_sha256"):
        tell(f"play.py: {algorithm.file} is not as it was when {path} was trained: returns may differ", sys.stderr)
    # A pilot is held to its score by a test, whatever a newer version of its scene looks like.
    changed = player.scene.changed_file(player.manifest.source_sha256, player.manifest.scene_data)
    if changed and not is_pilot(path):
        tell(f"play.py: {changed} is not as it was when {path} was trained: returns may differ", sys.stderr)
    which = "pilot" if is_pilot(path) else name if is_named else path.stem
    word = f"{which}, " if which in ("best", "latest", "pilot") or which.startswith("best_") else ""
    if name and not is_named and not name.endswith(".safetensors"):
        word = f"{name.removeprefix(f'{settings.runs}/')}, {word}"
    opponent = opponent_meant(player.scene, settings.against, settings.runs)
    return Candidate(path, player, f"{word}step {player.manifest.step:,}", opponent)


def opponent_meant(scene: Scene, text: str, runs: Path) -> Opponent | None:
    """Return the opponent that `--against` names: random, a checkpoint file, or the best one of a run."""
    if not text:
        return None
    from ecs_rl.training.opponent import opponent_of

    return opponent_of(scene, text, lambda name: checkpoint_meant(PlaySettings(target=name, runs=runs)))


class Report:
    """What is told of the episodes: each in a line and the means at the end, or with `--json` one object."""

    def __init__(self, found: Sequence[Candidate], settings: PlaySettings) -> None:
        self._found, self._settings = found, settings
        self._records: list[dict[int, EpisodeRecord]] = [{} for _ in found]
        # Where words are all that was asked for, not being able to write them is a failure.
        self._say = deliver if settings.json or (settings.headless and settings.record is None) else tell

    def add(self, number: int, episode: int, record: EpisodeRecord) -> None:
        """Tell one episode: which candidate, which episode, and how it went."""
        self._records[number][episode] = record
        if self._settings.json:
            return
        who = f"{self._found[number].label}, " if len(self._found) > 1 else ""
        terms = "  ".join(f"{name} {value:.1f}" for name, value in record.extras.items() if not name.startswith("end/"))
        ends = [name.removeprefix("end/") for name in record.extras if name.startswith("end/")]
        score = self._found[number].player.scene.score
        lead = f"{'score ' if score else ''}{record.result(score):8.1f}"
        how = f"{lead} in {record.length} ticks ({', '.join(ends) or 'time is up'})  {terms}"
        self._say(f"{who}seed {self._settings.seed + episode}: {how}")

    def add_watched(self, number: int, ended: Ended) -> None:
        """Tell one episode that was watched, as an evaluation would have noted it."""
        self.add(number, ended.arena, ended.record)

    def finish(self) -> None:
        """Tell the means."""
        rows = self.rows()
        if self._settings.json:
            self._say(json.dumps({"compare": rows} if self._settings.compare else rows[0] if rows else {}))
        elif not rows:
            self._say("no episode was played to its end")

    def rows(self) -> list[dict[str, Any]]:
        """Return what each candidate's episodes came to, and tell it in words."""
        rows: list[dict[str, Any]] = []
        for each, by_episode in zip(self._found, self._records, strict=True):
            if not by_episode:
                continue
            records = [record for _, record in sorted(by_episode.items())]
            report = EvalReport.of(records, each.player.manifest.step)
            run, score = run_of(each.path), each.player.scene.score
            row = {
                "run": None if run is None else str(run),
                "checkpoint": str(each.path),
                "step": each.player.manifest.step,
                **{name: getattr(report, name) for name in _MEANS},
                "returns": [record.total_reward for record in records],
            }
            mean = f"mean {report.mean_return:.1f} ± {report.std_return:.1f}"
            if score:
                row |= {"mean_score": report.scores[score], "scores": [record.result(score) for record in records]}
                mean = f"mean score {report.scores[score]:.1f}, mean return {mean.removeprefix('mean ')}"
            rows.append(row)
            if not self._settings.json:
                self._say(f"{each.player.scene.name}, {each.label}: {mean} over {report.episodes} episodes")
            if each.opponent is not None:
                row |= self._standing(each.opponent, [each.opponent.lead(record, score) for record in records])
        return rows

    def _standing(self, opponent: Opponent, leads: Sequence[float]) -> dict[str, Any]:
        """Return how it stands against an opponent, and tell it."""
        from ecs_rl.training.opponent import standing

        found = standing(leads)
        if not self._settings.json:
            told = "{wins} won, {draws} drawn, {losses} lost".format(**found)
            share = "{low:.0%} to {high:.0%} won".format(**found)
            self._say(f"against {opponent.reference}: {told}: {share} (95 % interval)")
        return found


def play_headless(found: Sequence[Candidate], settings: PlaySettings, report: Report) -> None:
    """Play all episodes at once, as an evaluation does."""
    mode = ActMode.SAMPLE if settings.stochastic else ActMode.GREEDY
    played = [each.player.play(settings.episodes, settings.seed, mode, each.opponent) for each in found]
    for number, records in enumerate(played):
        for episode, record in enumerate(records):
            report.add(number, episode, record)


def play_in_window(found: Sequence[Candidate], settings: PlaySettings, report: Report) -> None:
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
        playlist = Playlist(shows, report.add_watched)
        run = run_of(found[0].path)
        checkpoints = CheckpointList(run, now=found[0].path) if run is not None else None
        watch_play(shows, display, folder_for(found[0].path), playlist, checkpoints, attended=not settings.json)
    finally:
        for show in shows:
            show.close()
        display.close()


def film(found: Sequence[Candidate], settings: PlaySettings, report: Report) -> None:
    """Play into a film; it needs no display."""
    assert settings.record is not None
    from ecs_rl.viewer.films.studio import record_play

    os.environ.setdefault("SDL_VIDEODRIVER", "dummy")
    shows = shows_of(found, settings)
    try:
        for episode in record_play(shows, settings.record, speed=settings.speed):
            for number, ended in enumerate(episode):
                report.add_watched(number, ended)
    finally:
        for show in shows:
            show.close()
    tell(f"film written: {settings.record}", sys.stderr if settings.json else sys.stdout)


def shows_of(found: Sequence[Candidate], settings: PlaySettings) -> list[LiveEpisode]:
    """Return one show for each candidate, all on the same seeds."""
    from ecs_rl.viewer.live_episode import LiveEpisode

    seeds = range(settings.seed, settings.seed + settings.episodes)
    shows = [
        LiveEpisode(
            each.player.scene,
            each.player.agents,
            seeds=seeds,
            sampled=settings.stochastic,
            label=each.label,
            stays=True,
            opponent=each.opponent,
        )
        for each in found
    ]
    for show in shows:
        show.speed = settings.speed
    return shows
