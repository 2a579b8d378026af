"""What a launcher says of the group of a process: by environment variables, as torchrun and Slurm do. No torch here."""

from __future__ import annotations

from collections.abc import Mapping

from ecs_rl.errors import CommandError

JOINING = "joining"
"""The name of the thread in which a process waits for all others to come."""
MEETING = "ECS_RL_MEETING"
"""The variable that says where processes of this machine meet: `file:///...`, which opens no port."""


def place_in_group(environment: Mapping[str, str]) -> tuple[int, int] | None:
    """Return the rank and the number of processes that a launcher has set in the environment, None without one."""
    if "RANK" not in environment or "WORLD_SIZE" not in environment:
        return None
    try:
        rank, size = int(environment["RANK"]), int(environment["WORLD_SIZE"])
    except ValueError:
        rank, size = -1, 0
    if not 0 <= rank < size:
        given = f"RANK={environment['RANK']} WORLD_SIZE={environment['WORLD_SIZE']}"
        raise CommandError(f"{given}: a launcher sets a rank from 0 and a larger number of processes")
    return rank, size


def check_shares(arenas: int, size: int) -> None:
    """Refuse arenas that so many processes cannot share out evenly."""
    if arenas % size:
        fitting = size * max(1, round(arenas / size))
        problem = f"{arenas} arenas cannot be shared out evenly among {size} processes"
        raise CommandError(f"--workers {size}: {problem}: take --arenas {fitting}")
