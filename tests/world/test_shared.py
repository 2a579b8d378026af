"""Rules whose result is shared: worked out once while nothing changes, and never other than the rule itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from world_helpers import SMALL_PPO, random_world, scene_of

from ecs_rl.components import ActionLog, Snapshots
from ecs_rl.errors import SceneError
from ecs_rl.scene import (
    Arena,
    Body,
    Disc,
    Effect,
    Feel,
    Lasting,
    Levers,
    Motion,
    Pose,
    Progress,
    Push,
    Scene,
    Start,
    X,
    above,
    between,
    jitter,
)
from ecs_rl.schedule import TRAINING
from ecs_rl.session import TrainingSession
from ecs_rl.spaces import ActMode
from ecs_rl.training.scene_agents import deciding, make_agents
from ecs_rl.training_stages.resources import Session
from ecs_rl.worlds import make_world

PLACES = ("actuate", "simulate", "guard", "sense", "remember", "judge")
"""Stages after which a system may stand."""


class Asks(Effect):
    """An effect that does nothing but ask."""

    ask: Callable[[], Any]

    def apply(self, dt: float) -> None:
        self.ask()


def asked_everywhere(places: list[str], told: list[tuple[Any, Any]], share: Callable[[Arena, Any], Any]) -> Scene:
    """Return a scene in which a rule and what is shared of it are asked in each place, while systems move things."""

    def build(arena: Arena) -> None:
        disc = arena.spawn("disc", Body(), Disc(0.3), Start(x=jitter(0.5), vx=jitter(1.0)))
        got, wind = arena.number("got"), arena.random("wind", between(0.1, 1.0))
        push, ask = Push(disc, x=2.0), Asks(disc)

        def rule() -> Any:
            return disc.x + 3.0 * disc.vx + got.value * wind.value + push.amount

        def remembering() -> Any:
            return shared() + long()

        long = Lasting(lambda: disc.x > 0.0, 3)
        arena.use(long)
        shared, more = share(arena, rule), share(arena, remembering)

        def both() -> Any:
            told.append((np.array(shared()), np.array(rule())))
            told.append((np.array(more()), np.array(rule() + long())))
            return shared()

        ask.ask = both
        for i, place in enumerate(places):

            @arena.system(after=place, writes=(got, Pose, Motion), name=f"change_{i}")
            def change() -> None:
                both()
                got.value += 1.0
                both()
                disc.x += 0.01
                both()
                disc.vx -= 0.01
                both()

        arena.agent(
            sees=[X(disc), Feel("shared", both), Feel("again", lambda: 0.5 * both())],
            does=Levers(push=(push, ask)),
            earns={"shared": both, "progress": Progress(both), "twice": lambda: both() - both()},
            ends={"far": above(both, 20.0), "long": Lasting(above(both, 2.0), 12)},
        )

    return scene_of(build, gravity=(0.0, 0.0), max_ticks=30)


@settings(max_examples=25, deadline=None)
@given(st.lists(st.sampled_from(PLACES), max_size=4), st.sampled_from(["ticks", "slices", "debug", "replay"]))
def test_what_is_shared_is_what_the_rule_gives_wherever_it_is_asked_and_whatever_changes(
    places: list[str], way: str
) -> None:
    told: list[tuple[Any, Any]] = []
    scene = asked_everywhere(places, told, Arena.shared)
    world = random_world(scene, 3, debug=way == "debug", resources=(ActionLog(), Snapshots()))
    other = random_world(scene, 3, seed=5)
    actions = np.random.default_rng(0).uniform(-1, 1, (12, 3, 1)).astype(np.float32)
    if way == "replay":
        world.restore(world.save_columns(), [actions])
    for i in range(40):
        if way == "slices":
            for _ in world.slices():
                pass
        else:
            world.tick()
        if i % 13 == 5:
            world.copy_arena(other, 1, 2)
            world.rebuild()
        if i % 13 == 9:
            world.load_columns(other.save_columns())
            world.rebuild()
    assert len(told) > 300
    assert all((shared == plain).all() for shared, plain in told)


def test_a_shared_rule_is_worked_out_once_for_all_that_is_seen_earned_and_ended_by_it() -> None:
    calls: list[int] = []

    def build(arena: Arena) -> None:
        disc = arena.spawn("disc", Body(), Disc(0.3))

        @arena.shared
        def away() -> Any:
            calls.append(1)
            return np.abs(disc.x)

        arena.agent(
            sees=[Feel("away", away), Feel("twice", lambda: 2.0 * away())],
            does=Levers(push=Push(disc, x=1.0)),
            earns={"near": lambda: -away(), "progress": Progress(away)},
            ends={"far": above(away, 9.0)},
        )

    world = random_world(scene_of(build), 3)
    calls.clear()
    for _ in range(5):
        world.tick()
    assert len(calls) == 5


def test_what_remembers_is_never_kept_in_what_is_shared() -> None:
    seen: list[tuple[bool, bool]] = []

    def build(arena: Arena) -> None:
        disc = arena.spawn("disc", Body(), Disc(0.3))
        long = arena.use(Lasting(lambda: disc.x > -1.0, 3))
        shared = arena.shared(lambda: long() | False)
        direct = arena.shared(long)

        def look() -> Any:
            assert (shared() == long()).all()
            assert (direct() == long()).all()
            return shared()

        def earn() -> Any:
            seen.append((bool(shared()[0]), bool(long()[0])))
            return look()

        arena.agent(sees=[Feel("long", look)], does=Levers(push=Push(disc)), earns={"long": earn})

    world = random_world(scene_of(build), 2)
    for _ in range(5):
        world.tick()
    assert [one for one, _ in seen[-5:]] == [False, False, True, True, True]
    assert all(one == other for one, other in seen)


def test_what_is_shared_is_read_only() -> None:
    def build(arena: Arena) -> None:
        disc = arena.spawn("disc", Body(), Disc(0.3))
        away = arena.shared(lambda: np.abs(disc.x))

        def spoil() -> Any:
            value = away()
            value += 1.0
            return value

        arena.agent(sees=[X(disc)], does=Levers(push=Push(disc)), earns={"x": spoil})

    with pytest.raises(ValueError, match="read-only"):
        random_world(scene_of(build), 2)


def test_only_a_rule_can_be_shared() -> None:
    with pytest.raises(SceneError, match=r"what arena\.shared looks at must be a rule"):
        Arena().shared(3.0)  # type: ignore[arg-type]


def trained(share: Callable[[Arena, Any], Any]) -> str:
    scene = asked_everywhere(["guard", "judge"], [], share)
    agents = make_agents(scene, "ppo", SMALL_PPO, arenas=4, seed=1)
    training = TrainingSession(agents["policy"])
    stages = [name for name in TRAINING if name not in ("evaluate", "snapshot", "write")]
    world = make_world(
        scene, arenas=4, policies=deciding(agents, ActMode.EXPLORE), resources=[Session(training)], stages=stages
    )
    for _ in range(100):
        world.tick()
    return agents["policy"].parameters_sha256()


def test_a_training_gives_the_same_bits_with_and_without_sharing() -> None:
    assert trained(Arena.shared) == trained(lambda arena, rule: rule)
