"""`train.py SCENE --init-from CHECKPOINT`: a new run that begins with the policy of another."""

from __future__ import annotations

from pathlib import Path

from ecs_rl.cli.command_settings import PILOT
from ecs_rl.errors import CheckpointError, CommandError
from ecs_rl.runs import read_checkpoint, section
from ecs_rl.scene.scene import Scene
from ecs_rl.shipped import pilot_file
from ecs_rl.training.same_policies import check_same
from ecs_rl.training.training import Training


def start_from(training: Training, named: Path) -> None:
    """Give the new agents the policy of a checkpoint that sees and does the same, or of the scene's pilot."""
    checkpoint = meant(named, training.world.scene)
    manifest, tensors = read_checkpoint(checkpoint)
    agent = training.session.agent
    if manifest.agent != agent.name:
        raise CheckpointError(
            f"{checkpoint} was made by {manifest.agent}, and {agent.name} cannot use it: "
            f"add --agent {manifest.config.get('agent_file') or manifest.agent}"
        )
    check_same(checkpoint, manifest, training.world.specs, training.world.scene.name)
    agent.load_policy_state(section(tensors, "policy"))


def meant(named: Path, scene: Scene) -> Path:
    """Return the checkpoint that `--init-from` names: a file, or that of the scene's pilot, if it has one."""
    if str(named) != PILOT:
        return named
    pilot = pilot_file(scene.reference)
    if pilot is None:
        problem = f"no pilot comes with the scene '{scene.name}'"
        raise CommandError(f"--init-from {PILOT}: {problem}: name a checkpoint file, or leave --init-from out")
    return pilot
