"""The world: the only owner of esper contexts. It is built from a scene, holds N arenas and runs the schedule."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from ecs_rl import components as c
from ecs_rl.arrays import F32, F64
from ecs_rl.callbacks import NOTHING, Callbacks
from ecs_rl.ecs import Context, Entry, Runner
from ecs_rl.ecs.component import allocate, draws_of, live, new_handle, starts_of, zeros
from ecs_rl.ecs.context import Columns
from ecs_rl.errors import ActionError, SceneError
from ecs_rl.scene.agents import AgentSpec
from ecs_rl.scene.arena import Arena
from ecs_rl.scene.engine import MakeEngine, WorldPlan
from ecs_rl.scene.loader import blaming_scene
from ecs_rl.scene.rules import Remembering, Restarted
from ecs_rl.scene.scene import Scene
from ecs_rl.scene.sensors import Sensor
from ecs_rl.spaces import Decision, PolicySpec

T = TypeVar("T")
DecideAction = Callable[[F32, F32], Decision | NDArray[Any]]
"""Takes (rows, numbers) of observations and (rows, numbers) of the policy's state; an array is a Decision alone."""


@dataclass(frozen=True)
class AgentSlot:
    """The place of one agent, or of all members of a kind, in its policy's batch."""

    spec: AgentSpec
    rows: slice
    """All arenas of the first member, then all of the second."""
    amount: F64
    """(effects, rows) How strongly each of the agent's effects works."""
    terms: slice
    """Its rows in Terms: the first term of each member, then the second term."""

    def shaped(self, array: NDArray[Any]) -> NDArray[Any]:
        """Return its part of (rows, ...) as (arenas, ...), of a kind as (arenas, members, ...)."""
        part, count = array[self.rows], self.spec.count
        return part if count is None else part.reshape(count, -1, *part.shape[1:]).swapaxes(0, 1)

    def by_agent(self, amounts: F64) -> F64:
        """Return its own (effects, rows) of a kind as (arenas, members, effects)."""
        arenas = amounts.shape[1] // self.spec.members
        return amounts.reshape(len(amounts), self.spec.members, arenas).transpose(2, 1, 0)

    def by_term(self, array: NDArray[Any]) -> NDArray[Any]:
        """Return its part of (rows of Terms, arenas) as (terms, members, arenas)."""
        return array[self.terms].reshape(len(self.spec.earns), self.spec.members, -1)


@dataclass(frozen=True)
class PolicyBatch:
    """The agents that share a policy: one batch of `arenas * agents` rows."""

    name: str
    entity: int
    spec: PolicySpec
    slots: tuple[AgentSlot, ...]
    rows: int

    def locate(self, row: int, arenas: int) -> tuple[AgentSlot, int, str]:
        """Return the agent, the arena and the member (in words) of a row."""
        slot = next(slot for slot in self.slots if row < slot.rows.stop)
        member = (row - slot.rows.start) // arenas
        return slot, row % arenas, "" if slot.spec.count is None else f" of member {member}"

    @property
    def term_names(self) -> tuple[str, ...]:
        """The terms of the reward, which all of its agents earn; () where they earn differently."""
        first, *others = (tuple(slot.spec.earns) for slot in self.slots)
        return first if all(other == first for other in others) else ()

    def terms(self, earned: c.Terms) -> F32:
        """Return (terms, rows) what each term of `term_names` earned in this tick."""
        out = np.empty((len(self.term_names), self.rows), np.float32)
        for slot in self.slots:
            part = out[:, slot.rows]
            part[...] = slot.by_term(earned.now)[: len(out)].reshape(part.shape)
        return out


def policy_specs(arena: Arena) -> dict[str, PolicySpec]:
    """Return what each policy of a scene sees and does."""
    specs: dict[str, PolicySpec] = {}
    for spec in arena.agents:
        seen, does = spec.observation_names, spec.does.space
        policy = PolicySpec(
            seen, does, spec.policy, layout=spec.layout, allowed=spec.allowed, critic_sees=spec.critic_names
        )
        specs.setdefault(spec.policy, policy)
    return specs


MakeTick = Callable[["World"], Sequence[Entry]]
"""Returns the stages of a world's tick, in their order."""


class World(Context):
    """N arenas of a scene in an esper context of their own; `make_world` in `worlds.py` makes one.

    The `engine` moves the arenas. The method `tick` runs once each stage that the argument `tick` returned for this
    world, as the engine has it.
    `seeds` names the episodes of each arena on its own (evaluation); without it they follow from `seed`. Stages such
    as render call `callbacks`. With a `share`, the number of its first arena and of all, other processes have the
    others.
    """

    def __init__(
        self,
        scene: Scene,
        *,
        arenas: int,
        seed: int = 0,
        threads: int = 1,
        seeds: Sequence[int] | None = None,
        tick: MakeTick,
        engine: MakeEngine,
        policies: Mapping[str, DecideAction] | None = None,
        resources: Sequence[object] = (),
        callbacks: Callbacks = NOTHING,
        debug: bool = False,
        share: tuple[int, int] | None = None,
    ) -> None:
        super().__init__(scene.name or "scene", arenas)
        self.first, self.everywhere = share or (0, arenas)
        self.scene, self.arena, self.debug = scene, scene.describe(), debug
        self.specs = policy_specs(self.arena)
        self.policies: dict[str, DecideAction] = {name: (policies or {}).get(name, nobody) for name in self.specs}
        self.callbacks = callbacks
        self.engine = engine(WorldPlan(scene, self.arena, arenas, threads, seeds))
        try:
            self._create_arenas(seed, seeds)
            self._create_parts()
            self.batches = [self._create_batch(spec) for spec in self.specs.values()]
            self._draw_slots()
            for resource in resources:
                if resource is not None:
                    self.create(f"@{type(resource).__name__}", resource)
            with blaming_scene(scene.file):
                entries = tick(self)
                self.engine.attach(self, is_watched=any(entry.name == "render" for entry in entries))
                # Forces count as read where the physics uses them, so that a system is refused which writes them later.
                rules_read = (*self.arena.kinds, c.Force)
                self.runner = Runner(self, self.engine.stages(entries), rules_read=rules_read, debug=debug)
            self.stages = self.runner.stages
            self._start()
        except BaseException:
            self.close()  # a scene that is refused leaves no threads and no context behind
            raise

    # --- building ---------------------------------------------------------------------------------------------------

    def _create_arenas(self, seed: int, seeds: Sequence[int] | None) -> None:
        n = self.arenas
        numbers = np.zeros(n, np.int64) if seeds is not None else self.first + np.arange(1, n + 1)
        named = np.full(n, seed, np.int64) if seeds is None else np.asarray(seeds, np.int64)
        # In the order of the batches, in which judge writes: agents that share a policy come one after the other.
        agents = [spec for policy in self.specs for spec in self.arena.agents if spec.policy == policy]
        several = len(agents) > 1
        listed = [(spec, f"{spec.name}/{name}" if several else name) for spec in agents for name in spec.earns]
        self.terms = tuple(name for _, name in listed)
        """The names of the reward terms, in the order of Terms."""
        self._first_term = 0
        reasons = [f"{spec.name}/{name}" if several else name for spec in agents for name in spec.ends]
        self.all_out = all(spec.of is not None and spec.of.comes_and_goes for spec in agents)
        """Whether an episode ends when no member of any agent is here any more."""
        self.reasons = (*reasons, *(["all out"] if self.all_out else []))
        self.create(
            "@arena",
            zeros(c.Clock, n),
            live(c.Chance, key=self.engine.episode_keys(named, numbers), uniform=np.zeros((n, self._draws()))),
            zeros(c.Explosion, n),
            zeros(c.EpisodeEnd, n),
            zeros(c.EndRules, n, len(self.reasons)),
            zeros(c.Terms, n, sum(spec.members for spec, _ in listed)),
            live(c.RewardWeights, value=np.ones(len(self.terms))),
            c.Rated(tuple(spec.name for spec in agents)),
            c.Finished(),
            *self.engine.parts,
            *(allocate(part, n) for part in self.arena.parts),
            starts=starts_of(self.arena.parts),
        )

    def _draws(self) -> int:
        """Return how many numbers an episode draws: those of starts and terrains, then those of components."""
        parts = [(part, role.count) for role in self.arena.roles for part in role.parts]
        parts += [(part, None) for part in self.arena.parts]
        parts += [(number.kind(number.start), number.count) for number in self.arena.numbers]
        return self.arena.draw_count + sum(draws_of(part, count) for part, count in parts)

    def _draw_slots(self) -> None:
        """Assign a slot of the episode's draws to every column that starts with a draw."""
        self.slots, following = dict[str, int](), self.arena.draw_count
        for stored in self.stored:
            if hasattr(stored.start, "draws"):
                self.slots[stored.key] = following
                following += int(np.prod(stored.array.shape[1:]))

    def _create_parts(self) -> None:
        """Create the roles, the arena's numbers and what its rules remember, and give the scene its handles."""
        touch, ground, parts = new_handle(c.Touch), new_handle(c.Ground), {type(part) for part in self.engine.parts}
        for handle in (*self.arena.handles.values(), *(twin for twin in (touch, ground) if type(twin) in parts)):
            self.expose("@arena", handle, tracked=self.debug)
        self.arena.create_lines(self, ground, tracked=self.debug)
        for role in self.arena.roles:
            own = [allocate(part, self.arenas, role.count) for part in role.parts]
            starts = {**starts_of(role.parts), "Here/now": role.here_at_start}
            self.create(role.name, *self.engine.columns(role), *own, starts=starts)
            for handle in role.handles.values():
                self.expose(role.name, handle, tracked=self.debug)
        for number in self.arena.numbers:
            name, template = f"@number/{number.name}", number.kind(number.start)
            self.create(name, allocate(template, self.arenas, number.count), starts=starts_of([template]))
            self.expose(name, number.handle, tracked=self.debug)
        self.arena.create_lessons(self)
        for i, memory in enumerate(self.arena.memories):
            name = f"@memory/{i}"
            members = () if memory.count is None else (memory.count,)
            self.create(name, zeros(memory.kind, self.arenas, *members), starts=memory.starts)
            self.expose(name, memory.handle, tracked=False)
        if self.arena.memories:
            self.create("@restarts", zeros(Restarted, self.arenas))
            self.expose("@restarts", self.arena.placing.restarted, tracked=False)
        for sensor in self.arena.used:
            if isinstance(sensor, Sensor):
                sensor.bind(touch, ground)
        self.arena.create_forces(self, tracked=self.debug)
        for touching in self.arena.touchings:
            touching.bind(touch, ground)
        self.arena.placing.arenas, self.arena.context = self.arenas, self
        for handle in (self.arena.placing.clock, self.arena.placing.chance):
            self.expose("@arena", handle, tracked=False)

    def _create_batch(self, spec: PolicySpec) -> PolicyBatch:
        agents = [agent for agent in self.arena.agents if agent.policy == spec.name]
        n, members = self.arenas, sum(agent.members for agent in agents)
        rows = n * members
        action = live(c.Action, value=spec.actions.none(rows))
        amounts = zeros(c.Amount, n, sum(len(agent.does.effects) * agent.members for agent in agents))
        done = zeros(c.Done, rows)
        if agents[0].count is None and len(agents) == 1:  # one agent's rows are the arenas
            ends = self.one(c.EpisodeEnd)
            done = live(c.Done, terminated=ends.terminated, truncated=ends.truncated, valid=done.valid)
        acting = zeros(c.Acting, rows)
        done.valid[...] = acting.value[...] = True
        entity = self.create(
            f"@policy/{spec.name}",
            c.Policy(spec.name),
            action,
            c.Extras(),
            amounts,
            zeros(c.Observation, rows, len(spec.numbers)),
            zeros(c.NextObservation, rows, len(spec.numbers)),
            zeros(c.PolicyState, rows, state_of(self.policies[spec.name])),
            zeros(c.Reward, rows),
            acting,
            done,
        )
        slots, row, effect, note = list[AgentSlot](), 0, 0, self.noted.add if self.debug else None
        for agent in agents:
            end = effect + len(agent.does.effects) * agent.members
            own = amounts.value[effect:end].reshape(-1, agent.members * n)
            terms = slice(self._first_term, self._first_term + len(agent.earns) * agent.members)
            slots.append(AgentSlot(agent, slice(row, row + agent.members * n), own, terms))
            for driven, amount in zip(agent.does.effects, own, strict=True):
                driven.bind(agent.amount_for(driven, amount, n), note)
            agent.does.bind(slots[-1].shaped(action.value), note)
            for rule in (*agent.earns.values(), *agent.ends.values()):
                if isinstance(rule, Remembering) and agent.count is not None and rule.count == agent.count:
                    rule.acting = slots[-1].shaped(acting.value)
            row, effect, self._first_term = row + agent.members * n, end, terms.stop
        return PolicyBatch(spec.name, entity, spec, tuple(slots), rows)

    def _start(self) -> None:
        """Begin the first episodes, and try every rule once."""
        self.start_over()
        with blaming_scene(self.scene.file):
            self.arena.try_rules(self.arenas)

    # --- running, and snapshots -------------------------------------------------------------------------------------

    def tick(self) -> None:
        """Run every stage once: each arena takes one decision."""
        self.enter()
        with blaming_scene(self.scene.file):
            self.runner.tick()

    def slices(self, first: str = "") -> Iterator[str]:
        """Run a tick in slices, or its rest from the stage `first` on; yield the name of the stage at work."""
        self.enter()
        with blaming_scene(self.scene.file):
            yield from self.runner.slices(first)

    def start_over(self) -> None:
        """Begin the present episode of every arena again, with an engine made anew."""
        list(self.starting_over())

    def starting_over(self) -> Iterator[None]:
        """Yield slices of the same work, between which nothing may happen in this world."""
        self.enter()
        respawn: Any = self.stages["respawn"]
        with blaming_scene(self.scene.file):
            respawn.begin_all()
            yield from self.engine.rebuilding()

    def rebuild(self) -> None:
        """Make the engine anew from the columns."""
        for _ in self.engine.rebuilding():
            pass

    def snapshot(self) -> None:
        """Make the engine anew from the columns and copy them: a world that starts from the copy goes the same way."""
        list(self.taking_snapshot())

    def taking_snapshot(self) -> Iterator[None]:
        """Yield slices of the same work, between which nothing may happen in this world."""
        yield from self.engine.rebuilding()
        log, snapshots = self.one(c.ActionLog), self.one(c.Snapshots)
        if not self.engine.starts_midway:  # the columns hold all actions that lead to them
            snapshots.columns = self.save_columns()
            return
        snapshots.earlier, snapshots.earlier_actions = snapshots.columns, log.actions
        snapshots.columns, log.actions, log.is_on = self.save_columns(), [], True

    def restore(
        self, columns: Columns, actions: Sequence[NDArray[Any]], watch: Callable[[], None] = lambda: None
    ) -> None:
        """Load a snapshot and replay (ticks, rows, ...) actions per policy; no stage learns or records."""
        self.load_columns(columns)
        self.engine.come_back(watch)
        self.snapshot()
        log, taken_by = self.one(c.ActionLog), [(batch, self.of(batch.entity, c.Action)) for batch in self.batches]
        with blaming_scene(self.scene.file):
            for taken in zip(*actions, strict=True):
                watch()
                log.actions.append(taken)
                for (batch, action), value in zip(taken_by, taken, strict=True):
                    self.check_action(batch, value)
                    action.value[...] = value
                self.runner.replay(without="decide")
                self.ticks += 1

    def check_action(self, batch: PolicyBatch, action: Any) -> None:
        """Raise ActionError for a wrong shape, an unknown choice, or a number that is not finite."""
        if not isinstance(action, np.ndarray):
            raise ActionError(f"policy '{batch.name}' must answer with an array, not a {type(action).__name__}")
        wrong = batch.spec.actions.wrong(action, batch.rows)
        if wrong is None:
            return
        message = wrong.what
        if wrong.why:
            slot, arena, member = batch.locate(wrong.row, self.arenas)
            message += f"{member} of '{slot.spec.name}' {wrong.why} {self.when(arena)}"
        raise ActionError(f"policy '{batch.name}' {message}")

    # --- asking -----------------------------------------------------------------------------------------------------

    def block(self, *kinds: type) -> NDArray[Any]:
        """Query the array (numbers, bodies, arenas) behind components of all roles: of Pose, Pose and Motion, ..."""
        self.queried.update(kinds)
        return self.engine.blocks[kinds]

    def engine_as(self, kind: type[T]) -> T:
        """Return the engine for a stage that works with one kind of engine alone; TypeError if it is another."""
        if not isinstance(self.engine, kind):
            raise TypeError(f"this stage needs {kind.__name__}, not {type(self.engine).__name__}")
        return self.engine

    def moving(self) -> AbstractContextManager[None]:
        """Surround what moves bodies: the engine takes over their new places at the end."""
        return self.engine.moving()

    def drive(self, policy: str, decide: DecideAction) -> None:
        """Let a function decide for a policy from now on, with a new PolicyState if its width differs."""
        self.policies[policy] = decide
        batch = next(batch for batch in self.batches if batch.name == policy)
        state, numbers = self.of(batch.entity, c.PolicyState), state_of(decide)
        if state.value.shape[1] != numbers:
            self.resize(f"@policy/{policy}", state, zeros(c.PolicyState, batch.rows, numbers))

    def when(self, arena: int, *, judged: bool = False) -> str:
        """Return the arena and the tick of its episode in words; `judged`: judge has counted the tick."""
        return f"in arena {arena} at tick {int(self.one(c.Clock).tick[arena]) + (not judged)} of its episode"

    @property
    def seconds_in(self) -> Mapping[str, float]:
        """Seconds that each stage has taken so far."""
        return {name: stage.seconds for name, stage in self.stages.items()}

    def close(self) -> None:
        """Close the engine and the esper context."""
        self.engine.close()
        super().close()


def state_of(decide: DecideAction) -> int:
    """Return how many numbers a policy remembers for each row: its attribute `state`, 0 without one."""
    return int(getattr(decide, "state", 0))


def nobody(observation: Any, state: Any) -> Any:
    """Decide for a policy that nobody drives: it is an error."""
    raise SceneError("nobody drives this policy: give the world `policies={name: function}`")
