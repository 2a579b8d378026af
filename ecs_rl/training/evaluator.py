"""Greedy episodes in a world of their own: what evaluations, `play.py` and the tests mean by "how good is it"."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from ecs_rl.callbacks import Callbacks
from ecs_rl.components import Clock, Finished
from ecs_rl.errors import SceneError
from ecs_rl.scene.scene import Scene
from ecs_rl.schedule import PLAYING
from ecs_rl.session import EpisodeRecord
from ecs_rl.training_stages.tally import records_of
from ecs_rl.world import DecideAction, World
from ecs_rl.worlds import make_world

if TYPE_CHECKING:
    from ecs_rl.training.opponent import Opponent
    from ecs_rl.training.recording import DataRecorder

SEED = 10_000
"""The seed of the first evaluation episode; the next ones count on from it. Never the training's."""
AT_ONCE = 256
"""Episodes that share a world: one of `lander` is made in a quarter of a second."""
MOST_EXPLOSIONS = 5
"""Episodes that an arena may lose to an explosion before the scene is to blame."""


def play_episodes(
    scene: Scene,
    policies: Mapping[str, DecideAction],
    seeds: Sequence[int],
    opponent: Opponent | None = None,
    recorder: DataRecorder | None = None,
) -> list[EpisodeRecord]:
    """Play one episode for each seed, all at once in the arenas of a new world; return them in the seeds' order."""
    evaluator, records = Evaluator(scene, policies, opponent, recorder), list[EpisodeRecord]()

    def playing() -> Iterator[None]:
        records.extend((yield from evaluator.play(seeds)))

    try:
        for _ in playing():
            pass
    finally:
        evaluator.close()
    return records


class Evaluator:
    """Plays the same episodes again whenever it is asked, in worlds that each time start as new ones would.

    More episodes than `AT_ONCE` have several worlds, one after the other: to make a world of thousands of arenas takes
    many seconds, in which nothing else could happen.
    """

    def __init__(
        self,
        scene: Scene,
        policies: Mapping[str, DecideAction],
        opponent: Opponent | None = None,
        recorder: DataRecorder | None = None,
    ) -> None:
        """Take who plays; a `recorder` takes every tick, of evaluators that play once."""
        self.scene, self.policies, self.opponent, self.recorder = scene, policies, opponent, recorder
        self._worlds: dict[tuple[int, ...], World] = {}

    def make_ready(self, seeds: Sequence[int]) -> None:
        """Make the worlds for these seeds now, which takes longer than a frame, and not when they are first played."""
        for first in range(0, len(seeds), AT_ONCE):
            for _ in self._readying(tuple(seeds[first : first + AT_ONCE])):
                pass

    def play(self, seeds: Sequence[int]) -> Generator[None, None, list[EpisodeRecord]]:
        """Play one episode for each seed, a tick at a time; return them in the seeds' order."""
        parts = [tuple(seeds[first : first + AT_ONCE]) for first in range(0, len(seeds), AT_ONCE)]
        if not self._worlds.keys() <= set(parts):
            self.close()
        records: list[EpisodeRecord] = []
        for part in parts:
            records += yield from self._play(part)
        return records

    def _play(self, seeds: tuple[int, ...]) -> Generator[None, None, list[EpisodeRecord]]:
        world = yield from self._readying(seeds)
        finished, began = world.one(Finished), world.ticks
        yield
        records: dict[int, EpisodeRecord] = {}
        while len(records) < len(seeds):
            if world.ticks - began > self.scene.max_ticks * MOST_EXPLOSIONS:
                check = f"train.py {self.scene.reference or self.scene.name} --check"
                raise SceneError(f"{self.scene.name}: an arena explodes in every episode; see `{check}`")
            world.tick()
            if len(finished.arena):
                for arena, record in zip(finished.arena.tolist(), records_of(world, finished), strict=True):
                    records.setdefault(arena, record)  # the arena's first; the ones after it do not count
            yield
        return [records[arena] for arena in range(len(seeds))]

    def _readying(self, seeds: tuple[int, ...]) -> Generator[None, None, World]:
        """Return the world of these episodes at their beginning, in slices if it is there already."""
        world = self._worlds.get(seeds)
        if world is None:
            world = self._new_world(seeds)
            if self.opponent is not None:
                self.opponent.drive(world)
            self._worlds[seeds] = world
        else:
            world.one(Clock).episode[:] = 0
            yield from world.starting_over()
        return world

    def _new_world(self, seeds: tuple[int, ...]) -> World:
        recorder = self.recorder
        if recorder is None:
            return make_world(self.scene, arenas=len(seeds), seeds=seeds, policies=self.policies)
        stages, look = (*PLAYING, "render"), Callbacks(render=lambda: recorder.look(world))
        world = make_world(
            self.scene, arenas=len(seeds), seeds=seeds, policies=self.policies, stages=stages, callbacks=look
        )
        recorder.begin(world)
        return world

    def close(self) -> None:
        """Give the worlds back."""
        for world in self._worlds.values():
            world.close()
        self._worlds.clear()
