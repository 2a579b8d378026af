"""The profiler's numbers are right, and calm enough to be read."""

from __future__ import annotations

import pytest

from ecs_rl.viewer.panels.profile import Profiler


class Watch:
    """A clock that is set by hand."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def run(profiler: Profiler, watch: Watch, frames: int, gap: float = 0.02) -> None:
    for _ in range(frames):
        watch.now += gap
        spent = {"simulate": watch.now * 0.1, "learn": watch.now * 0.3}
        profiler.frame(spent, {"train": gap * 0.4, "idle": gap * 0.6})


def test_stages_cost_what_their_seconds_grew_by() -> None:
    watch = Watch()
    profiler = Profiler(watch)
    run(profiler, watch, 100)
    view = profiler.view()
    simulate, learn = view.rows
    assert (simulate.name, learn.name) == ("simulate", "learn")
    assert simulate.now == pytest.approx(2.0)
    assert learn.mean == pytest.approx(6.0)
    assert (simulate.share, learn.share) == pytest.approx((0.25, 0.75))
    assert dict(view.frame) == pytest.approx({"train": 8.0, "idle": 12.0})


def test_means_and_shares_go_back_one_second_alike() -> None:
    watch = Watch()
    profiler = Profiler(watch)
    profiler.frame({"simulate": 0.0, "learn": 0.0}, {})
    watch.now += 0.1
    profiler.frame({"simulate": 3.0, "learn": 0.0}, {})
    for i in range(20):
        watch.now += 0.1
        profiler.frame({"simulate": 3.0, "learn": 0.05 * (i + 1)}, {})
    simulate, learn = profiler.view().rows
    assert simulate.mean == 0.0
    assert learn.mean == pytest.approx(50.0)
    assert (simulate.share, learn.share) == pytest.approx((0.0, 1.0))


def test_numbers_change_at_most_four_times_a_second() -> None:
    watch = Watch()
    profiler = Profiler(watch)
    shown = [profiler.view()]
    for _ in range(100):
        run(profiler, watch, 1)
        kept = profiler.view()
        assert kept is profiler.view()
        if kept is not shown[-1]:
            shown.append(kept)
    assert 6 <= len(shown) - 1 <= 9, "two seconds have passed"


def test_before_the_first_frame_and_with_another_world_nothing_is_odd() -> None:
    watch = Watch()
    profiler = Profiler(watch)
    assert profiler.view().rows == ()
    run(profiler, watch, 3)
    watch.now += 1
    profiler.frame({"simulate": 0.0, "judge": 0.5}, {"idle": 0.1})
    rows = profiler.view().rows
    assert [(row.name, row.now, row.mean >= 0) for row in rows] == [("simulate", 0.0, True), ("judge", 0.0, True)]
