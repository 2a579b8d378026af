"""TensorBoard shows exactly the rows of metrics.jsonl, before and after a resume."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest

from ecs_rl.cli.command_settings import TrainSettings
from ecs_rl.errors import CheckpointError, CommandError, StorageError
from ecs_rl.runs import TrainingRun
from ecs_rl.runs.logs import Appended
from ecs_rl.runs.recorders import Recording, recorders_of


@pytest.fixture
def run(tmp_path: Path) -> TrainingRun:
    return TrainingRun.create("cart", runs_dir=tmp_path)


def opened(run: TrainingRun) -> Recording:
    """Return TensorBoard's recording of a run, begun."""
    ((name, recorder),) = recorders_of("tensorboard").items()
    run.open_recorder(name, recorder)
    return run.recordings[-1]


def test_without_the_package_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tensorboard", None)
    with pytest.raises(CommandError, match=r"python -m pip install 'ecs-rl\[tb\]'"):
        recorders_of("tensorboard")


@pytest.mark.parametrize("recorder", ["", "tensorboard", "mlflow"])
def test_tb_is_short_for_the_recorder(recorder: str) -> None:
    wanted = ",".join(filter(None, dict.fromkeys((recorder, "tensorboard"))))
    assert TrainSettings(scene="lander", tb=True, recorder=recorder).recorders == wanted
    assert TrainSettings(scene="lander", recorder=recorder).recorders == recorder


class TestWithTensorboard:
    @pytest.fixture(autouse=True)
    def installed(self) -> None:
        pytest.importorskip("tensorboard")

    def test_every_row_is_shown_once(self, run: TrainingRun) -> None:
        run.log_metrics(1, 0.1, {"train/loss": 1.0})
        opened(run)
        for step in range(2, 6):
            run.log_metrics(step, step / 10, {"train/loss": 1 / step, "eval/mean_return": float("nan")})
        run.close()
        assert shown(run.path) == stored(run)
        assert {name for name, *_ in shown(run.path)} == {"train/loss"}

    def test_after_a_resume_there_is_no_gap_and_no_double(self, run: TrainingRun) -> None:
        opened(run)
        for step in range(1, 4):
            run.log_metrics(step, step / 10, {"train/loss": 1 / step})
        lengths = run.flush(sync=True)
        for step in range(4, 8):  # after the checkpoint: lost by the kill
            run.log_metrics(step, step / 10, {"train/loss": 99.0})
        run.close()
        torn = next((run.path / "tb").iterdir())
        torn.write_bytes(torn.read_bytes()[:-7])
        again = TrainingRun.resume(run.path)
        again.cut_logs(lengths)
        opened(again)
        for step in range(4, 10):
            again.log_metrics(step, step / 10, {"train/loss": 1 / step})
        again.close()
        assert shown(run.path) == stored(again)
        assert [step for _, step, *_ in shown(run.path)] == list(range(1, 10))
        assert sum(path.stat().st_size > 0 for path in (run.path / "tb").iterdir()) == 1

    def test_a_tensorboard_that_looks_all_the_time_ends_with_the_same(self, run: TrainingRun) -> None:
        from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

        opened(run)
        for step in range(1, 4):
            run.log_metrics(step, step / 10, {"train/loss": 1 / step})
        run.close()
        looking = EventAccumulator(str(run.path / "tb"))
        looking.Reload()
        assert [event.step for event in looking.Scalars("train/loss")] == [1, 2, 3]
        again = TrainingRun.resume(run.path)
        opened(again)
        for step in range(4, 6):
            again.log_metrics(step, step / 10, {"train/loss": 1 / step})
        again.close()
        looking.Reload()
        assert [event.step for event in looking.Scalars("train/loss")] == [1, 2, 3, 4, 5]

    def test_files_of_earlier_times_do_not_pile_up(self, run: TrainingRun) -> None:
        run.log_metrics(1, 0.1, {"train/loss": 1.0})
        run.close()
        for _ in range(5):
            again = TrainingRun.resume(run.path)
            opened(again)
            again.close()
        assert len(list((run.path / "tb").iterdir())) == 2
        assert shown(run.path) == stored(again)

    def test_a_full_disk_ends_the_recording_alone_and_names_the_file(
        self, run: TrainingRun, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        recording = opened(run)
        run.log_metrics(1, 0.1, {"train/loss": 1.0})

        def full(*_: object) -> None:
            raise StorageError(f"{run.path}/tb/events: No space left on device")

        monkeypatch.setattr(Appended, "flush", full)
        recording.row({"total_steps": 2, "seconds": 0.2, "train/loss": 1.0})
        recording.finish("finished", {}, [], 60.0)
        monkeypatch.undo()
        assert re.search(r"tb/events.*No space left", recording.problem)
        run.log_metrics(3, 0.3, {"train/loss": 1.0})
        run.close()
        assert run.problem is None
        assert [step for _, step, *_ in stored(run)] == [1, 3]

    @pytest.mark.parametrize("number", ["1" + "0" * 400, "true", '"x"', "[1]", "null"])
    def test_what_is_no_number_to_plot_is_left_out(self, run: TrainingRun, number: str) -> None:
        run.close()
        row = f'{{"total_steps":1,"seconds":0.5,"train/a":{number},"train/loss":2.0}}\n'
        (run.path / "metrics.jsonl").write_text(row)
        again = TrainingRun.resume(run.path)
        opened(again)
        again.close()
        assert ("train/loss", 1, 2.0) in shown(run.path)

    @pytest.mark.parametrize("row", ["{}", '{"total_steps":1}', '{"total_steps":1e300,"seconds":"x"}', "[1]", "{"])
    def test_rows_that_are_none_are_refused_with_what_to_do(self, run: TrainingRun, row: str) -> None:
        run.close()
        (run.path / "metrics.jsonl").write_text(f"{row}\n")
        again = TrainingRun.resume(run.path)
        try:
            recording = opened(again)
        except CheckpointError as error:
            problem = str(error)
        else:
            again.close()
            problem = recording.problem
        assert re.search(r"metrics\.jsonl.*restore it, or train without --recorder", problem)
        again.close()

    def test_a_start_that_is_no_time_is_refused_with_what_to_do(self, run: TrainingRun) -> None:
        run.update_metadata(started_at="\x1b[2Jnever")
        recording = opened(run)
        run.close()
        assert re.search(r"which is no time: .* without --tb", recording.problem)
        assert "\x1b" not in recording.problem

    def test_links_are_not_followed(self, run: TrainingRun, tmp_path: Path) -> None:
        outside = tmp_path / "outside"
        outside.mkdir()
        (outside / "file").write_text("kept")
        (run.path / "tb").symlink_to(outside)
        recording = opened(run)
        run.close()
        assert "is a link that leaves the run" in recording.problem
        (run.path / "tb").unlink()
        (run.path / "tb").mkdir()
        (run.path / "tb" / "events.out.tfevents.1").symlink_to(outside / "file")
        again = TrainingRun.resume(run.path)
        recording = opened(again)
        again.close()
        assert "tb/events.out.tfevents.1" in recording.problem
        assert {path.name: path.read_text() for path in outside.iterdir()} == {"file": "kept"}


def shown(run: Path) -> list[tuple[str, int, float]]:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    board = EventAccumulator(str(run / "tb"))
    board.Reload()
    events = [(tag, event) for tag in board.Tags()["scalars"] for event in board.Scalars(tag)]
    return sorted(((tag, event.step, round(event.value, 5)) for tag, event in events), key=lambda row: row[1])


def stored(run: TrainingRun) -> list[tuple[str, int, float]]:
    rows: list[dict[str, Any]] = msgspec.json.Decoder(dict[str, Any]).decode_lines(
        (run.path / "metrics.jsonl").read_bytes()
    )
    return [
        (name, row["total_steps"], round(value, 5))
        for row in rows
        for name, value in row.items()
        if "/" in name and value is not None
    ]
