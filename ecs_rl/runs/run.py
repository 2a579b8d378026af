"""The run directory as an object: the only thing in the project that writes to disk while training."""

from __future__ import annotations

import re
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from ecs_rl.errors import CheckpointError, CommandError
from ecs_rl.runs.checkpoint import encode_checkpoint
from ecs_rl.runs.files import write_atomically, write_json, writing
from ecs_rl.runs.find import find_run
from ecs_rl.runs.layout import CHECKPOINTS, new_run_directory, step_checkpoints
from ecs_rl.runs.manifest import Manifest
from ecs_rl.runs.metadata import Metadata, iso, library_versions, now, read_metadata
from ecs_rl.runs.rows import EvalEpisode, JsonLines, Status, TrainEpisode, metrics_row

if TYPE_CHECKING:
    from ecs_rl.agents.base import State


class TrainingRun:
    """One training run on disk: metadata, config, checkpoints and logs. Open it with `create` or `resume`."""

    def __init__(self, path: Path, metadata: Metadata) -> None:
        self.path = path
        self._metadata = metadata
        self._config: dict[str, Any] | None = None
        self._train = JsonLines(path / "train_episodes.jsonl")
        self._eval = JsonLines(path / "eval_episodes.jsonl")
        self._metrics = JsonLines(path / "metrics.jsonl")

    @classmethod
    def create(
        cls,
        name: str,
        version: str = "v1",
        runs_dir: str | Path = "runs",
        *,
        scene: str = "",
        agent: str = "",
        seed: int = 0,
    ) -> TrainingRun:
        """Start a new run in a directory of its own, however many start in the same second."""
        started = now()
        path = new_run_directory(Path(runs_dir), name, version, started)
        metadata = Metadata(
            name=name,
            version=version,
            run_id=f"{name}/{version}/{path.name}",
            scene=scene,
            agent=agent,
            seed=seed,
            started_at=iso(started),
            last_updated=iso(started),
            versions=library_versions(),
        )
        write_json(path / "metadata.json", metadata)
        return cls(path, metadata)

    @classmethod
    def resume(cls, run: str | Path | None = None, runs_dir: str | Path = "runs") -> TrainingRun:
        """Open an existing run (a path, `name/version`, `name`, or the newest) to append to it.

        A run without a checkpoint is taken only if there is no other; what was passed over is told by `warnings`.
        """
        found = find_run(run, runs_dir, needs_checkpoint=False)
        for skipped in found.skipped:
            warnings.warn(skipped, stacklevel=2)
        metadata = read_metadata(found.path)
        checkpoints = found.path / CHECKPOINTS
        if checkpoints.resolve() != found.path.resolve() / CHECKPOINTS:
            raise CheckpointError(f"{checkpoints} is a link that leaves the run; make it a plain directory")
        with writing(checkpoints):
            checkpoints.mkdir(exist_ok=True)
        opened = cls(found.path, metadata)
        opened.update_metadata(status="running")
        return opened

    @property
    def metadata(self) -> Metadata:
        """The content of metadata.json as last written."""
        return self._metadata

    @property
    def config(self) -> dict[str, Any]:
        """The content of config.json as last written, empty if there is none."""
        if self._config is None:
            self._config = read_config(self.path / "config.json")
        return self._config

    def write_config(self, config: Any) -> None:
        """Replace config.json by every resolved setting: a mapping, or a (nested) dataclass."""
        write_json(self.path / "config.json", config)
        self._config = None

    def update_metadata(self, **changes: Any) -> None:
        """Flush the logs, then replace metadata.json with these fields changed and the time renewed."""
        self.flush()
        changed = msgspec.structs.replace(self._metadata, **changes, last_updated=iso(now()))
        write_json(self.path / "metadata.json", changed)
        self._metadata = changed

    def checkpoint_path(self, which: int | Literal["best", "latest"]) -> Path:
        """Return where the checkpoint of a step, the best or the latest is, whether or not it exists."""
        stem = which if isinstance(which, str) else f"step_{which}"
        if not re.fullmatch(r"best|latest|step_[0-9]+", stem):
            raise CommandError(f"there is no checkpoint '{which}'; use best, latest or a step")
        return self.path / CHECKPOINTS / f"{stem}.safetensors"

    def latest_checkpoint(self) -> Path | None:
        """Return the newest checkpoint there is, or None."""
        latest = self.checkpoint_path("latest")
        if latest.is_file():
            return latest
        steps = step_checkpoints(self.path)
        return steps[max(steps)] if steps else None

    def best_checkpoint(self) -> Path | None:
        """Return the checkpoint of the best greedy evaluation, or None before the first."""
        best = self.checkpoint_path("best")
        return best if best.is_file() else None

    def save_checkpoint(self, tensors: State, manifest: Manifest) -> Path:
        """Write `step_<N>` and then `latest`, each a file of its own so that damage to one spares the other."""
        self.flush()
        data = encode_checkpoint(tensors, manifest)
        path = self.checkpoint_path(manifest.step)
        write_atomically(path, data)
        write_atomically(self.checkpoint_path("latest"), data)
        return path

    def save_best(self, tensors: State, manifest: Manifest) -> Path:
        """Write `best`; whether it is better is the caller's to know."""
        self.flush()
        path = self.checkpoint_path("best")
        write_atomically(path, encode_checkpoint(tensors, manifest))
        return path

    def prune_checkpoints(self, keep: int) -> list[Path]:
        """Delete all but the newest `keep` step checkpoints and return what went; best and latest always stay."""
        if keep < 0:
            raise CommandError(f"--keep is {keep}; use 0 or more")
        steps = step_checkpoints(self.path)
        old = [steps[step] for step in sorted(steps)[: max(0, len(steps) - keep)]]
        # What a killed writer left behind; its own next write would only clear the same name.
        stale = list((self.path / CHECKPOINTS).glob(".step_*.safetensors.tmp"))
        for path in old + stale:
            with writing(path):
                path.unlink(missing_ok=True)
        return old

    def log_train_episode(
        self, total_steps: int, total_reward: float, length: int, status: Status, extras: Mapping[str, float]
    ) -> None:
        """Add one training episode to train_episodes.jsonl."""
        self._train.append(TrainEpisode(total_steps, total_reward, length, status, extras))

    def log_train_episodes(self, rows: Sequence[TrainEpisode]) -> None:
        """Add many training episodes in one go: the cheap way when thousands end each second."""
        self._train.extend(rows)

    def log_eval_episode(
        self,
        total_steps: int,
        total_reward: float,
        length: int,
        status: Status,
        extras: Mapping[str, float],
        *,
        total_steps_at_eval: int,
        seed: int | None = None,
    ) -> None:
        """Add one evaluation episode to eval_episodes.jsonl."""
        self._eval.append(
            EvalEpisode(total_steps, total_reward, length, status, extras, total_steps_at_eval, seed),
        )

    def log_metrics(self, total_steps: int, seconds: float, metrics: Mapping[str, float]) -> None:
        """Add one line to metrics.jsonl; keys start with rollout/, eval/, train/, time/ or env/."""
        self._metrics.append(metrics_row(total_steps, seconds, metrics))

    def flush(self, *, sync: bool = False) -> dict[str, int]:
        """Hand all buffered rows to the system, with `sync` to the disk; return how long each log is now, in bytes."""
        return {log.path.name: log.flush(sync=sync) for log in (self._train, self._eval, self._metrics)}

    def cut_logs(self, lengths: Mapping[str, int]) -> None:
        """Cut the logs back to where a checkpoint left them: the rows after it are written again."""
        for log in (self._train, self._eval, self._metrics):
            log.cut(lengths.get(log.path.name, 0))

    def close(self) -> None:
        """Flush and close the logs; a second call does nothing."""
        for log in (self._train, self._eval, self._metrics):
            log.close()


def read_config(path: Path) -> dict[str, Any]:
    """Return the settings in a config.json, none if there is no such file."""
    if not path.exists():
        return {}
    try:
        return msgspec.json.decode(path.read_bytes(), type=dict[str, Any])
    except (OSError, msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise CheckpointError(f"cannot read {path}: {error}; restore it or choose another run") from error
