"""Episodes of the stage are played again bit for bit: from memory and from files, headless, in a film, in a window."""

from __future__ import annotations

import math
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from games import game
from live_commands import play, train
from live_windows import TINY, Live, Scripted, seeing, wait, watching
from mixed_controls import MIXED

from ecs_rl.agents.base import Agent
from ecs_rl.agents.config import PPOConfig
from ecs_rl.loading import load_scene
from ecs_rl.runs.episode_file import Episode, read_episode, write_episode
from ecs_rl.training.opponent import opponent_of
from ecs_rl.training.scene_agents import make_agents
from ecs_rl.viewer.controls.keeping import Keeping
from ecs_rl.viewer.live_episode import LiveEpisode
from ecs_rl.viewer.mind import Thought
from ecs_rl.viewer.objects import BodyId
from ecs_rl.viewer.replay import Replay, played_again


def show_of(scene: str, *, arenas: int = 3, network: str = "mlp", against: str = "") -> LiveEpisode:
    loaded = load_scene(scene)
    agents: dict[str, Agent] = make_agents(
        loaded, "ppo", PPOConfig(hidden=(8,), network=network, state=8), arenas=1, seed=3
    )
    opponent = opponent_of(loaded, against, Path) if against else None
    return LiveEpisode(loaded, agents, seeds=range(arenas), sampled=True, opponent=opponent)


def run_until(show: LiveEpisode, episodes: int, most: int = 4000) -> list[Episode]:
    for _ in range(most):
        show.tick()
        if len(show.played.episodes) >= episodes:
            break
    return [episode for episode, _ in show.played.episodes]


@pytest.mark.parametrize("scene", ["balance", "lander", "gru", "walker", "racer", "mixed", "tag", "sumo", "gym"])
def test_every_episode_of_a_stage_comes_to_the_same_bits_again(scene: str, tmp_path: Path) -> None:
    name, network, against = scene, "gru" if scene == "gru" else "mlp", ""
    if scene in ("tag", "sumo"):
        name, against = game(scene), "random" if scene == "sumo" else ""
    elif scene == "mixed":
        name = str(tmp_path / "mixed.py")
        Path(name).write_text(MIXED)
    elif scene in ("gru", "gym"):
        name = {"gru": "lander", "gym": "gym:CartPole-v1"}[scene]
    show = show_of(name, network=network, against=against)
    found = run_until(show, 7, 1500 if scene in ("tag", "racer") else 4000)
    assert len(found) >= 3
    assert any(episode.facts.number > 0 for episode in found), "also where an arena went on by itself"
    for episode in found:
        ended, exact = played_again(show.scene, episode)
        assert exact, episode.facts
        assert (ended.total, ended.length) == (episode.facts.total, episode.facts.ticks)
        assert ended.reasons == episode.facts.reasons
    show.close()


def test_pulls_kicks_and_another_way_from_the_past_are_played_again_too() -> None:
    show = show_of("lander", arenas=2)
    for _ in range(12):
        show.tick()
    show.poke(BodyId("hull"))
    show.tick()
    position = next(role for role in show.world.arena.roles if role.name == "hull").position[0]
    show.grab(BodyId("hull"), (float(position[0]), float(position[1])))
    for step in range(6):
        show.drag((0.3 * step, 4.0))
        show.tick()
    show.let_go()
    for _ in range(5):
        show.tick()
    show.rewind.go(15)
    assert show.go_on_from_here()
    while show.outcome is None:
        show.tick()
    episode = show.played.newest(0)
    assert episode is not None
    assert len(episode.hands) == 2 + 1 or len(episode.hands) > 1
    assert episode.facts.rebuilt
    assert played_again(show.scene, episode)[1]
    came = came_of(thoughts_of(show, episode), show.agents["policy"])
    assert episode.facts.came == pytest.approx(came, rel=1e-5), "what was taken back is not counted"
    assert show.played.best() is None or show.played.best() is not episode, "what a hand has made is not the policy's"
    show.close()


def test_who_goes_back_before_the_end_that_still_stands_makes_no_episode_of_it_that_could_be_kept() -> None:
    show = show_of("balance", arenas=1)
    while show.outcome is None:
        show.tick()
    first = show.played.newest(0)
    assert first is not None
    show.rewind.go(show.rewind.here - 4)
    assert show.go_on_from_here()
    while show.outcome is None:
        show.tick()
    assert show.played.newest(0) is first, "its first ticks are those of an episode that is over"
    found = run_until(show, 2)
    assert played_again(show.scene, found[-1])[1]
    show.close()


def test_what_went_on_from_the_past_is_played_again_and_is_not_what_the_policy_expected() -> None:
    show = show_of("lander", arenas=1)
    for _ in range(12):
        show.tick()
    show.rewind.go(5)
    assert show.go_on_from_here()
    while show.outcome is None:
        show.tick()
    episode = show.played.newest(0)
    assert episode is not None
    assert (episode.facts.rebuilt, episode.facts.expected, len(episode.hands)) == ((5,), None, 0)
    assert played_again(show.scene, episode)[1]
    assert show.played.best() is None
    show.close()


def test_what_a_person_drove_is_played_again_too_and_is_not_the_policys() -> None:
    show = show_of("lander", arenas=2)
    batch, slot = show.mind.watched
    while show.outcome is None:
        show.hand.steers = {(batch.name, int(slot.rows.start)): np.asarray(np.int64(show.world.ticks % 4))}
        show.tick()
    show.hand.steers = {}
    episode = show.played.newest(0)
    assert episode is not None
    assert episode.actions[0][:4, 0].tolist() == [0, 1, 2, 3]
    assert episode.facts.who == "a person"
    assert played_again(show.scene, episode)[1]
    assert all(each is not episode for each in (show.played.best(), show.played.worst()))
    show.close()


def test_an_episode_that_was_taken_over_half_way_is_not_kept_and_the_next_one_is() -> None:
    show, other = show_of("balance", arenas=1), show_of("balance", arenas=1)
    for _ in range(4):
        other.tick()
    show.adopt(other.world, 0, "training arena 0")
    while show.outcome is None:
        show.tick()
    assert show.played.newest(0) is None
    found = run_until(show, 1)
    assert played_again(show.scene, found[0])[1]
    show.close()
    other.close()


def test_the_worst_the_best_and_the_most_surprising_are_those() -> None:
    show = show_of("balance")
    found = run_until(show, 12)
    played = show.played
    totals = [episode.facts.total for episode in found]
    assert played.worst() is found[int(np.argmin(totals))]
    assert played.best() is found[int(np.argmax(totals))]
    agent = show.agents["policy"]
    gaps = [abs(episode.surprise) for episode in found]
    assert all(math.isfinite(gap) for gap in gaps)
    assert played.most_surprising() is found[int(np.argmax(gaps))]
    episode = found[0]
    thoughts = thoughts_of(show, episode)
    expected = float(agent.introspect(thoughts[0].seen[None]).value[0])  # type: ignore[attr-defined]
    assert episode.facts.came == pytest.approx(came_of(thoughts, agent), rel=1e-5)
    assert episode.facts.expected == pytest.approx(expected, rel=1e-4)
    show.close()


def thoughts_of(show: LiveEpisode, episode: Episode) -> list[Thought]:
    """Return the first agent's part of each tick of an episode that is played again."""
    replay, thoughts = Replay(show.scene, episode, show.agents), []
    replay.restart()
    for _ in range(episode.facts.ticks):
        replay.tick()
        thoughts.append(replay.mind.current)
    replay.close()
    return thoughts


def came_of(thoughts: list[Thought], agent: Agent) -> float:
    return sum(thought.reward * agent.discount**t for t, thought in enumerate(thoughts))  # type: ignore[attr-defined]


def test_a_replay_is_a_stage_like_any_other_but_for_who_decides() -> None:
    show = show_of("lander")
    episode = run_until(show, 4)[-1]
    replay = Replay(show.scene, episode, show.agents)
    replay.restart()
    lengths = []
    begins: list[Callable[[], None]] = [replay.restart, replay.new_episode, lambda: replay.go_to(2)]
    for begin in begins:
        begin()
        assert replay.clock.tick[replay.arena] == 0
        while replay.outcome is None:
            replay.tick()
        lengths.append((replay.outcome.length, replay.is_exact))
    assert set(lengths) == {(episode.facts.ticks, True)}
    replay.rewind.go(replay.rewind.here - (episode.facts.ticks - 3))
    assert replay.clock.tick[replay.arena] == 3
    replay.close()
    show.close()


# --- in the window ----------------------------------------------------------------------------------------------------


@pytest.fixture
def live(tmp_path: Path) -> Iterator[Live]:
    with watching(tmp_path) as opened:
        opened.slices(40)
        yield opened


def bring(live: Live) -> None:
    """Let a replay begin and be shown: a frame each."""
    for _ in range(2):
        live.window.advance(0.0, 0.0)


def finish(live: Live) -> None:
    while live.show.outcome is None:
        live.show.tick()
    live.window.advance(0.0, 0.0)


def kept(live: Live) -> list[Path]:
    live.control(Keeping).close(live.window)
    return sorted((live.window.run.folder / "episodes").glob("*.episode"))


def test_an_episode_is_kept_when_it_ends_or_right_after_and_played_by_the_command(live: Live) -> None:
    for _ in range(3):
        live.show.tick()
    live.hit("K")
    assert "kept once it ends" in live.said()
    assert not kept(live)
    finish(live)
    (first,) = kept(live)
    assert f"kept: play.py {first}" in live.said()
    assert not live.control(Keeping).waits
    live.show.new_episode()
    finish(live)
    live.hit("K")
    both = kept(live)
    assert len(both) == 2
    for path in both:
        episode = read_episode(path)
        assert "newest policy, greedy, at step " in episode.facts.who
        told = play(path, "--headless", "--json")
        assert (told.code, told.err) == (0, "")
        assert told.json["exact"] is True
        assert told.json["returns"] == [episode.facts.total]
    live.show.new_episode()
    live.hit("K", "K")
    assert "is not kept" in live.said()


def test_what_a_full_disk_refuses_is_said_in_the_window(live: Live, monkeypatch: pytest.MonkeyPatch) -> None:
    finish(live)
    (live.window.run.folder / "episodes").write_text("in the way")
    live.hit("K")
    live.control(Keeping).close(live.window)
    assert "episodes" in live.said()
    assert "cannot" in live.said()
    assert not live.window.closing


def test_w_walks_through_worst_best_and_most_surprising_and_back(live: Live) -> None:
    live.hit("W")
    assert "no episode has come to its end" in live.said()
    run_until(live.show, 6)
    stage, before = live.show, live.state()
    titles = []
    for which in ("worst", "best", "most_surprising"):
        live.hit("W")
        bring(live)
        live.draw()
        assert live.show is not stage
        assert isinstance(live.show, Replay)
        assert live.show.episode_played is getattr(stage.played, which)()
        titles += [(chip.text, chip.key) for chip in live.window.views["chips"] if chip.text.startswith("THE ")]
        assert not [chip for chip in live.chips if chip.endswith("ACTIONS")]
        assert "mind" in live.window.views
        assert live.window.views["learning"].timeline is None
    assert titles == [(f"THE {name} OF 6", "W") for name in ("WORST", "BEST", "MOST SURPRISING")]
    assert "expected" in live.show.caption
    live.hit("D", ",")
    assert "it goes as it went" in live.said()
    assert "nothing else to choose" in live.said()
    live.hit("Left")
    assert live.show.rewind.at is None
    live.hit("W")
    assert live.show is stage
    for name, column in live.state().items():
        assert column.tobytes() == before[name].tobytes()


def test_a_replay_says_that_it_came_to_the_same_bits_and_then_gives_way_to_the_stage(live: Live) -> None:
    run_until(live.show, 3)
    stage = live.show
    live.hit("W")
    bring(live)
    live.window.stage.set_speed(8.0)
    for _ in range(2000):
        live.window.advance(1 / 30, math.inf)
        if live.show is stage:
            break
    assert live.show is stage
    assert "played again bit for bit" in live.said()


def test_escape_leaves_a_replay_and_the_keeper_keeps_it(live: Live) -> None:
    run_until(live.show, 3)
    stage = live.show
    live.hit("W")
    bring(live)
    live.hit("K")
    (path,) = kept(live)
    worst = stage.played.worst()
    assert worst is not None
    assert read_episode(path).facts.digest == worst.facts.digest
    live.hit("Esc")
    assert live.show is stage


def test_in_play_the_episodes_are_kept_beside_the_run(tmp_path: Path) -> None:
    run = train("balance", *TINY, "--json", "--runs", tmp_path).run
    with seeing(run, "--episodes", 2) as live:
        finish(live)
        live.hit("K")
        (path,) = kept(live)
        assert path.parent == run / "episodes"
        assert read_episode(path).facts.seed == 10_000


# --- the command ------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def episode(tmp_path_factory: pytest.TempPathFactory) -> Path:
    show = show_of("lander")
    found = run_until(show, 2)[-1]
    show.close()
    return write_episode(found, tmp_path_factory.mktemp("episodes"), "landing")


def test_play_shows_a_kept_episode_in_the_window_until_it_is_closed(
    episode: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    driver = Scripted(monkeypatch, wait(5))
    told = play(episode, "--speed", "64", "--json")
    assert told.code == 0, told.err
    assert driver.is_done
    assert told.json["exact"] is True


def test_play_films_a_kept_episode_once(episode: Path, tmp_path: Path) -> None:
    told = play(episode, "--record", tmp_path / "film.gif", "--speed", "16")
    assert told.code == 0, told.err
    assert "bit for bit as it was" in told.out
    assert (tmp_path / "film.gif").stat().st_size > 1000


def test_flags_that_mean_nothing_here_are_refused(episode: Path) -> None:
    for flag, value in (("--stochastic", None), ("--episodes", "3"), ("--compare", "best"), ("--against", "random")):
        told = play(episode, *((flag,) if value is None else (flag, value)), "--headless")
        assert told.code == 2
        assert f"{flag}: an episode goes as it went: leave {flag} out" in told.err


def test_a_damaged_a_missing_and_a_foreign_episode_are_refused(episode: Path, tmp_path: Path) -> None:
    bad = tmp_path / "bad.episode"
    shutil.copy(episode, bad)
    bad.write_bytes(bad.read_bytes()[:-3])
    told = play(bad, "--headless")
    assert (told.code, told.out) == (3, "")
    assert "is damaged" in told.err
    told = play(tmp_path / "none.episode", "--headless")
    assert told.code == 2
    assert "there is no episode" in told.err
    told = play(episode, "--scene", "balance", "--headless")
    assert told.code == 3
    assert "does not fit the scene 'balance'" in told.err


def test_an_episode_of_a_scene_that_has_changed_is_told_apart(tmp_path: Path) -> None:
    scene = tmp_path / "mixed.py"
    scene.write_text(MIXED)
    show = show_of(str(scene))
    found = run_until(show, 1)[0]
    show.close()
    (tmp_path / "elsewhere").mkdir()
    path = write_episode(found, tmp_path / "elsewhere", "one")
    scene.write_text(f"{MIXED}\n# changed\n")
    told = play(path, "--headless")
    assert told.code == 3
    assert "has changed since" in told.err
    told = play(path, "--headless", "--scene", scene)
    assert told.code == 0, told.err
    assert "is not as it was when" in told.err
