"""Controls of an agent of a kind: each member has its own, and one that is out picks nothing and pulls no trigger."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from world_helpers import SMALL_PPO, role_of, scene_of

from ecs_rl.agents.base import PolicyOutput
from ecs_rl.components import Action, ActionLog, Amount, Snapshots
from ecs_rl.errors import ActionError
from ecs_rl.scene import (
    Arena,
    Body,
    Choice,
    Controls,
    Disc,
    Feel,
    Here,
    Push,
    Scene,
    Start,
    Trigger,
    X,
    component,
)
from ecs_rl.tasks.check import random_chooser
from ecs_rl.training.prepare import prepare
from ecs_rl.training.settings import TrainingSettings
from ecs_rl.training.snapshots import restore_world, save_world
from ecs_rl.viewer.live_episode import LiveEpisode
from ecs_rl.world import World
from ecs_rl.worlds import make_world

N, M = 3, 4


@component
class Gun:
    shots: float = 0.0
    picked: float = 0.0


def crew(**more: Any) -> Scene:
    """Return a scene of four runners who count their shots; number i leaves after 3 (i + 1) ticks."""

    def build(arena: Arena) -> None:
        start = Start(x=(1.0, 2.0, 3.0, 4.0))
        runners = arena.spawn("runner", Body(solid=False), Disc(0.2), start, Gun(), count=M)
        ticks, fire = arena.number("ticks"), Trigger(Push(runners, y=1.0))
        steer = Choice(left=Push(runners, x=-1.0), none=None, right=Push(runners, x=1.0))
        gas = Push(runners, x=0.5)

        @arena.system(reads=(Action, Here), writes=(Gun, ticks))
        def shoot() -> None:
            ticks.value += 1
            assert fire.on.shape == steer.picked.shape == runners.here.shape
            gun: Any = runners[Gun]
            gun.shots += fire.on
            gun.picked += steer.picked

        arena.agent(
            of=runners,
            sees=[X(runners), Feel("fired", lambda: fire.on), Feel("shots", lambda: runners[Gun].shots)],
            does=Controls(steer=steer, gas=gas, fire=fire),
            earns={"fired": lambda: fire.on, "straight": lambda: steer.picked == 1},
            ends={"left": lambda: ticks.value[:, None] >= 3 * np.arange(1, M + 1)},
        )

    return scene_of(build, **{"gravity": (0.0, 0.0), "max_ticks": 100, **more})


def world_of(scene: Scene, seed: int = 1, **more: Any) -> World:
    world = make_world(scene, arenas=N, seed=seed, **more)
    world.drive("policy", random_chooser(world.specs["policy"], seed, lambda: world.ticks))
    return world


def test_each_member_decides_for_itself_and_one_that_is_out_does_nothing() -> None:
    world = world_of(crew(), debug=True)
    runners, (agent,) = role_of(world, "runner"), world.arena.agents
    parts: Any = agent.does
    steer, gas, fire = parts.parts
    gun: Any = runners[Gun]
    shots, picked = np.zeros((N, M)), np.zeros((N, M))
    for tick in range(1, 3 * M):
        inside = np.arange(3, 3 * M + 1, 3) >= tick
        decided = random_chooser(world.specs["policy"], 1, lambda: world.ticks)(np.zeros((N * M, 3)), None)
        world.tick()
        taken = np.where(inside[:, None], decided.reshape(M, N, 3).swapaxes(0, 1), 0.0)
        assert (fire.on == (taken[..., 2] == 1)).all()
        assert (steer.picked == taken[..., 0]).all()
        assert np.allclose(gas.effects[0].amount, taken[..., 1])
        left, right = (effect.amount for effect in steer.effects)
        assert (left == ((taken[..., 0] == 0) & inside)).all()
        assert (right == (taken[..., 0] == 2)).all()
        assert (fire.effects[0].amount == taken[..., 2]).all()
        shots, picked = shots + taken[..., 2], picked + taken[..., 0]
        assert (gun.shots == shots).all()
        assert (gun.picked == picked).all()
    assert shots.any(axis=0).all()
    world.tick()
    assert not fire.on.any(), "a new episode has begun, in which nothing is decided yet"
    world.close()


@pytest.mark.parametrize("ticks", [4, 17, 40])
def test_a_crew_is_brought_back_to_the_last_bit(ticks: int) -> None:
    world, other = (world_of(crew(), resources=(ActionLog(), Snapshots())) for _ in range(2))
    for tick in range(ticks):
        if tick in (0, 13):
            world.snapshot()
        world.tick()
    restore_world(other, save_world(world))
    other.ticks = world.ticks
    for each in (world, other):
        each.snapshot()
    for _ in range(30):
        world.tick()
        other.tick()
        wanted = world.save_columns()
        assert all(array.tobytes() == wanted[key].tobytes() for key, array in other.save_columns().items())


def test_a_crew_learns_to_fire_and_to_go_straight() -> None:
    config = type(SMALL_PPO)(rollout=16, minibatch=128, lr=5e-3, hidden=(16,), gamma=0.5)
    training = prepare(
        crew(), "ppo", config, TrainingSettings(arenas=16, steps=6_000, seed=0, eval_every=6_000, eval_episodes=4)
    )
    while not training.done:
        training.tick()
    training.close()
    # A member acts for 7.5 ticks on average, each of which earns up to 2: 15, and 6.25 at random.
    assert (training.session.best_eval or 0.0) > 13.5


def test_a_wrong_action_of_a_member_is_told_by_its_number() -> None:
    world = world_of(crew())
    bad = np.zeros((N * M, 3), np.float32)
    bad[2 * N + 1, 2] = 0.5
    world.drive("policy", lambda seen, state: bad)
    told = "set 'fire' of member 2 of 'runner' to 0.5, not one of 0 to 1 \\(off, on\\), in arena 1 at tick 1"
    with pytest.raises(ActionError, match=told):
        world.tick()


def test_the_mind_of_the_first_member_is_shown_with_its_own_rewards() -> None:
    class Thinker:
        discount = 0.9

        def introspect(self, seen: Any) -> PolicyOutput:
            does = np.tile(np.float32(0.25), (len(seen), 6))
            return PolicyOutput("mixture", does, None, np.zeros(len(seen)))

    show = LiveEpisode(crew(), {"policy": Thinker()}, seeds=range(N))  # type: ignore[dict-item]
    show.go_to(1)
    taken = np.zeros((N * M, 3), np.float32)
    taken[1] = (1, 0.5, 1)  # the first member in arena 1; the others turn left and hold their fire
    show.world.drive("policy", lambda seen, state: taken)
    show.tick()
    view = show.mind.view()
    assert [(term.name, term.now) for term in view.earned] == [("fired", 1.0), ("straight", 1.0)]
    assert [option.name for option in view.does if option.chosen] == ["steer none", "fire"]
    assert show.world.of(show.world.batches[0].entity, Amount).value.any()
    show.close()
