"""A training put together: a scene's world, its agents, the session, the exam and the run, ready to tick."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from time import perf_counter
from typing import TYPE_CHECKING

from ecs_rl.agents.base import ActMode, Agent
from ecs_rl.agents.config import AgentConfig
from ecs_rl.agents.make import make_agent
from ecs_rl.agents.team import join
from ecs_rl.components import Exam, Journal, Session, Trail
from ecs_rl.components.mind import ChooseAction
from ecs_rl.evaluation import SEED, play_slices
from ecs_rl.resume import surroundings
from ecs_rl.scene.arena import Scene
from ecs_rl.schedule import TRAINING
from ecs_rl.session import TrainingSession
from ecs_rl.world import World, policy_specs

if TYPE_CHECKING:
    from ecs_rl.runs import TrainingRun

BETWEEN_POLICIES = 1_000_003
"""So that the second policy of one seed is not the first of the next."""
METRIC_ROWS = 400
"""About so many rows of metrics in a run of any length."""


def make_agents(
    scene: Scene, name: str, config: AgentConfig, *, arenas: int, seed: int, threads: int = 1
) -> dict[str, Agent]:
    """Return a new agent for every policy of a scene."""
    arena = scene.describe()
    seats = {policy: sum(plan.policy == policy for plan in arena.agents) for policy in policy_specs(arena)}
    return {
        policy: make_agent(
            name, spec, config, seed=seed + i * BETWEEN_POLICIES, rows=arenas * seats[policy], threads=threads
        )
        for i, (policy, spec) in enumerate(policy_specs(arena).items())
    }


def choosers(agents: Mapping[str, Agent], mode: ActMode) -> dict[str, ChooseAction]:
    """Return the agents as functions from observations to actions."""
    return {policy: partial(agent.act, mode=mode) for policy, agent in agents.items()}


@dataclass
class Training:
    """All that a training is made of: whoever runs it ticks until it is `done`."""

    world: World
    session: TrainingSession
    agents: dict[str, Agent]
    exam: Exam
    journal: Journal
    until_solved: bool = False
    stop: str = ""
    """Why to stop after the present tick; empty goes on."""
    seconds: float = field(default=0.0, init=False)
    """From the first tick to the last, evaluation and writing included."""

    def write_to(self, run: TrainingRun) -> None:
        """Write this training to a run from now on."""
        self.session.with_run(run).with_surroundings(partial(surroundings, self))
        self.world.anchor()

    def tick(self) -> None:
        """Run one tick."""
        if not self.journal.began:
            self.journal.began = perf_counter()
        self.world.tick()
        self.seconds = perf_counter() - self.journal.began

    def slices(self) -> Iterator[None]:
        """Run one tick in slices: between two of them a window may draw, and other worlds may run."""
        if not self.journal.began:
            self.journal.began = perf_counter()
        yield from self.world.slices()
        self.seconds = perf_counter() - self.journal.began

    @property
    def solved(self) -> bool:
        """Whether an evaluation has reached the scene's `solved_at`."""
        return self.exam.solved_step is not None

    @property
    def done(self) -> bool:
        """Whether there is nothing more to do."""
        return bool(self.stop) or self.session.is_done or (self.until_solved and self.solved)

    @property
    def status(self) -> str:
        """`solved`, `finished` or `interrupted`: what the present state would be called."""
        if self.until_solved and self.solved:
            return "solved"
        return "finished" if self.session.is_done else "interrupted"

    def close(self, status: str | None = None) -> None:
        """Save what there is and give everything back."""
        try:
            self.session.close(status or self.status)
        finally:
            self.world.close()


def prepare(
    scene: Scene,
    agent: str,
    config: AgentConfig,
    *,
    arenas: int,
    steps: int,
    schedule_steps: int | None = None,
    seed: int = 0,
    threads: int = 1,
    eval_every: int = 25_000,
    eval_episodes: int = 20,
    checkpoint_every: int | None = None,
    keep: int = 3,
    until_solved: bool = False,
    run: TrainingRun | None = None,
    debug: bool = False,
) -> Training:
    """Return a training that is ready for its first tick; without a run nothing is written."""
    agents = make_agents(scene, agent, config, arenas=arenas, seed=seed, threads=threads)
    session = TrainingSession(join(list(agents.values()))).with_max_steps(steps)
    if schedule_steps is not None:
        session.with_schedule(schedule_steps)
    if checkpoint_every is not None:
        session.with_checkpoint_every(checkpoint_every).with_keep_checkpoints(keep)
    seeds = tuple(range(SEED, SEED + eval_episodes))
    play = partial(play_slices, scene, choosers(agents, ActMode.GREEDY))
    exam = Exam(eval_every, seeds, play, scene.solved_at)
    journal = Journal(max(1, (schedule_steps or steps) // METRIC_ROWS), 0.0)
    world = World(
        scene,
        arenas=arenas,
        seed=seed,
        threads=threads,
        policies=choosers(agents, ActMode.EXPLORE),
        stages=TRAINING,
        session=Session(session),
        resources=(exam, journal, Trail({})),
        debug=debug,
    )
    training = Training(world, session, agents, exam, journal, until_solved)
    if run is not None:
        training.write_to(run)
    return training
