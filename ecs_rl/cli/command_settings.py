"""The settings of `train.py` and `play.py`: each field is a flag, and its docstring is the flag's help."""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass, field, fields, make_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, dataclass_transform

import msgspec
from msgspec import Meta
from tyro.conf import Positional, arg
from tyro.constructors import PrimitiveConstructorSpec

from ecs_rl.agents.config import NetworkName, OwnNetwork
from ecs_rl.agents.make import AGENTS, Algorithm
from ecs_rl.agents.own import load_algorithm
from ecs_rl.errors import CommandError
from ecs_rl.training.settings import TrainingSettings
from ecs_rl.values import AtOnce, Natural, Positive, hints_of

PILOT = "pilot"
"""What the command line calls the policy that comes with a scene."""
RANDOM = "random"
"""What the command line calls a policy that knows nothing."""
_CHECKPOINT_NAME = re.compile(r"best|latest|pilot|best_[A-Za-z0-9][A-Za-z0-9 ._-]*|[0-9]{1,18}")


def is_checkpoint_name(name: str) -> bool:
    """Return whether a name means a checkpoint of a run, or the pilot of its scene, and not a run or a file."""
    return _CHECKPOINT_NAME.fullmatch(name) is not None


def _agent_hint(default: str) -> str:
    name = default.strip("'")  # an empty text comes with its quotes
    return f"(default: {name})" if name else "(default: the one the scene names)"


def _run_of(texts: list[str]) -> list[str]:
    if len(texts) > 1:
        raise CommandError("--resume: takes at most one run: write SCENE before it")
    return texts


def _several(texts: list[str]) -> list[str]:
    if not texts:
        raise CommandError("--compare: needs at least one checkpoint, such as: best 10000")
    return texts


def _ranges(texts: list[str]) -> list[str]:
    if not texts:
        raise CommandError("--sweep: needs at least one range, such as: ppo.lr=1e-4..1e-2:log")
    return texts


def _is_film(path: Path | None) -> bool:
    return path is None or path.suffix.lower() in (".mp4", ".gif")


def _is_onnx(path: Path | None) -> bool:
    return path is None or path.suffix.lower() == ".onnx"


OPENS_UP = "(default: real time for 5 s of their life, then ever faster)"

# `--resume` alone and `--resume RUN` are both a string, the first one empty.
_RESUME = PrimitiveConstructorSpec((0, 1), "[RUN]", _run_of, lambda value: True, lambda value: [])
_SWEEP = PrimitiveConstructorSpec("*", "NAME=RANGE ...", _ranges, lambda value: True, lambda value: [])
_COMPARE = PrimitiveConstructorSpec("*", "CHECKPOINT|RUN|pilot ...", _several, lambda value: True, lambda value: [])

# A run's name and version become folders: nothing in them can lead out of the runs folder.
_NAME = r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}"
_NAME_IN_WORDS = "letters, digits, '.', '_' or '-', at most 64 and a letter or digit first"


def _table(algorithm: Algorithm) -> Any:
    """Return the type of an algorithm's table of settings."""
    return Annotated[algorithm.Config, arg(help=f"How {algorithm.name} learns.")]


@dataclass_transform(frozen_default=True)
def _with_tables(kind: type[Any]) -> type[Any]:
    """Make a frozen dataclass of a class and of a table for every algorithm that comes with the project."""
    for name, algorithm in AGENTS.items():
        kind.__annotations__[name] = _table(algorithm)
        setattr(kind, name, field(default_factory=algorithm.Config))
    return dataclass(frozen=True)(kind)


@dataclass(frozen=True)
class CommandSettings:
    """What a call of `train.py` says first: what is trained, and how one sees it."""

    scene: Annotated[str, Positional, arg(metavar="SCENE", help_behavior_hint="(required)")] = ""
    """The name of a scene, or the path of a scene file."""
    watch: bool = False
    """Open a window and watch it learn."""
    resume: Annotated[str | None, _RESUME, arg(help_behavior_hint="(default: start anew)")] = None
    """Go on with a run; without RUN with the newest one of this name."""


@_with_tables
class TrainSettings(TrainingSettings, CommandSettings):
    """The settings of `train.py`: those of a training, and those of one call, which no run and no recipe decides.

    `help_texts.py` says what stands above them in the help, where they come in the order of `CommandSettings`,
    `TrainingSettings` and this class.
    """

    agent: Annotated[str, arg(metavar=f"{{{','.join(AGENTS)},FILE.py:CLASS}}", help_behavior_hint=_agent_hint)] = ""
    """Which algorithm learns; one of your own, by the path of its file."""
    network: Annotated[NetworkName, arg(metavar="NAME|FILE.py:NAME", help_behavior_hint="(default: mlp)")] = ""
    """What learns: mlp, gru, conv, attention, or what makes a torch.nn.Module in a file; as --ppo.network."""
    seeds: Annotated[int, Meta(ge=0, le=1000), arg(metavar="K", help_behavior_hint="")] = 0
    """Train K runs, with --seed and the K - 1 seeds after it, and say what they come to together."""
    check: bool = False
    """Do not train: play at random and report whether the scene is sound."""
    json: bool = False
    """End with one JSON object on stdout; progress goes to stderr."""
    name: Annotated[
        str,
        arg(metavar="NAME", help_behavior_hint="(default: the scene's name)"),
        Meta(pattern=rf"^({_NAME})?\Z", description=_NAME_IN_WORDS),
    ] = ""
    """The run's name, the first folder below --runs."""
    version: Annotated[str, arg(metavar="VERSION"), Meta(pattern=rf"^{_NAME}\Z", description=_NAME_IN_WORDS)] = "v1"
    """The run's version, the folder below the name."""
    runs: Annotated[Path, arg(metavar="DIR")] = Path("runs")
    """The folder that holds all runs."""
    init_from: Annotated[Path | None, arg(metavar="CHECKPOINT|pilot", help_behavior_hint="")] = None
    """Start a new run from the weights of this checkpoint, or of the pilot that comes with the scene."""
    imitate: Annotated[Path | None, arg(metavar="DEMO", help_behavior_hint="")] = None
    """Start a new run by imitating what play.py SCENE --human --save-demo DEMO has recorded, then improve by reward."""
    remember: Annotated[Path | None, arg(metavar="FILE", help_behavior_hint="")] = None
    """Start a new run with what play.py --save-data FILE has recorded in the replay memory, and keep it there."""
    changes: Annotated[Path | None, arg(metavar="RUN|FILE.jsonl", help_behavior_hint="")] = None
    """Change settings at the steps at which that run's were changed while it trained, as its metrics.jsonl tells."""
    inexact: bool = False
    """With --resume: go on also where that cannot be done to the last bit."""
    config: Annotated[Path | None, arg(metavar="FILE.toml|config.json", help_behavior_hint="")] = None
    """Read settings from this file: the names of the flags and a table such as [ppo], or a run's config.json."""
    pace: Annotated[Literal["", "slow", "1x", "max"], arg(metavar="slow|1x|max", help_behavior_hint=OPENS_UP)] = ""
    """With --watch: how fast the training arenas live, a quarter of real time, real time, or flat out."""
    sweep: Annotated[tuple[str, ...], _SWEEP, arg(help_behavior_hint="")] = ()
    """Train with many settings, drawn from LOW..HIGH, LOW..HIGH:log or A,B,C, and name the best."""
    trials: Annotated[int, Meta(ge=0, le=10_000), arg(metavar="N", help_behavior_hint="")] = 0
    """With --sweep: settings to try; without it all combinations of lists of values, else 16."""
    population: Annotated[int, Meta(ge=0, le=10_000), arg(metavar="K", help_behavior_hint="")] = 0
    """With --sweep: K trainings, of which the worst take over from the best, settings changed a little, ten times."""
    early_stopping: bool = True
    """With --sweep: stop trials that are worse than most after as many steps (needs optuna)."""
    algorithms: ClassVar[dict[str, Algorithm]] = AGENTS
    """Those that these settings know, each of which has a table by its name."""

    if TYPE_CHECKING:

        def __getattr__(self, table: str) -> Any:
            """Return the settings of the algorithm with this name."""

    @property
    def algorithm(self) -> Algorithm:
        """The one that learns."""
        return self.algorithms[self.agent]


def settings_with(own: Algorithm, kind: type[TrainSettings] = TrainSettings) -> type[TrainSettings]:
    """Return these settings with the table of one more algorithm, a user's own."""
    names = {*dir(kind), *hints_of(kind)}
    for name, what in {own.name: "its name", **{name: f"Config.{name}" for name in hints_of(own.Config)}}.items():
        if name in names:
            problem = f"{what} is that of a setting of every training, '{name}': choose another"
            raise CommandError(f"--agent {own.reference}: {problem}")
    table = (own.name, _table(own), field(default_factory=own.Config))
    known = {"algorithms": {**AGENTS, own.name: own}, "__reduce__": _sent}
    return make_dataclass("TrainSettings", [table], bases=(kind,), frozen=True, namespace=known)


def _sent(settings: TrainSettings) -> tuple[Any, ...]:
    """Say how settings that know an algorithm of a user's own come to another process: which loads it from its file."""
    own = next(each for each in settings.algorithms.values() if each.reference)
    values = {each.name: getattr(settings, each.name) for each in fields(settings)}
    kind = type(settings).__bases__[0]
    return _received, (own.reference, kind, values | {own.name: asdict(values[own.name])})


def _received(reference: str, kind: type[TrainSettings], values: dict[str, Any]) -> TrainSettings:
    own = load_algorithm(reference)
    return settings_with(own, kind)(**values | {own.name: own.Config(**values[own.name])})


@dataclass(frozen=True)
class PlaySettings:
    """Play back what a run has learnt; without a target, the best checkpoint of the newest run."""

    target: Annotated[str | None, Positional, arg(metavar="[SCENE|RUN|CHECKPOINT|EPISODE]", help_behavior_hint="")] = (
        None
    )
    """A scene or its file (its newest run or its pilot), runs/NAME, runs/NAME/VERSION, a run, checkpoint or episode."""
    list: bool = False
    """List the pilots and runs there are, or those of a scene, the newest run last, and play nothing."""
    headless: bool = False
    """Open no window; only report the returns."""
    episodes: AtOnce = 20
    """Episodes to play."""
    checkpoint: Annotated[str, arg(metavar="best|latest|pilot|random|STEP")] = "best"
    """Which checkpoint of the run; where there are several agents, `best_NAME` is the best for one of them."""
    pilot: bool = False
    """Play the pilot that comes with the scene, whatever runs there are; as --checkpoint pilot."""
    compare: Annotated[tuple[str, ...], _COMPARE, arg(help_behavior_hint="")] = ()
    """Play these side by side: checkpoints of the run, other runs, files, or `pilot`; write it after RUN."""
    record: Annotated[
        Path | None,
        arg(metavar="OUT.mp4|.gif", help_behavior_hint=""),
        Meta(description="a path that ends in .mp4 or .gif", extra={"allows": _is_film}),
    ] = None
    """Write what is played into this film."""
    export: Annotated[
        Path | None,
        arg(metavar="FILE.onnx", help_behavior_hint=""),
        Meta(description="a path that ends in .onnx", extra={"allows": _is_onnx}),
    ] = None
    """Write the policies into an ONNX file, and play nothing (needs onnx)."""
    human: bool = False
    """Play yourself, by keyboard or gamepad, against the policy if there is one; RUN may also name a scene."""
    save_demo: Annotated[Path | None, arg(metavar="FILE", help_behavior_hint="")] = None
    """With --human: keep what you do in this file, for train.py SCENE --imitate FILE; more is added to what it has."""
    save_data: Annotated[Path | None, arg(metavar="FILE", help_behavior_hint="")] = None
    """Add what the policy (or a person) sees, does and earns to this file, for train.py SCENE --offline FILE."""
    minari: Annotated[str, arg(metavar="NAME", help_behavior_hint="")] = ""
    """With --save-data: write all that the file holds as a data set of Minari with this name too (needs minari)."""
    speed: Positive = 1.0
    """How many times faster than real time."""
    seed: Natural = 10_000
    """Seed of the first episode; 10000 is where evaluations begin."""
    against: Annotated[str, arg(metavar="random|CHECKPOINT|RUN|FILE.py:FUNCTION", help_behavior_hint="")] = ""
    """Play the first policy against this opponent, who drives all others, and count wins, draws and losses."""
    stochastic: bool = False
    """Sample actions as in training, not the best one each time."""
    scene: Annotated[str, arg(metavar="FILE", help_behavior_hint="")] = ""
    """The scene to play a checkpoint in, where its file has moved or changed, or you have never run it."""
    network: Annotated[
        str,
        arg(metavar="FILE.py:NAME", help_behavior_hint=""),
        Meta(description="FILE.py:NAME", extra={"allows": lambda text: ".py:" in text}),
    ] = ""
    """The network of a checkpoint, where its file has moved or changed, or you have never run it."""
    agent: Annotated[str, arg(metavar="FILE.py:CLASS", help_behavior_hint="")] = ""
    """The algorithm that made a checkpoint, where its file has moved or changed, or you have never run it."""
    runs: Annotated[Path, arg(metavar="DIR")] = Path("runs")
    """The folder that holds all runs."""
    json: bool = False
    """Print one JSON object and nothing else on stdout."""


def algorithms_of(settings: type) -> dict[str, Algorithm]:
    """Return the algorithms that have a table of settings in this class, none in that of `play.py`."""
    return getattr(settings, "algorithms", {})


def settings_as_dict(settings: TrainSettings) -> dict[str, Any]:
    """Return every setting as plain JSON values, with the table of the chosen agent only, for `config.json`.

    Of an algorithm of a user's own it says the file and its SHA-256 too; all of it is in every checkpoint.
    """
    # Through JSON and back, so that what is written now equals what will be read again: lists, no tuples, no paths.
    plain: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(settings, enc_hook=str))
    plain.pop("network")  # it stands among the agent's own
    network = getattr(getattr(settings, settings.agent, None), "network", "")
    if isinstance(network, OwnNetwork):
        plain["network_sha256"] = network.sha256
    chosen = {name: value for name, value in plain.items() if name not in settings.algorithms or name == settings.agent}
    own = settings.algorithms.get(settings.agent)
    return chosen | ({"agent_file": own.reference, "agent_sha256": own.sha256} if own and own.reference else {})
