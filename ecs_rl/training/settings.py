"""The settings of a training: each field is a flag of `train.py` too, and its docstring is the flag's help."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from msgspec import Meta
from tyro.conf import arg

from ecs_rl.milestones import USUAL_EVAL_EVERY
from ecs_rl.shipped import RECORDERS
from ecs_rl.values import AtOnce, Count, Natural, Weight


@dataclass(frozen=True)
class TrainingSettings:
    """What belongs to a training: a run keeps it in its `config.json`, and who resumes the run has it again."""

    until_solved: bool = False
    """Stop as soon as an evaluation reaches the scene's solved_at."""
    steps: Count = 1_000_000
    """Steps in total, also after --resume; a step is one decision of one arena."""
    seed: Natural = 0
    """The same seed and settings on the same machine give the same run."""
    until: Annotated[
        str,
        arg(metavar="steps|solved|'plateau N'"),
        Meta(pattern=r"^(steps|solved|plateau [1-9][0-9]{0,8})\Z", description="steps, solved or 'plateau N'"),
    ] = "steps"
    """What to stop at before --steps are done: `plateau N` is N evaluations without a better one."""
    minutes: Weight = 0.0
    """Stop after so many minutes of training, those before a resume included; 0 is no limit."""
    arenas: AtOnce = 64
    """Copies of the scene that play at the same time."""
    eval_every: Count = USUAL_EVAL_EVERY
    """Steps between two evaluations; more where episodes are long: ten times the steps that an evaluation takes."""
    eval_episodes: AtOnce = 20
    """Episodes in one evaluation, all greedy and with fixed seeds."""
    checkpoint_every: Count = 50_000
    """Steps between two checkpoints."""
    keep: Natural = 3
    """How many periodic checkpoints stay, besides latest and best."""
    schedule_steps: Natural = 0
    """Steps over which schedules such as the learning rate's run, whatever --steps says; 0 takes the scene's steps."""
    offline: Annotated[Path | None, arg(metavar="FILE", help_behavior_hint="")] = None
    """Learn from what play.py --save-data FILE has recorded, without acting: a step is one gradient step."""
    minari: Annotated[str, arg(metavar="NAME", help_behavior_hint="")] = ""
    """Learn without acting, as with --offline, from a data set of Minari that is on this machine (needs minari)."""
    restore_best: bool = False
    """Go on from the best policy, with a new optimiser, when the present one has collapsed."""
    against: Annotated[str, arg(metavar="[POLICY=]random|CHECKPOINT|FILE.py:FUNCTION", help_behavior_hint="")] = ""
    """Evaluate the first policy against this opponent, who drives all others, or POLICY alone."""
    self_play: bool = False
    """One policy learns both sides of a scene, from games against itself and against a pool of its earlier selves."""
    pool_latest: Annotated[float, Meta(ge=0, le=0.9)] = 0.5  # only games against the pool are rated
    """With --self-play: share of the episodes in which the newest policy plays itself, and learns from both sides."""
    pool_every: Count = 25_000
    """With --self-play: steps between two policies that are frozen and enter the pool."""
    pool_size: Annotated[int, Meta(ge=1, le=100)] = 8
    """With --self-play: frozen policies in the pool; where it is full, they stay spread evenly over the steps."""
    pool_also: Annotated[str, arg(metavar="random|FILE.py:FUNCTION", help_behavior_hint="")] = ""
    """With --self-play: one opponent more in the pool, who never leaves it."""
    record_every: Natural = 0
    """Steps between two clips of the policy in the run's folder films, 0 for none (needs imageio-ffmpeg)."""
    tb: bool = False
    """Short for --recorder tensorboard: the metrics in the run's folder `tb` (needs tensorboard)."""
    recorder: Annotated[str, arg(metavar="|".join((*RECORDERS, "FILE.py:NAME")), help_behavior_hint="")] = ""
    """Record the training by TensorBoard, MLflow or W&B too, or by a class of your own; several with commas."""
    threads: Natural = 0
    """Threads for physics and learning; 0 takes two, or one where there is only one core."""
    workers: Count = 1
    """Processes that train together, here or on the cluster at --ray; 1 is this one alone."""
    arenas_per_worker: Natural = 0
    """Arenas of each process, in place of --arenas; 0 shares --arenas out."""
    backend: Annotated[str, arg(metavar="gloo|...", help_behavior_hint="")] = "gloo"
    """The backend of torch.distributed by which processes add up gradients."""
    ray: Annotated[str, arg(metavar="ADDRESS", help_behavior_hint="")] = ""
    """With --workers or --sweep: the Ray cluster to use, such as 10.0.0.1:6379 or auto (needs ray)."""

    @property
    def plateau(self) -> int:
        """The N of `--until 'plateau N'`, 0 without it."""
        return int(self.until.removeprefix("plateau ")) if self.until.startswith("plateau ") else 0

    @property
    def recorders(self) -> str:
        """The names of all recorders, with commas between them."""
        return ",".join(dict.fromkeys(filter(None, (*self.recorder.split(","), "tensorboard" if self.tb else ""))))

    @property
    def steps_of_schedules(self) -> int:
        """Steps over which schedules such as the learning rate's run."""
        return self.schedule_steps or self.steps
