"""`allowed=`: what an agent may choose now, as a scene's rules say."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scene_files import DOES, SEES, Save, with_line

from ecs_rl.components import Action, Observation
from ecs_rl.errors import SceneError
from ecs_rl.loading import load_scene
from ecs_rl.world import World
from ecs_rl.worlds import make_world

CARDS = Path(__file__).parents[1] / "scenes" / "cards.py"


def world_of(save: Save, does: str, arenas: int = 3) -> World:
    world = make_world(load_scene(str(save(with_line(DOES, does)))), arenas=arenas)
    actions = world.specs["policy"].actions
    world.drive("policy", lambda seen, state: actions.none(len(seen)))
    return world


def tick_on(world: World, ticks: int = 20) -> None:
    for _ in range(ticks):
        world.tick()


def carried_out(world: World, *actions: object) -> list[object]:
    """Return what the arenas do where a policy decides so."""
    wanted = np.array(actions)
    world.drive("policy", lambda seen, state: wanted)
    world.stages["decide"].run()
    done: list[object] = world.of(world.batches[0].entity, Action).value.tolist()
    world.close()
    return done


def test_the_policy_sees_what_is_allowed_behind_what_it_sees(save: Save) -> None:
    rule = "lambda: np.stack((disc.x < 0.1, disc.x > -9.0), axis=1)"
    world = world_of(save, f"does=Choice(left=Push(disc, -1.0), right=Push(disc, 1.0), allowed={rule}),")
    (spec,) = world.specs.values()
    assert spec.observations == ("disc x", "left allowed", "right allowed")
    assert spec.allowed == ((1, 0), (2, 1))
    seen = [world.of(world.batches[0].entity, Observation).value.copy()]
    for _ in range(19):
        world.tick()
        seen.append(world.of(world.batches[0].entity, Observation).value.copy())
    x, left, right = np.concatenate(seen).T
    assert (left == (x < 0.1)).all()
    assert 0 < left.sum() < len(left)
    assert right.all()
    world.close()


def test_single_options_and_triggers_have_rules_of_their_own(save: Save) -> None:
    does = (
        "does=Controls(go=Choice(left=Push(disc, -1.0), none=None, right=Push(disc, 1.0), "
        "allowed={'right': lambda: disc.x > 0.0}), gas=Twist(other), "
        "fire=Trigger(Push(other), allowed=lambda: disc.x > 9.0)),"
    )
    world = world_of(save, does)
    (spec,) = world.specs.values()
    assert spec.observations == ("disc x", "go right allowed", "fire allowed")
    assert spec.allowed == ((1, 2), (2, 5))
    rows = [(2.0, 0.5, 1.0), (1.0, -1.0, 0.0), (0.0, 0.0, 1.0)]
    assert carried_out(world, *rows) == [[0.0, 0.5, 0.0], [1.0, -1.0, 0.0], [0.0, 0.0, 0.0]]


def test_a_forbidden_option_becomes_the_next_one_that_is_allowed(save: Save) -> None:
    rule = "lambda: np.array([[True, False, False], [False, True, True], [True, True, True]])"
    does = f"does=Choice(a=Push(disc, -1.0), b=None, c=Push(disc, 1.0), allowed={rule}),"
    assert carried_out(world_of(save, does), 1, 0, 2) == [0, 1, 2]


def test_members_of_a_kind_have_masks_of_their_own(save: Save) -> None:
    text = with_line(DOES, "does=Choice(stay=None, go=Push(disc, 1.0), allowed={'go': lambda: disc.x > 0.0}),")
    text = text.replace("Start(vx=1.0))", "Start(x=jitter(1.0)), count=4)").replace("sees=", "of=disc, sees=")
    text = text.replace('"x": X(disc)', '"x": lambda: disc.x').replace("beyond(X(disc), 2.0)", "lambda: disc.x > 99.0")
    world = make_world(load_scene(str(save(text))), arenas=3)
    seen = world.of(world.batches[0].entity, Observation).value
    assert (seen[:, 1] == (seen[:, 0] > 0.0)).all()
    assert 0 < seen[:, 1].sum() < 12
    assert carried_out(world, *[1] * 12) == seen[:, 1].astype(int).tolist()


def test_an_option_may_still_be_called_allowed(save: Save) -> None:
    world = world_of(save, "does=Choice(left=Push(disc, -1.0), allowed=Push(disc, 1.0)),")
    (spec,) = world.specs.values()
    assert spec.actions.names == ("allowed", "left")
    assert spec.allowed == ()
    world.close()


@pytest.mark.parametrize(
    ("allowed", "message"),
    [
        ("3", "line 12: allowed= of a Choice must be a rule such as `lambda: tank.fuel > 0.0`, not 3"),
        ("{'up': lambda: disc.x > 0}", "allowed= of a Choice names 'up', which is no option: there is: left, right"),
        ("{'left': True}", "allowed= of 'left' must be a rule"),
        ("lambda: disc.x > 0.0", "line 12: allowed= must give true or false for each option, (3, 2), not (3,) of"),
        ("lambda: np.ones((3, 2))", "allowed= must give true or false for each option, (3, 2), not (3, 2) of float64"),
        ("{'left': lambda: disc.x}", "allowed= must give true or false for each option, (3), not (3,) of float64"),
    ],
)
def test_a_wrong_rule_is_told_with_its_line(save: Save, allowed: str, message: str) -> None:
    with pytest.raises(SceneError) as caught:
        world_of(save, f"does=Choice(left=Push(disc, -1.0), right=Push(disc, 1.0), allowed={allowed}),").close()
    assert message in str(caught.value)


def test_a_mask_that_forbids_everything_names_arena_and_tick(save: Save) -> None:
    rule = "lambda: (disc.x < 0.25)[:, None] & np.array([True, True])"
    world = world_of(save, f"does=Choice(left=Push(disc, -1.0), right=Push(disc, 1.0), allowed={rule}),")
    message = r"line 12: allowed= leaves 'agent' no option of its choice in arena 0 at tick \d"
    with pytest.raises(SceneError, match=message):
        tick_on(world)
    world.close()


def test_what_an_ended_episode_saw_last_may_forbid_everything() -> None:
    scene = load_scene(str(CARDS))
    world = make_world(scene, arenas=4, policies={"policy": lambda seen, state: np.zeros(len(seen), int)})
    for _ in range(30):
        world.tick()
    world.close()


def test_a_sensor_beside_a_mask_keeps_its_place(save: Save) -> None:
    text = with_line(DOES, "does=Choice(left=Push(disc, -1.0), right=None, allowed={'left': lambda: disc.x < 9.0}),")
    lines = text.splitlines()
    lines[SEES - 1] = "        sees=[X(disc), Vx(disc), Y(other)],"
    world = make_world(load_scene(str(save("\n".join(lines)))), arenas=2)
    (spec,) = world.specs.values()
    assert spec.observations == ("disc x", "disc vx", "other y", "left allowed")
    assert spec.allowed == ((3, 0),)
    world.close()
