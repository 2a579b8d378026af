"""A number that stops being one in the middle of an episode is told with its name, arena, tick and value."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from scene_files import GOOD, SEES, Save, with_line

from ecs_rl.errors import ActionError, SceneError
from ecs_rl.loading import load_scene
from ecs_rl.world import World
from ecs_rl.worlds import make_world

LATE = "np.where((disc.x > 0.1) & (np.arange(len(disc.x)) == 2), {}, 0.0)"
"""Bad in arena 2 alone, once the disc has gone a tenth of a metre: after 5 ticks at first, and after 4 thereafter."""


def world_of(save: Save, text: str, action: Any = 1) -> World:
    policies = {"policy": lambda seen, state: np.full(len(seen), action)}
    return make_world(load_scene(str(save(text))), arenas=4, seed=0, policies=policies)


def told_after(world: World, ticks: int = 20) -> tuple[int, str]:
    """Return how many ticks went well, and what was told of the next."""
    try:
        for _ in range(ticks):
            world.tick()
    except (SceneError, ActionError) as refused:
        return world.ticks, str(refused)
    pytest.fail(f"nothing was told in {ticks} ticks")


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("value", ["np.nan", "np.inf", "-np.inf"])
def test_a_late_reward_tells_arena_tick_and_value(save: Save, value: str) -> None:
    text = GOOD.replace('"x": X(disc)', f"'near': 1.0, 'far': lambda: {LATE.format(value)}")
    done, told = told_after(world_of(save, text))
    said = value.replace("np.", "")
    assert done > 2
    assert "line 13: the reward 'far' of 'agent' gave a number that is not finite" in told
    assert told.endswith(f": {said} in arena 2 at tick {done + 1} of its episode")


@pytest.mark.filterwarnings("error")
def test_a_late_sensor_tells_arena_tick_and_value(save: Save) -> None:
    text = with_line(SEES, f"sees=[X(disc), Feel('far', lambda: {LATE.format('np.nan')})],")
    done, told = told_after(world_of(save, text))
    assert done > 2
    assert "line 11: the sensor 'far' gave a number that is not finite" in told
    assert told.endswith(f": nan in arena 2 at tick {done + 1} of its episode")


def test_a_sensor_that_is_bad_as_an_episode_begins_says_tick_0(save: Save) -> None:
    text = with_line(SEES, "sees=[X(disc), Feel('far', lambda: disc.x + np.nan)],")
    with pytest.raises(SceneError, match="nan in arena 0 at tick 0 of its episode"):
        world_of(save, text)


def test_a_late_sensor_of_the_second_agent_names_its_own_arena_and_line(save: Save) -> None:
    late = LATE.format("np.nan")
    text = GOOD + (
        '    arena.agent(name="b", does=Choice(a=Push(other, 1.0), b=None), earns={"x": 1.0},\n'
        f"        sees=[Feel('b sees', lambda: {late})])\n"
    )
    done, told = told_after(world_of(save, text))
    assert re.search(rf"line 17: the sensor 'b sees' .* nan in arena 2 at tick {done + 1} ", told)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("axis", ["force.force[:, 0]", "force.torque"])
def test_a_late_force_of_an_effect_of_its_own_tells_arena_tick_and_value(save: Save, axis: str) -> None:
    effect = (
        "class Wind(Effect):\n    def apply(self, dt):\n"
        f"        disc = self.role\n        disc.{axis}[...] += {LATE.format('np.nan')}\n"
    )
    text = GOOD.replace("import *\n", f"import *\n\n{effect}", 1).replace("left=Push(disc, -1.0)", "left=Wind(disc)")
    done, told = told_after(world_of(save, text))
    what = "torque" if "torque" in axis else "force"
    assert done > 2
    assert f"line 5: Wind gave a {what} on 'disc' that is not finite: nan in arena 2 at tick {done + 1} " in told


def test_a_late_lever_tells_its_name_arena_tick_and_value(save: Save) -> None:
    text = GOOD.replace("Choice(", "Levers(")
    world = world_of(save, text)
    good, bad = np.zeros((4, 2), np.float32), np.zeros((4, 2), np.float32)
    bad[3, 1] = np.inf
    world.drive("policy", lambda seen, state: bad if world.ticks == 5 else good)
    done, told = told_after(world)
    assert done == 5
    assert told.startswith("policy 'policy' set the lever 'right' of 'agent' to inf, not a finite number")
    assert told.endswith("in arena 3 at tick 6 of its episode")
