"""The last words of a training: a sentence for people, and with `--json` one object for programs."""

from __future__ import annotations

import json
from typing import Any, TextIO

from ecs_rl.cli.called import typed
from ecs_rl.cli.command_settings import TrainSettings
from ecs_rl.console import deliver, number, tell
from ecs_rl.runs import TrainingRun
from ecs_rl.training.self_play import SelfPlay
from ecs_rl.training.training import Training


def summary(training: Training, record: TrainingRun, settings: TrainSettings) -> dict[str, Any]:
    """Return the JSON object of `--json`."""
    session, evaluation = training.session, training.evaluation
    trend = evaluation.trend
    own = {name: {"return": value, "step": trend.own_step[name]} for name, value in trend.own_best.items()}
    return {
        "run": str(record.path),
        "scene": settings.scene,
        "agent": settings.agent,
        "seed": settings.seed,
        "arenas": settings.arenas,
        "status": record.metadata.status,
        "steps": session.total_steps,
        "episodes": session.total_episodes,
        "seconds": training.seconds,
        "steps_per_second": session.total_steps / training.seconds if training.seconds else 0.0,
        "seconds_in": training.world.seconds_in,
        **({} if training.together is None else training.together.group.spent()),
        "best_eval": session.best_eval,
        "best_step": session.best_step,
        "solved_step": evaluation.solved_step,
        "solved_second": evaluation.solved_second,
        "finding": training.finding.name if training.finding is not None else None,
        "params_sha256": session.agent.parameters_sha256(),
        **({"best_returns": own} if own else {}),
        **({"lessons": training.lessons.summary()} if training.lessons.parts else {}),
        **({"elo": session.agent.elo} if isinstance(session.agent, SelfPlay) else {}),
    }


def say_how_it_went(training: Training, record: TrainingRun, settings: TrainSettings, stream: TextIO) -> None:
    """Print the last words: a sentence for people, and with `--json` one line for programs."""
    result = summary(training, record, settings)
    score = "Elo" if "elo" in result else "score" if training.world.scene.score else "evaluation"
    best = "no evaluation yet" if result["best_eval"] is None else f"best {score} {number(result['best_eval'])}"
    solved = "" if result["solved_second"] is None else f", solved after {result['solved_second']:.2f} s of training"
    collapsed = ", and the policy has collapsed since" if training.evaluation.trend.collapsed else ""
    tell(f"{result['status']}{why(training)} at step {result['steps']:,}: {best}{solved}{collapsed}", stream)
    tell(how_to_play(record), stream)
    if result["status"] == "interrupted":
        tell(f"go on: {typed('train')} {settings.scene} --resume {record.path}", stream)
    if settings.json:
        deliver(json.dumps(result))


def what_is_used_up(training: Training, record: TrainingRun) -> str:
    """Return why a resumed run has nothing left to train, and which flag gives it more."""
    session, settings = training.session, training.settings
    if training.solved_as_asked:
        return f"{record.path} is solved: leave --until-solved out to go on to its last step"
    if training.on_plateau:
        return f"{record.path} has had {settings.plateau} evaluations without a better one: give another --until"
    if training.out_of_time:
        return f"{record.path} has had its {settings.minutes:g} minutes: give more --minutes"
    more = f"--steps {2 * training.steps_total}"
    return f"{record.path} has all of its {session.total_steps:,} steps: give more, as in {more}"


def why(training: Training) -> str:
    """Return in brackets why a training is over before its steps are done, '' if it is not."""
    if training.stop or training.session.is_done or not training.complete:
        return ""
    if training.on_plateau:
        return f" (no better evaluation among the newest {training.settings.plateau})"
    return f" (after {training.settings.minutes:g} minutes of training)"


def how_to_play(record: TrainingRun) -> str:
    """Return the command that plays the run back, with a checkpoint that it has."""
    if record.best_checkpoint() is None and record.latest_checkpoint() is None:
        return "there is no checkpoint to play back"
    which = "" if record.best_checkpoint() else " --checkpoint latest"
    return f"play it back: {typed('play')} {record.path}{which}"
