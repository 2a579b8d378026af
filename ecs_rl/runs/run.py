"""The run directory as an object: the only thing in the project that writes to disk while training."""

from __future__ import annotations

import os
import re
import shutil
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from ecs_rl.errors import CheckpointError, CommandError, EcsRlError, StorageError
from ecs_rl.files import Folder, json_bytes, plain, read_json, writing
from ecs_rl.records import Status
from ecs_rl.runs.checkpoint import sealed_pieces
from ecs_rl.runs.layout import CHECKPOINTS, find_run, new_run_directory, sound_manifest, step_checkpoints
from ecs_rl.runs.lock import RunLock
from ecs_rl.runs.logs import METRIC_GROUPS, EvalEpisode, JsonLines, TrainEpisode
from ecs_rl.runs.manifest import Manifest
from ecs_rl.runs.metadata import Metadata, iso, now, read_metadata, versions_here
from ecs_rl.runs.recorders import LONG, SOON, Recorder, Recording, RunFacts, last_evaluation, stored_rows

if TYPE_CHECKING:
    from ecs_rl.agents.base import State

ENDING = ".safetensors"
EARLIER = ".earlier"
"""How a `best` is called from before the last evaluation of a run that came to its end; a resume brings it back."""


class TrainingRun:
    """One training run on disk, locked against a second writer: metadata, config, checkpoints and logs.

    Open it with `create` or `resume`. Everything goes into the directory that was opened, whatever is put in its place.
    Once the disk has refused something, or the run is not ours any more, nothing more is written: every further attempt
    raises that first `problem`, and `close` only gives the files and the lock back.
    """

    def __init__(self, path: Path, metadata: Metadata, lock: RunLock) -> None:
        self.path = path
        self.metadata = metadata
        """The content of metadata.json as last written."""
        self.config: dict[str, Any] = {}
        """The content of config.json as last written, empty if there is none."""
        self.scene_data: Mapping[str, str] | None = None
        """What is in the files that the scene opens below its folder, for checkpoints; None if it is not known."""
        self._lock = lock
        self._folder = lock.folder
        self._checkpoints = Folder(path / CHECKPOINTS, lock.folder)
        self._problem: EcsRlError | None = None
        self._saved_step: int | None = None
        self.recordings: list[Recording] = []
        """The recorders that hear of this run; the `problem` of one is told by it alone."""
        self._train, self._eval, self._metrics = self._rows = (
            JsonLines(path / "train_episodes.jsonl"),
            JsonLines(path / "eval_episodes.jsonl"),
            JsonLines(path / "metrics.jsonl"),
        )

    @classmethod
    def create(
        cls,
        name: str,
        version: str = "v1",
        runs_dir: str | Path = "runs",
        *,
        scene: str = "",
        scene_sha256: str = "",
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
            scene_sha256=scene_sha256,
            agent=agent,
            seed=seed,
            started_at=iso(started),
            last_updated=iso(started),
            versions=versions_here(),
        )
        with ExitStack() as undo:
            undo.callback(shutil.rmtree, path, ignore_errors=True)
            lock = RunLock(path)
            undo.callback(lock.release)
            opened = cls(path, metadata, lock)
            lock.folder.write("metadata.json", json_bytes(metadata))
            for folder in (path.parent, path.parent.parent, Path(runs_dir)):
                with writing(folder), closing(Folder(folder)) as above:
                    above.sync()
            undo.pop_all()
        return opened

    @classmethod
    def resume(cls, run: str | Path | None = None, runs_dir: str | Path = "runs") -> TrainingRun:
        """Open an existing run (a path, `name/version`, `name`, or the newest) to append to it.

        A run without a checkpoint is taken only if there is no other; what was passed over is told by `warnings`.
        CheckpointError if another process writes it.
        """
        found_run = find_run(run, runs_dir, needs_checkpoint=False)
        for skipped in found_run.skipped:
            warnings.warn(skipped, stacklevel=2)
        with ExitStack() as undo:
            lock = RunLock(found_run.path)
            undo.callback(lock.release)
            opened = cls(found_run.path, read_metadata(found_run.path), lock)
            for folder in (opened._folder, opened._checkpoints):
                folder.remove_leftovers()
            opened.config = settings_of(found_run.path)
            opened.update_metadata(status="running")
            undo.pop_all()
        return opened

    @property
    def problem(self) -> EcsRlError | None:
        """What the disk refused first, or who took the run away; None as long as all is well."""
        return self._problem or next((log.problem for log in self._rows if log.problem), None)

    def write_config(self, config: Any) -> None:
        """Replace config.json by every resolved setting: a mapping, or a (nested) dataclass."""
        settings = msgspec.json.decode(msgspec.json.encode(config, enc_hook=plain), type=dict[str, Any])
        with self._writing():
            self._folder.write("config.json", json_bytes(settings))
        self.config = settings

    def update_metadata(self, **changes: Any) -> None:
        """Flush the logs, then replace metadata.json with these fields changed and the time renewed."""
        changed = msgspec.structs.replace(self.metadata, **changes, last_updated=iso(now()))
        self.flush()
        with self._writing():
            # If a power cut brings the one before back, nothing is lost: a checkpoint knows its own numbers.
            self._folder.write("metadata.json", json_bytes(changed), sync=False)
        self.metadata = changed

    def checkpoint_path(self, which: int | str) -> Path:
        """Return where a checkpoint is, whether or not it exists: of a step, or by its name.

        The names are `best`, `best_<agent>`, `latest` and `milestone_<N>`.
        """
        stem = which if isinstance(which, str) else f"step_{which}"
        if not re.fullmatch(r"best|best_[A-Za-z0-9][A-Za-z0-9 ._-]*|latest|(step|milestone)_[0-9]+", stem):
            raise CommandError(f"there is no checkpoint '{which}'; use best, latest or a step")
        return self.path / CHECKPOINTS / f"{stem}{ENDING}"

    def latest_checkpoint(self) -> Path | None:
        """Return the newest checkpoint there is, or None."""
        latest = self.checkpoint_path("latest")
        if latest.is_file():
            return latest
        steps = step_checkpoints(self.path)
        return steps[max(steps)] if steps else None

    def best_checkpoint(self, which: str = "best", *, set_aside: bool = False) -> Path | None:
        """Return the checkpoint of the best greedy evaluation, or None before the first.

        With `set_aside` it is the best from before the one that was earned after the last checkpoint.
        """
        best = self.checkpoint_path(which)
        best = best.with_name(which + EARLIER) if set_aside else best
        return best if best.is_file() else None

    def set_best_aside(self, which: str = "best") -> None:
        """Keep the present `best`, or that of an agent, for whoever goes on from the last checkpoint.

        It is about to be replaced.
        """
        with self._writing():
            self._copy(f"{which}{ENDING}", f"{which}{EARLIER}")

    def bring_best_back(self, which: str = "best") -> None:
        """Undo `set_best_aside` and the `best` that followed it: without an earlier one there is none."""
        with self._writing(), writing(self.checkpoint_path(which)):
            self._copy(f"{which}{EARLIER}", f"{which}{ENDING}")
            self._checkpoints.unlink(f"{which}{EARLIER}")
            self._checkpoints.sync()

    def _copy(self, source: str, name: str) -> None:
        """Make one checkpoint file the same as another, or delete it where that other is not there."""
        if (self.path / CHECKPOINTS / source).is_file():
            self._checkpoints.link(source, name)
        else:
            self._checkpoints.unlink(name)

    def save_checkpoint(self, tensors: State, manifest: Manifest) -> Path:
        """Write `step_<N>` and make `latest` its second name, both for certain on the disk when this returns."""
        pieces = sealed_pieces(tensors, manifest)
        path = self.checkpoint_path(manifest.step)
        self.flush(sync=True)
        with self._writing():
            self._checkpoints.write(path.name, *pieces, sync=False)
            self._checkpoints.link(path.name, f"latest{ENDING}")
            with writing(path):
                self._checkpoints.sync()
        self._saved_step = manifest.step
        return path

    def save_policy(self, which: str, tensors: State, manifest: Manifest) -> None:
        """Write a policy and no step: `best`, that of an agent, a `milestone_<N>`, or `latest`.

        The last is what a diverged training leaves.
        """
        pieces = sealed_pieces(tensors, manifest)
        self.flush()
        with self._writing():
            path = self.checkpoint_path(which)
            # Twenty waits for the disk would take longer than a short training: a power cut may cost a milestone.
            lasting = not which.startswith("milestone_")
            self._checkpoints.write(path.name, *pieces, sync=lasting, durable=lasting)

    def prune_checkpoints(self, keep: int) -> None:
        """Delete all but the newest `keep` step checkpoints; best and latest always stay.

        Steps beyond the one saved last are from before a resume at an earlier one, because they were damaged: they go.
        """
        if keep < 0:
            raise CommandError(f"--keep is {keep}; use 0 or more")
        steps = step_checkpoints(self.path)
        past = sorted(step for step in steps if self._saved_step is None or step <= self._saved_step)
        lasting = set(past[max(0, len(past) - keep) :])
        with self._writing():
            for step in sorted(steps.keys() - lasting):
                self._checkpoints.unlink(steps[step].name)

    def log_train_episode(
        self, total_steps: int, total_reward: float, length: int, status: Status, extras: Mapping[str, float]
    ) -> None:
        """Add one training episode to train_episodes.jsonl."""
        self._train.extend([TrainEpisode(total_steps, total_reward, length, status, extras)])

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
        row = EvalEpisode(total_steps, total_reward, length, status, extras, total_steps_at_eval, seed)
        self._eval.extend([row])

    def log_metrics(self, total_steps: int, seconds: float, metrics: Mapping[str, float]) -> None:
        """Add one line to metrics.jsonl; keys start with rollout/, eval/, train/, time/, env/ or change/."""
        for key in metrics:
            if not key.startswith(METRIC_GROUPS):
                groups = ", ".join(METRIC_GROUPS)
                raise ValueError(f"metric '{key}' belongs to no group: its name must start with {groups}")
        row = {"total_steps": total_steps, "seconds": seconds, **metrics}
        self._metrics.extend([row])
        for recording in self.recordings:
            recording.row(row)

    def open_recorder(self, name: str, recorder: Recorder) -> None:
        """Let a recorder hear of this run until it is closed, on a thread of its own; earlier rows come first."""
        self.flush()
        metadata = self.metadata
        about = (metadata.run_id, metadata.name, metadata.scene, metadata.agent, metadata.seed, metadata.started_at)
        facts = RunFacts(self.path, *about, self.config)
        self.recordings.append(Recording(name, recorder, facts, stored_rows(self.path / "metrics.jsonl")))

    def flush(self, *, sync: bool = False) -> dict[str, int]:
        """Hand all buffered rows to the system, with `sync` to the disk; return how long each log is now, in bytes."""
        with self._writing():
            return {log.path.name: log.flush(sync=sync) for log in self._rows}

    def cut_logs(self, lengths: Mapping[str, int]) -> None:
        """Cut the logs back to where a checkpoint left them: the rows after it are written again."""
        with self._writing():
            for log in self._rows:
                log.require_row_end(lengths.get(log.path.name, 0))
            for log in self._rows:
                log.cut(lengths.get(log.path.name, 0))

    def abandon(self, status: str) -> None:
        """Close after a `problem`: say so in metadata.json if the disk still takes that much, and raise nothing."""
        metadata = msgspec.structs.replace(self.metadata, status=status, last_updated=iso(now()))
        with suppress(StorageError, CheckpointError):  # the problem was told already
            self._lock.check()
            self._folder.write("metadata.json", json_bytes(metadata))
            self.metadata = metadata
        with suppress(StorageError):
            self.close()

    def close(self) -> None:
        """Flush and close the logs and let others write the run; a second call does nothing."""
        reason, problem = self.problem, None
        for log in self._rows:
            try:
                log.close(drop=reason is not None)
            except StorageError as error:
                problem = problem or error
        self._checkpoints.close()
        self._lock.release()
        self._end_recordings()
        if problem is not None and reason is None:
            raise problem

    def _end_recordings(self) -> None:
        """Tell the recorders what the run came to, now that all of it is on the disk."""
        going = [each for each in self.recordings if not each.ended]
        if not going:
            return
        rows, status = stored_rows(self.path / "metrics.jsonl"), self.metadata.status
        table = {**msgspec.to_builtins(self.metadata), **(rows[-1] if rows else {})}
        episodes = last_evaluation(stored_rows(self.path / "eval_episodes.jsonl"))
        for recording in going:
            recording.finish(status, table, episodes, SOON if status == "interrupted" else LONG)

    @contextmanager
    def _writing(self) -> Iterator[None]:
        if self.problem is not None:
            raise self.problem
        try:
            self._lock.check()
            self._checkpoints.require_unmoved()
        except EcsRlError as lost:
            self._problem = lost
            raise
        try:
            yield
        except StorageError as error:
            self._problem = error
            raise


def settings_of(run: Path) -> dict[str, Any]:
    """Return the settings of a run: its config.json, or if that is missing what its newest checkpoint carries."""
    path = run / "config.json"
    if os.path.lexists(path):
        remedy = "restore it, or delete it, for each checkpoint carries it"
        return read_json(path, dict[str, Any], f"cannot read {path}", remedy)
    manifest = sound_manifest(run)
    return manifest.config if manifest else {}
