"""The settings of `train.py` and `play.py`: each field is a flag, and its docstring is the flag's help."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from pathlib import Path
from typing import Annotated, Any

import msgspec
from tyro.conf import Positional, arg
from tyro.constructors import PrimitiveConstructorSpec

from ecs_rl.agents.config import DQNConfig, PPOConfig
from ecs_rl.commands.flags import BadValue

AGENTS = ("ppo", "dqn")
AGENTS_TO_COME = ("sac",)
"""Algorithms that a recipe may speak of, and that nothing can train yet."""
TRAIN_TO_COME = (
    *("--seeds", "--self-play", "--minutes", "--until", "--pace", "--workers", "--ray", "--sweep", "--trials"),
    *("--population", "--network", "--imitate"),
)
PLAY_TO_COME = ("--against", "--human", "--save-demo", "--export")
"""Flags that are planned: who tries one is told so, and not the name of another."""


def _run_of(values: list[str]) -> str:
    if len(values) > 1:
        raise BadValue(str | None, values[1], "takes at most one run: write SCENE before it")
    return values[0] if values else ""


def _several(values: list[str]) -> tuple[str, ...]:
    if not values:
        raise BadValue(tuple[str, ...], "", "needs at least one checkpoint, such as: best 10000")
    return tuple(values)


def _agent_hint(default: str) -> str:
    return f"(default: {default})" if default in AGENTS else "(default: the one the scene names)"


# `--resume` alone and `--resume RUN` are both a string, the first one empty.
_RESUME: PrimitiveConstructorSpec[str | None] = PrimitiveConstructorSpec(
    nargs=(0, 1),
    metavar="[RUN]",
    instance_from_str=_run_of,
    is_instance=lambda value: value is None or isinstance(value, str),
    str_from_instance=lambda value: [value] if value else [],
)
_COMPARE: PrimitiveConstructorSpec[tuple[str, ...]] = PrimitiveConstructorSpec(
    nargs="*",
    metavar="CHECKPOINT ...",
    instance_from_str=_several,
    is_instance=lambda value: isinstance(value, tuple),
    str_from_instance=list,
)


@dataclass(frozen=True)
class SceneDefaults:
    """What a scene suggests for its training; the command line and a configuration file come before it."""

    agent: str
    """The agent that learns this scene when none is named."""
    recipes: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """For each agent, run settings and hyperparameters by name: `{"arenas": 32, "steps": "500k", "lr": 3e-3}`."""


@dataclass(frozen=True)
class TrainSettings:
    """The settings of a training, those that people use most first; `commands/help.py` says what stands above them."""

    scene: Annotated[str, Positional, arg(metavar="SCENE", help_behavior_hint="(required)")] = ""
    """The name of a scene, or the path of a scene file."""
    watch: bool = False
    """Open a window and watch it learn."""
    until_solved: bool = False
    """Stop as soon as an evaluation reaches the scene's solved_at."""
    resume: Annotated[str | None, _RESUME, arg(help_behavior_hint="(default: start anew)")] = None
    """Go on with a run; without RUN with the newest one of this name."""
    steps: int = 1_000_000
    """Steps in total, also after --resume; a step is one decision of one arena."""
    seed: int = 0
    """The same seed and settings on the same machine give the same run."""
    agent: Annotated[str, arg(metavar="{ppo,dqn}", help_behavior_hint=_agent_hint)] = ""
    """Which algorithm learns."""
    arenas: int = 64
    """Copies of the scene that play at the same time."""
    check: bool = False
    """Do not train: play at random and report whether the scene is sound."""
    json: bool = False
    """End with one JSON object on stdout; progress goes to stderr."""
    name: Annotated[str, arg(metavar="NAME", help_behavior_hint="(default: the scene's name)")] = ""
    """The run's name, the first folder below --runs."""
    version: Annotated[str, arg(metavar="VERSION")] = "v1"
    """The run's version, the folder below the name."""
    runs: Annotated[Path, arg(metavar="DIR")] = Path("runs")
    """The folder that holds all runs."""
    init_from: Annotated[Path | None, arg(metavar="CHECKPOINT", help_behavior_hint="")] = None
    """Start a new run from the weights of this checkpoint."""
    inexact: bool = False
    """With --resume: go on also where that cannot be done to the last bit."""
    config: Annotated[Path | None, arg(metavar="FILE.toml", help_behavior_hint="")] = None
    """Read settings from this file: the names of the flags, and tables [ppo] and [dqn]."""
    schedule_steps: int = 0
    """Steps over which schedules such as the learning rate's run, whatever --steps says; 0 takes the scene's steps."""
    eval_every: int = 25_000
    """Steps between two evaluations."""
    eval_episodes: int = 20
    """Episodes in one evaluation, all greedy and with fixed seeds."""
    checkpoint_every: int = 50_000
    """Steps between two checkpoints."""
    keep: int = 3
    """How many periodic checkpoints stay, besides latest and best."""
    record_every: int = 0
    """Steps between two clips of the policy in the run's folder films, 0 for none (needs imageio-ffmpeg)."""
    threads: int = 0
    """Threads for physics and learning; 0 takes two, or one where there is only one core."""
    tb: bool = False
    """Mirror the metrics for TensorBoard, in the run's folder `tb` (needs tensorboard)."""
    ppo: PPOConfig = field(default_factory=PPOConfig)
    """How PPO learns."""
    dqn: DQNConfig = field(default_factory=DQNConfig)
    """How DQN learns."""


@dataclass(frozen=True)
class PlaySettings:
    """Play back what a run has learnt; without a target, the best checkpoint of the newest run."""

    target: Annotated[str | None, Positional, arg(metavar="[RUN|CHECKPOINT]", help_behavior_hint="")] = None
    """A run, runs/NAME, runs/NAME/VERSION, or a checkpoint file."""
    list: bool = False
    """List the runs there are, and play nothing."""
    headless: bool = False
    """Open no window; only report the returns."""
    episodes: int = 20
    """Episodes to play."""
    checkpoint: Annotated[str, arg(metavar="best|latest|STEP")] = "best"
    """Which checkpoint of the run."""
    compare: Annotated[tuple[str, ...], _COMPARE, arg(help_behavior_hint="")] = ()
    """Play these checkpoints of the run side by side; write it after RUN."""
    record: Annotated[Path | None, arg(metavar="OUT.mp4|.gif", help_behavior_hint="")] = None
    """Write what is played into this film."""
    speed: float = 1.0
    """How many times faster than real time."""
    seed: int = 10_000
    """Seed of the first episode; 10000 is where evaluations begin."""
    stochastic: bool = False
    """Sample actions as in training, not the best one each time."""
    scene: Annotated[str, arg(metavar="FILE", help_behavior_hint="")] = ""
    """The scene to play a checkpoint in, where the file it was trained on has moved or is not trusted."""
    runs: Annotated[Path, arg(metavar="DIR")] = Path("runs")
    """The folder that holds all runs."""
    json: bool = False
    """Print one JSON object and nothing else on stdout."""


def settings_as_dict(settings: TrainSettings) -> dict[str, Any]:
    """Return every setting as plain JSON values, with the table of the chosen agent only, for `config.json`."""
    tables = {f.name for f in fields(settings) if is_dataclass(getattr(settings, f.name))}
    # Through JSON and back, so that what is written now equals what will be read again: lists, no tuples, no paths.
    plain: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(settings, enc_hook=str))
    return {name: value for name, value in plain.items() if name not in tables or name == settings.agent}
