"""`train.py`: read the command, refuse what can be refused at once, and hand the rest to the app."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ecs_rl.cli.app import app
from ecs_rl.cli.called import asks_for_version, versions_in_words
from ecs_rl.cli.parse import asks_for_help, print_train_help, refuse_what_is_no_text
from ecs_rl.cli.process import NOTHING_SAVED, Answer, carry_out
from ecs_rl.cli.settings import TrainSettings
from ecs_rl.console import deliver


def main(argv: Sequence[str]) -> int:
    """Run `train.py` with these arguments and return its exit code."""

    def command(answer: Answer) -> int:
        if asks_for_version(argv):
            deliver(versions_in_words())
            return 0
        refuse_what_is_no_text(argv)
        if asks_for_help(argv):
            print_train_help(argv, lambda scene: _plans().recipes_of(scene))
        return carry_out_training(argv, answer)

    return carry_out("train", NOTHING_SAVED, command)


def _plans() -> Any:
    """Import what looks scenes and runs up, and numpy and pymunk with it: `--help` needs none."""
    return app("cli.plan")


def carry_out_training(argv: Sequence[str], answer: Answer) -> int:
    """Look up what the command names, and carry it out."""
    plans = _plans()
    plan = plans.plan_of(argv)
    settings: TrainSettings = plan.settings
    plans.refuse_unreadable_files(settings)
    code: int
    if settings.sweep or settings.trials or settings.population:
        app("many.refusals").refuse_what_does_not_fit(settings)
        code = app("many.sweep").run_sweep(argv, plan, answer)
    elif settings.workers > 1 and not settings.check:
        plans.refuse_what_is_not_shared(plan)
        code = app("commands.workers").run_together(plan, answer)
    elif settings.seeds:
        code = app("many.seeds").run_seeds(argv, plan, answer)
    else:
        code = app("commands.train").run(plan, answer)
    return code
