"""Everything about the run directory: metadata, logs, checkpoints, and which run is meant. No ECS here."""

from ecs_rl.runs.checkpoint import join_sections, read_checkpoint, read_manifest, sealed_pieces, section
from ecs_rl.runs.layout import FoundRun, NoRunError, RunEntry, find_run, list_runs, run_of_scene
from ecs_rl.runs.logs import EvalEpisode, TrainEpisode
from ecs_rl.runs.manifest import EvalSettings, Manifest, PolicyEntry
from ecs_rl.runs.metadata import Metadata, read_metadata, versions_here
from ecs_rl.runs.run import TrainingRun, settings_of

__all__ = [
    "EvalEpisode",
    "EvalSettings",
    "FoundRun",
    "Manifest",
    "Metadata",
    "NoRunError",
    "PolicyEntry",
    "RunEntry",
    "TrainEpisode",
    "TrainingRun",
    "find_run",
    "join_sections",
    "list_runs",
    "read_checkpoint",
    "read_manifest",
    "read_metadata",
    "run_of_scene",
    "sealed_pieces",
    "section",
    "settings_of",
    "versions_here",
]
