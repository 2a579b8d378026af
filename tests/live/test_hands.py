"""A person at the controls: keys and gamepad drive the agent's own controls, alone or against the policy."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pygame
import pytest
from lander_pilot import landings, pilot
from live_commands import train
from live_windows import TINY, Live, Scripted, post, seeing, watching

from ecs_rl.commands.play import main as play
from ecs_rl.components import Action, Observation
from ecs_rl.loading import load_scene
from ecs_rl.runs.demonstrations import read_demonstrations, save_demonstrations
from ecs_rl.viewer.live.hands import CODES, DemoRecorder, Hands, HumanPlaylist, idle_agents
from ecs_rl.viewer.live.window import Window
from ecs_rl.viewer.live_episode import LiveEpisode


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return train("balance", *TINY, "--json", "--runs", tmp_path_factory.mktemp("runs")).run


def held(key: str) -> pygame.event.Event:
    return pygame.event.Event(pygame.KEYDOWN, key=CODES[key], mod=0, unicode="", scancode=0)


def let(key: str) -> pygame.event.Event:
    return pygame.event.Event(pygame.KEYUP, key=CODES[key], mod=0, unicode="", scancode=0)


def action(live: Live) -> float:
    """Return what the watched agent did in the newest tick."""
    world = live.show.world
    return float(np.ravel(world.of(world.batches[0].entity, Action).value)[live.show.arena])


def step(live: Live, ticks: int = 1) -> None:
    live.window.answer()
    for _ in range(ticks):
        live.window.advance(live.show.scene.dt * 1.001, 1.0)
    live.draw()


# --- taking over ------------------------------------------------------------------------------------------------------


def test_h_takes_the_controls_from_the_policy_and_hands_them_back(tmp_path: Path) -> None:
    with watching(tmp_path) as live:
        live.hit("H")
        assert "you drive: ← left, → right" in live.said()
        for key, wanted in (("left", 0.0), ("right", 1.0), ("d", 1.0), ("a", 0.0)):  # a and d are arrows too
            live.answer(held(key))
            step(live)
            assert action(live) == wanted
            live.answer(let(key))
        assert live.show.touched
        assert "YOU DRIVE" in live.chips
        assert ("← left"[:1], "left") in live.hints
        live.hit("H")
        assert live.window.stage.hands is None
        assert not live.show.hand.steers
        step(live)
        assert "YOU DRIVE" not in live.chips


def test_who_takes_the_controls_of_a_stage_that_rests_drives_at_once(tmp_path: Path) -> None:
    with watching(tmp_path) as live:
        step(live, 20)
        live.hit("Space", "Left")
        assert live.show.rewind.ago > 0
        live.hit("H")
        assert not live.show.paused
        live.draw()
        assert not [chip for chip in live.chips if chip.endswith("S AGO")]
        live.answer(held("left"))
        step(live)
        assert action(live) == 0.0


def test_who_drives_a_stage_that_rests_is_told_that_space_goes_on(tmp_path: Path) -> None:
    with watching(tmp_path, "flappy", *TINY) as live:  # whose bird flaps by Space
        live.hit("H")
        live.window.stage.pause(True)
        live.draw()
        assert live.hints[0] == ("Space", "go on")
        live.answer(held("space"))
        assert not live.show.paused
        live.draw()
        assert live.hints[0] != ("Space", "go on")


def test_a_window_key_that_is_a_control_is_one_only_while_the_person_drives(tmp_path: Path) -> None:
    with watching(tmp_path) as live:
        sampled = live.show.sampled
        live.hit("H", "D")
        assert live.show.sampled is sampled
        live.answer(let("d"))
        live.hit("Esc")
        assert live.window.stage.hands is None
        live.hit("D")
        assert live.show.sampled is not sampled


def test_an_episode_in_which_a_person_drove_does_not_count_for_the_policy(run: Path) -> None:
    with seeing(run) as live:
        live.hit("H")
        step(live, 3)
        live.hit("H")
        while not live.show.outcome:
            step(live)
        assert not live.show.outcome.counts


def test_taking_over_changes_no_bit_of_the_training(tmp_path: Path) -> None:
    shas = []
    for drives in (False, True):
        with watching(tmp_path / str(drives)) as live:
            if drives:
                live.hit("H")
                live.answer(held("left"))
            for _ in range(30):
                live.slices(20)
                step(live)
            while live.background.busy:
                live.slices(200)
            shas.append(live.trains.session.agent.parameters_sha256())
    assert shas[0] == shas[1]


def test_who_looks_away_holds_no_key(tmp_path: Path) -> None:
    with watching(tmp_path) as live:
        live.hit("H")
        live.answer(held("right"))
        step(live)
        live.answer(pygame.event.Event(pygame.WINDOWFOCUSLOST))
        live.answer(held("left"))
        step(live, 4)
        assert action(live) == 0.0


# --- gamepads ---------------------------------------------------------------------------------------------------------


def test_a_gamepad_drives_by_stick_cross_and_buttons(tmp_path: Path) -> None:
    pads = (
        pygame.event.Event(pygame.JOYAXISMOTION, axis=0, value=0.9, instance_id=0),
        pygame.event.Event(pygame.JOYAXISMOTION, axis=0, value=-0.9, instance_id=0),
        pygame.event.Event(pygame.JOYHATMOTION, hat=0, value=(1, 0), instance_id=0),
        pygame.event.Event(pygame.JOYBUTTONDOWN, button=1, instance_id=0),
    )
    with watching(tmp_path) as live:
        live.hit("H")
        for event, wanted in zip(pads, (1.0, 0.0, 1.0, 1.0), strict=True):
            hands = live.window.stage.hands
            assert hands is not None
            hands._pad.clear()
            live.answer(event)
            step(live)
            assert action(live) == wanted
        live.answer(pygame.event.Event(pygame.JOYBUTTONUP, button=1, instance_id=0))
        assert hands is not None
        assert not hands._pad
        live.answer(pygame.event.Event(pygame.JOYAXISMOTION, axis=7, value=1.0, instance_id=0))  # one that is not used


def test_a_stick_sets_a_lever_as_far_as_it_is_pushed(tmp_path: Path) -> None:
    with watching(tmp_path, "swingup", *("--arenas", "8", "--steps", "3k", "--ppo.hidden", "8")) as live:
        live.hit("H")
        for value, wanted in ((0.1, 0.0), (0.575, 0.5), (1.0, 1.0), (-1.0, -1.0)):
            live.answer(pygame.event.Event(pygame.JOYAXISMOTION, axis=0, value=value, instance_id=0))
            step(live)
            assert action(live) == pytest.approx(wanted, abs=1e-6)
        live.answer(held("left"), pygame.event.Event(pygame.JOYAXISMOTION, axis=0, value=0.0, instance_id=0))
        step(live)
        assert action(live) == -1.0


# --- racing -----------------------------------------------------------------------------------------------------------


def test_y_races_the_policy_on_the_same_seed_and_tells_who_won(run: Path) -> None:
    with seeing(run) as live:
        live.hit("Y")
        live.open_aside()
        mine, theirs = live.window.stage.shows
        assert (mine.label, mine.seeds) == ("you", theirs.seeds)
        step(live)
        assert ("RACE", "Y") in [(chip.text, chip.key) for chip in live.window.views["chips"]]
        assert live.window.stage.hands is not None
        assert live.window.stage.hands.show is mine
        live.answer(held("left"))
        for _ in range(3000):
            step(live)
            if live.window.stage.aside is None:
                break
        assert "the policy wins by" in live.said()
        assert live.window.stage.hands is None
        live.hit("Y")
        live.open_aside()
        live.hit("Y")
        assert live.window.stage.aside is None


# --- playing ----------------------------------------------------------------------------------------------------------


def flying(window: Window, episodes: int) -> Iterator[None]:
    """Press the keys that the scripted pilot wants, tick by tick, until so many episodes are over."""
    keys, down = {1: "left", 2: "up", 3: "right"}, ""
    playlist, show = window.stage.playlist, window.stage.shows[0]
    assert isinstance(playlist, HumanPlaylist)
    seen = show.world.of(show.world.batches[0].entity, Observation)
    window.stage.set_speed(1.2)  # one tick in every frame
    while len(playlist.results[0]) < episodes:
        wanted = keys.get(int(pilot(seen.value[[show.arena]])[0]), "")
        if playlist.waits or playlist.verdict is not None:
            post(held("up"), let("up"))
        elif wanted != down:
            post(*([let(down)] if down else []), *([held(wanted)] if wanted else []))
            down = wanted
        yield
    window.closing = True


@pytest.mark.parametrize("flag", ["--save-demo", "--save-data"])
def test_a_person_plays_without_any_run_and_what_was_done_is_kept(
    flag: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    script = Scripted(monkeypatch, lambda window: flying(window, 2))
    monkeypatch.setattr("ecs_rl.viewer.live.watch.perf_counter", steady_clock())
    demo = tmp_path / "mine.demo"
    line = ["lander", "--human", flag, str(demo), "--runs", str(tmp_path / "none"), "--seed", "100", "--json"]
    assert play(line) == 0
    assert script.is_done
    told = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert (told["episodes"], told["demo"]) == (2, str(demo))
    shown = read_demonstrations(demo)
    assert [round(e.result, 6) for e in shown.episodes] == [round(value, 6) for value in told["returns"]]
    assert all(bool(e.imitated.all()) for e in shown.episodes)
    assert [e.seed for e in shown.episodes] == [100, 101]
    assert max(told["returns"]) > 150  # flown by keys, it lands
    for episode in shown.episodes:
        assert {0, 2} <= set(episode.action.tolist()) <= {0, 1, 2, 3}
        assert episode.reward.sum() == pytest.approx(episode.result, rel=1e-4)
        assert set(episode.terms) == set(load_scene("lander").describe().agents[0].earns)
        assert np.sum(list(episode.terms.values()), 0) == pytest.approx(episode.reward, abs=1e-4)


class steady_clock:
    """A clock by which every frame takes a sixtieth of a second."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self) -> float:
        self.calls += 1
        return self.calls / 60


def test_what_a_person_took_back_is_in_no_demonstration(tmp_path: Path) -> None:
    path, scene = tmp_path / "mine.demo", load_scene("balance")
    show = LiveEpisode(scene, idle_agents(scene), seeds=range(2), stays=True)
    hands = Hands(show, counts=True)
    DemoRecorder(hands, path)
    batch, slot = show.mind.watched

    def drive(action: int, ticks: int = 1000) -> None:
        for _ in range(ticks):
            if show.outcome is None:
                show.hand.steers = {(batch.name, int(slot.rows.start)): np.asarray(np.int64(action))}
                show.tick()

    drive(0, 5)
    show.rewind.go(2)
    assert show.go_on_from_here()
    drive(1)
    (episode,) = read_demonstrations(path).episodes
    assert episode.action[:4].tolist() == [0, 0, 1, 1]
    assert show.outcome is not None
    assert (len(episode), episode.result) == (show.outcome.length, show.outcome.total)
    assert episode.reward.sum() == pytest.approx(episode.result)
    assert bool(episode.imitated.all())
    show.rewind.go(show.rewind.here - 3)
    assert show.go_on_from_here()
    drive(0)
    assert len(read_demonstrations(path).episodes) == 1, "how that one began is not known any more"
    show.restart()
    drive(1)
    assert len(read_demonstrations(path).episodes) == 2
    show.close()


def test_more_is_added_to_a_demonstration_and_one_of_another_scene_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    save_demonstrations(tmp_path / "mine.demo", landings((100,)))
    none = ("--runs", str(tmp_path / "none"))
    assert play(["balance", "--human", "--save-demo", str(tmp_path / "mine.demo"), *none]) == 3
    assert "'policy' sees" in capsys.readouterr().err
    assert play(["balance", "--human", "--save-demo", str(tmp_path / "no" / "mine.demo"), *none]) == 3
    assert "make it first" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("line", "told"),
    [
        (["lander", "--human", "--headless"], "leave --headless out"),
        (["--save-demo", "x.demo"], "add --human"),
    ],
)
def test_what_makes_no_sense_for_a_person_is_refused(
    line: list[str], told: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert play([*line, "--runs", str(tmp_path)]) == 2
    assert told in capsys.readouterr().err


def test_the_episode_waits_for_a_key_and_its_end_stays_until_the_next(run: Path) -> None:
    with seeing(run) as live:
        hands = Hands(live.show, counts=True)
        playlist = HumanPlaylist(live.window.stage.shows, lambda number, ended: None, hands)
        live.window.stage.playlist, live.window.stage.hands = playlist, hands
        step(live, 5)
        assert live.show.clock.tick[0] == 0
        stage = live.stage
        assert stage is not None
        assert stage.ending.endswith("press one to start")
        live.answer(held("left"))
        while playlist.verdict is None:
            step(live)
        step(live)
        assert live.show.outcome is not None
        assert live.show.outcome.counts
        (toast,) = live.window.views["messages"]
        assert toast.text.startswith("you: return")
        step(live, 200)
        assert live.show.resting
        live.answer(let("left"), held("left"))
        step(live)
        assert (playlist.waits, live.show.resting, live.show.arena) == (True, False, 1)
        live.answer(let("left"), held("right"))
        step(live, 3)
        live.hit("R")
        step(live, 3)
        assert (playlist.waits, int(live.show.clock.tick[1])) == (True, 0)
