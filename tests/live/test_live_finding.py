"""What is wrong with a training stands below the stage, until a click hides it."""

from __future__ import annotations

from pathlib import Path

from live_windows import TINY, Live, down, up, watching

from ecs_rl.cli.parse import parse_train
from ecs_rl.cli.plan import recipes_of
from ecs_rl.session.diagnosis import WORDS, Diagnosis
from ecs_rl.tasks.run_training import snapshot


def stagnate(live: Live, *, opposed: bool = False) -> None:
    """Let the diagnosis see a training that learns nothing."""
    whole = live.trains.steps_total
    diagnosis = live.trains.metrics_schedule.diagnosis = Diagnosis(whole, solved_at=475.0)
    both = {"rollout/return/a": 1.0, "rollout/return/b": -1.0} if opposed else {}
    for row in range(80):
        told = {"total_steps": whole * row / 80, "rollout/mean_return": 10.0, "eval/mean_return": 11.0}
        diagnosis.add({**told, **both})


def test_a_finding_has_a_line_of_its_own_between_stage_and_drawer(tmp_path: Path) -> None:
    with watching(tmp_path) as live:
        before = live.layout
        stagnate(live)
        live.draw()
        assert live.window.views["finding"].name == "nothing learned"
        stage, rooms = live.layout.stage, live.layout.rooms
        assert stage.bottom == rooms["finding"].top
        assert rooms["finding"].bottom == rooms["learning"].top == before.stage.bottom
        assert rooms["finding"].right == stage.right
        live.hit("M", "Tab")
        live.draw()
        assert live.layout.rooms["finding"].bottomright == live.window.screen.size


def test_a_click_hides_it_until_something_else_is_wrong(tmp_path: Path) -> None:
    with watching(tmp_path) as live:
        stagnate(live)
        live.draw()
        at = live.at("finding", "panel")
        live.answer(down(at), up(at))
        live.draw()
        assert "finding" not in live.window.views
        assert live.layout.rooms.keys() == {"status", "mind", "learning"}
        assert live.window.stage.selected is None
        stagnate(live, opposed=True)
        live.draw()
        assert "finding" in live.window.views
        assert live.window.views["finding"].name == "a return that cannot be compared"


def test_the_progress_tells_it_too(tmp_path: Path) -> None:
    with watching(tmp_path) as live:
        settings = parse_train(["balance", *TINY], recipes_of)
        assert snapshot(live.trains, settings).finding == ""
        stagnate(live)
        told = snapshot(live.trains, settings).finding
        assert told.startswith("nothing learned: after 99% of the steps")
        assert told.endswith(f"({WORDS}#nothing-learned)")
