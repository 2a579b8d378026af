"""The run behind a window."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ecs_rl.viewer.history import History
from ecs_rl.viewer.live.background import BackgroundTraining
from ecs_rl.viewer.live.playlist import CheckpointList


@dataclass
class WatchedRun:
    """A run's files, and the training that writes them if it goes on now."""

    folder: Path
    """Where films, pictures and episodes go."""
    name: str = ""
    """`""` without a run."""
    background: BackgroundTraining | None = None
    checkpoints: CheckpointList | None = None
    history: History | None = None

    @property
    def in_turbo(self) -> bool:
        """Whether its training hurries, and the window draws seldom."""
        return self.background is not None and self.background.turbo

    @property
    def untrained(self) -> Path | None:
        """The file of the policy before it had learned anything, if the run has it."""
        return None if self.checkpoints is None else self.checkpoints.untrained
