"""MLflow as a recorder: a local file store beside the runs, or where MLFLOW_TRACKING_URI says."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ecs_rl.errors import CommandError, install
from ecs_rl.runs.recorders import RunFacts

FOLDER = ".mlflow"
"""In the folder of all runs, where no run has such a name."""
TAG = "ecs_rl.run"
"""Says which run directory it is, by its name and the time at which it was started."""
MOST_AT_ONCE = 100
LONGEST = 500


class MlflowRecorder:
    """One MLflow run for each run directory, found again by its tag, in the experiment of the run's name."""

    def __init__(self) -> None:
        # The newest MLflow wants to be asked twice before it keeps runs in files.
        os.environ.setdefault("MLFLOW_ALLOW_FILE_STORE", "true")
        try:
            from mlflow import entities, tracking
        except ImportError as error:
            raise CommandError(f"--recorder mlflow needs MLflow: {install('mlflow')}") from error
        self._entities, self._tracking = entities, tracking
        self._client: Any = None
        self._run, self._last = "", 0

    def begin(self, facts: RunFacts) -> int:
        """Begin the MLflow run, or go on with it, and return the last step that it has."""
        store = (facts.path.resolve().parents[2] / FOLDER).as_uri()
        self._client = self._tracking.MlflowClient(os.environ.get("MLFLOW_TRACKING_URI") or store)
        experiment = self._client.get_experiment_by_name(facts.name)
        number = experiment.experiment_id if experiment else self._client.create_experiment(facts.name)
        identity = f"{facts.run_id} {facts.started_at}"
        runs = self._client.search_runs([number], f"tags.`{TAG}` = '{identity}'")
        if runs:
            self._run = runs[0].info.run_id
            self._client.update_run(self._run, status="RUNNING")
        else:
            tags = {TAG: identity, "path": str(facts.path), "scene": facts.scene, "agent": facts.agent}
            self._run = self._client.create_run(number, run_name=facts.run_id, tags=tags).info.run_id
        self._settle(facts)
        names = self._client.get_run(self._run).data.metrics
        steps = (point.step for name in names for point in self._client.get_metric_history(self._run, name))
        self._last = max(steps, default=-1)
        return self._last

    def _settle(self, facts: RunFacts) -> None:
        """Note the settings; one that a resume has changed cannot be changed there, and becomes a tag."""
        before = self._client.get_run(self._run).data.params
        now = {name: str(value)[:LONGEST] for name, value in flat({"seed": facts.seed, **facts.settings})}
        fresh = [self._entities.Param(name, value) for name, value in now.items() if name not in before]
        for first in range(0, len(fresh), MOST_AT_ONCE):
            self._client.log_batch(self._run, params=fresh[first : first + MOST_AT_ONCE])
        for name, value in now.items():
            if before.get(name, value) != value:
                self._client.set_tag(self._run, name, value)

    def record(self, step: int, seconds: float, metrics: Mapping[str, float]) -> None:
        """Take one row; its time is that of the training, in milliseconds since it began."""
        milliseconds, self._last = int(1000 * seconds), step
        points = [self._entities.Metric(name, value, milliseconds, step) for name, value in metrics.items()]
        self._client.log_batch(self._run, metrics=points)

    def finish(self, status: str, table: Mapping[str, Any], episodes: Sequence[Mapping[str, Any]]) -> None:
        """Keep what it came to as `final.json` and tags, the last evaluation as a table, and close the MLflow run."""
        self._client.log_dict(self._run, dict(table), "final.json")
        for name, value in table.items():
            if isinstance(value, str | int | float):
                self._client.set_tag(self._run, f"final.{name}", str(value))
        if episodes:
            columns = list(episodes[0])
            rows = [[each.get(name) for name in columns] for each in episodes]
            self._client.log_dict(self._run, {"columns": columns, "data": rows}, "last_evaluation.json")
        bad = status in ("failed", "diverged")
        self._client.set_terminated(self._run, "FAILED" if bad else "KILLED" if status == "interrupted" else "FINISHED")


def flat(settings: Mapping[str, Any], start: str = "") -> Iterator[tuple[str, Any]]:
    """Yield each setting by its full name: `ppo.lr`."""
    for name, value in settings.items():
        if isinstance(value, Mapping):
            yield from flat(value, f"{start}{name}.")
        else:
            yield f"{start}{name}", value
