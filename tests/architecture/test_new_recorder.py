"""A new recorder of the project costs one file and one row of a table."""

from __future__ import annotations

from pathlib import Path

import pytest

from ecs_rl import runs, shipped
from ecs_rl.errors import CommandError
from ecs_rl.runs import TrainingRun, recorders

FILE = '''
"""A recorder that writes a plain text file."""

class PlainRecorder:
    def begin(self, facts):
        self.file = facts.path / "plain.txt"
        return -1

    def record(self, step, seconds, metrics):
        with self.file.open("a") as file:
            file.write(f"{step} {metrics['train/return']:g}\\n")

    def finish(self, status, table, episodes):
        with self.file.open("a") as file:
            file.write(f"{status}\\n")
'''


def test_a_recorder_is_one_file_and_one_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(CommandError, match=r"there is tensorboard, mlflow, wandb, or FILE\.py:NAME"):
        recorders.recorders_of("plain")
    (tmp_path / "plain_recorder.py").write_text(FILE)
    monkeypatch.setattr(runs, "__path__", [*runs.__path__, str(tmp_path)])
    monkeypatch.setitem(shipped.RECORDERS, "plain", "PlainRecorder")

    run = TrainingRun.create("cart", runs_dir=tmp_path / "runs", scene="balance", agent="ppo", seed=3)
    run.write_config({"ppo": {}})
    for name, recorder in recorders.recorders_of("plain").items():
        run.open_recorder(name, recorder)
    run.log_metrics(8, 1.0, {"train/return": 2.5})
    run.update_metadata(status="finished")
    run.close()
    assert (run.path / "plain.txt").read_text() == "8 2.5\nfinished\n"
