from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pygame
import pytest
from film_helpers import left_behind, shown

from ecs_rl.agents.base import Agent
from ecs_rl.agents.config import PPOConfig
from ecs_rl.errors import CommandError
from ecs_rl.loading import load_scene
from ecs_rl.spaces import ActMode
from ecs_rl.training.evaluator import SEED, play_episodes
from ecs_rl.training.scene_agents import deciding, make_agents
from ecs_rl.viewer.films import studio
from ecs_rl.viewer.films.studio import Title, record_play, shoot_clip
from ecs_rl.viewer.live_episode import LiveEpisode

SMALL = (160, 96)
ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def small_films(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(studio, "FORMATS", {".mp4": (SMALL, 10.0), ".gif": (SMALL, 5.0)})


@pytest.fixture
def agents() -> dict[str, Agent]:
    return make_agents(load_scene("balance"), "ppo", PPOConfig(hidden=(8,)), arenas=1, seed=3)


@pytest.fixture
def show(agents: dict[str, Agent]) -> Iterator[LiveEpisode]:
    made = LiveEpisode(load_scene("balance"), agents, seeds=range(SEED, SEED + 3))
    yield made
    made.close()


@pytest.fixture
def one(agents: dict[str, Agent]) -> Iterator[LiveEpisode]:
    """A show of a single episode."""
    made = LiveEpisode(load_scene("balance"), agents, seeds=[SEED])
    yield made
    made.close()


def clip(agents: dict[str, Agent], path: Path, longest: float = 60.0) -> None:
    text, seeds = "25 %  ·  1,000 of 4,000 steps", range(SEED, SEED + 2)
    scene = load_scene("balance")
    for _ in shoot_clip(scene, agents, seeds, path, text=text, share=0.25, longest=lambda: longest):
        pass


def test_a_recorded_play_tells_the_endings_that_an_evaluation_has(
    tmp_path: Path, show: LiveEpisode, agents: dict[str, Agent]
) -> None:
    ended = [end for (end,) in record_play([show], tmp_path / "play.mp4")]
    wanted = play_episodes(show.scene, deciding(agents, ActMode.GREEDY), range(SEED, SEED + 3))
    assert [(e.seed, e.total, e.length) for e in ended] == [
        (SEED + i, record.total_reward, record.length) for i, record in enumerate(wanted)
    ]
    frames, facts = shown(tmp_path / "play.mp4")
    seconds = sum(record.length for record in wanted) * show.scene.dt
    assert facts["size"] == SMALL
    assert len(frames) == pytest.approx((seconds + 3 * 1.2) * 10, abs=4)


def test_speed_makes_an_episode_shorter_and_its_ending_is_still_seen(tmp_path: Path, one: LiveEpisode) -> None:
    ((ended,),) = record_play([one], tmp_path / "fast.mp4", speed=64.0)
    frames, _ = shown(tmp_path / "fast.mp4")
    assert len(frames) == 1 + 12
    assert ended.length < 64 * 50 / 10
    assert np.ptp(frames[1:].astype(int), axis=0).mean() < 1.0


def test_several_shows_are_filmed_side_by_side_until_the_last_one_has_ended(
    tmp_path: Path, agents: dict[str, Agent]
) -> None:
    scene, seeds = load_scene("balance"), range(SEED, SEED + 2)
    others = make_agents(scene, "ppo", PPOConfig(hidden=(8,)), arenas=1, seed=4)
    wanted = [play_episodes(scene, deciding(each, ActMode.GREEDY), seeds) for each in (agents, others)]
    shows = [LiveEpisode(scene, each, seeds=seeds) for each in (agents, others)]
    try:
        ended = list(record_play(shows, tmp_path / "both.mp4", speed=4.0))
    finally:
        for show in shows:
            show.close()
    assert [[(e.seed, e.total, e.length) for e in both] for both in ended] == [
        [(seed, record.total_reward, record.length) for record in both]
        for seed, both in zip(seeds, zip(*wanted, strict=True), strict=True)
    ]
    longest = [max(record.length for record in both) for both in zip(*wanted, strict=True)]
    frames, _ = shown(tmp_path / "both.mp4")
    assert len(frames) == pytest.approx(sum(longest) * scene.dt / 4 * 10 + 2 * 12, abs=4)
    left, right = frames[5, :, :80].astype(int), frames[5, :, 80:].astype(int)
    assert np.ptp(left) > 60
    assert np.ptp(right) > 60  # there is a stage in both halves


def test_the_same_show_gives_the_same_film(tmp_path: Path, agents: dict[str, Agent]) -> None:
    for name in ("one.mp4", "other.mp4"):
        clip(agents, tmp_path / name, longest=0.5)
    assert (tmp_path / "one.mp4").read_bytes() == (tmp_path / "other.mp4").read_bytes()


def test_a_clip_is_cut_at_its_longest_and_says_so(tmp_path: Path, agents: dict[str, Agent], show: LiveEpisode) -> None:
    clip(agents, tmp_path / "cut.mp4", longest=0.3)
    assert len(shown(tmp_path / "cut.mp4")[0]) == 9 + 36
    title = Title("balance", "25 %", 0.25)
    pictures = []
    for title.stopped_after in (None, 12.0):
        surface = pygame.Surface((480, 270))
        title.draw(surface, show)
        pictures.append(pygame.image.tobytes(surface, "RGB"))
    assert pictures[0] != pictures[1]


def test_a_clip_ends_within_a_picture_when_there_is_no_time_any_more(tmp_path: Path, agents: dict[str, Agent]) -> None:
    longest = 60.0
    scene = load_scene("balance")
    path = tmp_path / "haste.mp4"
    shooting = shoot_clip(scene, agents, [SEED], path, text="", share=0.0, longest=lambda: longest)
    for _ in range(20):
        next(shooting)
    longest = -9.0
    for _ in shooting:
        pass
    assert len(shown(path)[0]) <= 20


def test_a_clip_that_nobody_waits_for_leaves_nothing(tmp_path: Path, agents: dict[str, Agent]) -> None:
    scene = load_scene("balance")
    shooting = shoot_clip(scene, agents, [SEED], tmp_path / "x.mp4", text="", share=0.0, longest=lambda: 9.0)
    for _ in range(5):
        next(shooting)
    assert left_behind(tmp_path) == [".x.mp4.tmp"]
    shooting.close()  # type: ignore[attr-defined]
    assert left_behind(tmp_path) == []


def test_a_gif_has_a_size_and_a_rate_of_its_own(tmp_path: Path, one: LiveEpisode) -> None:
    ((ended,),) = record_play([one], tmp_path / "play.gif")
    frames, facts = shown(tmp_path / "play.gif")
    assert facts["size"] == SMALL
    assert facts["fps"] == 5.0
    assert len(frames) == pytest.approx(ended.length / 10 + 6, abs=1)


@pytest.mark.parametrize("name", ["play.avi", "none/play.mp4"])
def test_a_film_that_cannot_be_is_refused_before_anything_is_played(
    tmp_path: Path, show: LiveEpisode, name: str
) -> None:
    with pytest.raises(CommandError):
        next(record_play([show], tmp_path / name))
    assert show.world.ticks == 0


def test_filming_needs_no_display_whatever_driver_there_is(tmp_path: Path) -> None:
    code = (
        "import sys, pygame\nfrom pathlib import Path\nfrom ecs_rl.agents.config import PPOConfig\n"
        "from ecs_rl.loading import load_scene\nfrom ecs_rl.training.scene_agents import make_agents\n"
        "from ecs_rl.viewer.films.studio import shoot_clip\nscene = load_scene('lander')\n"
        "agents = make_agents(scene, 'ppo', PPOConfig(), arenas=1, seed=0)\n"
        "for _ in shoot_clip(scene, agents, [1], Path(sys.argv[1]), text='', share=0.5, longest=lambda: 0.1): pass\n"
        "assert not pygame.display.get_init()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "film.mp4")],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env={"PYTHONPATH": str(ROOT), "SDL_VIDEODRIVER": "x11", "DISPLAY": ":99"},
    )
    assert done.returncode == 0, done.stderr
    assert len(shown(tmp_path / "film.mp4")[0]) == 3 + 36
