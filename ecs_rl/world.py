"""The world: the only owner of esper contexts. It is built from a scene, holds N arenas and runs the schedule."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any, TypeVar

import esper
import numpy as np
from numpy.typing import NDArray

from ecs_rl.agents.base import Continuous, Discrete, PolicySpec
from ecs_rl.arrays import F64
from ecs_rl.columns import columns_of, follow, put_columns
from ecs_rl.components import (
    Action,
    Chance,
    Clock,
    Ending,
    Episodes,
    Explosion,
    Memory,
    NextObservation,
    Observation,
    Policy,
    Reward,
    RowEnds,
    Session,
    Trail,
)
from ecs_rl.components.mind import ChooseAction
from ecs_rl.components.trail import Columns
from ecs_rl.errors import SceneError
from ecs_rl.physics.physics import Physics
from ecs_rl.processors.respawn import Respawn
from ecs_rl.scene.arena import AgentPlan, Arena, Scene
from ecs_rl.scene.chance import episode_keys
from ecs_rl.scene.checks import RuleError, given
from ecs_rl.scene.effects import Choice
from ecs_rl.scene.loader import blaming
from ecs_rl.scene.rules import Remembering
from ecs_rl.scene.sensors import Sensor
from ecs_rl.schedule import PLAYING, check, chosen
from ecs_rl.watchdog import Watchdog

C = TypeVar("C")
_serial = count()


@dataclass(frozen=True)
class Seat:
    """One agent's place in its policy's batch."""

    plan: AgentPlan
    rows: slice
    amounts: F64
    """(effects, arenas) How strongly each of the agent's effects works."""


@dataclass(frozen=True)
class Crew:
    """The agents that share a policy: one batch of `arenas * agents` rows."""

    name: str
    entity: int
    seats: tuple[Seat, ...]
    rows: int


def policy_specs(arena: Arena) -> dict[str, PolicySpec]:
    """Return what each policy of a scene sees and does."""
    specs: dict[str, PolicySpec] = {}
    for plan in arena.agents:
        actions = Discrete(plan.does.names) if isinstance(plan.does, Choice) else Continuous(plan.does.names)
        specs.setdefault(plan.policy, PolicySpec(plan.observation_names, actions, plan.policy))
    return specs


class World:
    """N arenas of a scene in an esper context of their own; `tick` runs every stage of the schedule once.

    `seeds` names the episodes of each arena on its own (evaluation); without it they follow from `seed`.
    """

    def __init__(
        self,
        scene: Scene,
        *,
        arenas: int,
        seed: int = 0,
        threads: int = 1,
        seeds: Sequence[int] | None = None,
        policies: Mapping[str, ChooseAction] | None = None,
        stages: Sequence[str] = PLAYING,
        session: Session | None = None,
        resources: Sequence[object] = (),
        debug: bool = False,
    ) -> None:
        self.scene, self.arenas = scene, arenas
        self.context = f"{scene.name or 'scene'}-{next(_serial)}"
        self.arena = scene.describe()
        self.specs = policy_specs(self.arena)
        self.memories = [rule for rule in self.arena.used if isinstance(rule, Remembering)]
        self.physics = Physics(scene, self.arena, arenas, threads)
        self.ticks = 0
        self.enter()
        try:
            self._create_arenas(seed, seeds)
            self._create_roles()
            self.crews = [self._create_crew(name, (policies or {}).get(name)) for name in self.specs]
            for resource in (session, *resources):
                if resource is not None:
                    esper.create_entity(resource)
            self._create_stages(stages, debug)
            self._start()
        except BaseException:
            self.close()  # a scene that is refused leaves no threads and no context behind
            raise

    def _create_stages(self, stages: Sequence[str], debug: bool) -> None:
        entries = chosen(stages)
        check(entries)
        self.stages = {entry.name: entry.processor(self) for entry in entries}
        for processor in self.stages.values():
            esper.add_processor(processor)
        self.watchdog = Watchdog(self, entries) if debug else None

    def enter(self) -> None:
        """Make this world's esper context the current one; another world leaves its own behind."""
        if esper.current_world != self.context:
            esper.switch_world(self.context)

    def _create_arenas(self, seed: int, seeds: Sequence[int] | None) -> None:
        n = self.arenas
        numbers = np.zeros(n, np.int64) if seeds is not None else np.arange(1, n + 1)
        named = np.full(n, seed, np.int64) if seeds is None else np.asarray(seeds, np.int64)
        # In the order of the crews, in which judge writes: agents that share a policy come one after the other.
        plans = [plan for policy in self.specs for plan in self.arena.agents if plan.policy == policy]
        several = len(plans) > 1
        terms = tuple(f"{plan.name}/{name}" if several else name for plan in plans for name in plan.earns)
        reasons = tuple(f"{plan.name}/{name}" if several else name for plan in plans for name in plan.ends)
        esper.create_entity(
            Clock(np.zeros(n, np.int64), np.zeros(n, np.int64)),
            Chance(episode_keys(named, numbers), np.zeros((n, self.arena.draw_count))),
            Memory(np.zeros((len(self.memories), n)), np.zeros((len(self.memories), n))),
            Explosion(np.zeros(n, bool)),
            Ending(np.zeros(n, bool), np.zeros(n, bool), np.zeros(n, bool), np.zeros(0, np.int64)),
            Episodes(np.zeros((len(terms), n)), terms, reasons),
            self.physics.touch,
            self.physics.ground,
        )
        for slot, memory in enumerate(self.memories):
            memory.bind(self.one(Memory), slot)
        for draw in self.arena.draws:
            draw.bind(self.one(Chance))
        for sensor in self.arena.used:
            if isinstance(sensor, Sensor):
                sensor.bind(self.physics.touch, self.physics.ground)

    def _create_roles(self) -> None:
        self.roles: dict[str, int] = {}
        for role in self.arena.roles:
            columns = self.physics.columns(role.number)
            role.bind(*columns)
            self.roles[role.name] = esper.create_entity(*columns)

    def _create_crew(self, policy: str, choose: ChooseAction | None) -> Crew:
        plans = [plan for plan in self.arena.agents if plan.policy == policy]
        n, rows = self.arenas, self.arenas * len(plans)
        numbers = len(plans[0].observation_names)
        discrete = isinstance(plans[0].does, Choice)
        action = np.zeros(rows, np.int64) if discrete else np.zeros((rows, len(plans[0].does.names)), np.float32)
        entity = esper.create_entity(
            Policy(policy, choose or _nobody),
            Observation(np.zeros((rows, numbers), np.float32)),
            NextObservation(np.zeros((rows, numbers), np.float32)),
            Action(action),
            Reward(np.zeros(rows, np.float32)),
            RowEnds(np.zeros(rows, bool), np.zeros(rows, bool), np.ones(rows, bool)),
        )
        seats = []
        for i, plan in enumerate(plans):
            amounts = np.zeros((len(plan.does.effects), n))
            for effect, column in zip(plan.does.effects, amounts, strict=True):
                effect.bind(column)
            seats.append(Seat(plan, slice(i * n, (i + 1) * n), amounts))
        return Crew(policy, entity, tuple(seats), rows)

    def _start(self) -> None:
        """Begin the first episodes and try every rule once, so that a rule that cannot work is refused now."""
        self.start_over()
        with blaming(self.scene.file):
            for plan in self.arena.agents:
                for kind, rules in (("reward", plan.earns), ("end", plan.ends)):
                    for name, rule in rules.items():
                        value = given(rule)
                        if value.shape not in ((), (self.arenas,)) or value.dtype.kind not in "biuf":
                            told = f"the {kind} '{name}' must give one number per arena, not {value.shape}"
                            raise RuleError(f"{told} of {value.dtype}", rule)
                        if kind == "end" and value.dtype != bool:
                            told = f"the end '{name}' must give true or false, not {value.dtype}"
                            raise RuleError(f"{told}: compare it with something, as `beyond` does", rule)

    def tick(self) -> None:
        """Run every stage once: each arena takes one decision."""
        self.enter()
        with blaming(self.scene.file):
            if self.watchdog is None:
                esper.process()
            else:
                self.watchdog.tick()
        self.ticks += 1

    def start_over(self) -> None:
        """Begin everyone's present episode again, with physics that remembers nothing of what was before."""
        self.enter()
        respawn = self.stages["respawn"]
        assert isinstance(respawn, Respawn)
        with blaming(self.scene.file):
            respawn.begin_all()
            self.physics.rebuild()

    def slices(self, first: str = "") -> Iterator[str]:
        """Run one tick in slices, or the rest of one from the stage `first` on; between two other worlds may run.

        Yields the name of the stage that is at work. A debug run takes the whole tick in one go.
        """
        if self.watchdog is not None:
            self.tick()
            return
        self.enter()
        names = list(self.stages)
        with blaming(self.scene.file):
            for name in names[names.index(first) if first else 0 :]:
                for _ in self.stages[name].slices():
                    yield name
                    self.enter()
        self.ticks += not first

    def anchor(self) -> None:
        """Make the physics anew from the columns, here and now: whoever starts from these goes the same way.

        The physics remembers more than its columns show, and cannot be saved as it is (see Trail).
        """
        self.physics.rebuild()
        trail = self.one(Trail)
        trail.anchor = columns_of(self)
        trail.actions.clear()

    def return_to(self, anchor: Columns, actions: Sequence[Iterable[NDArray[Any]]]) -> None:
        """Go to an anchor and from there where (ticks, rows, ...) actions per policy led; nobody learns or records."""
        put_columns(self, anchor)
        self.anchor()
        minds = [action for (action,) in self.each(Action)]
        stages = [self.stages[name] for name in PLAYING if name != "decide"]
        trail = self.one(Trail)
        for taken in zip(*actions, strict=True):
            follow(trail, taken)
            for mind, action in zip(minds, taken, strict=True):
                mind.value = action.astype(np.int64) if action.dtype.kind in "iu" else action
            for stage in stages:
                stage.run()
            self.ticks += 1

    def each(self, *types: type) -> list[tuple[Any, ...]]:
        """Return the components of every entity that has all of these, in the order of creation."""
        self.enter()
        # esper lists entities in the order of a set; data must never depend on that.
        found: list[tuple[int, Any]] = esper.get_components(*types)
        return [tuple(parts) for _, parts in sorted(found, key=lambda each: each[0])]

    def one(self, kind: type[C]) -> C:
        """Return the only component of its kind."""
        self.enter()
        found = esper.get_component(kind)
        if len(found) != 1:
            raise LookupError(f"the world has {len(found)} {kind.__name__}, not one")
        return found[0][1]

    def of(self, entity: int | str, kind: type[C]) -> C:
        """Return the component of an entity, or of a role by its name."""
        self.enter()
        return esper.component_for_entity(self.roles[entity] if isinstance(entity, str) else entity, kind)

    def drive(self, policy: str, choose: ChooseAction) -> None:
        """Let a function choose the actions of a policy from now on."""
        for (found,) in self.each(Policy):
            if found.name == policy:
                found.choose = choose

    @property
    def seconds_in(self) -> dict[str, float]:
        """Seconds that each stage has taken so far."""
        return {name: stage.seconds for name, stage in self.stages.items()}

    def close(self) -> None:
        """Give back threads and the esper context."""
        self.physics.close()
        if esper.current_world == self.context:
            esper.switch_world("default")
        if self.context in esper.list_worlds():
            esper.delete_world(self.context)


def _nobody(observation: Any) -> Any:
    raise SceneError("nobody drives this policy: give the world `policies={name: function}`")
