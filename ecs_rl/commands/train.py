"""`train.py`: read the command, refuse what can be refused at once, and carry out the rest."""

from __future__ import annotations

import os
from collections.abc import Sequence

from ecs_rl.cli.called import asks_for_version, versions_in_words
from ecs_rl.cli.parse import Recipes, asks_for_help, print_train_help, refuse_what_is_no_text
from ecs_rl.cli.process import NOTHING_SAVED, Answer, carry_out
from ecs_rl.console import deliver
from ecs_rl.distributed.place import place_in_group
from ecs_rl.many.refusals import refuse_what_does_not_fit


def main(argv: Sequence[str]) -> int:
    """Run `train.py` with these arguments and return its exit code."""

    def command(answer: Answer) -> int:
        if asks_for_version(argv):
            deliver(versions_in_words())
            return 0
        refuse_what_is_no_text(argv)
        if asks_for_help(argv):
            print_train_help(argv, recipes_of)
        return carry_out_training(argv, answer)

    return carry_out("train", NOTHING_SAVED, command)


def carry_out_training(argv: Sequence[str], answer: Answer) -> int:
    """Look up what the command names, and carry it out."""
    from ecs_rl.cli.plan import plan_in_group, plan_of, refuse_unreadable_files, refuse_what_is_not_shared

    os.environ.setdefault("TORCH_CPP_LOG_LEVEL", "FATAL")  # or frames of C++ surround the sentence that says it
    place = place_in_group(os.environ)
    if place is not None and place[0] > 0:
        from ecs_rl.tasks.workers import take_part

        return take_part(*place)
    plan = plan_of(argv) if place is None else plan_in_group(argv, place[1], os.environ)
    settings = plan.settings
    refuse_unreadable_files(settings)
    if settings.sweep or settings.trials or settings.population:
        refuse_what_does_not_fit(settings)
        from ecs_rl.many.sweep import run_sweep

        return run_sweep(argv, plan, answer)
    if settings.workers > 1 and not settings.check:
        refuse_what_is_not_shared(plan)
        from ecs_rl.tasks.workers import Launched, run_together, train_as_first

        return run_together(plan, answer) if place is None else train_as_first(plan, answer, Launched())
    if settings.seeds:
        from ecs_rl.many.seeds import run_seeds

        return run_seeds(argv, plan, answer)
    from ecs_rl.tasks.run_training import run

    return run(plan, answer)


def recipes_of(scene: str) -> Recipes:
    """Return what a scene suggests for its training."""
    from ecs_rl.cli import plan

    return plan.recipes_of(scene)
