"""What learners from a replay memory share: store transitions, count the gradient steps that are due, take them.

Read from top to bottom: `observe` fills the memory, `learn` takes the steps. Each step pays off its own share of what
is due, so an update that is dropped halfway goes on later. `imitate` learns from demonstrations first and keeps them in
the memory. An algorithm adds how it acts, its gradient step `descend`, and its targets.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from statistics import fmean

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ecs_rl.agents.base import Demonstration, State
from ecs_rl.agents.imitation import Batch as Example
from ecs_rl.agents.imitation import Examples, check_held, transitions
from ecs_rl.agents.learner import Learner
from ecs_rl.agents.networks import Adam, Parameters
from ecs_rl.agents.nstep import NStep
from ecs_rl.agents.replay import Batch, Replay
from ecs_rl.agents.state import Attribute, Parts, check_count, copies, prefixed, under
from ecs_rl.errors import CheckpointError, CommandError
from ecs_rl.spaces import Experience

ADAM_EPSILON = 1e-8
IMITATING = 2_000
"""Gradient steps of imitation; values have a long way to go from zero."""
HOLD, SMALLEST = 0.5, 1e-3
"""How strongly demonstrations are held to, as a share of the spread of their returns, which is at least SMALLEST."""


class ReplayLearner(Learner):
    """A learner from transitions drawn out of a replay memory."""

    OWN = (*Learner.OWN, "waiting/", "memory/")
    _targets: Parameters
    """Those of the target networks, which an algorithm makes."""
    _followed: Parameters
    """Those that the targets follow, name by name."""

    def _build(self, threads: int) -> None:
        """Make memory and counters, of which the processes of a group have a share each."""
        torch.set_num_threads(1)  # a replayed batch is too small to share out
        c, inputs, columns = self.config, len(self.spec.numbers), self.spec.actions.columns
        n_step, priority = self._replays
        self._unfinished = NStep(n_step, self.rows, inputs, columns, c.gamma)
        self._memory = Replay(self._group.share(c.memory), inputs, columns, priority)
        self._batch = self._group.share(c.batch)
        """Transitions that this process draws for a gradient step."""
        self._actions = slice(2 * inputs, 2 * inputs + columns)  # the actions in a row of the memory
        self._held = torch.zeros(2, dtype=torch.float64)  # how many demonstrated decisions stay, and how strongly
        self._seen = 0  # valid transitions so far
        self._steps = 0  # gradient steps so far
        self._due = 0.0  # what `_per_row` has brought and no gradient step has paid off
        self._newest = torch.zeros(len(self.METRICS), dtype=torch.float64)

    def _begin_steps(self, parameters: Parameters, *parts: Parameters) -> None:
        """Let one optimiser move these parameters, which have their first values, or an optimiser for each part."""
        self._learns, self._adams = parameters, [Adam(part, ADAM_EPSILON) for part in parts or (parameters,)]
        self._gradients = [adam.grad for adam in self._adams]
        self._sound = parameters.flat.clone()  # the newest that gave a finite gradient

    # --- what an algorithm says -------------------------------------------------------------------------------------

    @property
    def _replays(self) -> tuple[int, float]:
        """Ticks of rewards in a transition, and how strongly transitions with large errors are preferred."""
        return 1, 0.0

    @property
    def _per_row(self) -> float:
        """What a transition after the warm-up adds to what is due."""
        return float(self.config.updates_per_step)

    @property
    def _per_step(self) -> float:
        """What a gradient step takes off what is due."""
        return 1.0

    @abstractmethod
    def descend(self, batch: Batch, progress: float) -> None:
        """Take one gradient step on drawn, normalised transitions."""

    @abstractmethod
    def _imitate(self, batch: Example) -> float:
        """Take one gradient step towards demonstrations; return the share of their actions that is best now."""

    def _begin_imitation(self, spread: float) -> None:
        """Prepare for demonstrations whose returns have this standard deviation."""

    def _target_parts(self) -> Parts:
        """Return the parameters of the networks that are no part of the policy."""
        return prefixed("target", self._targets.value)

    @abstractmethod
    def _are_actions(self, actions: Tensor) -> bool:
        """Return whether (rows, columns) of actions in a memory are possible ones."""

    # --- gathering --------------------------------------------------------------------------------------------------

    def observe(self, experience: Experience) -> None:
        """Store the valid transitions, and count the gradient steps that they bring due."""
        self._check_observation(experience.next_observation, self.rows)
        self._memory.add(self._unfinished.add(experience))
        valid = experience.valid
        self._normaliser.update(experience.observation if valid is None else experience.observation[valid])
        # Several processes take the same steps without a word, so they count what is not valid too.
        everything = self.rows * self._group.size
        new = everything if valid is None or self._group.size > 1 else int(np.count_nonzero(valid))
        before, self._seen = self._seen, self._seen + new
        self._due += self._per_row * max(0, self._seen - max(before, self.config.warm_up))
        self._end_tick()

    def remember(self, episodes: Sequence[Demonstration], *, stay: bool = False) -> None:
        """Store all transitions of recorded episodes; CommandError, with nothing stored, if they do not all fit.

        With `stay` they stay while the agent acts, and may fill half of its memory.
        """
        rows, _ = transitions(episodes, self._unfinished.steps, self.config.gamma)
        share = 2 if stay else 1
        if share * len(rows) > self._memory.capacity:
            problem = f"there are {len(rows):,} transitions, and its memory holds {self._memory.capacity // share:,}"
            cure = f"add --{self.name}.memory {share * len(rows)}"
            raise CommandError(f"{self.name} learns from all data at once: {problem}: {cure}")
        for episode in episodes:
            self._normaliser.update(episode.observation)
        self._normaliser.moments.settle()  # the networks learn the data at this scale, and keep it when they act
        if stay:
            self._held[0] = self._memory.keep(rows, np.ones(len(rows), bool))
        else:
            self._memory.add(rows)

    def study(self, steps: int) -> None:
        """Let `learn` take so many gradient steps more, if anything is stored."""
        self._due += steps * self._per_step if self._memory.size else 0.0

    # --- learning ---------------------------------------------------------------------------------------------------

    def learn(self, progress: float) -> Iterator[None]:
        """Take the gradient steps that are due, yielding between them."""
        per_step = self._per_step
        while self._due >= per_step and (self._memory.size or self._group.size > 1):
            self.learn_once(progress)
            self._due -= per_step
            if self._due >= per_step:
                yield

    @torch.inference_mode()
    @np.errstate(all="ignore")  # what overflows is found by `_check_step`
    def learn_once(self, progress: float) -> None:
        """Take one gradient step on transitions drawn from the memory."""
        batch = self._memory.draw(self._batch, self._random, self._correction(progress))
        if self._normaliser.active:
            for seen in (batch.observation, batch.next_observation):
                self._normaliser.apply(seen.numpy(), out=seen.numpy())
        self.descend(batch, progress)
        self._steps += 1

    def _correction(self, progress: float) -> float:
        """Return the exponent of the importance weights of transitions that are drawn by priority."""
        return 1.0

    @property
    def _is_last(self) -> bool:
        """Whether this gradient step is the last one of those that are due now, so that its numbers will be read."""
        return self._steps == 0 or self._due < 2.0 * self._per_step

    def _demonstrated(self, batch: Batch) -> NDArray[np.int64]:
        """Return which transitions of a batch are demonstrations that it holds to; what it remembers is none."""
        if not self._held[1]:
            return np.zeros(0, np.int64)
        return (batch.rows < self._memory.demonstrated).nonzero()[0]

    def _gradient(self, loss: float, parts: int | None = None) -> tuple[float, float]:
        """Let the gradients of the first `parts` optimisers, or of all, and the loss be their means over all processes.

        A process whose memory is still empty has nothing to say. Returns the norms of the gradients, added up, and the
        loss, as exact as float32 has it in any group.
        """
        gradients = self._gradients[:parts]
        if self._group.size > 1:
            mean = torch.tensor([loss])
            self._group.mean(*gradients, mean, weight=float(self._memory.size > 0))
            loss = float(mean)
        return sum([float(torch.linalg.vector_norm(gradient)) for gradient in gradients]), float(np.float32(loss))

    def _copy_to_targets(self) -> None:
        """Make every target network equal to the one that it follows."""
        self._targets.flat.copy_(self._followed.flat)

    def _move(self, lr: float, parts: int | None = None) -> None:
        """Take the step of the first `parts` optimisers, or of all, now that the gradient is known to be finite."""
        self._sound.copy_(self._learns.flat)
        for adam in self._adams[:parts]:
            adam.step(lr)

    @torch.inference_mode()
    def imitate(self, episodes: Sequence[Demonstration]) -> float:
        """Learn to act as in the episodes, and what came of it; return the share of their actions that is best now.

        Their transitions stay in the memory, and are held to while learning goes on (Hester et al. 2018).
        """
        c = self.config
        examples = Examples.of(episodes, self._normaliser, None, c.gamma)
        spread = max(float(examples.returns.std()), SMALLEST)
        stay = self._memory.keep(*transitions(episodes, self._unfinished.steps, c.gamma))
        self._held[:] = torch.tensor((stay, HOLD * spread))
        self._begin_imitation(spread)
        shares = []
        for batch in examples.batches(self._random, steps=IMITATING):
            shares.append(self._imitate(batch))
            self._group.mean(*self._gradients)
            for adam in self._adams:
                adam.step(c.lr)
        self._copy_to_targets()
        for adam in self._adams:
            adam.forget()
        self._sound.copy_(self._learns.flat)
        return fmean(shares[-10:])

    # --- what others ask --------------------------------------------------------------------------------------------

    def metrics(self) -> Mapping[str, float]:
        """Return the numbers of the newest gradient step, empty before the first."""
        return super().metrics() if self._steps else {}

    def is_finite(self) -> bool:
        """Return whether every parameter of the policy and of what learns is a finite number."""
        return super().is_finite() and bool(torch.isfinite(self._learns.flat).all())

    # --- the state --------------------------------------------------------------------------------------------------

    def _policy_parts(self) -> Parts:
        return {**self._parameters.value, **prefixed("normaliser", self._normaliser.moments.parts)}

    def _learning_parts(self) -> Parts:
        moments = dict[str, Tensor]()
        for number, adam in enumerate(self._adams, 1):
            moments |= prefixed(f"adam{number}" if number > 1 else "adam", adam.moments)
        return {
            **self._target_parts(),
            **moments,
            **prefixed("waiting", self._unfinished.parts),
            **prefixed("memory", self._memory.parts),
            "shown": self._held,
            "count/seen": Attribute(self, "_seen"),
            "count/due": Attribute(self, "_due"),
            "count/steps": Attribute(self, "_steps"),
            "newest": self._newest,
        }

    def _check(self, state: State) -> None:
        check_count(state, "count/seen")
        check_count(state, "count/steps")
        memory, unfinished, due = under("memory", state), under("waiting", state), float(state["count/due"])
        self._memory.check(memory)
        self._unfinished.check(unfinished)
        rows = memory["rows"]
        check_held(state["shown"], len(rows))
        if not 0.0 <= due < math.inf:
            raise CheckpointError(f"the saved agent's count/due is {due:g}: it must not be negative")
        open_rows = unfinished["table"][unfinished["open"]]
        if not all(self._are_actions(some[:, self._actions]) for some in (rows, open_rows)):
            raise CheckpointError(f"the saved agent remembers actions that are none of {self.spec.actions.about}")

    def load_policy_state(self, state: State) -> None:
        """Take over a policy saved by `policy_state`, for what learns and for the targets too."""
        super().load_policy_state(state)
        self._learns.flat.copy_(self._parameters.flat)
        self._copy_to_targets()
        self._sound.copy_(self._learns.flat)

    def share_out(self, states: Sequence[State], rank: int, size: int) -> None:
        """Go on as process `rank` of `size` where another number stopped, with a share of what they all remember."""
        super().share_out(states, rank, size)
        rows, stays = list[Tensor](), list[Tensor]()
        for state in states:
            held, table = int(state["shown"][0]), state["memory/rows"]
            following = int(state["memory/next"])
            oldest = following - held if following < len(table) else 0  # the ring was full
            rows += [table[:held][rank::size], table[held:].roll(-oldest, 0)[rank::size]]
            stays += [torch.full((len(part),), i == 0) for i, part in enumerate(rows[-2:])]
        self._held[0] = self._memory.keep(torch.cat(rows).numpy(), torch.cat(stays).numpy())

    def load_state(self, state: State) -> None:
        """Continue exactly where `state` was taken."""
        if "memory/table" in state:
            raise CheckpointError(
                "this checkpoint is of an older version, whose replay memory this one cannot go on with: play it, or "
                "start a new run from its policy with --init-from"
            )
        older = {"shown": torch.zeros_like(self._held)}  # some files lack it
        if self._unfinished.steps == 1:
            older |= prefixed("waiting", copies(self._unfinished.parts))
        due = {name: state[name].to(torch.float64) for name in state.keys() & {"count/due"}}  # older ones are whole
        super().load_state({**older, **state, **due})
        self._memory.demonstrated = int(self._held[0])
        self._memory.refresh()
        self._sound.copy_(self._learns.flat)
