"""The stages are esper's processors: `esper.process` runs a tick, and processors that a user adds run with them."""

from __future__ import annotations

from collections.abc import Callable

import esper
import numpy as np
import pytest

from ecs_rl.components import Clock
from ecs_rl.loading import load_scene
from ecs_rl.world import World
from ecs_rl.worlds import make_world


def balance(*, debug: bool = False) -> World:
    def still(seen: object, state: object) -> np.ndarray:
        return np.zeros(3, int)

    return make_world(load_scene("balance"), arenas=3, seed=5, policies={"policy": still}, debug=debug)


class Watcher(esper.Processor):
    """Notes the tick of every episode each time it runs."""

    def __init__(self, world: World) -> None:
        self.clock, self.ticks = world.one(Clock), list[int]()

    def process(self) -> None:
        self.ticks.append(int(self.clock.tick[0]))


def by_tick(world: World) -> None:
    world.tick()


def by_slices(world: World) -> None:
    assert set(world.slices()) <= set(world.stages)


def by_esper(world: World) -> None:
    world.enter()
    esper.process()


@pytest.mark.parametrize("run", [by_tick, by_slices, by_esper])
@pytest.mark.parametrize("debug", [False, True])
def test_a_processor_added_through_esper_runs_in_every_tick(run: Callable[[World], None], debug: bool) -> None:
    world = balance(debug=debug)
    early, late = Watcher(world), Watcher(world)
    world.enter()
    esper.add_processor(early, priority=1)
    esper.add_processor(late)
    for _ in range(3):
        run(world)
    world.close()
    assert early.ticks == [0, 1, 2]
    assert late.ticks == [1, 2, 3]
    assert world.ticks == 3


def test_esper_process_runs_the_same_tick_as_the_world() -> None:
    one, other = balance(), balance()
    for _ in range(40):
        one.tick()
        by_esper(other)
    ours, theirs = one.save_columns(), other.save_columns()
    assert ours.keys() == theirs.keys()
    assert all(np.array_equal(ours[key], theirs[key]) for key in ours)
    one.close()
    other.close()


def test_a_tick_that_is_taken_up_again_skips_what_ran_before_it_was_left() -> None:
    world = balance()
    watcher = Watcher(world)
    world.enter()
    esper.add_processor(watcher, priority=1)
    list(world.slices("respawn"))
    assert watcher.ticks == []
    world.close()
