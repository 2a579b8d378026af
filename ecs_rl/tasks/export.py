"""`play.py RUN --export FILE.onnx`: a trained policy as a file that other programs run."""

from __future__ import annotations

import json

from ecs_rl.cli.command_settings import PlaySettings
from ecs_rl.cli.target import checkpoint_meant
from ecs_rl.console import deliver
from ecs_rl.errors import CommandError
from ecs_rl.pilots.onnx_file import write_onnx
from ecs_rl.pilots.source import saved_policies


def export(settings: PlaySettings) -> int:
    """Write the policies of the checkpoint that is meant, and tell what was written."""
    for name in ("compare", "record", "against", "headless"):
        if getattr(settings, name):
            raise CommandError(f"--export plays nothing: leave out --{name}, or --export")
    assert settings.export is not None
    path = checkpoint_meant(settings)
    policies = saved_policies(path)
    write_onnx(policies, settings.export)
    if settings.json:
        names = [saved.spec.name for saved in policies]
        summary = {"checkpoint": str(path), "step": policies[0].step, "export": str(settings.export), "policies": names}
        deliver(json.dumps(summary))
        return 0
    for saved in policies:
        who = f"{saved.spec.name}, " if len(policies) > 1 else ""
        sees, does = len(saved.spec.observations), ", ".join(saved.spec.actions.names)
        deliver(f"written: {settings.export}: {who}{sees} numbers to {does}")
    return 0
