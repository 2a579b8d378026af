"""What a checkpoint says about itself: which scene, which agent, what the policy sees and does."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec

from ecs_rl.errors import CheckpointError
from ecs_rl.spaces import ActionSpace, Composed, Continuous, Discrete, Members, Picture, PolicySpec

SCHEMA = 1
UNSEALED = "0" * 64


class PartEntry(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A choice or levers among other things that a policy does at once."""

    names: tuple[str, ...]
    continuous: bool = False
    name: str = ""


class FormEntry(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Numbers of an observation that form a picture, (layers, up, across), or tell of a set, (members, numbers)."""

    first: Annotated[int, msgspec.Meta(ge=0)]
    shape: Annotated[tuple[Annotated[int, msgspec.Meta(ge=1)], ...], msgspec.Meta(min_length=2, max_length=3)]

    @classmethod
    def of(cls, form: Picture | Members) -> FormEntry:
        """Return the entry that describes a form."""
        if isinstance(form, Picture):
            return cls(first=form.first, shape=(form.layers, form.up, form.across))
        return cls(first=form.first, shape=(form.most, form.numbers))

    def form(self) -> Picture | Members:
        """Return the form, equal to the one that was saved."""
        return Picture(self.first, *self.shape) if len(self.shape) == 3 else Members(self.first, *self.shape)


class PolicyEntry(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One policy: the names of what it sees, in order, and of what it does."""

    name: str
    observations: tuple[str, ...]
    actions: tuple[str, ...]
    continuous: bool
    parts: tuple[PartEntry, ...] = ()
    """Of what it does at once; empty for a lone choice and for levers alone."""
    layout: tuple[FormEntry, ...] = ()
    """Which of the observations form a picture or tell of a set."""
    state: int = 0
    """Numbers that it remembers for each row."""
    head: str = ""
    """How its network's outputs become actions."""
    allowed: tuple[tuple[int, int], ...] = ()
    """Numbers of an observation that say whether an option may be chosen, each with the option's output."""
    critic_sees: tuple[str, ...] = ()
    """The names of what only a critic sees, behind the observation."""

    @classmethod
    def of(cls, spec: PolicySpec) -> PolicyEntry:
        """Return the entry that describes `spec`."""
        space = spec.actions
        parts = tuple(
            PartEntry(names=part.names, continuous=isinstance(part, Continuous), name=getattr(part, "name", ""))
            for part in (space.parts if isinstance(space, Composed) else ())
        )
        return cls(
            name=spec.name,
            observations=spec.observations,
            actions=space.names,
            continuous=isinstance(space, Continuous),
            parts=parts,
            layout=tuple(map(FormEntry.of, spec.layout)),
            state=spec.state,
            head=spec.head,
            allowed=spec.allowed,
            critic_sees=spec.critic_sees,
        )

    def __post_init__(self) -> None:
        """Refuse what describes no policy; msgspec reports the ValueError with its place."""
        self.spec()

    def spec(self) -> PolicySpec:
        """Return the policy's spec, equal to the one that was saved."""
        parts = tuple(Continuous(p.names) if p.continuous else Discrete(p.names, p.name) for p in self.parts)
        lone: ActionSpace = Continuous(self.actions) if self.continuous else Discrete(self.actions)
        space, layout = Composed(parts) if parts else lone, tuple(entry.form() for entry in self.layout)
        return PolicySpec(
            self.observations, space, self.name, self.state, layout, self.head, self.allowed, self.critic_sees
        )


class EvalSettings(msgspec.Struct, frozen=True, kw_only=True):
    """How the score was measured: the first episode's seed, and how many episodes."""

    seed: int | None
    episodes: int


Count = Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)]
"""Steps, episodes, bytes: stored in 64 signed bits everywhere."""
Whole = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]
Seconds = Annotated[float, msgspec.Meta(ge=0)]


class SessionFacts(msgspec.Struct, frozen=True, kw_only=True):
    """The counters and statistics of a session."""

    total_steps: Count
    total_episodes: Count
    start_extras: dict[str, bool | Whole | float | None]
    stats: dict[str, list[Whole | float]]
    """What each statistic's aggregator knows, by the statistic's name."""


class TrendFacts(msgspec.Struct, frozen=True, kw_only=True):
    """How the evaluations have gone so far."""

    start: float | None = None
    best: float | None = None
    best_return: float | None = None
    since_best: Count = 0
    low: Count = 0
    restored: Count = 0
    own_best: dict[str, float] = {}
    own_step: dict[str, Count] = {}


class EvaluationFacts(msgspec.Struct, frozen=True, kw_only=True):
    """When the last evaluation was, how it went, and when the scene was solved."""

    taken_at: Count
    last: float | None
    solved_step: Count | None
    solved_second: Seconds | None
    trend: TrendFacts = TrendFacts()
    """Unknown in a checkpoint from before it was noted: then it begins with the best so far and the next evaluation."""


class LogLengths(msgspec.Struct, frozen=True, kw_only=True):
    """How many bytes of each log were written."""

    train_episodes: Count = msgspec.field(name="train_episodes.jsonl")
    eval_episodes: Count = msgspec.field(name="eval_episodes.jsonl")
    metrics: Count = msgspec.field(name="metrics.jsonl")


class LiveFacts(msgspec.Struct, frozen=True, kw_only=True):
    """Settings that were changed while it trained, and what is still to be changed: step, name and value."""

    changed: dict[str, float] = {}
    planned: list[tuple[Count, str, float]] = []


class LessonFacts(msgspec.Struct, frozen=True, kw_only=True):
    """How many steps a lesson has taken, and what the episodes since the last step of any came to."""

    step: Count = 0
    results: list[float] = []


class ResumeFacts(msgspec.Struct, frozen=True, kw_only=True):
    """What continuing the training of a scene takes besides tensors."""

    session: SessionFacts
    logs: LogLengths
    evaluation: EvaluationFacts = msgspec.field(name="exam")
    written_at: Count
    """Steps at the newest row of metrics."""
    seconds: Seconds
    """Training time."""
    seconds_in: dict[str, Seconds]
    """The same by stage of the tick."""
    left_at: str = ""
    workers: int = 1
    """The stage at which the tick was left and goes on; empty between whole ticks."""
    filmed_at: int | None = None
    """Steps at the last clip, None where nothing was filmed."""
    live: LiveFacts = LiveFacts()
    lessons: dict[str, LessonFacts] = {}
    """By name."""


class Manifest(msgspec.Struct, frozen=True, kw_only=True):
    """Everything needed to use a checkpoint when there is nothing but its file."""

    # These two stay first: the seal looks for the first `sha256` of the file, and a config may hold another.
    schema: int = SCHEMA
    sha256: str = UNSEALED
    """SHA-256 of the whole file with this field all zeros; filled in by `sealed_pieces`."""
    scene: str
    scene_sha256: str = ""
    """Of the scene's file and what that imports from its folder; '' in a checkpoint from before this was noted here."""
    scene_data: dict[str, str] | None = None
    """What was in the files that the scene opens below its folder, by path; None in a checkpoint from before."""
    versions: dict[str, str] = {}
    """Of python, the libraries and the machine that wrote the checkpoint."""
    agent: str
    step: Count
    episodes: Count = 0
    seed: Whole = 0
    config: dict[str, Any] = {}
    policies: tuple[PolicyEntry, ...] = ()
    best_eval: float | None = None
    """Best score so far (the mean return where the scene names none), this checkpoint's own if it is the best one."""
    best_step: Count | None = None
    best_return: float | None = None
    """Mean return of that evaluation, which decides between equal scores; None in a checkpoint from before that."""
    evaluation: EvalSettings | None = None
    """How `best_eval` was measured."""
    made_on: str = ""
    """The day on which a pilot that comes with the project was made, such as 2026-11-19; '' for any other policy."""
    full: bool = False
    """True if the tensors are enough to continue training exactly, not only to act."""
    resume: dict[str, Any] = {}
    """What continuing takes besides tensors, as it stands in the file; a loop of one's own may save other facts."""

    def facts(self) -> ResumeFacts:
        """Return what continuing takes, every fact there and of its type; CheckpointError otherwise."""
        if not self.full:
            raise CheckpointError(
                f"the checkpoint of step {self.step} holds only a policy: start a new run from it with --init-from"
            )
        try:
            facts = msgspec.convert(self.resume, ResumeFacts)
            if facts.session.total_steps != self.step:
                raise ValueError(f"the session counts {facts.session.total_steps} steps")
            if self.episodes and facts.session.total_episodes != self.episodes:
                raise ValueError(f"the session counts {facts.session.total_episodes} episodes")
            evaluation = facts.evaluation
            noted = (evaluation.taken_at, evaluation.solved_step, facts.written_at, facts.filmed_at)
            if max(at or 0 for at in noted) > self.step:
                raise ValueError("it tells of what comes after its own step")
        except ValueError as error:
            raise CheckpointError(
                f"the checkpoint of step {self.step} does not tell how to go on: {error}; use another one of the run, "
                "or start a new run from its policy with --init-from"
            ) from error
        return facts

    @property
    def source_sha256(self) -> str:
        """The SHA-256 of the scene that was trained, '' if unknown; older checkpoints may have it in `resume`."""
        return self.scene_sha256 or str(self.resume.get("scene_sha256", ""))
