"""`train.py SCENE --check`: is this scene sound? Random actions, and a report on what comes of them."""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Callable, Sequence
from functools import partial
from itertools import count
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ecs_rl.arrays import F32, F64
from ecs_rl.cli.command_settings import TrainSettings
from ecs_rl.components import ActionLog, Explosion, Finished, NextObservation, Reward, Snapshots, Terms
from ecs_rl.console import deliver, tell
from ecs_rl.ecs import Entry, Stage
from ecs_rl.ecs.system import SystemStage
from ecs_rl.results import Results
from ecs_rl.scene.lessons import teach, unread
from ecs_rl.scene.rules import Remembering, SharedRule
from ecs_rl.scene.scene import Scene
from ecs_rl.scene.sensors import Rule, Sensor
from ecs_rl.schedule import PLAYING, SCHEDULE, TRAINING, tick_of
from ecs_rl.session.diagnosis import cancel, of_random_play
from ecs_rl.spaces import PolicySpec
from ecs_rl.tasks.check_evaluations import evaluations_in_words, time_evaluations
from ecs_rl.tasks.check_notes import Equals, Waiting, always_equal, memory_of, seen_through
from ecs_rl.training.snapshots import Sections, restore_world, save_world
from ecs_rl.training.training import Training
from ecs_rl.world import World, policy_specs
from ecs_rl.worlds import make_world

SHORTEST, LONGEST = 1_500, 10_000
"""Ticks of a play: long enough for two whole episodes, and for what a scene may do after some hundred ticks."""
OURS = {entry.name for entry in SCHEDULE}
MOST_LINES = 400
"""Numbers that are told of one by one; pictures have more."""
WATCHED = 60
"""Ticks of the debug run, in which every stage is compared with what it declares."""


def check_scene(scene: Scene, settings: TrainSettings, begin: Callable[[], Training] | None = None) -> int:
    """Play three times and watch a debug run, compare, and print the report; 0 where all is well, 2 otherwise.

    `begin` returns the training of these settings, by which the time of evaluations is measured.
    """
    waiting = Waiting(scene.name)
    tick = watch(scene, settings)  # first: it is short, and says best what is wrong
    first, again = Play(scene, settings), Play(scene, settings)
    findings = first.run(partial(waiting.at, "play 1 of 3"))
    again.run(partial(waiting.at, "play 2 of 3"))
    same, resumable = first.whole == again.whole, True
    if same:
        resumed = Play(scene, settings, first.saved)
        resumed.run(partial(waiting.at, "play 3 of 3"))
        resumable = resumed.after == first.after
    problems = []
    if not same:
        problems.append("the same seed gave different numbers: something in the scene draws its own random numbers")
    if not resumable:
        problems.append(first.world.engine.why_not_resumable)
    if findings["explosions"]:
        problems.append(f"{findings['explosions']} arenas exploded under random actions: see masses, forces and joints")
    for name in first.alike:
        problems.append(
            f"'{name}' is one number for all arenas: rules work on all arenas at once, so leave .mean() out"
        )
    finding = of_random_play(findings["reward_per_tick"], first.cancels and not scene.score)
    evaluations = time_evaluations(begin()) if begin is not None and not problems else None
    facts = {
        "scene": settings.scene,
        "about": scene.about,
        "arenas": settings.arenas,
        "ok": not problems,
        "problems": problems,
        "deterministic": same,
        "resumable": resumable,
        **findings,
        "finding": str(finding or ""),
        "tick": tick,
        "lessons": first.lessons,
        "evaluations": evaluations,
        "notes": [*first.notes, *memory_of(first.seen, getattr(settings, settings.agent))],
    }
    deliver(json.dumps(facts) if settings.json else "\n".join(report(facts)))
    for problem in problems:
        tell(f"train.py: {scene.name}: {problem}", sys.stderr)
    return 2 if problems else 0


class Play:
    """One random play, whose actions are a function of the seed and the tick alone; from the middle on if it is given.

    After `run`, `whole` is a digest over every observation and reward, `after` over those of the second half and all
    columns at the end, `saved` what the world was in the middle, and `alike` names the terms and observations that
    change, and are made of one number for all arenas. (A door that opens by the clock is a column that is alike.)
    """

    def __init__(self, scene: Scene, settings: TrainSettings, saved: Sections | None = None) -> None:
        self.ticks = min(LONGEST, max(SHORTEST, 2 * scene.max_ticks + 500))
        self.world = make_world(
            scene,
            arenas=settings.arenas,
            seed=settings.seed,
            threads=settings.threads,
            policies=_deciding(scene, settings.seed, lambda: self.world.ticks),
            stages=PLAYING,
            resources=(ActionLog(), Snapshots()),
        )
        self.saved = saved or {}
        self.whole = self.after = ""
        self.alike: list[str] = []
        self.lessons = [taught.lesson.facts() for taught in self.world.arena.lessons]
        self.notes: list[str] = []
        self.seen = 0
        """Numbers that all agents of all arenas see in a tick."""
        self.cancels = False
        """What the agents earn cancels out in every tick: what one wins another loses."""
        if saved is not None:
            restore_world(self.world, saved | {"earlier": {}}, exactly=False)
            self.world.ticks = self.ticks // 2

    def run(self, told_at: Callable[[int, int], None]) -> dict[str, Any]:
        """Play to the end and return what it showed, as in `--json`; anything that is not finite raises on its way."""
        world, half = self.world, self.ticks // 2
        batches, finished = world.each(NextObservation, Reward), world.one(Finished)
        whole, after, busy = hashlib.sha256(), hashlib.sha256(), 0.0
        equals = [Equals(seen.value) for seen, _ in batches]
        ranges = [ValueRange(seen.value) for seen, _ in batches]
        counts = len(world.terms), len(world.arena.scores)
        terms, scores = (ValueRange(np.zeros((world.arenas, count))) for count in counts)
        came, came_to = list[list[float]](), list[dict[str, F64]]()
        earned, ends = np.zeros(len(world.terms)), np.zeros(len(world.reasons), int)
        began = world.ticks
        while world.ticks < self.ticks:
            if world.ticks == half and not self.saved:
                world.snapshot()
                self.saved = save_world(world)
            began_tick = perf_counter()
            world.tick()
            told_at(world.ticks, self.ticks)
            busy += perf_counter() - began_tick
            for column, name in enumerate(world.arena.scores):
                scores.array[:, column] = Results(world).score(name)
            terms.array[...] = Results(world).by_name(world.one(Terms).now).T
            for values in (*ranges, terms, scores):
                values.look()
            for equal in equals:
                equal.look()
            seen_bytes = b"".join(seen.value.tobytes() + reward.value.tobytes() for seen, reward in batches)
            whole.update(seen_bytes + finished.scores.tobytes())
            came_to.append(finished.returns)
            if world.ticks > half:
                after.update(seen_bytes)
            earned += terms.array.sum(axis=0)
            ends += finished.reasons.sum(axis=1) if len(finished.arena) else 0
            came += finished.scores.T.tolist()
        after.update(repr(sorted((name, kind.__name__, d) for (name, kind), d in world.digests().items())).encode())
        names, ticks = _observation_names(world), world.ticks - began
        self.cancels = cancel([np.array(list(each.values())) for each in came_to if each])
        low, high = (np.concatenate([getattr(each, side) for each in ranges]).tolist() for side in ("low", "high"))
        alike = np.concatenate([each.alike() for each in (*ranges, terms, scores)])
        watched = zip((*names, *world.terms, *world.arena.scores), _rules(world), alike, strict=True)
        self.alike = [name for name, rule, same in watched if same and world.engine.asks_rules and _is_one(rule)]
        self.notes, self.seen = _notes(world, ranges, equals), sum(seen.value.size for seen, _ in batches)
        self.whole, self.after = whole.hexdigest(), after.hexdigest()
        explosions = int(world.one(Explosion).count)
        world.close()
        return {
            "ticks": ticks,
            "explosions": explosions,
            "does": _does(world),
            "observations": dict(zip(names, zip(low, high, strict=True), strict=True)),
            "reward_per_tick": dict(zip(world.terms, (earned / (ticks * world.arenas)).tolist(), strict=True)),
            "scores": {
                name: [min(values), sum(values) / len(values), max(values)]
                for name, values in zip(world.arena.scores, zip(*came, strict=True), strict=bool(came))
            },
            "ends": dict(zip(world.reasons, ends.tolist(), strict=True)),
            "ticks_per_second": ticks / busy,
            "steps_per_second": ticks / busy * world.arenas,
        }


class ValueRange:
    """How far the numbers of (rows, numbers) go, and whether rows ever differ."""

    def __init__(self, array: F32 | F64) -> None:
        self.array = array
        self.low = np.full(array.shape[1], np.inf)
        self.high = -self.low
        self.differ = np.full(array.shape[1], len(array) < 2)

    def look(self) -> None:
        """Take the present numbers in."""
        low, high = self.array.min(axis=0), self.array.max(axis=0)
        np.minimum(self.low, low, out=self.low)
        np.maximum(self.high, high, out=self.high)
        self.differ |= low != high

    def alike(self) -> NDArray[np.bool_]:
        """Return which numbers change, but are always the same in all rows."""
        return np.asarray(~self.differ & (self.low < self.high))


def watch(scene: Scene, settings: TrainSettings) -> list[dict[str, Any]]:
    """Run the debug run, which refuses what is read or written undeclared; return the tick of the scene's training."""
    ticks = count()
    world = make_world(
        scene,
        arenas=min(4, settings.arenas),
        seed=settings.seed,
        policies=_deciding(scene, settings.seed, ticks.__next__),
        debug=True,
    )
    if world.arena.lessons:  # the plays have the full task, and this run the first lesson
        teach(world.arena.lessons)
        world.start_over()
    for _ in range(WATCHED):
        world.tick()
    world.close()
    return [
        {
            "stage": entry.name,
            "reads": [kind.__name__ for kind in _reads(entry, world.stages.get(entry.name))],
            "writes": [kind.__name__ for kind in entry.writes],
            "own": entry.name not in OURS,
            "about": entry.about,
        }
        for entry in world.engine.stages(tick_of(world, TRAINING))
    ]


def _reads(entry: Entry, stage: Stage | None) -> list[type]:
    """Return what a stage declares as read, and what a system that declares nothing looked at."""
    looked = stage.looked - set(entry.writes) if isinstance(stage, SystemStage) else set()
    return list(dict.fromkeys((*entry.reads, *entry.keeps, *sorted(looked, key=lambda kind: kind.__name__))))


def random_chooser(spec: PolicySpec, seed: int, tick: Callable[[], int]) -> Any:
    """Return a policy that knows nothing, whose actions are a function of the seed and of the tick."""

    def choose(observation: F32, state: F32) -> NDArray[Any]:
        return spec.actions.random(np.random.default_rng((seed, tick())), len(observation))

    return choose


def _deciding(scene: Scene, seed: int, tick: Callable[[], int]) -> dict[str, Any]:
    return {name: random_chooser(spec, seed, tick) for name, spec in policy_specs(scene.describe()).items()}


def _observation_names(world: World) -> list[str]:
    several = len(world.specs) > 1
    return [f"{p}/{name}" if several else name for p, spec in world.specs.items() for name in spec.numbers]


def _rules(world: World) -> list[Rule]:
    """Return what each observation, term and score is worked out by, in the order of their names."""
    agents = [spec for policy in world.specs for spec in world.arena.agents if spec.policy == policy]
    first = {spec.policy: spec for spec in reversed(agents)}
    seen = [sensor for policy in world.specs for sensor in first[policy].senses for _ in sensor.names]
    return [*seen, *(rule for spec in agents for rule in spec.earns.values()), *world.arena.scores.values()]


def _notes(world: World, ranges: Sequence[ValueRange], equals: Sequence[Equals]) -> list[str]:
    """Return what is worth a look in what a play has shown of each policy."""
    never = unread(world.arena.lessons)
    notes = [f"nothing reads lesson '{name}': take {name}.value in a start, a terrain or a rule" for name in never]
    notes += seen_through(world.arena)
    for (policy, spec), span, equal in zip(world.specs.items(), ranges, equals, strict=True):
        sees = next(agent.senses for agent in world.arena.agents if agent.policy == policy)
        sensors = [sensor for sensor in sees for _ in sensor.names]
        changing = [group for group in equal.groups if span.low[group[0]] < span.high[group[0]]]
        notes += always_equal(changing, sensors, spec.observations)
    return notes


def _is_one(rule: Rule) -> bool:
    """Tell whether a rule gives one number for all arenas; a sensor that writes its numbers itself may."""
    while isinstance(rule, (Remembering, SharedRule)):
        rule = rule.rule
    return (isinstance(rule, Sensor) and not hasattr(rule, "read")) or np.ndim(rule()) == 0


def _does(world: World) -> dict[str, str]:
    several = len(world.specs) > 1
    every = ((p, name, what) for p, spec in world.specs.items() for name, what in spec.actions.about.items())
    return {f"{policy}/{name}" if several else name: what for policy, name, what in every}


def report(facts: dict[str, Any]) -> list[str]:
    """Return the lines of the report."""
    lines = [
        f"{facts['scene']}: {facts['about']}",
        f"{facts['ticks']} ticks of {facts['arenas']} arenas, random actions: "
        f"{facts['ticks_per_second']:,.0f} ticks/s, {facts['steps_per_second']:,.0f} steps/s",
        f"same seed, same numbers: {'yes' if facts['deterministic'] else 'NO'}; "
        f"brought back exactly: {'yes' if facts['resumable'] else 'NO'}; explosions: {facts['explosions']}",
        "the tick of a training (reads -> writes; * is the scene's own, and a debug run has held it to that):",
    ]
    for stage in facts["tick"]:
        name = f"{stage['stage']}{' *' if stage['own'] else ''}"
        lines.append(f"  {name:24} {', '.join(stage['reads']) or '-'} -> {', '.join(stage['writes'])}")
    tables = ("observations", "does", "reward_per_tick", "scores", "ends")
    wide = max(24, *(len(name) for table in tables for name in facts[table]))
    lines += ["sees (lowest to highest):"]
    ranges = list(facts["observations"].items())
    lines += [f"  {name:{wide}} {low:10.3f} {high:10.3f}" for name, (low, high) in ranges[:MOST_LINES]]
    if more := [each for _, each in ranges[MOST_LINES:]]:
        low, high = min(low for low, _ in more), max(high for _, high in more)
        lines.append(f"  {f'and {len(more):,} more':{wide}} {low:10.3f} {high:10.3f}")
    lines += ["does:", *(f"  {name:{wide}} {what}" for name, what in facts["does"].items())]
    lines += ["earns (mean per tick):"]
    lines += [f"  {name:{wide}} {mean:10.4f}" for name, mean in facts["reward_per_tick"].items()]
    if facts["scores"]:
        lines += ["scores as episodes end (lowest, mean, highest):"]
        lines += [f"  {name:{wide}} {' '.join(f'{x:10.3f}' for x in each)}" for name, each in facts["scores"].items()]
    lines += ["episodes ended by:"]
    lines += [f"  {name:{wide}} {times:10}" for name, times in facts["ends"].items()]
    if facts["lessons"]:
        lines += ["lessons (all that is told above is the full task):"]
        lines += [f"  {each['name']:{wide}} {_lesson(each)}" for each in facts["lessons"]]
    if facts["evaluations"]:
        lines += [evaluations_in_words(facts["evaluations"])]
    lines += [f"note: {note}" for note in facts["notes"]]
    return [*lines, *([f"to look at: {facts['finding']}"] if facts["finding"] else [])]


def _lesson(facts: dict[str, Any]) -> str:
    return f"{facts['easy']} -> {facts['full']} in {facts['steps']} steps, each when {facts['when']}"
