"""What a sweep cannot be, told before torch is loaded."""

from __future__ import annotations

from importlib.util import find_spec

from ecs_rl.cli.command_settings import TrainSettings
from ecs_rl.errors import CommandError, install
from ecs_rl.many.ranges import parse_ranges


def refuse_what_does_not_fit(settings: TrainSettings) -> None:
    """Refuse what makes no sense for many trainings, each in one sentence."""
    if not settings.sweep:
        flag = "--population" if settings.population else "--trials"
        raise CommandError(f"{flag} is for --sweep: name what varies, as in --sweep ppo.lr=1e-4..1e-2:log")
    parse_ranges(settings.sweep, settings)
    reasons = {
        "--watch: it shows one training": settings.watch,
        "--check: it trains nothing": settings.check,
        "--workers: each trial is a process of its own": settings.workers > 1,
        "--self-play without --against: its Elo compares within one training": settings.self_play
        and not settings.against,
        f"--ray {settings.ray}: start it on a machine of the cluster, with --ray auto": settings.ray.startswith("ray:"),
    }
    for reason, holds in reasons.items():
        if holds:
            raise CommandError(f"--sweep cannot be used with {reason}; leave one of them out")
    if settings.ray and find_spec("ray") is None:
        raise CommandError(f"--ray needs ray: {install('ray')}, or leave --ray out")
