"""Episodes that a person plays, alone or against a policy on the same seeds: `play.py SCENE --human`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ecs_rl.agents.base import Agent
from ecs_rl.scene.scene import Scene
from ecs_rl.spaces import ActMode, Decision, Floats, PolicySpec
from ecs_rl.viewer.endings import Ended
from ecs_rl.viewer.live.aside import Aside
from ecs_rl.viewer.live.before_after import BeforeAfter
from ecs_rl.viewer.live.hands import Hands
from ecs_rl.viewer.live.playlist import Playlist
from ecs_rl.viewer.live_episode import LiveEpisode
from ecs_rl.viewer.view import Tone
from ecs_rl.world import policy_specs

if TYPE_CHECKING:
    from ecs_rl.viewer.live.window import Window

YOU = "you"


@dataclass(frozen=True)
class Idle:
    """An agent that does nothing: where a person plays and nobody has learned anything yet."""

    spec: PolicySpec
    name: str = "nobody"

    def act(self, observation: Floats, mode: ActMode, state: Floats | None = None) -> Decision:
        """Return the first option of every choice, and levers in the middle."""
        return Decision(self.spec.actions.none(len(observation)))


def idle_agents(scene: Scene) -> Mapping[str, Agent]:
    """Return an agent that does nothing for every policy of a scene."""
    return {name: Idle(spec) for name, spec in policy_specs(scene.describe()).items()}  # type: ignore[misc]


class HumanPlaylist(Playlist):
    """Waits for the person: each episode begins with the first key, and its end stays until another one."""

    def __init__(self, shows: Sequence[LiveEpisode], report: Callable[[int, Ended], None], hands: Hands) -> None:
        super().__init__(shows, report)
        self.hands, self.waits = hands, True
        """Whether the episode is to begin with the next key."""
        self._presses = hands.presses
        self._prompt(shows)

    def look(self, shows: Sequence[LiveEpisode]) -> None:
        """Note what has ended; tell how it came out, and wait for a key before the next."""
        self.note_ends(shows)
        pressed, self._presses = self.hands.presses != self._presses, self.hands.presses
        if self.waits:
            self.waits = not pressed
        elif all(show.rested for show in shows):
            if self.verdict is None:
                self.verdict = verdict([(show.label, show.total) for show in shows], shows[0].counted)
            elif pressed:
                self.go_on(shows)
        self._prompt(shows)

    def _prompt(self, shows: Sequence[LiveEpisode]) -> None:
        """Let the person's stage ask for a key where an episode waits for one."""
        keys = "  ".join(f"{key} {what}" for key, what in self.hands.controls.told)
        for show in shows:
            show.overlay.prompt = f"{keys}:  press one to start" if self.waits and show is self.hands.show else ""

    def go_on(self, shows: Sequence[LiveEpisode]) -> None:
        """Begin the next episode as soon as a key is pressed."""
        super().go_on(shows)
        self.wait()

    def wait(self) -> None:
        """Hold the episode that has been brought to its beginning until a key is pressed."""
        self.waits, self.verdict = True, None


class Race(BeforeAfter):
    """The person and the policy of a show on the same seed, until both have come to their end."""

    title, key = "RACE", "Y"

    def __init__(self, show: LiveEpisode) -> None:
        """Take the episode of a `show`."""
        Aside.__init__(self)
        list(self.begin(show, [(show.agents, YOU), (show.agents, show.label)]))
        self.hands = Hands(self.shows[0], counts=True)


def verdict(results: Sequence[tuple[str, float]], counted: str) -> tuple[str, Tone]:
    """Return who won, from each one's label and result, the person's first."""
    (_, mine), *others = results
    told = f"you: {counted} {mine:.1f}"
    if not others:
        return told, "plain"
    label, theirs = others[0]
    apart = mine - theirs
    who = "you win" if apart > 0 else "a draw" if apart == 0 else "the policy wins"
    by = f" by {abs(apart):.1f}" if apart else ""
    return f"{told}  ·  {label}: {theirs:.1f}  ·  {who}{by}", "good" if apart > 0 else "plain" if not apart else "bad"


def toggle_hands(window: Window) -> None:
    """Take the controls of the agent that is watched, or give them back."""
    if window.hands is not None:
        leave_hands(window)
        window.say("the policy drives again")
        return
    if window.grid is not None:
        window.say("choose an arena first: Enter brings it to the stage", "warn")
        return
    if not window.show.go_on_from_here():
        window.say("an episode ended here: go further back", "warn")
        return
    hands = Hands(window.show)
    window.let_drive(hands)
    window.pause_stage(False)  # who drives wants to see where
    keys = ", ".join(f"{key} {what}" for key, what in hands.controls.told)
    window.say(f"you drive: {keys}; H hands it back", "good")


def leave_hands(window: Window) -> None:
    """Give the controls back to the policy."""
    if window.hands is not None:
        window.hands.let_go()
        window.hands = None


def toggle_race(window: Window) -> None:
    """Race the policy that is on the stage on its seed, or go back."""
    if isinstance(window.aside, Race):
        window.leave_aside()
        return
    policy = next(iter(window.show.agents.values()), None)  # a replay whose run is gone has none
    if len(window.shows) > 1 or policy is None or isinstance(policy, Idle):
        window.say("there is no policy here to race", "warn")
        return
    leave_hands(window)
    race = Race(window.show)
    window.take_aside(race)
    window.let_drive(race.hands)
