"""`critic_sees`: sensors that only a critic has, and the view of a whole team."""

from __future__ import annotations

import numpy as np
import pytest
from scene_files import DOES, SEES, Save, with_line
from team_scene import TEAM

from ecs_rl.adapters.gym import SceneEnv
from ecs_rl.components import Observation
from ecs_rl.errors import SceneError
from ecs_rl.loading import load_scene
from ecs_rl.world import World
from ecs_rl.worlds import make_world


def world_of(save: Save, text: str, arenas: int = 4) -> World:
    world = make_world(load_scene(str(save(text))), arenas=arenas)
    actions = world.specs["policy"].actions
    world.drive("policy", lambda seen, state: actions.none(len(seen)))
    return world


def seen(world: World) -> np.ndarray:
    return world.of(world.batches[0].entity, Observation).value


def test_the_numbers_of_the_critic_stand_behind_those_of_the_policy(save: Save) -> None:
    world = world_of(
        save, with_line(DOES, "does=Choice(l=Push(disc, -1.0), r=None), critic_sees=[Vx(disc), X(other)],")
    )
    (spec,) = world.specs.values()
    assert (spec.observations, spec.critic_sees) == (("disc x",), ("disc vx", "other x"))
    assert spec.numbers == ("disc x", "disc vx", "other x")
    for _ in range(3):
        world.tick()
    assert seen(world).shape == (4, 3)
    assert (seen(world)[:, 2] == 5.0).all()
    world.close()


def test_the_critic_of_a_team_sees_what_all_its_members_see(save: Save) -> None:
    world = world_of(save, TEAM)
    (spec,) = world.specs.values()
    assert spec.observations == ("fish x", "fish y")
    assert spec.critic_sees == tuple(f"fish {axis} of member +{i}" for i in (1, 2) for axis in "xy")
    fish = world.arena.roles[0]
    for _ in range(8):
        there = fish.here.T.copy()  # who leaves in this tick was still there to be seen
        world.tick()
        members = seen(world).reshape(3, 4, 6)
        own = np.where(there[..., None], members[..., :2], 0.0)
        for member in range(3):
            np.testing.assert_array_equal(members[member, :, 2:4], own[(member + 1) % 3])
            np.testing.assert_array_equal(members[member, :, 4:], own[(member + 2) % 3])
    assert not fish.here.all(), "nobody left"
    world.close()


def test_gymnasium_sees_what_the_policy_sees(save: Save) -> None:
    text = with_line(DOES, "does=Choice(l=Push(disc, -1.0), r=None), critic_sees=[Vx(disc)],")
    env = SceneEnv(str(save(text)))
    observation, _ = env.reset(seed=0)
    assert env.observation_space.shape == observation.shape == (1,)
    observation, *_ = env.step(0)
    assert observation.shape == (1,)
    env.close()


@pytest.mark.parametrize(
    ("critic", "message"),
    [
        ("[]", "the critic of 'agent' sees nothing that 'agent' does not see: leave it out"),
        ("[X(disc)]", "the critic of 'agent' sees nothing that 'agent' does not see: leave it out"),
        ("[X(disc), Y(disc)]", "'agent' sees 'disc x' twice"),
        ("X(disc)", "critic_sees must be a list of sensors"),
        ("[3]", "critic_sees must be made of sensors such as X(cart), not of 3"),
        ("'team'", "'agent' is no team of several members of a kind: leave critic_sees='team' out"),
    ],
)
def test_a_critic_that_sees_nothing_more_is_refused(save: Save, critic: str, message: str) -> None:
    with pytest.raises(SceneError) as caught:
        load_scene(str(save(with_line(SEES, f"sees=[X(disc)], critic_sees={critic},")))).describe()
    assert message in str(caught.value)
    assert "line 10" in str(caught.value)
