"""Ways not gone: where the next second would lead if the watched agent did each of the other things all the while.

They are worked out in slices in a spare world of one arena, which begins where the stage stands; the first is the
policy's own. The physics there is made anew from the columns, so that of what touches it may differ in small things.
"""

from __future__ import annotations

from collections.abc import Iterator
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ecs_rl.arrays import F32, F64
from ecs_rl.callbacks import Callbacks
from ecs_rl.components import EpisodeEnd, Pose
from ecs_rl.results import Results
from ecs_rl.schedule import PLAYING
from ecs_rl.spaces import ActMode, Continuous, Decision, Discrete, spans
from ecs_rl.training.scene_agents import deciding
from ecs_rl.viewer.gather import Reader
from ecs_rl.viewer.played_episodes import reasons_of, tone_of
from ecs_rl.viewer.view import GhostView, Tone
from ecs_rl.world import DecideAction, PolicyBatch, World, state_of
from ecs_rl.worlds import make_world

if TYPE_CHECKING:
    from ecs_rl.spaces import ActionSpace
    from ecs_rl.viewer.live_episode import LiveEpisode

SECONDS = 1.0
"""How far ahead they look."""
MOST = 12
"""Ways besides the policy's own."""


class Ghosts:
    """The ways of one show from where it stands; `paths` grows from slice to slice."""

    def __init__(self, show: LiveEpisode) -> None:
        self.show = show
        self.paths: tuple[GhostView, ...] = ()
        self._key: tuple[object, ...] = ()
        self._work: Iterator[None] = iter(())
        self._world: World | None = None
        self.forced: tuple[slice, float] | None = None
        """Which columns of the action are set, and to what; None where the policy decides."""
        self._trace: list[F64] = []
        self._ended: Tone | None = None
        self._rows: NDArray[np.int64] = np.zeros(0, np.int64)
        self._at: F64 = np.zeros((0, 2))

    def look(self, budget: float) -> None:
        """Go on for so many seconds, and begin again where the stage has gone on or somebody else plays."""
        show = self.show
        if not isinstance(show.reader, Reader) or show.resting:
            self.paths, self._key = (), ()
            return
        agents = tuple(map(id, show.agents.values()))
        key = (
            show.world.ticks,
            show.rewind.at,
            show.arena,
            show.episode,
            int(show.clock.tick[show.arena]),
            agents,
            show.mind.member,
        )
        if key != self._key or self.show.mind.watched[1] is not self._slot:
            self._key, self.paths, self._work = key, (), self._all()
        until = perf_counter() + budget
        while perf_counter() < until:
            if next(self._work, self) is self:
                return

    @property
    def is_done(self) -> bool:
        """Whether all ways are known."""
        return bool(self.paths) and len(self.paths) == 1 + len(self._ways())

    _slot: object = None

    def _all(self) -> Iterator[None]:
        self._slot = self.show.mind.watched[1]
        if self._world is None:
            show = self.show
            self._world = make_world(
                show.scene,
                arenas=1,
                seeds=[0],
                policies=deciding(show.agents, ActMode.GREEDY),
                stages=(*PLAYING, "render"),
                callbacks=Callbacks(render=self._look),
            )
            yield
        self._drive(self._world)
        for name, forced in (("", None), *self._ways()):
            yield from self._way(self._world, name, forced)

    def _ways(self) -> list[tuple[str, tuple[slice, float]]]:
        """Return what else can be done: each option of a choice, each lever down and up."""
        return ways_of(self.show.mind.space)[:MOST]

    def _drive(self, world: World) -> None:
        """Let the show's policies decide, but for what is forced on the watched agent."""
        show = self.show
        for policy, choose in deciding(show.agents, ActMode.GREEDY).items():
            world.drive(policy, choose)
        if show.rival is not None:
            show.rival.drive(world)
        watched = show.mind.watched[0].name
        batch = next(batch for batch in world.batches if batch.name == watched)
        world.drive(watched, Forced(self, world.policies[watched], batch))
        reader = show.reader
        assert isinstance(reader, Reader)
        self._rows, self._at = reader.tips_of(show.mind.watched[1])

    def _way(self, world: World, name: str, forced: tuple[slice, float] | None) -> Iterator[None]:
        show = self.show
        world.copy_arena(show.world, show.arena, 0)
        world.rebuild()
        self.forced, self._ended, self._trace = forced, None, []
        self._note(world)
        yield
        for _ in range(max(2, round(SECONDS / show.scene.dt))):
            world.tick()
            if self._ended is not None:
                break
            yield
        points = np.array(self._trace)
        self.paths = (*self.paths, GhostView(name, tuple(points[:, i] for i in range(points.shape[1])), self._ended))

    def _look(self) -> None:
        world = self._world
        if world is None or self._ended is not None:
            return
        self._note(world)
        if world.one(EpisodeEnd).ended[0]:
            total = float(Results(world).now()[0])
            self._ended = tone_of(world, 0, total, reasons_of(world, 0))

    def _note(self, world: World) -> None:
        """Note where the points are that leave a trail on the stage."""
        x, y, angle = world.block(Pose)[:, self._rows, 0]
        cos, sin = np.cos(angle), np.sin(angle)
        ax, ay = self._at.T
        self._trace.append(np.stack((x + cos * ax - sin * ay, y + sin * ax + cos * ay), axis=1))

    def close(self) -> None:
        """Give the spare world back."""
        if self._world is not None:
            self._world.close()
            self._world = None


class Forced:
    """A policy that decides as another one, but for a part of one row that is forced."""

    def __init__(self, ghosts: Ghosts, decide: DecideAction, batch: PolicyBatch) -> None:
        self.ghosts, self.decide, self.batch = ghosts, decide, batch
        self.state = state_of(decide)

    def __call__(self, observation: F32, state: F32) -> Decision:
        """Decide for all rows."""
        answer = self.decide(observation, state)
        decision = answer if isinstance(answer, Decision) else Decision(answer)
        if self.ghosts.forced is None:
            return decision
        action: NDArray[Any] = np.array(decision.action)
        (columns, value), row = self.ghosts.forced, self.ghosts.show.mind.place
        if action.ndim == 1:
            action[row] = value
        else:
            action[row, columns] = value
        return Decision(action, decision.state, decision.extras)


def ways_of(space: ActionSpace) -> list[tuple[str, tuple[slice, float]]]:
    """Return everything that can be done all the while: its name, the columns of an action, and what they are set to.

    Each option of a choice, and each lever all the way down and up.
    """
    ways: list[tuple[str, tuple[slice, float]]] = []
    for part, columns, _ in spans(space):
        if isinstance(part, Discrete):
            ways += [(f"{part.name} {name}".strip(), (columns, float(i))) for i, name in enumerate(part.names)]
        elif isinstance(part, Continuous):
            for i, name in enumerate(part.names):
                column = slice(columns.start + i, columns.start + i + 1)
                ways += [(f"{name} -1", (column, -1.0)), (f"{name} +1", (column, 1.0))]
    return ways
