"""Proximal policy optimisation (Schulman et al. 2017): sample with the policy, then improve it a bounded step.

With r = pi(a|s) / pi_old(a|s), advantages A by generalised advantage estimation, and returns R = A + V_old:

    L = - E[ min(r A, clip(r, 1 - c, 1 + c) A) ]     the policy must not move further than the clip c
        + value_weight E[ (V(s) - R)^2 ]
        - entropy H(pi)

Gradients are written out: see `clipped_objective` and `value_objective`. Collecting, minibatches, networks with a
memory and the state are those of every on-policy learner: `on_policy.py`.
"""

from __future__ import annotations

import torch
from torch import Tensor

from ecs_rl.agents.config import PPOConfig
from ecs_rl.agents.heads import Head
from ecs_rl.agents.on_policy import Minibatch, OnPolicy


class PPO(OnPolicy):
    """An on-policy learner for any actions."""

    name = "ppo"
    Config = PPOConfig
    METRICS = ("loss/policy", "loss/value", "entropy", "kl", "clip_fraction", "explained_variance", "lr")

    def gradient(self, batch: Minibatch) -> Tensor:
        """Write the gradient of L; return the policy's loss, the value's loss, entropy, KL and the clipped share."""
        c, n = self.config, batch.total

        def policy_step(head: Head, rows: slice, output: Tensor) -> tuple[Tensor, Tensor]:
            share = (rows.stop - rows.start) / n
            log_prob, entropy = head.forward(output, batch.action[rows])
            log_ratio = log_prob - batch.log_prob[rows]
            ratio = log_ratio.exp()
            loss, log_prob_grad = clipped_objective(ratio, batch.advantage[rows], c.clip, share)
            grad = head.backward(log_prob_grad, -c.entropy * share)
            kl = ((ratio - 1.0).sub_(log_ratio)).mean() * share  # E[(r - 1) - log r], never negative
            clipped = (ratio.sub_(1.0).abs_() > c.clip).sum() / n
            return torch.stack([loss, entropy * share, kl, clipped]), grad

        def value_step(rows: slice, value: Tensor) -> tuple[Tensor, Tensor]:
            share = (rows.stop - rows.start) / n
            returns, before = batch.returns[rows], batch.value[rows]
            return value_objective(returns, before, c.value_clip, c.value_weight, value, share=share)

        policy, value_loss = self._networks.learn(batch.seen, policy_step, value_step)
        return torch.cat([policy[:1], value_loss.reshape(1), policy[1:]])

    def is_enough(self, losses: Tensor) -> bool:
        """Return whether the policy has moved as far as `target_kl` allows."""
        target = self.config.target_kl
        return target > 0.0 and float(losses[3]) > target


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
