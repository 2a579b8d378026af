"""A training put together: a scene's world, its agents, the session, the evaluation and the run, ready to tick."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from ecs_rl.agents.base import Agent, Restartable
from ecs_rl.agents.config import AgentConfig
from ecs_rl.agents.make import Algorithm
from ecs_rl.callbacks import NOTHING, Callbacks, unchanged
from ecs_rl.components import ActionLog, Snapshots
from ecs_rl.errors import CommandError
from ecs_rl.scene.scene import Scene
from ecs_rl.schedule import TRAINING
from ecs_rl.session import TrainingSession
from ecs_rl.session.diagnosis import Diagnosis
from ecs_rl.spaces import ActMode
from ecs_rl.training.curriculum import Curriculum
from ecs_rl.training.evaluator import SEED, Evaluator
from ecs_rl.training.matches import Match, SelfPlaySettings
from ecs_rl.training.scene_agents import deciding, make_agents
from ecs_rl.training.settings import TrainingSettings
from ecs_rl.training.team import join
from ecs_rl.training.together import Together
from ecs_rl.training.training import FilmRecorder, Training
from ecs_rl.training_stages.resources import Evaluation, Films, MetricsSchedule, Session
from ecs_rl.worlds import make_world

if TYPE_CHECKING:
    from ecs_rl.runs import TrainingRun
    from ecs_rl.training.opponent import Opponent

METRIC_ROWS = 400
"""About so many rows of metrics in a run of any length."""


def metrics_schedule_of(
    scene: Scene, agents: Mapping[str, Agent], evaluation: Evaluation, settings: TrainingSettings
) -> MetricsSchedule:
    """Return when metrics are written, and what looks for trouble in them."""
    levers = sum(agent.spec.actions.levers for agent in agents.values())
    goal = partial(Diagnosis, settings.steps, solved_at=scene.solved_at, score=scene.score)
    diagnosis = goal(levers=levers, comparable=evaluation.comparable)
    return MetricsSchedule(max(1, settings.steps_of_schedules // METRIC_ROWS), 0.0, diagnosis=diagnosis)


def require_restartable(agents: Mapping[str, Agent]) -> None:
    """Refuse `--restore-best` for an agent that cannot go on from an earlier policy."""
    for agent in agents.values():
        if not isinstance(agent, Restartable):
            raise CommandError(f"--restore-best: {agent.name} cannot go on from an earlier policy: leave it out")


def session_of(agent: Agent, scene: Scene, settings: TrainingSettings) -> TrainingSession:
    """Return the session of an agent."""
    session = TrainingSession(agent).with_score(scene.score).with_max_steps(settings.steps)
    session.with_schedule(settings.steps_of_schedules).with_checkpoint_every(settings.checkpoint_every)
    return session.with_keep_checkpoints(settings.keep)


def evaluation_of(scene: Scene, settings: TrainingSettings, opponent: Opponent | None) -> Evaluation:
    """Return when a training is evaluated, and on which seeds."""
    seeds, comparable = tuple(range(SEED, SEED + settings.eval_episodes)), bool(scene.score or opponent)
    return Evaluation(settings.eval_every, seeds, scene.solved_at, comparable, restores=settings.restore_best)


def callbacks_of(
    evaluator: Evaluator,
    lessons: Curriculum,
    match: Match | None,
    together: Together | None,
    film: Callable[[int], Iterator[None]],
) -> Callbacks:
    """Return what the stages of a training call."""
    meetings = NOTHING if together is None else together.callbacks
    return replace(
        meetings,
        note=unchanged if match is None else match.note,
        rate=unchanged if match is None else match.rate,
        teach=lessons.take,
        evaluate=evaluator.play if together is None else partial(together.evaluate, evaluator),
        film=film,
        lesson_metrics=lessons.metrics,
    )


def prepare(
    scene: Scene,
    agent: str | Algorithm,
    config: AgentConfig,
    settings: TrainingSettings,
    *,
    filming: FilmRecorder | None = None,
    opponent: Opponent | None = None,
    self_play: SelfPlaySettings | None = None,
    run: TrainingRun | None = None,
    debug: bool = False,
    together: Together | None = None,
) -> Training:
    """Return a training that is ready for its first tick; without a run nothing is written.

    The `opponent` plays in evaluations only. With `together` it is the share of one process, and the first one has
    the run.
    """
    seed, threads = settings.seed, settings.threads or 1
    group, arenas = (None, settings.arenas) if together is None else (together.group, together.arenas)
    own: dict[str, Any] = {"arenas": arenas, "seed": seed, "threads": threads, "group": group}
    players = None if self_play is None else self_play.players(scene, agent, config, **own)
    agents = players.agents if players else make_agents(scene, agent, config, **own)
    require_restartable(agents if settings.restore_best else {})
    learner = players or join(list(agents.values()))
    session = session_of(learner, scene, settings)
    greedy = deciding(agents, ActMode.GREEDY) if together is None else together.greedy(agents)
    evaluator = Evaluator(scene, greedy, opponent)
    evaluation = evaluation_of(scene, settings, opponent)
    metrics_schedule = metrics_schedule_of(scene, agents, evaluation, settings)
    films = Films(filming.every, filming.milestones(settings.steps)) if filming else None
    lessons, match = Curriculum(), None if players is None or self_play is None else Match(players, self_play)

    def film(step: int) -> Iterator[None]:
        return training.film(step)  # made below, before the first tick

    world = make_world(
        scene,
        **({"arenas": settings.arenas} if together is None else together.settings_of_world),
        seed=seed,
        threads=threads,
        policies=deciding(agents, ActMode.EXPLORE),
        stages=TRAINING if films is None else (*TRAINING, "film"),
        resources=(Session(session), evaluation, metrics_schedule, ActionLog(), Snapshots(), films),
        callbacks=callbacks_of(evaluator, lessons, match, together, film),
        debug=debug,
    )
    parts = settings, world, session, agents, evaluation, metrics_schedule, evaluator, lessons, match
    training = Training(*parts, films, filming, together=together)
    return training if run is None else training.write_to(run)
