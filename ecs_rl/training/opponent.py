"""A fixed opponent: random actions, a checkpoint or a script drive some agents, the others are evaluated."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import NormalDist, fmean
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ecs_rl.agents.base import Agent
from ecs_rl.arrays import F32, F64
from ecs_rl.components import Chance, Clock, Rated
from ecs_rl.errors import CheckpointError, CommandError, nearest
from ecs_rl.records import OF_AGENT, TIE
from ecs_rl.runs import Manifest, read_manifest
from ecs_rl.scene.chance import uniforms
from ecs_rl.scene.scene import Scene
from ecs_rl.session import EpisodeRecord
from ecs_rl.spaces import ActMode, Composed, Continuous, Decision, Discrete
from ecs_rl.training.playback import Player
from ecs_rl.training.scene_agents import deciding
from ecs_rl.training.scripted import Script, load_script
from ecs_rl.training.trust import difference
from ecs_rl.user_files.named import is_reference
from ecs_rl.world import DecideAction, PolicyBatch, World, policy_specs

RANDOM = "random"
CONFIDENCE = 0.95


class Driver(Protocol):
    """Who decides for some or all agents of a world, in place of those that were to."""

    def drive(self, world: World) -> None:
        """Play in this world from now on."""


@dataclass(frozen=True)
class Opponent:
    """Who drives some agents in every evaluation, always alike: greedily, by a script, or at random."""

    reference: str
    """How to name it again: `random`, a checkpoint file, `FILE.py:FUNCTION`, or any of them behind `POLICY=`."""
    own: tuple[str, ...]
    """The agents that are evaluated, by name."""
    theirs: tuple[str, ...]
    """The agents that it drives: all of the other policies, or of the one that was named; of one policy all but one."""
    agents: Mapping[str, Agent] = field(default_factory=dict)
    """The checkpoint's, by policy; none where it plays at random or by a script."""
    script: Script | None = None

    def drive(self, world: World) -> None:
        """Play in this world from now on; an arena's return is then that of the agents which are evaluated."""
        for batch in world.batches:
            rows = np.zeros(batch.rows, bool)
            for slot in batch.slots:
                rows[slot.rows] = slot.spec.name in self.theirs
            if rows.all():
                world.drive(batch.name, self.policy(world, batch))
            elif rows.any():
                world.drive(batch.name, _sharing(world.policies[batch.name], self.policy(world, batch), rows))
        world.one(Rated).agents = self.own

    def policy(self, world: World, batch: PolicyBatch) -> DecideAction:
        """Return what decides for all rows of one of the world's policies."""
        if self.script is not None:
            return self.script.policy(batch)
        decides = deciding(self.agents, ActMode.GREEDY)
        return decides[batch.name] if decides else random_policy(world, batch)

    def lead(self, record: EpisodeRecord, score: str = "") -> float:
        """Return by how much the evaluated agents won an episode, below zero lost."""
        return lead(record, self.own, self.theirs, score)


def lead(record: EpisodeRecord, own: Sequence[str], theirs: Sequence[str], score: str = "") -> float:
    """Return by how much an episode was won, below zero lost: its score if there is one, else the mean returns apart.

    A score counts for the first policy, and the agents `own` have that.
    """
    if score:
        return record.result(score)
    own_returns, others = ([record.extras[f"{OF_AGENT}{name}"] for name in names] for names in (own, theirs))
    apart = fmean(own_returns) - fmean(others)
    return 0.0 if abs(apart) <= TIE * sum(map(abs, (*own_returns, *others))) else apart


def _sharing(own: DecideAction, theirs: DecideAction, rows: NDArray[np.bool_]) -> DecideAction:
    """Return both as one policy, of which the second decides for these rows; each is asked about the whole batch."""

    def decide(observation: F32, state: F32) -> Decision:
        first, second = (_decision(ask(observation, state)) for ask in (own, theirs))
        action = np.array(first.action)
        action[rows] = second.action[rows]
        after = first.state
        if after is not None and second.state is not None:
            after = np.array(after)
            after[rows] = second.state[rows]
        return Decision(action, after, first.extras)

    return decide


def _decision(answer: Decision | NDArray[Any]) -> Decision:
    return answer if isinstance(answer, Decision) else Decision(answer)


def opponent_of(scene: Scene, text: str, checkpoint: Callable[[str], Path]) -> Opponent:
    """Return the opponent that `[POLICY=]random|CHECKPOINT|FILE.py:FUNCTION` names.

    `checkpoint` finds the file of a run. CommandError or CheckpointError if the scene has no opponents, or the
    checkpoint is not of this scene.
    """
    arena = scene.describe()
    names = list(policy_specs(arena))
    if len(arena.agents) < 2:
        message = f"'{scene.name}' has one policy, so there is nobody to play against"
        raise CommandError(f"--against {text}: {message}: leave --against out, or give the agents a policy each")
    policy, equals, who = text.partition("=")
    if not equals or (policy not in names and Path(text.rpartition(":")[0] if is_reference(text) else text).exists()):
        policy, who = "", text
    elif policy not in names[1:]:
        why = f"'{policy}' is the policy that is evaluated" if policy in names else f"there is no policy '{policy}'"
        raise CommandError(f"--against {text}: {why}: {nearest(policy, names[1:])}")
    script = load_script("--against", who) if is_reference(who) else None
    path = None if who == RANDOM or script else checkpoint(who)
    reference = script.reference if script else str(path or RANDOM)
    # Where all agents share one policy, the first is evaluated and the others are its opponents.
    first = [agent.name for agent in arena.agents if agent.policy == names[0]] if names[1:] else [arena.agents[0].name]
    driven = [a.name for a in arena.agents if (a.policy == policy if policy else a.name not in first)]
    return Opponent(
        f"{policy}={reference}" if policy else reference,
        own=tuple(agent.name for agent in arena.agents if agent.name not in driven),
        theirs=tuple(driven),
        agents={} if path is None else _agents(scene, path),
        script=script,
    )


def _agents(scene: Scene, path: Path) -> dict[str, Agent]:
    """Return the policies of a checkpoint of this scene; whatever scene file it names is not run."""
    manifest = read_manifest(path)
    if difference(manifest, scene) is None:
        message = f"{path} was trained in '{manifest.scene}', not in '{scene.reference}'"
        raise CheckpointError(f"{message}: an opponent must be of the same scene")
    return Player.load(path, scene=scene).agents


@dataclass(frozen=True)
class RandomPlayer(Player):
    """Plays all agents of a scene as a random opponent does; it comes from no checkpoint."""

    @classmethod
    def of(cls, scene: Scene) -> RandomPlayer:
        """Return the random player of a scene."""
        return cls(scene, {}, Manifest(scene=scene.reference, agent=RANDOM, step=0))

    def play(
        self, episodes: int, seed: int, mode: ActMode, opponent: Opponent | None = None, save: Path | None = None
    ) -> list[EpisodeRecord]:
        """Play one episode for each seed from `seed` on; there is one way to play at random, and no opponent."""
        names = tuple(agent.name for agent in self.scene.describe().agents)
        return super().play(episodes, seed, mode, Opponent(RANDOM, own=names, theirs=names), save)


# --- at random --------------------------------------------------------------------------------------------------------


def random_policy(world: World, batch: PolicyBatch) -> DecideAction:
    """Return a policy that knows nothing; what it does is a function of the arena's seed, episode and tick alone."""
    chance, clock, last = world.one(Chance), world.one(Clock), world.scene.max_ticks
    members = batch.rows // world.arenas
    streams = [
        np.uint64(int.from_bytes(hashlib.sha256(f"opponent/{batch.name}/{i}".encode()).digest()[:8], "little"))
        for i in range(members)
    ]

    def decide(observation: object, state: object) -> NDArray[Any]:
        keys = np.concatenate([chance.key ^ stream for stream in streams])
        ticks = np.tile(clock.episode * last + clock.tick, members)
        return random_actions(batch.spec.actions, uniforms(keys, ticks, batch.spec.actions.columns))

    return decide


def random_actions(actions: Discrete | Continuous | Composed, uniform: F64) -> NDArray[Any]:
    """Return actions, each as likely as any other, made of (rows, columns) uniform numbers in [0, 1)."""
    if isinstance(actions, Discrete):
        return (uniform[:, 0] * len(actions.names)).astype(np.int64)
    options = [
        len(part.names) if isinstance(part, Discrete) else 0 for part in actions.parts for _ in range(part.columns)
    ]
    return np.where(options, np.floor(uniform * options), 2.0 * uniform - 1.0).astype(np.float32)


# --- who won ----------------------------------------------------------------------------------------------------------


def standing(leads: Sequence[float]) -> dict[str, float]:
    """Return `wins`, `draws` and `losses` of at least one episode, and between what the share of wins lies for sure.

    `low` and `high` are Wilson's interval of 95 %.
    """
    wins, losses, n = sum(lead > 0 for lead in leads), sum(lead < 0 for lead in leads), len(leads)
    z = NormalDist().inv_cdf((1 + CONFIDENCE) / 2)
    share, part = wins / n, z * z / n
    middle, half = (share + part / 2) / (1 + part), math.sqrt(share * (1 - share) * part + part * part / 4) / (1 + part)
    low, high = max(0.0, middle - half), min(1.0, middle + half)
    return {"wins": wins, "draws": n - wins - losses, "losses": losses, "low": low, "high": high}
