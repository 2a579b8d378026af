"""`play.py`: read the command, find the checkpoints that are meant, and play them."""

from __future__ import annotations

import signal
from collections.abc import Sequence
from pathlib import Path

from ecs_rl.cli.called import asks_for_version, versions_in_words
from ecs_rl.cli.command_settings import RANDOM, PlaySettings
from ecs_rl.cli.parse import parse_play
from ecs_rl.cli.process import Answer, carry_out
from ecs_rl.console import deliver
from ecs_rl.errors import CheckpointError, CommandError


def main(argv: Sequence[str]) -> int:
    """Run `play.py` with these arguments and return its exit code."""

    def command(answer: Answer) -> int:
        if asks_for_version(argv):
            deliver(versions_in_words())
            return 0
        return run(parse_play(argv), answer)

    return carry_out("play", "interrupted", command)


def interrupt(number: signal.Signals) -> None:
    """Let every signal do what Ctrl-C does: half a film must not stay behind."""
    raise KeyboardInterrupt


def run(settings: PlaySettings, answer: Answer) -> int:
    """Carry out the command."""
    if settings.list:
        from ecs_rl.cli.listing import list_all

        return list_all(settings)
    if settings.export is not None:
        from ecs_rl.tasks.export import export

        return export(settings)
    answer.first = interrupt
    if (settings.target or "").endswith(".episode"):
        from ecs_rl.tasks.episodes import play_episode

        return play_episode(settings)
    return play(settings)


def play(settings: PlaySettings) -> int:
    """Play what is asked for, in the way that is asked for; the pilots where nothing is, and there is no run."""
    if settings.save_demo is not None and not settings.human:
        raise CommandError("--save-demo keeps what a person does: add --human")
    if settings.minari and settings.save_data is None:
        raise CommandError("--minari writes what --save-data records: add --save-data FILE")
    if settings.save_data is not None and settings.compare:
        raise CommandError("--save-data records one policy: leave --compare out")
    if settings.save_data is not None and settings.save_demo is not None:
        raise CommandError(
            "--save-demo and --save-data write the same file of what a person does: leave one of them out"
        )
    if settings.minari and settings.human:
        raise CommandError("--minari writes what a policy does: leave --human out")
    if settings.human:
        from ecs_rl.tasks.play_human import play_human

        return play_human(settings)
    paths: list[Path] = []
    no_run: CheckpointError | None = None
    if settings.checkpoint != RANDOM:
        from ecs_rl.cli.target import checkpoints_meant
        from ecs_rl.runs import NoRunError

        try:
            settings, paths = checkpoints_meant(settings)
        except NoRunError as error:
            if not asks_for_nothing(settings):
                raise
            no_run = error
    from ecs_rl.tasks import offer_pilots, play_checkpoints

    if settings.checkpoint == RANDOM:
        return play_checkpoints.play_at_random(settings)
    return play_checkpoints.play(settings, paths) if no_run is None else offer_pilots.offer(settings, no_run)


def asks_for_nothing(settings: PlaySettings) -> bool:
    """Return whether a command leaves open what is played."""
    named = (settings.target, settings.compare, settings.record, settings.against, settings.scene, settings.agent)
    return not any(named) and settings.checkpoint == "best"
