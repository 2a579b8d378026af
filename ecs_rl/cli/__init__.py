"""The command line: flags, files of settings, `--help`, and what can be refused before torch is loaded.

Nothing here imports torch or pygame. `app` is the door to `ecs_rl/commands/`, which carries the commands out.
"""
