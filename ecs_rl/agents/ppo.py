"""Proximal policy optimisation (Schulman et al. 2017): sample with the policy, then improve it a bounded step.

Read from top to bottom: `act` decides, `observe` takes complete transitions into the rollout,
`learn` improves both networks once the rollout is full. Where an update stands is kept in the agent and not in the
generator that `learn` returns: one that is dropped halfway goes on at the next call, also after a save and a load.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

import numpy as np
import torch
from torch import Tensor

from ecs_rl.agents.base import ActMode, Decision, Experience, Floats, PolicyOutput, PolicySpec, State
from ecs_rl.agents.config import PPOConfig
from ecs_rl.agents.heads import Head, head_of
from ecs_rl.agents.networks import MLP, Adam, Shapes
from ecs_rl.agents.normalise import Normaliser, RewardScaler
from ecs_rl.agents.rollout import Rollout
from ecs_rl.agents.state import Attribute, Learner, Parts, check_count, prefixed, under
from ecs_rl.agents.worker import Worker
from ecs_rl.errors import CheckpointError, DivergedError

ADAM_EPSILON = 1e-5
"""As in the paper's own code; torch's 1e-8 makes the first steps of nearly flat parameters too large."""
UNIT = "value/unit"
"""The name of what a value of 1 is in the reward's own units; it is saved with the policy, older ones lack it."""
SPREAD = "policy/log_std"
"""The name of the logarithm of each lever's spread."""
UNKNOWN = torch.tensor(math.nan, dtype=torch.float64)
METRICS = ("loss/policy", "loss/value", "entropy", "kl", "clip_fraction", "explained_variance", "lr")


class PPO(Learner):
    """An on-policy learner for any actions, with a policy and a value network of their own."""

    name = "ppo"
    MAY_BE_UNKNOWN = (UNIT,)

    def __init__(self, spec: PolicySpec, config: PPOConfig, *, seed: int, rows: int, threads: int = 1) -> None:
        super().__init__(spec, self.shapes(spec, config), seed=seed, rows=rows, discount=config.gamma)
        self.config = config
        self._worker = Worker(threads)
        p, none = self._parameters, torch.empty(0)
        self._policy = MLP(p, "policy", len(config.hidden) + 1, config.activation)
        self._value = MLP(p, "value", len(config.hidden) + 1, config.activation)
        self._policy.initialise(self._first, head_gain=0.01)
        self._value.initialise(self._first, head_gain=1.0)
        log_std, log_std_grad = p.value.get(SPREAD, none).fill_(config.log_std), p.grad.get(SPREAD, none)
        self._head: Head = head_of(spec.actions, log_std, log_std_grad)
        self._adam = Adam(p, ADAM_EPSILON)
        self._good = p.flat.clone()  # as they were before the present update

        inputs = len(spec.observations)
        self._normaliser = Normaliser(inputs, config.normalise_observations)
        self._rewards = RewardScaler(rows, config.gamma, config.normalise_rewards)
        self._rollout = Rollout(config.rollout, inputs, torch.from_numpy(spec.actions.none(rows)))
        self._step = 0  # minibatches of the present update that are done
        self._order = torch.empty(0, dtype=torch.int64)  # this epoch's permutation of the rollout's rows
        self._shuffled: dict[str, Tensor] = {}
        self._sums = torch.zeros(6)
        self._newest = torch.empty(0, dtype=torch.float64)  # the METRICS of the newest update

    @staticmethod
    def shapes(spec: PolicySpec, config: PPOConfig) -> Shapes:
        """Return the shape of every parameter; nothing is made."""
        inputs = len(spec.observations)
        log_std: Shapes = {SPREAD: (spec.actions.levers,)} if spec.actions.levers else {}
        policy = MLP.shapes("policy", (inputs, *config.hidden, len(spec.actions.names)))
        return policy | MLP.shapes("value", (inputs, *config.hidden, 1)) | log_std

    # --- acting -----------------------------------------------------------------------------------------------------

    @torch.inference_mode()
    def act(self, observation: Floats, mode: ActMode, state: Floats | None = None) -> Decision:
        """Decide for each row; exploring adds the normalised observation, its value and the action's probability."""
        self._check_observation(observation, self.rows if mode is ActMode.EXPLORE else None)
        x = self._normalised(observation)
        if mode is not ActMode.EXPLORE:
            output = self._policy(x)
            if mode is ActMode.GREEDY:
                return Decision(self._head.best(output).numpy())
            return Decision(self._head.sample(output, self._sample_random)[0].numpy())
        value = self._worker.start(len(x), self._value, x)
        action, log_prob = self._head.sample(self._policy(x), self._random)
        extras = {"observation": x, "log_prob": log_prob, "value": value().squeeze(1)}
        return Decision(action.numpy(), extras={name: told.numpy() for name, told in extras.items()})

    def _normalised(self, observation: Floats) -> Tensor:
        x = torch.empty(observation.shape)
        self._normaliser.apply(observation, out=x.numpy())
        return x

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
        for name, told in experience.extras.items():
            rollout.arrays[name][t] = told
        rollout.arrays["action"][t] = experience.action
        rollout.arrays["ended"][t] = ended
        rollout.arrays["valid"][t] = True if valid is None else valid
        rollout.arrays["final_value"][t] = 0.0
        if cut.any():
            last = self._normalised(experience.next_observation[cut])
            rollout.arrays["final_value"][t, cut] = self._value(last).squeeze(1).numpy()
        rollout.size += 1
        if rollout.is_full:
            self._normaliser.apply(experience.next_observation, out=rollout.last_observation.numpy())

    # --- learning ---------------------------------------------------------------------------------------------------

    def learn(self, progress: float) -> Iterator[None]:
        """Make one full update if the rollout is full, yielding between minibatches."""
        if not self._rollout.is_full:
            return
        c = self.config
        fallen = (1.0 - c.lr_end) * min(max(progress, 0.0), 1.0) if c.lr_schedule == "linear" else 0.0
        lr = c.lr * (1.0 - fallen)
        while self._minibatch(lr):
            yield

    @torch.inference_mode()
    def _minibatch(self, lr: float) -> bool:
        """Take one gradient step; return False once the update is complete and the rollout empty again."""
        if self._step == 0:
            self._begin()
        n = int(self._rollout.tensors["valid"].sum()) if self._step == 0 else len(self._order)
        per_epoch = math.ceil(n / self.config.minibatch)
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
        rollout.finish(self._value(rollout.last_observation).squeeze(1).numpy(), c.gamma, c.gae_lambda)
        self._sums.zero_()
        self._good.copy_(self._parameters.flat)

    def _shuffle(self) -> Tensor:
        valid = self._rollout.flat("valid")
        if bool(valid.all()):
            return torch.randperm(len(valid), generator=self._random)
        rows = valid.nonzero().squeeze(1)
        return rows[torch.randperm(len(rows), generator=self._random)]

    def _descend(self, part: slice, lr: float) -> float:
        """Take one step down the gradient of PPO's loss on these rows of the shuffled rollout; return the KL."""
        c = self.config
        if not self._shuffled:
            names = ("observation", "action", "log_prob", "advantage", "returns")
            self._shuffled = {name: self._rollout.flat(name).index_select(0, self._order) for name in names}
        x, action, old_log_prob, advantage, returns = (tensor[part] for tensor in self._shuffled.values())
        n = len(x)
        if c.normalise_advantages:
            std, mean = torch.std_mean(advantage, correction=0)
            advantage = (advantage - mean).div_(std + 1e-8)

        value_loss_of = self._worker.start(n, self._descend_value, x, returns)
        log_prob, entropy = self._head.forward(self._policy.forward(x), action)
        log_ratio = log_prob - old_log_prob
        ratio = log_ratio.exp()
        policy_loss, log_prob_grad = clipped_objective(ratio, advantage, c.clip)
        self._policy.backward(self._head.backward(log_prob_grad, -c.entropy))
        value_loss = value_loss_of()

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
        kl = ((ratio - 1.0).sub_(log_ratio)).mean()
        clipped = (ratio.sub_(1.0).abs_() > c.clip).sum() / n
        self._sums += torch.stack([policy_loss, value_loss, entropy, kl, clipped, torch.ones(())])
        return float(kl) if c.target_kl else 0.0

    def _descend_value(self, x: Tensor, returns: Tensor) -> Tensor:
        """Write the value network's gradient on these rows; return its loss."""
        error = self._value.forward(x).squeeze(1) - returns
        value_loss = torch.dot(error, error) / len(x)
        self._value.backward(error.mul_(2.0 * self.config.value_weight / len(x)).unsqueeze(1))
        return value_loss

    def _end(self, lr: float) -> None:
        """Note the update's mean numbers and make room for the next rollout."""
        *sums, steps = self._sums.tolist()
        if steps:
            spread = float(self._shuffled["returns"].var(correction=0))
            unexplained = float(self._shuffled["advantage"].var(correction=0))
            explained = 1.0 - unexplained / spread if spread else 0.0
            self._newest = torch.tensor([*(total / steps for total in sums), explained, lr], dtype=torch.float64)
        self._step, self._order, self._shuffled = 0, self._order[:0], {}
        self._rollout.size = 0

    # --- what others ask --------------------------------------------------------------------------------------------

    @torch.inference_mode()
    def introspect(self, observation: Floats) -> PolicyOutput:
        """Return each choice's probability or each lever's mean and spread, and each row's value."""
        self._check_observation(observation, None)
        x = self._normalised(observation)
        output = self._policy(x)
        value = self._value(x).squeeze(1).numpy().astype(np.float64)
        value *= self._rewards.unit if 0.0 < self._rewards.unit < math.inf else math.nan
        does, spread = self._head.shown(output)
        return PolicyOutput(self._head.kind, does.numpy(), None if spread is None else spread.numpy(), value)

    def metrics(self) -> Mapping[str, float]:
        """Return the mean numbers of the newest update, empty before the first."""
        return dict(zip(METRICS, self._newest.tolist(), strict=False))

    # --- its state --------------------------------------------------------------------------------------------------

    def _policy_parts(self) -> Parts:
        normaliser = prefixed("normaliser", self._normaliser.moments.parts)
        return {**self._parameters.value, **normaliser, UNIT: torch.from_numpy(self._rewards.unit)}

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
        order, rows = state["update/order"], self.config.rollout * self.rows
        if len(order) > rows or (len(order) and not 0 <= int(order.min()) <= int(order.max()) < rows):
            raise CheckpointError(f"the saved agent's update/order names rows that a rollout of {rows} has not")
        self._rollout.check(under("rollout", state))

    def load_policy_state(self, state: State) -> None:
        """Take over a policy saved by `policy_state`; without the value's unit its values mean nothing."""
        super().load_policy_state({UNIT: UNKNOWN, **_renamed(state)})
        self._normaliser.refresh()

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


def clipped_objective(ratio: Tensor, advantage: Tensor, clip: float) -> tuple[Tensor, Tensor]:
    """Return PPO's policy loss and its gradient by each log-probability.

    d ratio / d log p is the ratio itself, so where the unclipped term is the smaller one the gradient is that term.
    """
    unclipped = ratio * advantage
    clipped = ratio.clamp(1.0 - clip, 1.0 + clip).mul_(advantage)
    grad = torch.where(unclipped <= clipped, unclipped, 0.0).mul_(-1.0 / len(ratio))
    return -torch.minimum(unclipped, clipped).mean(), grad
