"""The mouse takes hold of one member of a kind, and of what is here alone."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from game_scene import GAME
from live_windows import TINY, Live, down, moved, same, up, watching

from ecs_rl.arrays import F64
from ecs_rl.results import Results
from ecs_rl.viewer.objects import BodyId

SCENE = """
import numpy as np
from ecs_rl.scene import *

SCENE = Scene(about="Rocks fly and coins lie.", max_ticks=400, gravity=(0, 0), camera=View((-8, 8), (-4.5, 4.5)))


@component
class Health:
    points: float = 2.0


def build(arena):
    ship = arena.spawn("ship", Body(mass=1.0), Disc(0.5))
    start, here = Start(x=(-6, -3, 3, 6), y=2.0), (True, True, True, False)
    rocks = arena.spawn("rock", Body(mass=2.0), Disc(0.6), start, Health(), count=4, here=here)
    coins = arena.spawn("coin", Body(solid=False, moves="never"), Disc(0.3), Start(x=(-4, 0, 4), y=-3.0), count=3)
    age = arena.number("age")

    @arena.system(writes=(Here, Pose, Motion, age))
    def go():
        age.value += 1
        rocks.leave(np.stack([age.value < 0, age.value < 0, age.value == 60, age.value < 0], -1))

    arena.agent(sees=[X(ship)], does=Choice(left=Push(ship, -0.1), right=Push(ship, 0.1)), earns={"x": X(ship)})
"""


@pytest.fixture
def live(tmp_path: Path) -> Iterator[Live]:
    (tmp_path / "rocks.py").write_text(SCENE)
    with watching(tmp_path, str(tmp_path / "rocks.py"), *TINY) as opened:
        opened.slices(40)
        opened.draw()
        yield opened


def rocks(live: Live) -> F64:
    return np.array(live.show.world.arena.roles[1].position[live.show.arena])


def test_a_dragged_member_comes_along_and_the_others_stay(live: Live) -> None:
    before, training = rocks(live), live.trains.world.save_columns()
    at = live.pixel("rock", member=1)
    to = (at[0] + 20, at[1] - 50)
    live.answer(down(at), moved(to, (20, -50)))
    hand = live.show.hand
    assert (hand.role, hand.member) == (1, 1)
    for _ in range(40):
        live.show.tick()
    live.draw()
    assert live.stage.grip is not None
    after = rocks(live)
    wanted = live.metres(to, 0)
    assert math.dist(after[1], wanted) < 0.1
    assert (after[[0, 2, 3]] == before[[0, 2, 3]]).all()
    live.answer(up(to))
    assert hand.role is None
    assert same(live.trains.world.save_columns(), training)


def test_a_clicked_member_is_inspected_by_its_number_and_poked_alone(live: Live) -> None:
    at = live.pixel("rock", member=2)
    live.answer(down(at), up(at))
    assert live.window.stage.selected == BodyId("rock", 2)
    live.draw()
    assert live.window.views["inspector"].title == "rock 2"
    assert ("Health points", " 2.00", "") in live.window.views["inspector"].rows
    live.hit("P")
    assert "kicked rock 2" in live.said()
    before = rocks(live)
    for _ in range(3):
        live.show.tick()
    moved_by = np.hypot(*(rocks(live) - before).T)
    assert moved_by[2] > 0.01
    assert not moved_by[[0, 1, 3]].any()
    assert live.show.touched


def test_what_is_not_here_is_neither_taken_nor_clicked(live: Live) -> None:
    x, y = rocks(live)[3].tolist()
    at = live.pixel_of((x, y))
    live.answer(down(at), up(at))
    assert live.window.stage.selected is None
    live.answer(down(at), moved((at[0] + 40, at[1])))
    assert live.show.hand.role is None
    live.answer(up((at[0] + 40, at[1])))
    live.window.stage.selected = BodyId("rock", 3)
    live.hit("P")
    assert "kicked" not in live.said()
    assert not live.show.touched


def test_what_never_moves_is_inspected_but_not_pulled(live: Live) -> None:
    at = live.pixel("coin", member=2)
    live.answer(down(at), up(at))
    assert live.window.stage.selected == BodyId("coin", 2)
    live.answer(down(at), moved((at[0] + 40, at[1])))
    assert live.show.hand.role is None
    assert not live.show.touched


def test_a_poke_at_random_kicks_one_solid_body_that_is_here(live: Live) -> None:
    kicked = {live.show.poke() for _ in range(200)}
    assert kicked == {"ship", "rock 0", "rock 1", "rock 2"}


def test_a_member_that_leaves_slips_out_of_the_hand(live: Live) -> None:
    at = live.pixel("rock", member=2)
    live.answer(down(at), moved((at[0] + 10, at[1])))
    assert live.show.hand.member == 2
    while live.show.hand.role is not None:
        live.show.tick()
        assert live.show.world.ticks < 200
    live.draw()
    assert not live.show.world.arena.roles[1].here[live.show.arena, 2]
    live.answer(moved((at[0] + 30, at[1])), up((at[0] + 30, at[1])))
    live.show.tick()
    live.draw()


def test_episodes_of_a_kind_of_agents_end_on_the_stage_and_their_return_is_the_mean(tmp_path: Path) -> None:
    (tmp_path / "game.py").write_text(GAME)
    with watching(tmp_path, str(tmp_path / "game.py"), *TINY) as live:
        live.show.paused = False
        while not live.show.ended:
            live.show.tick()
        (ended,) = live.show.ended
        live.draw()
        assert ended.record.length == 120
        assert ended.record.extras["got"] == pytest.approx(ended.record.total_reward)
        assert "'fails' is not drawn" in live.said(), "a mark whose rule fails now"
        live.hit("G")
        live.slices(200)
        live.draw()
        grid, world = live.window.views.get("grid"), live.trains.world
        assert grid is not None
        assert world.ticks > 0
        assert live.window.stage.grid is not None
        assert live.window.stage.grid._bars is not None
        wanted = Results(world).now()
        for _ in range(200):
            live.window.stage.grid.view(1.0)
        assert live.window.stage.grid._bars == pytest.approx(wanted)
