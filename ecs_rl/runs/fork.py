"""A second run that goes on where a checkpoint of another one was taken, with all that the other had by then."""

from __future__ import annotations

import shutil
from pathlib import Path

import msgspec

from ecs_rl.files import writing
from ecs_rl.runs.checkpoint import read_manifest
from ecs_rl.runs.layout import CHECKPOINTS, milestones
from ecs_rl.runs.metadata import read_metadata
from ecs_rl.runs.run import TrainingRun, settings_of


def fork_run(source: Path, checkpoint: Path, best: Path | None, *, version: str, runs_dir: Path) -> Path:
    """Return a new run that can be resumed from a checkpoint, with the rows and policies that another run had by then.

    `source` may go on being written meanwhile: of its logs only what the checkpoint knows is copied. `best` is the best
    policy as of the checkpoint, if there was one.
    """
    manifest, metadata = read_manifest(checkpoint), read_metadata(source)
    run = TrainingRun.create(
        metadata.name,
        version,
        runs_dir,
        scene=metadata.scene,
        scene_sha256=metadata.scene_sha256,
        agent=metadata.agent,
        seed=metadata.seed,
    )
    run.write_config(settings_of(source))
    run.update_metadata(
        total_steps=manifest.step,
        total_episodes=manifest.episodes,
        best_eval=manifest.best_eval,
        best_step=manifest.best_step,
        status="interrupted",
    )
    run.close()
    with writing(run.path):
        for name, length in msgspec.to_builtins(manifest.facts().logs).items():
            with open(source / name, "rb") as file:
                (run.path / name).write_bytes(file.read(length))
        checkpoints = run.path / CHECKPOINTS
        checkpoints.mkdir(exist_ok=True)
        for step, path in milestones(source).items():
            if step <= manifest.step:
                shutil.copyfile(path, checkpoints / path.name)
        if best is not None:
            shutil.copyfile(best, checkpoints / "best.safetensors")
        shutil.copyfile(checkpoint, checkpoints / f"step_{manifest.step}.safetensors")
        shutil.copyfile(checkpoint, checkpoints / "latest.safetensors")
    return run.path
