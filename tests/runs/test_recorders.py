"""Recorders hear of a run all that its directory holds, each row once; what fails there is told and harms nothing."""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from ecs_rl.cli.process import Answer
from ecs_rl.errors import CheckpointError, CommandError
from ecs_rl.runs import TrainingRun
from ecs_rl.runs.recorders import RunFacts, recorders_of

CONFIG = {"steps": 100, "ppo": {"lr": 0.001, "hidden": [8, 8]}}


ODD = """
class Takes:
    def __init__(self, url): pass

NUMBER = 3

class Interrupts:
    def __init__(self): raise KeyboardInterrupt

class Leaves:
    def __init__(self): raise SystemExit(7)

class NoWords(Exception):
    def __str__(self): raise KeyboardInterrupt

class Silent:
    def __init__(self): raise NoWords

class Shouts:
    def __init__(self): raise ValueError("\\x1b[2Jred")

class Meta(type):
    def __call__(cls):
        raise GeneratorExit

class Ends(metaclass=Meta): pass
"""


class Hears:
    """Keeps what it hears; a recorder of one's own."""

    def __init__(self, last: int = -1, fails: str = "") -> None:
        self.last, self.fails = last, fails
        self.facts: RunFacts | None = None
        self.rows: list[tuple[int, float, Mapping[str, float]]] = []
        self.end: tuple[str, Mapping[str, Any], Sequence[Mapping[str, Any]]] | None = None

    def begin(self, facts: RunFacts) -> int:
        self._fail("begin")
        self.facts = facts
        return self.last

    def record(self, step: int, seconds: float, metrics: Mapping[str, float]) -> None:
        self._fail("record")
        self.rows.append((step, seconds, metrics))

    def finish(self, status: str, table: Mapping[str, Any], episodes: Sequence[Mapping[str, Any]]) -> None:
        self._fail("finish")
        self.end = status, table, episodes

    def _fail(self, where: str) -> None:
        if self.fails == where:
            raise OSError(f"no room to {where}")


@pytest.fixture
def run(tmp_path: Path) -> TrainingRun:
    run = TrainingRun.create("cart", runs_dir=tmp_path, scene="balance", agent="ppo", seed=3)
    run.write_config(CONFIG)
    return run


def log(run: TrainingRun, *steps: int) -> None:
    for step in steps:
        run.log_metrics(step, step / 10, {"train/loss": 1 / step, "eval/mean_return": float("nan")})


def test_one_of_your_own_hears_the_facts_each_row_and_what_it_came_to(run: TrainingRun) -> None:
    hears = Hears()
    run.open_recorder("mine", hears)
    log(run, 1, 2)
    for at, reward in ((1, 5.0), (2, 7.0), (2, 9.0)):
        run.log_eval_episode(2, reward, 4, "Truncated", {"reward": reward}, total_steps_at_eval=at, seed=10)
    run.update_metadata(status="finished", best_eval=8.0)
    run.close()
    run.close()
    assert hears.facts is not None
    assert (hears.facts.run_id, hears.facts.seed, hears.facts.settings) == (run.metadata.run_id, 3, CONFIG)
    assert hears.rows == [(1, 0.1, {"train/loss": 1.0}), (2, 0.2, {"train/loss": 0.5})]
    assert hears.end is not None
    status, table, episodes = hears.end
    assert (status, table["best_eval"], table["train/loss"]) == ("finished", 8.0, 0.5)
    assert [each["total_reward"] for each in episodes] == [7.0, 9.0]
    assert episodes[0]["reward"] == 7.0


def test_after_a_resume_it_hears_what_it_has_not_and_nothing_twice(run: TrainingRun) -> None:
    log(run, 1, 2, 3, 4)
    hears = Hears(last=2)
    run.open_recorder("mine", hears)
    log(run, 5)
    run.close()
    assert [step for step, *_ in hears.rows] == [3, 4, 5]


@pytest.mark.parametrize("where", ["begin", "record", "finish"])
def test_one_that_fails_is_given_up_and_the_run_and_other_recorders_go_on(run: TrainingRun, where: str) -> None:
    good = Hears()
    run.open_recorder("bad", Hears(fails=where))
    run.open_recorder("good", good)
    log(run, 1, 2, 3)
    run.update_metadata(status="finished")
    run.close()
    assert [each.problem for each in run.recordings] == [f"OSError: no room to {where}", ""]
    assert run.problem is None
    assert len(good.rows) == 3
    assert len((run.path / "metrics.jsonl").read_text().splitlines()) == 3


def test_one_that_hangs_keeps_no_row_waiting_and_the_end_for_a_while_only(
    run: TrainingRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    go_on = threading.Event()

    class Hangs(Hears):
        def begin(self, facts: RunFacts) -> int:
            go_on.wait(60)
            return super().begin(facts)

    monkeypatch.setattr("ecs_rl.runs.run.LONG", 0.2)
    run.open_recorder("slow", Hangs())
    log(run, *range(1, 500))
    run.close()
    assert [each.problem for each in run.recordings] == ["it was not done after 0.2 s"]
    go_on.set()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("mlfow", "--recorder mlfow: there is tensorboard, mlflow, wandb, or FILE.py:NAME of your own"),
        ("own.py:Nobody", "there is no 'Nobody' in that file"),
        ("own.py:Lacks", "it has no record, finish: see Recorder in"),
        ("own.py:Breaks", r"own\.py, line 6.*no room"),
        ("gone.py:Mine", "there is no file gone.py"),
        ("odd.py:Takes", "a recorder is made without arguments: missing a required argument: 'url': give it a default"),
        ("odd.py:NUMBER", "a recorder is a class, and this is 3"),
        ("odd.py:Interrupts", r"odd\.py, line 8: KeyboardInterrupt is Python's own: raise another error"),
        ("odd.py:Leaves", r"odd\.py, line 11: this ends the whole program"),
        ("odd.py:Silent", r"odd\.py, line 17: NoWords$"),
        ("odd.py:Shouts", r"odd\.py, line 20: ValueError: \\x1b\[2Jred"),
        ("odd.py:Ends", r"odd\.py, line 24: GeneratorExit is Python's own"),
    ],
)
def test_what_is_no_recorder_is_refused(text: str, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    lacks = "class Lacks:\n    def begin(self, facts): return -1\n\n"
    Path("own.py").write_text(f"{lacks}class Breaks:\n    def __init__(self):\n        raise OSError('no room')\n")
    Path("odd.py").write_text(ODD)
    with Answer(lambda number: None), pytest.raises(CommandError, match=words) as error:  # as in a command
        recorders_of(text)
    assert str(error.value).isprintable()


@pytest.mark.parametrize(
    ("error", "told"), [("NoWords()", "NoWords"), ("ValueError('\x1b[2Jred')", "ValueError: \\x1b[2Jred")]
)
def test_why_one_failed_is_told_in_one_line_whatever_its_error_is(run: TrainingRun, error: str, told: str) -> None:
    names: dict[str, Any] = {}
    exec(ODD.partition("class Silent")[0], names)

    class Fails(Hears):
        def record(self, step: int, seconds: float, metrics: Mapping[str, float]) -> None:
            raise eval(error, names)

    with Answer(lambda number: None):  # as in a command
        run.open_recorder("bad", Fails())
        log(run, 1, 2)
        run.close()
    assert [each.problem for each in run.recordings] == [told]


@pytest.mark.parametrize(("name", "install"), [("mlflow", r"'ecs-rl\[mlflow\]'"), ("wandb", r"'ecs-rl\[wandb\]'")])
def test_without_the_library_it_is_said_how_to_install_it(
    name: str, install: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(CommandError, match=rf"--recorder {name} needs .*: python -m pip install {install}"):
        recorders_of(name)


def test_rows_that_are_none_are_refused_with_what_to_do(run: TrainingRun) -> None:
    run.close()
    (run.path / "metrics.jsonl").write_text("[1\n")
    again = TrainingRun.resume(run.path)
    with pytest.raises(CheckpointError, match=r"cannot read .*metrics\.jsonl.* without --recorder"):
        again.open_recorder("mine", Hears())
    again.close()


def twice(run: TrainingRun, name: str) -> None:
    """Record a run that is killed after its fourth row, of which a checkpoint knew the first two, and resumed."""
    run.open_recorder(name, recorders_of(name)[name])
    log(run, 1, 2)
    lengths = run.flush()
    log(run, 3, 4)
    run.close()
    again = TrainingRun.resume(run.path)
    again.cut_logs(lengths)
    again.write_config({**CONFIG, "steps": 200})
    again.open_recorder(name, recorders_of(name)[name])
    log(again, 3, 4, 5, 6)
    again.log_eval_episode(6, 7.0, 4, "Truncated", {}, total_steps_at_eval=6, seed=10)
    again.update_metadata(status="finished", best_eval=7.0)
    again.close()
    for each in (*run.recordings, *again.recordings):
        assert each.problem == ""


def test_mlflow_has_one_run_without_gaps_and_doubles_after_a_resume(
    run: TrainingRun, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("mlflow")
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    from mlflow.tracking import MlflowClient

    twice(run, "mlflow")
    client = MlflowClient((tmp_path / ".mlflow").as_uri())
    (found,) = client.search_runs([client.get_experiment_by_name("cart").experiment_id])
    assert found.info.status == "FINISHED"
    assert (found.data.params["ppo.lr"], found.data.params["steps"], found.data.tags["steps"]) == (
        "0.001",
        "100",
        "200",
    )
    assert found.data.tags["final.best_eval"] == "7.0"
    history = client.get_metric_history(found.info.run_id, "train/loss")
    assert [(point.step, point.value) for point in history] == [(step, 1 / step) for step in range(1, 7)]
    files = tmp_path / ".mlflow" / found.info.experiment_id / found.info.run_id / "artifacts"
    assert json.loads((files / "last_evaluation.json").read_text())["data"][0][:2] == [10, 7.0]
    assert json.loads((files / "final.json").read_text())["status"] == "finished"


def test_the_newest_file_of_wandb_is_the_whole_run_and_has_its_id(
    run: TrainingRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("wandb")
    monkeypatch.delenv("WANDB_MODE", raising=False)
    from wandb.proto import wandb_internal_pb2

    twice(run, "wandb")
    ids, steps = set(), list[list[int]]()
    for path in sorted((run.path / "wandb").glob("offline-run-*/run-*.wandb")):
        steps.append([])
        for data in records(path.read_bytes()):
            record = wandb_internal_pb2.Record.FromString(data)
            ids |= {record.run.run_id} - {""}
            names = [item.key or "/".join(item.nested_key) for item in record.history.item]
            steps[-1] += [record.history.step.num] if "train/loss" in names else []
    assert len(ids) == 1
    assert steps[-1] == [1, 2, 3, 4, 5, 6]


def records(data: bytes) -> Iterator[bytes]:
    """Yield the records of a file in LevelDB's log format behind a head of 7 bytes, as W&B writes it."""
    at, block, whole = 7, 32768, b""
    while at + 7 <= len(data):
        if block - at % block < 7:
            at += block - at % block
            continue
        length, kind = int.from_bytes(data[at + 4 : at + 6], "little"), data[at + 6]
        whole += data[at + 7 : at + 7 + length]
        at += 7 + length
        if kind in (1, 4):  # whole, or the last part
            yield whole
            whole = b""
