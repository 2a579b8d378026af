"""Soft actor-critic (Haarnoja et al. 2018, for choices Christodoulou 2019): earn much, and stay as varied as can be.

Two critics, each with a slow copy as the target, estimate an action's return; the policy maximises the lesser estimate
plus its own entropy, weighed by a temperature that keeps the entropy at its target. The critics see the observation and
the levers and have one output for each combination of choices, so that over choices no sampling is needed.

Read from top to bottom: `act` draws from the policy, `observe` fills the memory, `learn` takes the gradient steps that
have come due. Each pays off its own share of what is due, so an update that is dropped halfway goes on later.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from statistics import fmean
from typing import Any

import numpy as np
import torch

from ecs_rl.agents.base import Demonstration, PolicyOutput, State
from ecs_rl.agents.config import SACConfig
from ecs_rl.agents.imitation import NEAR, Examples, check_held, transitions
from ecs_rl.agents.networks import Adam, Parameters, Shapes
from ecs_rl.agents.normalise import Normaliser
from ecs_rl.agents.nstep import NStep
from ecs_rl.agents.replay import Replay
from ecs_rl.agents.squashed import Layout, Squashed, squashed_spread
from ecs_rl.agents.stack import Pass, Stack
from ecs_rl.agents.state import Attribute, Learner, Parts, check_count, prefixed, under
from ecs_rl.errors import CheckpointError, DivergedError
from ecs_rl.spaces import ActionSpace, ActMode, Decision, Discrete, Experience, Floats, PolicySpec

ADAM_EPSILON = 1e-8
CRITICS = 2
MOST_WAYS_TO_CHOOSE = 256
"""Outputs of a critic."""
TEMPERATURE = "temperature/log"
"""The name of the logarithms of both temperatures: of the levers' entropy and of the choices'."""
IMITATING, HOLD, COOL, SMALLEST = 2_000, 0.5, 0.001, 1e-3
"""Gradient steps by which it imitates; the weight of what was shown while it learns on, and the temperature that it
begins with, both as shares of the returns' spread, which is at least so much."""
METRICS = ("loss/q", "loss/policy", "q_mean", "entropy", "temperature/levers", "temperature/choices")


class SAC(Learner):
    """An off-policy learner for levers, choices and both at once."""

    name = "sac"
    Config = SACConfig

    def __init__(self, spec: PolicySpec, config: SACConfig, *, seed: int, rows: int, threads: int = 1) -> None:
        super().__init__(spec, self.shapes(spec, config), seed=seed, rows=rows, discount=config.gamma)
        torch.set_num_threads(1)  # however many there are: a replayed batch is too small to share out
        self.config, self._layout = config, Layout(spec.actions)
        p, layers, inputs = self._parameters, len(config.hidden) + 1, len(spec.observations)
        self._policy = Stack(p, "policy", layers, config.activation)
        self._critics = Stack(p, "q", layers, config.activation, CRITICS)
        self._policy.initialise(self._first, head_gain=0.01)
        self._critics.initialise(self._first, head_gain=1.0)
        p.value[TEMPERATURE].fill_(math.log(config.temperature))
        self._temperature_grad = p.grad[TEMPERATURE].numpy()
        self._target_parameters = Parameters(self._critic_shapes(spec, config))
        size, first = len(self._target_parameters.flat), p.value["q/0.weight"].storage_offset()
        self._critics_flat = p.flat[first : first + size]
        self._target_parameters.flat.copy_(self._critics_flat)
        self._adam = Adam(p, ADAM_EPSILON)
        self._good = p.flat.clone()  # the newest parameters whose gradient was finite
        self._normaliser = Normaliser(inputs, config.normalise_observations)
        self._told = NStep(1, rows, inputs, spec.actions.columns, config.gamma)  # with one tick nothing ever waits
        self._memory = Replay(config.memory, inputs, spec.actions.columns)
        self._freedom = np.array([self._layout.levers, self._layout.log_options])
        self._varied = (self._freedom * (config.lever_entropy, config.choice_entropy)).astype(np.float32)
        """The entropy of levers and of choices that the temperatures keep."""
        self._due = np.zeros(())  # gradient steps that are due, in parts of one
        self._shown = torch.zeros(2, dtype=torch.float64)  # how many decisions are imitated, and how strongly
        self._seen = 0  # transitions stored so far
        self._steps = 0  # gradient steps so far
        self._newest = torch.zeros(len(METRICS), dtype=torch.float64)
        self._make_passes(inputs, self._layout.levers, config.batch)

    def _make_passes(self, n: int, k: int, b: int) -> None:
        """Make the arrays of a gradient step: observations of `n` numbers, `k` levers, `b` rows drawn from the memory.

        The rows are what was done, what the policy would do there, and what it would do after it. Where there are no
        levers, the critics' outputs say all of the second that those of the first do not.
        """
        batches = 3 if k else 2
        self._x = torch.zeros(batches * b, n + k)
        x = self._x.numpy()
        self._before, self._after = x[:-b, :n].reshape(-1, b, n), x[-b:, :n]
        self._done, self._would = x[:b, n:], x[-2 * b :, n:]
        target = Stack(self._target_parameters, "q", len(self.config.hidden) + 1, self.config.activation, CRITICS)
        self._policy_pass = Pass(self._policy, self._x[-2 * b :, :n], back=b, learns=b)
        self._critics_pass = Pass(self._critics, self._x[:-b], back=(batches - 1) * b, learns=b, inputs=k)
        self._target_pass = Pass(target, self._x[-b:])
        self._q, self._q_grad = self._critics_pass.output.numpy(), self._critics_pass.grad.numpy()
        self._target_q = self._target_pass.output.numpy()
        self._policy_output, self._policy_grad = (
            each.numpy()[0] for each in (self._policy_pass.output, self._policy_pass.grad)
        )
        self._row = np.arange(b)

    @staticmethod
    def refuses(spec: PolicySpec) -> str:
        """Return why it cannot learn such a policy, '' if it can."""
        ways = ways_to_choose(spec.actions)
        told = f"{', '.join(spec.actions.about)} can be set in {ways:,} ways: use ppo"
        return (
            f"looks at every way to choose, at most {MOST_WAYS_TO_CHOOSE}; {told}" if ways > MOST_WAYS_TO_CHOOSE else ""
        )

    @staticmethod
    def shapes(spec: PolicySpec, config: SACConfig) -> Shapes:
        """Return the shape of every parameter; nothing is made."""
        sizes = (len(spec.observations), *config.hidden, Layout(spec.actions).outputs)
        return Stack.shapes("policy", sizes) | SAC._critic_shapes(spec, config) | {TEMPERATURE: (2,)}

    @staticmethod
    def _critic_shapes(spec: PolicySpec, config: SACConfig) -> Shapes:
        layout = Layout(spec.actions)
        sizes = (len(spec.observations) + layout.levers, *config.hidden, layout.combined)
        return Stack.shapes("q", sizes, CRITICS)

    # --- acting -----------------------------------------------------------------------------------------------------

    @torch.inference_mode()
    def act(self, observation: Floats, mode: ActMode, state: Floats | None = None) -> Decision:
        """Decide for each row: the likeliest action, or one drawn from the policy while exploring or sampling."""
        self._check_observation(observation, self.rows if mode is ActMode.EXPLORE else None)
        output = self._policy(self._normalised(observation)).numpy()[0]
        mean, log_std, log_p = self._layout.split(output)
        if mode is ActMode.GREEDY:
            return Decision(self._layout.action(np.tanh(mean), log_p.argmax(1)))
        generator = self._random if mode is ActMode.EXPLORE else self._sample_random
        noise = torch.randn(mean.shape, generator=generator).numpy()
        waits = torch.empty(log_p.shape).exponential_(generator=generator).log_().numpy()  # the Gumbel trick
        return Decision(self._layout.action(Squashed(mean, log_std, noise).action, (log_p - waits).argmax(1)))

    def _normalised(self, observation: Floats) -> torch.Tensor:
        x = torch.empty(observation.shape)
        self._normaliser.apply(observation, out=x.numpy())
        return x

    # --- gathering --------------------------------------------------------------------------------------------------

    def observe(self, experience: Experience) -> None:
        """Store the valid transitions, and count the gradient steps that they bring due."""
        self._check_observation(experience.next_observation, None)
        valid = experience.valid
        self._normaliser.update(experience.observation if valid is None else experience.observation[valid])
        rows = self._told.add(experience)
        self._memory.add(rows)
        added = len(rows)
        before, self._seen = self._seen, self._seen + added
        self._due += self.config.updates_per_step * max(0, self._seen - max(before, self.config.warm_up))

    # --- learning ---------------------------------------------------------------------------------------------------

    def learn(self, progress: float) -> Iterator[None]:
        """Take the gradient steps that are due, yielding between them."""
        while self._due >= 1.0:
            self._descend()
            self._due -= 1.0
            if self._due >= 1.0:
                yield

    @torch.inference_mode()
    @np.errstate(all="ignore")  # what overflows is told as divergence
    def _descend(self) -> None:
        """Take one step down the gradients of critics, policy and temperatures, all at the parameters as they are."""
        c, b, layout = self.config, self.config.batch, self._layout
        taken, reward, discount = self._replay()
        self._policy_pass.forward()
        mean, log_std, log_p = layout.split(self._policy_output)
        noise = torch.randn(mean.shape, generator=self._random).numpy()
        levers, p = Squashed(mean, log_std, noise), np.exp(log_p)
        self._would[...] = levers.action
        heat = np.exp(self._parameters.value[TEMPERATURE].numpy())
        surprise = heat[0] * levers.log_prob[:, None] + heat[1] * log_p  # (2 b, combinations): here, and after

        self._target_pass.forward()
        after = np.minimum(*self._target_q) - surprise[b:]
        goal = reward + discount * (p[b:] * after).sum(1)
        self._critics_pass.forward()
        q, q_grad = self._q, self._q_grad
        q_taken = q[taken]
        error = q_taken - goal
        q_grad[...] = 0.0
        q_grad[taken] = error * (1.0 / b)

        first, second = q[:, -b:]  # of what the policy would do
        value = np.minimum(first, second) - surprise[:b]
        expected = (p[:b] * value).sum(1, keepdims=True)
        if layout.levers:
            lesser = first < second
            weight = p[:b] * (-1.0 / b)
            q_grad[0, b:], q_grad[1, b:] = weight * lesser, weight * ~lesser
        by_lever = self._critics_pass.backward()
        layout.join(
            levers.backward(np.add(*by_lever.numpy()), heat[0] / b, b) if by_lever is not None else (),
            p[:b] * (expected - value) * (1.0 / b),
            out=self._policy_grad,
        )
        if self._memory.kept:
            self._hold_on()
        self._policy_pass.backward()
        entropy = np.array([levers.log_prob[:b].sum(), (p[:b] * log_p[:b]).sum()], np.float32) * (-1.0 / b)
        self._temperature_grad[...] = entropy - self._varied if c.learn_temperature else 0.0

        loss = 0.5 / b * float((error * error).sum())
        self._step(loss)
        if self._due < 2.0 or self._steps == 1:  # of all steps that are due now, the last one is told
            self._newest.numpy()[:] = (loss, -expected.mean(), q_taken.mean(), entropy.sum(), *heat)

    def _hold_on(self) -> None:
        """Add to the policy's gradient what makes the actions more probable that were shown, where those were drawn."""
        held = (self._drawn.rows < self._memory.kept).nonzero()[0]
        towards = np.empty((len(held), self._layout.outputs), np.float32)
        self._layout.towards(self._policy_output[held], self._drawn.action.numpy()[held], out=towards)
        self._policy_grad[held] += np.float32(float(self._shown[1]) / self.config.batch) * towards

    def _replay(self) -> tuple[tuple[Any, ...], Floats, Floats]:
        """Draw transitions into the arrays of a step; return which values are theirs, their rewards and discounts."""
        drawn = self._drawn = self._memory.draw(self.config.batch, self._random)
        self._normaliser.apply(drawn.observation.numpy(), out=self._before[0])
        self._before[1:] = self._before[0]
        self._normaliser.apply(drawn.next_observation.numpy(), out=self._after)
        did = drawn.action.numpy()
        self._done[...] = self._layout.levers_of(did)
        rows = len(did)
        # Where nothing is chosen there is one value for each row, and a view of it takes a tenth of the time.
        taken = (self._row, self._layout.combination_of(did)) if self._layout.options else (slice(rows), 0)
        return (slice(None), *taken), drawn.reward.numpy(), drawn.discount.numpy()

    def _step(self, loss: float) -> None:
        """Move the parameters along their gradient and the targets after the critics; keep the last if it is none."""
        p, grad = self._parameters, self._parameters.flat_grad
        squared = float(torch.dot(grad, grad))
        if not (math.isfinite(squared) and math.isfinite(loss)):
            # A step that ruins the networks leaves them finite, and only the next one shows it.
            p.flat.copy_(self._good)
            raise DivergedError(
                f"SAC diverged at gradient step {self._steps}: critics' loss {loss:g}, gradient {squared**0.5:g}; "
                "the last parameters with a finite gradient were kept. Try a lower sac.lr, or look for huge rewards "
                "and observations"
            )
        self._good.copy_(p.flat)
        self._adam.step(self.config.lr)
        self._target_parameters.flat.lerp_(self._critics_flat, self.config.target_share)
        self._steps += 1

    @torch.inference_mode()
    def imitate(self, shown: Sequence[Demonstration]) -> float:
        """Make what was shown probable, and let the critics expect what came of it; return the share done alike now.

        It is kept, and held to while learning goes on; the temperature begins with a small share of what is earned.
        """
        c, layout = self.config, self._layout
        examples = Examples.of(shown, self._normaliser, None, c.gamma)
        spread = max(float(examples.returns.std()), SMALLEST)
        self._shown[:] = torch.tensor((self._memory.keep(*transitions(shown, 1, c.gamma)), HOLD * spread))
        self._parameters.value[TEMPERATURE].fill_(math.log(min(c.temperature, COOL * spread)))
        self._parameters.flat_grad.zero_()
        shares = []
        for batch in examples.batches(self._random, steps=IMITATING):
            assert isinstance(batch.seen, torch.Tensor)
            n, action = len(batch.action), batch.action.numpy().reshape(len(batch.action), -1).astype(np.float32)
            policy = Pass(self._policy, batch.seen, back=n, learns=n)
            output = policy.forward().numpy()[0]
            layout.towards(output, action, out=policy.grad.numpy()[0])
            policy.grad.mul_(1.0 / n)
            policy.backward()
            x = torch.cat([batch.seen, torch.from_numpy(layout.levers_of(action))], 1)
            critics = Pass(self._critics, x, back=n, learns=n)
            taken = slice(None), np.arange(n), layout.combination_of(action)
            error = critics.forward().numpy()[taken] - batch.returns.numpy()
            critics.grad.zero_()
            critics.grad.numpy()[taken] = np.where(batch.known.numpy(), error, np.float32(0)) / n
            critics.backward()
            self._adam.step(c.lr)
            shares.append(float(layout.alike(output, action, NEAR).mean()))
        self._target_parameters.flat.copy_(self._critics_flat)
        self._adam.forget()
        self._good.copy_(self._parameters.flat)
        return fmean(shares[-10:])

    # --- what others ask --------------------------------------------------------------------------------------------

    @torch.inference_mode()
    def introspect(self, observation: Floats) -> PolicyOutput:
        """Return levers' settings and spreads, options' probabilities, and the value of each row's best action.

        The value is the lesser one of the two critics', and counts the entropy that is still to come.
        """
        self._check_observation(observation, None)
        layout, x = self._layout, self._normalised(observation)
        mean, log_std, log_p = layout.split(self._policy(x).numpy()[0])
        best = np.tanh(mean)
        q = self._critics(torch.cat([x, torch.from_numpy(best)], 1)).numpy().min(0)
        value = q[np.arange(len(q)), log_p.argmax(1)].astype(np.float64)
        does = layout.named(best, layout.options_of(np.exp(log_p)))
        spread = layout.named(squashed_spread(mean, log_std), np.full((len(q), layout.options), np.nan, np.float32))
        return PolicyOutput(layout.kind, does, spread if layout.levers else None, value)

    def inputs(self, observation: Floats) -> torch.Tensor:
        """Return (rows, numbers) what the networks are given for observations."""
        return self._normalised(observation)

    def traced(self, x: torch.Tensor, state: torch.Tensor) -> torch.Tensor:
        """Return each lever's setting and each option's log-probability, by operations that autograd follows."""
        return self._layout.traced(self._policy.traced(x)[0])

    def metrics(self) -> Mapping[str, float]:
        """Return the numbers of the newest gradient step, empty before the first."""
        if not self._steps:
            return {}
        told = dict(zip(METRICS, self._newest.tolist(), strict=True))
        unused = {"temperature/levers": not self._layout.levers, "temperature/choices": not self._layout.options}
        return {name: number for name, number in told.items() if not unused.get(name)}

    # --- its state --------------------------------------------------------------------------------------------------

    def _policy_parts(self) -> Parts:
        return {**self._parameters.value, **prefixed("normaliser", self._normaliser.moments.parts)}

    def _learning_parts(self) -> Parts:
        return {
            **prefixed("target", self._target_parameters.value),
            **prefixed("adam", self._adam.moments),
            **prefixed("memory", self._memory.parts),
            "shown": self._shown,
            "count/due": torch.from_numpy(self._due),
            "count/seen": Attribute(self, "_seen"),
            "count/steps": Attribute(self, "_steps"),
            "newest": self._newest,
        }

    def _check(self, state: State) -> None:
        check_count(state, "count/seen")
        check_count(state, "count/steps")
        memory, due = under("memory", state), float(state["count/due"])
        self._memory.check(memory)
        check_held(state["shown"], len(memory["rows"]))
        table = memory["rows"].numpy()
        if not 0.0 <= due < math.inf or (due and not len(table)):
            raise CheckpointError(f"the saved agent's count/due is {due:g} of a memory of {len(table)} transitions")
        n = len(self.spec.observations)
        if not self._layout.can_be(table[:, 2 * n : -2]):
            raise CheckpointError("the saved replay memory holds choices that there are not")

    def load_policy_state(self, state: State) -> None:
        """Take over a policy saved by `policy_state`, its critics as the targets too."""
        super().load_policy_state(state)
        self._target_parameters.flat.copy_(self._critics_flat)
        self._loaded()

    def load_state(self, state: State) -> None:
        """Continue exactly where `state` was taken."""
        super().load_state({"shown": torch.zeros_like(self._shown), **state})  # older files do not have it
        self._memory.kept = int(self._shown[0])
        self._loaded()

    def _loaded(self) -> None:
        self._normaliser.refresh()
        self._good.copy_(self._parameters.flat)


def ways_to_choose(space: ActionSpace) -> int:
    """Return how many ways there are to set all choices of a space at once."""
    return math.prod(len(part.names) for part in space.parts if isinstance(part, Discrete))
