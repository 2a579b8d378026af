"""Proximal policy optimisation (Schulman et al. 2017): sample with the policy, then improve it a bounded step.

A network with a memory learns from whole sequences: they set out from what was remembered as the rollout began, which
is one update old at most, or with `burn_in` some ticks before that, which are played again and do not count. They are
played again in every epoch, and begin anew where an episode did.

Read from top to bottom: `act` decides, `observe` takes complete transitions into the rollout, `learn` improves both
networks once the rollout is full. The agent keeps the state of an update: `learn` goes on after a save and a load.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np
import torch
from torch import Tensor

from ecs_rl.agents.actor_critic import Exchange, Seen, Sequences, actor_critic, shapes_of_actor_critic
from ecs_rl.agents.base import Demonstration, PolicyOutput, State
from ecs_rl.agents.config import PPOConfig, learning_rate
from ecs_rl.agents.explain import log_probabilities
from ecs_rl.agents.heads import Head, head_of
from ecs_rl.agents.imitation import Examples, clone
from ecs_rl.agents.networks import Adam, Parameters, Shapes
from ecs_rl.agents.normalise import Normaliser, RewardScaler
from ecs_rl.agents.rollout import Rollout
from ecs_rl.agents.state import Attribute, Learner, Parts, check_count, prefixed, under
from ecs_rl.agents.worker import Workers
from ecs_rl.errors import CheckpointError, DivergedError
from ecs_rl.spaces import ActMode, Decision, Experience, Floats, PolicySpec

ADAM_EPSILON = 1e-5
"""As in the paper's own code; torch's 1e-8 makes the first steps of nearly flat parameters too large."""
UNIT = "value/unit"
"""The name of what a value of 1 is in the reward's own units; it is saved with the policy, older ones lack it."""
SPREAD = "policy/log_std"
"""The name of the logarithm of each lever's spread."""
UNKNOWN = torch.tensor(math.nan, dtype=torch.float64)
METRICS = ("loss/policy", "loss/value", "entropy", "kl", "clip_fraction", "explained_variance", "lr")


class PPO(Learner):
    """An on-policy learner for any actions, with networks for its policy and its value."""

    name = "ppo"
    Config = PPOConfig
    MAY_BE_UNKNOWN = (UNIT,)

    def __init__(self, spec: PolicySpec, config: PPOConfig, *, seed: int, rows: int, threads: int = 1) -> None:
        super().__init__(spec, self.shapes(spec, config), seed=seed, rows=rows, discount=config.gamma)
        self.config = config
        p = self._parameters
        self._networks = actor_critic(
            p, spec, config, head=self._head_in, workers=Workers(threads), generator=self._first
        )
        self._head = self._networks.heads[0]
        self.spec = replace(spec, state=self._networks.state)
        if SPREAD in p.value:
            p.value[SPREAD].fill_(config.log_std)
        self._adam = Adam(p, ADAM_EPSILON)
        self._good = p.flat.clone()  # as they were before the present update
        inputs = len(spec.observations)
        forms = () if config.network == "mlp" else spec.layout
        self._normaliser = Normaliser(inputs, config.normalise_observations, forms)
        self._rewards = RewardScaler(rows, config.gamma, config.normalise_rewards)
        action = torch.from_numpy(spec.actions.none(rows))
        lead = config.burn_in if self._networks.state else 0
        self._rollout = Rollout(config.rollout, inputs, action, self._networks.state, lead)
        self._step = 0  # minibatches of the present update that are done
        self._order = torch.empty(0, dtype=torch.int64)
        """This epoch's permutation of the rollout's transitions, or of its rows where those are remembered."""
        self._shuffled: dict[str, Tensor] = {}
        self._sums = torch.zeros(6)
        self._newest = torch.empty(0, dtype=torch.float64)  # the METRICS of the newest update

    @staticmethod
    def shapes(spec: PolicySpec, config: PPOConfig) -> Shapes:
        """Return the shape of every parameter; nothing is made."""
        log_std: Shapes = {SPREAD: (spec.actions.levers,)} if spec.actions.levers else {}
        return shapes_of_actor_critic(spec, config) | log_std

    def _head_in(self, parameters: Parameters) -> Head:
        """Return a head whose spreads and their gradient lie in these parameters."""
        none = torch.empty(0)
        return head_of(self.spec.actions, parameters.value.get(SPREAD, none), parameters.grad.get(SPREAD, none))

    # --- acting -----------------------------------------------------------------------------------------------------

    @torch.inference_mode()
    def act(self, observation: Floats, mode: ActMode, state: Floats | None = None) -> Decision:
        """Decide for each row; exploring adds the normalised observation, the action's probability, and values."""
        self._check_observation(observation, self.rows if mode is ActMode.EXPLORE else None)
        x, before = self._normalised(observation), self._remembered(state, len(observation))
        if mode is not ActMode.EXPLORE:
            output, after = self._networks.policy(x, before)
            greedy = mode is ActMode.GREEDY
            action = self._head.best(output) if greedy else self._head.sample(output, self._sample_random)[0]
            return Decision(action.numpy(), after.numpy() if self.spec.state else None)
        output, value, after = self._networks.explore(x, before)
        action, log_prob = self._head.sample(output, self._random)
        extras = {"observation": x, "log_prob": log_prob, **value}
        if self.spec.state:
            extras |= {"state": before, "state_after": after}
        told = {name: tensor.numpy() for name, tensor in extras.items()}
        return Decision(action.numpy(), told.get("state_after"), told)

    def _normalised(self, observation: Floats) -> Tensor:
        x = torch.empty(observation.shape)
        self._normaliser.apply(observation, out=x.numpy())
        return x

    def _remembered(self, state: Floats | None, rows: int) -> Tensor:
        """Return a copy of what is remembered, zeros where it is not told; its owner may write the next over it."""
        if state is None:
            return torch.zeros(rows, self.spec.state)
        if state.shape != (wanted := (rows, self.spec.state)):
            raise ValueError(f"{self.spec.name}: the state has shape {state.shape}, this agent remembers {wanted}")
        return torch.tensor(state, dtype=torch.float32)

    # --- gathering --------------------------------------------------------------------------------------------------

    @torch.inference_mode()
    def observe(self, experience: Experience) -> None:
        """Add complete transitions to the rollout and to the running statistics."""
        rollout, t, valid = self._rollout, self._rollout.size, experience.valid
        if rollout.is_full:
            raise RuntimeError("the rollout is full: run learn() to its end before observing further")
        if not experience.extras:
            raise ValueError("PPO learns from its own decisions: pass the extras of the decision with the experience")
        self._check_observation(experience.next_observation, self.rows)
        if valid is not None and valid.all():
            valid = None
        ended = experience.terminated | experience.truncated
        cut = experience.truncated if valid is None else experience.truncated & valid

        self._normaliser.update(experience.observation if valid is None else experience.observation[valid])
        self._rewards.scale(experience.reward, ended, valid, out=rollout.arrays["reward"][t])
        told = experience.extras
        for name in told.keys() & {"observation", "log_prob", "value"}:
            rollout.arrays[name][t] = told[name]
        if self.spec.state:
            rollout.note_state(told["state"])
        rollout.arrays["action"][t] = experience.action
        rollout.arrays["ended"][t] = ended
        rollout.arrays["valid"][t] = True if valid is None else valid
        rollout.arrays["final_value"][t] = 0.0
        if cut.any():
            last = self._normalised(experience.next_observation[cut])
            after = self._remembered(told["state_after"][cut] if self.spec.state else None, len(last))
            rollout.arrays["final_value"][t, cut] = self._networks.value(last, after).numpy()
        rollout.size += 1
        if rollout.is_full:
            self._normaliser.apply(experience.next_observation, out=rollout.last_observation.numpy())
            if self.spec.state:
                rollout.last_state.numpy()[...] = told["state_after"]

    def share_learning(self, exchange: Exchange, rows: int) -> None:
        """Let processes that have all gathered the same share out the work on minibatches of so many rows or more."""
        self._networks.exchange, self._networks.enough = exchange, rows

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
        n = self._items() if self._step == 0 else len(self._order)
        size = self.config.minibatch / (self.config.rollout if self.spec.state else 1)
        per_epoch = min(n, math.ceil(n / size))
        steps = per_epoch * self.config.epochs
        if n > 0:
            k = self._step % per_epoch
            if k == 0:
                self._order = self._shuffle()
                self._shuffled = {}
            # Parts as equal as can be: a last minibatch of a few rows would be a step of pure noise.
            kl = self._descend(slice(k * n // per_epoch, (k + 1) * n // per_epoch), lr)
            self._step += 1
            if self._step < steps and not 0.0 < self.config.target_kl < kl:
                return True
        self._end(lr)
        return False

    def _begin(self) -> None:
        c, rollout = self.config, self._rollout
        if self._networks.values_wait:
            rollout.flat("value").copy_(self._networks.values(rollout.flat("observation")))
        last_value = self._networks.value(rollout.last_observation, rollout.last_state)
        rollout.finish(last_value.numpy(), c.gamma, c.gae_lambda)
        self._sums.zero_()
        self._good.copy_(self._parameters.flat)

    def _items(self) -> int:
        """Return how many transitions there are to learn from, or how many rows that have any."""
        valid = self._rollout.tensors["valid"]
        return int((valid.any(0) if self.spec.state else valid).sum())

    def _shuffle(self) -> Tensor:
        valid = self._rollout.tensors["valid"].any(0) if self.spec.state else self._rollout.flat("valid")
        if bool(valid.all()):
            return torch.randperm(len(valid), generator=self._random)
        rows = valid.nonzero().squeeze(1)
        return rows[torch.randperm(len(rows), generator=self._random)]

    def _descend(self, part: slice, lr: float) -> float:
        """Take one step down the gradient of PPO's loss on these rows of the shuffled rollout; return the KL."""
        c = self.config
        seen, action, old_log_prob, advantage, returns, old_value = self._batch(part)
        n = len(seen)
        if c.normalise_advantages:
            std, mean = torch.std_mean(advantage, correction=0)
            advantage = (advantage - mean).div_(std + 1e-8)

        def policy_step(head: Head, rows: slice, output: Tensor) -> tuple[Tensor, Tensor]:
            share = (rows.stop - rows.start) / n
            log_prob, entropy = head.forward(output, action[rows])
            log_ratio = log_prob - old_log_prob[rows]
            ratio = log_ratio.exp()
            loss, log_prob_grad = clipped_objective(ratio, advantage[rows], c.clip, share)
            grad = head.backward(log_prob_grad, -c.entropy * share)
            kl = ((ratio - 1.0).sub_(log_ratio)).mean() * share
            clipped = (ratio.sub_(1.0).abs_() > c.clip).sum() / n
            return torch.stack([loss, entropy * share, kl, clipped]), grad

        def value_step(rows: slice, value: Tensor) -> tuple[Tensor, Tensor]:
            share = (rows.stop - rows.start) / n
            return value_objective(returns[rows], old_value[rows], c.value_clip, c.value_weight, value, share=share)

        told, value_loss = self._networks.learn(seen, policy_step, value_step)
        policy_loss, entropy, kl, clipped = told
        norm = self._parameters.clip_gradient(c.max_grad_norm)
        if not (math.isfinite(norm) and math.isfinite(float(policy_loss + value_loss))):
            # A step that ruins the networks leaves them finite, and only the next one shows it.
            self._parameters.flat.copy_(self._good)
            raise DivergedError(
                f"PPO diverged: policy loss {float(policy_loss):g}, value loss {float(value_loss):g}, "
                f"gradient {norm:g}; the parameters from before this update were kept. "
                "Try a lower ppo.lr, or look for huge rewards and observations"
            )
        self._adam.step(lr)
        self._sums += torch.stack([policy_loss, value_loss, entropy, kl, clipped, torch.ones(())])
        return float(kl) if c.target_kl else 0.0

    def _batch(self, part: slice) -> tuple[Seen, Tensor, Tensor, Tensor, Tensor, Tensor]:
        """Return what is seen, the action, its log-probability, the advantage, the return and the value then."""
        rollout, names = self._rollout, ("action", "log_prob", "advantage", "returns", "value")
        if not self.spec.state:
            if not self._shuffled:
                flat = {name: rollout.flat(name) for name in ("observation", *names)}
                self._shuffled = {name: tensor.index_select(0, self._order) for name, tensor in flat.items()}
            x, *others = (tensor[part] for tensor in self._shuffled.values())
            seen: Seen = x
        else:
            rows = self._order[part]
            counts = rollout.tensors["valid"].index_select(1, rows).flatten().nonzero().squeeze(1)
            flat = {name: rollout.tensors[name].index_select(1, rows).flatten(0, 1) for name in names}
            others = [tensor.index_select(0, counts) for tensor in flat.values()]
            seen = Sequences(*rollout.sequences(rows), counts + rollout.lead.size * len(rows))
        action, log_prob, advantage, returns, value = others
        return seen, action, log_prob, advantage, returns, value

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
        self._step, self._order, self._shuffled = 0, self._order[:0], {}
        self._rollout.clear()

    @torch.inference_mode()
    def imitate(self, shown: Sequence[Demonstration]) -> float:
        """Make what was shown probable, and expect what came of it; return the share of it that is best now."""
        examples = Examples.of(shown, self._normaliser, self._rewards, self.config.gamma, memory=bool(self.spec.state))
        return clone(examples, self._networks, self._parameters, self._adam, config=self.config, random=self._random)

    # --- what others ask --------------------------------------------------------------------------------------------

    @torch.inference_mode()
    def introspect(self, observation: Floats, state: Floats | None = None) -> PolicyOutput:
        """Return each choice's probability or each lever's mean and spread, and each row's value."""
        self._check_observation(observation, None)
        output, told, _ = self._networks.both(self._normalised(observation), self._remembered(state, len(observation)))
        value = told.numpy().astype(np.float64)
        value *= self._rewards.unit if 0.0 < self._rewards.unit < math.inf else math.nan
        does, spread = self._head.shown(output)
        return PolicyOutput(self._head.kind, does.numpy(), None if spread is None else spread.numpy(), value)

    def inputs(self, observation: Floats) -> Tensor:
        """Return (rows, numbers) what the networks are given for observations."""
        return self._normalised(observation)

    def traced(self, x: Tensor, state: Tensor) -> Tensor:
        """Return each option's log-probability and each lever's mean, by operations that autograd follows."""
        return log_probabilities(self._networks.traced(x, state), self.spec.actions)

    def metrics(self) -> Mapping[str, float]:
        """Return the mean numbers of the newest update, empty before the first."""
        return dict(zip(METRICS, self._newest.tolist(), strict=False))

    # --- its state --------------------------------------------------------------------------------------------------

    def _policy_parts(self) -> Parts:
        normaliser = prefixed("normaliser", self._normaliser.moments.parts)
        return {
            **self._parameters.value,
            **self._parameters.buffers,
            **normaliser,
            UNIT: torch.from_numpy(self._rewards.unit),
        }

    def _learning_parts(self) -> Parts:
        return {
            **prefixed("adam", self._adam.moments),
            **prefixed("rewards", self._rewards.parts),
            **prefixed("rollout", self._rollout.parts),
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
        self._normaliser.refresh()

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
        self._normaliser.refresh()
        self._good.copy_(self._parameters.flat)
        self._shuffled = {}


def _renamed(state: State) -> State:
    """Return a state in which the value's unit may have an earlier name."""
    return {UNIT if name.endswith("/unit") else name: tensor for name, tensor in state.items()}


def clipped_objective(ratio: Tensor, advantage: Tensor, clip: float, share: float = 1.0) -> tuple[Tensor, Tensor]:
    """Return PPO's policy loss and its gradient by each log-probability, times these rows' share of the minibatch.

    d ratio / d log p is the ratio itself, so where the unclipped term is the smaller one the gradient is that term.
    """
    unclipped = ratio * advantage
    clipped = ratio.clamp(1.0 - clip, 1.0 + clip).mul_(advantage)
    grad = torch.where(unclipped <= clipped, unclipped, 0.0).mul_(-share / len(ratio))
    return -torch.minimum(unclipped, clipped).mean() * share, grad


def value_objective(
    returns: Tensor, before: Tensor, clip: float, weight: float, value: Tensor, *, share: float = 1.0
) -> tuple[Tensor, Tensor]:
    """Return the mean squared error of (rows,) values, and the gradient of `weight` times that by each.

    Both are times `share`, these rows' of the minibatch.

    With a `clip` the worse counts of the value and of one that has moved no further than that from where it was
    `before`: a value that has gone too far in the right direction gets no gradient.
    """
    error = value - returns
    if not clip:
        loss = torch.dot(error, error) / len(error)
    else:
        held = before + (value - before).clamp_(-clip, clip) - returns
        loss = torch.maximum(error.square(), held.square()).mean()
        error = torch.where(held.square() > error.square(), 0.0, error)
    return loss * share, error.mul_(2.0 * weight * share / len(error))
