"""Everything about the run directory: metadata, logs, checkpoints, and which run is meant. No ECS here."""

from ecs_rl.runs.checkpoint import join_sections, read_checkpoint, read_manifest, section, write_checkpoint
from ecs_rl.runs.find import FoundRun, RunEntry, find_run, list_runs
from ecs_rl.runs.manifest import EvalSettings, Manifest, PolicyEntry, policy_entries
from ecs_rl.runs.metadata import Metadata, read_metadata, versions_here
from ecs_rl.runs.rows import EvalEpisode, TrainEpisode
from ecs_rl.runs.run import TrainingRun, read_config, settings_of

__all__ = [
    "EvalEpisode",
    "EvalSettings",
    "FoundRun",
    "Manifest",
    "Metadata",
    "PolicyEntry",
    "RunEntry",
    "TrainEpisode",
    "TrainingRun",
    "find_run",
    "join_sections",
    "list_runs",
    "policy_entries",
    "read_checkpoint",
    "read_config",
    "read_manifest",
    "read_metadata",
    "section",
    "settings_of",
    "versions_here",
    "write_checkpoint",
]
