"""The last half minute of the stage: every moment of it comes back bit for bit, and the present is as it was left."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from games import GAMES, game
from live_commands import train
from live_windows import TINY, Live, down, moved, pressed, released, same, seeing, up, watching
from mixed_controls import MIXED
from rewind_keys import State, arena_of

from ecs_rl.agents.base import Agent
from ecs_rl.agents.config import PPOConfig
from ecs_rl.loading import load_scene
from ecs_rl.training.scene_agents import make_agents
from ecs_rl.viewer.live_episode import LiveEpisode
from ecs_rl.viewer.objects import BodyId
from ecs_rl.viewer.tick_log import LINGERS, SECONDS


def show_of(scene: str, *, arenas: int = 2, network: str = "mlp") -> LiveEpisode:
    loaded = load_scene(scene)
    config = PPOConfig(hidden=(8,), network=network, state=8)
    agents: dict[str, Agent] = make_agents(loaded, "ppo", config, arenas=1, seed=3)
    return LiveEpisode(loaded, agents, seeds=range(arenas), sampled=True)


def play(show: LiveEpisode, ticks: int) -> list[State]:
    """Let it tick, and return what the watched arena was each time."""
    found = [arena_of(show)]
    while len(found) <= ticks:
        resting = show.resting
        show.tick()
        if not resting and not show.resting:
            found.append(arena_of(show))
    return found


def back(show: LiveEpisode, ticks: int) -> None:
    show.rewind.go(show.rewind.here - ticks)


@pytest.fixture(params=["lander", "gru", "mixed", "shooter", "tag"])
def show(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[LiveEpisode]:
    scene, network = request.param, "mlp"
    if scene in GAMES:
        scene = game(scene)
    elif scene == "mixed":
        scene = str(tmp_path / "mixed.py")
        Path(scene).write_text(MIXED)
    elif scene == "gru":
        scene, network = "lander", "gru"
    made = show_of(scene, network=network)
    yield made
    made.close()


def test_going_back_shows_each_moment_bit_for_bit_and_the_present_goes_on_as_if_nobody_had(show: LiveEpisode) -> None:
    twin = LiveEpisode(show.scene, show.agents, seeds=show.seeds)
    show.sample(False)
    for each in (show, twin):
        for _ in range(25):
            each.tick()
    here, everything = arena_of(show), show.world.save_columns()
    past = list(show.log.past)
    for at in (20, 3, 4, 5, 0, 24, 1):
        show.rewind.go(at)
        show.stage()
        show.mind.view()
        assert show.clock.tick[0] == show.stage().tick
        there = show.log.named(past[at].columns)
        assert all(part.tobytes() == there[name].tobytes() for name, part in show.world.arena_columns(0).items())
    show.rewind.leave()
    assert arena_of(show) == here
    assert same(show.world.save_columns(), everything)
    for _ in range(40):
        show.tick()
        twin.tick()
    assert same(show.world.save_columns(), twin.world.save_columns())
    twin.close()


def test_the_past_plays_again_at_the_speed_of_the_stage_and_then_becomes_the_present() -> None:
    show = show_of("swingup")
    show.sample(False)
    states = play(show, 60)
    back(show, 50)
    for tick in range(11, 60):
        show.advance(show.scene.dt * 1.001)
        assert arena_of(show) == states[tick]
        assert show.rewind.at == tick
    show.advance(show.scene.dt * 1.001)
    assert show.rewind.at is None
    assert arena_of(show) == states[60]
    show.advance(0.1)
    assert show.clock.tick[0] == 65
    show.speed = math.inf
    back(show, 40)
    show.advance(1 / 60, 0.01)
    assert show.rewind.at is None, "as fast as it goes is at once"
    show.close()


def test_an_ending_is_seen_again_as_it_was_and_lingers_when_the_past_is_played() -> None:
    show = show_of("balance")
    while not show.resting:
        show.tick()
    picture, ended, length = show.stage(), show.outcome, int(show.ended[0].length)
    show.tick()
    for _ in range(5):
        show.tick()
    back(show, 6)
    assert show.stage() is picture
    assert (show.outcome, show.episode, show.resting) == (ended, 0, True)
    assert not show.rested, "a playlist must not go on from there"
    assert show.poke() == ""
    assert not show.go_on_from_here()
    assert show.rewind.ends == ((6 * show.scene.dt, ended.tone),)  # type: ignore[union-attr]
    back(show, 1)
    assert (show.resting, show.episode, show.clock.tick[0]) == (False, 0, length - 1)
    show.advance(show.scene.dt * 3)
    assert show.stage() is picture, "no further than the ending"
    show.advance(LINGERS / 2)
    assert show.stage() is picture
    show.advance(LINGERS)
    show.advance(show.scene.dt)
    assert show.rewind.at is not None or show.episode == 1
    show.close()


def test_half_a_minute_is_kept_and_no_more() -> None:
    show = show_of("balance", arenas=1)
    for _ in range(round(SECONDS / show.scene.dt) + 300):
        show.tick()
    assert show.rewind.seconds == pytest.approx(SECONDS)
    assert all(0 <= ago <= SECONDS for ago, _ in show.rewind.ends)
    endings = [keyframe.outcome for keyframe in show.log.past if keyframe.outcome is not None]
    assert len(show.rewind.ends) == len(endings) > 2
    show.rewind.go(0)
    assert show.rewind.ago == pytest.approx(SECONDS)
    assert show.stage().objects
    show.close()


def test_a_poke_in_the_past_goes_on_from_there_and_what_came_after_is_gone() -> None:
    show = show_of("swingup")
    states = play(show, 30)
    back(show, 20)
    assert show.poke(BodyId("pole")) == "pole"
    assert (show.rewind.at, show.touched) == (None, True)
    assert arena_of(show) == states[10]
    show.tick()
    assert arena_of(show) != states[11]
    assert show.rewind.ago == 0.0
    back(show, -1)
    assert arena_of(show) != states[11]
    back(show, 1)
    assert arena_of(show) == states[10]
    assert len(show.mind.view().expected) == 10
    show.rewind.leave()
    assert len(show.mind.view().expected) == 11, "the mind tells of what led here, and of nothing else"
    show.close()


def test_going_on_without_a_touch_takes_the_same_way_again() -> None:
    """Where nothing touches the physics has no memory: made anew from the columns it goes the same way."""
    show = show_of("swingup")
    show.sample(False)
    states = play(show, 40)
    back(show, 30)
    assert show.go_on_from_here()
    again = play(show, 30)
    for there, later in zip(states[10:], again, strict=True):
        for key, value in there.items():
            dtype = np.float64 if "Pose" in key or "Motion" in key else None
            if dtype is not None:
                np.testing.assert_allclose(np.frombuffer(later[key]), np.frombuffer(value), rtol=1e-6, atol=1e-9)
    show.close()


def test_the_same_seed_again_in_the_past_is_the_one_that_is_seen_there() -> None:
    show = show_of("balance", arenas=3)
    show.go_to(1)
    start = arena_of(show)
    play(show, 5)
    show.go_to(2)
    assert arena_of(show) != start
    play(show, 5)
    back(show, 8)
    assert show.short_caption.startswith("seed 1 ")
    show.restart()
    assert show.short_caption.startswith("seed 1 ")
    parts = {key: value for key, value in arena_of(show).items() if "Pose" in key or "Chance" in key}
    assert parts == {key: start[key] for key in parts}
    show.close()


def test_the_mind_tells_of_the_moment_that_is_seen() -> None:
    show = show_of("lander")
    told = []
    for _ in range(30):
        show.tick()
        told.append(show.mind.view())
    back(show, 12)
    there = show.mind.view()
    assert there.sees == told[17].sees
    assert there.does == told[17].does
    assert there.earned == told[17].earned
    assert there.expected.tolist() == told[17].expected.tolist()
    assert len(show.mind.ribbon().earned) == 18
    show.rewind.leave()
    assert show.mind.view().sees == told[-1].sees
    show.close()


def test_trails_are_as_long_as_they_were() -> None:
    show = show_of("lander")
    pictures = []
    for _ in range(60):
        show.tick()
        pictures.append(show.stage())
    back(show, 20)
    for now, then in zip(show.stage().objects, pictures[39].objects, strict=True):
        assert len(now.trails) == len(then.trails)
        for ours, theirs in zip(now.trails, then.trails, strict=True):
            np.testing.assert_array_equal(ours[-30:], theirs[-30:])
        np.testing.assert_array_equal(now.position, then.position)
    assert show.stage().bounds == pictures[-1].bounds
    show.close()


# --- in the window ----------------------------------------------------------------------------------------------------


@pytest.fixture
def live(tmp_path: Path) -> Iterator[Live]:
    with watching(tmp_path) as opened:
        opened.slices(40)
        yield opened


def test_the_mouse_goes_along_the_scrubber_to_any_moment(live: Live) -> None:
    for _ in range(100):
        live.show.tick()
    assert "scrubber" not in live.window.views, "a stage that runs has none"
    live.hit("Space")
    live.draw()
    view = live.window.views["scrubber"]
    assert view.ago is None
    at = live.at("scrubber", "bar", share=0.5)
    live.answer(down(at), up(at))
    assert live.show.rewind.ago == pytest.approx(view.seconds / 2, abs=0.03)
    far = live.at("scrubber", "bar", share=0.1)
    live.answer(down(at), moved((at[0] - 9, at[1])), moved((far[0], far[1] + 200)))
    assert live.show.rewind.ago == pytest.approx(view.seconds * 0.9, abs=0.03)
    live.answer(moved((at[0] + 3000, at[1])))
    assert live.show.rewind.at is None, "beyond its end is the present"
    live.answer(up(at))
    assert live.show.hand.role is None
    before = live.show.rewind.at
    live.answer(moved(far))
    assert live.show.rewind.at == before, "the button is up"


def test_the_picture_of_the_past_is_the_one_that_was_seen(live: Live) -> None:
    live.window.open_panels.clear()
    live.show.new_episode()
    live.window.stage.pause(True)
    live.window.stage.set_speed(0.0)
    pictures = []
    for _ in range(3):
        live.show.tick()
        pictures.append(live.show.stage())
    live.hit("Left")
    for now, then in zip(live.show.stage().objects, pictures[1].objects, strict=True):
        assert now.position.tolist() == then.position.tolist()


def test_space_plays_the_past_and_escape_leaves_it(live: Live) -> None:
    for _ in range(60):
        live.show.tick()
    here = arena_of(live.show)
    live.hit("PgUp", "Space")
    assert not live.show.paused
    live.window.advance(0.2, math.inf)
    assert live.show.rewind.at is not None
    live.draw()
    assert ("Esc", "back to now") in live.hints
    live.hit("Esc")
    assert live.show.rewind.at is None
    assert arena_of(live.show) == here
    assert "back in the present" in live.said()


def test_a_key_that_is_held_down_goes_on_by_itself_and_faster(live: Live) -> None:
    for _ in range(200):
        live.show.tick()
    live.answer(pressed("Left"))
    gone = []
    for _ in range(60):
        live.window.advance(1 / 60, 0.0)
        gone.append(live.show.rewind.ago)
    assert gone[15] == live.show.scene.dt
    assert gone[40] > gone[30] > live.show.scene.dt
    assert gone[59] - gone[50] > gone[40] - gone[31]
    live.answer(released("Left"), pressed("Right"))
    live.window.advance(0.0, 0.0)
    for _ in range(200):
        live.window.advance(1 / 60, 0.0)
    assert live.show.rewind.at is None, "on, no further than the present"


def test_all_shows_of_a_comparison_go_back_together(tmp_path: Path) -> None:
    run = train("balance", *TINY, "--json", "--runs", tmp_path).run
    with seeing(run, "--compare", "0", "best", "--episodes", 2) as live:
        for _ in range(12):
            for show in live.window.stage.shows:
                show.tick()
        live.hit("Left", "Left")
        longest = max(len(show.log.past) for show in live.window.stage.shows)
        for show in live.window.stage.shows:  # one that has ended waits at its end for the other
            assert show.rewind.here == min(longest - 3, len(show.log.past) - 1)
        live.draw()
        first = live.at("scrubber", "bar", share=0.0)
        live.answer(down(first), up(first))
        assert {show.clock.tick[0] for show in live.window.stage.shows} == {0}
        live.hit("Enter")
        assert {show.rewind.at for show in live.window.stage.shows} == {None}


def test_an_environment_that_draws_itself_says_that_it_cannot_go_back(tmp_path: Path) -> None:
    with watching(tmp_path, "gym:CartPole-v1", *TINY) as live:
        for _ in range(5):
            live.show.tick()
        before = arena_of(live.show)
        live.answer(pressed("Left"))
        assert "cannot be wound back" in live.said()
        assert arena_of(live.show) == before
        live.draw()
        assert "scrubber" not in live.window.views
