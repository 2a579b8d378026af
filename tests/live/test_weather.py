"""Gravity and wind on the stage, by two sliders: the bodies feel them, and no training, evaluation or return does."""

from __future__ import annotations

from pathlib import Path

import pytest
from live_commands import train
from live_windows import TINY, Live, down, moved, seeing, up, watching

from ecs_rl.components import UserInput
from ecs_rl.loading import load_scene
from ecs_rl.viewer.panels.weather import MOST_WIND
from ecs_rl.viewer.replay import Replay
from ecs_rl.world import policy_specs
from ecs_rl.worlds import make_world

SLOW = 0.4


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return train("balance", *TINY, "--json", "--runs", tmp_path_factory.mktemp("runs")).run


def values(live: Live) -> list[str]:
    """Return what the sliders are set to, as they tell it."""
    return [slider.value for slider in live.window.views["weather"]]


def drag(live: Live, number: int, share: float) -> None:
    """Drag a slider so far along its bar, by events of the mouse."""
    slider = live.window.views["weather"][number]
    start, end = (live.at("weather", "slider", number, where) for where in (slider.share, share))
    live.answer(down(start), moved((start[0] + 6, start[1])), moved(end), up(end))
    live.draw()


def falls(air: tuple[float, float], ticks: int = 10) -> tuple[float, float]:
    """Return the velocity that a lander that coasts has gained after so many ticks in this weather."""
    scene, hand = load_scene("lander"), UserInput(air=air)
    ((name, spec),) = policy_specs(scene.describe()).items()
    idle = {name: lambda seen, state: spec.actions.none(len(seen))}
    names = ("decide", "actuate", "interact", "simulate", "guard", "sense", "judge", "respawn")
    world = make_world(scene, arenas=2, seeds=(1, 2), policies=idle, stages=names, resources=(hand,))
    (hull,) = [role for role in world.arena.roles if role.name == "hull"]
    before = hull.velocity.copy()
    for _ in range(ticks):
        world.tick()
    gained = hull.velocity - before
    world.close()
    assert gained[1] == pytest.approx((0.0, -10.0 * ticks * scene.dt), abs=0.3), "only the watched arena has weather"
    return float(gained[0][0]), float(gained[0][1])


def test_wind_and_gravity_accelerate_what_moves_freely_by_what_they_say() -> None:
    seconds = 10 * load_scene("lander").dt
    x, y = falls((0.0, 0.0))
    blown_x, blown_y = falls((3.0, -5.0))
    assert blown_x - x == pytest.approx(3.0 * seconds, rel=0.05)
    assert blown_y - y == pytest.approx(-5.0 * seconds, rel=0.05)


def test_the_sliders_set_gravity_and_wind_and_their_usual_setting_changes_nothing(run: Path) -> None:
    with seeing(run) as live:
        live.hit("A")
        live.draw()
        live.window.advance(0.0, 1.0)
        assert live.show.hand.air == (0.0, 0.0)
        assert values(live) == ["9.8 m/s²", "0.0 m/s²"]
        drag(live, 1, 1.0)
        drag(live, 0, 0.0)
        live.window.advance(1 / 60, 1.0)
        assert live.show.hand.air == pytest.approx((MOST_WIND, 9.8), abs=0.05)
        assert live.show.touched
        assert values(live) == ["0.0 m/s²", f"→ {MOST_WIND:.1f} m/s²"]
        drag(live, 1, 0.51)
        drag(live, 0, 0.32)  # near enough
        live.window.advance(0.0, 1.0)
        assert live.show.hand.air == (0.0, 0.0)
        drag(live, 1, 0.2)
        live.hit("A")
        live.window.advance(1 / 60, 1.0)
        assert live.show.hand.air == (0.0, 0.0)


def test_an_episode_in_other_weather_does_not_count(run: Path) -> None:
    with seeing(run) as live:
        live.hit("A")
        live.draw()
        drag(live, 1, 0.9)
        for _ in range(2000):
            live.window.advance(1 / 60, 1.0)
            if live.show.outcome is not None:
                break
        assert live.show.outcome is not None
        assert not live.show.outcome.counts


def test_the_weather_of_the_stage_does_not_reach_the_training(tmp_path: Path) -> None:
    shas = []
    for stormy in (False, True):
        with watching(tmp_path / str(stormy)) as live:
            if stormy:
                live.hit("A")
                live.draw()
                drag(live, 1, 1.0)
            for _ in range(10):
                live.window.advance(1 / 60, 1.0)
                live.slices(40)
            while live.background.busy:
                live.slices(200)
            shas.append(live.trains.session.agent.parameters_sha256())
    assert shas[0] == shas[1]


def test_an_episode_in_a_storm_is_played_again_bit_for_bit(run: Path) -> None:
    with seeing(run) as live:
        live.hit("A")
        live.draw()
        drag(live, 1, 0.95)
        for _ in range(2000):
            live.window.advance(1 / 60, 1.0)
            if live.show.outcome is not None:
                break
        episode, clean = live.show.played.episodes[-1]
        assert not clean
        replay = Replay(live.show.scene, episode)
        try:
            replay.restart()
            while replay.outcome is None:
                replay.tick()
            assert replay.is_exact
        finally:
            replay.close()
