"""An episode played again from its file or from memory: the same beginning, the same actions, the same bits."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ecs_rl.agents.base import Agent
from ecs_rl.arrays import F32
from ecs_rl.components import Chance, Clock, Rated, UserInput
from ecs_rl.errors import CheckpointError
from ecs_rl.runs.episode_file import Episode
from ecs_rl.runs.manifest import PolicyEntry
from ecs_rl.scene.loader import blaming_scene
from ecs_rl.scene.scene import Scene
from ecs_rl.spaces import ActMode, Decision
from ecs_rl.training.opponent import Driver
from ecs_rl.viewer.live_episode import LiveEpisode
from ecs_rl.viewer.played_episodes import Ended, digest_of
from ecs_rl.world import PolicyBatch, World, policy_specs


class Recorded:
    """Decides as it was decided: who drives a world in which an episode is played again."""

    def __init__(self, episode: Episode, agents: Mapping[str, Agent]) -> None:
        self.episode, self.agents = episode, agents

    def drive(self, world: World) -> None:
        """Drive all policies of a world from now on."""
        for number, batch in enumerate(world.batches):
            world.drive(batch.name, Tape(self, world, batch, number))
        if self.episode.facts.rated:
            world.one(Rated).agents = self.episode.facts.rated


class Tape:
    """One policy's actions, tick by tick; an agent that remembers goes on remembering, so that others may ask it."""

    def __init__(self, recorded: Recorded, world: World, batch: PolicyBatch, number: int) -> None:
        self.episode, self.world, self.batch, self.first = recorded.episode, world, batch, number == 0
        self.actions = recorded.episode.actions[number]
        self.agent = recorded.agents.get(batch.name)
        self.state = 0 if self.agent is None else self.agent.spec.state
        self.clock, self.hand = world.one(Clock), world.one(UserInput)

    def __call__(self, observation: F32, state: F32) -> Decision:
        """Return what was decided in this tick, nothing for all other arenas."""
        facts = self.episode.facts
        tick = int(self.clock.tick[facts.arena])
        if self.first and tick < facts.ticks:
            self._touch(tick)
        action: NDArray[Any] = self.batch.spec.actions.none(self.batch.rows)
        if tick < facts.ticks:
            action[facts.arena :: self.world.arenas] = self.actions[tick]
        if not self.state or self.agent is None:
            return Decision(action)
        return Decision(action, self.agent.act(observation, ActMode.GREEDY, state).state)

    def _touch(self, tick: int) -> None:
        """Let a person's hand do what it did, and the physics be made anew where it was."""
        if tick in self.episode.facts.rebuilt:
            self.world.rebuild()
        hand, rows = self.hand, self.episode.hands
        hand.role, hand.kicked, hand.air = None, None, (0.0, 0.0)
        for row in rows[rows[:, 0] == tick].tolist():
            held, kicked = int(row[1]), int(row[7])
            hand.arena, hand.role, hand.member = self.episode.facts.arena, held if held >= 0 else None, int(row[2])
            hand.at, hand.to = (row[3], row[4]), (row[5], row[6])
            hand.kicked, hand.kicked_member = kicked if kicked >= 0 else None, int(row[8])
            hand.kick, hand.air = (row[9], row[10], row[11]), (row[12], row[13])


class Replay(LiveEpisode):
    """A show of one episode that was played before; whatever begins on it begins that episode again."""

    replays = True
    episodes = 1

    def __init__(
        self,
        scene: Scene,
        episode: Episode,
        agents: Mapping[str, Agent] | None = None,
        *,
        label: str = "",
        rival: Driver | None = None,
    ) -> None:
        """Make the world that it is played in; `restart` then begins it."""
        check_fits(episode, scene)
        facts, self.episode_played = episode.facts, episode
        self.is_exact: bool | None = None
        """Whether it came to the same bits; None before its end."""
        super().__init__(
            scene,
            agents or {},
            seeds=[facts.seed] * facts.arenas,
            label=label or facts.who,
            stays=True,
            opponent=Recorded(episode, agents or {}),
        )
        self.rival = rival
        self.log.past.clear()  # until now it stands in another arena
        self.arena = facts.arena

    @property
    def who(self) -> str:
        """Who played."""
        return self.label

    def restart(self) -> None:
        """Begin the episode again."""
        facts = self.episode_played.facts
        self.rewind.leave()
        self.world.one(Chance).key[facts.arena] = np.uint64(int(facts.key))
        self._start(facts.arena, facts.number)

    def _start_world(self) -> None:
        """Begin all arenas, then those that began with this one: numbers drawn together differ in their last bits."""
        together = self.episode_played.facts.together
        if not together:
            super()._start_world()
            return
        self.world.enter()
        respawn: Any = self.world.stages["respawn"]
        with blaming_scene(self.scene.file):
            respawn.begin_all()
            respawn.begin(np.array(together))
            self.world.rebuild()

    def new_episode(self) -> None:
        """Begin it again: there is no other."""
        self.restart()

    def go_to(self, arena: int, episode: int = 0) -> None:
        """Begin it again: there is no other."""
        self.restart()

    def _end(self) -> None:
        facts = self.episode_played.facts
        if not self.touched:
            same = int(self.clock.tick[facts.arena]) == facts.ticks
            self.is_exact = same and digest_of(self.world, facts.arena) == facts.digest
        super()._end()


def played_again(scene: Scene, episode: Episode) -> tuple[Ended, bool]:
    """Play an episode to its end without anybody watching; return how it ended, and whether to the same bits."""
    replay = Replay(scene, episode)
    try:
        replay.restart()
        for _ in range(episode.facts.ticks):
            replay.tick()
            if replay.outcome is not None:
                return replay.outcome, bool(replay.is_exact)
        raise CheckpointError("the episode does not end where it did")
    finally:
        replay.close()


def check_fits(episode: Episode, scene: Scene) -> None:
    """Refuse an episode whose agents see or do something else than those of the scene."""
    specs = policy_specs(scene.describe())
    there = {entry.name: entry for entry in episode.facts.policies}
    here = {name: PolicyEntry.of(spec) for name, spec in specs.items()}
    odd = next((name for name in {**there, **here} if _form(there.get(name)) != _form(here.get(name))), None)
    if odd is not None:
        raise CheckpointError(
            f"the episode does not fit the scene '{scene.name}': '{odd}' sees or does something else there; "
            "play it in the scene that it was saved from"
        )


def _form(entry: PolicyEntry | None) -> object:
    return None if entry is None else (entry.observations, entry.actions, entry.continuous, entry.parts)
