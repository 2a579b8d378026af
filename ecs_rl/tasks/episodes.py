"""`play.py FILE.episode`: one episode that was kept, played again as it was: in a window, headless or into a film."""

from __future__ import annotations

import json
import sys
from dataclasses import fields
from pathlib import Path
from typing import Any

from ecs_rl.cli.command_settings import PlaySettings
from ecs_rl.console import deliver, tell
from ecs_rl.errors import CommandError
from ecs_rl.loading import load_scene
from ecs_rl.runs.episode_file import Episode, read_episode
from ecs_rl.scene.scene import Scene
from ecs_rl.training.trust import trusted_scene
from ecs_rl.viewer.played_episodes import Ended
from ecs_rl.viewer.replay import played_again

FITS = ("target", "headless", "record", "speed", "scene", "runs", "json")
"""The settings that mean something where an episode is played again."""


def play_episode(settings: PlaySettings) -> int:
    """Play the episode again in the way that is asked for."""
    for setting in fields(settings):
        if setting.name not in FITS and getattr(settings, setting.name) != setting.default:
            flag = f"--{setting.name.replace('_', '-')}"
            raise CommandError(f"{flag}: an episode goes as it went: leave {flag} out")
    path = Path(settings.target or "")
    if not path.is_file():
        raise CommandError(f"there is no episode {path}: check the path")
    episode = read_episode(path)
    scene = _scene(path, episode, settings)
    report = EpisodeReport(path, episode, scene, settings)
    if settings.headless and settings.record is None:
        ended, exact = played_again(scene, episode)
        report.add(ended, exact=exact)
        return 0
    from ecs_rl.tasks import show  # the door to pygame

    if settings.record is not None:
        show.film_episode(scene, episode, settings, report)
    else:
        show.show_episode(path, scene, episode, settings, report)
    return 0


def _scene(path: Path, episode: Episode, settings: PlaySettings) -> Scene:
    facts = episode.facts
    scene = load_scene(settings.scene) if settings.scene else trusted_scene(path, facts)
    if changed := scene.changed_file(facts.source_sha256, facts.scene_data):
        tell(f"play.py: {changed} is not as it was when {path} was saved: it may go otherwise", sys.stderr)
    return scene


class EpisodeReport:
    """Tells how the episode went, once; with `--json` as one object."""

    def __init__(self, path: Path, episode: Episode, scene: Scene, settings: PlaySettings) -> None:
        self.path, self.episode, self.scene, self.settings = path, episode, scene, settings
        self._reported = False

    def add(self, ended: Ended, *, exact: bool) -> None:
        """Tell how it ended, and whether it came to the same bits."""
        if self._reported:
            return
        self._reported = True
        facts, record = self.episode.facts, ended.record
        if not exact:
            difference = f"{ended.total:.6g} in {ended.length} ticks, not {facts.total:.6g} in {facts.ticks}"
            tell(f"play.py: {self.path} came out otherwise than it was: {difference}", sys.stderr)
        if self.settings.json:
            row: dict[str, Any] = {
                "episode": str(self.path),
                "scene": self.scene.reference,
                "seed": facts.seed,
                "who": facts.who,
                "episodes": 1,
                "mean_return": record.total_reward,
                "mean_length": record.length,
                "returns": [record.total_reward],
                "reasons": list(ended.reasons),
                "exact": exact,
            }
            if self.scene.score:
                row |= {"mean_score": ended.total}
            deliver(json.dumps(row))
            return
        how = f"{', '.join(ended.reasons) or 'time is up'}, {ended.total:.1f} in {ended.length} ticks"
        same = "bit for bit as it was" if exact else "not as it was"
        (deliver if self.settings.headless else tell)(
            f"{self.scene.name}, seed {facts.seed}, {facts.who}: {how}; {same}"
        )
