"""Where the script `ecs-rl` of an installation from before `ecs_rl/cli/` finds its program."""

from ecs_rl.cli.main import main

__all__ = ["main"]
