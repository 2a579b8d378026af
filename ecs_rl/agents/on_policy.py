"""What on-policy learners share: collect a rollout, learn from it in minibatches, forget it.

A network with a memory learns from whole sequences: they begin with what was remembered as the rollout began, which is
one update old at most, or with `burn_in` some ticks before that, which are played again and do not count. Sequences are
played again in every epoch. Memory is reset where an episode begins.

Read from top to bottom: `act` decides, `observe` takes complete transitions into the rollout, `learn` improves both
networks once the rollout is full. The state holds the update too: `learn` goes on inside it after a save and a load. An
algorithm adds its objective: `gradient`.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from statistics import fmean

import numpy as np
import torch
from torch import Tensor

from ecs_rl.agents.actor_critic import Seen, Sequences, actor_critic, inputs_of, shapes_of_actor_critic
from ecs_rl.agents.base import Demonstration, PolicyOutput, State
from ecs_rl.agents.config import PPOConfig, learning_rate
from ecs_rl.agents.curiosity import Curiosity
from ecs_rl.agents.explain import log_probabilities
from ecs_rl.agents.heads import SPREAD, head_of, spread_shapes
from ecs_rl.agents.imitation import LEAST_LOG_STD, Examples
from ecs_rl.agents.learner import Learner
from ecs_rl.agents.networks import Adam, Shapes
from ecs_rl.agents.normalise import RewardScaler, SharedMoments
from ecs_rl.agents.policy_heads import DISTRIBUTION
from ecs_rl.agents.rollout import Rollout
from ecs_rl.agents.state import Attribute, Parts, check_count, prefixed, under
from ecs_rl.agents.worker import Workers
from ecs_rl.errors import CheckpointError
from ecs_rl.spaces import ActMode, Decision, Experience, Floats, Layout, PolicySpec

ADAM_EPSILON = 1e-5
"""As in the code of PPO's paper; torch's 1e-8 makes the first steps of nearly flat parameters too large."""
UNIT = "value/unit"
"""The name of the reward that a value of 1 stands for; it is saved with the policy, older ones lack it."""
UNKNOWN = torch.tensor(math.nan, dtype=torch.float64)
LEARNED_FROM = ("action", "log_prob", "advantage", "returns", "value")
"""Parts of a rollout that a minibatch has beside what was seen."""


@dataclass(slots=True)
class Minibatch:
    """Transitions of one gradient step; all but `seen` are (transitions, ...)."""

    seen: Seen
    action: Tensor
    log_prob: Tensor
    """The action's log-probability when it was chosen."""
    advantage: Tensor
    returns: Tensor
    value: Tensor
    """What the value network said when the action was chosen."""
    total: int
    """Transitions in the whole gradient step, of which these may be a part."""


class OnPolicy(Learner):
    """A learner for any actions, with networks for its policy and its value, that learns from its newest rollout."""

    HEAD = DISTRIBUTION
    MAY_BE_UNKNOWN = (UNIT,)
    OWN = (*Learner.OWN, "rollout/", "update/", "rewards/returns")
    LOSSES = 5
    """How many numbers `gradient` returns."""
    config: PPOConfig

    def _scaled_together(self) -> Layout:
        return () if self.config.network == "mlp" else self.spec.layout

    def _build(self, threads: int) -> None:
        spec, config, rows, p = self.spec, self.config, self.rows, self._parameters
        self._networks = actor_critic(
            p, spec, config, head=partial(head_of, spec.actions), workers=Workers(threads), generator=self._first
        )
        self._head = self._networks.heads[0]
        self.spec = replace(self.spec, state=self._networks.state)
        if SPREAD in p.value:
            p.value[SPREAD].fill_(config.log_std)
        self._adam = Adam(p, ADAM_EPSILON)
        self._sound.copy_(p.flat)  # as they were before the present update
        self._rewards = RewardScaler(rows, config.gamma, config.normalise_rewards, self._group)
        action = torch.from_numpy(spec.actions.none(rows))
        lead = config.burn_in if self._networks.state else 0
        self._rollout = Rollout(config.rollout, len(spec.numbers), action, self._networks.state, lead)
        self._curiosity: Curiosity | None = None
        if config.curiosity:
            self._curiosity = Curiosity(len(spec.numbers), config.curiosity, self._first, self._group)
        self._step = 0  # minibatches of the present update that are done
        self._per_epoch = 0  # how many an epoch has, 0 until that is known
        self._order = torch.empty(0, dtype=torch.int64)
        """This epoch's permutation of the rollout's transitions, or of its rows where those are remembered."""
        self._shuffled: dict[str, Tensor] = {}
        self._scales: list[tuple[Tensor, Tensor]] = []
        """Deviation and mean of the advantages in each of this epoch's minibatches, those of all processes together."""
        self._one = torch.ones(1)
        self._sums = torch.zeros(self.LOSSES + 1)  # of what `gradient` returned in this update, and how often

    @staticmethod
    def shapes(spec: PolicySpec, config: PPOConfig) -> Shapes:
        """Return the shape of every parameter; nothing is made."""
        return shapes_of_actor_critic(spec, config) | spread_shapes(spec.actions)

    @abstractmethod
    def gradient(self, batch: Minibatch) -> Tensor:
        """Write the gradient of the algorithm's loss; return (LOSSES,) numbers: policy loss, value loss, and others.

        The loss is a mean over `batch.total` transitions: gradients and numbers of the parts of a step add up.
        """

    def is_enough(self, losses: Tensor) -> bool:
        """Return whether an update ends before its last epoch is over, by the numbers of its newest minibatch."""
        return False

    # --- acting -----------------------------------------------------------------------------------------------------

    @torch.inference_mode()
    def act(self, observation: Floats, mode: ActMode, state: Floats | None = None) -> Decision:
        """Decide for each row; exploring adds the normalised observation, the action's probability, and values."""
        self._check_observation(observation, self.rows if mode is ActMode.EXPLORE else None)
        x, before = self.inputs(observation), self._memory_of(state, len(observation))
        if mode is not ActMode.EXPLORE:
            output, after = self._networks.policy(x, before)
            greedy = mode is ActMode.GREEDY
            action = self._head.best(output) if greedy else self._head.sample(output, self._sample_random)[0]
            return Decision(action.numpy(), after.numpy() if self.spec.state else None)
        output, value, after = self._networks.explore(x, before)
        action, log_prob = self._head.sample(output, self._random)
        tensors = {"observation": x, "log_prob": log_prob, **value}
        if self.spec.state:
            tensors |= {"state": before, "state_after": after}
        extras = {name: tensor.numpy() for name, tensor in tensors.items()}
        return Decision(action.numpy(), extras.get("state_after"), extras)

    def _memory_of(self, state: Floats | None, rows: int) -> Tensor:
        """Return a copy of (rows, state) what is remembered, zeros for None; its owner may overwrite the original."""
        if state is None:
            return torch.zeros(rows, self.spec.state)
        if state.shape != (wanted := (rows, self.spec.state)):
            raise ValueError(f"{self.spec.name}: the state has shape {state.shape}, this agent remembers {wanted}")
        return torch.tensor(state, dtype=torch.float32)

    # --- gathering --------------------------------------------------------------------------------------------------

    @torch.inference_mode()
    def observe(self, experience: Experience) -> None:
        """Add complete transitions to the rollout and to the running statistics."""
        rollout, t, valid, extras = self._rollout, self._rollout.size, experience.valid, experience.extras
        if rollout.is_full:
            raise RuntimeError("the rollout is full: run learn() to its end before observing further")
        if not extras:
            name = self.name.upper()
            raise ValueError(
                f"{name} learns from its own decisions: pass the extras of the decision with the experience"
            )
        self._check_observation(experience.next_observation, self.rows)
        if valid is not None and valid.all():
            valid = None
        ended = experience.terminated | experience.truncated
        cut = experience.truncated if valid is None else experience.truncated & valid

        self._normaliser.update(experience.observation if valid is None else experience.observation[valid])
        self._rewards.scale(experience.reward, ended, valid, out=rollout.arrays["reward"][t])
        if self._curiosity is not None:
            self._curiosity.pay(self.inputs(experience.next_observation), valid, rollout.arrays["reward"][t])
        for name in extras.keys() & {"observation", "log_prob", "value"}:
            rollout.arrays[name][t] = extras[name]
        if self.spec.state:
            rollout.note_state(extras["state"])
        rollout.arrays["action"][t] = experience.action
        rollout.arrays["ended"][t] = ended
        rollout.arrays["valid"][t] = True if valid is None else valid
        rollout.arrays["final_value"][t] = 0.0
        if cut.any():
            last = self.inputs(experience.next_observation[cut])
            after = self._memory_of(extras["state_after"][cut] if self.spec.state else None, len(last))
            rollout.arrays["final_value"][t, cut] = self._networks.value(last, after).numpy()
        rollout.size += 1
        if rollout.is_full:
            self._normaliser.apply(experience.next_observation, out=rollout.last_observation.numpy())
            if self.spec.state:
                rollout.last_state.numpy()[...] = extras["state_after"]
        self._end_tick()

    def _statistics(self) -> dict[str, SharedMoments]:
        return {**super()._statistics(), "rewards": self._rewards.moments}

    def _refresh(self) -> None:
        super()._refresh()
        self._rewards.refresh()

    # --- learning ---------------------------------------------------------------------------------------------------

    def learn(self, progress: float) -> Iterator[None]:
        """Make one full update if the rollout is full, yielding between minibatches."""
        if not self._rollout.is_full:
            return
        lr = learning_rate(self.config, progress)
        while self._minibatch(lr):
            yield

    @torch.inference_mode()
    def _minibatch(self, lr: float) -> bool:
        """Take one gradient step; return False once the update is complete and the rollout empty again."""
        if self._step == 0:
            self._begin()
        self._per_epoch = self._per_epoch or self._minibatches()
        if self._per_epoch:
            k = self._step % self._per_epoch
            if k == 0:
                self._order = self._shuffle()
                self._shuffled, self._scales = {}, []
            losses = self._descend(k, lr)
            self._step += 1
            if self._step < self._per_epoch * self.config.epochs and not self.is_enough(losses):
                return True
        self._end(lr)
        return False

    def _minibatches(self) -> int:
        """Return how many minibatches an epoch has: they share out what all processes have gathered."""
        n = int(self._group.total(torch.tensor(len(self._items()))))
        size = self.config.minibatch / (self.config.rollout if self.spec.state else 1)
        return min(n, math.ceil(n / size))

    def _part(self, k: int) -> slice:
        """Return where minibatch `k` lies in the shuffled rollout: parts as equal as can be, or the last is noise."""
        n = len(self._order)
        return slice(k * n // self._per_epoch, (k + 1) * n // self._per_epoch)

    def _begin(self) -> None:
        """Compute the rollout's advantages."""
        c, rollout = self.config, self._rollout
        if self._networks.values_wait:
            rollout.flat("value").copy_(self._networks.values(rollout.flat("observation")))
        last_value = self._networks.value(rollout.last_observation, rollout.last_state)
        rollout.finish(last_value.numpy(), c.gamma, c.gae_lambda)
        self._sums.zero_()
        self._sound.copy_(self._parameters.flat)

    def _items(self) -> Tensor:
        """Return the numbers of the transitions to learn from, or of the rows that have any."""
        valid = self._rollout.tensors["valid"].any(0) if self.spec.state else self._rollout.flat("valid")
        return valid.nonzero().squeeze(1)

    def _shuffle(self) -> Tensor:
        """Return the same in random order."""
        items = self._items()
        return items[torch.randperm(len(items), generator=self._random)]

    def _descend(self, k: int, lr: float) -> Tensor:
        """Take one step down the gradient of the loss on minibatch `k`; return the loss's numbers."""
        parts, gradient = self._parts_of(k), self._parameters.flat_grad
        losses = self.gradient(parts[0]) if parts else torch.zeros(self.LOSSES)
        if len(parts) != 1:
            added = gradient.clone() if parts else torch.zeros_like(gradient)
            for batch in parts[1:]:
                losses += self.gradient(batch)
                added += gradient
            gradient.copy_(added)
        self._group.mean(gradient, losses, weight=parts[0].total if parts else 0)
        norm = self._parameters.clip_gradient(self.config.max_grad_norm)
        policy_loss, value_loss, *_ = losses.tolist()
        self._check_step(norm, policy_loss=policy_loss, value_loss=value_loss)
        self._adam.step(lr)
        if self._curiosity is not None:
            self._curiosity.learn([inputs_of(batch.seen) for batch in parts], lr)
        self._sums += torch.cat([losses, self._one])
        return losses

    def _parts_of(self, k: int) -> list[Minibatch]:
        """Return minibatch `k` as the parts of a step, advantages scaled over all of them; none if it is empty here."""
        c, part = self.config, self._part(k)
        if c.normalise_advantages and not self._scales:
            self._scales = self._group.moments([self._advantages(self._part(i)) for i in range(self._per_epoch)])
        n = part.stop - part.start
        count = min(c.accumulate, n)
        edges = [part.start + i * n // count for i in range(count + 1)] if count else []
        parts = [self._batch(slice(*pair)) for pair in pairwise(edges)]
        total = sum(batch.total for batch in parts)
        for batch in parts:
            batch.total = total
            if c.normalise_advantages:
                std, mean = self._scales[k]
                batch.advantage = (batch.advantage - mean).div_(std + 1e-8)
        return parts

    def _advantages(self, part: slice) -> Tensor:
        """Return the advantages in these rows of the shuffled rollout."""
        if not self.spec.state:
            return self._rows()["advantage"][part]
        rows, rollout = self._order[part], self._rollout.tensors
        return rollout["advantage"].index_select(1, rows)[rollout["valid"].index_select(1, rows)]

    def _rows(self) -> dict[str, Tensor]:
        """Return the rollout as a policy without memory learns from it, in this epoch's order."""
        if not self._shuffled:
            flat = {name: self._rollout.flat(name) for name in ("observation", *LEARNED_FROM)}
            self._shuffled = {name: tensor.index_select(0, self._order) for name, tensor in flat.items()}
        return self._shuffled

    def _batch(self, part: slice) -> Minibatch:
        """Return these rows of the shuffled rollout."""
        if not self.spec.state:
            shuffled = self._rows()
            columns = {name: shuffled[name][part] for name in LEARNED_FROM}
            return Minibatch(shuffled["observation"][part], total=part.stop - part.start, **columns)
        rows, rollout = self._order[part], self._rollout
        counts = rollout.tensors["valid"].index_select(1, rows).flatten().nonzero().squeeze(1)
        flat = {name: rollout.tensors[name].index_select(1, rows).flatten(0, 1) for name in LEARNED_FROM}
        seen = Sequences(*rollout.sequences(rows), counts + rollout.lead.size * len(rows))
        columns = {name: tensor.index_select(0, counts) for name, tensor in flat.items()}
        return Minibatch(seen, total=len(counts), **columns)

    def _end(self, lr: float) -> None:
        """Note the update's mean numbers and make room for the next rollout."""
        *sums, steps = self._sums.tolist()
        if steps:
            valid = self._rollout.flat("valid")
            spread, unexplained = (
                float(self._rollout.flat(name)[valid].var(correction=0)) for name in ("returns", "advantage")
            )
            explained = 1.0 - unexplained / spread if spread else 0.0
            self._newest = torch.tensor([*(total / steps for total in sums), explained, lr], dtype=torch.float64)
        if self._curiosity is not None:
            self._curiosity.end_update()
        self._step, self._per_epoch, self._order, self._shuffled, self._scales = 0, 0, self._order[:0], {}, []
        self._rollout.clear()

    @torch.inference_mode()
    def imitate(self, episodes: Sequence[Demonstration]) -> float:
        """Make the actions probable and predict their returns; return the share of the actions that is best now."""
        c, p, memory, shares = self.config, self._parameters, self.spec.state, list[float]()
        examples = Examples.of(episodes, self._normaliser, self._rewards, c.gamma, memory=bool(memory))
        for batch in examples.batches(self._random, memory):
            share, _ = self._networks.learn(batch.seen, batch.policy_step, batch.value_step)
            shares.append(float(share))
            self._group.mean(p.flat_grad)
            p.clip_gradient(c.max_grad_norm)
            self._adam.step(c.lr)
            if SPREAD in p.value:
                p.value[SPREAD].clamp_(min=LEAST_LOG_STD)
        self._adam.forget()  # what comes next is learned from rewards
        return fmean(shares[-10:])

    # --- what others ask --------------------------------------------------------------------------------------------

    @torch.inference_mode()
    def introspect(self, observation: Floats, state: Floats | None = None) -> PolicyOutput:
        """Return each choice's probability or each lever's mean and spread, and each row's value."""
        self._check_observation(observation, None)
        memory = self._memory_of(state, len(observation))
        output, scaled, _ = self._networks.both(self.inputs(observation), memory)
        value = scaled.numpy().astype(np.float64)
        is_known = 0.0 < self._rewards.unit < math.inf and observation.shape[1] == self._width
        value *= self._rewards.unit if is_known else math.nan
        does, spread = self._head.describe(output)
        return PolicyOutput(self._head.kind, does.numpy(), None if spread is None else spread.numpy(), value)

    def traced(self, x: Tensor, state: Tensor) -> Tensor:
        """Return each option's log-probability and each lever's mean, by operations that autograd follows."""
        return log_probabilities(self._networks.policy(x, state)[0], self.spec.actions)

    # --- the state --------------------------------------------------------------------------------------------------

    def metrics(self) -> Mapping[str, float]:
        """Return the mean numbers of the newest update, empty before the first."""
        newest = super().metrics()
        if newest and self._curiosity is not None:
            newest = {**newest, "term/curiosity": float(self._curiosity.newest)}
        return newest

    def _policy_parts(self) -> Parts:
        normaliser = prefixed("normaliser", self._normaliser.moments.parts)
        unit = torch.from_numpy(self._rewards.unit)
        return {**self._parameters.value, **self._parameters.buffers, **normaliser, UNIT: unit}

    def _learning_parts(self) -> Parts:
        return {
            **prefixed("adam", self._adam.moments),
            **prefixed("rewards", self._rewards.parts),
            **prefixed("rollout", self._rollout.parts),
            **(prefixed("curiosity", self._curiosity.parts) if self._curiosity is not None else {}),
            "update/step": Attribute(self, "_step"),
            "update/order": Attribute(self, "_order"),
            "update/sums": self._sums,
            "metrics": Attribute(self, "_newest"),
        }

    def _check(self, state: State) -> None:
        check_count(state, "update/step")
        order, rows = state["update/order"], self.rows if self.spec.state else self.config.rollout * self.rows
        if len(order) > rows or (len(order) and not 0 <= int(order.min()) <= int(order.max()) < rows):
            raise CheckpointError(f"the saved agent's update/order names rows that a rollout of {rows} has not")
        self._rollout.check(under("rollout", state))

    def load_policy_state(self, state: State) -> None:
        """Take over a policy saved by `policy_state`; without the value's unit its values mean nothing."""
        super().load_policy_state({UNIT: UNKNOWN, **_renamed(state)})

    def restart(self, policy: State) -> None:
        """Go on learning from an earlier policy; what another one has gathered for the next update is dropped."""
        super().restart(policy)
        self._rollout.size = self._rollout.lead.size = 0

    def load_state(self, state: State) -> None:
        """Continue exactly where `state` was taken; where an older one lacks the value's unit, its rewards have it."""
        state = _renamed(state)
        super().load_state({UNIT: UNKNOWN, **state})
        if UNIT not in state:
            self._rewards.refresh()
        self._sound.copy_(self._parameters.flat)
        self._per_epoch, self._shuffled, self._scales = 0, {}, []


def _renamed(state: State) -> State:
    """Return a state in which the value's unit may have an earlier name."""
    return {UNIT if name.endswith("/unit") else name: tensor for name, tensor in state.items()}
