"""What `play.py` plays: one checkpoint or several, headless, in a window or into a film, and what it reports of it."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ecs_rl.adapters.minari_data import minari_module, write_minari
from ecs_rl.agents.own import load_algorithm
from ecs_rl.cli.command_settings import RANDOM, PlaySettings, is_checkpoint_name
from ecs_rl.cli.target import is_pilot, names_scene, run_of
from ecs_rl.console import deliver, tell
from ecs_rl.errors import CommandError
from ecs_rl.loading import load_scene
from ecs_rl.runs.demonstrations import read_demonstrations
from ecs_rl.scene.scene import Scene
from ecs_rl.session import EpisodeRecord, EvalReport
from ecs_rl.spaces import ActMode
from ecs_rl.tasks.assemble import opponent_meant
from ecs_rl.training.opponent import Opponent, RandomPlayer, standing
from ecs_rl.training.playback import Player
from ecs_rl.viewer.played_episodes import Ended

_MEANS = ("episodes", "mean_return", "std_return", "min_return", "max_return", "mean_length")


@dataclass(frozen=True)
class Candidate:
    """One checkpoint that plays."""

    path: Path
    player: Player
    label: str
    opponent: Opponent | None = None


def play(settings: PlaySettings, paths: Sequence[Path]) -> int:
    """Play some checkpoints, in the way that is asked for."""
    entries = candidates(settings, paths)
    report = PlayReport(entries, settings)
    if settings.headless and settings.record is None:
        play_headless(entries, settings, report)
    else:
        if settings.save_data is not None:  # what a person does in the window is no part of the data
            _play_all(entries, settings)
        from ecs_rl.tasks import show  # the door to pygame

        play_visibly = show.play_in_window if settings.record is None else show.film
        play_visibly(entries, settings, report)
    report.finish()
    return 0


def play_at_random(settings: PlaySettings) -> int:
    """Play a scene by actions that are each as likely as any other, and report it."""
    scene = settings.scene or settings.target
    if scene is None or not names_scene(scene):
        raise CommandError("--checkpoint random: name the scene, as in play.py lander --checkpoint random --headless")
    if not settings.headless or settings.record is not None:
        raise CommandError("--checkpoint random plays without a window: add --headless, and leave --record out")
    if settings.against or settings.compare:
        raise CommandError("--checkpoint random plays all agents: leave --against and --compare out")
    entries = [Candidate(Path(RANDOM), RandomPlayer.of(load_scene(scene)), RANDOM)]
    report = PlayReport(entries, settings)
    play_headless(entries, settings, report)
    report.finish()
    return 0


def candidates(settings: PlaySettings, paths: Sequence[Path]) -> list[Candidate]:
    """Return these checkpoints, loaded: the one that is meant, or those to compare."""
    scene = load_scene(settings.scene) if settings.scene else None
    names = settings.compare or ("",)
    entries = [candidate(settings, path, name, scene) for path, name in zip(paths, names, strict=True)]
    scenes = {each.player.scene.reference for each in entries}
    if len(scenes) > 1:
        raise CommandError(f"--compare needs checkpoints of one scene, not of {' and '.join(sorted(scenes))}")
    return entries


def candidate(settings: PlaySettings, path: Path, name: str = "", scene: Scene | None = None) -> Candidate:
    """Return the checkpoint of a file, loaded, in this scene or its own; `name` is what `--compare` calls it."""
    is_named = is_checkpoint_name(name)
    algorithm = load_algorithm(settings.agent) if settings.agent else None
    player = Player.load(path, settings.seed, scene=scene, algorithm=algorithm, network=settings.network)
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


class PlayReport:
    """What is told of the episodes: each in a line and the means at the end, or with `--json` one object."""

    def __init__(self, entries: Sequence[Candidate], settings: PlaySettings) -> None:
        self._entries, self._settings = entries, settings
        self._records: list[dict[int, EpisodeRecord]] = [{} for _ in entries]
        # Where words are all that was asked for, not being able to write them is a failure.
        self._say = deliver if settings.json or (settings.headless and settings.record is None) else tell

    def add(self, number: int, episode: int, record: EpisodeRecord) -> None:
        """Tell one episode: which candidate, which episode, and how it went."""
        self._records[number][episode] = record
        if self._settings.json:
            return
        who = f"{self._entries[number].label}, " if len(self._entries) > 1 else ""
        terms = "  ".join(f"{name} {value:.1f}" for name, value in record.extras.items() if not name.startswith("end/"))
        ends = [name.removeprefix("end/") for name in record.extras if name.startswith("end/")]
        score = self._entries[number].player.scene.score
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
        for entry, by_episode in zip(self._entries, self._records, strict=True):
            if not by_episode:
                continue
            records = [record for _, record in sorted(by_episode.items())]
            report = EvalReport.of(records, entry.player.manifest.step)
            run, score = run_of(entry.path), entry.player.scene.score
            row = {
                "run": None if run is None else str(run),
                "checkpoint": str(entry.path),
                "step": entry.player.manifest.step,
                **{name: getattr(report, name) for name in _MEANS},
                "returns": [record.total_reward for record in records],
            }
            mean = f"mean {report.mean_return:.1f} ± {report.std_return:.1f}"
            if score:
                row |= {"mean_score": report.scores[score], "scores": [record.result(score) for record in records]}
                mean = f"mean score {report.scores[score]:.1f}, mean return {mean.removeprefix('mean ')}"
            rows.append(row)
            if not self._settings.json:
                self._say(f"{entry.player.scene.name}, {entry.label}: {mean} over {report.episodes} episodes")
            if entry.opponent is not None:
                row |= self._standing(entry.opponent, [entry.opponent.lead(record, score) for record in records])
        return rows

    def _standing(self, opponent: Opponent, leads: Sequence[float]) -> dict[str, Any]:
        """Return how it stands against an opponent, and tell it."""
        counts = standing(leads)
        if not self._settings.json:
            words = "{wins} won, {draws} drawn, {losses} lost".format(**counts)
            share = "{low:.0%} to {high:.0%} won".format(**counts)
            self._say(f"against {opponent.reference}: {words}: {share} (95 % interval)")
        return counts


def play_headless(entries: Sequence[Candidate], settings: PlaySettings, report: PlayReport) -> None:
    """Play all episodes at once, as an evaluation does."""
    for number, records in enumerate(_play_all(entries, settings)):
        for episode, record in enumerate(records):
            report.add(number, episode, record)


def _play_all(entries: Sequence[Candidate], settings: PlaySettings) -> list[list[EpisodeRecord]]:
    """Return the episodes of each candidate, with `--save-data` written to its file."""
    mode, save = ActMode.SAMPLE if settings.stochastic else ActMode.GREEDY, settings.save_data
    if settings.minari:
        minari_module()  # what is missing is told now, not after the last episode
    played = [each.player.play(settings.episodes, settings.seed, mode, each.opponent, save) for each in entries]
    if settings.minari and save is not None:
        write_minari(settings.minari, read_demonstrations(save))
    return played
