"""A game world you can watch learning: start reading at `ecs_rl/schedule.py`, the tick.

`load` brings a trained policy into a loop of your own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from ecs_rl.pilots.pilot import Pilot

__all__ = ["load"]


def load(
    source: str | Path,
    backend: str = "torch",
    *,
    policy: str = "",
    checkpoint: str | int = "best",
    runs: str | Path = "runs",
    seed: int = 0,
) -> Pilot:
    """Return the pilot of a run, of a checkpoint file, or of a scene that comes with one: a policy that only acts.

    Nothing of the run is run, and no scene is needed: the checkpoint says what is seen and done. `backend="numpy"`
    needs numpy and no torch. `policy` chooses one of several by name, `checkpoint` is best, latest or a step, `runs`
    the folder of runs, and `seed` is for actions that are drawn.
    """
    from ecs_rl.pilots.pilot import load as load_pilot  # here: who imports the package waits for nothing

    return load_pilot(source, backend, policy=policy, checkpoint=checkpoint, runs=runs, seed=seed)
