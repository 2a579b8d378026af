"""A world of Gymnasium environments: the same components, session and run, with two stages in place of the physics.

`simulate` steps every environment once, `respawn` begins episodes anew. An episode is known by its seed and the
actions since: that is how a world is brought back, with no look into an environment.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ecs_rl import components as c
from ecs_rl.arrays import F32, F64, I64, finite
from ecs_rl.callbacks import NOTHING, Callbacks
from ecs_rl.ecs import Context, Entry, Runner, Stage
from ecs_rl.ecs.component import column, component, live, zeros
from ecs_rl.ecs.context import Columns
from ecs_rl.environments.environment import Environment, calling, refuse_number
from ecs_rl.errors import SceneError
from ecs_rl.processors.judge import LARGEST
from ecs_rl.scene.chance import U64, episode_keys, tick_words
from ecs_rl.scene.scene import Scene
from ecs_rl.world import DecideAction, MakeTick, World, nobody, policy_specs

NAMED = np.uint64(1 << 63)
"""Keys below this are seeds that somebody named: the first episode is `reset(seed=key)`."""
SEEDS = np.uint64(0x7FFFFFFF)

WITH_BODIES = ("actuate", "interact", "guard", "sense", "judge")
"""Stages that an environment has in itself, or not at all."""
OF_BODIES = (c.Pose, c.Motion, c.Here, c.Touch, c.Amount)


@component
class Taken:
    """What was done since each episode began: with its seed all that brings an environment back. By simulate."""

    value: NDArray[Any] = column(dtype=np.float32)
    """(arenas, max_ticks, columns) As the policy decided; zeros from the present tick on."""


class GymWorld(World):
    """N copies of an environment in an esper context of their own; see `World` for the arguments.

    In an evaluation (`seeds`, and nobody watches) an arena rests once its episode is over; on a stage only the arena
    that is watched is played.
    """

    by_episodes = True

    def __init__(
        self,
        environment: Environment,
        scene: Scene,
        *,
        arenas: int,
        seed: int = 0,
        threads: int = 1,
        seeds: Sequence[int] | None = None,
        tick: MakeTick,
        policies: Mapping[str, DecideAction] | None = None,
        resources: Sequence[object] = (),
        callbacks: Callbacks = NOTHING,
        debug: bool = False,
    ) -> None:
        Context.__init__(self, scene.name, arenas)
        self.first, self.everywhere = 0, arenas
        self.environment, self.scene, self.arena, self.debug = environment, scene, scene.describe(), debug
        self.specs = policy_specs(self.arena)
        self.policies = {name: (policies or {}).get(name, nobody) for name in self.specs}
        self.callbacks, self.envs = callbacks, list[Any]([None] * arenas)
        entries = self.adapt_tick(tick(self))
        self.pictures = any(entry.name == "render" for entry in entries)
        """Whether the environments can be drawn."""
        self.rests = seeds is not None and not self.pictures
        """Whether an arena whose episode is over begins no other."""
        self.resting = np.zeros(arenas, bool)
        """(arenas,) Which of them rest."""
        try:
            self._create_arenas(seed, seeds)
            self.batches = [self._create_batch(spec) for spec in self.specs.values()]
            for resource in resources:
                if resource is not None:
                    self.create(f"@{type(resource).__name__}", resource)
            self.hand = next((hand for (hand,) in self.each(c.UserInput)), None)
            self.runner = Runner(self, entries, debug=debug)
            self.stages = self.runner.stages
            self.start_over()
        except BaseException:
            self.close()
            raise

    def _create_arenas(self, seed: int, seeds: Sequence[int] | None) -> None:
        n, columns = self.arenas, self.environment.actions.columns
        if seeds is None:
            key = episode_keys(np.full(n, seed, np.int64), np.arange(1, n + 1)) | NAMED
        else:
            key = np.asarray(seeds, np.int64).astype(np.uint64)
        self.terms, self.reasons, self.all_out, self._first_term = ("reward",), ("terminated",), False, 0
        self.create(
            "@arena",
            zeros(c.Clock, n),
            live(c.Chance, key=key, uniform=np.zeros((n, 0))),
            zeros(c.Explosion, n),
            zeros(c.EpisodeEnd, n),
            zeros(c.EndRules, n, 1),
            zeros(c.Terms, n, 1),
            live(c.RewardWeights, value=np.ones(1)),
            c.Rated(tuple(agent.name for agent in self.arena.agents)),
            c.Finished(),
            live(Taken, value=np.zeros((n, self.scene.max_ticks, columns), np.float32)),
        )

    def adapt_tick(self, entries: Sequence[Entry]) -> Sequence[Entry]:
        """Return the stages of a tick, two of them the environments' own, without those that need bodies."""
        own = {entry.name: entry for entry in OWN}
        return [
            replace(entry, reads=tuple(kind for kind in entry.reads if kind not in OF_BODIES))
            for entry in (own.get(entry.name, entry) for entry in entries)
            if entry.name not in WITH_BODIES
        ]

    # --- one environment --------------------------------------------------------------------------------------------

    def begin_episode(self, arena: int) -> F32:
        """Begin the present episode of an arena, and return what is seen."""
        if self.envs[arena] is None:
            self.envs[arena] = self.environment.make(pictures=self.pictures)
        clock, chance = self.one(c.Clock), self.one(c.Chance)
        seed = int(seeds_of(chance.key[arena : arena + 1], clock.episode[arena : arena + 1])[0])
        with self.calling("reset()", lambda: arena):
            seen, _ = self.envs[arena].reset(seed=seed)
        row = self.row(seen, arena)
        if not np.isfinite(row).all():
            self.refuse(row, arena)
        return row

    def row(self, seen: Any, arena: int) -> F32:
        """Return an observation as (numbers,); SceneError if it has another shape than the environment promised."""
        row, wanted = np.asarray(seen), (len(self.environment.observations),)
        if row.shape != wanted or row.dtype.kind not in "fiub":
            told = f"'{self.scene.reference}' shows {row.shape} of {row.dtype} {self.when(arena)}"
            promised = self.environment.promised
            raise SceneError(f"{told}, not {promised} as its observation_space promises: mend the environment")
        return row.astype(np.float32)

    def refuse(self, row: F32, arena: int) -> None:
        """Refuse an observation that is not finite."""
        number = int(np.flatnonzero(~np.isfinite(row))[0])
        name = self.environment.observations[number]
        raise refuse_number(self.environment.id, f"an observation ('{name}') of", float(row[number]), self.when(arena))

    def calling(self, what: str, arena: Callable[[], int]) -> AbstractContextManager[None]:
        """Turn whatever the environment of an arena raises into a SceneError that says where."""
        return calling(self.environment.id, what, lambda: self.when(arena()))

    def pixels(self, arena: int) -> NDArray[np.uint8]:
        """Return (height, width, 3) the picture of an arena as it is now."""
        with self.calling("render()", lambda: arena):
            picture = np.asarray(self.envs[arena].render())
        if picture.ndim != 3 or picture.shape[2] != 3 or picture.dtype != np.uint8 or not picture.size:
            told = f"draws {picture.shape} of {picture.dtype}, not (height, width, 3) of uint8"
            raise SceneError(f"'{self.scene.reference}' {told}: play it --headless")
        return picture

    # --- beginning, saving, ending ----------------------------------------------------------------------------------

    @property
    def played(self) -> I64:
        """The arenas that are played now: on a stage the one that is watched."""
        return np.flatnonzero(~self.resting) if self.hand is None else np.array([self.hand.arena])

    def starting_over(self) -> Iterator[None]:
        """Begin everyone's present episode again."""
        self.enter()
        respawn: Any = self.stages["respawn"]
        respawn.begin_all()
        yield from ()

    def taking_snapshot(self) -> Iterator[None]:
        """Keep the columns: nothing has to be made anew."""
        self.one(c.Snapshots).columns = self.save_columns()
        yield from ()

    def restore(
        self, columns: Columns, actions: Sequence[NDArray[Any]], watch: Callable[[], None] = lambda: None
    ) -> None:
        """Go to a snapshot: play every episode again from its seed. Where that leads elsewhere, the columns tell."""
        self.load_columns(columns)
        seen, total = (self.one(c.Observation).value, self.one(c.Terms).total)
        clock, taken = self.one(c.Clock), self.one(Taken).value
        for arena in range(self.arenas):
            row, earned, over = self.begin_episode(arena), 0.0, False
            for action in self.environment.given(self.as_decided(taken[arena, : clock.tick[arena]])):
                watch()
                if over:
                    earned = float("nan")  # it ended before it did
                    break
                row, reward, over = self._again(arena, action)
                earned += reward
            seen[arena], total[0, arena] = row, earned
        self.snapshot()

    def _again(self, arena: int, action: Any) -> tuple[F32, float, bool]:
        with self.calling("step()", lambda: arena):
            seen, reward, terminated, truncated, _ = self.envs[arena].step(action)
            return self.row(seen, arena), float(reward), bool(terminated or truncated)

    def as_decided(self, taken: F32) -> NDArray[Any]:
        """Return (rows, columns) of `Taken` as the policy decided it."""
        none = self.environment.actions.none(1)
        return taken.reshape(-1, *none.shape[1:]).astype(none.dtype)

    def close(self) -> None:
        """Give back the environments and the esper context."""
        for env in self.envs:
            if env is not None:
                self.environment.close(env)
        self.envs[:] = [None] * self.arenas
        Context.close(self)


def seeds_of(key: U64, episode: I64) -> I64:
    """Return what each arena's episode is reset with: a seed that was named for the first, a hash for all others."""
    hashed = (tick_words(key, episode, np.zeros_like(episode)) & SEEDS).astype(np.int64)
    return np.where((episode == 0) & (key < NAMED), (key & ~NAMED).astype(np.int64), hashed)


class Simulate(Stage):
    """Step every environment once, and judge: rewards, endings, what is seen, and which episodes are over."""

    def __init__(self, world: GymWorld) -> None:
        (batch,) = world.batches
        self.world, self.given, self.envs = world, world.environment.given, world.envs
        self.action, self.after = (
            world.of(batch.entity, c.Action).value,
            world.of(batch.entity, c.NextObservation).value,
        )
        self.reward, self.terms = world.of(batch.entity, c.Reward).value, world.one(c.Terms)
        self.weights = world.one(c.RewardWeights).value
        self.clock, self.end, self.fired = world.one(c.Clock), world.one(c.EpisodeEnd), world.one(c.EndRules).fired
        self.finished, self.max_ticks = world.one(c.Finished), world.scene.max_ticks
        self.taken = world.one(Taken).value if world.each(c.ActionLog) else None
        self.sound = finite(self.after)
        self.resting = world.resting
        self.arenas = np.arange(world.arenas)
        self.shape, self.rows = self.after.shape[1:], self.arenas
        self.all = not world.rests and world.hand is None
        """Whether every arena is always played."""

    def run(self) -> None:
        """Run the tick."""
        if not self.all:
            self.rows = self.world.played
        if self.taken is not None:
            self.taken[self.arenas, self.clock.tick] = self.action.reshape(len(self.arenas), -1)
        self._step()
        self._judge()

    def _step(self) -> None:
        given, after, now = self.given(self.action), self.after, self.terms.now[0]
        terminated, truncated = self.end.terminated, self.end.truncated
        terminated[:], truncated[:], now[:] = False, False, 0.0
        arena, envs, shape = 0, self.envs, self.shape
        with self.world.calling("step()", lambda: arena):
            for arena in self.rows.tolist():
                seen, now[arena], terminated[arena], truncated[arena], _ = envs[arena].step(given[arena])
                after[arena] = seen if getattr(seen, "shape", None) == shape else self.world.row(seen, arena)
        if not self.sound():
            for arena in np.flatnonzero(~np.isfinite(after).all(axis=1)).tolist():
                self.world.refuse(after[arena], arena)
        if not now.dot(now) < LARGEST**2:  # true for NaN as well
            arena = int(np.argmax(np.where(np.isfinite(now), np.abs(now), np.inf)))
            raise refuse_number(self.world.environment.id, "a reward of", float(now[arena]), self.world.when(arena))

    def _judge(self) -> None:
        terminated, truncated, ended, tick = self.end.terminated, self.end.truncated, self.end.ended, self.clock.tick
        tick[self.rows] += 1
        self.terms.total += self.terms.now
        np.multiply(self.terms.now[0], self.weights[0], out=self.reward, casting="unsafe")
        truncated |= tick >= self.max_ticks
        truncated &= ~self.resting
        np.logical_or(terminated, truncated, out=ended)
        self.fired[0] = terminated
        rows, done = ended.nonzero()[0], self.finished
        if len(rows):
            truncated &= ~terminated
            totals: F64 = self.terms.total[:, rows]
            told = c.Finished(rows, rows, totals[0], tick[rows], terminated[rows], totals, {}, self.fired[:, rows])
            told.scores = np.zeros((0, len(rows)))
            vars(done).update(vars(told))
        elif len(done.rows):
            vars(done).update(vars(c.Finished()))


class Respawn(Stage):
    """Begin ended episodes anew, each with its own seed."""

    def __init__(self, world: GymWorld) -> None:
        (batch,) = world.batches
        self.world, self.resting = world, world.resting
        self.before, self.after = (each.value for each in world.each(c.Observation, c.NextObservation)[0])
        self.state = world.of(batch.entity, c.PolicyState)
        self.clock, self.terms, self.finished = world.one(c.Clock), world.one(c.Terms), world.one(c.Finished)
        self.taken = world.one(Taken).value

    def run(self) -> None:
        """Go on with what was seen, and begin where an episode is over."""
        self.before[...] = self.after
        rows = self.finished.rows
        if not len(rows):
            return
        if self.world.rests:
            self.resting[rows] = True
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
            self.before[arena] = self.world.begin_episode(arena)

    def begin_all(self) -> None:
        """Begin the current episode of every arena that is played."""
        self.resting[:] = False
        self.clock.tick[:] = 0
        self.begin(self.world.played)
        self.after[...] = self.before


# fmt: off
OWN: tuple[Entry, ...] = (
    Entry("simulate", Simulate, "every environment takes its step and is judged", plays=True,
          reads=(c.Action,), keeps=(c.ActionLog, c.RewardWeights),
          writes=(c.NextObservation, c.Reward, c.EpisodeEnd, c.EndRules, c.Done, c.Terms, c.Finished, c.Clock, Taken)),
    Entry("respawn", Respawn, "ended episodes begin anew, seeded per arena and episode", plays=True,
          reads=(c.Finished, c.NextObservation), keeps=(c.Chance,),
          writes=(c.Clock, c.Terms, Taken, c.PolicyState, c.Observation)),
)
# fmt: on
