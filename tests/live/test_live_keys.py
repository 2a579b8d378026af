"""Every key through a real event: what it does to the window, the stage and the training."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pygame
import pytest
import rewind_keys
import settings_keys
import torch
from live_windows import CODES, Live, key_event, moved, pressed, same, watching, wheel

from ecs_rl.runs import read_checkpoint, section
from ecs_rl.runs.layout import policies
from ecs_rl.training.team import join
from ecs_rl.viewer.controls.cards import Cards
from ecs_rl.viewer.controls.keeping import Keeping
from ecs_rl.viewer.controls.playing import SPEEDS, usual_hints
from ecs_rl.viewer.live.commands import COMMANDS, command_for
from ecs_rl.viewer.live.playlist import NEWEST
from ecs_rl.viewer.objects import BodyId
from ecs_rl.viewer.panel import Command
from ecs_rl.viewer.panels.help import help_groups

Hit = Callable[[], None]
WANTED = (
    *("Space", "T", "Right", "-", "=", "0", "Backspace", "R", "G", "[", "]", ",", ".", "D", "P", "Tab", "M", "F1"),
    *("F3", "F11", "V", "Ctrl+P", "Ctrl+S", "Ctrl+E", "Esc", "Ctrl+Q", "U", "Home", "Enter", "L", "B", "N", "O"),
    *("Left", "PgUp", "PgDn", "W", "K", "H", "Y", "A", "?", "J", "C", "F2", "X", "I"),
    *("S", "Up", "Down", "Ctrl+R", "E", "Ctrl+N"),
)
"""The keys that a user is promised."""
KEYED = [row for row in COMMANDS if row.codes or row.characters]
UNTRAINED = [row for row in COMMANDS if not row.trains]


@pytest.fixture
def live(tmp_path: Path) -> Iterator[Live]:
    with watching(tmp_path) as opened:
        opened.slices(40)
        yield opened


# --- the stage's time -------------------------------------------------------------------------------------------------


def space(live: Live, hit: Hit) -> None:
    hit()
    assert live.show.paused
    before, steps = live.state(), live.trains.session.total_steps
    live.window.advance(1.0, math.inf)
    assert same(live.state(), before)
    live.slices(40)
    assert live.trains.session.total_steps > steps, "only the stage is paused"
    live.draw()
    assert "PAUSED" in live.chips
    hit()
    live.window.advance(0.1, math.inf)
    assert not live.show.paused
    assert not same(live.state(), before)


def right(live: Live, hit: Hit) -> None:
    ticks = live.show.world.ticks
    for done in (1, 2, 3):
        hit()
        assert (live.show.world.ticks, live.show.paused) == (ticks + done, True)
        live.window.advance(0.5, math.inf)  # a frame adds nothing to it
    assert live.show.world.ticks == ticks + 3


def slower(live: Live, hit: Hit) -> None:
    live.window.stage.set_speed(math.inf)
    seen = []
    for _ in range(len(SPEEDS) + 1):
        hit()
        seen.append(live.window.show.speed)
    assert seen == [*reversed(SPEEDS[:-1]), SPEEDS[0], SPEEDS[0]]
    assert "speed 1/16x" in live.said()


def faster(live: Live, hit: Hit) -> None:
    live.window.stage.set_speed(SPEEDS[0])
    seen = []
    for _ in range(len(SPEEDS) + 1):
        hit()
        seen.append(live.window.show.speed)
    assert seen == [*SPEEDS[1:], math.inf, math.inf]
    assert (seen[0], seen[-4]) == (1 / 8, 64.0)
    assert "speed max" in live.said()


def real_time(live: Live, hit: Hit) -> None:
    for speed in (math.inf, 1 / 16, 1.0):
        live.window.stage.set_speed(speed)
        hit()
        assert live.window.show.speed == 1.0


# --- the stage's episode ----------------------------------------------------------------------------------------------


def backspace(live: Live, hit: Hit) -> None:
    start, episode = live.state(), int(live.show.clock.episode[0])
    hit()
    assert int(live.show.clock.episode[0]) == episode + 1
    assert int(live.show.clock.tick[0]) == 0
    assert not same(live.state(), start)


def same_seed(live: Live, hit: Hit) -> None:
    def states() -> list[dict[str, bytes]]:
        hit()
        assert int(live.show.clock.tick[0]) == 0
        found = []
        for _ in range(12):
            live.show.tick()
            found.append({name: column.tobytes() for name, column in live.state().items()})
        return found

    first = states()
    live.show.poke(BodyId("pole"))
    live.show.tick()
    assert states() == first
    live.hit("Backspace")
    second = states()
    assert second != first
    assert states() == second
    assert "seed 10000 again" in live.said()


def arena_before(live: Live, hit: Hit) -> None:
    assert len(live.show.seeds) == 3
    seen = []
    for _ in range(3):
        hit()
        seen.append(live.show.arena)
        assert int(live.show.clock.tick[live.show.arena]) == 0
    assert seen == [2, 1, 0]
    live.hit("G")
    hit()
    assert live.window.stage.grid is not None
    assert (live.window.stage.grid.selected, live.show.arena) == (7, 0)


def arena_after(live: Live, hit: Hit) -> None:
    seen = []
    for _ in range(3):
        hit()
        seen.append(live.show.arena)
    assert seen == [1, 2, 0]
    live.hit("G")
    for _ in range(9):
        hit()
    assert live.window.stage.grid is not None
    assert (live.window.stage.grid.selected, live.show.arena) == (1, 0)
    live.draw()
    assert live.window.views.get("grid") is not None
    assert live.window.views["grid"].selected == 1


# --- who plays --------------------------------------------------------------------------------------------------------


def checkpoint_before(live: Live, hit: Hit) -> None:
    live.finish_what_was_asked()
    live.trains.session.save_checkpoint()
    run = live.trains.session.run
    assert run is not None
    kept = sorted(policies(run.path))
    assert kept[0] == 0
    assert len(kept) > 2
    start = live.state()
    for step in (*reversed(kept), 0):
        hit()
        assert live.show.label == f"step {step:,}"
        assert f"on the stage: step {step:,}" in live.said()
        assert live.show.agents["policy"] is not live.trains.agents["policy"]
        weights = section(read_checkpoint(policies(run.path)[step])[1], "policy")
        playing = join(list(live.show.agents.values())).policy_state()
        assert all(torch.equal(weights[name], playing[name]) for name in weights)
        assert same(live.state(), start), "the same seed from its beginning"
        live.show.tick()
        if step:
            assert not same(live.state(), start)
            continue
        start = live.state()  # there is none before it: its episode goes on


def newest(live: Live, hit: Hit) -> None:
    hit()
    assert live.show.label == NEWEST
    live.hit(",", ",")
    assert live.show.label != NEWEST
    hit()
    assert live.show.label == NEWEST
    assert live.show.agents is live.trains.agents
    assert int(live.show.clock.tick[0]) == 0


def before_and_after(live: Live, hit: Hit) -> None:
    stage = live.window.show
    stage.go_to(1)
    live.frames(2)
    before, trained = live.state(), live.trains.world.save_columns()
    hit()
    live.open_aside()
    untrained, now = live.window.stage.shows
    assert [show.names for show in live.window.stage.shows] == [["seed 10001"]] * 2
    assert (untrained.label, now.label) == ("untrained", NEWEST)
    assert now.agents is live.trains.agents
    run = live.trains.session.run
    assert run is not None
    weights = section(read_checkpoint(policies(run.path)[0])[1], "policy")
    playing = join(list(untrained.agents.values())).policy_state()
    assert all(torch.equal(weights[name], playing[name]) for name in weights)
    assert same(untrained.world.save_columns(), now.world.save_columns()), "the same seed from its beginning"
    live.draw()
    assert [pane.title for pane in live.panes] == ["untrained", NEWEST]
    assert "BEFORE AND AFTER" in live.chips
    live.hit(",")
    assert "nothing else to choose" in live.said()
    hit()
    assert live.window.stage.shows == [stage]
    assert same(live.state(), before), "the stage is as it was"
    assert same(live.trains.world.save_columns(), trained)
    hit()
    live.hit("Esc")
    assert live.window.stage.shows == [stage]
    hit()
    for _ in range(3000):
        if live.window.stage.aside is None:
            break
        live.window.advance(0.1, math.inf)
    assert live.window.stage.shows == [stage], "it comes to an end by itself"


def one_update(live: Live, hit: Hit) -> None:
    live.finish_what_was_asked()
    for _ in range(2):
        weights = live.trains.session.agent.parameters_sha256()
        hit()
        assert not live.background.paused
        ticks = 0
        while not live.background.paused:
            assert live.trains.session.agent.parameters_sha256() == weights, "it waits after the first update"
            steps = live.trains.session.total_steps
            live.background._slice()
            live.finish_what_was_asked()
            ticks += live.trains.session.total_steps > steps
            assert ticks <= 16, "that is a whole rollout"
        assert live.trains.session.agent.parameters_sha256() != weights
        live.draw()
        assert "TRAINING PAUSED" in live.chips
    live.hit("T")
    assert not live.background.paused


def pace(live: Live, hit: Hit) -> None:
    live.draw()
    assert paced(live) == ""
    found = []
    for _ in range(4):
        hit()
        live.draw()
        found.append((live.background.pace.name, live.background.times_real, paced(live)))
    slow = ("slow", 0.25, "TRAINING AT 1/4x")
    assert found == [slow, ("1x", 1.0, "TRAINING AT 1x"), ("max", math.inf, ""), slow]
    assert "a quarter of real time" in live.said()


def checkpoint_after(live: Live, hit: Hit) -> None:
    live.trains.session.save_checkpoint()
    live.hit(",")
    assert live.show.label != NEWEST
    hit()
    assert live.show.label == NEWEST
    assert live.show.agents is live.trains.agents
    hit()
    assert live.show.label == NEWEST


def sampled(live: Live, hit: Hit) -> None:
    hit()
    assert live.show.sampled
    live.draw()
    assert "SAMPLED ACTIONS" in live.chips
    assert "sampled" in live.show.caption
    hit()
    assert not live.show.sampled
    assert "greedy" in live.show.caption


def poke(live: Live, hit: Hit) -> None:
    stage, before = live.show.hand, live.trains.world.save_columns()
    hit()
    assert stage.kicked is not None
    assert live.show.touched
    assert "kicked" in live.said()
    live.show.tick()
    assert stage.kicked is None
    assert same(live.trains.world.save_columns(), before), "only the stage's world changes"
    live.window.stage.selected = BodyId("pole")
    hit()
    assert re.search(r"kicked pole [→↗↑↖←↙↓↘] by 2 m/s$", live.said())


def bring(live: Live) -> None:
    """Let two frames' worth of bringing a replay pass."""
    for _ in range(2):
        live.window.advance(0.0, 0.0)


def replays_worst(live: Live, hit: Hit) -> None:
    stage, trained = live.show, live.trains.world.save_columns()
    while stage.played.worst() is None:
        stage.tick()
    hit()
    assert live.show is stage, "it begins with the next frame"
    bring(live)
    replay = live.show
    assert (replay is not stage, replay.replays) == (True, True)
    assert "the worst of the last 1 episodes" in live.said()
    for _ in range(3):
        hit()
        bring(live)
    assert live.show is stage
    assert same(live.trains.world.save_columns(), trained)


def asks_why(live: Live, hit: Hit) -> None:
    live.show.tick()
    before = live.state()
    hit()
    assert live.show.paused
    for _ in range(60):
        live.window.advance(1 / 60, 0.01)
        live.draw()
    assert "WHY?" in live.chips
    mind = live.window.views["mind"]
    assert len(mind.why.pulls) == len(mind.sees)
    assert same(live.state(), before)
    hit()
    live.draw()
    assert live.window.views["mind"].why is None


def maps(live: Live, hit: Hit) -> None:
    live.show.tick()
    hit()
    for _ in range(12):
        live.window.advance(1 / 60, 0.01)
        live.draw()
    assert "VALUE MAP" in live.chips
    assert "plot" in live.window.views, "of balance the first two numbers: no place of a body"
    assert live.window.views["plot"].names == ("cart x", "cart vx")
    hit()
    live.draw()
    assert "plot" not in live.window.views


def keeps(live: Live, hit: Hit) -> None:
    while live.show.outcome is None:
        live.show.tick()
    hit()
    live.control(Keeping).close(live.window)
    (path,) = (live.window.run.folder / "episodes").iterdir()
    assert f"kept: play.py {path}" in live.said()


def sees_the_learning_again(live: Live, hit: Hit) -> None:
    live.slices(60)
    live.finish_what_was_asked()
    hit()
    live.window.advance(0.1, math.inf)
    live.draw()
    assert "step 0" in live.stage.caption
    hit()
    live.draw()
    assert NEWEST in live.stage.caption


# --- the training -----------------------------------------------------------------------------------------------------


def again(live: Live, hit: Hit) -> None:
    hit()
    assert not live.window.closing
    while not live.background.is_saved:
        live.slices(100)
    hit()
    assert live.window.closing
    assert live.trains.again


def paced(live: Live) -> str:
    """Return the chip of the pace, "" without one."""
    return next((chip for chip in live.chips if chip.startswith("TRAINING AT")), "")


def grid(live: Live, hit: Hit) -> None:
    hit()
    live.draw()
    assert "stage" not in live.window.views
    assert len(live.window.views["grid"].bars) == 8
    hit()
    live.draw()
    assert live.window.views.get("grid") is None


def pause_training(live: Live, hit: Hit) -> None:
    live.finish_what_was_asked()
    hit()
    steps, ticks = live.trains.session.total_steps, live.show.world.ticks
    live.frames(3)
    assert live.trains.session.total_steps == steps
    live.show.tick()
    assert live.show.world.ticks > ticks, "the stage goes on"
    live.draw()
    assert "TRAINING PAUSED" in live.chips
    assert live.window.views["status"].state == "training paused"
    hit()
    live.slices(40)
    assert live.trains.session.total_steps > steps


def turbo(live: Live, hit: Hit) -> None:
    hit()
    assert live.background.turbo
    live.draw()
    assert "TURBO" in live.chips
    hit()
    assert not live.background.turbo


def save(live: Live, hit: Hit) -> None:
    folder = live.trains.session.run.path / "checkpoints"  # type: ignore[union-attr]
    assert not list(folder.glob("[!m]*"))
    hit()
    live.finish_what_was_asked()
    step = live.trains.session.total_steps
    manifest, tensors = read_checkpoint(folder / f"step_{step}.safetensors")
    assert (manifest.step, manifest.scene) == (step, "balance")
    assert tensors
    assert f"step_{step}.safetensors is written" in live.said()


def evaluate(live: Live, hit: Hit) -> None:
    assert live.trains.evaluation.last is None
    hit()
    live.finish_what_was_asked()
    run = live.trains.session.run
    assert run is not None
    run.flush()
    assert len((run.path / "eval_episodes.jsonl").read_text().splitlines()) == 3
    assert f"evaluation: {live.trains.evaluation.last:.1f}, the best so far" in live.said()
    hit()
    live.finish_what_was_asked()
    run.flush()
    assert len((run.path / "eval_episodes.jsonl").read_text().splitlines()) == 3, "not twice at one step"


# --- the window -------------------------------------------------------------------------------------------------------


def panel(field: str, shown: bool) -> Callable[[Live, Hit], None]:
    def case(live: Live, hit: Hit) -> None:
        pictures = set()
        for want in (not shown, shown):
            hit()
            live.draw()
            assert (field in live.window.views) == want
            pictures.add(pygame.image.tobytes(live.window.screen.picture(), "RGB"))
        assert len(pictures) == 2

    return case


def hands(live: Live, hit: Hit) -> None:
    hit()
    assert live.window.stage.hands is not None
    live.frames(2)
    assert live.show.hand.steers
    hit()
    assert live.window.stage.hands is None
    assert not live.show.hand.steers


def card(live: Live, hit: Hit) -> None:
    hit()
    for _ in range(5000):
        live.control(Cards).advance(live.window, 0.0)
        if "card written" in live.said():
            break
    (path,) = (live.window.run.folder / "pictures").glob("card_*.png")
    assert pygame.image.load(path).get_size() == (1280, 720)


def tour(live: Live, hit: Hit) -> None:
    hit()
    live.draw()
    assert "tour" in live.window.views
    assert live.window.views["tour"].number == 1
    hit()
    live.draw()
    assert live.window.views["tour"].number == 2
    live.hit("Esc")
    live.draw()
    assert "tour" not in live.window.views


def next_mind(live: Live, hit: Hit) -> None:
    hit()
    assert "there is one agent here, and this is its mind" in live.said()


def words(live: Live, hit: Hit) -> None:
    mind = live.layout.rooms["mind"]
    live.answer(moved((mind.x + 30, mind.y + 16)))  # its first head
    live.draw()
    hit()
    live.draw()
    (sentence,) = live.tip()
    assert sentence.startswith("The observation")


def weather(live: Live, hit: Hit) -> None:
    hit()
    live.draw()
    assert [slider.name for slider in live.window.views["weather"]] == ["gravity", "wind"]
    hit()
    live.draw()
    assert "weather" not in live.window.views


def race(live: Live, hit: Hit) -> None:
    seed = live.show.seeds[live.show.arena]
    hit()
    live.open_aside()
    assert [show.seeds for show in live.window.stage.shows] == [(seed,), (seed,)]
    assert live.window.stage.hands is not None
    live.frames(2)
    hit()
    assert len(live.window.stage.shows) == 1
    assert live.window.stage.hands is None


def full_screen(live: Live, hit: Hit) -> None:
    display = live.window.screen
    size = display.size
    hit()
    assert display.is_full
    assert display.size == pygame.display.get_desktop_sizes()[0]
    live.draw()
    hit()
    assert not display.is_full
    assert display.size == size


def record(live: Live, hit: Hit) -> None:
    hit()
    live.frames(3)
    assert "RECORDING" in live.chips
    hit()
    (film,) = (live.window.run.folder / "films").iterdir()
    assert "film written" in live.said()
    assert film.name in live.said()
    assert film.stat().st_size > 1000


def picture(live: Live, hit: Hit) -> None:
    live.draw()
    seen = pygame.image.tobytes(live.window.screen.picture(), "RGB")
    hit()
    (path,) = (live.window.run.folder / "pictures").iterdir()
    assert pygame.image.tobytes(pygame.image.load(path), "RGB") == seen
    assert "picture written" in live.said()
    assert path.name in live.said()
    assert not live.show.touched, "P alone pokes"


def home(live: Live, hit: Hit) -> None:
    live.answer(moved((400, 300)), wheel(8))
    assert live.window.stage.aim is not None
    hit()
    assert live.window.stage.aim is None


def leave(live: Live, hit: Hit) -> None:
    live.answer(moved((400, 300)), wheel(8))
    live.hit("F11", "U", "G")
    live.window.stage.selected = BodyId("pole")
    live.hit("F3", "F1")
    window = live.window

    def open_now() -> list[str]:
        there = {
            "help": "help" in window.open_panels,
            "profile": "profile" in window.open_panels,
            "inspector": window.stage.selected is not None,
            "grid": window.stage.grid is not None,
            "turbo": live.background.turbo,
            "full screen": window.screen.is_full,
            "camera": window.stage.aim is not None,
        }
        return [name for name, is_open in there.items() if is_open]

    modes = ["help", "profile", "inspector", "grid", "turbo", "full screen", "camera"]
    for left in range(len(modes)):
        assert open_now() == modes[left:]
        hit()
    for _ in range(3):
        assert open_now() == []
        hit()
    assert not window.closing, "Esc never quits"


def leave_at_once(live: Live, hit: Hit) -> None:
    hit()
    assert live.window.closing


CASES: dict[str, Callable[[Live, Hit], None]] = {
    "Space": space,
    "Right": right,
    "Left": rewind_keys.left,
    "PgUp": rewind_keys.second_back,
    "PgDn": rewind_keys.second_on,
    "-": slower,
    "=": faster,
    "0": real_time,
    "Backspace": backspace,
    "R": same_seed,
    "[": arena_before,
    "]": arena_after,
    ",": checkpoint_before,
    ".": checkpoint_after,
    "L": newest,
    "B": before_and_after,
    "D": sampled,
    "E": sees_the_learning_again,
    "Ctrl+N": again,
    "H": hands,
    "A": weather,
    "?": words,
    "J": next_mind,
    "C": card,
    "F2": tour,
    "Y": race,
    "P": poke,
    "G": grid,
    "I": asks_why,
    "X": maps,
    "W": replays_worst,
    "K": keeps,
    "Enter": rewind_keys.enter,
    "T": pause_training,
    "N": one_update,
    "O": pace,
    "U": turbo,
    "S": settings_keys.settings,
    "Ctrl+R": settings_keys.reload_scene,
    "Up": settings_keys.previous_part,
    "Down": settings_keys.next_part,
    "Ctrl+S": save,
    "Ctrl+E": evaluate,
    "Tab": panel("mind", shown=True),
    "M": panel("learning", shown=True),
    "F1": panel("help", shown=False),
    "F3": panel("profile", shown=False),
    "F11": full_screen,
    "V": record,
    "Ctrl+P": picture,
    "Home": home,
    "Esc": leave,
    "Ctrl+Q": leave_at_once,
}


@pytest.mark.parametrize("row", KEYED, ids=lambda row: row.key)
def test_every_key_does_what_the_help_says(row: Command, live: Live) -> None:
    assert row.key in CASES, f"nobody has tried what {row.key} does"
    CASES[row.key](live, lambda: live.hit(row.key))


def test_a_command_can_be_given_by_its_name_without_a_keyboard_or_a_mouse(live: Live) -> None:
    live.window.do("pause")
    live.window.do("grid")
    assert live.show.paused
    assert live.window.stage.grid is not None


def test_the_help_in_the_window_has_every_row_that_the_readme_has(live: Live) -> None:
    live.hit("F1")
    live.draw()
    assert live.window.views["help"] == help_groups(COMMANDS)


def test_every_key_of_the_specification_is_bound_and_stands_in_the_help() -> None:
    labels = [row.key for row in KEYED]
    assert sorted(labels) == sorted(WANTED)
    rows = [keys for group in help_groups(COMMANDS) for keys, _ in group.keys]
    told = [part for keys in rows for part in keys.split(" ")]
    assert {row.key for row in KEYED if row.listed} <= set(told)
    words = " ".join(does for group in help_groups(COMMANDS) for _, does in group.keys).replace(",", "").split(" ")
    assert {row.key for row in KEYED if not row.listed} <= set(words)
    assert set(told) - set(labels) == {"Left-drag", "Click", "Wheel", "Right-drag"}
    assert len(told) == len(set(told))


def test_no_two_commands_have_one_name() -> None:
    assert len({row.name for row in COMMANDS}) == len(COMMANDS)


@pytest.mark.parametrize("row", KEYED, ids=lambda row: row.key)
def test_every_way_to_type_a_key_gives_the_same_command(row: Command) -> None:
    mod = pygame.KMOD_RCTRL if row.key.startswith("Ctrl+") else 0
    for code in row.codes:
        assert command_for(key_event(code, mod=mod)) == row.name
    for character in row.characters:
        assert command_for(key_event(0, character)) == row.name
        shifted = key_event(0, character, pygame.KMOD_LSHIFT)
        assert command_for(shifted) == row.name
        alt_gr = key_event(0, character, pygame.KMOD_RALT | pygame.KMOD_LCTRL)
        assert command_for(alt_gr) == row.name
    assert command_for(pressed(row.key)) == row.name


@pytest.mark.parametrize("key", ["Q"])
def test_a_letter_that_wants_ctrl_does_nothing_alone(key: str) -> None:
    assert command_for(key_event(CODES[f"Ctrl+{key}"], key.lower())) is None


def test_with_ctrl_a_key_that_wants_none_does_nothing() -> None:
    for row in KEYED:
        if not row.key.startswith("Ctrl+") and not any(f"Ctrl+{row.key}" == other.key for other in KEYED):
            for code in set(row.codes) - {pygame.K_KP_MINUS, pygame.K_KP_PLUS, pygame.K_KP0}:
                assert command_for(key_event(code, mod=pygame.KMOD_LCTRL)) is None, row.key


def test_without_a_training_its_keys_do_nothing_and_nobody_is_told_of_them() -> None:
    told = [key for group in help_groups(UNTRAINED) for key, _ in group.keys]
    for row in KEYED:
        found = command_for(pressed(row.key), UNTRAINED)
        assert (found is None) == row.trains
        assert not (row.trains and row.key in told)
    assert {"T", "G", "Ctrl+S"} <= {keys for group in help_groups(COMMANDS) for keys, _ in group.keys}


@pytest.mark.parametrize("trains", [True, False])
@pytest.mark.parametrize("paused", [True, False])
@pytest.mark.parametrize("choice", [True, False])
@pytest.mark.parametrize("leads_back", ["", "B"])
def test_the_hint_names_keys_that_the_help_explains_and_always_the_help_itself(
    trains: bool, paused: bool, choice: bool, leads_back: str
) -> None:
    told = explained_keys(COMMANDS if trains else UNTRAINED)
    shown = [key for key, _ in usual_hints(trains=trains, paused=paused, choice=choice, leads_back=leads_back)]
    assert "F1" in shown
    assert set(shown) - {"Drag"} <= told


def explained_keys(rows: Sequence[Command]) -> set[str]:
    return {key for group in help_groups(rows) for key, _ in group.keys}


def test_the_hints_of_the_grid_and_of_the_past_name_keys_that_the_help_explains(live: Live) -> None:
    for _ in range(20):
        live.show.tick()
    for key in ("Left", "G"):
        live.hit(key)
        live.draw()
        assert live.hints[-1][0] in ("Esc", "F1")
        assert {key for key, _ in live.hints} <= explained_keys(COMMANDS)


def test_an_unknown_key_does_nothing_but_tell_that_somebody_is_there(live: Live) -> None:
    live.window.touched_at = 0.0
    before = live.state(), set(live.window.open_panels)
    live.answer(key_event(pygame.K_F8), key_event(pygame.K_q, "q"), key_event(pygame.K_F9, "ä"))
    assert (same(live.state(), before[0]), live.window.open_panels) == (True, before[1])
    assert not live.window.closing
    assert live.window.touched_at > 0.0
