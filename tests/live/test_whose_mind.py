"""Of several agents it is clear whose mind is shown; a key and a click change it, and it is the one that is driven."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from live_windows import TINY, Live, down, up, watching

from ecs_rl.components import Action, Observation
from ecs_rl.viewer.objects import BodyId

SCENE = """
from ecs_rl.scene import *

SCENE = Scene(about="Two fish and a shark.", max_ticks=100, gravity=(0, 0), camera=View((-8, 8), (-4.5, 4.5)))


def build(arena):
    fish = arena.spawn("fish", Body(), Disc(0.5), Start(x=(-3, 3), y=1.0), count=2)
    shark = arena.spawn("shark", Body(), Disc(0.8), Start(y=-2.0))
    arena.agent(name="fish", policy="fish", of=fish, sees=[X(fish), Y(fish)], does=Levers(across=Push(fish, x=3.0)),
                earns={"still": 1.0})
    arena.agent(name="shark", policy="shark", sees=[X(shark), Y(shark)], does=Levers(along=Push(shark, y=3.0)),
                earns={"still": 1.0})
"""
WHO = ("fish 0", "fish 1", "shark")


@pytest.fixture
def live(tmp_path: Path) -> Iterator[Live]:
    (tmp_path / "sea.py").write_text(SCENE)
    with watching(tmp_path, str(tmp_path / "sea.py"), *TINY) as opened:
        opened.window.advance(0.1, 1.0)
        opened.draw()
        yield opened


def shown(live: Live) -> tuple[str, BodyId | None, list[float]]:
    """Return whose mind it is, the marked body, and what it sees."""
    live.window.advance(1 / 50, 1.0)
    live.window.panels["mind"].advance(live.window, 1.0)
    live.draw()
    mind, stage = live.window.views["mind"], live.stage
    assert mind is not None
    assert stage is not None
    return mind.who, stage.watched[0] if stage.watched else None, [seen.value for seen in mind.sees]


def sight(live: Live, number: int) -> list[float]:
    """Return what one of the three agents sees, in the arena that is watched."""
    world, show = live.show.world, live.show
    batch = world.batches[0 if number < 2 else 1]
    member = number if number < 2 else 0
    row = batch.slots[0].rows.start + member * world.arenas + show.arena
    return [float(value) for value in world.of(batch.entity, Observation).value[row]]


def test_a_key_goes_through_all_agents_and_members_and_each_is_marked_and_named(live: Live) -> None:
    bodies = (BodyId("fish", 0), BodyId("fish", 1), BodyId("shark", 0))
    for number, (who, body) in enumerate(zip(WHO, bodies, strict=True)):
        expected = sight(live, number)
        name, marked, sees = shown(live)
        assert (name, marked) == (who, body)
        assert sees == pytest.approx(expected, abs=1e-6)
        live.hit("J")
        assert f"this is the mind of {WHO[(number + 1) % 3]}" in live.said()
    assert shown(live)[0] == "fish 0"


def test_a_click_on_a_body_turns_to_its_mind(live: Live) -> None:
    for role, member, who in (("shark", 0, "shark"), ("fish", 1, "fish 1"), ("fish", 0, "fish 0")):
        at = live.pixel(role, member=member)
        live.answer(down(at), up(at))
        assert shown(live)[0] == who


def test_the_person_drives_the_agent_whose_mind_is_shown(live: Live) -> None:
    live.hit("J", "H")
    hands = live.window.stage.hands
    assert hands is not None
    hands._keyboard["right"] = 1.0
    shown(live)
    world = live.show.world
    action = world.of(world.batches[0].entity, Action).value[:, 0].reshape(2, world.arenas)
    assert action[1, live.show.arena] == 1.0
    assert action[0, live.show.arena] != 1.0
    live.hit("J")
    assert shown(live)[0] == "shark"
    assert [what for _, what in hands.controls.legend] == ["along"]


def test_of_one_agent_nothing_is_marked(tmp_path: Path) -> None:
    with watching(tmp_path) as live:
        name, marked, _ = shown(live)
        assert (name, marked) == ("", None)


def test_the_mind_of_another_agent_tells_of_the_past_that_is_seen(live: Live) -> None:
    live.window.advance(0.5, 1.0)
    live.hit("Space", *["Left"] * 5)
    live.hit("J", "J", "I")
    live.draw()
    who, _, sees = shown(live)
    assert who == "shark"
    mind, ticks = live.window.views["mind"], live.show.rewind.here
    assert (len(mind.expected), mind.why is not None) == (ticks, True), "its own past, though nobody looked at it then"
    live.hit("Left")
    assert sees == pytest.approx(sight(live, 2)), "what it decided on: that was there a tick before"


def test_before_anything_is_done_the_first_option_is_explained(tmp_path: Path) -> None:
    with watching(tmp_path) as started:
        started.window.advance(0.5, 1.0)
        started.hit("Space", *["PgUp"] * 3, "I")
        started.frames(2)
        mind = started.window.views["mind"]
        assert mind.why is not None
        assert (mind.why.row, any(option.chosen for option in mind.does)) == (0, False)
