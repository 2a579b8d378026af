"""Components with a declared life: what may be declared, where rows start, and what is saved, copied and refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from world_helpers import always, random_world, scene_of

from ecs_rl.components import ActionLog, Reward, Snapshots
from ecs_rl.ecs.component import columns_of
from ecs_rl.errors import SceneError
from ecs_rl.scene import Arena, Body, Disc, Levers, Progress, Push, Scene, Start, X, between, component, jitter
from ecs_rl.world import World
from ecs_rl.worlds import make_world


@component
class Mixed:
    """One column of every kind of start."""

    number: float = 2.5
    whole: int = 3
    truth: bool = True
    pair: float = (1.0, -1.0)  # type: ignore[assignment]
    drawn: float = jitter(1.0)  # type: ignore[assignment]


def scene_with(*parts: Callable[[Arena], Any], **more: Any) -> Scene:
    """Return a scene of a disc that has what these functions make of the arena."""

    def build(arena: Arena) -> None:
        disc = arena.spawn("disc", Body(), Disc(0.3), *(part(arena) for part in parts))
        arena.agent(sees=[X(disc)], does=Levers(push=Push(disc, 1.0)), earns={"x": X(disc)})

    return scene_of(build, **{"gravity": (0.0, 0.0), "max_ticks": 5, **more})


def world_of(scene: Scene, arenas: int = 4, **more: Any) -> World:
    return make_world(scene, arenas=arenas, policies=always(np.ones((arenas, 1), np.float32)), **more)


def test_columns_have_the_type_and_shape_that_their_declaration_says() -> None:
    world = world_of(scene_with(lambda arena: Mixed(whole=7)))
    held = world.of("disc", Mixed)
    kinds = {each.name: getattr(held, each.name).dtype.kind for each in columns_of(Mixed)}
    assert kinds == {"number": "f", "whole": "i", "truth": "b", "pair": "f", "drawn": "f"}
    assert held.pair.shape == (4, 2)  # type: ignore[attr-defined]
    assert held.whole.tolist() == [7] * 4  # type: ignore[attr-defined]
    assert held.pair[2].tolist() == [1.0, -1.0]  # type: ignore[index]


def test_draws_are_new_in_each_episode_and_arena_and_the_same_for_the_same_seed() -> None:
    def drawn(seed: int) -> np.ndarray:
        world = world_of(scene_with(lambda arena: Mixed(drawn=between(2.0, 3.0))), seed=seed)  # type: ignore[arg-type]
        found = []
        for _ in range(4):
            found.append(world.of("disc", Mixed).drawn.copy())  # type: ignore[attr-defined]
            for _ in range(5):
                world.tick()
        return np.array(found)

    first = drawn(1)
    assert len(np.unique(first)) == first.size
    assert ((first >= 2.0) & (first < 3.0)).all()
    assert (drawn(1) == first).all()
    assert (drawn(2) != first).all()


@pytest.mark.parametrize(
    ("start", "message"),
    [
        ({"number": (1.0, 2.0)}, "Mixed.number is declared as one number and cannot start as 2 numbers"),
        ({"pair": 1.0}, "Mixed.pair is declared as 2 numbers and cannot start as one number: 1.0"),
        ({"pair": (1.0, 2.0, 3.0)}, "Mixed.pair is declared as 2 numbers and cannot start as 3 numbers"),
    ],
)
def test_a_start_of_another_shape_than_the_declared_one_is_refused(start: dict[str, Any], message: str) -> None:
    with pytest.raises(SceneError, match=message):
        world_of(scene_with(lambda arena: Mixed(**start)))


def test_a_rule_starts_a_column_from_where_the_episode_begins() -> None:
    def build(arena: Arena) -> None:
        disc = arena.spawn("disc", Body(), Disc(0.3), Start(x=jitter(2.0), vx=1.0))
        began = arena.number("began", lambda: disc.x)
        arena.agent(sees=[X(disc)], does=Levers(push=Push(disc, 1.0)), earns={"gone": lambda: disc.x - began.value})

    world = world_of(scene_of(build, max_ticks=5, gravity=(0.0, 0.0)))
    reward = world.of(world.batches[0].entity, Reward)
    for tick in range(12):
        world.tick()
        assert reward.value == pytest.approx([reward.value[0]] * 4, abs=1e-5), tick
        assert 0.0 < reward.value[0] < 0.2


def test_a_component_is_saved_copied_and_brought_back_with_everything_else() -> None:
    scene = scene_with(lambda arena: Mixed(), max_ticks=50)
    running, other = (random_world(scene, 4, seed=s, resources=(ActionLog(), Snapshots())) for s in (1, 2))
    running.of("disc", Mixed).number[2] = 9.0  # type: ignore[index]
    saved = running.save_columns()
    assert {"disc/Mixed/number", "disc/Mixed/pair", "@arena/Clock/tick"} <= saved.keys()
    other.load_columns(saved)
    assert other.of("disc", Mixed).number.tolist() == [2.5, 2.5, 9.0, 2.5]  # type: ignore[attr-defined]
    other.of("disc", Mixed).number[:] = 0.0  # type: ignore[index]
    other.copy_arena(running, 2, 0)
    assert other.of("disc", Mixed).number.tolist() == [9.0, 0.0, 0.0, 0.0]  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("part", "message"),
    [
        (lambda arena: Mixed(number="much"), r"Mixed.number starts as a finite number, .*, not 'much'"),  # type: ignore[arg-type]
        (lambda arena: Mixed(number=float("nan")), r"Mixed.number starts as a finite number"),
        (lambda arena: Mixed(whole=1.5), r"Mixed.whole starts as a whole number"),  # type: ignore[arg-type]
        (lambda arena: Mixed(truth=1), r"Mixed.truth starts as true or false"),  # type: ignore[arg-type]
        (lambda arena: Mixed, r"made of a Body, shapes, a Start, a Look and components, not of the class Mixed"),
        (lambda arena: arena.add(Mixed), r"an arena takes an instance of a @component"),
    ],
)
def test_a_component_of_a_wrong_type_or_shape_is_refused(part: Callable[[Arena], Any], message: str) -> None:
    with pytest.raises(SceneError, match=message):
        scene_with(part).describe()


def test_a_draw_or_rule_of_the_wrong_shape_is_refused_by_column() -> None:
    def build(arena: Arena) -> None:
        disc = arena.spawn("disc", Body(), Disc(0.3))
        arena.number("odd", lambda: disc.position)
        arena.agent(sees=[X(disc)], does=Levers(push=Push(disc, 1.0)), earns={"x": 1.0})

    with pytest.raises(SceneError, match=r"@number/odd/odd/value"):
        world_of(scene_of(build))


def test_a_field_without_a_start_or_of_another_type_is_refused_where_it_is_declared() -> None:
    with pytest.raises(SceneError, match=r"Odd.text must be a float, an int or a bool"):

        @component
        class Odd:
            text: str = ""

    with pytest.raises(SceneError, match=r"Bare.number needs a start value"):

        @component
        class Bare:
            number: float


def named(name: str) -> Any:
    return component(type(name, (), {"__annotations__": {"a": float}, "a": 0.0}))


def test_two_components_of_one_name_are_refused() -> None:
    one, other = named("Gun"), named("Gun")
    with pytest.raises(SceneError, match="there is a component Gun already"):
        scene_with(lambda arena: one(), lambda arena: other()).describe()
    with pytest.raises(SceneError, match="there is a component Pose already"):
        scene_with(lambda arena: named("Pose")()).describe()
    with pytest.raises(SceneError, match="'disc' has two Gun"):
        scene_with(lambda arena: one(), lambda arena: one()).describe()


def test_two_numbers_of_one_name_are_refused() -> None:
    def twice(arena: Arena) -> Any:
        arena.number("got")
        arena.number("got")
        return Start()

    with pytest.raises(SceneError, match="there is a number 'got' already"):
        scene_with(twice).describe()


def test_a_column_asked_for_too_early_or_under_a_wrong_name_is_told() -> None:
    def early(arena: Arena) -> Any:
        disc = arena.spawn("early", Body(), Disc(0.1), Mixed())
        with pytest.raises(SceneError, match=r"'Mixed.number' has no numbers before the world runs"):
            _ = disc[Mixed].number
        with pytest.raises(AttributeError, match=r"Mixed has no attribute 'nmber': did you mean 'number'"):
            _ = disc[Mixed].nmber  # type: ignore[attr-defined]
        with pytest.raises(SceneError, match="'early' has no component Gun"):
            _ = disc[named("Gun")]
        with pytest.raises(AttributeError, match="declare it as a field"):
            disc[Mixed].heat = 3.0  # type: ignore[attr-defined]
        return Start()

    scene_with(early).describe()


def test_what_rules_remember_are_components_like_any_other() -> None:
    def build(arena: Arena) -> None:
        disc = arena.spawn("disc", Body(), Disc(0.3), Start(vx=1.0))
        arena.agent(sees=[X(disc)], does=Levers(push=Push(disc, 1.0)), earns={"far": Progress(lambda: disc.x)})

    world = world_of(scene_of(build, max_ticks=50, gravity=(0.0, 0.0)))
    assert {"@memory/0/Grown/last", "@memory/0/Grown/by"} <= world.save_columns().keys()
    assert "remember" in world.stages
