"""Episodes that a person plays, alone or against a policy on the same seeds: `play.py SCENE --human`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from ecs_rl.agents.base import Agent
from ecs_rl.scene.scene import Scene
from ecs_rl.spaces import ActMode, Decision, Floats, PolicySpec
from ecs_rl.viewer.live.hands import Hands
from ecs_rl.viewer.live.playlist import Playlist
from ecs_rl.viewer.live_episode import LiveEpisode
from ecs_rl.viewer.played_episodes import Ended
from ecs_rl.viewer.view import Tone
from ecs_rl.world import policy_specs


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
        keys = "  ".join(f"{key} {what}" for key, what in self.hands.controls.legend)
        for show in shows:
            show.overlay.prompt = f"{keys}:  press one to start" if self.waits and show is self.hands.show else ""

    def go_on(self, shows: Sequence[LiveEpisode]) -> None:
        """Begin the next episode as soon as a key is pressed."""
        super().go_on(shows)
        self.wait()

    def wait(self) -> None:
        """Hold the episode that has been brought to its beginning until a key is pressed."""
        self.waits, self.verdict = True, None


def verdict(results: Sequence[tuple[str, float]], counted: str) -> tuple[str, Tone]:
    """Return who won, from each one's label and result, the person's first."""
    (_, own), *others = results
    text = f"you: {counted} {own:.1f}"
    if not others:
        return text, "plain"
    label, other = others[0]
    apart = own - other
    who = "you win" if apart > 0 else "a draw" if apart == 0 else "the policy wins"
    by = f" by {abs(apart):.1f}" if apart else ""
    return f"{text}  ·  {label}: {other:.1f}  ·  {who}{by}", "good" if apart > 0 else "plain" if not apart else "bad"
