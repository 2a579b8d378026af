"""A window before a training of several processes: its keys let all of them do the same, at the same tick."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from live_commands import train
from live_windows import TINY, Scripted, in_order, keys, wait

from ecs_rl.runs.rows import changes_in
from ecs_rl.viewer.live.window import Window

SMALL = ("balance", *TINY, "--threads", "1", "--json")
HELD = [1000, 2000, 3000]


def test_saving_evaluating_and_closing_are_agreed_on_and_change_no_bit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    straight = train(*SMALL, "--workers", 2, "--runs", tmp_path / "straight")
    said: list[str] = []

    def close(window: Window) -> Iterator[None]:
        said.extend(message.text for message in window.messages)
        yield from keys("Ctrl+Q")(window)

    more = ("--workers", 2, "--watch", "--runs", tmp_path / "two")
    with monkeypatch.context() as patch:
        Scripted(patch, in_order(wait(8), keys("Ctrl+S"), wait(4), keys("Ctrl+E"), wait(40), close))
        left = train(*SMALL, *more)
    assert (left.code, left.json["status"]) == (0, "interrupted"), left.err
    for word in (
        "all processes save when they meet",
        "all processes evaluate when they meet",
        ".safetensors is written",
        "evaluation: ",
    ):
        assert any(word in told for told in said), said
    evaluated = {
        json.loads(line)["total_steps_at_eval"] for line in (left.run / "eval_episodes.jsonl").read_text().splitlines()
    }
    assert evaluated - set(HELD)
    with monkeypatch.context() as patch:
        Scripted(patch, wait(10_000))
        whole = train(*SMALL, *more, "--resume", left.run)
    assert whole.json["status"] == "finished", whole.err
    assert whole.sha == straight.sha


@pytest.mark.slow
def test_a_slider_changes_a_setting_of_all_processes_at_one_tick_which_a_run_can_repeat(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        Scripted(patch, in_order(wait(8), keys("S", "Down", "Right", "Right"), wait(10_000)))
        changed = train(*SMALL, "--workers", 2, "--watch", "--runs", tmp_path / "changed")
    assert (changed.code, changed.json["status"]) == (0, "finished"), changed.err
    changes = changes_in(changed.run / "metrics.jsonl")
    assert {change.name for change in changes} == {"lr"}
    assert all(0 < change.step < 3000 for change in changes)
    again = train(*SMALL, "--workers", 2, "--changes", changed.run, "--runs", tmp_path / "again")
    assert changes_in(again.run / "metrics.jsonl") == changes
    assert again.sha == changed.sha
    assert again.sha != train(*SMALL, "--workers", 2, "--runs", tmp_path / "straight").sha
