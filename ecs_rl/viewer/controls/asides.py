"""What takes the place of the stage for a while: before and after, a race, an episode played again."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import pygame

from ecs_rl.errors import EcsRlError
from ecs_rl.runs.episode_file import Episode
from ecs_rl.viewer.live.hands import Idle, verdict
from ecs_rl.viewer.live.live_stage import BeforeAfter, Race, ReplayAside
from ecs_rl.viewer.number_formats import signed
from ecs_rl.viewer.panel import App, Chip, Command, Control
from ecs_rl.viewer.played_episodes import PlayedEpisodes
from ecs_rl.viewer.replay import Replay

CHOICES: dict[str, Callable[[PlayedEpisodes], Episode | None]] = {
    "worst": PlayedEpisodes.worst,
    "best": PlayedEpisodes.best,
    "most surprising": PlayedEpisodes.most_surprising,
}


class Asides(Control):
    """Opens one at a time, and leads back to the stage."""

    name = "aside"

    def __init__(self) -> None:
        self._checked: Replay | None = None
        """The replay of which was said whether it came to the same bits."""

    def compare(self, app: App) -> None:
        """Show the untrained policy and the present one on the seed that is on the stage, or go back."""
        stage, untrained = app.stage, app.run.untrained
        if stage.aside is not None:
            stage.leave_aside()
        elif untrained is None or len(stage.shows) > 1:
            app.say("there is no untrained policy here to compare with", "warn")
        elif stage.coming is None:
            stage.coming = BeforeAfter(stage.show, untrained)

    def race(self, app: App) -> None:
        """Race the policy that is on the stage on its seed, or go back."""
        stage = app.stage
        if isinstance(stage.aside, Race):
            stage.leave_aside()
            return
        policy = next(iter(stage.show.agents.values()), None)  # a replay whose run is gone has none
        if len(stage.shows) > 1 or policy is None or isinstance(policy, Idle):
            app.say("there is no policy here to race", "warn")
        elif stage.coming is None:
            stage.coming = Race(stage.show)

    def replay(self, app: App) -> None:
        """Play the worst episode again, then the best and the most surprising one, then go back to the stage."""
        stage, names = app.stage, list(CHOICES)
        if stage.coming is not None:
            return
        after = names.index(stage.aside.which) + 1 if isinstance(stage.aside, ReplayAside) else 0
        stage.leave_aside()
        show = stage.show
        if len(stage.shows) > 1 or show.replays:
            app.say("there is one stage too many to choose an episode from", "warn")
            return
        for which in names[after:]:
            episode = CHOICES[which](show.played)
            if episode is not None:
                stage.coming = ReplayAside(show, which, episode)
                count, total = len(show.played.episodes), signed(episode.facts.total)
                app.say(f"the {which} of the last {count} episodes: {total}")
                return
        if not after:
            app.say("no episode has come to its end on this stage yet", "warn")

    def is_on(self, app: App) -> bool:
        """Return whether something stands in place of the stage."""
        return app.stage.aside is not None

    def chips(self, app: App) -> Iterable[Chip]:
        """Return the chip that leads back to the stage."""
        aside = app.stage.aside
        return [] if aside is None else [Chip(aside.title, aside.key, rank=4)]

    def leave(self, app: App) -> None:
        """Bring the stage back."""
        app.stage.leave_aside()

    def look(self, app: App, seconds: float) -> None:
        """Open what comes, and leave what was seen to its end."""
        stage = app.stage
        try:
            stage.open_aside()
        except EcsRlError as error:
            app.say(str(error), "bad")
        self._check(app)
        if stage.aside is not None and stage.aside.is_over(seconds):
            if isinstance(stage.aside, Race):
                app.say(*verdict([(show.label, show.total) for show in stage.shows], stage.show.counted))
            stage.leave_aside()

    def _check(self, app: App) -> None:
        """Say whether a replay came to the same bits."""
        show = app.stage.show
        if isinstance(show, Replay) and show.is_exact is not None and show is not self._checked:
            self._checked = show
            if show.is_exact:
                app.say("played again bit for bit", "good")
            else:
                app.say("it came out otherwise than it was", "warn")

    close = leave

    keys = (
        Command("Policy", "B", "before and after", "untrained and now, side by side", compare, (pygame.K_b,)),
        Command("Policy", "W", "replay", "worst, best, most surprising", replay, (pygame.K_w,)),
        Command("Hands", "Y", "race", "race the policy", race, (pygame.K_y,)),
    )
