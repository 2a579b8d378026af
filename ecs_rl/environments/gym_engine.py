"""The engine of Gymnasium environments, with two stages of its own in place of those that move and judge bodies.

`simulate` steps every environment once, `respawn` begins episodes anew. An episode is known by its seed and the
actions since: that is how a world is brought back, with no look into an environment.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ecs_rl import components as c
from ecs_rl.arrays import F32, F64, I64, finite
from ecs_rl.ecs import Context, Entry, Stage
from ecs_rl.ecs.component import column, component, live
from ecs_rl.environments.environment import Environment, calling, refuse_number
from ecs_rl.errors import SceneError
from ecs_rl.processors.judge import LARGEST
from ecs_rl.scene.chance import U64, episode_keys, tick_words
from ecs_rl.scene.engine import WorldPlan
from ecs_rl.scene.roles import Role
from ecs_rl.world import World

NAMED = np.uint64(1 << 63)
"""Keys below this are seeds that somebody named: the first episode is `reset(seed=key)`."""
SEEDS = np.uint64(0x7FFFFFFF)

WITH_BODIES = ("actuate", "interact", "guard", "sense", "judge")
"""Stages that an environment has in itself, or not at all."""
OF_BODIES = (c.Pose, c.Motion, c.Here, c.Touch, c.Ground, c.Amount)


@component
class Taken:
    """The actions since each episode began, which with its seed bring an environment back. Written by simulate."""

    value: NDArray[Any] = column(dtype=np.float32)
    """(arenas, max_ticks, columns) As the policy decided; zeros from the present tick on."""


class GymEngine:
    """The engine of environments (see `Engine`): one `gymnasium.Env` for each arena, made when it is first played.

    In an evaluation (named seeds, and nobody watches) an arena rests once its episode is over. On a stage only the
    arena that is watched is played.
    """

    blocks: Mapping[tuple[type, ...], NDArray[Any]] = {}
    starts_midway = False
    asks_rules = False
    why_lost = (
        "The environment keeps something between episodes, or draws random numbers that `reset(seed=...)` does not "
        "set: mend it, or go on with new episodes by --inexact"
    )
    why_not_resumable = f"brought back by its seeds and actions it goes another way. {why_lost}"

    def __init__(self, environment: Environment, plan: WorldPlan) -> None:
        self.environment, self.scene, self.arenas = environment, plan.scene, plan.arenas
        self.envs: list[Any] = [None] * plan.arenas
        taken = np.zeros((plan.arenas, plan.scene.max_ticks, environment.actions.columns), np.float32)
        self.taken = live(Taken, value=taken)
        self.parts = (self.taken,)
        self.is_evaluation = plan.seeds is not None
        self.is_resting = np.zeros(plan.arenas, bool)
        """(arenas,) The arenas that begin no other episode."""

    def attach(self, context: Context, *, is_watched: bool) -> None:
        """Take the context whose arenas it plays."""
        self.context, self.can_draw = context, is_watched
        self.rests = self.is_evaluation and not is_watched
        """Whether an arena whose episode is over begins no other."""
        self.hand = next((hand for (hand,) in context.each(c.UserInput)), None)

    def stages(self, entries: Sequence[Entry]) -> list[Entry]:
        """Return the stages of a tick, two of them the environments' own, without those that need bodies."""
        own = {entry.name: entry for entry in OWN}
        return [
            replace(entry, reads=tuple(kind for kind in entry.reads if kind not in OF_BODIES))
            for entry in (own.get(entry.name, entry) for entry in entries)
            if entry.name not in WITH_BODIES
        ]

    def columns(self, role: Role) -> tuple[object, ...]:
        """Return nothing: an environment has no roles."""
        return ()

    def episode_keys(self, seeds: I64, numbers: I64) -> U64:
        """Return the key that names each arena's episodes; a named seed is the key itself."""
        return episode_keys(seeds, numbers) | NAMED if numbers.any() else seeds.astype(np.uint64)

    # --- one environment --------------------------------------------------------------------------------------------

    def begin_episode(self, arena: int) -> F32:
        """Begin the present episode of an arena, and return the first observation."""
        if self.envs[arena] is None:
            self.envs[arena] = self.environment.make(pictures=self.can_draw)
        clock, chance = self.context.one(c.Clock), self.context.one(c.Chance)
        seed = int(seeds_of(chance.key[arena : arena + 1], clock.episode[arena : arena + 1])[0])
        with self.calling("reset()", lambda: arena):
            observation, _ = self.envs[arena].reset(seed=seed)
        row = self.row(observation, arena)
        if not np.isfinite(row).all():
            self.refuse(row, arena)
        return row

    def row(self, observation: Any, arena: int) -> F32:
        """Return an observation as (numbers,); SceneError if it has another shape than the environment promised."""
        row, wanted = np.asarray(observation), (len(self.environment.observations),)
        if row.shape != wanted or row.dtype.kind not in "fiub":
            message = f"'{self.scene.reference}' shows {row.shape} of {row.dtype} {self.context.when(arena)}"
            promised = self.environment.promised
            raise SceneError(f"{message}, not {promised} as its observation_space promises: mend the environment")
        return row.astype(np.float32)

    def refuse(self, row: F32, arena: int) -> None:
        """Refuse an observation that is not finite."""
        number = int(np.flatnonzero(~np.isfinite(row))[0])
        what, where = f"an observation ('{self.environment.observations[number]}') of", self.context.when(arena)
        raise refuse_number(self.environment.id, what, float(row[number]), where)

    def calling(self, what: str, arena: Callable[[], int]) -> AbstractContextManager[None]:
        """Turn whatever the environment of an arena raises into a SceneError that says where."""
        return calling(self.environment.id, what, lambda: self.context.when(arena()))

    def picture(self, arena: int) -> NDArray[np.uint8]:
        """Return (height, width, 3) the picture of an arena as it is now."""
        with self.calling("render()", lambda: arena):
            picture = np.asarray(self.envs[arena].render())
        if picture.ndim != 3 or picture.shape[2] != 3 or picture.dtype != np.uint8 or not picture.size:
            message = f"draws {picture.shape} of {picture.dtype}, not (height, width, 3) of uint8"
            raise SceneError(f"'{self.scene.reference}' {message}: play it --headless")
        return picture

    # --- beginning, saving, ending ----------------------------------------------------------------------------------

    @property
    def played(self) -> I64:
        """The arenas that are played now: on a stage the one that is watched."""
        return np.flatnonzero(~self.is_resting) if self.hand is None else np.array([self.hand.arena])

    def rebuilding(self) -> Iterator[None]:
        """Make nothing anew: an environment is brought back by its episode."""
        yield from ()

    def come_back(self, watch: Callable[[], None]) -> None:
        """Play every running episode again from its seed, and write the observations and totals that this gives."""
        observations, total = self.context.one(c.Observation).value, self.context.one(c.Terms).total
        clock, taken = self.context.one(c.Clock), self.taken.value
        for arena in range(self.arenas):
            row, earned, is_over = self.begin_episode(arena), 0.0, False
            for action in self.environment.given(self.as_decided(taken[arena, : clock.tick[arena]])):
                watch()
                if is_over:
                    earned = float("nan")  # it ended before it did
                    break
                row, reward, is_over = self._step_again(arena, action)
                earned += reward
            observations[arena], total[0, arena] = row, earned

    def _step_again(self, arena: int, action: Any) -> tuple[F32, float, bool]:
        with self.calling("step()", lambda: arena):
            observation, reward, terminated, truncated, _ = self.envs[arena].step(action)
            return self.row(observation, arena), float(reward), bool(terminated or truncated)

    def as_decided(self, taken: F32) -> NDArray[Any]:
        """Return (rows, columns) of `Taken` as the policy decided it."""
        none = self.environment.actions.none(1)
        return taken.reshape(-1, *none.shape[1:]).astype(none.dtype)

    def forget(self, rows: I64) -> None:
        """Do nothing: `reset` forgets."""

    def moving(self) -> AbstractContextManager[None]:
        """Surround nothing: there are no bodies."""
        return nullcontext()

    def close(self) -> None:
        """Give back the environments."""
        for env in self.envs:
            if env is not None:
                self.environment.close(env)
        self.envs[:] = [None] * self.arenas


def seeds_of(key: U64, episode: I64) -> I64:
    """Return the seed of each arena's `reset`: a named seed for its first episode, a hash for all others."""
    hashed = (tick_words(key, episode, np.zeros_like(episode)) & SEEDS).astype(np.int64)
    return np.where((episode == 0) & (key < NAMED), (key & ~NAMED).astype(np.int64), hashed)


class StepEnvironments(Stage):
    """Step every environment once and write rewards, ends, observations and finished episodes."""

    def __init__(self, world: World) -> None:
        (batch,) = world.batches
        self.world, self.engine = world, world.engine_as(GymEngine)
        self.given, self.envs = self.engine.environment.given, self.engine.envs
        self.action = world.of(batch.entity, c.Action).value
        self.after = world.of(batch.entity, c.NextObservation).value
        self.reward, self.terms = world.of(batch.entity, c.Reward).value, world.one(c.Terms)
        self.weights = world.one(c.RewardWeights).value
        self.clock, self.end, self.fired = world.one(c.Clock), world.one(c.EpisodeEnd), world.one(c.EndRules).fired
        self.finished, self.max_ticks = world.one(c.Finished), world.scene.max_ticks
        self.taken = world.one(Taken).value if world.each(c.ActionLog) else None
        self.sound = finite(self.after)
        self.is_resting = self.engine.is_resting
        self.arenas = np.arange(world.arenas)
        self.shape, self.rows = self.after.shape[1:], self.arenas
        self.plays_all = not self.engine.rests and self.engine.hand is None
        """Whether every arena is always played."""

    def run(self) -> None:
        """Run the tick."""
        if not self.plays_all:
            self.rows = self.engine.played
        if self.taken is not None:
            self.taken[self.arenas, self.clock.tick] = self.action.reshape(len(self.arenas), -1)
        self._step()
        self._judge()

    def _step(self) -> None:
        given, after, now = self.given(self.action), self.after, self.terms.now[0]
        terminated, truncated = self.end.terminated, self.end.truncated
        terminated[:], truncated[:], now[:] = False, False, 0.0
        arena, envs, shape = 0, self.envs, self.shape
        with self.engine.calling("step()", lambda: arena):
            for arena in self.rows.tolist():
                seen, now[arena], terminated[arena], truncated[arena], _ = envs[arena].step(given[arena])
                after[arena] = seen if getattr(seen, "shape", None) == shape else self.engine.row(seen, arena)
        if not self.sound():
            for arena in np.flatnonzero(~np.isfinite(after).all(axis=1)).tolist():
                self.engine.refuse(after[arena], arena)
        if not now.dot(now) < LARGEST**2:  # true for NaN as well
            arena = int(np.argmax(np.where(np.isfinite(now), np.abs(now), np.inf)))
            raise refuse_number(self.engine.environment.id, "a reward of", float(now[arena]), self.world.when(arena))

    def _judge(self) -> None:
        terminated, truncated, ended, tick = self.end.terminated, self.end.truncated, self.end.ended, self.clock.tick
        tick[self.rows] += 1
        self.terms.total += self.terms.now
        np.multiply(self.terms.now[0], self.weights[0], out=self.reward, casting="unsafe")
        truncated |= tick >= self.max_ticks
        truncated &= ~self.is_resting
        np.logical_or(terminated, truncated, out=ended)
        self.fired[0] = terminated
        rows, done = ended.nonzero()[0], self.finished
        if len(rows):
            truncated &= ~terminated
            totals: F64 = self.terms.total[:, rows]
            finished = c.Finished(rows, rows, totals[0], tick[rows], terminated[rows], totals, {}, self.fired[:, rows])
            finished.scores = np.zeros((0, len(rows)))
            vars(done).update(vars(finished))
        elif len(done.rows):
            vars(done).update(vars(c.Finished()))


class RespawnEnvironments(Stage):
    """Begin ended episodes anew, each with its own seed."""

    def __init__(self, world: World) -> None:
        (batch,) = world.batches
        self.engine = world.engine_as(GymEngine)
        self.before, self.after = (part.value for part in world.each(c.Observation, c.NextObservation)[0])
        self.state = world.of(batch.entity, c.PolicyState)
        self.clock, self.terms, self.finished = world.one(c.Clock), world.one(c.Terms), world.one(c.Finished)
        self.taken = world.one(Taken).value

    def run(self) -> None:
        """Copy the next observations, and begin episodes where one ended."""
        self.before[...] = self.after
        rows = self.finished.rows
        if not len(rows):
            return
        if self.engine.rests:
            self.engine.is_resting[rows] = True
            for seen in (self.before, self.after):
                seen[rows, self.engine.environment.masked] = 1.0  # a rest is no decision
            return
        self.clock.episode[rows] += 1
        self.begin(rows)

    def begin(self, rows: I64) -> None:
        """Begin the current episode of these arenas."""
        self.clock.tick[rows] = 0
        self.terms.total[:, rows] = 0.0
        self.taken[rows] = 0.0
        self.state.value[rows] = 0.0
        for arena in rows.tolist():
            self.before[arena] = self.engine.begin_episode(arena)

    def begin_all(self) -> None:
        """Begin the current episode of every arena that is played."""
        self.engine.is_resting[:] = False
        self.clock.tick[:] = 0
        self.before[:, self.engine.environment.masked] = 1.0  # also of arenas that are not played
        self.begin(self.engine.played)
        self.after[...] = self.before


# fmt: off
OWN: tuple[Entry, ...] = (
    Entry("simulate", StepEnvironments, "every environment takes its step and is judged", plays=True,
          reads=(c.Action,), keeps=(c.ActionLog, c.RewardWeights),
          writes=(c.NextObservation, c.Reward, c.EpisodeEnd, c.EndRules, c.Done, c.Terms, c.Finished, c.Clock, Taken)),
    Entry("respawn", RespawnEnvironments, "ended episodes begin anew, seeded per arena and episode", plays=True,
          reads=(c.Finished, c.NextObservation), keeps=(c.Chance,),
          writes=(c.Clock, c.Terms, Taken, c.PolicyState, c.Observation)),
)
# fmt: on
