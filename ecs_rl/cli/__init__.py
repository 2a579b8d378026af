"""The command line: flags, files of settings, `--help`, and what can be refused before torch is loaded.

Nothing here imports torch or pygame. `ecs_rl/commands/` reads a command with it and carries it out.
"""
