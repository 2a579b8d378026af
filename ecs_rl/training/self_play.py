"""Self-play: one learner plays both sides of a scene, against itself or against one of a pool of its earlier selves.

Rows are those of all policies one after the other, each in blocks of one row for every arena. In each arena and episode
the opponent is the newest policy, which is the learner itself on both sides, or a frozen one, which drives the rows of
one side: what happens in those is recorded as invalid, so that nothing is learned from it. It is drawn by numbers that
belong to the arena and its episode.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from ecs_rl.agents.base import Agent, SharesOut, State
from ecs_rl.agents.state import Attribute, Parts, check_count, check_loadable, copies, load, prefixed, under
from ecs_rl.errors import CheckpointError
from ecs_rl.records import OPPONENT
from ecs_rl.spaces import ActMode, Decision, Experience, Floats, PolicySpec
from ecs_rl.training.pool import Pool

LATEST = -1
"""The number of the opponent that is the learner itself."""
DRAWS = 3
"""Uniform numbers that an episode takes: whether it is the newest, which of the pool, on which side."""
Fixed = Callable[[int, Floats], NDArray[Any]]
"""Returns the actions of all rows of the policy with this number, by their observations."""
I64 = NDArray[np.int64]
SLOT, POINTS = "game/slot", "game/points"
"""Extras by which a game is rated."""


@dataclass(frozen=True)
class PoolSettings:
    """Against whom the learner plays."""

    size: int
    """Frozen policies at most."""
    every: int
    """Steps between two policies that enter, the first one at the beginning."""
    latest: float
    """Share of the episodes in which the newest policy plays itself."""


class Game(NamedTuple):
    """A game of the learner that is over."""

    slot: int
    """The opponent's number in the pool."""
    points: float
    """What the learner scored: 1 won, 0.5 drawn, 0 lost."""
    step: int
    """When the opponent was frozen, -1 for the fixed one."""

    @property
    def extras(self) -> dict[str, float]:
        """What the record of its episode has of it."""
        return {OPPONENT: float(self.step), SLOT: float(self.slot), POINTS: self.points}


class SelfPlay:
    """A learner and its opponents as one agent; observations and experiences come as tuples, one entry per policy."""

    def __init__(
        self,
        learner: Agent,
        frozen: Sequence[Agent],
        settings: PoolSettings,
        *,
        specs: Sequence[PolicySpec],
        sides: Sequence[int],
        arenas: int,
        everywhere: int | None = None,
    ) -> None:
        """`sides` says of each block of rows whether it is the first side's (0) or the second's (1).

        `everywhere` counts the arenas of all processes, where these `arenas` are not all.
        """
        self.learner, self.pool, self.settings = learner, Pool(frozen), settings
        self.name, self.spec, self._specs = learner.name, learner.spec, tuple(specs)
        self.fixed: Fixed | None = None
        """One opponent more, that never changes; whoever drives the world sets it."""
        self._sides, self._everywhere = np.array(sides), arenas if everywhere is None else everywhere
        self._steps, self._entered = 0, -1
        self._drawn: dict[str, torch.Tensor] = {
            "opponent": torch.full((arenas,), LATEST, dtype=torch.int64),  # its number in the pool
            "side": torch.zeros(arenas, dtype=torch.int64),  # the one that it plays
            "episode": torch.full((arenas,), -1, dtype=torch.int64),  # for which this was drawn
            "rated": torch.zeros(arenas, dtype=torch.bool),  # whether the game counts
        }
        self._opponent, self._side, self._episode, self._rated = (part.numpy() for part in self._drawn.values())
        if len(self._specs) > 1:
            self.specs = self._specs
            """Those of all policies, as a checkpoint tells them; the learner's parameters are those of each."""

    @property
    def agents(self) -> dict[str, Agent]:
        """The learner under the name of each policy."""
        return {spec.name: self.learner for spec in self._specs}

    @property
    def elo(self) -> float:
        """The learner's rating."""
        return self.pool.elo

    # --- playing ----------------------------------------------------------------------------------------------------

    def begin(self, episode: I64, draw: Callable[[I64], NDArray[np.float64]]) -> None:
        """Freeze the present policy if that is due, and draw an opponent for every arena in a new episode.

        `episode` (arenas,) is each arena's present one; `draw` returns (rows, DRAWS) uniform numbers for some arenas.
        """
        every = self.settings.every
        if self._steps // every > self._entered // every and self.learner.is_finite():
            slot = self.pool.admit(self.learner.policy_state(), self._steps)
            self._entered = self._steps
            self._rated[self._opponent == slot] = False  # those games began against another one
        new = np.flatnonzero(episode != self._episode)
        if not len(new):
            return
        latest, which, side = draw(new).T
        known = self.pool.filled if self.fixed is None else np.append(self.pool.filled, self.pool.fixed)
        known = known if len(known) else np.array([LATEST])
        chosen = np.where(latest < self.settings.latest, LATEST, known[(which * len(known)).astype(np.int64)])
        self._opponent[new], self._side[new], self._episode[new] = chosen, side < 0.5, episode[new]
        self._rated[new] = chosen != LATEST

    def opposed_by(self, fixed: Fixed) -> None:
        """Take one opponent more, that never changes."""
        self.fixed = fixed

    def act(self, observation: Any, mode: ActMode, state: Any = None) -> Any:
        """Return a decision per policy, the first of which carries the extras of all rows; opponents' are sampled."""
        seen = observation if isinstance(observation, tuple) else (observation,)
        rows, states = _joined(seen), None if state is None else _joined(state)
        decision = self.learner.act(rows, mode, states)
        if mode is ActMode.EXPLORE:
            decision = self._opposed(decision, rows, states, seen)
        ends = np.cumsum([len(each) for each in seen])[:-1]
        actions = np.split(decision.action, ends)
        after = [None] * len(seen) if decision.state is None else np.split(decision.state, ends)
        parts = [Decision(action, rest) for action, rest in zip(actions, after, strict=True)]
        parts[0] = Decision(actions[0], after[0], decision.extras)
        return tuple(parts) if isinstance(observation, tuple) else parts[0]

    def _drivers(self) -> I64:
        """Return (rows,) the number of the opponent that drives each row, LATEST where it is the learner."""
        return np.where(self._sides[:, None] == self._side, self._opponent, LATEST).ravel()

    def _opposed(self, decision: Decision, rows: Floats, states: Floats | None, seen: tuple[Floats, ...]) -> Decision:
        """Return the decision with the opponents' own in their rows: one batch for each opponent."""
        drivers = self._drivers()
        if (drivers == LATEST).all():
            return decision
        action, after = decision.action.copy(), None if decision.state is None else decision.state.copy()
        for number in np.unique(drivers[drivers != LATEST]).tolist():
            own = drivers == number
            if number == self.pool.fixed:
                assert self.fixed is not None
                action[own] = np.concatenate([self.fixed(i, each) for i, each in enumerate(seen)])[own]
                continue
            theirs = self.pool.agents[number].act(rows[own], ActMode.SAMPLE, None if states is None else states[own])
            action[own] = theirs.action
            if after is not None and theirs.state is not None:
                after[own] = theirs.state
        return Decision(action, after, decision.extras)

    def games(self, arenas: I64, leads: Sequence[float]) -> list[Game | None]:
        """Return the games of these arenas, each by how much the first side won; None where one is not rated."""
        games: list[Game | None] = []
        for arena, ahead in zip(arenas.tolist(), leads, strict=True):
            slot = int(self._opponent[arena])
            points = 0.5 + 0.5 * float(np.sign(ahead) * (1.0 if self._side[arena] else -1.0))
            step = LATEST if slot in (LATEST, self.pool.fixed) else int(self.pool.taken[slot])
            games.append(Game(slot, points, step) if self._rated[arena] else None)
        return games

    # --- learning ---------------------------------------------------------------------------------------------------

    def observe(self, experience: Any) -> None:
        """Hand the learner all rows, those of its opponents as invalid."""
        parts: tuple[Experience, ...] = experience if isinstance(experience, tuple) else (experience,)
        names = ("observation", "action", "reward", "next_observation", "terminated", "truncated")
        joined = {name: _joined([getattr(part, name) for part in parts]) for name in names}
        valid = self._drivers() == LATEST
        if any(part.valid is not None for part in parts):
            valid &= _joined([np.ones(len(p.reward), bool) if p.valid is None else p.valid for p in parts])
        self.learner.observe(Experience(**joined, valid=valid, extras=parts[0].extras))
        self._steps += self._everywhere

    def learn(self, progress: float) -> Iterator[None]:
        """Update the learner."""
        return self.learner.learn(progress)

    def metrics(self) -> Mapping[str, float]:
        """Return the learner's newest numbers."""
        return self.learner.metrics()

    def is_finite(self) -> bool:
        """Tell whether every parameter of the learner is a finite number."""
        return self.learner.is_finite()

    def parameters_sha256(self) -> str:
        """Return the SHA-256 of the learner's parameters."""
        return self.learner.parameters_sha256()

    # --- its state --------------------------------------------------------------------------------------------------

    def policy_state(self) -> State:
        """Return the learner's policy, under the name of each policy where there are two: they play like any others."""
        if len(self._specs) == 1:
            return self.learner.policy_state()
        # Copies for each: a file holds no tensor twice.
        states = [prefixed(spec.name, self.learner.policy_state()) for spec in self._specs]
        return {name: tensor for policy in states for name, tensor in policy.items()}

    def load_policy_state(self, state: State) -> None:
        """Take over the first side's policy."""
        self.learner.load_policy_state(state if len(self._specs) == 1 else under(self._specs[0].name, state))

    def _parts(self) -> Parts:
        return {"steps": Attribute(self, "_steps"), "entered": Attribute(self, "_entered"), **self._drawn}

    def state(self) -> State:
        """Return the states of the learner, of the pool, and who plays whom in every arena."""
        own = prefixed("game", copies(self._parts()))
        return prefixed("learner", self.learner.state()) | prefixed("pool", self.pool.state()) | own

    def share_out(self, states: Sequence[State], rank: int, size: int) -> None:
        """Go on as process `rank` of `size` where another number stopped; every arena draws a new opponent."""
        assert isinstance(self.learner, SharesOut)
        self.learner.share_out([under("learner", state) for state in states], rank, size)
        self.pool.load_state(under("pool", states[0]))
        game = under("game", states[0])
        self._steps, self._entered = int(game["steps"]), int(game["entered"])

    def load_state(self, state: State) -> None:
        """Continue exactly where `state` was taken."""
        game = under("game", state)
        check_loadable(self._parts(), game)
        check_count(game, "steps")
        opponent = game["opponent"]
        if not LATEST <= int(opponent.min()) <= int(opponent.max()) <= self.pool.fixed:
            raise CheckpointError("the saved games are against opponents that no pool of this size has")
        if not set(game["side"].tolist()) <= {0, 1}:
            raise CheckpointError("the saved games have an opponent on a side that is no side; use another checkpoint")
        self.learner.load_state(under("learner", state))
        self.pool.load_state(under("pool", state))
        load(self._parts(), game)


def _joined(parts: Sequence[Any]) -> Any:
    """Return the rows of all parts, shared where there is one part alone."""
    return parts[0] if len(parts) == 1 else np.concatenate(parts)
