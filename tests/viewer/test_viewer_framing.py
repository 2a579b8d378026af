"""The picture shows all that an arena visits: fitted before the first tick, widening smoothly, never pumping."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pygame
import pytest
from pages import example

from ecs_rl.agents.config import PPOConfig
from ecs_rl.arrays import F64
from ecs_rl.components import Clock
from ecs_rl.loading import load_scene
from ecs_rl.physics.physics import Physics
from ecs_rl.scene import Arena, Body, Disc, Groove, Levers, Pivot, Push, Rod, Scene, Start, X, above, beyond, jitter
from ecs_rl.training.scene_agents import make_agents
from ecs_rl.viewer.bodies import turned
from ecs_rl.viewer.camera import RECENT, Framing
from ecs_rl.viewer.canvas import Canvas
from ecs_rl.viewer.gather import Reader
from ecs_rl.viewer.live.live_stage import GridWatch
from ecs_rl.viewer.live_episode import LiveEpisode
from ecs_rl.viewer.objects import BodyId
from ecs_rl.viewer.panels.stage import pane_of
from ecs_rl.viewer.stage import pane_places
from ecs_rl.viewer.view import StageView
from ecs_rl.world import World, policy_specs
from ecs_rl.worlds import make_world

EXTENT = 30.0


def world_of(scene: Scene, arenas: int = 2, seed: int = 0, **more: Any) -> World:
    """Return a world in which nobody does anything."""
    does = scene.describe().agents[0].does
    still = np.zeros(arenas, int) if not isinstance(does, Levers) else np.zeros((arenas, len(does.names)), np.float32)
    policies = {name: lambda seen, state: still for name in policy_specs(scene.describe())}
    return make_world(scene, arenas=arenas, seed=seed, policies=policies, **more)


def home_of(world: World) -> F64:
    framing = Reader(world).framing
    assert isinstance(framing, Framing)
    return framing.home


def scene_of(build: Callable[[Arena], None], **more: Any) -> Scene:
    return Scene("a test", 200, name="test", reference="test", build=build, **({"extent": EXTENT} | more))


def reach_of(stage: StageView) -> F64:
    """Return (4,) how far the bodies reach left, down, right and up."""
    bodies = [(objects.look, at, angle) for objects in stage.objects for _, at, angle in objects.seen()]
    corners = [turned(outline, at, angle) for look, at, angle in bodies for outline in look.outlines]
    for look, at, angle in bodies:
        for disc in look.discs:
            middle = turned(np.array((disc.at,)), at, angle)
            corners += [middle - disc.radius, middle + disc.radius]
    points = np.concatenate(corners)
    return np.concatenate((-points.min(axis=0), points.max(axis=0)))


def sides(stage: StageView) -> F64:
    """Return (4,) how far the picture reaches left, down, right and up."""
    (left, down), (right, up) = stage.bounds
    return np.array((-left, -down, right, up))


@pytest.fixture
def drone(tmp_path: Path) -> Iterator[World]:
    """The README's own scene; without thrust the drone falls."""
    (tmp_path / "drone.py").write_text(example("scene"))
    world = world_of(load_scene(str(tmp_path / "drone.py")))
    yield world
    world.close()


def test_a_drone_that_falls_stays_in_the_picture(drone: World) -> None:
    reader = Reader(drone)
    reader.follow(0)
    deepest = 0.0
    for _ in range(150):
        drone.tick()
        reader.follow(0)
        for blend in (0.0, 0.3, 1.0):
            stage = reader.stage(0, blend=blend)
            assert (reach_of(stage) <= sides(stage) + 1e-9).all()
            deepest = max(deepest, reach_of(stage)[1])
    assert deepest > 7.0


def test_the_picture_widens_smoothly_and_never_pumps(drone: World) -> None:
    reader = Reader(drone)
    reader.follow(0)
    seen, deepest = [sides(reader.stage(0))], 0.0
    for _ in range(400):
        drone.tick()
        reader.follow(0)
        seen.append(sides(reader.stage(0)))
        deepest = max(deepest, reach_of(reader.stage(0))[1])
    steps = np.diff(seen, axis=0)
    assert drone.one(Clock).episode[0] >= 3
    assert (steps >= 0).all(), "what has been visited lately stays in the picture"
    assert steps.max() < 0.25, "a body that falls at 12 m/s goes as far in a tick"
    assert np.abs(np.diff(steps[:, 1])).max() < 0.04, "the picture does not jerk"
    assert not steps[-100:].any(), "and it comes to rest"
    assert deepest < seen[-1][1] < 1.35 * deepest


def test_all_worlds_of_a_scene_are_shown_alike_before_the_first_tick() -> None:
    worlds = [world_of(load_scene("lander"), arenas, seed) for arenas, seed in ((1, 0), (2, 9), (20, 3))]
    for _ in range(30):
        worlds[2].tick()
    first, second, third = (home_of(world) for world in worlds)
    assert (first == second).all()
    assert (first == third).all()
    for world in worlds:
        world.close()


@pytest.mark.parametrize("name", ["balance", "swingup", "lander"])
def test_scenes_that_stay_in_their_picture_keep_it(name: str) -> None:
    world = world_of(load_scene(name), 1)
    reader = Reader(world)
    reader.follow(0)
    home = reader.stage(0).bounds
    for _ in range(100):
        world.tick()
        reader.follow(0)
        assert reader.stage(0).bounds == home
    world.close()


def _sliding(arena: Arena, *, limits: bool) -> None:
    cart = arena.spawn("cart", Body(spins=False), Disc(0.2))
    arena.join(Groove(arena.ground, cart, start=(4.0, 0.0), end=(-5.0, 3.0)))
    ends = {"out": beyond(X(cart), 2.0)} if limits else {}
    arena.agent(sees=[X(cart)], does=Levers(push=Push(cart, 1.0)), earns={"x": 1.0}, ends=ends)


def _hanging(arena: Arena) -> None:
    pole = arena.spawn("pole", Body(), Rod(2.0))
    arena.join(Pivot(arena.ground, pole, at=(0.0, 1.0), hinge=(0.0, 1.0)))
    arena.agent(sees=[X(pole)], does=Levers(push=Push(pole, 1.0)), earns={"x": 1.0})


def _flying(arena: Arena) -> None:
    disc = arena.spawn("disc", Body(), Disc(0.5), Start(x=jitter(2.0), y=4.0))
    arena.agent(sees=[X(disc)], does=Levers(push=Push(disc, 1.0)), earns={"x": 1.0}, ends={"out": above(X(disc), 40.0)})


def _far(arena: Arena) -> None:
    disc = arena.spawn("disc", Body(), Disc(0.5), Start(vx=20.0))
    arena.wall((-2.0, -1.0), (2.0, -1.0))
    arena.agent(sees=[X(disc)], does=Levers(push=Push(disc, 1.0)), earns={"x": 1.0})


@pytest.mark.parametrize(
    ("build", "home"),
    [
        (lambda arena: _sliding(arena, limits=False), (5.2, 0.25, 4.2, 3.2)),
        (lambda arena: _sliding(arena, limits=True), (2.2, 0.25, 2.2, 3.0)),
        (_hanging, (5.5, 2.5, 5.5, 2.5)),
        (_flying, (6.0, 0.0, 6.0, 8.0)),
        (_far, (2.0, 1.0, 2.0, 0.625)),
    ],
)
def test_before_the_first_tick_the_picture_fits_what_is_known(
    build: Callable[[Arena], None], home: tuple[float, ...]
) -> None:
    world = world_of(scene_of(build))
    assert home_of(world) == pytest.approx(home, abs=1e-6)
    world.close()


def test_the_picture_never_goes_beyond_the_scene_s_extent() -> None:
    world = world_of(scene_of(_far, gravity=(0.0, 0.0), extent=6.0), 1)
    reader = Reader(world)
    reader.follow(0)
    widest = np.zeros(4)
    for _ in range(60):
        world.tick()
        reader.follow(0)
        widest = np.maximum(widest, sides(reader.stage(0)))
    world.close()
    assert widest == pytest.approx((2.0, 1.0, 6.0, 0.625))


def test_while_a_hand_holds_a_body_the_picture_stays() -> None:
    world = world_of(scene_of(_far, gravity=(0.0, 0.0)), 1)
    reader = Reader(world)
    reader.follow(0)
    home = reader.stage(0).bounds
    for _ in range(20):
        world.tick()
        reader.follow(0, held=True)
    assert reader.stage(0).bounds == home
    world.tick()
    reader.follow(0)
    assert reader.stage(0).bounds[1][0] > home[1][0]
    world.close()


@pytest.fixture
def show(drone: World) -> Iterator[LiveEpisode]:
    """What a film or a window shows of the drone, flown by somebody who has learnt nothing."""
    agents = make_agents(drone.scene, "ppo", PPOConfig(hidden=(8,)), arenas=1, seed=3)
    made = LiveEpisode(drone.scene, agents, seeds=range(10_000, 10_003))
    yield made
    made.close()


def test_a_film_of_several_episodes_does_not_pump_and_its_panes_stay(show: LiveEpisode) -> None:
    canvas, area = Canvas(), pygame.Rect(0, 0, 900, 500)
    seen, places = [], set()
    while len(show.ended) < 4:
        show.advance(1 / 30)
        panes = (pane_of(show),) * 4
        seen.append(sides(panes[0].stage))
        places.add(str(pane_places(area, panes, canvas)))
        assert (reach_of(panes[0].stage) <= seen[-1] + 1e-9).all()
    assert (np.diff(seen, axis=0) >= -1e-9).all()
    assert (seen[-1] > seen[0]).any()
    assert len(places) == 1


def test_the_point_under_the_mouse_stays_while_it_pulls_a_body_out_of_the_picture(show: LiveEpisode) -> None:
    home, farthest = show.stage().bounds, 0.0
    show.grab(BodyId("drone"), (0.0, 0.0))
    while farthest <= home[1][0]:
        assert show.stage().bounds == home
        show.drag((home[1][0] + 3.0, 0.0))
        show.tick()
        assert show.hand.role is not None, "the episode goes on"
        farthest = reach_of(show.stage())[2]
    show.let_go()
    show.tick()
    show.tick()
    assert show.stage().bounds[1][0] > home[1][0]


def test_the_picture_narrows_only_when_nobody_went_there_for_many_episodes() -> None:
    home, far = np.array((1.0, 1.0, 1.0, 1.0)), np.array((0.5, 0.5, 9.0, 0.5))
    framing = Framing(home, EXTENT)
    framing.begin()
    for _ in range(200):
        framing.see(far, 0.02)
    wide = framing.now.copy()
    assert wide[2] > 9.0
    for episode in range(RECENT + 2):
        framing.begin()
        for _ in range(500):
            framing.see(home / 2, 0.02)
        if episode < RECENT - 1:
            assert (framing.now == wide).all()
    assert (framing.now == home).all()


def test_a_body_that_is_suddenly_far_out_comes_into_the_picture_smoothly() -> None:
    framing, seen = Framing(np.ones(4), EXTENT), []
    framing.see(np.full(4, 0.5), 0.02)
    framing.hold()
    for _ in range(100):
        framing.see(np.full(4, 8.0), 0.02)
        seen.append(float(framing.now[0]))
    assert np.diff([1.0, *seen]).max() < 0.8
    assert seen[-1] >= 8.0


def test_a_body_that_is_lost_moves_no_picture() -> None:
    framing = Framing(np.ones(4), EXTENT)
    framing.see(np.array((np.nan, 1.0, np.inf, 1.0)), 0.02)
    assert (framing.now == 1.0).all()


def test_the_grid_widens_as_the_stage_does_and_its_cells_stay_where_they_are(drone: World) -> None:
    watch = GridWatch(drone)
    first = watch.view(1 / 60)
    seen = [first.bounds[0][1]]
    for _ in range(60):
        drone.tick()
        view = watch.view(1 / 60)
        assert view.shape == first.shape
        seen.append(view.bounds[0][1])
    assert seen[-1] < -7.0
    assert (np.diff(seen) <= 0).all()
    assert np.diff(seen).min() > -0.3


def test_a_grid_that_is_opened_later_shows_everything_at_once(drone: World) -> None:
    for _ in range(50):
        drone.tick()
    lowest = min(float(role.y.min()) for role in drone.arena.roles)
    assert lowest < -4.0
    assert GridWatch(drone).view(1 / 60).bounds[0][1] < lowest


def test_one_stray_among_many_arenas_does_not_make_all_others_small() -> None:
    world = world_of(scene_of(_flying), 100)
    watch = GridWatch(world)
    before = watch.view(1 / 60).bounds
    world.engine_as(Physics).state[:2, 0, 17] = 25.0
    assert watch.view(1 / 60).bounds == before
    world.engine_as(Physics).state[:2, 0, :50] = 25.0
    assert watch.view(1 / 60).bounds[1][0] > before[1][0]
    world.close()
