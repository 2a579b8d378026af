"""Self-play in a world: which scenes have two sides, who decides for their rows, and how a game ended."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest

import numpy as np

from ecs_rl.agents.config import AgentConfig
from ecs_rl.agents.make import Algorithm, make_agent
from ecs_rl.arrays import F32, F64, I64
from ecs_rl.components import Chance, Clock, Finished, Observation, PolicyState
from ecs_rl.distributed.group import Group
from ecs_rl.errors import CommandError
from ecs_rl.records import ELO, OPPONENT
from ecs_rl.scene.agents import AgentSpec
from ecs_rl.scene.arena import Arena
from ecs_rl.scene.chance import uniforms
from ecs_rl.scene.scene import Scene
from ecs_rl.session import EpisodeRecord
from ecs_rl.spaces import ActMode, Decision
from ecs_rl.training.opponent import RANDOM, lead, random_policy
from ecs_rl.training.scripted import Script, load_script
from ecs_rl.training.self_play import DRAWS, POINTS, SLOT, PoolSettings, SelfPlay
from ecs_rl.user_files.named import is_reference
from ecs_rl.world import World, policy_specs

STREAM = np.uint64(int.from_bytes(hashlib.sha256(b"self-play").digest()[:8], "little"))
NO_STATE = np.zeros((0, 0), np.float32)
"""What such an opponent remembers."""
BETWEEN_AGENTS = 7_919
"""So that the frozen policies draw other random numbers than the learners of neighbouring seeds."""


@dataclass(frozen=True)
class SelfPlaySettings:
    """How one learner plays itself."""

    pool: PoolSettings
    also: Script | str = ""
    """One opponent more: a script, `random`, or nobody."""

    @property
    def also_reference(self) -> str:
        """How to name that one again."""
        return self.also if isinstance(self.also, str) else self.also.reference

    def players(
        self,
        scene: Scene,
        name: str | Algorithm,
        config: AgentConfig,
        *,
        arenas: int,
        seed: int,
        threads: int,
        group: Group | None = None,
    ) -> SelfPlay:
        """Return a new learner of this algorithm with a pool of opponents, nobody in it yet.

        `arenas` are those of this process in a `group`.
        """
        arena = scene.describe()
        specs, (first, _) = policy_specs(arena), sides_of(scene, arena)
        agents = [agent for policy in specs for agent in arena.agents if agent.policy == policy]
        sides = [int(all(agent is not each for each in first)) for agent in agents for _ in range(agent.members)]
        spec = next(iter(specs.values()))
        rows = arenas * len(sides)
        learner = make_agent(name, spec, config, seed=seed, rows=rows, threads=threads, group=group)
        frozen = [
            make_agent(name, spec, config, seed=seed + BETWEEN_AGENTS * (slot + 1), rows=1)
            for slot in range(self.pool.size)
        ]
        everywhere = arenas * (1 if group is None else group.size)
        policies = list(specs.values())
        return SelfPlay(learner, frozen, self.pool, specs=policies, sides=sides, arenas=arenas, everywhere=everywhere)


def settings_of(text: str, pool: PoolSettings) -> SelfPlaySettings:
    """Return the settings, of which `text`, `random` or `FILE.py:FUNCTION`, names one opponent more; '' for none."""
    if text not in ("", RANDOM) and not is_reference(text):
        raise CommandError(f"--pool-also {text}: name an opponent as random or FILE.py:FUNCTION")
    return SelfPlaySettings(pool, load_script("--pool-also", text) if is_reference(text) else text)


# --- two sides --------------------------------------------------------------------------------------------------------


def sides_of(scene: Scene, arena: Arena) -> tuple[list[AgentSpec], list[AgentSpec]]:
    """Return the agents of both sides; CommandError where there are not two that see and do alike."""
    names = list(policy_specs(arena))
    if len(names) == 2:
        first, second = ([agent for agent in arena.agents if agent.policy == name] for name in names)
    elif len(names) == 1 and len(arena.agents) == 2:
        first, second = [arena.agents[0]], [arena.agents[1]]
    else:
        count = len(arena.agents)
        there = f"{len(names)} policies" if names[1:] else f"one policy of {count} agent{'' if count == 1 else 's'}"
        message = f"it takes two policies, or two agents that share one, and '{scene.name}' has {there}"
        raise CommandError(f"--self-play: {message}: leave --self-play out, or make two sides of the agents")
    own = sorted({*(role.name for role in arena.roles), *(a.name for a in arena.agents), *names}, key=len)
    for what, of in (("sees", _sees), ("does", _does)):
        pairs = zip_longest(of(first[0]), of(second[0]), fillvalue="nothing more")
        for number, (one, other) in enumerate(pairs, 1):
            if _without(own, one) != _without(own, other):
                message = f"number {number} of what it {what} is '{one}' for '{first[0].name}', '{other}' for"
                cure = "make both sides alike, up to the names of their roles, or leave --self-play out"
                raise CommandError(f"--self-play: {message} '{second[0].name}': {cure}")
    return first, second


def _sees(agent: AgentSpec) -> Sequence[str]:
    return agent.observation_names


def _does(agent: AgentSpec) -> Sequence[str]:
    return [f"{name}: {what}" for name, what in agent.does.space.about.items()]


def _without(own: Sequence[str], name: str) -> str:
    """Return a name in which those of roles, agents and policies all read alike."""
    words = "|".join(map(re.escape, reversed(own)))
    return re.sub(rf"(?<!\w)(?:{words})(?!\w)", "*", name)


# --- its world --------------------------------------------------------------------------------------------------------


class Match:
    """A world in which a learner plays itself and its opponents."""

    def __init__(self, agent: SelfPlay, settings: SelfPlaySettings) -> None:
        self.agent, self.settings = agent, settings
        self.decided: tuple[Decision, ...] = ()

    def begin(self, world: World) -> None:
        """Decide for all policies of a world from now on."""
        self.score, self.finished = world.scene.score, world.one(Finished)
        first, second = sides_of(world.scene, world.arena)
        self.first, self.second = (tuple(spec.name for spec in side) for side in (first, second))
        self.chance, self.clock = world.one(Chance), world.one(Clock)
        self.parts = world.each(Observation, PolicyState)
        for number, batch in enumerate(world.batches):
            world.drive(batch.name, Part(self, number))
        also = self.settings.also
        if also:
            policies = [random_policy(world, b) if isinstance(also, str) else also.policy(b) for b in world.batches]
            self.agent.opposed_by(lambda number, seen: np.asarray(policies[number](seen, NO_STATE)))

    def decide(self) -> None:
        """Decide for all policies at once: the learner has one batch of rows."""
        self.agent.begin(self.clock.episode, self._draw)
        seen, states = (tuple(part.value for part in column) for column in zip(*self.parts, strict=True))
        self.decided = self.agent.act(seen, ActMode.EXPLORE, states)

    def _draw(self, arenas: I64) -> F64:
        return uniforms(self.chance.key[arenas] ^ STREAM, self.clock.episode[arenas], DRAWS)

    def note(self, records: Sequence[EpisodeRecord]) -> list[EpisodeRecord]:
        """Return the games that ended in this tick with what `rate` needs, those of them that count."""
        leads = [lead(record, self.first, self.second, self.score) for record in records]
        games = self.agent.games(self.finished.arena, leads)
        return [
            record if game is None else _with(record, game.extras) for record, game in zip(records, games, strict=True)
        ]

    def rate(self, records: Sequence[EpisodeRecord]) -> list[EpisodeRecord]:
        """Rate games that ended, those of all processes; return them with the learner's rating after each."""
        counted = [record for record in records if SLOT in record.extras]
        games = [(int(record.extras[SLOT]), float(record.extras[POINTS])) for record in counted]
        ratings = iter(self.agent.pool.rate(games))
        return [_rated(record, next(ratings)) if SLOT in record.extras else record for record in records]


@dataclass(frozen=True)
class Part:
    """One policy's part of what is decided for all; the first one that the world asks decides."""

    match: Match
    number: int

    @property
    def state(self) -> int:
        """How many numbers it remembers for each row."""
        return self.match.agent.spec.state

    def __call__(self, observation: F32, state: F32) -> Decision:
        """Return the decision for every row of this policy."""
        if self.number == 0:
            self.match.decide()
        return self.match.decided[self.number]


def _with(record: EpisodeRecord, more: Mapping[str, float]) -> EpisodeRecord:
    return EpisodeRecord(record.total_reward, record.length, record.status, {**record.extras, **more})


def _rated(record: EpisodeRecord, elo: float) -> EpisodeRecord:
    """Return a game with the learner's rating after it, in place of what it was rated by."""
    opponent = record.extras[OPPONENT]
    extras = {name: value for name, value in record.extras.items() if name not in (SLOT, POINTS, OPPONENT)}
    return EpisodeRecord(record.total_reward, record.length, record.status, {**extras, ELO: elo, OPPONENT: opponent})
