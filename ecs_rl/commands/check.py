"""`train.py SCENE --check`: is this scene sound? Random actions, and a report on what comes of them."""

from __future__ import annotations

import hashlib
import json
import sys
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ecs_rl.agents.base import Discrete, PolicySpec
from ecs_rl.commands.pipes import deliver, tell
from ecs_rl.commands.settings import TrainSettings
from ecs_rl.components import Episodes, Explosion, NextObservation, Reward
from ecs_rl.components.mind import ChooseAction
from ecs_rl.scene.arena import Scene
from ecs_rl.world import World, policy_specs

TICKS = 300


@dataclass
class Findings:
    """What some ticks of random play showed."""

    digest: str
    """Over every observation and reward, so that two plays can be compared."""
    seen: dict[str, tuple[float, float]] = field(default_factory=dict)
    """Lowest and highest of each number that is seen."""
    terms: dict[str, float] = field(default_factory=dict)
    """Mean of each reward term per tick."""
    ends: dict[str, int] = field(default_factory=dict)
    """How often each rule ended an episode."""
    explosions: int = 0
    ticks_per_second: float = 0.0


def check_scene(scene: Scene, settings: TrainSettings) -> int:
    """Play twice alike, compare, and print the report; 0 where all is well, 2 where the scene is not sound."""
    first, again = (random_play(scene, settings.arenas, settings.seed, settings.threads) for _ in range(2))
    problems = []
    if first.digest != again.digest:
        problems.append("the same seed gave different numbers: something in the scene draws its own random numbers")
    if first.explosions:
        problems.append(f"{first.explosions} arenas exploded under random actions: see masses, forces and joints")
    facts = as_json(scene, settings, first, problems)
    deliver(json.dumps(facts) if settings.json else "\n".join(report(facts)))
    for problem in problems:
        tell(f"train.py: {scene.name}: {problem}", sys.stderr)
    return 2 if problems else 0


def random_play(scene: Scene, arenas: int, seed: int, threads: int) -> Findings:
    """Run some ticks with random actions and gather what there is to see; anything not finite raises on its way."""
    random = np.random.default_rng(seed)
    specs = policy_specs(scene.describe())
    policies = {name: random_chooser(spec, random) for name, spec in specs.items()}
    world = World(scene, arenas=arenas, seed=seed, threads=threads, policies=policies)
    minds, episodes = world.each(NextObservation, Reward), world.one(Episodes)
    digest, busy = hashlib.sha256(), 0.0
    low = [np.full(seen.value.shape[1], np.inf) for seen, _ in minds]
    high = [-each for each in low]
    terms, ends = np.zeros(len(episodes.term_names)), np.zeros(len(episodes.reason_names), int)
    for _ in range(TICKS):
        began = perf_counter()
        world.tick()
        busy += perf_counter() - began
        for i, (seen, reward) in enumerate(minds):
            digest.update(seen.value.tobytes() + reward.value.tobytes())
            np.minimum(low[i], seen.value.min(axis=0), out=low[i])
            np.maximum(high[i], seen.value.max(axis=0), out=high[i])
        if episodes.finished is not None:
            terms += episodes.finished.terms.sum(axis=1)
            ends += episodes.finished.reasons.sum(axis=1)
    terms += episodes.terms.sum(axis=1)
    several = len(specs) > 1
    names = [f"{p}/{name}" if several else name for p, spec in specs.items() for name in spec.observations]
    found = Findings(
        digest=digest.hexdigest(),
        seen=dict(zip(names, zip(*(np.concatenate(x).tolist() for x in (low, high)), strict=True), strict=True)),
        terms=dict(zip(episodes.term_names, (terms / (TICKS * arenas)).tolist(), strict=True)),
        ends=dict(zip(episodes.reason_names, ends.tolist(), strict=True)),
        explosions=world.one(Explosion).count,
        ticks_per_second=TICKS / busy,
    )
    world.close()
    return found


def random_chooser(spec: PolicySpec, random: np.random.Generator) -> ChooseAction:
    """Return a policy that knows nothing."""
    count = len(spec.actions.names)

    def choose(observation: NDArray[np.float32]) -> NDArray[Any]:
        rows = len(observation)
        if isinstance(spec.actions, Discrete):
            return random.integers(0, count, rows)
        return random.uniform(-1.0, 1.0, (rows, count)).astype(np.float32)

    return choose


def as_json(scene: Scene, settings: TrainSettings, found: Findings, problems: list[str]) -> dict[str, Any]:
    """Return everything as plain JSON values."""
    return {
        "scene": settings.scene,
        "about": scene.about,
        "arenas": settings.arenas,
        "ticks": TICKS,
        "ok": not problems,
        "problems": problems,
        "deterministic": not any("same seed" in problem for problem in problems),
        "explosions": found.explosions,
        "observations": found.seen,
        "reward_per_tick": found.terms,
        "ends": found.ends,
        "ticks_per_second": found.ticks_per_second,
        "steps_per_second": found.ticks_per_second * settings.arenas,
    }


def report(facts: dict[str, Any]) -> list[str]:
    """Return the lines of the report."""
    lines = [
        f"{facts['scene']}: {facts['about']}",
        f"{facts['ticks']} ticks of {facts['arenas']} arenas, random actions: "
        f"{facts['ticks_per_second']:,.0f} ticks/s, {facts['steps_per_second']:,.0f} steps/s",
        f"same seed, same numbers: {'yes' if facts['deterministic'] else 'NO'}; explosions: {facts['explosions']}",
        "sees (lowest to highest):",
    ]
    lines += [f"  {name:24} {low:10.3f} {high:10.3f}" for name, (low, high) in facts["observations"].items()]
    lines += ["earns (mean per tick):"]
    lines += [f"  {name:24} {mean:10.4f}" for name, mean in facts["reward_per_tick"].items()]
    lines += ["episodes ended by:"]
    lines += [f"  {name:24} {times:10}" for name, times in facts["ends"].items()]
    return lines
