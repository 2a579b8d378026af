"""What a person does at the controls, episode by episode, into a file to learn from: `play.py --save-demo FILE`."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ecs_rl.agents.base import Demonstration
from ecs_rl.arrays import F32
from ecs_rl.components import Action, Clock, Done, Observation, Reward
from ecs_rl.errors import CheckpointError
from ecs_rl.runs.demonstrations import Demonstrations, read_demonstrations, save_demonstrations
from ecs_rl.scene.scene import Scene
from ecs_rl.training.same_policies import refuse_other_spec
from ecs_rl.viewer.live.hands import Hands
from ecs_rl.world import policy_specs


def begun(path: Path, scene: Scene) -> Demonstrations:
    """Return what a file holds already, of nothing if there is none; CheckpointError if it is of another scene."""
    first = scene.describe().agents[0]
    fresh = Demonstrations(scene.reference, scene.sha256, policy_specs(scene.describe())[first.policy])
    if not path.exists():
        if not path.absolute().parent.is_dir():
            raise CheckpointError(f"--save-demo {path}: there is no folder {path.absolute().parent}: make it first")
        return fresh
    found = read_demonstrations(path)
    if found.spec.name != fresh.spec.name:
        raise CheckpointError(
            f"{path} demonstrates the policy '{found.spec.name}', not '{fresh.spec.name}': name another"
        )
    refuse_other_spec(path, scene.name, found.spec, fresh.spec)
    return found


class DemoRecorder:
    """Notes every tick of the agent that a person drives, and writes the file anew whenever an episode has ended."""

    def __init__(self, hands: Hands, path: Path) -> None:
        self.hands, self.path = hands, path
        self.shown = begun(path, hands.show.scene)
        self._ticks: list[tuple[F32, NDArray[Any], float, bool]] = []
        world = hands.show.world
        self._clock = world.one(Clock)
        of = hands.batch.entity
        self._seen, self._did = world.of(of, Observation), world.of(of, Action)
        self._reward, self._done = world.of(of, Reward), world.of(of, Done)
        hands.show.watchers.append(self.saw)

    def saw(self) -> None:
        """Note the tick that was just played; what came after it before somebody went back is forgotten."""
        show, row = self.hands.show, self.hands.row
        before = int(self._clock.tick[show.arena]) - 1
        del self._ticks[before:]
        if len(self._ticks) < before:  # nobody saw how the episode began
            return
        did = (self._seen.value[row].copy(), self._did.value[row].copy(), float(self._reward.value[row]))
        self._ticks.append((*did, self.hands.drives))
        if self._done.terminated[row] or self._done.truncated[row]:
            self._end(terminated=bool(self._done.terminated[row]), good=bool(self._done.valid[row]))

    def _end(self, *, terminated: bool, good: bool) -> None:
        ticks, self._ticks = self._ticks, []
        seen, did, earned, shown = zip(*ticks, strict=True)
        if not (good and any(shown)):
            return
        show = self.hands.show
        episode = Demonstration(
            seed=show.seeds[show.arena],
            observation=np.stack(seen),
            action=np.stack(did),
            reward=np.array(earned, np.float32),
            shown=np.array(shown),
            terminated=terminated,
            result=show.total,
        )
        self.shown = replace(self.shown, episodes=(*self.shown.episodes, episode))
        save_demonstrations(self.path, self.shown)
