"""A checkpoint brought back to life: it names its scene and its agent and carries whatever the policy needs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from ecs_rl.agents.base import Agent
from ecs_rl.agents.config import Settings
from ecs_rl.agents.make import Algorithm, make_agent
from ecs_rl.agents.state import check_parameters
from ecs_rl.errors import CheckpointError, CommandError
from ecs_rl.runs import Manifest, read_checkpoint, section
from ecs_rl.scene.scene import Scene
from ecs_rl.session import EpisodeRecord
from ecs_rl.spaces import ActMode
from ecs_rl.training.evaluator import play_episodes
from ecs_rl.training.own_network import with_network, with_trusted_network
from ecs_rl.training.recording import DataRecorder
from ecs_rl.training.same_policies import check_same
from ecs_rl.training.scene_agents import deciding
from ecs_rl.training.team import join
from ecs_rl.training.trust import trusted_algorithm, trusted_scene
from ecs_rl.world import policy_specs

if TYPE_CHECKING:
    from ecs_rl.training.opponent import Opponent


@dataclass(frozen=True)
class Player:
    """The policies of a checkpoint, ready to play their scene."""

    scene: Scene
    agents: dict[str, Agent]
    manifest: Manifest

    @classmethod
    def load(
        cls,
        path: Path,
        seed: int = 0,
        *,
        scene: Scene | None = None,
        algorithm: Algorithm | None = None,
        network: str = "",
    ) -> Player:
        """Return the player of a checkpoint file; `seed` is for sampled actions.

        Without a `scene`, an `algorithm` or a `network` (`FILE.py:NAME`) it is the one that the checkpoint names, if
        that may be run; CheckpointError otherwise.
        """
        manifest, tensors = read_checkpoint(path)
        scene = scene or trusted_scene(path, manifest)
        algorithm = algorithm or trusted_algorithm(path, manifest)
        specs = policy_specs(scene.describe())
        check_same(path, manifest, specs, scene.name)
        config, policy = config_of(path, manifest, algorithm), section(tensors, "policy")
        if network:
            if ":" not in getattr(config, "network", ""):
                raise CommandError(f"--network {network}: {path} was made with a network of the project: leave it out")
            config = with_network(replace(config, network=network), scene)
        config = with_trusted_network(config, scene, path, manifest)
        check_parameters(str(path), specs, algorithm, config, policy)
        agents = {
            name: make_agent(algorithm, spec, config, seed=seed + i, rows=1)
            for i, (name, spec) in enumerate(specs.items())
        }
        join(list(agents.values())).load_policy_state(policy)
        return cls(scene, agents, manifest)

    def play(
        self, episodes: int, seed: int, mode: ActMode, opponent: Opponent | None = None, save: Path | None = None
    ) -> list[EpisodeRecord]:
        """Play one episode for each seed from `seed` on; with `save` add what the first policy did to this file."""
        seeds, policies = range(seed, seed + episodes), deciding(self.agents, mode)
        if save is None:
            return play_episodes(self.scene, policies, seeds, opponent)
        recorder = DataRecorder(self.scene, save)
        records = play_episodes(self.scene, policies, seeds, opponent, recorder)
        recorder.save(records, seeds)
        return records


def config_of(path: Path, manifest: Manifest, algorithm: Algorithm) -> Any:
    """Return the algorithm's settings that the checkpoint was trained with."""
    if manifest.agent != algorithm.name:
        raise CheckpointError(f"{path} was made by {manifest.agent}, not by {algorithm.name}: leave --agent out")
    try:
        config: Any = msgspec.convert(manifest.config.get(manifest.agent, {}), algorithm.Config)
    except (msgspec.ValidationError, CommandError) as error:
        raise CheckpointError(f"{path}: its settings of {manifest.agent} cannot be used: {error}") from None
    return config.after(manifest.step) if isinstance(config, Settings) else config
