"""The settings of each algorithm, in files that do not import torch, so that `--help` answers at once."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Annotated, Any, ClassVar, Literal, Self

from msgspec import Meta
from tyro.conf import arg

from ecs_rl.errors import CommandError
from ecs_rl.values import Count, Natural, Positive, Share, Weight, fitted, hints_of

Activation = Literal["tanh", "relu"]
Schedule = Literal["constant", "linear", "exponential"]
FirstWeights = Literal["orthogonal", "uniform"]
NETWORKS = ("mlp", "gru", "conv", "attention")
"""The networks that come with the project."""

MOST_WEIGHTS = 32_000_000
"""Between hidden layers. Learning takes some ten copies of 4 bytes each: the largest network takes 1.3 GB."""


def _weights_fit(widths: tuple[int, ...]) -> bool:
    return sum(first * second for first, second in pairwise(widths)) <= MOST_WEIGHTS


Rows = Annotated[int, Meta(ge=1, le=1_000_000)]
PositiveShare = Annotated[float, Meta(gt=0, le=1, description="a number above 0 and at most 1")]
UpdatesPerStep = Annotated[float, Meta(gt=0, le=1_000, description="a number above 0 and at most 1,000")]
Noise = Annotated[float, Meta(ge=0, le=2)]
"""Standard deviation of a lever, which goes from -1 to 1."""
Widths = Annotated[
    tuple[Annotated[int, Meta(ge=1, le=8192)], ...],
    Meta(
        max_length=16,
        description="a list of at most 16 whole numbers from 1 to 8,192, with at most 32,000,000 weights between them",
        extra={"allows": _weights_fit},
    ),
]


class OwnNetwork(str):
    """The name of a network of a user's own, such as `FILE.py:NAME`, and the function that makes it."""

    __slots__ = ("make", "sha256")
    make: Callable[..., Any]
    """Takes the numbers of inputs and outputs and the policy's spec, and returns a `torch.nn.Module`."""
    sha256: str
    """Of the file that it is from, '' if unknown."""

    def __new__(cls, name: str, make: Callable[..., Any], sha256: str = "") -> OwnNetwork:
        """Return the name with what it stands for."""
        network = super().__new__(cls, name)
        network.make, network.sha256 = make, sha256
        return network

    def __reduce__(self) -> Any:
        return OwnNetwork, (str(self), self.make, self.sha256)


def _is_network(name: str) -> bool:
    return name in NETWORKS or ":" in name


NetworkName = Annotated[
    str, Meta(description="mlp, gru, conv, attention or FILE.py:NAME", extra={"allows": _is_network})
]


@dataclass(frozen=True)
class Slider:
    """A setting that may change between two ticks, and the numbers that a slider gives it; a file may go further."""

    low: float
    high: float
    power: float = 1.0
    """How much finer it is at the low end; 0 is a scale on which each step is a factor."""
    notch: float = 0.02
    """Share of the slider by which a key changes it."""
    fields: tuple[str, ...] = ()
    """The settings that become this number, if not the one of the slider's own name."""
    needs: Literal["", "levers", "choices"] = ""
    """What a policy must do for the slider to be of use."""

    def value(self, share: float) -> float:
        """Return the number at a share of the slider, with three digits."""
        share = min(max(share, 0.0), 1.0)
        if not self.power:
            return float(f"{self.low * (self.high / self.low) ** share:.3g}")
        return float(f"{self.low + (self.high - self.low) * share**self.power:.3g}")

    def share(self, value: float) -> float:
        """Return where on the slider a number is."""
        if not self.power:
            return min(max(math.log(max(value, self.low) / self.low) / math.log(self.high / self.low), 0.0), 1.0)
        return float(min(max((value - self.low) / (self.high - self.low), 0.0), 1.0) ** (1.0 / self.power))


LEARNING_RATE = Slider(1e-6, 0.1, power=0.0)


class Settings:
    """What the settings of every algorithm have besides their numbers."""

    agent: ClassVar[str]
    """The algorithm's name on a command line."""
    sliders: ClassVar[Mapping[str, Slider]] = {}
    """What may change while it trains, by name."""

    def __post_init__(self) -> None:
        """Refuse settings that no algorithm can work with, by the name that a command line gives them."""
        name = self.agent
        for setting, hint in hints_of(self.__class__).items():
            if callable(value := getattr(self, setting)):
                value = OwnNetwork(getattr(value, "__name__", "network"), value)
            if not isinstance(value, OwnNetwork):
                value = fitted(f"{name}.{setting}", value, hint)
            object.__setattr__(self, setting, value)
        if getattr(self, "lr_schedule", "") == "exponential" and getattr(self, "lr_end", 0.0) == 0.0:
            raise CommandError(f"{name}.lr_end must be above 0 where the learning rate falls exponentially, as in 0.01")

    def after(self, steps: int) -> Self:
        """Return the settings of a policy that has learned for so many steps and is only played from here on."""
        return self

    def for_arenas(self, factor: float, given: Mapping[str, Any]) -> tuple[Mapping[str, Any], float]:
        """Return the settings that change with `factor` times the arenas, and a factor for the training's steps.

        `given` are the settings that the user gave. What learns from single transitions has no need of this.
        """
        return {}, 1.0


@dataclass(frozen=True)
class PPOConfig(Settings):
    """Proximal policy optimisation: an on-policy learner for choices, levers and triggers in any mixture."""

    agent = "ppo"
    lr: Positive = 3e-4
    """Adam's learning rate at the start."""
    lr_schedule: Schedule = "linear"
    """How it falls to `lr_end` of it over `--schedule-steps`: by as much, or by the same share, with every step."""
    lr_end: Share = 0.1
    """Share of the learning rate that is left at the end of a schedule, and after it."""
    rollout: Rows = 128
    """Ticks that every arena plays between two updates."""
    epochs: Count = 4
    """Passes over the rollout in one update."""
    minibatch: Count = 2048
    """Rows in one gradient step (at most the whole rollout)."""
    accumulate: Count = 1
    """Parts of a minibatch whose gradients are added up one after the other, where it does not fit the memory whole."""
    gamma: Share = 0.99
    """Discount per tick."""
    gae_lambda: Share = 0.95
    """How far advantages look ahead: 0 one tick, 1 the whole episode."""
    clip: Positive = 0.2
    """How far the probability ratio may move from 1."""
    entropy: Weight = 0.0
    """Weight of the entropy bonus."""
    value_weight: Weight = 0.5
    """Weight of the value loss."""
    max_grad_norm: Positive = 0.5
    """The gradient's norm is cut to this."""
    curiosity: Weight = 0.0
    """Weight of a reward for what is new to the policy, beside what the scene pays; 0 is none."""
    target_kl: Weight = 0.0
    """An update stops early once the policy has moved this far; 0 never stops."""
    normalise_observations: bool = True
    """Shift and scale observations by their running mean and deviation."""
    normalise_rewards: bool = True
    """Scale rewards by the running deviation of the discounted return."""
    normalise_advantages: bool = True
    """Shift and scale advantages in each minibatch."""
    network: Annotated[NetworkName, arg(metavar="NAME|FILE.py:NAME")] = "mlp"
    """What learns: mlp, gru (remembers), conv (for a Grid), attention (for Nearest), or a module of your own."""
    state: Annotated[int, Meta(ge=1, le=4096)] = 64
    """Numbers that a gru remembers for each row."""
    burn_in: Natural = 0
    """Ticks before a rollout that a gru plays again in every epoch: what it remembers is its present weights' then."""
    shared: bool = False
    """One network with two heads for policy and value, instead of one for each."""
    value_clip: Weight = 0.0
    """How far a value may move from what it was when the rollout was played; 0 leaves it free."""
    hidden: Widths = (64, 64)
    """Width of each hidden layer, of the policy and of the value network alike."""
    activation: Activation = "tanh"
    """What stands between two layers."""
    log_std: Annotated[float, Meta(ge=-20, le=5)] = 0.0
    """Logarithm of the first spread of continuous actions."""
    sliders: ClassVar[Mapping[str, Slider]] = {"lr": LEARNING_RATE, "entropy": Slider(0.0, 0.2, power=2.0)}

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.burn_in > self.rollout:
            raise CommandError(f"ppo.burn_in must be at most ppo.rollout, {self.rollout}, not {self.burn_in}")

    def for_arenas(self, factor: float, given: Mapping[str, Any]) -> tuple[Mapping[str, Any], float]:
        """Return the settings for k = `factor` > 1 times the arenas; with fewer arenas nothing changes.

        A recipe's rollout R, minibatch M, learning rate and steps S become, with the horizon H = 1/(1 - gamma lambda):

            rollout    max(R/k, min(R, H))    a batch grows only where rollouts would not reach the horizon
            growth     g = k rollout / R      of the transitions in a batch
            minibatch  M sqrt(g)              half of the growth (in logarithms) is more gradient steps
            lr         lr sqrt(sqrt(g))       as the square root of the minibatch
            steps      S max(g, sqrt(k))      as many updates, and more where rollouts became shorter
        """
        if factor <= 1.0:
            return {}, 1.0
        rest = 1.0 - given.get("gamma", self.gamma) * given.get("gae_lambda", self.gae_lambda)
        horizon = math.ceil(1.0 / max(rest, 1.0 / self.rollout))
        shortest = max(math.ceil(self.rollout / factor), min(horizon, self.rollout), given.get("burn_in", self.burn_in))
        rollout = given.get("rollout", shortest)
        growth = max(1.0, factor * rollout / self.rollout)
        learning = {
            "rollout": rollout,
            "minibatch": round(self.minibatch * math.sqrt(growth)),
            "lr": float(f"{self.lr * growth**0.25:.3g}"),
        }
        return learning, max(growth, math.sqrt(factor))


@dataclass(frozen=True)
class ReplaySettings(Settings):
    """What all learners have that replay transitions out of a memory."""

    lr: Positive = 1e-3
    """Adam's learning rate, of all that learns."""
    gamma: Share = 0.99
    """Discount per tick."""
    memory: Annotated[int, Meta(ge=1, le=100_000_000)] = 200_000
    """Transitions that the replay memory keeps."""
    batch: Rows = 128
    """Transitions in one gradient step."""
    warm_up: Natural = 1_000
    """Transitions gathered before learning starts."""
    normalise_observations: bool = False
    """Shift and scale observations by their running mean and deviation."""
    hidden: Widths = (64, 64)
    """Width of each hidden layer, of all networks alike."""
    activation: Activation = "relu"
    """What stands between two layers."""


@dataclass(frozen=True)
class DQNConfig(ReplaySettings):
    """Deep Q-learning: an off-policy learner for one choice or several, triggers included."""

    agent = "dqn"
    lr: Positive = 5e-4
    """Adam's learning rate at the start."""
    lr_schedule: Schedule = "linear"
    """How it falls to `lr_end` of it over `--schedule-steps`: by as much, or by the same share, with every step."""
    lr_end: Share = 0.1
    """Share of the learning rate that is left at the end of a schedule, and after it."""
    n_step: Annotated[int, Meta(ge=1, le=1000)] = 1
    """Ticks whose rewards are counted before the target network says what the rest is worth."""
    double: bool = True
    """The online network says which option is the best one next, the target network what it is worth; else it both."""
    quantiles: Annotated[int, Meta(ge=0, le=256)] = 0
    """Quantiles of the return that a gradient step looks at: it learns what may come, not its mean alone; 0 is off."""
    dueling: bool = False
    """Learn the state's value and each option's advantage apart from each other."""
    memory: Annotated[int, Meta(ge=1, le=100_000_000)] = 50_000
    """Transitions that the replay memory keeps."""
    priority: Share = 0.0
    """How strongly transitions with large errors are preferred: 0 draws all alike, 1 in proportion to the error."""
    priority_correction: Share = 0.4
    """Exponent of the importance weights at the start; it rises to 1 over `--schedule-steps`."""
    learn_every: Count = 8
    """Transitions between two gradient steps."""
    target_every: Count = 100
    """Gradient steps after which the target network follows the online one."""
    target_rate: Share = 1.0
    """How far it follows: 1 copies it, a small share at each step lets it follow slowly."""
    first_weights: FirstWeights = "orthogonal"
    """Orthogonal with biases of zero, or all within one over the root of their layer's inputs, as torch draws them."""
    slow_policy: bool = False
    """Play by the target network, not by the online one, wherever nothing is explored: what is slow plays evenly."""
    epsilon_start: Share = 1.0
    """Share of random actions at the start."""
    epsilon_end: Share = 0.05
    """Share of random actions once exploring has come down."""
    epsilon_steps: Count = 10_000
    """Transitions over which the share comes down in a straight line."""
    huber: Positive = 1.0
    """Error, in units of the return, up to which the loss is quadratic; it is straight beyond."""
    max_grad_norm: Positive = 10.0
    """The gradient's norm is cut to this."""
    sliders: ClassVar[Mapping[str, Slider]] = {
        "lr": LEARNING_RATE,
        "epsilon": Slider(0.0, 1.0, fields=("epsilon_start", "epsilon_end")),
    }

    def epsilon(self, seen: int) -> float:
        """Return the share of random actions after so many transitions: a straight line, then flat."""
        done = min(1.0, seen / self.epsilon_steps)
        return self.epsilon_start + done * (self.epsilon_end - self.epsilon_start)

    def after(self, steps: int) -> Self:
        """Return settings whose share of random actions begins where so many steps have brought it."""
        return replace(self, epsilon_start=self.epsilon(steps))


@dataclass(frozen=True)
class CriticSettings(ReplaySettings):
    """What those of them have besides that learn a policy and two critics with slow targets."""

    updates_per_step: UpdatesPerStep = 1.0
    """Gradient steps for each transition gathered after the warm-up: 0.25 is one for every four."""
    target_share: PositiveShare = 0.005
    """Share of the way that target networks go to those that they follow, each time."""


@dataclass(frozen=True)
class SACConfig(CriticSettings):
    """Soft actor-critic: an off-policy learner for levers and choices that earns as much as it can while varied."""

    agent = "sac"
    temperature: Positive = 1.0
    """What a unit of entropy is worth in reward, at the start."""
    learn_temperature: bool = True
    """Adapt the temperature so that the entropy stays at its target."""
    lever_entropy: Annotated[float, Meta(ge=-20, le=0.69)] = -1.0
    """Target entropy of each lever; 0.69 is one that is set anywhere between -1 and 1."""
    choice_entropy: Share = 0.3
    """Target entropy of a choice, as a share of that of an even one."""
    sliders: ClassVar[Mapping[str, Slider]] = {
        "lr": LEARNING_RATE,
        "lever_entropy": Slider(-5.0, 0.69, needs="levers"),
        "choice_entropy": Slider(0.0, 1.0, needs="choices"),
    }


@dataclass(frozen=True)
class TD3Config(CriticSettings):
    """Twin delayed deep deterministic policy gradient: an off-policy learner for levers, one best setting for each."""

    agent = "td3"
    warm_up: Natural = 1_000
    """Transitions gathered before learning starts, with levers set at random."""
    policy_every: Count = 2
    """Gradient steps of the critics for each one of the policy and of the targets."""
    noise: Noise = 0.1
    """Standard deviation of what exploring adds to each lever."""
    target_noise: Noise = 0.2
    """Standard deviation of what is added to the target policy's levers, so that no value rests on one setting."""
    noise_limit: Noise = 0.5
    """The most that `target_noise` adds or takes away."""
    sliders: ClassVar[Mapping[str, Slider]] = {"lr": LEARNING_RATE, "noise": Slider(0.0, 1.0, needs="levers")}


@dataclass(frozen=True)
class IQLConfig(CriticSettings):
    """Implicit Q-learning: learns choices and levers from recorded data, and goes on by its own."""

    agent = "iql"
    memory: Annotated[int, Meta(ge=1, le=100_000_000)] = 200_000
    """Transitions that the replay memory keeps; all data that it learns from at once must fit."""
    warm_up: Natural = 5_000
    """Transitions gathered before learning starts: beginnings of episodes alone would spoil what it knows."""
    updates_per_step: UpdatesPerStep = 0.25
    """Gradient steps for each transition gathered after that; more of them overfit what is new."""
    value: Literal["expectile", "policy"] = "expectile"
    """What the value says: what the better recorded actions earn (IQL), or what the policy's own earn (AWAC)."""
    expectile: Annotated[float, Meta(gt=0, lt=1, description="a number between 0 and 1")] = 0.7
    """Which recorded actions the value goes by: 0.5 all alike, nearer to 1 the best of them."""
    beta: Weight = 1.0
    """How strongly the policy prefers actions that were better than usual; 0 imitates all alike."""
    log_std: Annotated[float, Meta(ge=-2, le=0.5)] = -0.5
    """Logarithm of the first spread of levers."""
    normalise_observations: bool = True
    """Shift and scale observations by their running mean and deviation."""
    sliders: ClassVar[Mapping[str, Slider]] = {
        "lr": LEARNING_RATE,
        "expectile": Slider(0.5, 0.99),
        "beta": Slider(0.0, 10.0, power=2.0),
    }


def learning_rate(config: PPOConfig | DQNConfig, progress: float) -> float:
    """Return the learning rate once this share of the schedule is done."""
    done = min(max(progress, 0.0), 1.0)
    match config.lr_schedule:
        case "linear":
            return config.lr * (1.0 - (1.0 - config.lr_end) * done)
        case "exponential":
            return float(config.lr * config.lr_end**done)
    return config.lr


AgentConfig = Any
"""The settings of an algorithm: a dataclass, one of those above or of a user's own."""
