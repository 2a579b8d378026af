"""TensorBoard shows exactly the rows of metrics.jsonl, before and after a resume."""

from __future__ import annotations

import errno
import os
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest

from ecs_rl.errors import CheckpointError, CommandError, StorageError
from ecs_rl.runs import TrainingRun
from ecs_rl.runs.board import Board, require_tensorboard


@pytest.fixture
def run(tmp_path: Path) -> TrainingRun:
    return TrainingRun.create("cart", runs_dir=tmp_path)


def test_without_the_package_the_extra_is_named(run: TrainingRun, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tensorboard", None)
    for ask in (require_tensorboard, run.open_board, lambda: Board(run.path)):
        with pytest.raises(CommandError, match=r"python -m pip install 'ecs-rl\[tb\]'"):
            ask()
    assert not (run.path / "tb").exists()


class TestWithTensorboard:
    @pytest.fixture(autouse=True)
    def installed(self) -> None:
        pytest.importorskip("tensorboard")

    def test_every_row_is_shown_once(self, run: TrainingRun) -> None:
        run.log_metrics(1, 0.1, {"train/loss": 1.0})
        run.open_board()
        for step in range(2, 6):
            run.log_metrics(step, step / 10, {"train/loss": 1 / step, "eval/mean_return": float("nan")})
        assert shown(run.path) == stored(run)
        assert {name for name, *_ in shown(run.path)} == {"train/loss"}
        run.close()

    def test_after_a_resume_there_is_no_gap_and_no_double(self, run: TrainingRun) -> None:
        run.open_board()
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
        again.open_board()
        for step in range(4, 10):
            again.log_metrics(step, step / 10, {"train/loss": 1 / step})
        assert shown(run.path) == stored(again)
        assert [step for _, step, *_ in shown(run.path)] == list(range(1, 10))
        assert sum(path.stat().st_size > 0 for path in (run.path / "tb").iterdir()) == 1
        again.close()

    def test_logs_cut_after_it_was_opened_are_cut_there_too(self, run: TrainingRun) -> None:
        run.open_board()
        run.log_metrics(1, 0.1, {"train/loss": 1.0})
        lengths = run.flush()
        run.log_metrics(2, 0.2, {"train/loss": 2.0})
        run.cut_logs(lengths)
        run.log_metrics(2, 0.3, {"train/loss": 3.0})
        assert shown(run.path) == stored(run)
        run.close()

    def test_a_tensorboard_that_looks_all_the_time_ends_with_the_same(self, run: TrainingRun) -> None:
        from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

        run.open_board()
        looking = EventAccumulator(str(run.path / "tb"))
        for step in range(1, 4):
            run.log_metrics(step, step / 10, {"train/loss": 1 / step})
            looking.Reload()
        run.close()
        again = TrainingRun.resume(run.path)
        again.open_board()
        for step in range(4, 6):
            again.log_metrics(step, step / 10, {"train/loss": 1 / step})
            looking.Reload()
        assert [event.step for event in looking.Scalars("train/loss")] == [1, 2, 3, 4, 5]
        again.close()

    def test_files_of_earlier_times_do_not_pile_up(self, run: TrainingRun) -> None:
        run.log_metrics(1, 0.1, {"train/loss": 1.0})
        for _ in range(5):
            run.open_board()
        assert len(list((run.path / "tb").iterdir())) == 2
        assert shown(run.path) == stored(run)
        run.close()

    def test_a_full_disk_is_an_error_that_names_the_file(
        self, run: TrainingRun, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        run.open_board()
        run.log_metrics(1, 0.1, {"train/loss": 1.0})
        with monkeypatch.context() as patch:

            def full(*_: object) -> int:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

            patch.setattr(os, "write", full)
            with pytest.raises(StorageError, match=r"tb/events\.out\.tfevents\..*No space left"):
                run.log_metrics(2, 0.2, {"train/loss": 1.0})
        run.close()
        assert run.problem is not None
        assert [step for _, step, *_ in shown(run.path)] == [1]

    @pytest.mark.parametrize("number", ["1" + "0" * 400, "true", '"x"', "[1]", "null"])
    def test_what_is_no_number_to_plot_is_left_out(self, run: TrainingRun, number: str) -> None:
        run.close()
        row = f'{{"total_steps":1,"seconds":0.5,"train/a":{number},"train/loss":2.0}}\n'
        (run.path / "metrics.jsonl").write_text(row)
        again = TrainingRun.resume(run.path)
        again.open_board()
        again.close()
        assert ("train/loss", 1, 2.0) in shown(run.path)

    @pytest.mark.parametrize("row", ["{}", '{"total_steps":1}', '{"total_steps":1e300,"seconds":"x"}', "[1]", "{"])
    def test_rows_that_are_none_are_refused_with_what_to_do(self, run: TrainingRun, row: str) -> None:
        run.close()
        (run.path / "metrics.jsonl").write_text(f"{row}\n")
        again = TrainingRun.resume(run.path)
        with pytest.raises(CheckpointError, match=r"cannot read .*metrics\.jsonl.* without --tb"):
            again.open_board()
        again.close()

    def test_a_start_that_is_no_time_is_refused_with_what_to_do(self, run: TrainingRun) -> None:
        run.update_metadata(started_at="\x1b[2Jnever")
        with pytest.raises(CheckpointError, match=r"which is no time: .* without --tb"):
            run.open_board()
        run.close()

    def test_links_are_not_followed(self, run: TrainingRun, tmp_path: Path) -> None:
        outside = tmp_path / "outside"
        outside.mkdir()
        (outside / "file").write_text("kept")
        (run.path / "tb").symlink_to(outside)
        with pytest.raises(CheckpointError, match="is a link that leaves the run"):
            run.open_board()
        (run.path / "tb").unlink()
        (run.path / "tb").mkdir()
        (run.path / "tb" / "events.out.tfevents.1").symlink_to(outside / "file")
        with pytest.raises(StorageError, match=r"tb/events\.out\.tfevents\.1"):
            run.open_board()
        run.close()
        assert {path.name: path.read_text() for path in outside.iterdir()} == {"file": "kept"}


def shown(run: Path) -> list[tuple[str, int, float]]:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    board = EventAccumulator(str(run / "tb"))
    board.Reload()
    events = [(tag, event) for tag in board.Tags()["scalars"] for event in board.Scalars(tag)]
    return sorted(((tag, event.step, round(event.value, 5)) for tag, event in events), key=lambda row: row[1])


def stored(run: TrainingRun) -> list[tuple[str, int, float]]:
    run.flush()
    rows: list[dict[str, Any]] = msgspec.json.Decoder(dict[str, Any]).decode_lines(
        (run.path / "metrics.jsonl").read_bytes()
    )
    return [
        (name, row["total_steps"], round(value, 5))
        for row in rows
        for name, value in row.items()
        if "/" in name and value is not None
    ]
