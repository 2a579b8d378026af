"""What a person does at the controls, episode by episode, into a file to learn from: `play.py --save-demo FILE`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from ecs_rl.agents.base import Demonstration
from ecs_rl.components import Done
from ecs_rl.errors import CheckpointError
from ecs_rl.runs.demonstrations import Demonstrations, read_demonstrations, save_demonstrations
from ecs_rl.scene.scene import Scene
from ecs_rl.training.same_policies import refuse_other_spec
from ecs_rl.viewer.live.hands import Hands
from ecs_rl.viewer.tick_log import RunningEpisode, Tick
from ecs_rl.world import policy_specs


def begun(path: Path, scene: Scene) -> Demonstrations:
    """Return what a file holds already, of nothing if there is none; CheckpointError if it is of another scene."""
    first = scene.describe().agents[0]
    fresh = Demonstrations(scene.reference, scene.sha256, policy_specs(scene.describe())[first.policy])
    if not path.exists():
        if not path.absolute().parent.is_dir():
            raise CheckpointError(f"--save-demo {path}: there is no folder {path.absolute().parent}: make it first")
        return fresh
    stored = read_demonstrations(path)
    if stored.spec.name != fresh.spec.name:
        raise CheckpointError(
            f"{path} demonstrates the policy '{stored.spec.name}', not '{fresh.spec.name}': name another"
        )
    refuse_other_spec(path, scene.name, stored.spec, fresh.spec)
    return stored


class DemoRecorder:
    """Writes the file anew whenever an episode has ended in which a person drove the watched agent."""

    def __init__(self, hands: Hands, path: Path) -> None:
        self.hands, self.path = hands, path
        self.demonstrations = begun(path, hands.show.scene)
        self._done = hands.show.world.of(hands.batch.entity, Done)
        self._last: RunningEpisode | None = None
        """The episode that was taken last; its agent may have left it before the others."""
        hands.show.log.keeps_sights = True
        hands.show.watchers.append(self.look)

    def look(self) -> None:
        """Take the episode if the agent's part of it ended with the tick that has just been logged."""
        show, row, done = self.hands.show, self.hands.row, self._done
        episode = show.log.running[show.arena]
        if episode is self._last or not (done.terminated[row] or done.truncated[row]):
            return
        self._last = episode
        if episode.is_whole and done.valid[row] and any(self._drives(tick) for tick in episode.ticks):
            self._add(episode.ticks)

    def _drives(self, tick: Tick) -> bool:
        return (self.hands.batch.name, self.hands.row) in tick.steered

    def _add(self, ticks: Sequence[Tick]) -> None:
        show, row = self.hands.show, self.hands.row
        policy = show.world.batches.index(self.hands.batch)
        episode = Demonstration(
            seed=show.seeds[show.arena],
            observation=np.stack([tick.sights[policy][row // show.world.arenas] for tick in ticks]),
            action=np.stack([tick.actions[policy][row] for tick in ticks]),
            reward=np.array([tick.rewards[policy][row] for tick in ticks], np.float32),
            imitated=np.array([self._drives(tick) for tick in ticks]),
            terminated=bool(self._done.terminated[row]),
            result=show.total,
        )
        self.demonstrations = replace(self.demonstrations, episodes=(*self.demonstrations.episodes, episode))
        save_demonstrations(self.path, self.demonstrations)
