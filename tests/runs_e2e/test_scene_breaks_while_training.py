"""A scene whose bug shows only after a while: refused by file and line, and what was learnt is saved."""

from __future__ import annotations

from pathlib import Path

from command_runs import TINY, changed_balance, metadata, train

from ecs_rl.runs import read_manifest


def test_a_bug_that_shows_later_names_its_line_and_saves_what_there_is(tmp_path: Path) -> None:
    scene = changed_balance(tmp_path / "late.py", '"upright": 1.0', '"upright": late')
    scene.write_text(scene.read_text() + "\n\nLEFT = [0] * 60\n\n\ndef late():\n    return LEFT.pop() + 1.0  # BUG\n")
    line = next(i for i, text in enumerate(scene.read_text().splitlines(), 1) if "# BUG" in text)
    told = train(scene, *TINY, "--eval-every", "100M", "--runs", tmp_path / "runs")
    assert told.code == 2
    assert f"train.py: {scene}, line {line}: IndexError: pop from empty list" in told.err
    assert "Traceback" not in told.err
    run = next((tmp_path / "runs" / "late" / "v1").iterdir())
    assert metadata(run)["status"] == "failed"
    assert 0 < metadata(run)["total_steps"] == read_manifest(run / "checkpoints" / "latest.safetensors").step
