"""The show alone: how many ticks pass, which episode they belong to, and what a hand does to the score."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from live_windows import Clock, same
from readme_scenes import BEACONS

from ecs_rl.agents.base import Agent
from ecs_rl.agents.config import PPOConfig
from ecs_rl.errors import SceneError
from ecs_rl.loading import load_scene
from ecs_rl.scene.scene import Scene
from ecs_rl.spaces import ActMode
from ecs_rl.training.evaluator import SEED, play_episodes
from ecs_rl.training.scene_agents import deciding, make_agents
from ecs_rl.viewer import live_episode as show_module
from ecs_rl.viewer.controls.playing import SPEEDS
from ecs_rl.viewer.live_episode import LiveEpisode
from ecs_rl.viewer.objects import BodyId

SCENES = ("balance", "lander", "swingup", "beacons")


@pytest.fixture(scope="module")
def beacons(tmp_path_factory: pytest.TempPathFactory) -> Scene:
    """Return the README's scene with systems of its own."""
    path = tmp_path_factory.mktemp("scene") / "beacons.py"
    path.write_text(BEACONS)
    return load_scene(str(path))


def agents_of(scene: str | Scene, seed: int = 3) -> dict[str, Agent]:
    return make_agents(
        load_scene(scene) if isinstance(scene, str) else scene, "ppo", PPOConfig(hidden=(8,)), arenas=1, seed=seed
    )


@pytest.fixture
def show() -> Iterator[LiveEpisode]:
    made = LiveEpisode(load_scene("swingup"), agents_of("swingup"), seeds=range(SEED, SEED + 3))
    yield made  # an episode of it lasts for hundreds of ticks, whatever the policy
    made.close()


# --- time -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("speed", SPEEDS[:-1])
def test_the_ticks_of_a_second_are_the_speed_over_dt(speed: float, show: LiveEpisode) -> None:
    show.speed = speed
    seconds = min(2.0, 200 * show.scene.dt / speed)
    frames = max(1, round(seconds * 60))
    for _ in range(frames):
        show.advance(1 / 60)
    assert not show.ended
    assert show.world.ticks == pytest.approx(frames / 60 * speed / show.scene.dt, abs=1)


def test_irregular_frames_make_no_tick_more_or_less(show: LiveEpisode) -> None:
    passed = 0.0
    for i in range(200):
        seconds = (0.001, 0.02, 0.005, 0.033)[i % 4]
        show.advance(seconds)
        passed += seconds
        assert abs(show.world.ticks - passed / show.scene.dt) <= 1


def test_a_paused_show_does_nothing_and_does_not_catch_up(show: LiveEpisode) -> None:
    show.advance(0.1)
    ticks = show.world.ticks
    show.paused = True
    show.advance(100.0)
    assert show.world.ticks == ticks
    show.paused = False
    show.advance(show.scene.dt)
    assert show.world.ticks <= ticks + 2


def test_as_fast_as_it_goes_means_until_the_budget_is_used(show: LiveEpisode, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock()
    clock.hold(monkeypatch, show_module)
    tick = show.world.tick

    def costly() -> None:
        tick()
        clock.now += 0.001

    monkeypatch.setattr(show.world, "tick", costly)
    show.speed = math.inf
    show.advance(1 / 60, 0.0105)
    assert show.world.ticks == 11
    show.speed = 64.0
    show.advance(1.0, 0.0055)
    assert show.world.ticks == 11 + 6, "no speed takes more than the budget"
    show.speed = 1.0
    show.advance(show.scene.dt, 0.0055)
    assert show.world.ticks <= 11 + 6 + 1, "what was left out stays out"


def test_the_speed_reached_is_measured(show: LiveEpisode) -> None:
    show.speed = 4.0
    for _ in range(40):
        show.advance(1 / 60)
    assert show.reached == pytest.approx(4.0, rel=0.1)


def test_time_that_stands_still_or_runs_backwards_does_nothing(show: LiveEpisode) -> None:
    for seconds in (0.0, -1.0):
        show.advance(seconds)
    assert show.world.ticks == 0


# --- episodes ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", SCENES)
@pytest.mark.parametrize("speed", [1.0, 64.0, math.inf])
def test_an_arena_plays_exactly_as_an_evaluation_of_its_seed(name: str, speed: float, beacons: Scene) -> None:
    scene = beacons if name == "beacons" else load_scene(name)
    agents, seeds = agents_of(scene), range(SEED, SEED + 3)
    wanted = play_episodes(scene, deciding(agents, ActMode.GREEDY), seeds)
    show = LiveEpisode(scene, agents, seeds=seeds, stays=True)
    try:
        show.speed = speed
        for arena in (2, 0, 1, 2):
            show.go_to(arena)
            show.ended.clear()
            for _ in range(5000):
                show.advance(1 / 30, 1e9)
                if show.rested:
                    break
            (ended,) = show.ended
            record = wanted[arena]
            assert (ended.arena, ended.seed, ended.counts) == (arena, SEED + arena, True)
            assert (ended.total, ended.length) == (record.total_reward, record.length)
            assert ended.record == record
    finally:
        show.close()


@pytest.fixture
def short() -> Iterator[LiveEpisode]:
    made = LiveEpisode(load_scene("balance"), agents_of("balance"), seeds=[SEED, SEED + 1])
    yield made
    made.close()


def to_the_end(show: LiveEpisode) -> None:
    while not show.resting:
        show.tick()


def test_a_bad_ending_says_what_touched_what_how_fast_and_marks_the_body() -> None:
    show = LiveEpisode(load_scene("lander"), agents_of("lander"), seeds=range(SEED, SEED + 3))
    try:
        show.sample(True)
        speeds = list[float]()
        while not show.resting:
            speeds.append(math.hypot(*show.world.arena.roles[0].velocity[show.arena].tolist()))
            show.tick()
        ending = show.stage()
        assert ending.ending.startswith("crashed")
        found = re.fullmatch(
            r"hull touched the ground at ([0-9.]+) m/s(, tilted [0-9]+ degrees)?.*", ending.ending_detail
        )
        assert found is not None
        assert float(found[1]) == pytest.approx(speeds[-1], abs=0.06), "as it was before the touch"
        assert ending.selected == BodyId("hull")
        show.tick()
        assert show.stage().ending_detail == ""
    finally:
        show.close()


def test_an_ending_without_a_touch_says_no_more(short: LiveEpisode) -> None:
    to_the_end(short)
    assert (short.stage().ending_detail, short.stage().selected) == ("", None)


def test_the_picture_of_an_ending_stands_for_a_second_then_the_next_episode_begins(short: LiveEpisode) -> None:
    to_the_end(short)
    ending = short.stage()
    assert ending.ending
    ticks = short.world.ticks
    for _ in range(59):
        short.advance(1 / 60)
        assert short.stage() is ending
    assert short.world.ticks == ticks
    assert "episode" not in short.short_caption
    for _ in range(3):
        short.advance(1 / 60)
    assert not short.resting
    assert short.episode == 1
    assert "seed 10000, episode 1" in short.caption


def test_a_show_that_stays_waits_to_be_sent_on(short: LiveEpisode) -> None:
    short.stays = True
    to_the_end(short)
    ticks = short.world.ticks
    short.advance(0.5)
    assert not short.rested
    short.advance(50.0)
    assert short.rested
    short.tick()
    assert short.world.ticks == ticks
    short.go_to(1)
    assert not short.resting
    assert short.arena == 1


def test_again_and_next_count_from_the_episode_that_is_seen(short: LiveEpisode) -> None:
    begins = []
    for _ in range(3):
        begins.append(short.world.save_columns())
        to_the_end(short)
        total = short.total
        assert total == short.ended[-1].total > 0
        assert short.episode == len(begins) - 1
        short.restart()
        assert (short.episode, short.total, short.outcome) == (len(begins) - 1, 0.0, None)
        assert same(short.world.save_columns(), begins[-1]) or len(begins) == 1
        to_the_end(short)
        assert short.total == total
        short.new_episode()
        assert short.episode == len(begins)


def test_a_touched_episode_is_marked_until_the_next_one(short: LiveEpisode) -> None:
    short.grab(BodyId("cart"), (0.1, 0.0))
    short.let_go()
    to_the_end(short)
    assert not short.ended[-1].counts
    assert short.stage().ending.endswith("with your help")
    short.poke()
    short.tick()
    assert (short.touched, short.hand.kicked) == (False, None), "who kicks an ending kicks nothing"
    to_the_end(short)
    assert short.ended[-1].counts


def test_the_newest_policy_plays_from_the_next_tick_on(short: LiveEpisode) -> None:
    other = agents_of("balance", seed=9)
    short.use(other, "another")
    to_the_end(short)
    wanted = play_episodes(short.scene, deciding(other, ActMode.GREEDY), [SEED, SEED + 1])[0]
    assert short.ended[-1].total == wanted.total_reward
    assert short.caption.startswith("another, greedy")


def test_what_is_adopted_goes_on_from_there(short: LiveEpisode) -> None:
    source = LiveEpisode(load_scene("balance"), agents_of("balance"), seeds=range(50, 54))
    try:
        for _ in range(4):
            source.tick()
        short.adopt(source.world, 2, "of training arena 2")
        assert "of training arena 2" in short.caption
        for _ in range(3):
            short.tick()
            source.tick()
            ours, theirs = short.world.save_columns(), source.world.save_columns()
            assert ours["@arena/Clock/tick"][0] == theirs["@arena/Clock/tick"][2]
            assert ours["pole/Pose/angle"][0] == pytest.approx(theirs["pole/Pose/angle"][2], abs=1e-6)
    finally:
        source.close()


def test_a_broken_rule_on_the_stage_is_an_error_with_a_name(tmp_path: Path) -> None:
    from test_pure_observer import FRAGILE

    path = tmp_path / "fragile.py"
    path.write_text(FRAGILE)
    scene = load_scene(str(path))
    show = LiveEpisode(scene, make_agents(scene, "ppo", PPOConfig(hidden=(8,)), arenas=1, seed=0), seeds=[1])
    try:
        show.advance(0.2)
        show.poke(BodyId("bystander"))
        with pytest.raises(SceneError, match="the bystander moved"):
            show.advance(0.2)
        show.new_episode()
        show.advance(0.2)
    finally:
        show.close()
