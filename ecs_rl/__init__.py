"""A game world you can watch learning: start reading at `ecs_rl/schedule.py`, the tick."""
