"""A world that is stepped from outside: actions go in, what came of them comes out. Every adapter stands on it."""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ecs_rl.callbacks import NOTHING, Callbacks
from ecs_rl.components import Chance, Clock, Done, EpisodeEnd, NextObservation, Observation, Reward
from ecs_rl.loading import load_scene
from ecs_rl.scene.chance import episode_keys
from ecs_rl.scene.scene import Scene
from ecs_rl.schedule import PLAYING
from ecs_rl.spaces import Bools, Floats
from ecs_rl.world import PolicyBatch
from ecs_rl.worlds import make_world

if TYPE_CHECKING:
    from ecs_rl.viewer.picture import Picture


@dataclass(frozen=True)
class Rows:
    """What came of one policy's actions, a row for each agent in each arena; copies."""

    seen: Floats
    """What is seen now: of an episode that ended, the next one's beginning."""
    following: Floats
    """The same, but of an episode that ended its last sight."""
    reward: Floats
    terminated: Bools
    """By a rule of the scene, or because this member went out: nothing more is to be earned."""
    truncated: Bools
    """By the time limit, or because the arena exploded."""
    valid: Bools
    """False for a member of a kind that is out."""


class Stepper:
    """N arenas of a scene; one that ends begins its next episode in the same step."""

    def __init__(self, scene: str | Scene, arenas: int, *, threads: int = 1, pictures: bool = False) -> None:
        loaded = load_scene(scene) if isinstance(scene, str) else scene
        stages = (*PLAYING, "render") if pictures else PLAYING
        self._actions: dict[str, NDArray[Any]] = {}
        # The seed is drawn, as Gymnasium has it: an environment that nobody seeds is another one each time.
        self.world = make_world(
            loaded,
            arenas=arenas,
            seed=secrets.randbits(31),
            threads=threads,
            stages=stages,
            callbacks=Callbacks(render=self._look) if pictures else NOTHING,
        )
        for batch in self.world.batches:
            self.world.drive(batch.name, self._decides(batch))
        of = [self.world.of(batch.entity, Observation) for batch in self.world.batches]
        self._seen = {batch.name: seen for batch, seen in zip(self.world.batches, of, strict=True)}
        self._width = {batch.name: len(batch.spec.observations) for batch in self.world.batches}
        """How many numbers of a row are the policy's own: its critic may see more."""
        self._results = {
            batch.name: components
            for batch, components in zip(
                self.world.batches, self.world.each(NextObservation, Reward, Done), strict=True
            )
        }
        self._ended = self.world.one(EpisodeEnd).ended
        self.picture: Picture | None = None
        if pictures:
            from ecs_rl.viewer.picture import Picture

            self.picture = Picture(self.world)

    def _decides(self, batch: PolicyBatch) -> Any:
        return lambda seen, state: self._actions[batch.name]

    def _look(self) -> None:
        if self.picture is not None:
            self.picture.look()

    def reset(
        self, seeds: Sequence[int | None] | None = None, only: Bools | None = None, *, again: bool = True
    ) -> dict[str, Floats]:
        """Begin episodes anew and return what each policy sees.

        `seeds` names each arena's episodes from here on, None goes on with its own; `only` are the arenas that begin
        (all of them otherwise). Without `again` an arena without a seed stays in the episode that it has just begun.
        """
        clock, chance = self.world.one(Clock), self.world.one(Chance)
        chosen = np.ones(self.world.arenas, bool) if only is None else only
        for arena in np.flatnonzero(chosen).tolist():
            seed = None if seeds is None else seeds[arena]
            if seed is not None:
                chance.key[arena] = episode_keys(np.array([seed], np.int64), np.zeros(1, np.int64))[0]
                clock.episode[arena] = 0
            elif again:
                clock.episode[arena] += 1
        if only is None:
            self.world.start_over()
        else:
            self.world.enter()
            respawn: Any = self.world.stages["respawn"]
            respawn.begin(np.flatnonzero(only))
        if self.picture is not None:
            self.picture.look()
        return self.seen()

    @property
    def ended(self) -> bool:
        """Whether the first arena's episode ended with the last step."""
        return bool(self._ended[0])

    def seen(self) -> dict[str, Floats]:
        """Return what each policy sees now; copies."""
        return {name: seen.value[:, : self._width[name]].copy() for name, seen in self._seen.items()}

    def step(self, actions: Mapping[str, NDArray[Any]]) -> dict[str, Rows]:
        """Take one decision in every arena; return what came of it for each policy."""
        self._actions = dict(actions)
        self.world.tick()
        return {name: self._rows(name) for name in self._results}

    def _rows(self, policy: str) -> Rows:
        after, reward, done = self._results[policy]
        own, terminated = slice(self._width[policy]), done.terminated.copy()
        seen, following = self._seen[policy].value[:, own].copy(), after.value[:, own].copy()
        truncated = np.tile(self._ended, len(seen) // self.world.arenas) & ~terminated
        return Rows(seen, following, reward.value.copy(), terminated, truncated, done.valid.copy())

    def close(self) -> None:
        """Give the world back, and the window if one was opened; a second call does nothing."""
        if self.picture is not None:
            self.picture.close()
        self.world.close()
