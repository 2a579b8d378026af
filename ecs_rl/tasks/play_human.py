"""`play.py [SCENE|RUN] --human`: a person plays, against the policy of a run if there is one."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from statistics import fmean
from typing import Any

from ecs_rl.cli.command_settings import PlaySettings
from ecs_rl.cli.parse import name_of_run
from ecs_rl.cli.target import checkpoint_meant, folder_for, is_scene_file, names_scene, run_of
from ecs_rl.console import tell
from ecs_rl.errors import CheckpointError, CommandError
from ecs_rl.loading import load_scene
from ecs_rl.scene.scene import Scene
from ecs_rl.tasks.play_checkpoints import Candidate, candidate
from ecs_rl.tasks.show import window_of
from ecs_rl.training.recording import begun
from ecs_rl.viewer.live.hands import DemoRecorder, Hands, HumanPlaylist, idle_agents
from ecs_rl.viewer.live.live_stage import YOU
from ecs_rl.viewer.live.playlist import CheckpointList
from ecs_rl.viewer.live.watch import watch_play
from ecs_rl.viewer.live_episode import LiveEpisode
from ecs_rl.viewer.played_episodes import Ended


def play_human(settings: PlaySettings) -> int:
    """Open a window in which a person plays, until it is closed; tell how it went."""
    for flag in ("headless", "record", "compare"):
        if getattr(settings, flag):
            raise CommandError(f"--human needs a window and nobody to compare: leave --{flag} out")
    scene, rival = scene_and_rival(settings)
    demo = settings.save_demo or settings.save_data
    if demo is not None:  # what cannot be written is told now, not after the first episode
        begun(demo, scene, "--save-demo" if settings.save_demo else "--save-data")
    results = HumanResults(rival, settings)
    _play(scene, rival, settings, results)
    results.finish(scene)
    return 0


def scene_and_rival(settings: PlaySettings) -> tuple[Scene, Candidate | None]:
    """Return what is played, and the policy to play against: that of the run, or of the newest run of the scene."""
    target = settings.target
    named = settings.scene or (target if target is not None and names_scene(target) else "")
    if not named:
        rival = candidate_meant(settings)
        return rival.player.scene, rival
    scene, opponent = load_scene(named), None
    with suppress(CheckpointError, CommandError):  # no run is no hindrance: a person needs none
        if target is None or names_scene(target):
            target = named if is_scene_file(named) else name_of_run(named)
        opponent = candidate_meant(replace(settings, target=target, scene=named), scene)
    return scene, opponent


def candidate_meant(settings: PlaySettings, scene: Scene | None = None) -> Candidate:
    """Return the policy of the checkpoint that the settings mean, in this scene or its own."""
    return candidate(settings, checkpoint_meant(settings), scene=scene)


class HumanResults:
    """What the person and the policy came to, episode by episode."""

    def __init__(self, rival: Candidate | None, settings: PlaySettings) -> None:
        self.names = ["you"] + ([rival.label] if rival is not None else [])
        self._rival, self._settings = rival, settings
        self.ended: list[dict[int, Ended]] = [{} for _ in self.names]

    def add(self, number: int, ended: Ended) -> None:
        """Tell one episode."""
        self.ended[number][ended.arena] = ended
        if not self._settings.json:
            how = f"{ended.total:8.1f} in {ended.length} ticks ({', '.join(ended.reasons) or 'time is up'})"
            tell(f"{self.names[number]}, seed {ended.seed}: {how}")

    def finish(self, scene: Scene) -> None:
        """Tell who was better on the episodes that both have played, and where the demonstration is."""
        own_results, *others = ({arena: each.total for arena, each in ended.items()} for ended in self.ended)
        mean = fmean(own_results.values()) if own_results else None
        summary: dict[str, Any] = {"scene": scene.reference, "episodes": len(own_results), "mean_return": mean}
        summary["returns"] = list(own_results.values())
        lines = [
            "nothing was played to its end"
            if mean is None
            else f"you: mean {mean:.1f} over {len(own_results)} episodes"
        ]
        for theirs in others:
            both = own_results.keys() & theirs.keys()
            assert self._rival is not None
            wins = sum(own_results[arena] > theirs[arena] for arena in both)
            summary["policy"] = {"checkpoint": str(self._rival.path), "returns": list(theirs.values()), "wins": wins}
            if both:
                lines.append(f"you won {wins} of {len(both)} against {self._rival.label}")
        demo = self._settings.save_demo or self._settings.save_data
        if demo is not None and demo.exists():
            summary["demo"] = str(demo)
            use = "--imitate" if self._settings.save_demo else "--agent iql --offline"
            lines.append(f"what you did is in {demo}: train.py {scene.reference} {use} {demo}")
        for line in [json.dumps(summary)] if self._settings.json else lines:
            tell(line)


def _play(scene: Scene, rival: Candidate | None, settings: PlaySettings, results: HumanResults) -> None:
    with window_of(scene, "--human needs one") as (display, shows):
        shows.extend(shows_of(scene, rival, settings))
        hands = Hands(shows[0], counts=True)
        demo = settings.save_demo or settings.save_data
        if demo is not None:
            DemoRecorder(hands, demo)
        run = run_of(rival.path) if rival is not None else None
        checkpoints = CheckpointList(run, now=rival.path) if run is not None and rival is not None else None
        playlist = HumanPlaylist(shows, results.add, hands)
        folder = folder_for(rival.path) if rival is not None else Path()
        watch_play(shows, display, folder, playlist, checkpoints, attended=not settings.json, hands=hands)


def shows_of(scene: Scene, rival: Candidate | None, settings: PlaySettings) -> list[LiveEpisode]:
    """Return the person's show, and beside it the policy's on the same seeds."""
    seeds = range(settings.seed, settings.seed + settings.episodes)
    others = rival.player.agents if rival is not None else idle_agents(scene)
    shows = [LiveEpisode(scene, others, seeds=seeds, label=YOU, stays=True)]
    if rival is not None:
        label, sampled = rival.label, settings.stochastic
        shows.append(LiveEpisode(scene, others, seeds=seeds, label=label, stays=True, sampled=sampled))
    for show in shows:
        show.speed = settings.speed
    return shows
