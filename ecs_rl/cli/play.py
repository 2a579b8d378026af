"""`play.py`: read the command, find the checkpoints that are meant, and hand the rest to the app."""

from __future__ import annotations

import signal
from collections.abc import Sequence

from ecs_rl.cli.app import app
from ecs_rl.cli.called import asks_for_version, versions_in_words
from ecs_rl.cli.parse import parse_play
from ecs_rl.cli.process import Answer, carry_out
from ecs_rl.cli.settings import PlaySettings
from ecs_rl.console import deliver
from ecs_rl.errors import CommandError


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
    code: int
    if settings.list:
        code = app("cli.listing").list_all(settings)  # it needs no torch, and `--help` needs no runs
    elif settings.export is not None:
        code = app("commands.export").export(settings)
    else:
        answer.first = interrupt
        is_episode = (settings.target or "").endswith(".episode")
        code = app("commands.episodes").play_episode(settings) if is_episode else play(settings)
    return code


def play(settings: PlaySettings) -> int:
    """Play what is asked for, in the way that is asked for; the pilots where nothing is, and there is no run."""
    from ecs_rl.cli.target import checkpoints_meant  # it looks into runs, and `--help` needs none
    from ecs_rl.runs import NoRunError

    if settings.save_demo is not None and not settings.human:
        raise CommandError("--save-demo keeps what a person does: add --human")
    code: int
    try:
        if settings.human:
            code = app("commands.human").play_human(settings)
            return code
        settings, paths = checkpoints_meant(settings)
    except NoRunError as none:
        if not asks_for_nothing(settings):
            raise
        code = app("commands.gallery").offer(settings, none)
    else:
        code = app("commands.playing").play(settings, paths)
    return code


def asks_for_nothing(settings: PlaySettings) -> bool:
    """Return whether a command leaves open what is played."""
    named = (settings.target, settings.compare, settings.record, settings.against, settings.scene, settings.agent)
    return not any(named) and settings.checkpoint == "best"
