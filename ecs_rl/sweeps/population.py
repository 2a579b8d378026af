"""Population based training on Ray Tune: the worst go on from the best, exactly, with settings a little changed.

Ten times in a training the members wait for each other, and each of the worst quarter takes over the whole state of
one of the best quarter: policy, optimiser, normalisers, buffers, random numbers, and the arenas in the middle of their
episodes. Whoever takes over is a new run from then on, with the rows and policies that the other one has had so far.
"""

from __future__ import annotations

import math
import random
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from ecs_rl.cli.settings import TrainSettings
from ecs_rl.commands.resume import FIXED_OF_THE_AGENT
from ecs_rl.console import tell
from ecs_rl.errors import CommandError
from ecs_rl.many.table import Table
from ecs_rl.sweeps.driver import Driver
from ecs_rl.sweeps.ranges import Axis, Choice, in_words
from ecs_rl.sweeps.record import Row, SweepFile, TakenOver
from ecs_rl.sweeps.search import Settings
from ecs_rl.sweeps.trial import POINTER, Order, SweepTrial

ROUNDS = 10
"""So often the members are compared in a training, the last time at its end."""
QUARTER = 0.25
"""Share of the members that take over, and share of those that are taken over from."""
FACTORS = [0.8, 1.25]
"""A number that changes is multiplied by one of these."""
ANEW = 0.25
"""How likely a setting is drawn anew instead."""
STATE, BEST = "state.safetensors", "best.safetensors"
LAST_EVAL = "last_eval"
"""What members are compared by: how they do now, and not how they once did."""
BROKEN = ("diverged", "failed")
TAKE_OVER = "take_over"
"""How a member's config and its saved state name the newest exchange in which it took over."""
BEGUN = ("rollout",)
"""Settings of an algorithm by which it may be in the middle of something."""


@dataclass(frozen=True)
class PopulationOrder(Order):
    """What all members have in common."""

    members: tuple[int, ...]
    """The numbers of those that Tune begins, in its order."""
    round_steps: int
    """Steps between two exchanges."""
    rounds: int
    """Exchanges that were over before."""
    steps: int
    """Of the whole training."""

    def number(self, trial_id: str) -> int:
        """Return which member one of Tune's identifiers means."""
        return self.members[int(trial_id.rpartition("_")[2])]


def round_steps(settings: TrainSettings) -> int:
    """Return how many steps lie between two exchanges: whole evaluations."""
    return settings.eval_every * max(1, round(settings.steps / settings.eval_every / ROUNDS))


def refuse_what_cannot_change(axes: Sequence[Axis], settings: TrainSettings) -> None:
    """Refuse a population that could exchange nothing, and settings that a training cannot change on its way."""
    from ecs_rl.commands.assemble import prepared

    if settings.population == 1:
        raise CommandError("--population 1: nobody is there to take over from: take at least 2, better 8")
    for flag in ("trials", "seeds"):
        if getattr(settings, flag):
            raise CommandError(f"--population cannot be used with --{flag}: it says how many trainings there are")
    if round_steps(settings) >= settings.steps:
        told = f"there is no evaluation before its {settings.steps:,} steps are over"
        raise CommandError(f"--population: {told}: give a smaller --eval-every")
    usual = None
    for axis in axes:
        table, _, name = axis.name.rpartition(".")
        told = f"--population: '{axis.name}' cannot change in a training that goes on: vary it by --sweep alone"
        if not table or name in (*FIXED_OF_THE_AGENT, *BEGUN):
            raise CommandError(told)
        ends = axis.values if isinstance(axis, Choice) else (axis.at(0.0), axis.at(1.0))
        usual = usual or _forms(prepared(settings))
        for value in ends:
            config = replace(getattr(settings, settings.agent), **{name: value})
            if _forms(prepared(replace(settings, **{settings.agent: config}))) != usual:
                raise CommandError(told)


def _forms(training: Any) -> dict[str, tuple[int, ...]]:
    """Return the shape of all that an agent must hand on."""
    try:
        return {name: tuple(tensor.shape) for name, tensor in training.session.agent.state().items()}
    finally:
        training.close()


class Member(SweepTrial):
    """One member; `config["member"]` has its setting, which changes where it takes over from another."""

    order: PopulationOrder
    trial_id: str
    """Tune's own."""

    def setup(self, config: dict[str, Any], order: Any) -> None:
        """Be ready for a first member."""
        super().setup(config, order)
        self._is_new()

    def reset_config(self, new_config: dict[str, Any]) -> bool:
        """Be ready for the next member in the same process."""
        self._is_new()
        return super().reset_config(new_config)

    def _is_new(self) -> None:
        self._reached: int | None = self.order.rounds
        """Exchanges that are over where it begins or is begun again; None once it trains."""
        self._taken: dict[str, Any] = {}
        self._broken: dict[str, Any] = {}

    @property
    def number(self) -> int:
        """Which member it is."""
        return self.order.number(self.trial_id)

    def setting(self) -> dict[str, Any]:
        """Return what it trains with now."""
        return dict(self.config["member"]["setting"])

    @property
    def _take_over(self) -> dict[str, Any] | None:
        """The newest exchange in which it was to take over, and the folder with the other's state; None before."""
        found: dict[str, Any] | None = self.config["member"].get(TAKE_OVER)
        return found

    def seeds(self) -> Sequence[int]:
        """Return its seed; where it took over, its run has that of the other one."""
        return (self.order.seeds[0] + self.number,)

    def _to_go_on(self) -> list[str]:
        return self._earlier or list(self.config["member"]["runs"])

    def step(self) -> dict[str, Any]:
        """Train until the next evaluation; one that is broken waits for the next exchange instead."""
        told = self._broken or super().step()
        if told["state"] in BROKEN:
            after = (told["steps"] // self.order.round_steps + 1) * self.order.round_steps
            told = {**told, "steps": min(after, self.order.steps), LAST_EVAL: -math.inf}
            told["done"] = after >= self.order.steps or self._asked_to_stop()
            self._broken = told
        elif self.runs:
            last = self.runs[0].training.evaluation.last
            told[LAST_EVAL] = last if last is not None and math.isfinite(last) else -math.inf
        taken, self._taken = self._taken, {}
        told["steps"] = max(told["steps"], taken.get("from_steps", 0))  # it may have been stopped before it began
        rounds = told["steps"] // self.order.round_steps - self.order.rounds
        return {**told, **taken, "setting": self.setting(), "round": rounds}

    def advance(self) -> None:
        """Train until the next evaluation, unless an exchange is due already.

        It is where a sweep goes on, and where the process died after its run had saved and before Tune had: training
        on would leave that exchange out, for which the others wait.
        """
        assert self.runs is not None
        reached, self._reached = self._reached, None
        done = self.runs[0].training.session.total_steps // self.order.round_steps
        if reached is None or done <= reached:
            super().advance()

    def save_checkpoint(self, checkpoint_dir: str) -> None:
        """Write all that going on exactly takes, for this member or for whoever takes over."""
        folder = Path(checkpoint_dir)
        if self._broken or not self.runs:
            told = {"member": self.number, "broken": self._broken, "runs": self._paths(), TAKE_OVER: self._take_over}
            (folder / POINTER).write_bytes(msgspec.json.encode({**told, "broken": _without_infinity(self._broken)}))
            return
        run = self.runs[0]
        state = run.training.session.save_checkpoint()
        for _ in run.training.session.written():
            pass
        assert state is not None
        shutil.copyfile(state, folder / STATE)
        best = run.record.best_checkpoint()
        if best is not None:
            shutil.copyfile(best, folder / BEST)
        steps = run.training.session.total_steps
        told = {"member": self.number, "runs": [str(run.record.path)], "steps": steps, TAKE_OVER: self._take_over}
        (folder / POINTER).write_bytes(msgspec.json.encode(told))

    def load_checkpoint(self, checkpoint_dir: str) -> None:
        """Go on from there: with the same run, or with a new one where it is another member's."""
        from ecs_rl.runs.fork import fork_run

        folder, self._reached = Path(checkpoint_dir), None
        told = msgspec.json.decode((folder / POINTER).read_bytes())
        take_over = self._take_over
        if take_over is not None and told["member"] == self.number and told[TAKE_OVER] != take_over:
            # Its own state from before: Tune puts one that was still being saved in the place of the other member's.
            folder = Path(take_over["folder"])
            told = msgspec.json.decode((folder / POINTER).read_bytes())
        self._broken = told.get("broken") or {}
        if self._broken or not told["runs"]:
            return
        if told["member"] == self.number:
            self._earlier, self._reached = told["runs"], told["steps"] // self.order.round_steps
            return
        best = folder / BEST if (folder / BEST).exists() else None
        over = self.order.over
        place = {"version": over["version"], "runs_dir": Path(over["runs"])}
        self._earlier = [str(fork_run(Path(told["runs"][0]), folder / STATE, best, **place))]
        self._taken = {"from": told["member"], "from_steps": told["steps"]}


def _without_infinity(told: Mapping[str, Any]) -> dict[str, Any]:
    """Return what JSON can hold of a report."""
    return {name: value for name, value in told.items() if name != LAST_EVAL}


class PopulationDriver(Driver):
    """The state of a population that trains."""

    def __init__(self, file: SweepFile, axes: Sequence[Axis], shown: Table) -> None:
        super().__init__(file, Settings(file.sweep, axes), shown)
        self.members = tuple(row.trial for row in file.sweep.rows if not row.over)
        self._to_begin = set(self.members)
        """Members that are at rest and are to train, or to take over."""

    def row(self, trial_id: str) -> Row:
        """Return the row behind one of Tune's trials."""
        return self.rows[self.members[int(trial_id.rpartition("_")[2])]]

    @property
    def exhausted(self) -> bool:
        """Whether there is nothing to go on with."""
        return not self.members

    @property
    def quiet(self) -> bool:
        """Whether every member is at rest, and has taken over what it was to."""
        return not self._to_begin and all(trial.status not in ("RUNNING", "PENDING") for trial in self.trials)

    def exchange(self, members: Sequence[int]) -> bool:
        """Note that these members are compared now; False where that must wait until the sweep goes on."""
        if self.stopping:
            return False
        sweep = self.file.sweep
        random.seed(f"{sweep.seed} {sweep.rounds}")  # Tune draws by Python's own, and nothing else here does
        sweep.rounds += 1
        self._to_begin = set(members)
        return True

    def refuse_exchange(self, trial_id: str) -> None:
        """End the population before an exchange that cannot be made as it would be without a process that died."""
        self.file.sweep.rounds -= 1
        self.write()
        told = "the process of the member to take over from died while it saved its state"
        self.lost_exchange = f"member {self.row(trial_id).trial} cannot take over: {told}"

    def started(self, trial_id: str) -> None:
        """Note that a member is at work."""
        if not self.row(trial_id).steps:
            super().started(trial_id)

    def reported(self, trial_id: str, result: Mapping[str, Any]) -> None:
        """Take the newest report of a member into the table."""
        row = self.row(trial_id)
        self._to_begin.discard(row.trial)
        row.setting = dict(result["setting"])
        if "from" in result:
            taken = TakenOver(result["from_steps"], result["from"], row.setting)
            if taken not in row.taken_over[-1:]:  # it tells so again where its process died since
                row.taken_over.append(taken)
            row.curve = [point for point in self.rows[result["from"]].curve if point[0] <= result["from_steps"]]
            row.steps, row.value = 0, None
            told = f"takes over from member {result['from']} at {result['from_steps']:,} steps"
            self.shown.progress(row.trial, f"{told}: {in_words(row.setting)}")
        super().reported(trial_id, result)

    def gone(self, trial_id: str) -> None:
        """End the population: the others would wait for this member for ever."""
        row = self.row(trial_id)
        if row.over:
            return
        self.lost(trial_id)
        self._to_begin.discard(row.trial)
        tell(f"{self.file.sweep.each} {row.trial} cannot go on: the others save and end", self.shown.stream)
        self.stop()


def order_of_members(order: Order, driver: PopulationDriver, settings: TrainSettings) -> PopulationOrder:
    """Return the order of those members that are to train."""
    return PopulationOrder(
        **vars(order),
        members=driver.members,
        round_steps=round_steps(settings),
        rounds=driver.file.sweep.rounds,
        steps=settings.steps,
    )


def exchanges(driver: PopulationDriver, order: PopulationOrder, axes: Sequence[Axis]) -> Any:
    """Return Tune's scheduler of population based training, with our ranges, and our seeds for what it draws."""
    from ray.tune.schedulers import PopulationBasedTraining

    class Exchanges(PopulationBasedTraining):
        def _quantiles(self) -> Any:
            there = [order.number(trial.trial_id) for trial in self._trial_state if not trial.is_finished()]
            return super()._quantiles() if driver.exchange(there) else ([], [])

        def _checkpoint_or_exploit(self, trial: Any, controller: Any, upper: Any, lower: Any) -> None:
            super()._checkpoint_or_exploit(trial, controller, upper, lower)
            made_in = (trial.config["member"].get(TAKE_OVER) or {}).get("round")
            if trial in lower and made_in != driver.file.sweep.rounds and not driver.lost_exchange:
                driver.refuse_exchange(trial.trial_id)  # Tune has left it out without a word

        def _exploit(self, controller: Any, trial: Any, other: Any) -> None:
            super()._exploit(controller, trial, other)
            folder = str(self._trial_state[other].last_checkpoint.path)
            take_over = {"round": driver.file.sweep.rounds, "folder": folder}
            trial.config["member"] = {**trial.config["member"], TAKE_OVER: take_over}

    def explored(config: dict[str, Any]) -> dict[str, Any]:
        setting = config["member"]["setting"]
        for axis in axes:
            if not isinstance(axis, Choice):
                setting[axis.name] = axis.nearest(setting[axis.name])
        return config

    changes = {axis.name: list(axis.values) if isinstance(axis, Choice) else partial(_anew, axis) for axis in axes}
    return Exchanges(
        time_attr="round",
        metric=LAST_EVAL,
        mode="max",
        perturbation_interval=1,
        hyperparam_mutations={"member": {"setting": changes}},
        quantile_fraction=QUARTER,
        resample_probability=ANEW,
        perturbation_factors=FACTORS,
        custom_explore_fn=explored,
        require_attrs=False,
        log_config=False,
        synch=True,
    )


def _anew(axis: Axis) -> Any:
    return axis.at(random.random())
