"""The only place that knows pymunk: spaces, shards of arenas, columns in and out."""

from ecs_rl.errors import CommandError

if not __debug__:  # pymunk's own checks are asserts; without them a bad number ends the process
    raise CommandError("python -O switches off the checks of the physics: run without -O")
