"""Episodes of the stage played again: the worst, the best and the most surprising one; and kept as files."""

from __future__ import annotations

import re
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

from ecs_rl.errors import EcsRlError
from ecs_rl.runs.episode_file import FOLDER, Episode, write_episode
from ecs_rl.viewer.live.aside import Aside
from ecs_rl.viewer.number_formats import signed
from ecs_rl.viewer.played_episodes import PlayedEpisodes
from ecs_rl.viewer.replay import Replay

if TYPE_CHECKING:
    from ecs_rl.viewer.live.window import Window
    from ecs_rl.viewer.live_episode import LiveEpisode

CHOICES: dict[str, Callable[[PlayedEpisodes], Episode | None]] = {
    "worst": PlayedEpisodes.worst,
    "best": PlayedEpisodes.best,
    "most surprising": PlayedEpisodes.most_surprising,
}


class ReplayAside(Aside):
    """One of the stage's last episodes in place of the stage."""

    key = "W"

    def __init__(self, stage: LiveEpisode, which: str, episode: Episode) -> None:
        super().__init__()
        self.begun = False
        self.which, self.title = which, f"THE {which.upper()} OF {len(stage.played.episodes)}"
        label = f"replay of {episode.facts.who}"
        replay = Replay(stage.scene, episode, stage.agents, label=label, rival=stage.opponent)
        facts = episode.facts
        if which == "most surprising" and facts.expected is not None and facts.came is not None:
            replay.note = f"expected {signed(facts.expected)}, came {signed(facts.came)}"
        self.shows.append(replay)


class Replays:
    """The window's hand on the episodes of its stage."""

    def __init__(self, window: Window) -> None:
        self.window = window
        self.keeps = False
        """The running episode is to be kept once it ends."""
        if window.background is not None:
            session = window.background.training.session
            window.show.played.when = lambda: f"at step {session.total_steps:,}"
        self._comes: ReplayAside | None = None
        self._told: Replay | None = None
        self._writer: ThreadPoolExecutor | None = None
        self._writes: list[Future[Path]] = []

    # --- again ------------------------------------------------------------------------------------------------------

    def turn(self) -> None:
        """Play the worst episode again, then the best and the most surprising one, then go back to the stage."""
        window, names = self.window, list(CHOICES)
        if self._comes is not None:
            return
        aside = window.aside
        after = names.index(aside.which) + 1 if isinstance(aside, ReplayAside) else 0
        window.leave_aside()
        stage = window.show
        if len(window.shows) > 1 or stage.replays:
            window.say("there is one stage too many to choose an episode from", "warn")
            return
        for which in names[after:]:
            episode = CHOICES[which](stage.played)
            if episode is not None:
                self._comes = ReplayAside(stage, which, episode)
                count, total = len(stage.played.episodes), signed(episode.facts.total)
                window.say(f"the {which} of the last {count} episodes: {total}")
                return
        if not after:
            window.say("no episode has come to its end on this stage yet", "warn")

    # --- keeping ----------------------------------------------------------------------------------------------------

    def keep(self) -> None:
        """Write the episode that has just ended, or that is played again; one that still runs when it ends."""
        window, show = self.window, self.window.show
        if isinstance(show, Replay):
            self._write(show.episode_played)
        elif show.outcome is not None and show.rewind.at is None:
            self._write(show.played.newest(show.arena))
        elif not show.log.running[show.arena].is_whole:
            window.say("this episode's beginning is not known: the next one can be kept", "warn")
        else:
            self.keeps = not self.keeps
            window.say("this episode is kept once it ends" if self.keeps else "this episode is not kept")

    def look(self) -> None:
        """Begin a replay, keep what has ended, tell what was written, and whether a replay came to the same bits."""
        self._bring()
        show = self.window.show
        if self.keeps and show.outcome is not None and show.rewind.at is None:
            self.keeps = False
            self._write(show.played.newest(show.arena))
        for done in [each for each in self._writes if each.done()]:
            self._writes.remove(done)
            self._tell(done)
        if isinstance(show, Replay) and show.is_exact is not None and show is not self._told:
            self._told = show
            good = show.is_exact
            self.window.say(
                "played again bit for bit" if good else "it came out otherwise than it was", "good" if good else "warn"
            )

    def _bring(self) -> None:
        """Begin the replay that comes, and in the frame after that show it: each takes a while."""
        comes, window = self._comes, self.window
        if comes is None:
            return
        if not comes.begun:
            comes.begun = True
            comes.shows[0].restart()
            return
        self._comes = None
        if window.aside is not None or len(window.shows) > 1:  # somebody was quicker
            comes.close()
        else:
            window.take_aside(comes)

    def finish(self) -> None:
        """Wait until all is written, and tell it."""
        if self._comes is not None:
            self._comes.close()
            self._comes = None
        for each in self._writes:
            self._tell(each)
        self._writes.clear()
        if self._writer is not None:
            self._writer.shutdown()

    def _write(self, episode: Episode | None) -> None:
        window = self.window
        if episode is None:
            window.say("this episode cannot be kept: its beginning is not known, or it exploded", "warn")
            return
        facts = episode.facts
        scene = re.sub(r"[^A-Za-z0-9.-]+", "_", window.show.scene.name or "scene")
        name = f"{scene}_{facts.seed}_{facts.number}_{facts.digest[:8]}"
        if self._writer is None:
            self._writer = ThreadPoolExecutor(1, "episodes")  # the disk may take its time, a frame may not
        self._writes.append(self._writer.submit(write_episode, episode, window.folder / FOLDER, name))

    def _tell(self, done: Future[Path]) -> None:
        try:
            self.window.say(f"kept: play.py {done.result()}", "good", aloud=True)
        except EcsRlError as error:
            self.window.say(str(error), "bad")
