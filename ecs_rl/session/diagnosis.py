"""What is wrong with a training, told from the numbers that it writes anyway: one line at most, with a cure.

An alarm is for what does not cure itself: it waits until a pattern has lasted, and keeps still where the scene is
solved. Each has a section of its own in `ecs_rl/agents/README.md`, which tells more than fits a line.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ecs_rl.arrays import F64
from ecs_rl.records import ELO, END, LESSON_STEP, OF_AGENT, SCORE, TERM, TIE, TIME_UP
from ecs_rl.runs.rows import CHANGE

WORDS = "ecs_rl/agents/README.md"
"""Where the sections are that findings name."""
ROWS = 8
"""Rows of metrics that a pattern must have lasted for at least."""
LASTS = 0.1
"""Share of the whole training for which a pattern must have lasted."""
DWARFS = 300.0
"""How many times larger than all others a reward term is that nobody else can be heard beside."""
SHORTER = 0.6
"""Share of their former length to which episodes have shrunk."""
EXPLAINS = 0.1
"""Share of the returns' variance that the value explains; less than that is no more than knowing nothing."""
TIMES_TOO_LARGE = 10.0
"""How many times the largest return that there ever was the mean action value is."""
LEFT_OF_CHOICE, LEFT_OF_LEVER = 0.03, -3.0
"""Share of its first entropy that a policy of choices has kept; nats for each lever: a spread of 0.012."""
LATE, LATE_ROWS = 0.4, 40
"""Share of the whole training after which nothing learned is a finding, and rows; of a short trial it is none."""
LITTLE, FAR = 0.05, 0.8
"""Shares of the way from the start to what counts as solved: below the first nothing is learned, above the second it
is nearly there."""
FALLS, FALLS_OF_RANGE, RISES = 0.25, 0.4, 0.3
"""Shares of its size and of its range by which a score has fallen, and of its range by which the return has risen."""
BEHIND, SPREADS_BEHIND = 0.5, 0.5
"""How far greedy play lies below sampled play: share of what this has gained, and standard deviations of returns."""
BEHIND_FOR, BEHIND_EVALUATIONS = 0.15, 3
"""Share of the whole training, and evaluations, for which it has been so."""
FAR_KL, FAR_CLIPPED, HALF = 0.03, 0.2, 0.5
"""How far an update moves a policy and the share of its decisions at the clip when steps are too large; the share of
the way after which they were not."""
CLIMBS = 50.0
"""Elo that somebody who learns gains at least: to win 57 of 100 games against who one was."""
LOOK_EVERY = 4
"""Rows between two looks; a pattern lasts longer."""
LOOKED_AT = ("total_steps", "rollout/", "train/", "eval/mean_return", f"eval/{SCORE}", LESSON_STEP)
Row = Mapping[str, float]


@dataclass(frozen=True)
class Finding:
    """Something that is wrong, in a few words, and what to do about it."""

    name: str
    """Such as `a death that pays`; with dashes for its spaces it is the anchor of a section in `WORDS`."""
    told: str
    """What the numbers show."""
    cure: str
    """What to try first."""

    @property
    def link(self) -> str:
        """Where more is told."""
        return f"{WORDS}#{self.name.replace(' ', '-')}"

    def __str__(self) -> str:
        return f"{self.name}: {self.told}; {self.cure} ({self.link})"


def _number(value: object) -> float:
    return float(value) if isinstance(value, int | float) else math.nan


class Diagnosis:
    """Looks at rows of metrics.jsonl as they come, and says what is wrong right now."""

    def __init__(
        self,
        whole: int,
        *,
        solved_at: float | None = None,
        score: str = "",
        levers: int = 0,
        comparable: bool = False,
    ) -> None:
        """`whole` is how many steps the training takes; evaluations go by `score`, '' is the return.

        `levers` are the policy's continuous actions, 0 where it only chooses. `comparable` says that evaluations mean
        the same whatever the training's opponents do.
        """
        self.whole, self.solved_at, self.levers, self.comparable = max(1, whole), solved_at, levers, comparable
        self.result = f"{SCORE}{score}" if score else "mean_return"
        """What evaluations go by."""
        self._columns: dict[str, array[float]] = {}
        """Of each metric that is ever looked at, a number for each row."""
        self._count = 0
        self._best = -math.inf
        """The best evaluation."""
        self._finding: Finding | None = None

    def add(self, row: Row) -> None:
        """Take in the next row; one that only tells of a changed setting is none."""
        if any(name.startswith(CHANGE) for name in row):
            return
        for name in row.keys() - self._columns.keys():
            if name.startswith(LOOKED_AT):
                self._columns[name] = array("d", [math.nan]) * self._count
        for name, column in self._columns.items():
            column.append(_number(row.get(name)))
        self._count += 1
        evaluated = _number(row.get(f"eval/{self.result}"))
        self._best = max(self._best, evaluated) if math.isfinite(evaluated) else self._best
        if self._count % LOOK_EVERY == 0:
            findings = (look(self) for look in LOOKS)
            self._finding = next((each for each in findings if each is not None), None)

    @property
    def finding(self) -> Finding | None:
        """What is wrong, the most certain first; None while nothing is."""
        return self._finding

    # --- what there is --------------------------------------------------------------------------------------------

    def column(self, name: str) -> F64:
        """Return a metric, one number for each row: NaN where it was not told."""
        column = self._columns.get(name)
        return np.full(self._count, math.nan) if column is None else np.array(column, np.float64)

    def reported(self, name: str) -> F64:
        """Return what was told of a metric."""
        column = self.column(name)
        return column[np.isfinite(column)]

    def named(self, prefix: str) -> dict[str, F64]:
        """Return all metrics that begin so, by the rest of their names."""
        return {name.removeprefix(prefix): self.column(name) for name in self._columns if name.startswith(prefix)}

    @property
    def rows(self) -> int:
        """How many there were."""
        return self._count

    @property
    def share(self) -> float:
        """The share of the whole training that is over."""
        steps = self.reported("total_steps")
        return float(steps[-1]) / self.whole if len(steps) else 0.0

    @property
    def lasting(self) -> int:
        """How many of the newest rows are what a pattern must have lasted for."""
        steps = self.column("total_steps")
        return max(ROWS, int((steps > steps[-1] - LASTS * self.whole).sum())) if len(steps) else ROWS

    @property
    def solved(self) -> bool:
        """Whether an evaluation has reached what counts as solved."""
        return self.solved_at is not None and self._best >= self.solved_at

    @property
    def taught(self) -> bool:
        """Whether a lesson has gone on: then something was learned, and the first results were of an easier task."""
        return any((np.nan_to_num(column) > 0).any() for column in self.named(LESSON_STEP).values())

    @property
    def trains_otherwise(self) -> bool:
        """Whether training is not the task of evaluations: it has lessons, or its opponents change."""
        return bool(self.named(LESSON_STEP)) or bool(len(self.reported(f"rollout/{ELO}")))

    def came_less_than(self, share: float, spreads: float) -> bool:
        """Return whether it has not come so far: of the way to what counts as solved, if anything does.

        Else the best is not so many standard deviations of the first episodes' returns above these. In self-play
        only the rating counts: results against an equal opponent stay where they are.
        """
        if self.taught:
            return False
        rating = self.reported(f"rollout/{ELO}")
        if len(rating):
            return float(rating.max() - rating[0]) < CLIMBS
        results = self.reported(f"rollout/{self.result}")
        if not len(results):
            return False
        best = max(self._best, float(results[-ROWS:].max()))
        if self.solved_at is not None and self.solved_at > results[0]:
            return best - float(results[0]) < share * (self.solved_at - float(results[0]))
        returns, spread = self.reported("rollout/mean_return"), self.reported("rollout/std_return")
        return float(returns[-ROWS:].max() - returns[0]) <= spreads * float(spread[0]) if len(spread) else False


# --- one function for each alarm --------------------------------------------------------------------------------------


def cancel(returns: Sequence[F64]) -> bool:
    """Return whether what agents earned cancels out in every column of the (agents, episodes), and is not nothing."""
    every = np.concatenate(returns, axis=1) if returns else np.zeros((0, 0))
    size = np.abs(every).sum(axis=0)
    return bool(len(every) > 1 and size.any() and (np.abs(every.sum(axis=0)) <= 100 * TIE * size).all())


OPPOSED = Finding(
    "a return that cannot be compared",
    "what one agent earns another loses, so their mean is the same however well they play",
    "train with --self-play for an Elo, name a `score`, or evaluate --against a fixed opponent",
)


def _opponents(d: Diagnosis) -> Finding | None:
    """Find returns that cancel out between agents: their mean is the same however well they play."""
    own = list(d.named(f"rollout/{OF_AGENT}").values())
    if d.comparable or len(own) < 2 or len(d.reported(f"rollout/{ELO}")):
        return None
    known = np.stack(own)[:, np.isfinite(np.stack(own)).all(axis=0)]
    return OPPOSED if known.shape[1] >= ROWS and cancel([known]) else None


def of_random_play(terms: Mapping[str, float], opposed: bool) -> Finding | None:
    """Return what random play alone can show: terms by their means, and agents that are `opposed` without a score."""
    drowning = dwarfing(terms)
    return OPPOSED if opposed else dwarfed(*drowning) if drowning is not None else None


def dwarfing(terms: Mapping[str, float]) -> tuple[str, float] | None:
    """Return the term that dwarfs all others, and how many times it does; None where none does or there is no other."""
    sizes = sorted(((abs(value), name) for name, value in terms.items() if value), reverse=True)
    if len(sizes) < 2 or sizes[0][0] < DWARFS * sizes[1][0]:
        return None
    return sizes[0][1], sizes[0][0] / sizes[1][0]


def dwarfed(name: str, times: float) -> Finding:
    """Return the finding that a term dwarfs all others."""
    return Finding(
        "a term that drowns the others",
        f"'{name}' is {times:,.0f} times all other reward terms, which nothing is learned from then",
        "bring the weights in `earns` nearer to each other, or drop the terms that do not count",
    )


def _one_term(d: Diagnosis) -> Finding | None:
    """Find a term beside which all others were nothing from the first row on."""
    terms = d.named(f"rollout/{TERM}")
    if d.solved or len(terms) < 2:
        return None
    ever = {name for name, column in terms.items() if (np.abs(np.nan_to_num(column)) > 0).any()}
    rows = [dict(zip(ever, row, strict=True)) for row in zip(*(terms[name].tolist() for name in ever), strict=True)]
    rows = [row for row in rows if all(map(math.isfinite, row.values())) and sum(map(bool, row.values())) > 1]
    dominant = [dwarfing(row) for row in rows]
    if len(dominant) < ROWS or not all(dominant) or len({each[0] for each in dominant if each}) > 1:
        return None
    least = min(each[1] for each in dominant if each)
    return dwarfed(dominant[0][0] if dominant[0] else "", least)


def _fined(d: Diagnosis) -> F64:
    """Return the share of episodes that ended by something that costs under its own name, for each row."""
    terms, ends = d.named(f"rollout/{TERM}"), d.named(f"rollout/{END}")
    shares = [np.where(terms[name] < 0, np.nan_to_num(share), 0.0) for name, share in ends.items() if name in terms]
    return np.sum(shares, axis=0) if shares else np.zeros(d.rows)


def _death_pays(d: Diagnosis) -> Finding | None:
    """Find episodes that end ever sooner, and are worth more for it though nothing in them has become better."""
    length, returns = d.column("rollout/mean_length"), d.column("rollout/mean_return")
    there = np.isfinite(length) & np.isfinite(returns)
    length, returns = length[there], returns[there]
    last = d.lasting
    if d.solved or d.taught or len(length) < last + ROWS:
        return None
    before = int(np.argmax(length[:-last]))
    late, rate = slice(-last, None), returns / np.maximum(length, 1.0)
    shorter = length[late] < SHORTER * length[before]
    richer = returns[late] > returns[before]
    # A goal that is reached sooner is worth more in every tick, or costs the same in every one, and nobody is fined.
    poorer = (returns[late] < 0) & ((rate[late] < 1.2 * rate[before]) | (_fined(d)[there][late] > 0.5))
    if not (shorter & richer & poorer).all():
        return None
    times = d.named(f"rollout/{END}").get(TIME_UP)
    if times is not None and np.nan_to_num(times[-last:]).max() > 0.5:
        return None
    return Finding(
        "a death that pays",
        f"episodes last {length[-1]:.0f} ticks and no longer {length[before]:.0f}, and their return rose to "
        f"{returns[-1]:.4g} by that",
        "let living cost less than ending, or earn something in every tick",
    )


def _far_updates(d: Diagnosis) -> Finding | None:
    """Find updates that move the policy so far that what it has learned is lost again."""
    last, kl, clipped = d.lasting, d.reported("train/kl"), d.reported("train/clip_fraction")
    if d.solved or min(len(kl), len(clipped)) < last or not d.came_less_than(HALF, 1.0):
        return None
    moved, held = float(np.median(kl[-last:])), float(np.median(clipped[-last:]))
    if moved < FAR_KL or (held < FAR_CLIPPED and moved < 10 * FAR_KL):
        return None
    return Finding(
        "updates that go too far",
        f"updates have a KL of {moved:.2g} and clip {held:.0%} of decisions (usual are 0.01 and 10%)",
        "lower the learning rate, take fewer epochs, or set a target KL",
    )


def _value_off(d: Diagnosis) -> Finding | None:
    """Find a value that has nothing to do with the returns, long after it could have."""
    last, what_learns = d.lasting, "the value that it learns by"
    if d.solved:
        return None
    q, returns, most = d.reported("train/q_mean"), d.reported("rollout/mean_return"), d.reported("rollout/max_return")
    cure = "lower the learning rate, or bring rewards to about 1 a tick"
    if len(q) >= last and len(returns):
        largest = max(np.abs(returns).max(), np.abs(most).max() if len(most) else 0.0)
        if (np.abs(q[-last:]) > TIMES_TOO_LARGE * largest).all():
            what = f"{what_learns} says {q[-1]:.4g} on average, and no return was ever beyond {largest:.4g}"
            return Finding("a value far off", what, cure)
    explained, spread = d.reported("train/explained_variance"), d.reported("rollout/std_return")
    if min(len(explained), len(spread), len(returns)) < last + ROWS or not d.came_less_than(FAR, 2.0):
        return None
    varies = spread[-last:] > 0.05 * np.abs(returns[-last:])
    explains = float(np.median(explained[-last:]))
    if varies.all() and explains < EXPLAINS:
        what = f"{what_learns} explains {max(0.0, explains):.0%} of what is earned"
        return Finding("a value far off", what, f"{cure}; does it see what its reward depends on?")
    return None


def _entropy(d: Diagnosis) -> Finding | None:
    """Find a policy that tries nothing else any more, and has not learned what it should."""
    entropy, last = d.reported("train/entropy"), d.lasting
    if d.solved or len(entropy) < last + ROWS or not d.came_less_than(FAR, 2.0):
        return None
    first = float(entropy[0])
    floor = LEFT_OF_LEVER * d.levers if d.levers else LEFT_OF_CHOICE * first
    if not (entropy[-last:] < floor).all():
        return None
    return Finding(
        "entropy collapsed",
        f"the policy tries nothing new any more (entropy {entropy[-1]:.3g}, once {first:.3g}), and is not there yet",
        "raise the entropy bonus, or lower the learning rate",
    )


def _not_the_score(d: Diagnosis) -> Finding | None:
    """Find a return that rises while the score falls: what is earned is not what is counted."""
    last, name = d.lasting, d.result.removeprefix(SCORE)
    if d.result == "mean_return" or d.solved or d.trains_otherwise:
        return None
    score, returns = d.column(f"rollout/{d.result}"), d.column("rollout/mean_return")
    there = np.isfinite(score) & np.isfinite(returns)
    score, returns = score[there][ROWS:], returns[there][ROWS:]  # the first rows are means of few episodes
    if len(score) < last + ROWS:
        return None
    peak = int(np.argmax(score[:-last]))
    fallen = score[peak] - score[-last:].max()
    risen = returns[-last:].min() - returns[peak]
    least = max(FALLS * np.abs(score).max(), FALLS_OF_RANGE * np.ptp(score))
    if fallen <= least or risen <= RISES * np.ptp(returns):
        return None
    return Finding(
        "a return that is not the score",
        f"the return rose from {returns[peak]:.4g} to {returns[-1]:.4g} while '{name}' fell from {score[peak]:.4g} to "
        f"{score[-1]:.4g}",
        "let `earns` pay for what the score counts, or pay less for what does not lead to it",
    )


def _greedy_behind(d: Diagnosis) -> Finding | None:
    """Find evaluations, which take the best action each time, far below the training's episodes, which draw actions."""
    steps, greedy, sampled = (d.column(name) for name in ("total_steps", f"eval/{d.result}", f"rollout/{d.result}"))
    known, agents = d.reported(f"rollout/{d.result}"), d.named(f"rollout/{OF_AGENT}")
    if d.solved or d.trains_otherwise or len(agents) > 1 or not len(known):
        return None
    spread = d.column("rollout/std_return") if d.result == "mean_return" else np.zeros(d.rows)
    both = np.isfinite(greedy) & np.isfinite(sampled) & np.isfinite(spread)
    steps, greedy, sampled, spread = steps[both], greedy[both], sampled[both], spread[both]
    gained, gap = sampled - known[0], sampled - greedy
    behind = (gained > 0) & (gap > BEHIND * gained) & (gap > SPREADS_BEHIND * spread)
    since = len(behind) if behind.all() else int(np.argmin(behind[::-1]))
    if since < BEHIND_EVALUATIONS or steps[-1] - steps[-since] < BEHIND_FOR * d.whole:
        return None
    return Finding(
        "greedy play that falls behind",
        f"the best action each time comes to {greedy[-1]:.4g}, actions drawn as in training to {sampled[-1]:.4g}",
        "play it with --stochastic, or make what is right clearly more likely: a lower entropy bonus late, longer "
        "decisions",
    )


def _nothing(d: Diagnosis) -> Finding | None:
    """Find a training that is half over and stands where it began."""
    if d.solved or d.share < LATE or d.rows < LATE_ROWS or not d.came_less_than(LITTLE, 1.0):
        return None
    kl, clipped = d.reported("train/kl")[-ROWS:], d.reported("train/clip_fraction")[-ROWS:]
    sizes = f", by updates of the usual size (KL {np.median(kl):.2g}, {np.median(clipped):.0%} clipped)"
    return Finding(
        "nothing learned",
        f"after {d.share:.0%} of the steps the {d.result.removeprefix(SCORE).replace('_', ' ')} is where it began"
        f"{sizes if len(kl) and len(clipped) else ''}",
        "reward smaller steps towards the goal, make the start easier, or explore more",
    )


LOOKS: Sequence[Callable[[Diagnosis], Finding | None]] = (
    _opponents,
    _one_term,
    _far_updates,
    _death_pays,
    _value_off,
    _entropy,
    _not_the_score,
    _greedy_behind,
    _nothing,
)
"""What is looked for, the most certain first."""
