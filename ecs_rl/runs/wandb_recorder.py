"""W&B as a recorder: offline, in the folder `wandb` of a run, until `wandb sync` takes it up; or as WANDB_MODE says.

The id follows from the run directory, and each file holds all rows from the first on: the newest one is the whole run.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping, Sequence
from typing import Any

from ecs_rl.errors import CommandError, install
from ecs_rl.runs.recorders import RunFacts

PROJECT = "ecs_rl"


class WandbRecorder:
    """One W&B run for each run directory."""

    def __init__(self) -> None:
        try:
            import wandb
        except ImportError as error:
            raise CommandError(f"--recorder wandb needs W&B: {install('wandb')}") from error
        self._wandb = wandb
        self._run: Any = None

    def begin(self, facts: RunFacts) -> int:
        """Begin a file for the W&B run of this directory; it has no rows yet."""
        identity = hashlib.sha256(f"{facts.run_id} {facts.started_at} {facts.seed}".encode()).hexdigest()
        self._run = self._wandb.init(
            project=os.environ.get("WANDB_PROJECT") or PROJECT,
            mode=os.environ.get("WANDB_MODE") or "offline",
            id=identity[:16],
            name=facts.run_id,
            group=facts.name,
            dir=str(facts.path),
            config={"seed": facts.seed, **facts.settings},
            resume="allow",
            reinit="create_new",
            settings=self._wandb.Settings(console="off", silent=True, disable_git=True, save_code=False),
        )
        return -1

    def record(self, step: int, seconds: float, metrics: Mapping[str, float]) -> None:
        """Take one row."""
        self._run.log({**metrics, "seconds": seconds}, step=step)

    def finish(self, status: str, table: Mapping[str, Any], episodes: Sequence[Mapping[str, Any]]) -> None:
        """Keep what it came to in the summary, the last evaluation as a table, and close the file."""
        self._run.summary.update({f"final/{name}": value for name, value in table.items() if value is not None})
        if episodes:
            columns = list(episodes[0])
            rows = [[each.get(name) for name in columns] for each in episodes]
            self._run.log({"last_evaluation": self._wandb.Table(columns=columns, data=rows)})
        self._run.finish(exit_code=1 if status in ("failed", "diverged") else 0)
