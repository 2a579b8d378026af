"""Networks for pictures and sets, and the statistics that these share."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from ecs_rl.agents import ActMode, Discrete, PolicySpec, PPOConfig, make_agent
from ecs_rl.agents.layout_modules import Attention, Convolution
from ecs_rl.agents.normalise import Normaliser
from ecs_rl.errors import SceneError
from ecs_rl.loading import load_scene
from ecs_rl.scene import Arena, Body, Choice, Disc, Grid, Nearest, Push, Scene, Sensor, Start, Vx, X, jitter
from ecs_rl.spaces import Layout, Members, Picture
from ecs_rl.training.settings import TrainingSettings
from ecs_rl.world import policy_specs
from ecs_rl.worlds import make_world

PICTURE = Picture(2, 2, 6, 8)
COINS, ROCKS = Members(2, 4, 3), Members(14, 3, 5)
ACTIONS = Discrete(("left", "right"))


def spec_of(*layout: Picture | Members, plain: int = 2) -> PolicySpec:
    numbers = plain + sum(form.size for form in layout)
    return PolicySpec(tuple(f"n{i}" for i in range(numbers)), ACTIONS, layout=layout)


def drawn(make: type[Attention | Convolution], spec: PolicySpec, hidden: tuple[int, ...] = (16, 12)) -> Any:
    torch.manual_seed(0)
    return make(len(spec.observations), 3, spec, hidden, "tanh")


def members(rows: int, seed: int = 0) -> torch.Tensor:
    """Return plain numbers, coins and rocks, of which some are not there."""
    x = torch.randn(rows, 29, generator=torch.Generator().manual_seed(seed))
    for form in (COINS, ROCKS):
        part = x[:, form.first : form.first + form.size].view(rows, form.most, form.numbers)
        part[..., 0] = (part[..., 0] > 0).float()
        part[part[..., 0] == 0] = 0.0
    return x


# --- attention --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("hidden", [(16, 12), (6,), ()])
def test_attention_does_not_depend_on_the_order_of_the_members(hidden: tuple[int, ...]) -> None:
    network = drawn(Attention, spec_of(COINS, ROCKS), hidden)
    x = members(20)
    shuffled = x.clone()
    for form in (COINS, ROCKS):
        order = torch.randperm(form.most)
        part = shuffled[:, form.first : form.first + form.size]
        part.copy_(part.reshape(20, form.most, form.numbers)[:, order].flatten(1))
    assert not torch.equal(shuffled, x)
    torch.testing.assert_close(network(shuffled), network(x), rtol=1e-5, atol=1e-6)


def test_members_that_are_not_there_count_for_nothing_and_those_that_are_there_do() -> None:
    network = drawn(Attention, spec_of(COINS, ROCKS))
    x = members(20)
    x[:, 2], x[:, 5] = 0.0, 1.0
    ghost, moved = x.clone(), x.clone()
    ghost[:, 3:5] = 7.0
    moved[:, 6:8] += 1.0
    assert torch.equal(network(ghost), network(x))
    assert bool((network(moved) != network(x)).any(1).all())
    nobody = members(4)
    nobody[:, 2:] = 0.0
    assert bool(torch.isfinite(network(nobody)).all())


def test_rows_do_not_look_at_each_other() -> None:
    network = drawn(Attention, spec_of(COINS, ROCKS))
    x = members(8)
    torch.testing.assert_close(network(x)[2:], network(x[2:]), rtol=1e-5, atol=1e-6)


# --- convolution ------------------------------------------------------------------------------------------------------


def test_what_moves_in_a_picture_moves_in_its_features() -> None:
    network = drawn(Convolution, spec_of(Picture(0, 2, 12, 14), plain=0))
    picture = torch.zeros(1, 2, 12, 14)
    picture[:, :, 3:6, 3:7] = torch.rand(2, 3, 4, generator=torch.Generator().manual_seed(0))
    (here,) = network.features(picture.flatten(1))
    (there,) = network.features(torch.roll(picture, (2, 4), (2, 3)).flatten(1))
    assert here.shape == (1, 16, 6, 7)
    # Without those that look over the border.
    torch.testing.assert_close(torch.roll(here, (1, 2), (2, 3))[..., 2:-1, 3:-1], there[..., 2:-1, 3:-1])
    assert not torch.allclose(here, there)


@pytest.mark.parametrize("size", [(1, 1), (3, 2), (11, 11)])
def test_a_convolution_takes_pictures_of_any_size_and_plain_numbers_beside_them(size: tuple[int, int]) -> None:
    spec = spec_of(Picture(2, 1, *size), Picture(2 + size[0] * size[1], 2, *size))
    network = drawn(Convolution, spec)
    x = torch.randn(5, len(spec.observations), requires_grad=True)
    network(x).sum().backward()
    assert network(x).shape == (5, 3)
    assert x.grad is not None
    assert bool((x.grad[:, :2] != 0).all())


# --- statistics -------------------------------------------------------------------------------------------------------


def normalised(layout: Layout, rows: np.ndarray[Any, np.dtype[np.float32]]) -> np.ndarray[Any, Any]:
    normaliser = Normaliser(rows.shape[1], True, layout)
    for part in np.array_split(rows, 3):
        normaliser.update(part)
    out = np.empty_like(rows)
    normaliser.apply(rows, out)
    return out


def test_the_cells_of_a_layer_and_the_members_of_a_set_share_their_statistics() -> None:
    random = np.random.default_rng(0)
    rows = (random.normal(size=(300, 8)) * np.arange(1, 9) + np.arange(8)).astype(np.float32)
    rows[:, 2] = rows[:, 5] = 1.0
    scaled = normalised((Members(2, 2, 3),), rows)
    plain = normalised((), rows)
    assert np.array_equal(scaled[:, [0, 1]], plain[:, [0, 1]])
    assert (scaled[:, [2, 5]] == 1.0).all()
    for number in (3, 4):
        both = rows[:, [number, number + 3]].astype(np.float64)
        expected = np.clip((both - both.mean()) / both.std(), -10, 10)
        np.testing.assert_allclose(scaled[:, [number, number + 3]], expected, rtol=1e-3, atol=1e-4)
    layer = rows[:, :4].astype(np.float64)
    scaled = normalised((Picture(0, 1, 2, 2), Picture(4, 2, 1, 2)), rows)
    np.testing.assert_allclose(scaled[:, :4], (layer - layer.mean()) / layer.std(), rtol=1e-3, atol=1e-4)


def test_an_agent_with_attention_does_not_depend_on_the_order_either() -> None:
    spec = spec_of(COINS, ROCKS)
    agent = make_agent("ppo", spec, PPOConfig(network="attention", rollout=5, hidden=(16,)), seed=0, rows=20)
    for seed in range(3):
        seen = members(20, seed).numpy()
        decision = agent.act(seen, ActMode.EXPLORE)
        none = np.zeros(20, bool)
        from ecs_rl.agents import Experience

        agent.observe(
            Experience(seen, decision.action, np.ones(20, np.float32), seen, none, none, extras=decision.extras)
        )
    other = members(20, 9).numpy()
    swapped = other.copy()
    swapped[:, 2:5], swapped[:, 5:8] = other[:, 5:8], other[:, 2:5]
    one, two = (agent.introspect(each) for each in (other, swapped))  # type: ignore[attr-defined]
    np.testing.assert_allclose(one.value, two.value, rtol=1e-4, atol=1e-5)


# --- where layouts come from ------------------------------------------------------------------------------------------


def scene(*more: Sensor) -> Scene:
    def build(arena: Arena) -> None:
        bug = arena.spawn("bug", Body(), Disc(0.3))
        coins = arena.spawn("coin", Body(solid=False), Disc(0.2), Start(x=jitter(5.0), y=jitter(4.0)), count=5)
        arena.agent(
            sees=[X(bug), Nearest(bug, coins, 2), Vx(bug), Grid(bug, (3, 4), layers={"coin": coins}), *more],
            does=Choice(stay=None, left=Push(bug, -1.0)),
            earns={"one": 1.0},
        )

    return Scene(about="A test.", max_ticks=5, name="test", build=build, gravity=(0.0, 0.0))


def test_sensors_tell_which_numbers_form_a_picture_or_a_set() -> None:
    (spec,) = policy_specs(scene().describe()).values()
    assert spec.layout == (Members(1, 2, 3), Picture(8, 1, 4, 3))
    assert spec.observations[1] == "bug to coin 0 there"
    assert spec.observations[8].endswith("0,0")


def test_a_sensor_of_ones_own_tells_its_layout_and_one_that_does_not_fit_is_refused() -> None:
    class Two(Sensor):
        def __init__(self, layout: Members) -> None:
            self.names, self.layout = ("here", "far"), layout

        def write(self, out: Any) -> None:
            out[...] = 1.0

    (spec,) = policy_specs(scene(Two(Members(0, 1, 2))).describe()).values()
    assert spec.layout[-1] == Members(20, 1, 2)
    with pytest.raises(SceneError, match="Two has 2 names, but its layout 6 numbers"):
        scene(Two(Members(0, 2, 3))).describe()


@pytest.mark.parametrize("network", ["conv", "attention"])
def test_a_world_is_played_by_what_goes_by_its_layout(network: str) -> None:
    from ecs_rl.training.prepare import prepare

    config = PPOConfig(network=network, rollout=8, minibatch=16, epochs=1, hidden=(8,))
    hashes = []
    for _ in range(2):
        training = prepare(
            scene(), "ppo", config, TrainingSettings(arenas=4, steps=200, eval_every=100, eval_episodes=2)
        )
        before = training.session.agent.parameters_sha256()
        while not training.done:
            training.tick()
        training.close()
        hashes.append(training.session.agent.parameters_sha256())
        assert before != hashes[-1]
    assert hashes[0] == hashes[1]


def test_a_perceptron_ignores_layouts() -> None:
    (spec,) = policy_specs(scene().describe()).values()
    with_it, without = (make_agent("ppo", s, PPOConfig(), seed=0, rows=4) for s in (spec, replace(spec, layout=())))
    assert with_it.parameters_sha256() == without.parameters_sha256()


# --- what is remembered, in a world -----------------------------------------------------------------------------------


def test_the_world_keeps_what_is_remembered_and_forgets_it_where_an_episode_begins() -> None:
    from ecs_rl.agents import Decision
    from ecs_rl.components import EpisodeEnd, PolicyState

    class Counts:
        state = 2

        def __call__(self, seen: Any, state: Any) -> Decision:
            return Decision(np.ones(len(seen), int), state + np.array([1.0, 2.0]))

    world = make_world(load_scene("balance"), arenas=3, policies={"policy": Counts()})
    remembered, ended = world.of(world.batches[0].entity, PolicyState), world.one(EpisodeEnd)
    expected = np.zeros(3)
    for _ in range(60):
        world.tick()
        assert np.array_equal(remembered.before[:, 0], expected)
        expected = np.where(ended.ended, 0.0, expected + 1.0)
        assert np.array_equal(remembered.value, np.stack([expected, 2 * expected], 1))
    assert expected.max() < 60
    other = make_world(
        load_scene("balance"), arenas=1, policies={"policy": lambda seen, state: np.ones(len(seen), int)}
    )
    other.copy_arena(world, 1, 0)
    other.tick()
    other.drive("policy", Counts())
    other.copy_arena(world, 1, 0)
    after = other.of(other.batches[0].entity, PolicyState).value
    assert np.array_equal(after[0], remembered.value[1])
    other.close()
    world.drive("policy", lambda seen, state: np.ones(len(seen), int))
    world.tick()
    assert remembered.value.shape == (3, 0)
    world.drive("policy", Counts())
    world.tick()
    assert np.array_equal(remembered.value[~ended.ended], np.tile([1.0, 2.0], (3, 1))[~ended.ended])
    world.close()
